"""Background transports in a queue that is shallow and marked: the dual queue of RFC 9332.

The scalable queue marks above 1 ms, so a delay never comes near the target of a background transport. Every controller
that has `mark_gain` is measured in three ways: without ECN in the classic queue, and in the scalable queue with a mark
that counts as a loss (`mark_gain` 0) and with counted marks (its default).

In each cell of a grid of rates and round-trip times the background is alone for 50 s; then a flow of Prague, or of
CUBIC with ECN, joins it for 30 s; then it is alone again.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sojourn import _sojourn
from sojourn.bench_lbe import PACKET, group, path_scenario, reclaim_time, throughput_between, yield_time
from sojourn.record import Record
from sojourn.running import Job, Progress, run_jobs
from sojourn.scenario import Scenario
from sojourn.store import Store

RATES = (4.0, 12.0, 40.0, 200.0)
"""Rates of the link, in Mbit/s."""
RTTS = (5.0, 20.0, 50.0, 100.0)
"""Round-trip times without the queue, in ms."""
SETTLED, JOINS, STOPS, END = 20.0, 50.0, 80.0, 110.0
"""When the background counts from, when the other flow comes and goes, and the end, in seconds."""
LEFT = 10.0
"""Seconds after which a flow that came counts."""
YIELDED, BACK = 0.25, 0.9
"""Parts: of the link, below which the background has yielded; of what it had alone, above which it is back."""
WAYS: dict[str, dict[str, Any]] = {
    "classic queue": {"ecn": False},
    "marks as losses": {"ecn": "l4s", "mark_gain": 0.0},
    "marks counted": {"ecn": "l4s"},
}
"""The ways to treat marks; `mark_gain` is the controller's."""
OTHERS: dict[str, Any] = {"prague": "l4s", "cubic": True}
"""The flows that come and go, with their ECN."""
MEASURES = (
    "alone (% of the link)",
    "share next to Prague (%)",
    "share next to CUBIC (%)",
    "yields to Prague within (s)",
    "back within (s)",
)
"""What is measured in each cell, in the order of `Cells.values`."""


def with_mark_gain() -> list[str]:
    """The controllers that have a gain for counted marks."""
    choices = json.loads(_sojourn.schema())["$defs"]["Control"]["oneOf"]
    return [str(each["properties"]["cc"]["const"]) for each in choices if "mark_gain" in each["properties"]]


def scenario(name: str, way: str, other: str, rate: float, rtt: float) -> Scenario:
    """A background flow, and another that comes and goes; the rate in Mbit/s, the round-trip time in ms."""
    treatment = dict(WAYS[way])
    tcp = {"ecn": treatment.pop("ecn")}
    access = {"rate": f"{10 * rate:g} Mbit/s", "delay": "0 ms"}
    packets = max(50, round(rate * 1e3 * 250 / (8 * PACKET)))
    link = {
        "rate": f"{rate:g} Mbit/s", "delay": f"{rtt / 2:g} ms",
        "queue": {"aqm": "dualpi2", "limit": f"{packets} packets", "ecn": True},
    }  # fmt: skip
    background = group("lbe", {"cc": name, **treatment}, {"uniform": ["0 ms", "100 ms"]}, tcp=tcp, access=access)
    joins = {"uniform": [f"{JOINS:g} s", f"{JOINS + 0.1:g} s"]}
    second = group("tcp", {"cc": other}, joins, stop=f"{STOPS:g} s", tcp={"ecn": OTHERS[other]}, access=access)
    trace = {"throughput": {"flows": ["*"], "every": "500 ms"}}
    return path_scenario(f"{name}, {way}", [background, second], int(END), link=link, trace=trace)


def read(prague: Record, cubic: Record) -> list[float]:
    """The measures of a cell; NaN for a time that was not reached."""
    rate = float(prague.value("links.bottleneck.rate_bps"))
    alone = throughput_between(prague, "lbe/0", SETTLED, JOINS)

    def share(run: Record) -> float:
        own, other = (throughput_between(run, flow, JOINS + LEFT, STOPS) for flow in ("lbe/0", "tcp/0"))
        return 100 * own / (own + other)

    times = yield_time(prague, YIELDED * rate, JOINS, STOPS), reclaim_time(prague, BACK * alone, STOPS)
    return [100 * alone / rate, share(prague), share(cubic), *times]


@dataclass(frozen=True)
class Cells:
    """What was measured: `values[controller, way, rate, rtt, measure]`, the medians over the seeds."""

    names: Sequence[str]
    values: npt.NDArray[np.float64]


def measure_l4s(
    names: Sequence[str],
    seeds: Sequence[int],
    *,
    threads: int = 0,
    cache: Store | None = None,
    progress: Progress | None = None,
) -> Cells:
    """Runs the cells for controllers that have a `mark_gain`. For `threads`, `cache` and `progress` see `run_jobs`."""
    places = list(itertools.product(names, WAYS, RATES, RTTS))
    jobs = [
        Job(scenario(name, way, other, rate, rtt), seed)
        for name, way, rate, rtt in places
        for seed in seeds
        for other in OTHERS
    ]
    records = iter(run_jobs(jobs, threads=threads, cache=cache, progress=progress))
    found = [np.median([read(next(records), next(records)) for _ in seeds], axis=0) for _ in places]
    return Cells(names, np.reshape(found, (len(names), len(WAYS), len(RATES), len(RTTS), len(MEASURES))))
