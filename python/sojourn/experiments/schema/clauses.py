"""`clauses/*.toml`: the clauses of a specification, with their runs and requirements."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sojourn.experiments.schema.claims import PartTable
from sojourn.experiments.schema.experiment import Column, Family, Measure, ScenarioTable
from sojourn.experiments.schema.figures import FigureSpec
from sojourn.experiments.schema.toml import FileModel, Keyed, PlainName, Value, Words, expected
from sojourn.experiments.schema.variables import Parameters

Level = Literal["must", "should", "may"]
"""How strongly a specification demands a clause."""


class Requirement(FileModel):
    """A statement that must hold for the subject to pass the clause."""

    id: PlainName
    """Its name within the clause."""
    text: str
    """The statement in one sentence."""
    reason: str
    """The source of its limit."""
    parts: list[PartTable] = Field(min_length=1)
    """Measures with their targets, as in a claim."""
    for_: dict[str, list[Value]] = Field(default={}, alias="for")
    """Lists of values: every combination is a requirement."""


class ClauseFile(FileModel):
    """A clause of a specification: what it asks, how it is run, and when it passes."""

    where: str
    """Its place in the specification, such as `5.1.4`."""
    title: str
    """Its subject in a few words."""
    level: Level
    """How strongly the specification demands it."""
    asks: str
    """What it asks, in our words."""
    reading: str = ""
    """What was chosen where the text is silent: network, measure, limit."""
    undecidable: str = ""
    """Why no run can decide it; it then has no runs and no requirements."""
    queues: list[str] = ["subject"]
    """The compared entries of `queues`: the subject and its references."""
    columns: Annotated[dict[str, Column], Keyed] = {}
    """Columns of traces that its measures name."""
    measures: Annotated[dict[str, Measure], Words, Keyed] = {}
    """Measures beside those of `experiment.toml`."""
    shown: list[str] = []
    """Measures in its table (default: its own)."""
    scenarios: Annotated[dict[str, ScenarioTable], Words, Keyed] = {}
    """Its scenarios."""
    families: dict[str, Family] = {}
    """Its families of scenarios."""
    replications: int | None = Field(default=None, ge=1)
    """Seeds of its runs, if fewer than those of the evaluation are enough."""
    quick_scenarios: list[str] | None = None
    """The scenarios that `--quick` runs, as patterns (default: all)."""
    quick_set: Parameters = {}
    """Fields of the scenario file that `--quick` changes."""
    vary_subject: list[float] = []
    """Factors for the numbers among the subject's parameters.

    Each number times each factor is a setting of its own, in which the subject is also run.
    """
    requires: list[Requirement] = []
    """Its requirements; all must hold."""
    figures: list[FigureSpec] = []
    """Figures of its grid."""

    @model_validator(mode="after")
    def _decidable(self) -> Self:
        given = bool(self.requires) and bool(self.scenarios or self.families)
        if given == bool(self.undecidable) or (self.undecidable and (self.scenarios or self.families or self.requires)):
            raise expected("runs and requires, or undecidable", "both" if self.undecidable else "neither")
        return self
