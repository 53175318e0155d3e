"""Runs in separate processes: one that dies loses only its own run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.core.errors import Note, RunError
from sojourn.runs import execution, worker_program, workers
from sojourn.runs.execution import Runs
from sojourn.runs.runner import Job, run_each, run_jobs
from sojourn.runs.store import Store
from tests.conftest import DUMBBELL

pytestmark = pytest.mark.no_libraries

AXES = {"flows.ftp.count": [1, 2, 3]}
TWO_FLOWS = """any(each in text for each in ('count = 2', '"count": 2'))"""  # in TOML and in JSON
PACKAGE = Path(workers.__file__).parents[2]


def dying(monkeypatch: pytest.MonkeyPatch, how: str, where: str = TWO_FLOWS) -> None:
    """Processes end in a certain way at some runs: those with two flows."""
    command = (
        "import os, signal, sys\n"
        "from sojourn import _sojourn as real; from sojourn.runs import worker_program\n"
        "class Engine:\n"
        "    def run(self, text, file, seed):\n"
        f"        if {where}: {how}\n"
        "        return real.run(text, file, seed)\n"
        "worker_program.serve(*sys.argv[1:], Engine())"
    )
    monkeypatch.setattr(workers, "COMMAND", ["-c", command])


def limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes get 700 MiB."""
    code = (
        "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_AS, (700 << 20,) * 2); "
        f"runpy.run_path({worker_program.__file__!r}, run_name='__main__')"
    )
    monkeypatch.setattr(workers, "COMMAND", ["-c", code])


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "its process was killed, as a system does that is out of memory"),
        ("print('bad luck', file=sys.stderr); os.abort()", "its process ended with SIGABRT: bad luck"),
        ("os._exit(3)", "its process ended with exit code 3"),
        ("raise MemoryError", "out of memory"),
        ("raise BaseException('a panic')", "a panic"),
    ],
)
def test_a_run_that_dies_is_named_and_loses_no_other(dumbbell, tmp_path, monkeypatch, how, says):
    dying(monkeypatch, how)
    cache = Store(tmp_path / "cache")
    with pytest.warns(Note, match="a run failed"):
        found = sj.sweep(dumbbell, AXES, cache=cache)
    assert found.failed == [f"{dumbbell} with flows.ftp.count = 2: {says} (seed 1)"]
    assert list(found.runs["flows.ftp.count"]) == [1, 3]
    assert len(cache) == 2
    with pytest.warns(Note, match="a run failed"):  # also when it is the only one that is left
        assert sj.sweep(dumbbell, AXES, cache=cache).failed == found.failed
    monkeypatch.undo()
    again = sj.sweep(dumbbell, AXES, cache=cache)
    assert not again.failed
    assert list(again.runs["flows.ftp.count"]) == [1, 2, 3]


@pytest.mark.parametrize(
    ("set_by_user", "given"),
    [
        (None, "glibc.malloc.hugetlb=1"),
        ("glibc.malloc.tcache_count=0", "glibc.malloc.tcache_count=0:glibc.malloc.hugetlb=1"),
        ("glibc.malloc.hugetlb=0", "glibc.malloc.hugetlb=0"),
    ],
)
def test_processes_ask_for_huge_pages_unless_the_user_says_otherwise(dumbbell, monkeypatch, set_by_user, given):
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    if set_by_user is not None:
        monkeypatch.setenv("GLIBC_TUNABLES", set_by_user)
    dying(monkeypatch, "raise RuntimeError(os.environ['GLIBC_TUNABLES'])")
    with pytest.warns(Note, match="a run failed"):
        found = sj.sweep(dumbbell, AXES)
    assert found.failed == [f"{dumbbell} with flows.ftp.count = 2: {given} (seed 1)"]


def test_a_run_that_asks_for_too_much_memory_is_named(dumbbell, monkeypatch):
    limited(monkeypatch)
    with pytest.warns(Note, match="flows.ftp.count = 1000000: out of memory"):
        found = sj.sweep(dumbbell, {"flows.ftp.count": [1, 1_000_000, 2]})
    assert list(found.runs["flows.ftp.count"]) == [1, 2]


