"""What a run of a situation shows: numbers by column, and samples of delay and rate for the trade-off of both."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from sojourn.ranges import Range
from sojourn.record import Record
from sojourn.study_rfc7928.situations import Phase, Situation

Array = npt.NDArray[np.float64]
NOT_NEGATIVE, PERCENT, INDEX = Range(0.0), Range(0.0, 100.0), Range(0.0, 1.0)
STEP = 1.0
"""Seconds over which a sample of delay and rate is a mean."""


@dataclass(frozen=True)
class Column:
    """A column of a situation's table: its title with its unit, how it is read from the runs of one seed, its range.

    `read` gets a record for each run of the situation. NaN where there is no such value.
    """

    title: str
    read: Callable[[Sequence[Record]], float]
    within: Range = NOT_NEGATIVE


def columns(situation: Situation) -> list[Column]:
    """The columns of a situation's table."""
    return [*(_of_rtts(situation) if situation.rtts else _of_one(situation))]


def _of_one(situation: Situation) -> Iterator[Column]:
    """Columns of a situation of one run."""
    yield Column("goodput, Mbit/s", lambda runs: _number(runs[0], "total.goodput_bps", 1e-6))
    yield _measure("busy, %", "utilization", 100, PERCENT)
    if situation.phases:
        for phase in situation.phases:
            yield Column(f"mean wait, {phase.name}, ms", partial(_mean_delay, phase))
        yield _measure("longest wait, ms", "wait_ms.max")
    else:
        yield _measure("mean wait, ms", "wait_ms.mean")
        yield _measure("deviation of waits, ms", "wait_ms.sd")
        yield _measure("wait, 95th percentile, ms", "wait_ms.p95")
    for name in situation.links:
        yield _measure(f"mean wait at {name}, ms", "wait_ms.mean", link=name)
    yield _measure("lost, %", "loss_ratio", 100, PERCENT)
    if situation.equal:
        yield Column("Jain's index", lambda runs: _number(runs[0], "total.jain"), INDEX)
    for group in situation.groups:
        yield from _of_group(group)


def _of_group(group: str) -> Iterator[Column]:
    """What a group got: its goodput, of datagrams their loss, of transfers the time that they took."""
    if group in ("video", "voice"):
        yield Column(f"{group}: lost, %", lambda runs: _lost(runs[0], group), PERCENT)
    elif group == "web":
        path = f"groups.{group}.completion_s"
        yield Column("web: mean completion, s", lambda runs: _number(runs[0], f"{path}.mean"))
        yield Column("web: completion, 90th percentile, s", lambda runs: _number(runs[0], f"{path}.p90"))
    else:
        yield Column(f"{group}: Mbit/s", lambda runs: _number(runs[0], f"groups.{group}.goodput_bps", 1e-6))


def _of_rtts(situation: Situation) -> Iterator[Column]:
    """Columns of a situation of several round-trip times: who gets how much, and the mean wait."""
    for number, rtt in enumerate(situation.rtts):
        yield Column(f"goodput at {rtt} ms over that at 100 ms", partial(_ratio, number))
    for number, rtt in enumerate(situation.rtts):
        yield _measure(f"mean wait, {rtt} ms, ms", "wait_ms.mean", run=number)


def _measure(
    title: str, path: str, factor: float = 1.0, within: Range = NOT_NEGATIVE, *, link: str = "bottleneck", run: int = 0
) -> Column:
    """A measure of a link in one of the runs."""
    return Column(title, lambda runs: _number(runs[run], f'links."{link}".{path}', factor), within)


def _number(record: Record, path: str, factor: float = 1.0) -> float:
    value = record.value(path)
    return math.nan if value is None else factor * float(value)


def _ratio(run: int, runs: Sequence[Record]) -> float:
    record = runs[run]
    usual = _number(record, "groups.usual.goodput_bps")
    return _number(record, "groups.other.goodput_bps") / usual if usual else math.inf


def _lost(record: Record, group: str) -> float:
    """The part of a group's datagrams that was lost, in percent."""
    flows = [flow for flow in record["flows"] if flow["group"] == group]
    sent = sum(flow["sent"] for flow in flows)
    return 100 * sum(flow["dropped"] for flow in flows) / sent if sent else math.nan


def _delays(record: Record, begin: float, end: float) -> Array:
    """What a packet that arrives would wait, in ms, sample by sample of a part of the run."""
    table = record.series["queue/bottleneck"]
    inside = (table["t"] >= begin) & (table["t"] < end)
    return table["delay_s"][inside] * 1e3


def _mean_delay(phase: Phase, runs: Sequence[Record]) -> float:
    return float(np.mean(_delays(runs[0], phase.begin, phase.end)))


def samples(record: Record) -> Array:
    """Mean delay in ms and rate in Mbit/s of the bottleneck, second by second after the warm-up: shape (n, 2)."""
    rates = record.series["throughput/bottleneck"]
    begin, end = float(record["warmup_s"]), float(record["duration_s"])
    return np.array(
        [
            (float(np.mean(_delays(record, t, t + STEP))), float(bps) * 1e-6)
            for t, bps in zip(rates["t"], rates["bps"], strict=True)
            if begin <= t <= end - STEP
        ]
    )
