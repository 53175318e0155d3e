"""`coverage.toml`: every numbered item and quantitative sentence of a paper."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from sojourn.experiments.schema.toml import FileModel, expected

Count = Annotated[int, Field(ge=0)]
ITEMS = {"equation": "Eq.", "table": "Table", "figure": "Fig."}
"""The numbered items of a paper, with their short forms."""


class Entry(FileModel):
    """An equation, table, figure or quantitative sentence of the paper, and what covers it."""

    equation: Count = 0
    """The number of the equation; 0 if the entry is about something else."""
    table: Count = 0
    """The number of the table."""
    figure: Count = 0
    """The number of the figure."""
    where: str = Field(min_length=1)
    """Its place in the paper, such as `III-A.3`."""
    text: str = Field(min_length=1)
    """What it states, briefly and in own words."""
    claims: list[str] = []
    """Claims and published tables that measure it, by name or pattern, such as `R1*`."""
    notes: list[str] = []
    """Notes that explain why it is not tested."""
    deviations: list[str] = []
    """Deviations that read it differently."""
    figures: list[str] = []
    """Figures of the report that redraw it."""
    tests: list[str] = []
    """Tests of the repository that check it, as `FILE::NAME`."""
    reason: str = ""
    """Why nothing measures it, or how else it is covered."""

    @property
    def item(self) -> str:
        """The numbered item, such as `Eq. 3`; empty for a sentence."""
        return next((f"{short} {number}" for kind, short in ITEMS.items() if (number := getattr(self, kind))), "")

    @model_validator(mode="after")
    def _one_item_covered(self) -> Self:
        given = [kind for kind in ITEMS if getattr(self, kind)]
        if len(given) > 1:
            raise expected("one of equation, table and figure", " and ".join(given), field="equation")
        ways = ("claims", "notes", "deviations", "figures", "tests", "reason")
        if not any(getattr(self, way) for way in ways):
            raise expected(f"at least one of {', '.join(ways)}", "none", field="claims")
        for name in self.tests:
            file, _, test = name.partition("::")
            if not file or not test:
                raise expected("FILE::NAME", name, field="tests")
        return self


class CoverageFile(FileModel):
    """`coverage.toml`."""

    equations: Count
    """The number of numbered equations in the paper."""
    tables: Count
    """The number of its tables."""
    figures: Count
    """The number of its figures."""
    entries: list[Entry] = Field(min_length=1)
    """The entries, in the order of the paper."""
