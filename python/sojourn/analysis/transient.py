"""How a series answers a change: rise time, overshoot, settling, and what is left of it at rest."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sojourn.errors import UserError

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Transient:
    """The answer to a step; NaN where the series does not get there."""

    rise: float
    """Time from 10 to 90 % of the way, in seconds."""
    overshoot: float
    """How far it goes beyond its end, in percent of the way; 0 if it does not."""
    settling: float
    """From when on it stays within the band, in seconds after the start."""
    peak: float
    """The farthest value in the step's direction."""
    end: float
    """The value that the measures refer to."""


def transient(
    t: Array, y: Array, end: float | None = None, *, start: float | None = None, band: float = 0.02, least: float = 0.0
) -> Transient:
    """Measures a step's answer from the first sample on.

    `end` is the value it goes to (default: the mean of the last tenth), `start` where it comes from (default: the first
    value). The band of settling is `band` of the way, or `least` if that is more. Crossings lie between samples.
    """
    t, y = np.asarray(t, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if t.ndim != 1 or t.shape != y.shape or len(t) < 2:
        raise UserError("transient: taken are two equally long series of two samples or more")
    if not (np.all(np.diff(t) > 0) and np.all(np.isfinite(y))):
        raise UserError("transient: taken are times that grow and values that are numbers")
    final = float(np.mean(y[-max(1, len(y) // 10) :])) if end is None else float(end)
    first = float(y[0]) if start is None else float(start)
    way = final - first
    if way == 0:
        raise UserError(f"transient: it starts at its end, {final:g}: taken is a series that changes")
    part = (y - first) / way
    low, high = _first_beyond(t, part, 0.1), _first_beyond(t, part, 0.9)
    overshoot = max(0.0, float(part.max()) - 1.0) * 100.0
    settled = _settles(t, np.abs(y - final), max(band * abs(way), least))
    peak = float(y.max() if way > 0 else y.min())
    return Transient(high - low, overshoot, settled - float(t[0]), peak, final)


def _first_beyond(t: Array, part: Array, level: float) -> float:
    """When a series first reaches a level, between two samples by a straight line; NaN if never."""
    reached = np.flatnonzero(part >= level)
    if not len(reached):
        return math.nan
    i = int(reached[0])
    if i == 0:
        return float(t[0])
    share = (level - part[i - 1]) / (part[i] - part[i - 1])
    return float(t[i - 1] + share * (t[i] - t[i - 1]))


def _settles(t: Array, off: Array, band: float) -> float:
    """From when on a distance stays within the band; NaN if it is outside at the end."""
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
    """A box plot's numbers: quartiles, and whiskers at the last value within 1.5 times their distance."""

    low: float
    first: float
    median: float
    third: float
    high: float

    @property
    def width(self) -> float:
        """Third less first quartile."""
        return self.third - self.first


def box(values: Array) -> Box:
    """The box of some values; NaN throughout where there are none."""
    values = np.asarray(values, dtype=np.float64)
    values = values[np.isfinite(values)]
    if not len(values):
        return Box(*[math.nan] * 5)
    first, median, third = (float(q) for q in np.quantile(values, [0.25, 0.5, 0.75]))
    reach = 1.5 * (third - first)
    inside = values[(values >= first - reach) & (values <= third + reach)]
    return Box(float(inside.min()), first, median, third, float(inside.max()))


def rebin(t: Array, values: Array, every: float, since: float = 0.0) -> Array:
    """Means of an evenly sampled rate over longer bins, from `since` on; a bin that is not full is left out.

    `t` is the start of each sample's span, as in the series of throughput.
    """
    t, values = np.asarray(t, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if len(t) < 2:
        return values[t >= since]
    own = float(t[1] - t[0])
    each = round(every / own)
    if each < 1 or abs(each * own - every) > 1e-6 * every:
        raise UserError(f"bins of {every:g} s: taken is a multiple of the series' {own:g} s")
    kept = values[t >= since - 1e-9]
    whole = len(kept) // each * each
    return np.asarray(kept[:whole].reshape(-1, each).mean(axis=1), dtype=np.float64)
