"""A study of queue disciplines as RFC 7928 asks: what each does in the situations that its guidelines describe.

Every discipline meets the same traffic in every situation (`SITUATIONS`), with the same seeds. The RFC says what to
look at and gives no limits. So nothing passes or fails here: the page shows the numbers, the trade-off of delay and
rate (rfc7928#2.7), and how each discipline compares with DropTail.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sojourn.cases import Named, queue_tables
from sojourn.errors import ScenarioError, UserError
from sojourn.running import Job, Progress, run_jobs
from sojourn.scenario import Scenario
from sojourn.stats import Estimate, estimate, paired
from sojourn.store import Store
from sojourn.study_rfc7928.outcome import columns, samples
from sojourn.study_rfc7928.situations import SITUATIONS, Situation

Array = npt.NDArray[np.float64]
REFERENCE = "droptail"
"""The discipline with which all others are compared."""
QUEUES = "droptail,red,codel,pie,fq-codel,led,cpc,fuzzy-rtt"
"""What is compared unless something else is asked for."""
WAIT, GOODPUT = "mean wait, ms", "goodput, Mbit/s"
SHORTER, KEPT = 0.5, 0.95
"""What is counted: a mean wait at most half of DropTail's, and at least this part of its goodput."""


@dataclass(frozen=True)
class Measured:
    """What a discipline did in a situation: its values by column and seed, and samples of delay and rate.

    `values` has the shape (columns, seeds). `samples` has a row for each second of all seeds: delay in ms, Mbit/s.
    """

    values: Array
    samples: Array

    def delays(self) -> Array:
        """The mean delay over the seeds in ms, second by second."""
        per_seed = self.samples[:, 0].reshape(self.values.shape[1], -1)
        mean: Array = per_seed.mean(axis=0)
        return mean


@dataclass(frozen=True)
class Count:
    """In how many situations a discipline has a short wait, and in how many it keeps the goodput."""

    queue: str
    shorter: int
    kept: int
    both: int
    of: int


_COUNTED = (lambda short, _: short, lambda _, kept: kept, lambda short, kept: short and kept)


@dataclass(frozen=True)
class Study:
    """What was measured, and for what there is no run, with the reason."""

    queues: Sequence[str]
    seeds: int
    quick: bool
    cells: Mapping[tuple[str, str], Measured]
    """By situation and discipline."""
    refused: Mapping[tuple[str, str], str]

    @property
    def situations(self) -> list[Situation]:
        """Those that were run."""
        ids = {situation for situation, _ in self.cells}
        return [each for each in SITUATIONS if each.id in ids]

    def estimates(self, situation: Situation, queue: str) -> list[Estimate] | None:
        """A mean over seeds for each column; None where there is no run."""
        cell = self.cells.get((situation.id, queue))
        if cell is None:
            return None
        return [
            estimate(values, within=column.within)
            for column, values in zip(columns(situation), cell.values, strict=True)
        ]

    def differs(self, situation: Situation, queue: str) -> list[bool]:
        """For each column, whether the interval of the differences from DropTail, seed by seed, is without 0."""
        own, reference = (self.cells.get((situation.id, name)) for name in (queue, REFERENCE))
        if own is None or reference is None:
            return [False for _ in columns(situation)]
        found = (paired(*rows) for rows in zip(own.values, reference.values, strict=True))
        return [each.low > 0 or each.high < 0 for each in found]

    def counts(self) -> list[Count]:
        """How each discipline compares with DropTail, over the situations that have one wait and one goodput."""
        return [self._count(queue) for queue in self.queues if queue != REFERENCE]

    @property
    def uncounted(self) -> list[Situation]:
        """The situations that were run and have no one wait and one goodput."""
        return [each for each in self.situations if not {WAIT, GOODPUT} <= {c.title for c in columns(each)}]

    def _count(self, queue: str) -> Count:
        pairs = []
        for situation in self.situations:
            titles = [column.title for column in columns(situation)]
            cells = [self.cells.get((situation.id, name)) for name in (queue, REFERENCE)]
            if situation not in self.uncounted and None not in cells:
                rows = [titles.index(WAIT), titles.index(GOODPUT)]
                own, reference = (np.mean(cell.values[rows], axis=1) for cell in cells if cell)
                pairs.append((own[0] <= SHORTER * reference[0], own[1] >= KEPT * reference[1]))
        shorter, kept, both = (sum(bool(one(*pair)) for pair in pairs) for one in _COUNTED)
        return Count(queue, shorter, kept, both, len(pairs))

    def data(self) -> dict[str, Any]:
        """All of it for a JSON file; null for a number that is not finite."""
        found = [
            {
                "situation": situation.id, "section": situation.section, "queue": queue,
                "values": {
                    column.title: [value if math.isfinite(value) else None for value in values.tolist()]
                    for column, values in zip(columns(situation), self.cells[situation.id, queue].values, strict=True)
                },
            }
            for situation in self.situations
            for queue in self.queues
            if (situation.id, queue) in self.cells
        ]  # fmt: skip
        refused = [{"situation": at, "queue": queue, "reason": why} for (at, queue), why in self.refused.items()]
        return {
            "quick": self.quick, "seeds": self.seeds, "counts": [vars(each) for each in self.counts()],
            "measured": found, "refused": refused,
        }  # fmt: skip


