"""`claims.toml`: the statements of the paper, as measures with targets."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from sojourn.experiments.schema.toml import FileModel, Value, expected
from sojourn.experiments.verdict import PartKind

Origin = Literal["paper", "theory", "judge", "ours"]
"""The origin of a claim.

It is the paper; a formula of ours; another simulator or implementation; or ourselves, beyond the paper.
"""


class ToleranceFields(FileModel):
    """The allowed difference of a measured value from a published one; the larger of the two."""

    relative: float = Field(default=0.0, ge=0.0)
    """As a share of the published value, 0 or more."""
    absolute: float = Field(default=0.0, ge=0.0)
    """In the unit of the measure, 0 or more."""
    reason: str = ""
    """The reason of this tolerance."""


class PartTable(ToleranceFields):
    """One statement of a claim: a measure, and its allowed values."""

    measure: str
    """An expression over the runs, such as `s3.red.drops / s3.pd.drops`.

    `{x}` is each value of `for.x`.
    """
    label: str = ""
    """What the measure is, in words."""
    for_: dict[str, list[Value]] = Field(default={}, alias="for")
    """Lists of values; one part is made for every combination of them."""
    holds: str | None = None
    """An inequality: `> 3`, `>= 3`, `< 3`, `<= 3` or `between -3 and 3`."""
    published: float | None = None
    """The value, printed in the paper; it needs a tolerance, `relative` or `absolute`."""
    expected: float | None = None
    """A value that the paper does not print, such as that of a formula; it needs a tolerance."""
    share: float = Field(default=0.0, ge=0.0, le=1.0)
    """Above 0: the share of the combinations in which the target must hold, as one part."""
    in_part: float = Field(default=0.0, ge=0.0, le=1.0)
    """`share`: the smaller share of the combinations from which the part holds in part.

    The verdict is then "in direction".
    """
    of_seeds: Literal["mean", "median"] = "mean"
    """`share`: the value of a combination from its seeds."""
    share_of_seeds: float = Field(default=0.0, ge=0.0, le=1.0)
    """Above 0: the target must hold in at least this share of the seeds, with Wilson's interval."""
    kind: PartKind | None = None
    """`number`, or `direction`: a sign or an order.

    Default: `direction` for `holds` with one side, else `number`.
    """
    direction: str | None = None
    """The sign or order that a number implies, as an inequality like `holds`.

    It can hold if the number is missed.
    """

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
    """Another reading of an omission of the paper: the same parts, measured in other runs."""

    label: str
    """The reading in one phrase."""
    replace: dict[str, str] = Field(min_length=1)
    """Words of the measures with their replacements, such as `red = "red_nongentle"`.

    Only whole words are replaced.
    """
    fit: bool = False
    """Whether it was fitted to the published numbers."""
    scenarios: str = "*"
    """The scenarios in which it is measured, as a pattern.

    Means are over these; parts about others are skipped. Parts without a replaced word are measured in all.
    """


class ClaimTable(FileModel):
    """A claim of the paper."""

    id: str
    """Its name in the report; each only once."""
    where: str = ""
    """Its place in the paper, such as `Fig. 2` or `section 4`; a paper's claim needs it."""
    text: str
    """The statement of the paper, in one sentence."""
    reason: str
    """The reasons of the measure and of the tolerance."""
    origin: Origin | None = None
    """The origin: `paper`, `theory`, `judge` or `ours`.

    `theory` is a formula of ours, `judge` another simulator. Default: `paper` if the experiment has a venue, else
    `ours`.
    """
    parts: list[PartTable] = Field(min_length=1)
    """The parts of the claim, at least one."""
    for_: dict[str, list[Value]] = Field(default={}, alias="for")
    """Lists of values: every combination is a claim.

    `{x}` in texts and measures is a value of `for.x`.
    """
    omitted: str = ""
    """The omission of the paper on which the claim depends; it needs `readings`."""
    readings: list[ReadingTable] = []
    """Other readings of the omission.

    The claim is not decidable if readings have different verdicts.
    """

    @model_validator(mode="after")
    def _omitted_with_readings(self) -> Self:
        if bool(self.omitted) != bool(self.readings):
            raise expected("both or neither", "one of them", field="omitted and readings")
        return self


class NoteTable(FileModel):
    """A statement of the paper that cannot be tested here.

    It has no verdict and is not counted.
    """

    id: str
    """Its name in the report; each only once, among claims too."""
    where: str
    """Its place in the paper."""
    text: str
    """The statement of the paper, in one sentence."""
    reason: str
    """Why it is not tested, or what is known about it without a run."""


class ToleranceTable(ToleranceFields):
    """The tolerance of a column of a published table."""

    measure: str
    """The column."""
    scenarios: list[str] = []
    """The scenarios of the tolerance (default: all). The last match counts."""


class PublishedTable(FileModel):
    """A table of values: every row is a claim, with a part for each column."""

    id: str
    """The prefix of the names of its claims."""
    title: str
    """The content of the table."""
    where: str
    """Its place in the paper."""
    grid: str
    """The grid that reruns it."""
    origin: Origin = "paper"
    """The origin of the values.

    For `paper` they are those under `published` in `experiment.toml`, for any other origin those under `reference`.
    """
    measures: list[str]
    """Its columns."""
    scenarios: list[str] = []
    """Its rows (default: every scenario with published values)."""
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
    """Statements of the paper that cannot be tested here."""
