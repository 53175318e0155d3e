"""Numbers read from a trace: when a window first falls, how fast it grows, how regular a cycle is."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sojourn.analysis.transient import box, rebin
from sojourn.record import Record

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Reading:
    """How to make one number of traces: which, which column, which part of it, and what of that.

    All series that fit the pattern are pooled, in longer bins of `bin` seconds where asked for; without `between`, what
    comes after the warm-up counts.
    """

    series: str
    column: str
    take: str
    between: tuple[float, float] | None = None
    than: float = 0.0
    nth: int = 1
    span: float = 1.0
    bin: float = 0.0

    def of(self, record: Record, scale: float = 1.0) -> float:
        """The number, of values times `scale`; NaN where the record has no such trace."""
        pooled = self.pooled(record)
        return TAKES[self.take](pooled[0], pooled[1] * scale, self) if pooled else float("nan")

    def pooled(self, record: Record) -> tuple[Array, Array] | None:
        """Times and values of all series that fit, within the span; `None` if there is none."""
        begin, end = self.between or (float(record.get("warmup_s", 0.0)), float("inf"))
        times, values = [], []
        for name, table in record.series.items():
            if not fnmatch.fnmatchcase(name, self.series):
                continue
            t, column = np.asarray(table["t"], dtype=np.float64), np.asarray(table[self.column], dtype=np.float64)
            inside = (t >= begin - 1e-9) & (t <= end)
            if self.bin:
                # Samples lie on a grid whose times may fall a rounding short of it; the end belongs to the next bin.
                inside &= t < end - 1e-9
                column = rebin(t[inside], column[inside], self.bin, begin)
                t = np.asarray(begin + self.bin * np.arange(len(column)), dtype=np.float64)
                inside = np.ones(len(column), dtype=bool)
            times.append(t[inside])
            values.append(column[inside])
        return (np.concatenate(times), np.concatenate(values)) if times else None


def settling_time(_: Array, values: Array, reading: Reading) -> float:
    """After how many seconds the values stay near where they end.

    Near: no further from the mean of the last ten than `than` or 35 % of it, whichever is more.
    """
    end = float(np.mean(values[-10:]))
    far = np.flatnonzero(np.abs(values - end) > max(reading.than, 0.35 * abs(end)))
    return float(far[-1] + 1) * (reading.bin or 1.0) if len(far) else 0.0


def falls(times: Array, values: Array, share: float) -> Array:
    """When the value fell below a share of what it had been at most since the last fall."""
    found, highest = [], -np.inf
    for at, value in zip(times, values, strict=True):
        if value < share * highest:
            found.append(at)
            highest = value
        highest = max(highest, value)
    return np.array(found)


def _first(times: Array, hit: npt.NDArray[np.bool_]) -> float:
    return float(times[np.argmax(hit)]) if hit.any() else float("nan")


def _nth_fall(times: Array, values: Array, reading: Reading) -> float:
    found = falls(times, values, reading.than)
    return float(found[reading.nth - 1]) if len(found) >= reading.nth else float("nan")


def _fall_variation(times: Array, values: Array, reading: Reading) -> float:
    """The coefficient of variation of the time between falls."""
    gaps = np.diff(falls(times, values, reading.than))
    return float(np.std(gaps) / np.mean(gaps)) if len(gaps) > 1 else float("nan")


def _slope(times: Array, values: Array, _: Reading) -> float:
    return float(np.polyfit(times, values, 1)[0]) if len(times) > 1 else float("nan")


def _slope_after(times: Array, values: Array, reading: Reading) -> float:
    """The slope over `span` seconds from the first value below `than` on."""
    start = _first(times, values < reading.than)
    inside = (times >= start) & (times <= start + reading.span)
    return _slope(times[inside], values[inside], reading)


def _some(pick: Callable[[Array], float]) -> Callable[[Array, Array, Reading], float]:
    return lambda _t, values, _r: float(pick(values)) if len(values) else float("nan")


TAKES: dict[str, Callable[[Array, Array, Reading], float]] = {
    "mean": _some(lambda v: float(np.mean(v))),
    "min": _some(lambda v: float(np.min(v))),
    "max": _some(lambda v: float(np.max(v))),
    "settle": settling_time,
    "sd": _some(lambda v: float(np.std(v))),
    "median": _some(lambda v: float(np.median(v))),
    "box-width": _some(lambda v: box(v).width),
    "slope": _slope,
    "slope-after": _slope_after,
    "first-below": lambda t, v, r: _first(t, v < r.than),
    "nth-fall": _nth_fall,
    "fall-variation": _fall_variation,
}
"""What may be taken of a trace."""
