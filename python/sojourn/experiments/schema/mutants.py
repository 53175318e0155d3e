"""`mutants.toml`: wrong versions of a paper's proposal, which its claims should detect."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from sojourn.experiments.schema.toml import FileModel, FileName, PlainName, expected
from sojourn.experiments.schema.variables import Choosing, Parameters


class PatchTable(FileModel):
    """A change of a source file."""

    file: FileName
    """The file, relative to the experiment's folder or to the repository.

    Paths in the repository begin with `crates/` or `python/`.
    """
    old: str = Field(min_length=1)
    """A text that occurs once in the file."""
    new: str
    """Its replacement."""


class MutantTable(Choosing):
    """A wrong version: changed parameters of some runs, or a changed source."""

    id: PlainName
    """Its name in the table."""
    text: str
    """The mistake, in one phrase."""
    claims: list[str] = []
    """The claims that should detect it; those that do not are listed."""
    set: Parameters = {}
    """Fields of the scenario file with other values."""
    scale: dict[str, float] = {}
    """Fields of the scenario file with a factor of their number; the unit stays."""
    unseen: str = ""
    """Why no claim of the paper can detect it; empty if one should."""
    patch: list[PatchTable] = []
    """Changes of source files. The engine is rebuilt if one is in `crates`."""

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
    """The audited claims.

    Default: all on these grids except those of another simulator.
    """
    seeds: int = Field(default=0, ge=0)
    """Seeds of a run; 0 for the paper's few, as with `--quick`."""
    short: Parameters = {}
    """Fields of the scenario file that make the runs short, after each grid's `quick_set`."""
    mutants: list[MutantTable] = Field(min_length=1)
    """The wrong versions."""
