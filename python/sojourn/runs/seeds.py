"""Seeds of runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import TypeAlias

from sojourn.core.errors import UserError
from sojourn.core.scenario import Scenario
from sojourn.runs.jobs import Job as Job

Seeds: TypeAlias = int | Sequence[int]


LAST_SEED = 2**63 - 1  # the largest integer of TOML


MOST_SEEDS = 1_000_000


def checked_seed(seed: int) -> int:
    """Returns the seed. Raises `UserError` unless it is a whole number from 0 to 2^63 - 1."""
    if not isinstance(seed, Integral) or not 0 <= seed <= LAST_SEED:
        raise UserError.expected("seed", f"a whole number, 0 to {LAST_SEED}", seed)
    return seed


def seeds_of(seeds: Seeds, first: int = 1) -> list[int]:
    """The seeds as a list. A count becomes consecutive seeds that start at `first`.

    Raises `UserError` for a count below 1, an empty sequence, a duplicate, and a seed out of range.
    """
    if isinstance(seeds, int):
        if not 1 <= seeds <= MOST_SEEDS:
            raise UserError.expected("seeds", f"a count of 1 to {MOST_SEEDS}, or a list of seeds", seeds)
        if first + seeds - 1 > LAST_SEED:
            raise UserError.expected("seeds", f"at most {LAST_SEED - first + 1} from the seed {first} on", seeds)
        return list(range(first, first + seeds))
    if not isinstance(seeds, Iterable):
        raise UserError.expected("seeds", "a count of 1 or more, or a list of seeds", seeds)
    chosen = [int(checked_seed(seed)) for seed in seeds]
    if not chosen or len(set(chosen)) != len(chosen):
        raise UserError.expected("seeds", "one or more different seeds", chosen)
    return chosen


def first_seed(scenario: Scenario) -> int:
    """The seed of the scenario, or 1."""
    return int(scenario.resolved().get("seed", 1))