def measure(
    queues: Named,
    seeds: Sequence[int],
    *,
    quick: bool = False,
    threads: int = 0,
    cache: Store | None = None,
    progress: Progress | None = None,
) -> Study:
    """Runs every situation with every discipline, DropTail among them.

    `queues` is what `compare` takes: a text such as `"codel,red(min=5,max=15)"`, names, or tables by label. `quick`
    takes one situation of each section. For `threads`, `cache` and `progress` see `run_jobs`. Raises `UserError` for a
    discipline that does not exist or has no such parameter.
    """
    tables = {REFERENCE: {"aqm": REFERENCE}} | queue_tables(queues)
    if len(tables) == 1:
        raise UserError(f"queues: expected one or more to compare with {REFERENCE}, got {REFERENCE} alone")
    cells: dict[tuple[str, str], Measured] = {}
    todo, refused = _planned(_chosen(quick), tables)
    jobs = [Job(scenario, seed) for scenarios in todo.values() for seed in seeds for scenario in scenarios]
    records = iter(run_jobs(jobs, threads=threads, cache=cache, progress=progress))
    by_id = {each.id: each for each in SITUATIONS}
    for (at, queue), scenarios in todo.items():
        runs = [[next(records) for _ in scenarios] for _ in seeds]
        values = [[column.read(each) for each in runs] for column in columns(by_id[at])]
        cells[at, queue] = Measured(np.array(values), np.concatenate([samples(each[0]) for each in runs]))
    return Study(list(tables), len(seeds), quick, cells, refused)


def _chosen(quick: bool) -> list[Situation]:
    """The situations; for a quick look the first one of each section such as 5 or 8."""
    if not quick:
        return SITUATIONS
    return list({each.section.split(".")[0]: each for each in reversed(SITUATIONS)}.values())[::-1]


Cell = tuple[str, str]
QUEUE_FIELD = "links.bottleneck.queue"
"""The field that a discipline stands in: what comes before it in an error says nothing to who named the discipline."""
NOT_HERE = ("external", "linux")
"""Disciplines that need a law of the caller or a kernel."""


def _planned(
    situations: Sequence[Situation], tables: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[Cell, list[Scenario]], dict[Cell, str]]:
    """What is run by situation and discipline, and why some can't be run, such as a law that needs TCP flows.

    Raises `UserError` for a discipline that can be run in no situation.
    """
    todo: dict[Cell, list[Scenario]] = {}
    refused: dict[Cell, str] = {}
    for label, table in tables.items():
        if table.get("aqm") in NOT_HERE:
            raise UserError(f'queues "{label}": expected a discipline of the simulator, got {table["aqm"]}')
    for (label, table), situation in itertools.product(tables.items(), situations):
        scenarios = situation.scenarios(table)
        try:
            for scenario in scenarios:
                scenario.canonical()
        except ScenarioError as error:
            refused[situation.id, label] = str(error).rpartition(QUEUE_FIELD)[2].lstrip(".: ")
        else:
            todo[situation.id, label] = scenarios
    for label in tables:
        if not any(queue == label for _, queue in todo):
            why = next(why for (_, queue), why in refused.items() if queue == label)
            raise UserError(f'queues "{label}": {why}')
    return todo, refused
