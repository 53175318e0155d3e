"""`claims.toml`: what the paper says, as measures with targets."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from sojourn.experiments.schema.toml import FileModel, expected
from sojourn.experiments.verdict import PartKind

Origin = Literal["paper", "theory", "judge", "ours"]
"""Who says it: the paper; a formula of ours; another simulator or implementation; ourselves, beyond the paper."""


class ToleranceFields(FileModel):
    """How far a measured value may lie from a published one; the larger of the two counts."""

    relative: float = Field(default=0.0, ge=0.0)
    """As a share of the published value, 0 or more."""
    absolute: float = Field(default=0.0, ge=0.0)
    """In the unit of the measure, 0 or more."""
    reason: str = ""
    """Why this much."""


class PartTable(ToleranceFields):
    """One thing that a claim says: a measure, and the values that it may take."""

    measure: str
    """An expression over the runs, such as `s3.red.drops / s3.pd.drops`; `{x}` stands for each value of `for.x`."""
    label: str = ""
    """What the measure is, in words."""
    for_: dict[str, list[str]] = Field(default={}, alias="for")
    """Lists of values; one part is made for every combination of them."""
    holds: str | None = None
    """An inequality: `> 3`, `>= 3`, `< 3`, `<= 3` or `between -3 and 3`."""
    published: float | None = None
    """The value, printed in the paper; it takes a tolerance, `relative` or `absolute`."""
    expected: float | None = None
    """A value that the paper does not print, such as that of a formula; it takes a tolerance too."""
    share: float = Field(default=0.0, ge=0.0, le=1.0)
    """Above 0: the combinations are one part, and the target must hold in at least this share of them."""
    in_part: float = Field(default=0.0, ge=0.0, le=1.0)
    """`share`: from this smaller share of the combinations on, the part holds in part (in direction)."""
    of_seeds: Literal["mean", "median"] = "mean"
    """`share`: what of the seeds' values is the value of a combination."""
    share_of_seeds: float = Field(default=0.0, ge=0.0, le=1.0)
    """Above 0: the target must hold in at least this share of the seeds, with Wilson's interval."""
    kind: PartKind | None = None
    """`number`, or `direction`: a sign or an order (default: `direction` for `holds` with one side, else `number`)."""
    direction: str | None = None
    """An inequality, as in `holds`: the sign or order that a number implies, which can hold where it is missed."""

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        given = [name for name in ("holds", "published", "expected") if getattr(self, name) is not None]
        if len(given) != 1:
            got = " and ".join(given) or "neither"
            raise expected("holds, or published with relative or absolute, or expected with them", got)
        if self.share and self.share_of_seeds:
            raise expected("share or share_of_seeds", "both")
        if self.in_part and self.in_part >= self.share:
            raise expected("less than share", self.in_part, field="in_part")
        if self.direction is not None and (self.kind == "direction" or self.share or self.share_of_seeds):
            raise expected("a part that is a number, and no share", "another", field="direction")
        return self


class ReadingTable(FileModel):
    """Another reading of what the paper omits: the same parts, measured in other runs."""

    label: str
    """The reading in one phrase."""
    replace: dict[str, str] = Field(min_length=1)
    """Whole words of the measures, and what stands there instead, such as `red = "red_nongentle"`."""
    fit: bool = False
    """Whether it was searched for against the published numbers."""
    scenarios: str = "*"
    """The scenarios in which it is measured, as a pattern: means go over these, parts about others are left out."""


class ClaimTable(FileModel):
    """A claim of the paper."""

    id: str
    """Its name in the report; each only once."""
    where: str
    """Its place in the paper, such as `Fig. 2` or `section 4`."""
    text: str
    """What the paper says, in one sentence."""
    reason: str
    """Why it is measured so, and why the tolerance is what it is."""
    origin: Origin | None = None
    """Who says it: `paper`, `theory` (a formula of ours), `judge` (another simulator) or `ours` (default: `paper` where
    the experiment has a venue, else `ours`)."""
    parts: list[PartTable] = Field(min_length=1)
    """What the claim consists of: one part or more."""
    for_: dict[str, list[str]] = Field(default={}, alias="for")
    """Lists of values: every combination is a claim. `{x}` in texts and measures stands for one of `for.x`."""
    omitted: str = ""
    """What the paper omits and the claim depends on; it needs `readings`."""
    readings: list[ReadingTable] = []
    """Other readings of what is omitted. The claim is not decidable if readings give different verdicts."""

    @model_validator(mode="after")
    def _omitted_with_readings(self) -> Self:
        if bool(self.omitted) != bool(self.readings):
            raise expected("both or neither", "one of them", field="omitted and readings")
        return self


class NoteTable(FileModel):
    """Something that the paper says and that nothing here can test; it has no verdict and is not counted."""

    id: str
    """Its name in the report; each only once, among claims too."""
    where: str
    """Its place in the paper."""
    text: str
    """What the paper says, in one sentence."""
    reason: str
    """Why it is not tested, or what can be said of it without a run."""


class ToleranceTable(ToleranceFields):
    """The tolerance of a column of a published table."""

    measure: str
    """The column."""
    scenarios: list[str] = []
    """The scenarios that it is for (default: all). Of several that fit, the last counts."""


class PublishedTable(FileModel):
    """A table of values: every row is a claim, with a part for each column."""

    id: str
    """Begins the names of its claims."""
    title: str
    """What the table shows."""
    where: str
    """Its place in the paper."""
    grid: str
    """The grid that reruns it."""
    origin: Origin = "paper"
    """Whose values: those under `published` in `experiment.toml`, or, for any other origin, those under `reference`."""
    measures: list[str]
    """Its columns."""
    scenarios: list[str] = []
    """Its rows (default: every scenario that has published values)."""
    note: str = ""
    """A remark above the table in the report."""
    tolerances: list[ToleranceTable]
    """The tolerance of each column."""


class ClaimsFile(FileModel):
    """`claims.toml`."""

    tables: list[PublishedTable] = []
    """Published tables."""
    claims: list[ClaimTable] = []
    """All other claims."""
    notes: list[NoteTable] = []
    """What the paper says and nothing here can test."""
