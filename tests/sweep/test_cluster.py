"""Sweeps on the workers of an executor: no run is lost or repeated.

A worker with another version is rejected.
"""

from __future__ import annotations

import inspect
import os
import signal
import sys
import threading
import types
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from sojourn.core import files
from sojourn.core.errors import Note, RunError
from sojourn.runs import chunks
from sojourn.runs.chunks import _Chunks
from sojourn.runs.cluster import named_executor
from sojourn.runs.hosts import Host
from sojourn.runs.store import Store
from sojourn.runs.workers import Task
from tests.support.failing_disk import FailingDisk

AXES = {"flows.ftp.count": [1, 2, 3], "links.bottleneck.queue.aqm": ["droptail", "red"]}
SEEDS = 3


class Inline:
    """An executor that does each call at once; `before` is called with its tasks first."""

    _max_workers = 2

    def __init__(self, before: Callable[[list[Any]], None] = lambda tasks: None) -> None:
        self.before, self.sizes = before, list[int]()

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.sizes.append(len(args[1]))
        try:
            self.before(args[1])
            future.set_result(fn(*args))
        except BaseException as error:
            future.set_exception(error)
        return future


class Polled:
    """An executor whose futures have no callbacks, like submitit's jobs."""

    class Job:
        def __init__(self, future: Future[Any]) -> None:
            self.done, self.result, self.cancel = future.done, future.result, future.cancel

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self.pool = pool

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any:
        return self.Job(self.pool.submit(fn, *args))


def test_an_executor_gives_the_results_of_a_sweep_on_one_machine(dumbbell):
    here = sj.sweep(dumbbell, AXES, SEEDS).runs
    with ThreadPoolExecutor(2) as pool:
        for executor in (pool, sj.Cluster(pool, workers=1, chunk_s=0.001), Polled(pool), Inline()):
            assert sj.sweep(dumbbell, AXES, SEEDS, executor=executor).runs.equals(here)


WORKERS = sj.Cluster(Inline(), chunk_s=5.0)


def test_a_batch_system_gets_chunks_from_the_beginning(dumbbell):
    class Batch(Inline):
        def map_array(self) -> None:
            """Part of submitit's interface."""

    batch = Batch()
    sj.sweep(dumbbell, {"flows.ftp.count": [1, 2]}, 20, executor=sj.Cluster(batch, workers=2, chunk_s=600))
    assert batch.sizes[0] == 40 // (4 * 2)  # a quarter of each worker's share
    assert sum(batch.sizes) == 40


def test_a_scheduler_without_workers_is_reported(dumbbell, monkeypatch):
    class Idle(ThreadPoolExecutor):
        _client = types.SimpleNamespace(nthreads=dict)

    monkeypatch.setattr(chunks, "PATIENCE", 0.0)
    with Idle(1) as pool, pytest.warns(Note, match=r"executor: no worker is connected; \d+ chunks"):
        sj.sweep(dumbbell, {"flows.ftp.count": [1]}, 1, executor=pool)


def test_ray_gets_a_function_in_python(monkeypatch):
    ray = types.SimpleNamespace(init=lambda **_: None)
    ray.remote = lambda fn: types.SimpleNamespace(
        remote=lambda *given: types.SimpleNamespace(future=lambda: (inspect.isfunction(fn), fn(*given)))
    )
    monkeypatch.setitem(sys.modules, "ray", ray)
    assert sj.RayExecutor().submit(os.getpid) == (True, os.getpid())


def test_series_come_with_the_results(dumbbell, tmp_path):
    scenario = sj.load(dumbbell).set("trace.queue", {"links": ["bottleneck"], "every": "100 ms"})
    cache = Store(tmp_path / "cache")
    axes = {"flows.ftp.count": [1, 2]}
    found = sj.sweep(scenario, axes, executor=Inline(), cache=cache, series=True)
    assert found.series_table("queue/bottleneck").equals(
        sj.sweep(scenario, axes, series=True).series_table("queue/bottleneck")
    )
    kept = sj.sweep(
        scenario, axes, executor=Inline(before=lambda _: pytest.fail("run again")), cache=cache, series=True
    )
    assert kept.series_table("queue/bottleneck").equals(found.series_table("queue/bottleneck"))


def test_never_are_more_than_twice_as_many_chunks_on_their_way_as_there_are_workers(dumbbell):
    lock, there, most = threading.Lock(), 0, 0

    class Counting(ThreadPoolExecutor):
        def submit(self, fn, /, *args):
            nonlocal there, most
            with lock:
                there += 1
                most = max(most, there)
            future = super().submit(fn, *args)
            future.add_done_callback(ended)
            return future

    def ended(_):
        nonlocal there
        with lock:
            there -= 1

    with Counting(2) as pool:
        sj.sweep(dumbbell, AXES, SEEDS, executor=sj.Cluster(pool, chunk_s=1e-6))
    assert most == 4