def test_a_case_of_a_comparison_that_asks_for_too_much_memory_is_left_out(dumbbell, monkeypatch):
    limited(monkeypatch)
    with pytest.warns(Note, match="a run failed: .* with count=1000000: out of memory.* \\(seed 1\\)"):
        found = sj.compare(dumbbell, vary={"flows.ftp.count": [1, 1_000_000, 2]}, seeds=2)
    assert len(found.failed) == 2
    assert list(found.records) == [case.label for case in found.cases] == ["count=1", "count=2"]
    assert [len(each) for each in found.records.values()] == [2, 2]


def test_runs_that_die_are_named_and_lose_no_others(dumbbell, tmp_path, monkeypatch):
    dying(monkeypatch, "os._exit(3)")
    cache = Store(tmp_path / "cache")
    scenarios = [sj.load(dumbbell).copy().set("flows.ftp.count", n) for n in (1, 2, 3)]
    said = r"its process ended with exit code 3 \(seed 1\); 2 of 6 runs failed and the others are in the cache"
    with pytest.raises(RunError, match=said):
        sj.run_many(scenarios, 2, cache=cache)
    assert len(cache) == 4
    failed: list[str] = []
    assert [len(each) for each in sj.run_many(scenarios, 2, failed=failed)] == [2, 0, 2]
    assert len(failed) == 2


def test_a_law_that_nobody_supplies_is_refused_before_the_first_run(dumbbell):
    law = sj.load(dumbbell).copy().set("links.bottleneck.queue", {"aqm": "external", "law": "mine"})
    with pytest.raises(sj.ScenarioError, match=r'supplies, got "mine"$'):
        sj.run_many(law, 2)


def test_runs_with_a_law_are_done_here_and_the_others_in_processes(dumbbell, monkeypatch):
    dying(monkeypatch, "os._exit(3)")
    laws = {"mine": lambda: SimpleNamespace(step=lambda sample: 0.0)}  # no process could be sent that
    queues = {"law": {"aqm": "external", "law": "mine"}, "red": {"aqm": "red"}}
    with pytest.warns(Note, match="red with count=2: its process ended"):
        found = sj.compare(dumbbell, queues, 1, vary={"flows.ftp.count": [1, 2]}, laws=laws)
    assert list(found.records) == ["law with count=1", "law with count=2", "red with count=1"]


def test_run_and_compare_show_the_others_and_exit_with_1(capsys, dumbbell, monkeypatch):
    dying(monkeypatch, "os._exit(1)")
    assert main(["compare", str(dumbbell), "--vary", "flows.ftp.count=1,2", "--seeds", "2", "--no-cache"]) == 1
    shown = capsys.readouterr()
    assert "count=1" in shown.out
    assert shown.err.count("a run failed") == 2
    assert "error: 2 runs failed; the results have the other cases" in shown.err
    dying(monkeypatch, "os._exit(1)", where="seed == 2")
    assert main(["run", str(dumbbell), "--seeds", "3"]) == 1
    shown = capsys.readouterr()
    assert "2 seeds" in shown.out
    assert "error: 1 of 3 runs failed; the results have the others" in shown.err


def test_an_engine_that_was_built_anew_is_not_mixed_with_the_old(dumbbell, monkeypatch):
    monkeypatch.setattr(workers, "STAMP", "another")
    with pytest.raises(RunError, match="the engine was built anew meanwhile"):
        sj.run_many(dumbbell, 2)


def test_where_every_run_dies_there_is_no_result(dumbbell, monkeypatch):
    dying(monkeypatch, "os._exit(1)")
    with pytest.raises(RunError, match=r"every run failed; the last: .*exit code 1"), pytest.warns(Note):
        sj.sweep(dumbbell, {"flows.ftp.count": [2], "duration": ["2 s", "3 s"]})


