"""Background transports compared over a grid of targets, buffers, rates and round-trip times.

One card of `bench_lbe` holds on one path. Here every controller gets each target of the queuing delay on each path. In
each cell of the grid the controllers are compared with the same seeds:

- *alone*: the background flow for 40 s, of which the first 20 are left out: *utilization* and mean *wait*.
- *next to CUBIC*: a CUBIC flow (rfc9438) joins for 40 s, of which the first 10 are left out: the background's *share*,
  and what *CUBIC loses*, compared with a run without the background.
- *transfers*: CUBIC transfers that offer 30 % of the rate for 40 s: how much longer they take with the
  background than without.
- *Jain*: the index of two background flows, the second of which starts 20 s later, over the last 30 of 80 s.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sojourn import _sojourn
from sojourn.bench_lbe import (
    AT_START,
    CHANGE,
    CUBIC,
    INDEX,
    JITTER,
    LOST,
    PACKET,
    PART,
    Row,
    group,
    path_scenario,
    throughput_between,
)  # fmt: skip
from sojourn.record import Record
from sojourn.running import Job, Progress, run_jobs
from sojourn.scenario import Scenario
from sojourn.stats import jain
from sojourn.store import Store

Array = npt.NDArray[np.float64]

TARGETS = (25.0, 60.0, 100.0)
"""Targets of the queuing delay, in ms."""
BUFFERS = (30.0, 100.0, 300.0)
"""Sizes of the buffer, in ms that the link takes to send it."""
RATES = (2.0, 10.0, 50.0)
"""Rates of the link, in Mbit/s."""
RTTS = (10.0, 40.0, 160.0)
"""Round-trip times without the queue, in ms."""
CHANCE = 0.05
"""The share of cells in which a 95 % interval may be wrong."""

_TRACE = {
    "throughput": {"flows": ["*"], "every": "500 ms"}, "queue": {"links": ["bottleneck"], "every": "100 ms"},
}  # fmt: skip
_JOINS = {"uniform": ["40 s", "40.1 s"]}


@dataclass(frozen=True)
class Path:
    """A bottleneck: the buffer in ms, the rate in Mbit/s, the round-trip time in ms."""

    buffer: float
    rate: float
    rtt: float

    def link(self) -> dict[str, Any]:
        """The fields of the link."""
        packets = max(2, round(self.buffer * self.rate * 1e3 / (8 * PACKET)))
        queue = {"aqm": "droptail", "limit": f"{packets} packets"}
        return {"rate": f"{self.rate:g} Mbit/s", "delay": f"{self.rtt / 2:g} ms", "queue": queue}

    def transfers(self) -> dict[str, Any]:
        """CUBIC transfers that offer three tenths of the rate."""
        traffic = {"kind": "transfers", "every": "400 ms", "size_mean": f"{self.rate * 15:g} kB"}
        return group("tcp", CUBIC, "0 s", traffic=traffic, access=self._access())

    def flow(self, name: str, control: Mapping[str, Any], start: Any) -> dict[str, Any]:
        """A flow that never ends."""
        return group(name, control, start, access=self._access())

    def _access(self) -> dict[str, Any]:
        return {"rate": f"{10 * self.rate:g} Mbit/s", "delay": JITTER}


@dataclass(frozen=True)
class Cell:
    """A path, and the target in ms that the controllers get."""

    target: float
    path: Path


def with_target() -> list[str]:
    """The controllers that have a target of the queuing delay."""
    choices = json.loads(_sojourn.schema())["$defs"]["Control"]["oneOf"]
    fields = (choice["properties"] for choice in choices)
    return [str(each["cc"]["const"]) for each in fields if "target" in each]


def paths() -> list[Path]:
    """All paths of the grid."""
    return [Path(*values) for values in itertools.product(BUFFERS, RATES, RTTS)]


def cells() -> list[Cell]:
    """All cells of the grid."""
    return [Cell(target, path) for target in TARGETS for path in paths()]


def _with(cell: Cell, name: str) -> dict[str, Scenario]:
    """The scenarios of a controller in a cell."""
    path, control = cell.path, {"cc": name, "target": f"{cell.target:g} ms"}
    one, cubic = path.flow("lbe", control, AT_START), path.flow("tcp", CUBIC, _JOINS)
    two = [path.flow("one", control, AT_START), path.flow("two", control, {"uniform": ["20 s", "20.1 s"]})]
    return {
        "bulk": path_scenario("bulk", [one, cubic], 80, link=path.link(), trace=_TRACE),
        "short": path_scenario("short", [one, path.transfers()], 40, warmup="10 s", link=path.link(), trace=_TRACE),
        "late": path_scenario("late", two, 80, link=path.link(), trace=_TRACE),
    }


def _without(path: Path) -> dict[str, Scenario]:
    """The same without a background."""
    cubic = path.flow("tcp", CUBIC, _JOINS)
    return {
        "bulk": path_scenario("bulk", [cubic], 80, link=path.link(), trace=_TRACE),
        "short": path_scenario("short", [path.transfers()], 40, warmup="10 s", link=path.link(), trace=_TRACE),
    }


def _of_link(run: Record, start: float, end: float) -> float:
    rate = float(run.value("links.bottleneck.rate_bps"))
    return 100 * throughput_between(run, "lbe/0", start, end) / rate


def _wait(run: Record) -> float:
    table = run.series["queue/bottleneck"]
    inside = (table["t"] > 20) & (table["t"] <= 40)
    return float(np.mean(table["bytes"][inside])) * 8e3 / float(run.value("links.bottleneck.rate_bps"))


def _lost(run: Record, alone: Record) -> float:
    return 100 * (1 - throughput_between(run, "tcp/0", 50, 80) / throughput_between(alone, "tcp/0", 50, 80))


def _longer(run: Record, alone: Record) -> float:
    with_it, without = (float(each.value("groups.tcp.completion_s.mean")) for each in (run, alone))
    return 100 * (with_it / without - 1)


def _fairness(run: Record) -> float:
    return jain([throughput_between(run, flow, 50, 80) for flow in ("one/0", "two/0")])


ROWS: list[Row] = [
    Row("next to CUBIC", "CUBIC loses", "%", True, lambda r, a: _lost(r["bulk"], a["bulk"]), within=LOST),
    Row("next to CUBIC", "share", "%", True, lambda r, _: _of_link(r["bulk"], 50, 80), within=PART),
    Row("next to CUBIC", "transfers", "%", True, lambda r, a: _longer(r["short"], a["short"]), 1.0, CHANGE),
    Row("alone", "utilization", "%", False, lambda r, _: _of_link(r["bulk"], 20, 40), within=PART),
    Row("alone", "wait", "ms", True, lambda r, _: _wait(r["bulk"])),
    Row("alone", "Jain", "", False, lambda r, _: _fairness(r["late"]), within=INDEX),
]
"""What is measured in each cell."""


@dataclass(frozen=True)
class Grid:
    """What was measured: `values[cell, controller, row, seed]`, cells in the order of `cells()`."""

    names: Sequence[str]
    values: Array

    def better(self, one: int, other: int, row: int) -> npt.NDArray[np.bool_]:
        """For each cell, whether one controller is significantly better than the other."""
        of_row = self.values[:, :, row]
        return np.array([ROWS[row].better(cell[one], cell[other]) for cell in of_row])

    def advantage(self, one: int, other: int, row: int) -> Array:
        """For each cell, how much better one controller is than the other, in the row's unit."""
        of_row = self.values[:, :, row]
        return np.array([ROWS[row].advantage(cell[one], cell[other]).mean for cell in of_row])

    def verdict(self, one: int, other: int, row: int) -> str:
        """In words: a controller is better where it wins in more cells than chance explains and loses in no more."""
        more, less = (float(np.mean(self.better(*pair, row))) for pair in ((one, other), (other, one)))
        if more > CHANCE >= less:
            return "better"
        if less > CHANCE >= more:
            return "worse"
        return "depends" if more > CHANCE else "no difference"


