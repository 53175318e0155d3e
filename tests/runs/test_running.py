"""Runs, many runs, the cache, interruptions."""

import json
import math
import os
import pickle
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

import sojourn as sj
from conformance.bench import parts
from sojourn import _sojourn
from sojourn.cli import main
from sojourn.core.errors import Note
from sojourn.core.files import DiskError, write_atomic
from sojourn.runs import runner
from sojourn.runs.seeds import LAST_SEED, seeds_of
from sojourn.runs.store import Store
from tests.conftest import DUMBBELL
from tests.support.source_tree import ROOT


def test_a_run_gives_tables_and_numbers(dumbbell):
    record = sj.run(dumbbell, seed=3)
    assert record["seed"] == 3
    assert record.links.loc["bottleneck", "queue.mean"] == record.value("links.bottleneck.queue.mean")
    assert len(record.flows) == 3
    assert record.groups.loc["ftp", "flows"] == 3
    assert "total.goodput_bps" in record.scalars()


def test_the_same_seed_is_the_same_run(dumbbell):
    assert sj.run(dumbbell, seed=3)["fingerprint"] == sj.run(dumbbell, seed=3)["fingerprint"]
    assert sj.run(dumbbell, seed=3)["fingerprint"] != sj.run(dumbbell, seed=4)["fingerprint"]


def test_a_record_is_written_and_read_back(dumbbell, tmp_path):
    scenario = sj.load(dumbbell).set("trace.queue", {"links": ["bottleneck"], "every": "100 ms"})
    record = sj.run(scenario)
    written = record.save(tmp_path / "out")
    again = sj.Record.read(tmp_path / "out")
    assert again.to_dict() == record.to_dict()
    assert (again.series["queue/bottleneck"]["t"] == record.series["queue/bottleneck"]["t"]).all()
    assert {file.name for file in written} >= {"record.json", "links.parquet", "queue-bottleneck.parquet"}


def test_many_runs_come_in_order(dumbbell):
    red = sj.load(dumbbell).copy().set("links.bottleneck.queue.aqm", "red")
    records = sj.run_many([dumbbell, red], seeds=3)
    assert [[r["seed"] for r in each] for each in records] == [[1, 2, 3], [1, 2, 3]]
    assert [r["seed"] for r in sj.run_many(dumbbell, seeds=[9, 4])[0]] == [9, 4]


def test_a_record_of_many_runs_that_was_not_read_yet_is_that_of_one_run(dumbbell):
    unread = sj.run_many(dumbbell, seeds=2)[0][0]
    assert pickle.loads(pickle.dumps(unread)).to_json() == sj.run(dumbbell).to_json()
    assert unread["links"] is unread["links"]


@pytest.mark.parametrize("seeds", [0, -1, [], [1, 1]])
def test_impossible_seeds_are_refused(dumbbell, seeds):
    with pytest.raises(sj.UserError, match="expected"):
        sj.run_many(dumbbell, seeds=seeds)


def test_a_cached_run_is_not_run_again(observed, dumbbell, here, monkeypatch):
    log = here / "log"
    monkeypatch.setenv("RUN_LOG", str(log))
    cache = Store(here / "cache")
    first = sj.run_many(dumbbell, seeds=3, cache=cache)
    again = sj.run_many(dumbbell, seeds=5, cache=cache)
    assert len(log.read_text().splitlines()) == 5
    assert again[0][:3] == first[0] or [r.to_dict() for r in again[0][:3]] == [r.to_dict() for r in first[0]]
    assert len(cache) == 5


def test_the_key_is_the_content(dumbbell):
    def key(scenario, seed=1, engine="e"):
        return _sojourn.keys(scenario.to_toml(), scenario.label, [seed], engine, [])[0][0]

    scenario = sj.load(dumbbell)
    assert key(scenario) == key(sj.load(scenario.to_dict()))
    changed = scenario.copy().set("duration", "6 s")
    assert len({key(scenario), key(scenario, seed=2), key(scenario, engine="f"), key(changed)}) == 4
    several, traces = _sojourn.keys(scenario.to_toml(), scenario.label, [2, 1], "e", [])
    assert several == [key(scenario, seed=2), key(scenario)], "the seeds of one scenario are told apart"
    assert traces == {}


def test_a_spoiled_entry_is_run_again(observed, dumbbell, here):
    cache = Store(here / "cache")
    good = sj.run_many(dumbbell, cache=cache)[0][0]
    for file in (here / "cache").rglob("*.run"):
        file.write_text('{"has_series": ')
    with pytest.warns(Note, match=r"\.run: damaged \(its first line is damaged\), set aside as .damaged, run again"):
        assert sj.run_many(dumbbell, cache=cache)[0][0].to_dict() == good.to_dict()


