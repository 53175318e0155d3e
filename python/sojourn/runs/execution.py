"""Executes the runs that the cache lacks.

They run in worker processes, in threads, on a cluster or on Linux kernels.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import groupby
from typing import Any, TypeAlias

from sojourn import _sojourn
from sojourn.core.errors import Interrupted, RunError, ScenarioError, UserError, one_line
from sojourn.core.record import Record, unread
from sojourn.core.record_files import Series, pack_series
from sojourn.linux.guest import Guests
from sojourn.linux.kernel import find_kernel
from sojourn.live.session import run_live
from sojourn.runs.chunks import run_in_chunks
from sojourn.runs.cluster import Cluster
from sojourn.runs.jobs import CHANGED, LIVE, Job, beginnings, changed_traces
from sojourn.runs.laws import of_run
from sojourn.runs.store import Store
from sojourn.runs.workers import Answer, Task, run_in_workers

Progress: TypeAlias = Callable[[int, int], None]


def available_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


BATCH = 4096
"""The number of runs passed to the engine, and held in memory, at once."""
BLOCK = 1024
"""The number of runs among which the engine looks for shared beginnings."""


class Runs:
    """Executes the runs that the cache lacks."""

    on_record: Callable[[int, Record], None]
    on_failed: Callable[[int, str], None] | None
    keeps_raised = False
    """Whether an exception of a run is reported to `on_failed` instead of ending all runs."""
    laws: dict[str, Callable[..., Any]]
    uncached: set[str]
    """The keys of runs with a law whose code is unknown."""
    of_laws: set[str]
    """The keys of runs with a law in Python."""
    packed_laws: bytes = b""
    """The laws for worker processes; empty if only this process has them."""
    traces: dict[str, dict[str, str]]
    """The digests of link traces that are part of a key, by key and link."""

    def __init__(
        self,
        jobs: Sequence[Job],
        missing: dict[str, list[int]],
        cache: Store | None,
        progress: Progress | None,
        total: int,
    ) -> None:
        self._jobs, self._missing, self._cache, self._progress = jobs, missing, cache, progress
        self._keys = list(missing)
        self.total, self.done = total, total - len(missing)

    def run(self, linux: Mapping[str, str], cluster: Cluster | None, threads: int) -> None:
        """Executes all runs: those with a Linux kernel on kernels, the others on the cluster if any."""
        live = self.among(key for key, kernel in linux.items() if kernel == LIVE)
        kernels = self.among(linux, but=live)
        own = set[str]() if self.packed_laws else self.of_laws
        here = self.among(own if self.total > 1 else self._keys, but={*kernels, *live})
        try:
            self.say_progress()
            self.on_this_machine(live)
            self.on_kernels(kernels, threads or available_cores(), set(linux.values()))
            if cluster:
                self.on_cluster(cluster)
            else:
                self.in_threads(here, threads)
                self.in_processes(self.among(self._keys, but={*kernels, *live, *here}), threads or available_cores())
        except KeyboardInterrupt:
            raise Interrupted(self.done, self.total, self._cache is not None) from None

    def among(self, keys: Iterable[str], but: Collection[int] = ()) -> list[int]:
        """The missing runs with these keys, except `but`."""
        wanted, without = set(keys), set(but)
        return [index for index, key in enumerate(self._keys) if key in wanted and index not in without]

    def _job(self, index: int) -> Job:
        """The job of a missing run."""
        return self._jobs[self._missing[self._keys[index]][0]]

    def say_progress(self) -> None:
        """Reports how many runs have finished."""
        if self._progress:
            self._progress(self.done, self.total)

    def _finish(self, index: int, record_json: str, series: Series, packed: bytes = b"") -> None:
        """Writes a finished run to the cache and passes it on.

        `packed` contains its series in the cache's format. A run that used another trace than its key names fails.
        """
        key = self._keys[index]
        record = unread(record_json, series)
        if changed := changed_traces(record, self.traces.get(key, {})):
            self._fail(index, f"links.{changed[0]}.trace: {CHANGED}")
            return
        if self._cache is not None and key not in self.uncached:
            self._cache.put_packed(key, record_json, packed or (pack_series(series) if series else b""))
        for place in self._missing[key]:
            self.on_record(place, record)
        self.done += 1
        self.say_progress()

    def _fail(self, index: int, reason: str) -> None:
        """Reports a failed run, or raises its failure."""
        job = self._job(index)
        said = job.scenario.clean_error(reason)
        place = "" if said.startswith(job.scenario.label) else f"{job.scenario.label}: "
        text = f"{place}{said} (seed {job.seed})"
        if self.on_failed is None:
            raise RunError(text)
        for at in self._missing[self._keys[index]]:
            self.on_failed(at, text)

    def on_kernels(self, indices: Sequence[int], count: int, planned: Collection[str]) -> None:
        """Executes these runs on Linux kernels, each in its own process.

        Raises `RunError` if the kernel is not the one that was `planned`.
        """
        if not indices:
            return
        guests = Guests(find_kernel())
        if guests.kernel.identity not in planned:
            raise RunError("host: expected the kernel for which the runs were planned: run the same command again")

        def one(index: int) -> tuple[str, Series]:
            job = self._job(index)
            return guests.run(job.scenario.for_engine(), job.scenario.file, job.seed)

        pool = ThreadPoolExecutor(max_workers=min(count, len(indices)))
        try:
            waiting = {pool.submit(one, index): index for index in indices}
            for each in as_completed(waiting):
                index = waiting[each]
                try:
                    found = each.result()
                except ScenarioError as error:
                    raise ScenarioError(self._job(index).scenario.clean_error(str(error))) from None
                except RunError as error:
                    self._fail(index, str(error))
                else:
                    self._finish(index, *found)
        finally:
            guests.stop()
            pool.shutdown(cancel_futures=True)

    def on_this_machine(self, indices: Sequence[int]) -> None:
        """Executes these runs live, one after the other."""
        for index in indices:
            job = self._job(index)
            try:
                record = run_live(job.scenario, job.seed)
            except RunError as error:
                self._fail(index, str(error))
            else:
                self._finish(index, record.to_json(), record.series)

    def _task(self, index: int) -> Task:
        """A missing run as a worker's task."""
        job = self._job(index)
        return Task(index, job.scenario.for_engine(), job.scenario.file, job.seed, self._cache is not None)

    def _take(self, answer: Answer) -> None:
        """Handles the answer of a worker process."""
        if answer.raised:  # the same run here raises the exception itself, with its place in the law
            self.in_threads([answer.index], 1)
            return
        if answer.refused and not self.keeps_raised:
            job = self._job(answer.index)
            raise of_run(ScenarioError(answer.failure), job.scenario, job.seed)
        if answer.failure:
            self._fail(answer.index, answer.failure)
        else:
            self._finish(answer.index, answer.record, answer.series, answer.packed)

    def in_processes(self, indices: Sequence[int], count: int) -> None:
        """Executes these runs in worker processes."""

        def families() -> Iterator[list[Task]]:
            for first in range(0, len(indices), BLOCK):
                for family in self._families(indices[first : first + BLOCK], count):
                    yield [self._task(index) for index in family]

        if indices:
            packed = self.packed_laws if self.of_laws else b""
            run_in_workers(families(), min(count, len(indices)), self._take, packed)

    def _families(self, indices: Sequence[int], count: int) -> list[list[int]]:
        """Groups runs that share a beginning, if that leaves enough work for `count` processes.

        Otherwise it groups them by seed, or not at all.
        """
        every: dict[str, list[int]] = {}
        of_seed: dict[tuple[str, int], list[int]] = {}
        for _, same in groupby(indices, key=lambda index: id(self._job(index).scenario)):
            group = list(same)
            for index, begins in zip(group, beginnings([self._job(index) for index in group]), strict=True):
                every.setdefault(begins or str(index), []).append(index)
                of_seed.setdefault((begins or str(index), self._job(index).seed), []).append(index)
        enough = (found for found in (every, of_seed) if len(found) >= 4 * count)
        return list(next(enough, {index: [index] for index in indices}).values())

    def _work(self, index: int) -> tuple[str, str, int | None]:
        """A missing run as the engine's input."""
        job = self._job(index)
        return job.scenario.for_engine(), job.scenario.file, job.seed

    def in_threads(self, indices: Sequence[int], threads: int) -> None:
        """Executes these runs in threads of this process."""
        for first in range(0, len(indices), BATCH):
            batch = list(indices[first : first + BATCH])
            while batch:
                batch = self._in_threads(batch, threads)

    def _in_threads(self, batch: list[int], threads: int) -> list[int]:
        """Executes a batch, and returns the runs that an exception of another one ended."""
        left = set(batch)

        def done(at: int, record_json: str, series: Series, *packed: bytes) -> None:
            left.discard(batch[at])
            self._finish(batch[at], record_json, series, *packed)

        try:
            _sojourn.run_many(list(map(self._work, batch)), threads, done, self.laws)
        except Exception as error:
            failed: int | None = getattr(error, "job", None)
            if failed is None:
                raise
            if self.keeps_raised and self.on_failed:
                own = isinstance(error, (UserError, RunError))
                self._fail(batch[failed], one_line(f"{'' if own else f'raised {type(error).__name__}: '}{error}"))
                return [index for index in batch if index in left - {batch[failed]}]
            job = self._job(batch[failed])
            named = of_run(error, job.scenario, job.seed)
            if named is error:
                raise
            raise named from None
        return []

    def on_cluster(self, cluster: Cluster) -> None:
        """Executes all runs on a cluster. Runs with a shared beginning are adjacent."""

        def tasks() -> Iterator[Task]:
            for first in range(0, len(self._keys), BLOCK):
                block = range(first, min(first + BLOCK, len(self._keys)))
                for family in self._families(block, 0):
                    yield from map(self._task, family)

        run_in_chunks(cluster, tasks(), len(self._keys), self._take)
