"""What every figure of a report has."""

from __future__ import annotations

from typing import ClassVar

from sojourn.experiments.schema.toml import FileModel, PlainName


class Figure(FileModel):
    """What every figure has."""

    id: PlainName
    """Name of its files."""
    kind: str
    """How it is drawn."""
    grid: str
    """The grid that it belongs to: it is drawn when that is run."""
    caption: str = ""
    """The text below it."""
    as_pixels: ClassVar[bool] = False
    """Whether it is better kept as pixels than as lines."""
