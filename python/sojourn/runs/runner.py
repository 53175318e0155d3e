"""Runs scenarios: one, or many in parallel with a cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from itertools import groupby
from numbers import Integral
from pathlib import Path
from typing import Any, TypeAlias

from sojourn import _sojourn
from sojourn.core.errors import Interrupted, RunError, ScenarioError, UserError
from sojourn.core.files import written_elsewhere
from sojourn.core.record import Record
from sojourn.core.record_files import Series, pack_series
from sojourn.core.scenario import Scenario
from sojourn.core.scenario_files import Source, load
from sojourn.linux.guest import Guests, run_captured
from sojourn.linux.kernel import find_kernel
from sojourn.runs.chunks import run_in_chunks
from sojourn.runs.cluster import Cluster, Executor, cluster_of
from sojourn.runs.hosts import on_linux
from sojourn.runs.jobs import CHANGED, beginnings, changed_traces, keys_of, raise_failed
from sojourn.runs.jobs import Job as Job
from sojourn.runs.laws import Laws, check_laws_of, check_named, checked_laws, named_by, of_run
from sojourn.runs.seeds import Seeds, checked_seed, first_seed, seeds_of
from sojourn.runs.shards import Shard
from sojourn.runs.store import Store
from sojourn.runs.workers import Answer, Task, run_in_workers

Progress: TypeAlias = Callable[[int, int], None]


MOST_THREADS = 10_000


def run(
    scenario: Source,
    seed: int | None = None,
    laws: Laws | None = None,
    *,
    pcap: str | os.PathLike[str] | None = None,
    pcap_links: Sequence[str] = (),
    pcap_hosts: Sequence[str] = (),
) -> Record:
    """Runs a scenario once and returns its record. Releases the interpreter's lock meanwhile.

    A queue's law is an object with `step(sample)`. The engine calls it once per `interval`; it returns the drop
    probability until the next step (see `Sample`). A controller is made for each connection. It has `on_ack(sample)`
    and optionally `on_loss(event)` and `on_mark(event)`. Each returns a window in segments, a window and a pacing rate
    in segments per second, or None to keep both (see `AckSample` and `CongestionEvent`). A call may take 10 s. A call
    that sleeps longer is abandoned; one that stays in C code can't be.

    Parameters
    ----------
    scenario : str, path, mapping or Scenario
        The scenario, in any form that `load` accepts.
    seed : int, optional
        Seed of the random numbers, 0 to 2^63 - 1 (default: the scenario's).
    laws : mapping of str to callable, optional
        Factories by name, as in `laws={"mine": Mine}`. The scenario refers to the names: `aqm = "external", law =
        "mine"` for a queue, and `cc = "external", controller = "mine"` for flows.
    pcap : str or path, optional
        A pcapng file to write, for Wireshark. A capture does not change the record.
    pcap_links : sequence of str, default ()
        Links to capture (default: all links with a rate).
    pcap_hosts : sequence of str, default ()
        Hosts to capture: `"ftp/0:sender"`, `"ftp/*:receiver"`, or `"ftp/0"` for both hosts of a flow.

    Returns
    -------
    Record
        The results of the run.

    Raises
    ------
    ScenarioError
        The scenario is invalid, a link or host is unknown, or a law does not return a probability.
    UserError
        A law is unused, or a file can't be read.
    DiskError
        A file can't be written.
    Exception
        An exception of a law is passed on with a note of the law and the simulated time.

    Examples
    --------
    >>> record = sj.run("examples/dumbbell.toml", seed=1)
    >>> round(record.value("links.bottleneck.utilization"), 1)
    1.0
    """
    loaded, own = load(scenario), checked_laws(laws)
    if seed is not None:
        checked_seed(seed)
    for option, names in (("pcap_links", pcap_links), ("pcap_hosts", pcap_hosts)):
        if pcap is None and names:
            raise UserError.expected(option, "the file of a capture, pcap, with them", None)
    check_laws_of(loaded, own)
    job = Job(loaded, first_seed(loaded) if seed is None else seed)
    if pcap is None and on_linux(loaded):
        return run_jobs([job], laws=laws)[0]
    with loaded.clean_errors(), nullcontext() if pcap is None else written_elsewhere(Path(pcap)) as unfinished:
        capture = None if unfinished is None else (str(unfinished), list(pcap_links), list(pcap_hosts))
        if capture and on_linux(loaded):
            return run_captured(loaded, job.seed, capture)
        text, series = _sojourn.run(loaded.for_engine(), loaded.file, seed, own, capture)
    return Record.from_json(text, series)


def run_many(
    scenarios: Source | Iterable[Source],
    seeds: Seeds = 1,
    *,
    threads: int = 0,
    cache: Store | None = None,
    progress: Progress | None = None,
    laws: Laws | None = None,
    failed: list[str] | None = None,
) -> list[list[Record]]:
    """Runs every scenario with every seed, in parallel.

    If runs fail, the others continue.

    Parameters
    ----------
    scenarios : scenario or iterable of scenarios
        One scenario or several, each in any form that `load` accepts.
    seeds : int or sequence of int, default 1
        The number of seeds, starting with each scenario's own, or a list.
    threads : int, default 0
        Number of simultaneous runs; 0 uses every core.
    cache : Store, optional
        Holds finished runs. A second call continues an interrupted one.
    progress : callable, optional
        Called as `progress(done, total)` after each run.
    laws : mapping of str to callable, optional
        Laws and controllers in Python by name, as for `run`. Runs that may call one are not cached.
    failed : list of str, optional
        Receives a line per failed run, whose record is then missing. Without it, a failed run is an error at the end.

    Returns
    -------
    list of list of Record
        A list per scenario with one record per seed, in the order of the arguments.

    Raises
    ------
    ScenarioError
        A scenario can't be run.
    UserError
        A seed, a number of threads or a law can't be used.
    Interrupted
        The user pressed Ctrl-C.
    RunError
        Runs failed, and there is no list `failed`.
    DiskError
        The cache can't be written.

    Examples
    --------
    >>> [record["seed"] for record in sj.run_many("examples/dumbbell.toml", seeds=3)[0]]
    [1, 2, 3]
    """
    single = isinstance(scenarios, (Scenario, Mapping, str, os.PathLike))
    loaded = [load(scenarios)] if single else [load(source) for source in scenarios]  # type: ignore[arg-type,union-attr]
    jobs: list[Job] = []
    counts: list[int] = []
    for scenario in loaded:
        chosen = seeds_of(seeds, first_seed(scenario))
        counts.append(len(chosen))
        jobs.extend(Job(scenario, seed) for seed in chosen)
    records, said = run_all(jobs, threads=threads, cache=cache, progress=progress, laws=laws)
    if failed is None:
        raise_failed(said, len(jobs), cache)
    else:
        failed += said
    places = iter(range(len(jobs)))
    each = [[records.get(next(places)) for _ in range(count)] for count in counts]
    return [[record for record in some if record is not None] for some in each]


def run_jobs(
    jobs: Sequence[Job],
    *,
    threads: int = 0,
    cache: Store | None = None,
    progress: Progress | None = None,
    laws: Laws | None = None,
) -> list[Record]:
    """Runs the jobs that the cache lacks and returns the records of all in order.

    For the arguments see `run_each`. If runs fail, the others continue, then `RunError` is raised.
    """
    found, failed = run_all(jobs, threads=threads, cache=cache, progress=progress, laws=laws)
    raise_failed(failed, len(jobs), cache)
    return [found[index] for index in range(len(jobs))]


def run_all(
    jobs: Sequence[Job],
    *,
    threads: int = 0,
    cache: Store | None = None,
    progress: Progress | None = None,
    laws: Laws | None = None,
) -> tuple[dict[int, Record], list[str]]:
    """As `run_jobs`, but returns records by job position, and a line per failed run."""
    found: dict[int, Record] = {}
    failed: dict[int, str] = {}
    run_each(
        jobs,
        found.__setitem__,
        threads=threads,
        cache=cache,
        progress=progress,
        laws=laws,
        on_failed=failed.__setitem__,
    )
    return found, [failed[index] for index in sorted(failed)]


def run_each(
    jobs: Sequence[Job],
    on_record: Callable[[int, Record], None],
    *,
    threads: int = 0,
    cache: Store | None = None,
    progress: Progress | None = None,
    executor: Executor | Cluster | None = None,
    shard: str | None = None,
    laws: Laws | None = None,
    on_failed: Callable[[int, str], None] | None = None,
) -> None:
    """Runs the jobs that the cache lacks. Calls `on_record(index, record)` for every job.

    The order of the calls is arbitrary. Every scenario is checked before the first run. A finished run is written to
    the cache first, so an interruption, a kill or a full disk loses no finished run. Other arguments are those of
    `sweep`.

    Runs are executed in worker processes; a single run is executed in this process. If one runs out of memory or is
    killed, `on_failed(index, reason)` is called and the others continue. Without `on_failed`, the first failure ends
    all runs.

    `laws` are Python laws by name, as for `run`. Runs that may call a law are executed in threads of this process, so
    one that exhausts the memory ends them all. They are not cached, because a key does not cover the code of a law. An
    exception of a law gets a note with the law, the time, the scenario and the seed.

    Raises `ScenarioError` for a scenario that can't be run, `Interrupted` after Ctrl-C, `DiskError` for a full disk or
    an unwritable cache, `RunError` if an executor fails, and `UserError` for a law that no scenario uses, a worker with
    another engine, and a shard that another process executes. A damaged cache entry becomes a `Note`.
    """
    own = checked_laws(laws)
    if not isinstance(threads, Integral) or not 0 <= threads <= MOST_THREADS:
        raise UserError.expected("threads", f"0 for one per core, or 1 to {MOST_THREADS}", threads)
    cluster, part = None if executor is None else cluster_of(executor), None if shard is None else Shard.parse(shard)
    places: dict[str, list[int]] = {}
    uncached, named = set[str](), set[str]()
    linux: dict[str, str] = {}
    traces: dict[str, dict[str, str]] = {}
    for index, (key, kernel, digests) in enumerate(keys_of(jobs, own)):
        places.setdefault(key, []).append(index)
        if digests:
            traces[key] = digests
        if kernel:
            linux[key] = kernel
        if own and (names := named_by(jobs[index].scenario)):
            uncached.add(key)
            named |= names
    check_named(own, named, [job.scenario for job in jobs])
    if uncached and (cluster or part):
        where = "executor" if cluster else "shard"
        raise UserError(f'{where}: expected no laws or controllers in Python, got aqm or cc = "external"')
    if linux and cluster:
        raise UserError('executor: expected the simulator as host, got host = "linux"')
    if part and cache is None:
        raise UserError("shard: expected a cache, where all shards come together, got none")
    with part.claim(cache.root, places) if part and cache is not None else nullcontext():
        done_here = part.of(places) if part else places
        places = {key: at for key, at in places.items() if key in done_here}
        missing = {
            key: at for key, at in places.items() if key in uncached or not _from_cache(key, at, cache, on_record)
        }
        if cache is not None:
            cache.say_notes()
            if missing.keys() - uncached:
                cache.check_writable()
        runs = _Runs(jobs, missing, cache, progress, len(places))
        runs.on_record, runs.on_failed, runs.laws, runs.uncached = on_record, on_failed, own, uncached
        runs.traces = traces
        runs.run(linux, cluster, threads)


def _cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _from_cache(key: str, at: list[int], cache: Store | None, on_record: Callable[[int, Record], None]) -> bool:
    """Whether the cache has a run. If so, its record is passed on for every equal job."""
    record = cache.get(key) if cache is not None else None
    if record is None:
        return False
    for index in at:
        on_record(index, record)
    return True


BATCH = 4096
"""The number of runs passed to the engine, and held in memory, at once."""
BLOCK = 1024
"""The number of runs among which the engine looks for shared beginnings."""


class _Runs:
    """Executes the runs that the cache lacks."""

    on_record: Callable[[int, Record], None]
    on_failed: Callable[[int, str], None] | None
    laws: dict[str, Callable[..., Any]]
    uncached: set[str]
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
        kernels = self.among(linux)
        here = self.among(self.uncached if self.total > 1 else self._keys, but=kernels)
        try:
            self.say_progress()
            self.on_kernels(kernels, threads or _cores(), set(linux.values()))
            if cluster:
                self.on_cluster(cluster)
            else:
                self.in_threads(here, threads)
                self.in_processes(self.among(self._keys, but={*kernels, *here}), threads or _cores())
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
        record = Record.from_json(record_json, series)
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

    def _task(self, index: int) -> Task:
        """A missing run as a worker's task."""
        job = self._job(index)
        return Task(index, job.scenario.for_engine(), job.scenario.file, job.seed, self._cache is not None)

    def _take(self, answer: Answer) -> None:
        """Handles the answer of a worker process."""
        if answer.refused:
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
            run_in_workers(families(), min(count, len(indices)), self._take)

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
            batch = indices[first : first + BATCH]
            try:
                done = lambda i, *found, batch=batch: self._finish(batch[i], *found)  # noqa: E731
                _sojourn.run_many(list(map(self._work, batch)), threads, done, self.laws)
            except Exception as error:
                failed: int | None = getattr(error, "job", None)
                if failed is None:
                    raise
                job = self._job(batch[failed])
                named = of_run(error, job.scenario, job.seed)
                if named is error:
                    raise
                raise named from None

    def on_cluster(self, cluster: Cluster) -> None:
        """Executes all runs on a cluster. Runs with a shared beginning are adjacent."""

        def tasks() -> Iterator[Task]:
            for first in range(0, len(self._keys), BLOCK):
                block = range(first, min(first + BLOCK, len(self._keys)))
                for family in self._families(block, 0):
                    yield from map(self._task, family)

        run_in_chunks(cluster, tasks(), len(self._keys), self._take)