def test_everything_is_checked_before_anything_runs(observed, dumbbell, here, monkeypatch):
    monkeypatch.setenv("RUN_LOG", str(here / "log"))
    bad = sj.load(dumbbell).copy()
    bad["colour"] = "red"
    with pytest.raises(ValueError, match="colour"):
        sj.run_many([dumbbell, bad])
    assert not (here / "log").exists()


def test_an_interruption_keeps_what_had_finished(observed, dumbbell, here, monkeypatch):
    cache = Store(here / "cache")

    def interrupt(done, _total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(sj.Interrupted, match="2 of 5 runs"):
        sj.run_many(dumbbell, seeds=5, cache=cache, progress=interrupt, threads=1)
    assert len(cache) == 2
    monkeypatch.setenv("RUN_LOG", str(here / "log"))
    sj.run_many(dumbbell, seeds=5, cache=cache)
    assert len((here / "log").read_text().splitlines()) == 3


def test_progress_counts_up_to_the_end(observed, dumbbell, here):
    seen = []
    jobs = [runner.Job(sj.load(dumbbell), seed) for seed in (1, 2, 3)]
    runner.run_jobs(jobs, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]


@pytest.mark.slow
def test_a_killed_sweep_starts_again_where_it_stopped(here):
    (here / "dumbbell.toml").write_text(DUMBBELL)
    (here / "sweep.toml").write_text(
        'scenario = "dumbbell.toml"\nreplications = 6\n[axes]\n"links.bottleneck.queue.aqm" = ["red", "pd"]\n'
    )
    paths = [str(ROOT), str(ROOT / "python")]
    observe = f"import sys; sys.path[:0] = {paths}; from tests.support import observed_engine"
    code = (
        f"{observe}; from sojourn.runs import workers; workers.COMMAND = observed_engine.COMMAND\n"
        "from sojourn.cli import main; sys.exit(main(['sweep', 'sweep.toml']))"
    )
    env = {**os.environ, "RUN_LOG": str(here / "log"), "RUN_DELAY": "0.25"}
    killed = subprocess.Popen([sys.executable, "-c", code], cwd=here, env=env, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 600
    while len(list((here / "results").rglob("*.run"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    kept = list((here / "results" / "cache").rglob("*.run"))
    assert len(kept) >= 3
    store = Store(here / "results" / "cache")
    assert all(store.get(file.stem) is not None for file in kept)
    again = {
        **env,
        "RUN_LOG": str(here / "again"),
        "RUN_DELAY": "0",
    }  # workers of the killed sweep may still write "log"
    subprocess.run([sys.executable, "-c", code], cwd=here, env=again, check=True, stdout=subprocess.DEVNULL)
    assert len((here / "again").read_text().splitlines()) == 12 - len(kept)
    assert (here / "results" / "sweep" / "summary.csv").exists()


def test_a_full_disk_says_so_and_leaves_nothing_half_written(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskError, match="disk full"):
        write_atomic(tmp_path / "file", "content")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DiskError, match="cannot be written"):
        write_atomic(tmp_path / "file" / "below", "content")


def test_a_law_in_python_manages_the_queue(dumbbell):
    steps = []

    class Mine:
        def step(self, sample):
            steps.append(sample.now)
            return min(max((sample.backlog_packets - 5) / 100, 0.0), 1.0)

    queue = {"aqm": "external", "law": "mine", "interval": "20 ms", "limit": "100 packets"}
    scenario = sj.load(dumbbell).copy().set("links.bottleneck.queue", queue)
    record = sj.run(scenario, laws={"mine": Mine})
    assert len(steps) == pytest.approx(250, abs=1)
    assert record.value("links.bottleneck.queue.mean") < sj.run(dumbbell).value("links.bottleneck.queue.mean") / 2


def with_law(dumbbell):
    return sj.load(dumbbell).copy().set("links.bottleneck.queue", {"aqm": "external", "law": "mine"})


def law(step):
    return {"mine": lambda: SimpleNamespace(step=step)}


def test_a_law_that_raises_is_named_with_the_time_in_a_note_on_its_own_error(dumbbell):
    def step(sample):
        if sample.now > 0.1:
            raise KeyError("my own mistake")
        return 0.0

    scenario = with_law(dumbbell)
    with pytest.raises(KeyError, match="my own mistake") as caught:
        sj.run(scenario, laws=law(step))
    assert caught.value.__notes__ == [f"{dumbbell}: laws.mine: raised at 0.11 s"]
    with pytest.raises(ZeroDivisionError) as caught:
        sj.run(scenario, laws={"mine": lambda: 1 / 0})
    assert caught.value.__notes__ == [f"{dumbbell}: laws.mine: raised when it was made"]
    with pytest.raises(sj.ScenarioError, match="mine"):
        sj.run(scenario)


class TwoSamples:
    def step(self, sample, before):
        return 0.0


class Needy:
    def __init__(self, target):
        self.step = abs


@pytest.mark.parametrize(
    ("laws", "said"),
    [
        ([object], 'laws: expected a table of laws by name, got "list"'),
        (
            {"mine": SimpleNamespace(step=abs)},
            "laws.mine: expected a class or a function .*, got an object of SimpleNamespace",
        ),
        ({"mine": object}, r"laws.mine: expected a law with a method step\(sample\), got object without one"),
        (
            {"mine": lambda: None},
            "laws.mine: expected a law .*, or a controller with .*, got NoneType without one",
        ),
        (
            {"mine": TwoSamples},
            r"laws.mine: expected a law with a method step\(sample\), got step\(sample, before\), which takes 2 .*",
        ),
        (
            law(lambda: 0.0),
            r"laws.mine: expected a law with a method step\(sample\), got <lambda>\(\), which takes 0 .*",
        ),
        (
            {"mine": Needy},
            r"laws.mine: expected a class or a function without arguments .*, got Needy\(target\), which .*",
        ),
        (
            {"mine": lambda sample: 0.1},
            r"laws.mine: expected a class or a function .*, got <lambda>\(sample\), .* 1 argument",
        ),
    ],
)
def test_what_makes_no_law_is_refused_in_one_line_before_the_run(dumbbell, laws, said):
    for call in (sj.run, sj.run_many):
        with pytest.raises(sj.UserError, match=f"^{said}(\n|$)"):
            call(with_law(dumbbell), laws=laws)


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (math.nan, "nan"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (1.5, "1.5"),
        (-1e-9, "-1e-09"),
        ("0.5", "'0.5'"),
        (None, "None"),
        ([0.5], r"\[0.5\]"),
        ("a\n" * 100, r"'a\\na.*\.\.\."),
        (np.float64("nan"), r"np.float64\(nan\)"),
        (True, "True"),
        (np.bool_(False), r"np.False_"),
    ],
)
def test_an_answer_that_is_no_probability_is_refused_with_law_and_time(dumbbell, answer, shown):
    scenario = with_law(dumbbell)
    with pytest.raises(sj.ScenarioError, match=rf"laws.mine: expected a probability from 0 to 1 at 3 s, got {shown}$"):
        sj.run(scenario, laws=law(lambda sample: answer if sample.now >= 3 else np.float64(0.01)))


def test_the_number_of_threads_changes_nothing(dumbbell):
    prints = [[r["fingerprint"] for r in sj.run_many(dumbbell, seeds=6, threads=n)[0]] for n in (1, 2, 3)]
    assert prints[0] == prints[1] == prints[2]
    assert len(set(prints[0])) == 6


def test_one_run_on_several_threads_has_the_same_record_and_series(capsys, tmp_path):
    scenario = sj.load(parts.row(hops=4, flows=20)).set("trace.rtt", {"flows": ["*"]})
    whole = sj.run(scenario)
    for threads in (0, 2, 3):
        record = sj.run(scenario, threads=threads)
        assert record.to_json() == whole.to_json()
        assert record.series.keys() == whole.series.keys()
        assert all((record.series[name]["t"] == whole.series[name]["t"]).all() for name in whole.series)
    file = tmp_path / "row.toml"
    file.write_text(scenario.to_toml())
    assert main(["run", str(file), "--threads", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fingerprint"] == whole["fingerprint"]
    with pytest.raises(sj.UserError, match="threads: expected 0 for one per core, or 1 to 10000, got -1"):
        sj.run(scenario, threads=-1)


@pytest.mark.slow
def test_ctrl_c_ends_a_run_at_once(here):
    (here / "long.toml").write_text(DUMBBELL.replace('"5 s"', '"100000 s"'))
    code = (
        "import sys, types; from sojourn.runs import execution; from sojourn.cli import main\n"
        "engine = execution._sojourn\n"
        "def run_many(*given): print('up', flush=True); engine.run_many(*given)\n"
        "execution._sojourn = types.SimpleNamespace(**{**vars(engine), 'run_many': run_many})\n"
        "sys.exit(main(['run', 'long.toml']))"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    running_one = subprocess.Popen([sys.executable, "-c", code], cwd=here, env=env, stdout=-1, stderr=-1, text=True)
    assert running_one.stdout.readline() == "up\n"
    time.sleep(1.0)  # it is in the engine by now, most likely
    running_one.send_signal(signal.SIGINT)
    _, error = running_one.communicate(timeout=600)
    assert running_one.returncode == 130
    assert error.startswith("error: interrupted: 0 of 1 runs")


def test_the_example_law_runs():
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run([sys.executable, "examples/law.py"], cwd=ROOT, env=env, capture_output=True, text=True)
    assert "bottleneck" in done.stdout, done.stderr


def test_a_router_that_reads_headers_takes_no_senders_word(dumbbell):
    def run(hints, **tcp):
        scenario = sj.load(dumbbell).set("links.bottleneck.queue", {"aqm": "pi-rtt", "ecn": True, "hints": hints})
        return sj.run(scenario.set_all({"tcp.ecn": True} | {f"tcp.{name}": value for name, value in tcp.items()}))

    honest, told = (run("router", rtt_hint=hint)["fingerprint"] for hint in (True, "640 ms"))
    assert honest == told == run("router", rtt_hint=False)["fingerprint"]
    assert run("senders", rtt_hint=True)["fingerprint"] != run("senders", rtt_hint="640 ms")["fingerprint"]
    with pytest.raises(sj.ScenarioError, match=r'hints = "router"'):
        run("senders", rtt_hint=False)
    with pytest.raises(sj.ScenarioError, match=r"a handshake or `timestamps = true`"):
        run("router", handshake="none", timestamps=False)
    with pytest.raises(sj.ScenarioError, match=r"queue.hints: .*router"):
        run("nobody")


@pytest.mark.parametrize("call", [sj.run, sj.run_many, lambda scenario, laws: sj.compare(scenario, ["red"], laws=laws)])
def test_a_law_that_nothing_names_is_refused(dumbbell, call):
    class Law:
        def step(self, sample):
            return 0.0

    class Controller:
        def on_ack(self, sample):
            return 10.0

        def on_loss(self, event):
            return 5.0

    with pytest.raises(sj.UserError, match=r'^laws\.unused: expected a queue with law = "unused", got none$'):
        call(sj.load(dumbbell), laws={"unused": Law})
    with pytest.raises(sj.UserError, match=r'^laws\.mine: expected flows with controller = "mine", got none$'):
        call(sj.load(dumbbell), laws={"mine": Controller})


def test_a_count_of_seeds_that_goes_beyond_the_last_is_refused_with_what_was_asked(dumbbell):
    with pytest.raises(sj.UserError, match=f"^seeds: expected at most 1 from the seed {LAST_SEED} on, got 2$"):
        seeds_of(2, LAST_SEED)
    assert seeds_of(1, LAST_SEED) == [LAST_SEED]


@pytest.mark.parametrize(("aqm", "has_one"), [("droptail", False), ("codel", False), ("red", True), ("pi", True)])
def test_a_discipline_without_a_probability_has_none_in_the_record(dumbbell, aqm, has_one):
    scenario = sj.load(dumbbell).set("links.bottleneck.queue.aqm", aqm)
    record = sj.run(scenario.set("trace", {"queue": {"links": ["bottleneck"], "every": "100 ms"}}))
    assert (record.value("links.bottleneck.probability_mean") is not None) == has_one
    assert np.isfinite(record.series["queue/bottleneck"]["probability"]).all() == has_one


@pytest.mark.parametrize("aqm", ["droptail", "codel"])
def test_the_delay_of_a_queue_is_the_time_to_send_what_waits_and_what_is_being_sent(dumbbell, aqm):
    scenario = sj.load(dumbbell).set("links.bottleneck.queue.aqm", aqm)
    scenario.set("links.bottleneck.changes", [{"at": "3 s", "rate": "5 Mbit/s"}])
    queue = sj.run(scenario.set("trace", {"queue": {"links": ["bottleneck"], "every": "10 ms"}})).series[
        "queue/bottleneck"
    ]
    rate = np.where(queue["t"] < 3, 10e6, 5e6)
    left = queue["delay_s"] - queue["bytes"] * 8 / rate
    settled = (queue["t"] < 2.5) | (queue["t"] > 3.5)  # at 3 s packets wait that are sent at the rate before
    largest = 1500 * 8 / rate  # the packet that is being sent
    assert (queue["delay_s"] > 0.01).any()
    assert ((left > -1e-9) & (left < largest + 1e-9))[settled].all()
