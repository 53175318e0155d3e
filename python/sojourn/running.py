"""Running scenarios: one, or many in parallel with a cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeAlias

from sojourn import _sojourn
from sojourn.cluster import Work, cluster_run
from sojourn.errors import Interrupted, UserError
from sojourn.record import Record, Series
from sojourn.scenario import Scenario, Source, load
from sojourn.store import Store, engine_identity

Progress: TypeAlias = Callable[[int, int], None]
Laws: TypeAlias = Mapping[str, Callable[[], Any]]
Seeds: TypeAlias = int | Sequence[int]


@dataclass(frozen=True)
class Job:
    """One run: a scenario and the seed of its random numbers."""

    scenario: Scenario
    seed: int


LAST_SEED = 2**63 - 1  # the largest integer of TOML


def checked_seed(seed: int) -> int:
    """The seed itself. Raises `UserError` unless it is a whole number from 0 to 2^63 - 1."""
    if not isinstance(seed, Integral) or not 0 <= seed <= LAST_SEED:
        raise UserError.expected("seed", f"a whole number, 0 to {LAST_SEED}", seed)
    return seed


def run(scenario: Source, seed: int | None = None, laws: Laws | None = None) -> Record:
    """Runs a scenario once and returns its record. The interpreter's lock is released meanwhile.

    `scenario` is a file, a TOML text, a dictionary or a `Scenario`. `seed` is 0 to 2^63 - 1, by default the scenario's.
    `laws` maps the names that queues use (`aqm = "external", law = "mine"`) to factories. Each makes an object whose
    `step(sample)` is called once per `interval` of the queue and returns the drop probability until the next step, 0 to
    1: see `Sample` for what it is given.

    Raises `ScenarioError` for a scenario that can't be run and for a law that returns no probability, `UserError` for a
    file that can't be read. What a law raises comes out as it is, with a note of the law and the simulated time.

    >>> record = sj.run("examples/dumbbell.toml", seed=1)
    >>> round(record.value("links.bottleneck.utilization"), 1)
    1.0
    """
    loaded = load(scenario)
    if seed is not None:
        checked_seed(seed)
    with loaded.clean_errors():
        text, series = _sojourn.run(loaded.to_toml(), loaded.file, seed, dict(laws) if laws else None)
    return Record.from_json(text, series)


def seeds_of(seeds: Seeds, first: int = 1) -> list[int]:
    """A count becomes consecutive seeds that begin at `first`; a sequence stays as it is.

    Raises `UserError` for a count below 1, for an empty or repeating sequence, and for a seed out of range.
    """
    if isinstance(seeds, int):
        if seeds < 1:
            raise UserError.expected("seeds", "a count of 1 or more, or a list of seeds", seeds)
        return list(range(first, first + seeds))
    chosen = [int(checked_seed(seed)) for seed in seeds]
    if not chosen or len(set(chosen)) != len(chosen):
        raise UserError.expected("seeds", "one or more different seeds", chosen)
    return chosen


def first_seed(scenario: Scenario) -> int:
    """The seed of the scenario, or 1."""
    return int(scenario.resolved().get("seed", 1))


def run_many(
    scenarios: Source | Iterable[Source],
    seeds: Seeds = 1,
    *,
    threads: int = 0,
    cache: Store | None = None,
    progress: Progress | None = None,
) -> list[list[Record]]:
    """Runs every scenario with every seed, in parallel.

    `scenarios` is one scenario or several; `seeds` is how many, beginning with each scenario's own, or which. Returns a
    list for each scenario with a record for each seed, in the order of the arguments. For `threads`, `cache`,
    `progress` and what is raised see `run_jobs`.

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
    records = iter(run_jobs(jobs, threads=threads, cache=cache, progress=progress))
    return [[next(records) for _ in range(count)] for count in counts]


def run_jobs(
    jobs: Sequence[Job],
    *,
    threads: int = 0,
    cache: Store | None = None,
    progress: Progress | None = None,
    cluster: bool = False,
) -> list[Record]:
    """Runs the jobs that the cache does not have, and returns the records of all, in order.

    `threads` is how many run at the same time, 0 for one per core. `progress(done, total)` is called after each run.
    Every scenario is checked before the first run. A finished run is written to the cache before `progress` is called,
    so that an interruption, a kill or a full disk loses none. With `cluster` the machines of a Ray cluster do the runs.

    Raises `ScenarioError` for a scenario that can't be run, `Interrupted` after Ctrl-C, `DiskError` for a full disk or,
    before the first run, a cache that can't be written to. A damaged entry of the cache is named in a `Note`.
    """
    if threads < 0:
        raise UserError.expected("threads", "0 for one per core, or more", threads)
    keys = _keys(jobs)
    found: dict[str, Record] = {}
    if cache is not None:
        found = {key: record for key in dict.fromkeys(keys) if (record := cache.get(key)) is not None}
    missing = {key: job for key, job in zip(keys, jobs, strict=True) if key not in found}
    if cache is not None:
        cache.say_notes()
        if missing:
            cache.check_writable()
    order = list(missing)
    done = len(found)
    total = done + len(order)
    if progress:
        progress(done, total)

    def on_done(index: int, record_json: str, series: Series) -> None:
        nonlocal done
        if cache is not None:
            cache.put(order[index], record_json, series)
        found[order[index]] = Record.from_json(record_json, series)
        done += 1
        if progress:
            progress(done, total)

    work: list[Work] = [(job.scenario.to_toml(), job.scenario.file, job.seed) for job in missing.values()]
    try:
        if work and cluster:
            cluster_run(work, on_done)
        elif work:
            _sojourn.run_many(work, threads, on_done)
    except KeyboardInterrupt:
        raise Interrupted(done, total, cache is not None) from None
    return [found[key] for key in keys]


def _keys(jobs: Sequence[Job]) -> list[str]:
    """The cache key of each job."""
    engine = engine_identity()
    keys: list[str] = []
    for job in jobs:
        with job.scenario.clean_errors():
            keys.append(_sojourn.key(job.scenario.to_toml(), job.scenario.file, job.seed, engine))
    return keys