def test_the_command_writes_the_others_and_exits_with_1(capsys, dumbbell, here, monkeypatch):
    dying(monkeypatch, "os._exit(1)")
    (here / "grid.toml").write_text('scenario = "dumbbell.toml"\n[axes]\n"flows.ftp.count" = [1, 2, 3]\n')
    assert main(["sweep", "grid.toml"]) == 1
    assert "error: 1 of 3 runs failed; the results have the others" in capsys.readouterr().err
    assert (here / "results" / "grid" / "summary.csv").read_text().count("links.bottleneck.utilization") == 2


def test_processes_and_this_one_measure_the_same(dumbbell):
    axes = {"flows.ftp.count": [1, 2]}
    one, two = (sj.sweep(dumbbell, axes, 2, threads=threads).runs for threads in (1, 2))
    assert one.equals(two)
    here = [sj.run(sj.load(dumbbell).copy().set("flows.ftp.count", n), seed) for n in (1, 2) for seed in (1, 2)]
    assert list(one["fingerprint"]) == [record["fingerprint"] for record in here]


def has_children(process: int) -> None:
    """Waits until a process has started others."""
    for _ in range(12_000):
        if any(file.read_text() for file in Path(f"/proc/{process}/task").glob("*/children")):
            return
        time.sleep(0.05)


def test_ctrl_c_ends_a_sweep_and_its_processes_at_once(here):
    (here / "long.toml").write_text(DUMBBELL.replace('"5 s"', '"1000000 s"'))
    (here / "grid.toml").write_text('scenario = "long.toml"\n[axes]\n"flows.ftp.count" = [1, 2, 3]\n')
    code = "import sys; from sojourn.cli import main; print('up', flush=True); sys.exit(main(['sweep', 'grid.toml']))"
    env = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    sweep = subprocess.Popen(
        [sys.executable, "-c", code], cwd=here, env=env, stdout=-1, stderr=-1, text=True, start_new_session=True
    )
    assert sweep.stdout is not None
    assert sweep.stdout.readline() == "up\n"
    has_children(sweep.pid)
    os.killpg(sweep.pid, signal.SIGINT)  # as a terminal does
    _, error = sweep.communicate(timeout=600)
    assert sweep.returncode == 130
    assert error.startswith("error: interrupted: 0 of 3 runs")
    with pytest.raises(ProcessLookupError):
        os.killpg(sweep.pid, 0)


def test_a_process_that_begins_while_all_are_ended_ends_too(monkeypatch):
    """The main thread is interrupted after a process has begun and before the pool knows it."""
    pool: workers._Pool

    class Late(workers._Worker):
        def __init__(self, laws: bytes) -> None:
            super().__init__(laws)
            begun.set()
            while not pool._stopped:
                time.sleep(0.001)
            time.sleep(0.05)

    begun = threading.Event()
    monkeypatch.setattr(workers, "_Worker", Late)
    tasks = iter([[workers.Task(0, DUMBBELL.replace('"5 s"', '"1000000 s"'), "long.toml", 1, pack=False)]])
    pool = workers._Pool(tasks, 1, b"")
    pool.threads[0].start()
    begun.wait()
    ending = threading.Thread(target=pool.stop, daemon=True)
    ending.start()
    ending.join(timeout=300)
    still = ending.is_alive()
    for worker in pool._workers:
        worker.process.kill()
    assert not still


