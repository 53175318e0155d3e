"""The common fields of a report's figures."""

from __future__ import annotations

from typing import ClassVar

from sojourn.experiments.schema.toml import FileModel, PlainName


class Figure(FileModel):
    """The common fields of figures."""

    id: PlainName
    """Name of its files."""
    kind: str
    """The kind of figure."""
    grid: str
    """The grid that it belongs to: it is drawn when that grid is run."""
    caption: str = ""
    """The text below it."""
    as_pixels: ClassVar[bool] = False
    """Whether it is better kept as pixels than as lines."""
