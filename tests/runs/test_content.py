"""A result has the content of its key: the used content is compared before it is stored."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.core.errors import Note, RunError
from sojourn.experiments import load_experiment
from sojourn.experiments.extra import load_extra
from sojourn.experiments.model import Case
from sojourn.imports.link_traces import summary
from sojourn.runs import store, worker_program
from sojourn.runs.runner import Progress
from tests.experiments.test_paper_limits import folder  # noqa: F401 - a fixture

SCENARIO = """duration = "200 ms"
[[links]]
name = "l"
from = "a"
to = "b"
delay = "1 ms"
trace = { file = "t.csv" }
[[links]]
name = "r"
from = "b"
to = "a"
rate = "10 Mbit/s"
[[flows]]
name = "f"
from = "a"
to = "b"
"""
OLD, NEW = "0, 8\n1, 8\n", "0, 2\n1, 2\n3, 2\n"
AXES = {"flows.f.count": [1, 2, 3]}
COLUMN = "links.l.rate_bps"


@pytest.fixture(autouse=True)
def traced(here: Path) -> None:
    Path("s.toml").write_text(SCENARIO)
    Path("t.csv").write_text(OLD)


def changes_at(done: int) -> Progress:
    """Changes the content of the trace after this number of runs."""

    def progress(now: int, _: int) -> None:
        if now == done:
            Path("t.csv").write_text(NEW)

    return progress


def test_a_record_names_the_trace_that_the_run_used():
    named = [link.get("trace_sha256") for link in sj.run("s.toml")["links"]]
    assert named == [summary(Path("t.csv"))[0]["sha256"], None]


@pytest.mark.parametrize("way", ["processes", "executor", "shard", "one"])
def test_no_result_of_another_trace_is_stored_where_it_changes_after_the_plan(way):
    cache = sj.Store("cache")
    where = {"executor": {"executor": ThreadPoolExecutor(2)}, "shard": {"shard": "1/1"}}.get(way, {})
    says = r"s\.toml.*: links\.l\.trace: expected the content that it had .* \(seed 1\)"
    if way == "one":
        with pytest.raises(RunError, match=says):
            sj.run_many("s.toml", 1, cache=cache, progress=changes_at(0))
    else:
        with pytest.warns(Note), pytest.raises(RunError, match=says):
            sj.sweep("s.toml", AXES, 1, threads=2, cache=cache, progress=changes_at(0), **where)
    assert len(cache) == 0


def test_what_was_run_before_the_trace_changed_is_kept_and_right():
    cache = sj.Store("cache")
    with pytest.warns(Note, match="a run failed: .*links.l.trace"):
        done = sj.sweep("s.toml", AXES, 4, threads=2, cache=cache, progress=changes_at(1))
    assert len(done.failed) + len(cache) == 12
    assert set(done.runs[COLUMN]) == {8e6}
    Path("t.csv").write_text(OLD)
    assert set(sj.sweep("s.toml", AXES, 4, threads=2, cache=cache).runs[COLUMN]) == {8e6}
    Path("t.csv").write_text(NEW)
    assert set(sj.sweep("s.toml", AXES, 4, threads=2, cache=cache).runs[COLUMN]) == {2e6}


def test_a_trace_with_the_size_and_the_time_of_the_one_before_is_read_again():
    rates = []
    for mbit in (1, 9, 1):
        Path("t.csv").write_text(f"0, {mbit}\n1, {mbit}\n")
        os.utime("t.csv", (1e9, 1e9))
        rates.append(sj.run("s.toml")["links"][0]["rate_bps"])
    assert rates == [1e6, 9e6, 1e6]


def test_the_python_of_a_paper_is_that_of_its_file_now(folder):  # noqa: F811
    found = []
    for number in (1, 2):
        (folder / "extra.py").write_text(f"FUNCTIONS = {{'own': lambda *_: {number}.0}}\n")
        os.utime(folder / "extra.py", (1e9, 1e9))
        found.append(load_extra(folder).functions["own"]())
    assert found == [1.0, 2.0]


def test_all_cases_of_a_paper_have_a_scenario_with_the_content_that_was_read_first(folder):  # noqa: F811
    experiment = load_experiment(folder)
    (grid, *_) = experiment.grids.values()
    case = grid.cases()[0]
    before = experiment.scenario(case).to_toml()
    file = folder / "scenarios" / "base.toml"
    file.write_text(file.read_text().replace('delay  = "20 ms"', 'delay  = "21 ms"'))
    assert experiment.scenario(Case(case.scenario, case.queue, case.setting)).to_toml() == before
    assert load_experiment(folder).scenario(case).to_toml() != before


def test_an_engine_whose_file_was_replaced_is_not_mixed_with_the_old(monkeypatch):
    monkeypatch.setattr(store, "_LOADED", "another")
    store.engine_identity.cache_clear()
    with pytest.raises(RunError, match="the engine was built anew meanwhile"):
        store.engine_identity()
    monkeypatch.undo()
    assert len(store.engine_identity()) == 16
    assert worker_program.stamp(sj._sojourn.__file__) == store._LOADED
