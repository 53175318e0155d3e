"""Numbers from traces, such as the first fall of a window or the regularity of a cycle."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sojourn.core.errors import UserError
from sojourn.core.record import Record
from sojourn.experiments.expression import Functions, evaluate

Array = npt.NDArray[np.float64]


Take = Callable[[Array, Array, "Reading"], float]
"""Computes one number from times in seconds, values, and the reading; NaN without one."""


@dataclass(frozen=True)
class Reading:
    """The computation of one number from traces, with the fields of a measure.

    The measure is one in `experiment.toml`. The values of all traces that match the pattern are pooled. Without
    `between`, the time after the warm-up counts.
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
    at: float = 0.0
    ahead: int = 1
    optional: bool = False
    end: float = float("inf")
    """The end of the run, in seconds."""

    def of(self, record: Record, scale: float = 1.0, takes: Mapping[str, Take] | None = None) -> float:
        """The number, from values times `scale`; NaN if the record has no such trace.

        `takes` are the additions of an experiment's `extra.py` to `TAKES`.
        """
        pooled = self.pooled(record)
        if pooled is None or (self.between and np.isnan(self.between).any()):
            return float("nan")
        take = {**TAKES, **WHOLE, **(takes or {})}[self.take]
        return take(pooled[0], pooled[1] * scale, replace(self, end=float(record.get("duration_s", np.inf))))

    def pooled(self, record: Record) -> tuple[Array, Array] | None:
        """Times and values of all matching traces, within `between`; `None` without a match."""
        begin, end = self.between or (float(record.get("warmup_s", 0.0)), float("inf"))
        times, values = [], []
        for name, table in record.series.items():
            if not fnmatch.fnmatchcase(name, self.series):
                continue
            t = np.asarray(table["t"], dtype=np.float64)
            column = column_of(record, name, self.column, self.optional)
            inside = np.ones(len(t), dtype=bool) if self.take in WHOLE else (t >= begin - 1e-9) & (t <= end)
            if self.optional and self.take not in WHOLE:
                inside &= np.isfinite(column)
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


def column_of(record: Record, trace: str, column: str, optional: bool = False) -> Array:
    """The values of a column of a trace, or of an expression over its columns.

    Raises `UserError` if the record has no such trace or, unless it is `optional`, no such column.
    """
    if trace not in record.series:
        raise UserError(f'series: expected one of {", ".join(record.series) or "none"}, got "{trace}"')
    table = record.series[trace]

    def lookup(path: tuple[str, ...]) -> Array:
        name = ".".join(path)
        if name in table:
            return np.asarray(table[name], dtype=np.float64)
        if optional:
            return np.full(len(table["t"]), np.nan)
        known = ", ".join(each for each in table if each != "t")
        raise UserError(f'column: expected one of {known} of the trace {trace}, got "{name}"')

    if column in table or column.isidentifier():
        return lookup((column,))
    return np.asarray(evaluate(column, lookup, COLUMNS), dtype=np.float64) + np.zeros(len(table["t"]))


def began(values: Array, value: float) -> Array:
    """1 in the first sample of each stay at a value, else NaN."""
    found = np.full(len(values), np.nan)
    first, _ = _stays(values, float(value))
    found[first] = 1.0
    return found


def rise(values: Array) -> Array:
    """The difference of each sample from the one before; 0 for the first."""
    return np.diff(values, prepend=values[:1])


COLUMNS: Functions = {"began": began, "rise": rise}
"""The functions of columns, in addition to those of `expression.py`."""


