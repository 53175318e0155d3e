"""`deviations.toml`: where the rerun differs from the paper, or the paper leaves something open."""

from __future__ import annotations

from sojourn.experiments.schema.toml import FileModel


class Tried(FileModel):
    """Another reading that was run."""

    reading: str
    """The other reading."""
    effect: str
    """What it changed, in numbers."""


class Deviation(FileModel):
    """Something that is read differently from the paper, or that the paper leaves open."""

    id: str
    """How claims and titles refer to it, such as `D1`."""
    what: str
    """The deviation in one sentence."""
    paper: str
    """What the paper says."""
    here: str
    """What is done here."""
    why: str
    """Why."""
    tried: list[Tried] = []
    """Other readings, and what came of them."""


class DeviationsFile(FileModel):
    """`deviations.toml`."""

    deviations: list[Deviation] = []
    """The deviations, in the order of the report."""
