"""Runs scenarios: one, or many in parallel with a cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from numbers import Integral
from pathlib import Path

from sojourn import _sojourn
from sojourn.core.errors import UserError, note
from sojourn.core.files import written_elsewhere
from sojourn.core.record import Record
from sojourn.core.scenario import Scenario
from sojourn.core.scenario_files import Source, load
from sojourn.linux.guest import run_captured
from sojourn.live.session import run_live
from sojourn.runs.cluster import Cluster, Executor, cluster_of
from sojourn.runs.execution import Progress as Progress
from sojourn.runs.execution import Runs, available_cores
from sojourn.runs.hosts import Host, host_of
from sojourn.runs.jobs import LIVE, keys_of, raise_failed
from sojourn.runs.jobs import Job as Job
from sojourn.runs.law_digest import UnknownCodeError, law_digest
from sojourn.runs.law_modules import pack_laws
from sojourn.runs.laws import Laws, check_laws_of, check_named, checked_laws
from sojourn.runs.seeds import Seeds, checked_seed, first_seed, seeds_of
from sojourn.runs.shards import Shard
from sojourn.runs.store import Store

MOST_THREADS = 10_000


def checked_threads(threads: int) -> int:
    """The number of threads, 0 for one per core; raises `UserError` for another value."""
    if not isinstance(threads, Integral) or not 0 <= threads <= MOST_THREADS:
        raise UserError.expected("threads", f"0 for one per core, or 1 to {MOST_THREADS}", threads)
    return int(threads)


def run(
    scenario: Source,
    seed: int | None = None,
    laws: Laws | None = None,
    *,
    pcap: str | os.PathLike[str] | None = None,
    pcap_links: Sequence[str] = (),
    pcap_hosts: Sequence[str] = (),
    threads: int = 1,
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
    threads : int, default 1
        Threads for this one run; 0 uses every core. A large network is divided at links with a delay. The record is
        the same. A run that can't be divided uses one thread, as does one with laws or a capture.

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
    loaded, own, cores = load(scenario), checked_laws(laws), checked_threads(threads) or available_cores()
    if seed is not None:
        checked_seed(seed)
    for option, names in (("pcap_links", pcap_links), ("pcap_hosts", pcap_hosts)):
        if pcap is None and names:
            raise UserError.expected(option, "the file of a capture, pcap, with them", None)
    check_laws_of(loaded, own)
    job = Job(loaded, first_seed(loaded) if seed is None else seed)
    host = host_of(loaded)
    if pcap is None and host is not Host.SIMULATOR:
        return run_jobs([job], laws=laws)[0]
    with loaded.clean_errors(), nullcontext() if pcap is None else written_elsewhere(Path(pcap)) as unfinished:
        capture = None if unfinished is None else (str(unfinished), list(pcap_links), list(pcap_hosts))
        if capture and host is Host.LINUX:
            return run_captured(loaded, job.seed, capture)
        if capture and host is Host.LIVE:
            return run_live(loaded, job.seed, capture)
        text, series = _sojourn.run(loaded.for_engine(), loaded.file, seed, own, capture, cores)
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
        Laws and controllers in Python by name, as for `run`.
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
    keeps_raised: bool = False,
) -> None:
    """Runs the jobs that the cache lacks. Calls `on_record(index, record)` for every job.

    The order of the calls is arbitrary. Every scenario is checked before the first run. A finished run is written to
    the cache first, so an interruption, a kill or a full disk loses no finished run. Other arguments are those of
    `sweep`.

    Runs are executed in worker processes; a single run is executed in this process. If one runs out of memory or is
    killed, `on_failed(index, reason)` is called and the others continue. Without `on_failed`, the first failure ends
    all runs.

    `laws` are Python laws by name, as for `run`. The key of a run covers the code of its laws (see `law_digest`). Laws
    that a worker process can't import are called in threads of this process, so a run that exhausts the memory then
    ends them all. An exception of a law gets a note with the law, the time, the scenario and the seed. With
    `keeps_raised` it is passed to `on_failed` instead.

    Raises `ScenarioError` for a scenario that can't be run, `Interrupted` after Ctrl-C, `DiskError` for a full disk or
    an unwritable cache, `RunError` if an executor fails, and `UserError` for a law that no scenario uses, a worker with
    another engine, and a shard that another process executes. A damaged cache entry becomes a `Note`.
    """
    own, codes = checked_laws(laws), _codes_of(laws or {}, cache is not None)
    checked_threads(threads)
    cluster, part = None if executor is None else cluster_of(executor), None if shard is None else Shard.parse(shard)
    places: dict[str, list[int]] = {}
    uncached, of_laws, named = set[str](), set[str](), set[str]()
    linux: dict[str, str] = {}
    traces: dict[str, dict[str, str]] = {}
    for index, (key, kernel, digests, names) in enumerate(keys_of(jobs, codes)):
        places.setdefault(key, []).append(index)
        if digests:
            traces[key] = digests
        if kernel:
            linux[key] = kernel
        if names:
            of_laws.add(key)
            named |= names
        if any(codes.get(name) is None for name in names):
            uncached.add(key)
    check_named(own, named, [job.scenario for job in jobs])
    if of_laws and cluster:
        raise UserError('executor: expected no laws or controllers in Python, got aqm or cc = "external"')
    if uncached and part:
        raise UserError("shard: expected laws and controllers whose runs are cached, got one whose code is unknown")
    if linux and cluster:
        raise UserError('executor: expected the simulator as host, got host = "linux" or "live"')
    uncached |= {key for key, kernel in linux.items() if kernel == LIVE}
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
        runs = Runs(jobs, missing, cache, progress, len(places))
        runs.on_record, runs.on_failed, runs.traces = on_record, on_failed, traces
        runs.keeps_raised = keeps_raised
        runs.laws, runs.uncached, runs.of_laws = own, uncached, of_laws
        runs.packed_laws = pack_laws(laws) if laws else b""
        runs.run(linux, cluster, threads)


def _codes_of(laws: Laws, cached: bool) -> dict[str, str | None]:
    """The digest of each law; None, and for `cached` runs a note, if it is unknown."""
    found: dict[str, str | None] = {}
    for name, factory in laws.items():
        try:
            found[name] = law_digest(factory)
        except UnknownCodeError as why:
            found[name] = None
            if cached:
                note(f"runs with {name} are not cached, because its code refers to {why}")
    return found


def _from_cache(key: str, at: list[int], cache: Store | None, on_record: Callable[[int, Record], None]) -> bool:
    """Whether the cache has a run. If so, its record is passed on for every equal job."""
    record = cache.get(key) if cache is not None else None
    if record is None:
        return False
    for index in at:
        on_record(index, record)
    return True