def tasks(count: int, text: str = "x") -> list[Task]:
    return [Task(index, text, "file", 1, True) for index in range(count)]


def test_a_chunk_takes_the_time_that_it_shall_and_the_last_ones_less():
    made = _Chunks(iter(tasks(10_000)), 10_000, WORKERS)
    assert len(made.next(2)) == 1  # nobody knows yet how long a run takes
    made.took(0.05, 1)
    sizes = []
    while chunk := made.next(2):
        sizes.append(len(chunk))
        made.took(0.05 * len(chunk), len(chunk))
    assert sum(sizes) == 9999
    assert sizes[0] == 100
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-2] == 2  # a fiftieth of 5 s


def test_a_chunk_has_a_bounded_number_of_runs_and_bytes():
    short = _Chunks(iter(tasks(100_000)), 100_000, WORKERS)
    short.took(1e-9, 1)
    assert len(short.next(1)) == _Chunks.MOST_RUNS
    large = _Chunks(iter([Task(i, f"{i:0300000}", "file", 1, True) for i in range(50)]), 50, WORKERS)
    large.took(1e-9, 1)
    assert len(large.next(1)) == 4


def test_a_worker_with_another_engine_refuses(dumbbell, monkeypatch):
    real = chunks.engine_identity()
    asked = []

    class Other(Inline):
        def submit(self, fn, /, *args):
            monkeypatch.setattr(chunks, "engine_identity", lambda: "another")
            future = super().submit(fn, *args)
            monkeypatch.setattr(chunks, "engine_identity", lambda: real)
            asked.append(future.result()[3])
            return future

    with pytest.raises(sj.UserError, match=f"executor: expected workers with .*, engine {real}, got engine another on"):
        sj.sweep(dumbbell, AXES, executor=Other())
    assert asked == [[]] * len(asked)


@pytest.mark.parametrize("error", [ModuleNotFoundError("No module named 'sojourn'"), AttributeError("no do_chunk")])
def test_a_worker_without_this_package_is_said_in_one_line(dumbbell, error):
    def fail(_):
        raise error

    with pytest.raises(sj.UserError, match="executor: expected workers with this sojourn installed, got"):
        sj.sweep(dumbbell, AXES, executor=Inline(fail))


def test_a_run_that_ends_its_worker_is_named_and_loses_no_other(dumbbell):
    def die(tasks):
        if any("count = 2\n" in text and seed == 2 for text, _, seed, _ in tasks):
            raise ChildProcessError("killed 4 workers\nout of memory?")

    with pytest.warns(Note, match="a run failed"):
        found = sj.sweep(dumbbell, AXES, SEEDS, executor=sj.Cluster(Inline(die), chunk_s=60.0))
    assert len(found.runs) == 16
    assert len(found.failed) == 2
    where = f"{dumbbell} with flows.ftp.count = 2, links.bottleneck.queue.aqm = droptail"
    assert found.failed[0] == f"{where}: its worker died: ChildProcessError: killed 4 workers out of memory? (seed 2)"


def test_a_worker_that_dies_by_chance_loses_nothing(dumbbell):
    died = []

    def die_once(tasks):
        if len(died) < 3 and len(tasks) > len(died):
            died.append(len(tasks))
            raise ChildProcessError

    found = sj.sweep(dumbbell, AXES, SEEDS, executor=Inline(die_once))
    assert len(died) == 3
    assert not found.failed
    assert found.runs.equals(sj.sweep(dumbbell, AXES, SEEDS).runs)


def test_an_executor_that_breaks_ends_the_sweep_in_one_line_and_what_is_done_is_kept(dumbbell, tmp_path):
    cache = Store(tmp_path / "cache")

    def kill(done, _):
        if done == 3:
            pool.submit(os.kill, os.getpid(), 0)
            for process in list(pool._processes.values()):
                os.kill(process.pid, signal.SIGKILL)

    with (
        ProcessPoolExecutor(1) as pool,
        pytest.raises(RunError, match="executor: expected one that does runs, got Bro"),
    ):
        sj.sweep(dumbbell, AXES, SEEDS, executor=sj.Cluster(pool, chunk_s=1e-6), cache=cache, progress=kill)
    kept = len(cache)
    assert 3 <= kept < 18
    again = Inline()
    assert len(sj.sweep(dumbbell, AXES, SEEDS, executor=again, cache=cache).runs) == 18
    assert sum(again.sizes) == 18 - kept


