"""Numbers read from a trace: when a window first falls, how fast it grows, how regular a cycle is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sojourn.record import Record

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Reading:
    """How to make one number of a trace: which column, which part of it, and what of that."""

    series: str
    column: str
    take: str
    between: tuple[float, float] = (0.0, float("inf"))
    than: float = 0.0
    nth: int = 1

    def of(self, record: Record) -> float:
        """The number; NaN where the trace does not have it."""
        table = record.series.get(self.series)
        if table is None:
            return float("nan")
        times, values = table["t"], table[self.column]
        inside = (times >= self.between[0]) & (times <= self.between[1])
        return TAKES[self.take](times[inside], values[inside], self)


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


def _some(pick: Callable[[Array], float]) -> Callable[[Array, Array, Reading], float]:
    return lambda _t, values, _r: float(pick(values)) if len(values) else float("nan")


TAKES: dict[str, Callable[[Array, Array, Reading], float]] = {
    "mean": _some(lambda v: float(np.mean(v))),
    "min": _some(lambda v: float(np.min(v))),
    "max": _some(lambda v: float(np.max(v))),
    "slope": _slope,
    "first-below": lambda t, v, r: _first(t, v < r.than),
    "nth-fall": _nth_fall,
    "fall-variation": _fall_variation,
}
"""What may be taken of a trace."""
