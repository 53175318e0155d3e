"""Numbers from traces: when a window first falls, how fast it grows, how regular a cycle is."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sojourn.errors import UserError
from sojourn.record import Record

Array = npt.NDArray[np.float64]


Take = Callable[[Array, Array, "Reading"], float]
"""Times in seconds, values, and the reading that asks; gives one number, NaN where there is none."""


@dataclass(frozen=True)
class Reading:
    """How one number is computed from traces; the fields are those of a measure in `experiment.toml`.

    The values of all traces that fit the pattern are pooled. Without `between`, the time after the warm-up counts.
    """

    series: str
    column: str
    take: str
    between: tuple[float, float] | None = None
    than: float = 0.0
    nth: int = 1
    span: float = 1.0
    bin: float = 0.0
    share: float = 0.0
    last: int = 1
    event: tuple[float, float] | None = None

    def of(self, record: Record, scale: float = 1.0, takes: Mapping[str, Take] | None = None) -> float:
        """The number, from values times `scale`; NaN where the record has no such trace.

        `takes` holds what an experiment's `extra.py` adds to `TAKES`.
        """
        pooled = self.pooled(record)
        take = {**TAKES, **(takes or {})}[self.take]
        return take(pooled[0], pooled[1] * scale, self) if pooled else float("nan")

    def pooled(self, record: Record) -> tuple[Array, Array] | None:
        """Times and values of all traces that fit, within `between`; `None` if there is none."""
        begin, end = self.between or (float(record.get("warmup_s", 0.0)), float("inf"))
        times, values = [], []
        for name, table in record.series.items():
            if not fnmatch.fnmatchcase(name, self.series):
                continue
            t, column = np.asarray(table["t"], dtype=np.float64), column_of(record, name, self.column)
            inside = (t >= begin - 1e-9) & (t <= end)
            if self.bin:
                from sojourn.analysis.transient import rebin  # here: `sojourn.analysis` takes a second to load

                # Times of samples are rounded: one just below the end of the span belongs to the next bin.
                inside &= t < end - 1e-9
                column = rebin(t[inside], column[inside], self.bin, begin)
                t = np.asarray(begin + self.bin * np.arange(len(column)), dtype=np.float64)
                inside = np.ones(len(column), dtype=bool)
            times.append(t[inside])
            values.append(column[inside])
        return (np.concatenate(times), np.concatenate(values)) if times else None


def column_of(record: Record, trace: str, column: str) -> Array:
    """The values of a column of a trace. Raises `UserError` where the record has no such trace or column."""
    if trace not in record.series:
        raise UserError(f'series: expected one of {", ".join(record.series) or "none"}, got "{trace}"')
    table = record.series[trace]
    if column not in table:
        known = ", ".join(name for name in table if name != "t")
        raise UserError(f'column: expected one of {known} of the trace {trace}, got "{column}"')
    return np.asarray(table[column], dtype=np.float64)


def settling_time(_: Array, values: Array, reading: Reading) -> float:
    """Seconds until the values stay near their end.

    The end is the mean of the `last` values. Near is within `than`, or within `share` of the end if that is more.
    """
    end = float(np.mean(values[-reading.last :]))
    far = np.flatnonzero(np.abs(values - end) > max(reading.than, reading.share * abs(end)))
    return float(far[-1] + 1) * (reading.bin or 1.0) if len(far) else 0.0


def falls(times: Array, values: Array, share: float) -> Array:
    """Times at which the value falls below a share of its maximum since the last fall."""
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
    """The slope over `span` seconds from the end of the first stretch of values below `than` on."""
    low = _first(times, values < reading.than)
    start = _first(times, (times > low) & (values >= reading.than))
    inside = (times >= start) & (times <= start + reading.span)
    return _slope(times[inside], values[inside], reading)


def yields(times: Array, values: Array, reading: Reading) -> float:
    """Seconds from the event's begin until the values, averaged over `span`, stay below `than` while it lasts.

    NaN if they do not in time: averages near the end count less, and the last five seconds must be below.
    """
    begin, end = reading.event or (times[0], times[-1])
    samples = max(1, round(reading.span / float(np.median(np.diff(times)))))
    smooth = np.convolve(values, np.ones(samples) / samples, mode="same")
    above = times[(times > begin) & (times <= end - 2) & (smooth >= reading.than)]
    last = float(above[-1]) if len(above) else begin
    return float("nan") if last >= end - 5 else last - begin


def recovers(times: Array, values: Array, reading: Reading) -> float:
    """Seconds from the event's end until a value reaches `share` of the mean before the event; NaN if never."""
    begin, end = reading.event or (times[0], times[-1])
    before = float(np.mean(values[times <= begin]))
    back = times[(times > end) & (values >= reading.share * before)]
    return float(back[0] - end) if len(back) else float("nan")


def _some(pick: Callable[[Array], float]) -> Take:
    return lambda _t, values, _r: float(pick(values)) if len(values) else float("nan")


def _box_width(values: Array) -> float:
    """The distance of the quartiles."""
    first, third = np.quantile(values[np.isfinite(values)], [0.25, 0.75])
    return float(third - first)


TAKES: dict[str, Take] = {
    "mean": _some(lambda v: float(np.mean(v))),
    "min": _some(lambda v: float(np.min(v))),
    "max": _some(lambda v: float(np.max(v))),
    "settle": settling_time,
    "sd": _some(lambda v: float(np.std(v))),
    "median": _some(lambda v: float(np.median(v))),
    "box-width": _some(_box_width),
    "slope": _slope,
    "slope-after": _slope_after,
    "first-below": lambda t, v, r: _first(t, v < r.than),
    "nth-fall": _nth_fall,
    "fall-variation": _fall_variation,
    "yields": yields,
    "recovers": recovers,
}
"""What `take` in a measure can be."""
