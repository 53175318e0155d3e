"""`mutants.toml`: wrong versions of what a paper proposes, which its claims should notice."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from sojourn.experiments.schema.toml import FileModel, FileName, PlainName, expected
from sojourn.experiments.schema.variables import Choosing, Parameters


class PatchTable(FileModel):
    """A change of a source file."""

    file: FileName
    """The file: from the experiment's folder on, or from that of the repository on (`crates/...`, `python/...`)."""
    old: str = Field(min_length=1)
    """A text that stands in the file once."""
    new: str
    """What stands there instead."""


class MutantTable(Choosing):
    """A wrong version: parameters changed in the runs that it names, or a changed source."""

    id: PlainName
    """Its name in the table."""
    text: str
    """What is wrong with it, in one phrase."""
    claims: list[str] = []
    """The claims that should notice it: they are named where they do not."""
    set: Parameters = {}
    """Fields of the scenario file with other values."""
    scale: dict[str, float] = {}
    """Fields of the scenario file, and what their number is multiplied by; its unit stays."""
    patch: list[PatchTable] = []
    """Changes of source files. The engine is built again where one is in `crates`."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if bool(self.patch) == bool(self.set or self.scale):
            raise expected("patch, or set and scale", "both" if self.patch else "none", field="patch")
        return self


class MutantsFile(FileModel):
    """`mutants.toml`."""

    grids: list[str] = []
    """The grids that are run (default: all)."""
    claims: list[str] = []
    """The claims that are asked (default: all that rest on these grids and are not another simulator's)."""
    seeds: int = Field(default=0, ge=0)
    """Seeds of a run; 0 for the paper's few, as with `--quick`."""
    short: Parameters = {}
    """Fields of the scenario file that make the runs short, after each grid's `quick_set`."""
    mutants: list[MutantTable] = Field(min_length=1)
    """The wrong versions."""