def test_processes_end_when_the_one_that_started_them_is_killed(here):
    (here / "long.toml").write_text(DUMBBELL.replace('"5 s"', '"1000000 s"'))
    code = "import sojourn as sj; print('up', flush=True); sj.sweep('long.toml', {'flows.ftp.count': [1, 2, 3]})"
    env = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    sweep = subprocess.Popen([sys.executable, "-c", code], cwd=here, env=env, stdout=-1, start_new_session=True)
    assert sweep.stdout is not None
    sweep.stdout.readline()
    has_children(sweep.pid)
    sweep.kill()
    sweep.wait()
    for _ in range(12_000):
        try:
            os.killpg(sweep.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    raise AssertionError("a process is still there")


def test_a_grid_makes_its_points_when_they_are_asked_for(dumbbell):
    import tracemalloc

    many = list(range(1, 201))
    tracemalloc.start()
    plan = sj.make_plan(dumbbell, {"flows.ftp.count": many, "tcp.window": [f"{n} packets" for n in many]}, seeds=2)
    for _, _job in zip(range(200), plan.jobs(), strict=False):
        pass
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(plan.jobs()) == 80_000
    assert held < 1_000_000
    assert plan.points[-1].labels == {"flows.ftp.count": 200, "tcp.window": "200 packets"}
    assert plan.jobs()[79_999].seed == plan.points[-1].seed + 1


@pytest.mark.parametrize("name", ["seed", "measure", "mean", "n", "fingerprint"])
def test_an_axis_with_the_name_of_a_column_is_refused(dumbbell, tmp_path, name):
    (tmp_path / "s.toml").write_text(
        f'scenario = "dumbbell.toml"\n[variants.{name}]\na = {{ duration = "2 s" }}\nb = {{ duration = "3 s" }}\n'
    )
    with pytest.raises(sj.UserError, match=f'expected an axis of another name than .*, got "{name}"'):
        sj.sweep(tmp_path / "s.toml")


def test_a_sweep_over_nothing_is_refused(dumbbell, tmp_path):
    (tmp_path / "s.toml").write_text('scenario = "dumbbell.toml"\nreplications = 3\n')
    with pytest.raises(sj.UserError, match="axes: expected one or more, got none"):
        sj.sweep(tmp_path / "s.toml")


ALIKE = """
[[flows]]
name = "late"
from = "R0"
to = "R1"
start = "2 s"
"""


def alike(seeds: int) -> list[Job]:
    """Runs with a common beginning: a flow that starts late has one of three controllers."""
    late = sj.loads(DUMBBELL + ALIKE)
    scenarios = [late.copy().set("flows.late.tcp.control.cc", cc) for cc in ("reno", "cubic", "ledbat")]
    return [Job(scenario, seed) for scenario in scenarios for seed in range(1, 1 + seeds)]


def test_runs_that_begin_alike_go_to_one_process_and_are_what_they_are_alone(tmp_path):
    families = []
    real = workers.run_in_workers

    def watched(tasks, count, on_answer, laws):
        real(iter(kept(tasks)), count, on_answer, laws)

    def kept(tasks):
        families.extend(tasks)
        return families

    jobs = alike(9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution, "run_in_workers", watched)
        together = run_jobs(jobs, threads=2, cache=Store(tmp_path))
    assert [len(family) for family in families] == [3] * 9
    alone = [sj.run(job.scenario, job.seed) for job in jobs]
    assert [each["fingerprint"] for each in together] == [each["fingerprint"] for each in alone]
    assert len({each["fingerprint"] for each in together}) == len(jobs)


def test_few_runs_that_begin_alike_go_to_as_many_processes_as_there_are():
    assert Runs(alike(1), {str(i): [i] for i in range(3)}, None, None, 3)._families(range(3), 2) == [[0], [1], [2]]


def test_a_run_that_dies_in_a_family_dies_alone(monkeypatch):
    command = (
        "import os, sys\n"
        "from sojourn import _sojourn as real; from sojourn.runs import worker_program\n"
        "class Engine:\n"
        "    def run(self, text, file, seed):\n"
        "        if 'cubic' in text and seed == 2: os._exit(3)\n"
        "        return real.run(text, file, seed)\n"
        "    def run_many(self, jobs, threads, on_done):\n"
        "        real.run_many(jobs[:1], threads, on_done)\n"
        "        os._exit(3)\n"
        "worker_program.serve(*sys.argv[1:], Engine())"
    )
    monkeypatch.setattr(workers, "COMMAND", ["-c", command])
    found, failed = {}, {}
    run_each(alike(9), found.__setitem__, threads=2, on_failed=failed.__setitem__)
    assert set(found) | set(failed) == set(range(27))
    assert set(failed) == {10}
    assert "exit code 3 (seed 2)" in failed[10]
