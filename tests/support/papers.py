"""The papers of this repository, read once for all tests of a process."""

from functools import cache

from sojourn.experiments import Experiment, find_experiments


@cache
def papers() -> tuple[Experiment, ...]:
    """All papers, which no test changes."""
    return tuple(find_experiments())
