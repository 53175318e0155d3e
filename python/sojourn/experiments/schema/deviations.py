"""`deviations.toml`: differences of the rerun from the paper, and open points of the paper."""

from __future__ import annotations

from sojourn.experiments.schema.toml import FileModel


class Tried(FileModel):
    """Another reading that was tried."""

    reading: str
    """The other reading."""
    effect: str
    """What it changed, in numbers."""


class Deviation(FileModel):
    """A deviation from the paper, or a decision about an open point."""

    id: str
    """Its name in claims and titles, such as `D1`."""
    what: str
    """The deviation in one sentence."""
    paper: str
    """The paper's version."""
    here: str
    """The version of this rerun."""
    why: str
    """The reason."""
    chosen_for: list[str] = []
    """The claims to whose numbers the value chosen here was fitted.

    They can be reproduced by a fit only. Names are patterns such as `T2-s[1-5]-fuzzy`. `S14/queue_mean` is the parts of
    S14 with this word in their measure.
    """
    tried: list[Tried] = []
    """Other readings, and their effects."""


class DeviationsFile(FileModel):
    """`deviations.toml`."""

    deviations: list[Deviation] = []
    """The deviations, in the order of the report."""
