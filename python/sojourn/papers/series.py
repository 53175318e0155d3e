"""Measures of a record's series: what no single number of the record says."""

from __future__ import annotations

import fnmatch
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sojourn.analysis.transient import box, rebin
from sojourn.papers.fields import Fields
from sojourn.record import Record

Array = npt.NDArray[np.float64]
TAKES = ("mean", "sd", "median", "max", "box-width")


@dataclass(frozen=True)
class SeriesMeasure:
    """What to take of which series: all that fit the pattern are pooled, in longer bins where asked for."""

    pattern: str
    column: str
    take: str
    bin: float = 0.0

    def pooled(self, record: Record) -> Array:
        """The values after the warm-up, of all series that fit."""
        since = float(record.get("warmup_s", 0.0))
        found = []
        for name, columns in record.series.items():
            if not fnmatch.fnmatchcase(name, self.pattern):
                continue
            t, values = columns["t"], columns[self.column]
            found.append(rebin(t, values, self.bin, since) if self.bin else values[t >= since])
        return np.concatenate(found) if found else np.array([])

    def value(self, record: Record) -> float:
        """The measure; NaN where the run has no such series."""
        values = self.pooled(record)
        if not len(values):
            return math.nan
        if self.take == "box-width":
            return box(values).width
        if self.take == "mean":
            return float(values.mean())
        if self.take == "sd":
            return float(values.std())
        return float(np.median(values) if self.take == "median" else values.max())


def read_series(f: Fields) -> SeriesMeasure | None:
    """The series that a measure asks for, if it does."""
    if not f.has("pool"):
        return None
    take = f.text("take")
    if take not in TAKES:
        raise f.error("take", take, f"one of {', '.join(TAKES)}")
    return SeriesMeasure(f.text("pool"), f.text("column"), take, f.number("bin", 0.0))
