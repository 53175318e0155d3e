"""Step responses of a measured series, box plots, and means over longer bins.

A step response has rise time, overshoot and settling time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sojourn.core.errors import UserError
from sojourn.core.extras import require

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Transient:
    """The step response of a series; NaN for a level that it does not reach."""

    rise: float
    """Time from 10 to 90 % of the step, in seconds."""
    overshoot: float
    """Maximum excess over the final value, in percent of the step; 0 without overshoot."""
    settling: float
    """Seconds from the start until the series stays within the band."""
    peak: float
    """The extreme value in the direction of the step."""
    end: float
    """The final value, to which the others are relative."""


def transient(
    t: Array, y: Array, end: float | None = None, *, start: float | None = None, band: float = 0.02, least: float = 0.0
) -> Transient:
    """Measures the step response of the series `y` at times `t` (s), from the first sample on.

    `end` is the final value (default: the mean of the last tenth), `start` the initial value (default: the first
    sample). The series has settled when it stays within `band` of the step, or within `least` if that is more.
    Crossings are interpolated between samples. Raises `UserError` for series that are constant, too short, unordered or
    of different length.
    """
    t, y = np.asarray(t, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if t.ndim != 1 or t.shape != y.shape or len(t) < 2:
        raise UserError("transient: expected two series of the same length, two samples or more")
    if not (np.all(np.diff(t) > 0) and np.all(np.isfinite(y))):
        raise UserError("transient: expected increasing times and finite values")
    final = float(np.mean(y[-max(1, len(y) // 10) :])) if end is None else float(end)
    first = float(y[0]) if start is None else float(start)
    rise = final - first
    if rise == 0:
        raise UserError(f"transient: expected a series that changes, got one that starts at its final value {final:g}")
    part = (y - first) / rise
    low, high = _first_beyond(t, part, 0.1), _first_beyond(t, part, 0.9)
    overshoot = max(0.0, float(part.max()) - 1.0) * 100.0
    settled = settles(t, np.abs(y - final), max(band * abs(rise), least))
    peak = float(y.max() if rise > 0 else y.min())
    return Transient(high - low, overshoot, settled - float(t[0]), peak, final)


def _first_beyond(t: Array, part: Array, level: float) -> float:
    """The time at which a series first reaches a level, interpolated; NaN if never."""
    reached = np.flatnonzero(part >= level)
    if not len(reached):
        return math.nan
    i = int(reached[0])
    if i == 0:
        return float(t[0])
    share = (level - part[i - 1]) / (part[i] - part[i - 1])
    return float(t[i - 1] + share * (t[i] - t[i - 1]))


def settles(t: Array, off: Array, band: float) -> float:
    """The time after which a distance stays within the band; NaN if it ends outside."""
    outside = np.flatnonzero(off > band)
    if not len(outside):
        return float(t[0])
    i = int(outside[-1])
    if i == len(t) - 1:
        return math.nan
    share = (off[i] - band) / (off[i] - off[i + 1])
    return float(t[i] + share * (t[i + 1] - t[i]))


@dataclass(frozen=True)
class Box:
    """The numbers of a box plot.

    They are quartiles, and whiskers at the last value within 1.5 times the interquartile range.
    """

    low: float
    first: float
    median: float
    third: float
    high: float

    @property
    def width(self) -> float:
        """The interquartile range: third minus first quartile."""
        return self.third - self.first


def box(values: Array) -> Box:
    """The box plot of the finite values, as matplotlib computes it; NaN without values."""
    values = np.asarray(values, dtype=np.float64)
    values = values[np.isfinite(values)]
    if not len(values):
        return Box(*[math.nan] * 5)
    require("matplotlib")
    from matplotlib.cbook import boxplot_stats

    found = boxplot_stats(values)[0]
    return Box(*(float(found[key]) for key in ("whislo", "q1", "med", "q3", "whishi")))


def rebin(t: Array, values: Array, every: float, since: float = 0.0) -> Array:
    """Means of an evenly sampled rate over bins of `every` seconds, from `since` seconds on.

    `t` are the starts of the samples' intervals, as in series of throughput. An incomplete last bin is omitted. Raises
    `UserError` if `every` is not a multiple of the sampling interval.
    """
    t, values = np.asarray(t, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if len(t) < 2:
        return values[t >= since]
    own = float(t[1] - t[0])
    each = round(every / own)
    if each < 1 or abs(each * own - every) > 1e-6 * every:
        raise UserError(f"bins: expected a multiple of the series' interval of {own:g} s, got {every:g} s")
    kept = values[t >= since - 1e-9]
    whole = len(kept) // each * each
    return np.asarray(kept[:whole].reshape(-1, each).mean(axis=1), dtype=np.float64)