def _stays(values: Array, value: float) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The first sample of each stay at a value, and the first one after it."""
    there = np.concatenate([[False], np.isclose(values, value, rtol=0.0, atol=1e-9), [False]])
    edges = np.flatnonzero(there[1:] != there[:-1])
    return edges[::2], edges[1::2]


def _stay(times: Array, values: Array, reading: Reading) -> tuple[int, int] | float:
    """The first sample of the selected stay, and the first one after it.

    Infinite if the stay does not exist, NaN if no sample has a value.
    """
    begin, end = reading.between or (0.0, np.inf)
    if not np.isfinite(values).any() or np.isnan(begin + end):
        return float("nan")
    first, after = _stays(values, reading.than)
    inside = np.flatnonzero((times[first] >= begin) & (times[first] <= end))
    if len(inside) < reading.nth:
        return float("inf")
    chosen = inside[reading.nth - 1]
    return int(first[chosen]), int(after[chosen])


def _begin(times: Array, values: Array, reading: Reading) -> float:
    stay = _stay(times, values, reading)
    return stay if isinstance(stay, float) else float(times[stay[0]])


def _end(times: Array, values: Array, reading: Reading) -> float:
    stay = _stay(times, values, reading)
    if isinstance(stay, float):
        return stay
    return float(times[stay[1]]) if stay[1] < len(times) else reading.end


def _next(_times: Array, values: Array, reading: Reading) -> float:
    """The value of the stay that is `ahead` of the selected one."""
    stay = _stay(_times, values, reading)
    if isinstance(stay, float):
        return stay
    rest = values[stay[1] :]
    begins = [0, *(np.flatnonzero(rest[1:] != rest[:-1]) + 1)] if len(rest) else []
    return float(rest[begins[reading.ahead - 1]]) if len(begins) >= reading.ahead else float("inf")


def _at(times: Array, values: Array, reading: Reading) -> float:
    """The value of the last sample up to a time."""
    before = int(np.searchsorted(times, reading.at, side="right")) - 1
    return float(values[before]) if before >= 0 and np.isfinite(reading.at) else float("nan")


WHOLE: dict[str, Take] = {"at": _at, "begin": _begin, "end": _end, "next": _next}
"""Values of `take` for a whole trace: `between` does not cut it."""


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
    """Seconds from the event's begin until averages over `span` stay below `than`.

    They must stay below until the event ends. NaN if they do not: averages near the end have fewer samples, and the
    last five seconds must be below.
    """
    begin, end = reading.event or (times[0], times[-1])
    samples = max(1, round(reading.span / float(np.median(np.diff(times)))))
    smooth = np.convolve(values, np.ones(samples) / samples, mode="same")
    above = times[(times > begin) & (times <= end - 2) & (smooth >= reading.than)]
    last = float(above[-1]) if len(above) else begin
    return float("nan") if last >= end - 5 else last - begin


def recovers(times: Array, values: Array, reading: Reading) -> float:
    """Seconds from the event's end until a value reaches `share` of the mean before the event.

    NaN if it never does.
    """
    begin, end = reading.event or (times[0], times[-1])
    before = float(np.mean(values[times <= begin]))
    back = times[(times > end) & (values >= reading.share * before)]
    return float(back[0] - end) if len(back) else float("nan")


def longest_below(times: Array, values: Array, reading: Reading) -> float:
    """The longest time in seconds during which all values are below `than`."""
    step = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    longest = run = 0
    for value in values:
        run = run + 1 if value < reading.than else 0
        longest = max(longest, run)
    return longest * step


def synchronization(times: Array, flows: Array, reading: Reading) -> float:
    """The mean share of all flows that lose in one event of `span` seconds (rfc7928#2.4).

    An event begins with the first loss after the last event. `than` is the number of flows. It is 0 without losses.
    """
    order = np.argsort(times, kind="stable")
    events: list[set[float]] = []
    begin = -np.inf
    for at, flow in zip(times[order], flows[order], strict=True):
        if at - begin > reading.span:
            events.append(set())
            begin = at
        events[-1].add(flow)
    return sum(map(len, events)) / (len(events) * reading.than) if events else 0.0


def accumulates(times: Array, values: Array, reading: Reading) -> float:
    """Seconds until the sum of values times their step is `than`; NaN if never.

    They count from the begin of the counted time. The values are rates over steps that begin at their times.
    """
    step = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    reached = np.flatnonzero(np.cumsum(values) * step >= reading.than)
    return float(times[reached[0]] - times[0]) + step if len(reached) else float("nan")


def _some(pick: Callable[[Array], float]) -> Take:
    return lambda _t, values, _r: float(pick(values)) if len(values) else float("nan")


def _box_width(values: Array) -> float:
    """The interquartile range."""
    first, third = np.quantile(values[np.isfinite(values)], [0.25, 0.75])
    return float(third - first)


TAKES: dict[str, Take] = {
    "mean": _some(lambda v: float(np.mean(v))),
    "sum": lambda _t, v, _r: float(np.sum(v)),
    "min": _some(lambda v: float(np.min(v))),
    "max": _some(lambda v: float(np.max(v))),
    "settle": settling_time,
    "sd": _some(lambda v: float(np.std(v))),
    "median": _some(lambda v: float(np.median(v))),
    "box-width": _some(_box_width),
    "quantile": lambda _t, v, r: float(np.quantile(v, r.share)) if len(v) else float("nan"),
    "share-above": lambda _t, v, r: float(np.mean(v >= r.than)) if len(v) else float("nan"),
    "slope": _slope,
    "slope-after": _slope_after,
    "first-above": lambda t, v, r: _first(t, v >= r.than),
    "first-below": lambda t, v, r: _first(t, v < r.than),
    "longest-below": longest_below,
    "synchronization": synchronization,
    "accumulates": accumulates,
    "nth-fall": _nth_fall,
    "fall-variation": _fall_variation,
    "yields": yields,
    "recovers": recovers,
}
"""The other values of `take` in a measure."""
