"""Means of a run's series over seconds, and when they settle."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Columns = Mapping[str, Array]


def per_second(columns: Columns, column: str, start: float, end: float) -> Array:
    """The mean of a column in each whole second of [start, end)."""
    t, values = np.asarray(columns["t"]), np.asarray(columns[column], dtype=np.float64)
    # Samples lie on a grid whose times may fall a rounding short of it.
    second = np.floor(t + 1e-9).astype(int)
    inside = (second >= start) & (second < end)
    count = np.bincount(second[inside] - int(start), minlength=int(end - start))
    total = np.bincount(second[inside] - int(start), weights=values[inside], minlength=int(end - start))
    mean: Array = np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)
    return mean


def settling_time(seconds: Array, absolute: float, last: int = 10, relative: float = 0.35) -> float:
    """After how many seconds the means stay near where they end.

    Near: no further from the mean of the last ten than `absolute`, or 35 % of it, whichever is more.
    """
    end = float(np.mean(seconds[-last:]))
    far = np.flatnonzero(np.abs(seconds - end) > max(absolute, relative * abs(end)))
    return float(far[-1] + 1) if len(far) else 0.0