def levels() -> list[tuple[str, npt.NDArray[np.bool_]]]:
    """Every level of every axis as text, with the cells that have it."""
    grid = cells()
    axes: list[tuple[str, list[float]]] = [
        ("target {:g} ms", [cell.target for cell in grid]),
        ("buffer {:g} ms", [cell.path.buffer for cell in grid]),
        ("{:g} Mbit/s", [cell.path.rate for cell in grid]),
        ("RTT {:g} ms", [cell.path.rtt for cell in grid]),
    ]
    return [
        (text.format(value), np.array([each == value for each in values]))
        for text, values in axes
        for value in dict.fromkeys(values)
    ]


def measure_grid(
    names: Sequence[str],
    seeds: Sequence[int],
    *,
    threads: int = 0,
    cache: Store | None = None,
    progress: Progress | None = None,
) -> Grid:
    """Runs the grid for controllers that have a `target`. For `threads`, `cache` and `progress` see `run_jobs`.

    One path at a time is held in memory.
    """
    grid, every = cells(), paths()
    values = np.empty((len(grid), len(names), len(ROWS), len(seeds)))
    for number, path in enumerate(every):
        here = [i for i, cell in enumerate(grid) if cell.path == path]
        sets = [_without(path), *(_with(grid[i], name) for i in here for name in names)]
        jobs = [Job(scenario, seed) for seed in seeds for each in sets for scenario in each.values()]

        def on_progress(done: int, total: int, before: int = number) -> None:
            if progress:
                progress(before * total + done, len(every) * total)

        records = iter(run_jobs(jobs, threads=threads, cache=cache, progress=on_progress))
        for seed in range(len(seeds)):
            alone, *own = ({name: next(records) for name in each} for each in sets)
            for (i, j), runs in zip(itertools.product(here, range(len(names))), own, strict=True):
                values[i, j, :, seed] = [row.read(runs, alone) for row in ROWS]
    return Grid(names, values)
