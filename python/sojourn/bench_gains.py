"""What a background transport does with other values of `mark_gain`, in two queues that mark.

Every controller that has `mark_gain` is measured with gains of 1 to 16 on a link of 40 Mbit/s, with round trips of 20
and 100 ms, over DualPI2 next to Prague and over a step of 20 packets next to DCTCP. It starts within the first second.
In one run it is alone, and what it uses from 10 to 50 s counts; in another one the other flow starts between 20 and
21 s, and its share from 30 to 70 s counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sojourn.bench_lbe import PACKET, PART, group, path_scenario, throughput_between
from sojourn.record import Record
from sojourn.running import Job, Progress, run_jobs
from sojourn.scenario import Scenario
from sojourn.stats import Estimate, estimate
from sojourn.store import Store

RATE = 40.0
"""The rate of the link, in Mbit/s."""
GAINS = (1.0, 2.0, 4.0, 8.0, 16.0)
RTTS = (20.0, 100.0)
"""Round-trip times without the queue, in ms."""
ALONE, SHARED = (10, 50), (30, 70)
"""From when to when it counts, in seconds: alone, and next to the other flow."""


@dataclass(frozen=True)
class Queue:
    """A queue that marks: its name in a table, its discipline, the ECN of both flows, and the other flow."""

    label: str
    aqm: str
    ecn: str
    other: str


QUEUES = (Queue("DualPI2", "dualpi2", "l4s", "prague"), Queue("step", "step", "dctcp", "dctcp"))


def places() -> list[tuple[float, Queue]]:
    """Round-trip times and queues, in the order of `Gains.values`."""
    return [(rtt, queue) for queue in QUEUES for rtt in RTTS]


def scenario(name: str, gain: float, rtt: float, queue: Queue, shared: bool) -> Scenario:
    """A background flow with this gain, alone or next to the other flow of the queue; the round-trip time in ms."""
    link = {
        "rate": f"{RATE:g} Mbit/s", "delay": f"{rtt / 2:g} ms",
        "queue": {"aqm": queue.aqm, "limit": f"{round(RATE * 1e3 * 250 / (8 * PACKET))} packets", "ecn": True},
    }  # fmt: skip
    own: dict[str, Any] = {"tcp": {"ecn": queue.ecn}, "access": {"rate": f"{10 * RATE:g} Mbit/s", "delay": "0 ms"}}
    flows = [group("lbe", {"cc": name, "mark_gain": gain}, {"uniform": ["0 s", "1 s"]}, **own)]
    if shared:
        flows.append(group("tcp", {"cc": queue.other}, {"uniform": ["20 s", "21 s"]}, **own))
    trace = {"throughput": {"flows": ["*"], "every": "500 ms"}}
    return path_scenario(f"{name}, mark_gain {gain:g}", flows, (SHARED if shared else ALONE)[1], link=link, trace=trace)


def read(alone: Record, shared: Record) -> list[float]:
    """What it uses of the link alone, and its share next to the other flow, in percent."""
    own, other = (throughput_between(shared, flow, *SHARED) for flow in ("lbe/0", "tcp/0"))
    return [100 * throughput_between(alone, "lbe/0", *ALONE) / (RATE * 1e6), 100 * own / (own + other)]


@dataclass(frozen=True)
class Gains:
    """What was measured: `values[controller, gain, place, measure, seed]`, in percent, as `read` gives them."""

    names: Sequence[str]
    values: npt.NDArray[np.float64]

    def estimate(self, controller: int, gain: int, place: int, measure: int) -> Estimate:
        """The mean over the seeds with its interval."""
        return estimate(self.values[controller, gain, place, measure], within=PART)


def measure_gains(
    names: Sequence[str],
    seeds: Sequence[int],
    *,
    threads: int = 0,
    cache: Store | None = None,
    progress: Progress | None = None,
) -> Gains:
    """Runs all gains of controllers that have a `mark_gain`. For `threads`, `cache` and `progress` see `run_jobs`."""
    cases = list(itertools.product(names, GAINS, places(), seeds))
    jobs = [
        Job(scenario(name, gain, *place, shared), seed) for name, gain, place, seed in cases for shared in (False, True)
    ]
    records = iter(run_jobs(jobs, threads=threads, cache=cache, progress=progress))
    found = np.array([read(next(records), next(records)) for _ in cases])
    by_seed = found.reshape(len(names), len(GAINS), len(places()), len(seeds), -1)
    return Gains(names, np.moveaxis(by_seed, 3, 4))