def test_a_full_disk_is_one_line_and_loses_nothing_that_was_stored(dumbbell, tmp_path, monkeypatch):
    cache = Store(tmp_path / "cache")

    def fill(done, _):
        if done == 5:
            monkeypatch.setattr(files, "disk", FailingDisk(0, "full"))

    with pytest.raises(files.DiskError, match="disk full"):
        sj.sweep(dumbbell, AXES, SEEDS, executor=Inline(), cache=cache, progress=fill)
    monkeypatch.undo()
    assert len(cache) == 5
    assert len(sj.sweep(dumbbell, AXES, SEEDS, executor=Inline(), cache=cache).runs) == 18


def test_ctrl_c_gives_up_what_is_on_its_way(dumbbell, tmp_path):
    cancelled = []

    class Pool(Inline):
        def submit(self, fn, /, *args):
            future = super().submit(fn, *args)
            future.cancel = lambda: cancelled.append(future)  # type: ignore[method-assign,assignment,return-value]
            return future

    def interrupt(done, _):
        if done == 2:
            signal.raise_signal(signal.SIGINT)

    cache = Store(tmp_path / "cache")
    with pytest.raises(sj.Interrupted, match="2 of 18 runs had finished and are in the cache"):
        sj.sweep(dumbbell, AXES, SEEDS, executor=sj.Cluster(Pool(), chunk_s=1e-6), cache=cache, progress=interrupt)
    assert len(cache) == 2
    assert cancelled


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: sj.Cluster(3), "executor: expected an object with `submit`, got 3"),
        (lambda: sj.Cluster(Inline(), workers=-1), "executor: workers: expected 0 for what it says itself, or more"),
        (lambda: sj.Cluster(Inline(), chunk_s=float("nan")), "executor: chunk_s: expected a time in seconds above 0"),
        (lambda: named_executor("spark"), '--executor: expected dask, dask=ADDRESS, ray or ray=ADDRESS, got "spark"'),
    ],
)
def test_an_executor_that_cannot_be_used_is_refused(make, says):
    with pytest.raises(sj.UserError, match=says):
        make()


@pytest.mark.parametrize(("module", "extra", "name"), [("distributed", "dask", "dask=x:1"), ("ray", "ray", "ray")])
def test_a_missing_library_is_named(monkeypatch, module, extra, name):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(sj.MissingExtraError, match=rf"^{module} is not installed: pip install 'sojourn\[{extra}\]'$"):
        named_executor(name)


def test_a_scenario_on_linux_is_not_sent_elsewhere(dumbbell, monkeypatch):
    monkeypatch.setattr("sojourn.runs.jobs.host_of", lambda scenario: Host.LINUX)
    monkeypatch.setattr("sojourn.runs.jobs.find_kernel", lambda: type("Kernel", (), {"identity": "x"}))
    with pytest.raises(sj.UserError, match='executor: expected the simulator as host, got host = "linux"'):
        sj.sweep(dumbbell, AXES, executor=Inline())


@pytest.mark.slow
def test_a_dask_cluster_loses_nothing_when_a_worker_is_killed(dumbbell, tmp_path):
    distributed = pytest.importorskip("distributed")
    scenario, axes = sj.load(dumbbell).set("duration", "20 s"), {"flows.ftp.count": list(range(3, 23))}
    cache, killed = Store(tmp_path / "cache"), []
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=str(tmp_path)
    )
    with cluster, distributed.Client(cluster) as client:
        pids = sorted(client.run(os.getpid).values())
        assert len(pids) == 2
        assert os.getpid() not in pids

        def kill(done, _):
            if done >= 5 and not killed:
                killed.append(pids[0])
                os.kill(pids[0], signal.SIGKILL)

        executor = sj.Cluster(client.get_executor(), chunk_s=0.2)
        assert executor.size() == 2
        found = sj.sweep(scenario, axes, 3, executor=executor, cache=cache, progress=kill)
    assert killed
    assert not found.failed
    assert len(cache) == 60
    assert found.runs.equals(sj.sweep(scenario, axes, 3).runs)


@pytest.mark.slow
def test_submitit_does_a_sweep(dumbbell, tmp_path):
    submitit = pytest.importorskip("submitit")
    executor = submitit.AutoExecutor(folder=tmp_path / "jobs", cluster="local")
    axes = {"flows.ftp.count": [1, 2]}
    found = sj.sweep(dumbbell, axes, 2, executor=sj.Cluster(executor, workers=1, chunk_s=60))
    assert found.runs.equals(sj.sweep(dumbbell, axes, 2).runs)
    assert list(Path(tmp_path / "jobs").glob("*_submitted.pkl"))
