"""Measures of one run: columns, settling, times as measures, targets, and steps.

The steps are between runs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sojourn.core.errors import UserError
from sojourn.core.record import Record
from sojourn.experiments import Experiment, Outcome, RunOptions, load_experiment, reproduce
from sojourn.experiments.model import Case
from sojourn.experiments.readings import Reading, column_of
from sojourn.experiments.reproduce import run_shard
from sojourn.experiments.tables import table_of
from sojourn.experiments.verdict import Verdict
from sojourn.runs.store import Store

BASE = """
duration = "1 s"
links = [{ name = "bottleneck", from = "a", to = "b", rate = "2 Mbit/s", delay = "5 ms", duplex = true }]
flows = [{ name = "f", from = "a", to = "b" }]
trace = { cwnd = { flows = ["*"], every = "10 ms" } }
"""
STUDY = """
id = "mine"
title = "Mine"
replications = 1

[columns]
window = { series = "cwnd/f/0", column = "packets" }

[measures]
length = { path = "duration_s", unit = "s" }
early = { column = "window", take = "mean", between = [0, "{length / 2}"], holds = "< {limit}" }
late = { column = "window", take = "mean", between = ["{length / 2}", "{length}"], holds = "> {limit}" }
growth = { formula = "late / early" }
more = { formula = "growth - 1" }
none = { series = "cwnd/f/0", column = "round", optional = true, take = "max", holds = "> 1e9" }
missed = { outside = ["early", "late", "none"] }

[families.run]
id = "run_{limit}"
label = "{limit}"
title = "a run"
file = "scenarios/base.toml"
points = { limit = ["1", "1000"], delay = ["5", "10"] }
set = { "links.bottleneck.delay" = "{delay} ms" }

[queues]
tail = { label = "Tail", queue = { aqm = "droptail" }, values = { factor = "2" } }

[grids.main]
title = "All"
scenarios = ["run"]
queues = ["tail"]
"""
CLAIMS = """
[[claims]]
id = "at-{limit}"
for = { limit = ["1", "1000"] }
where = "here"
text = "The window is near {limit}"
reason = "A test."
parts = [{ measure = "run_{limit}.tail.missed", holds = "<= 0" }]
"""
STEPS = """
[[families.run.steps]]
set = { duration = "{factor * length} s" }
[[families.run.steps]]
set = { duration = "{factor * length} s" }

[queues]
"""
SMALL = Case("run_1", "tail")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "mine"
    (made / "scenarios").mkdir(parents=True)
    (made / "scenarios" / "base.toml").write_text(BASE)
    (made / "experiment.toml").write_text(STUDY)
    (made / "claims.toml").write_text(CLAIMS)
    return made


def changed(folder: Path, old: str, new: str) -> Experiment:
    text = (folder / "experiment.toml").read_text()
    assert old in text
    (folder / "experiment.toml").write_text(text.replace(old, new))
    return load_experiment(folder)


@pytest.fixture
def outcome(folder: Path) -> Outcome:
    return reproduce(load_experiment(folder))


def traced(**columns: list[float]) -> Record:
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in columns.items()}
    return Record({"duration_s": 10.0}, {"controller/f/0": arrays})


RECORD = traced(t=[0, 1, 2, 2, 3, 4, 5], state=[0, 0, 1, 2, 2, 0, 1], bw=[5, 6, 7, 8, 9, 4, 2])


def taken(take: str, than: float = 0.0, record: Record = RECORD, column: str = "state", **more: object) -> float:
    reading = Reading("controller/f/0", column, take, than=than, optional=True, **more)  # type: ignore[arg-type]
    return reading.of(record)


@pytest.mark.parametrize(
    ("than", "more", "begin", "end", "following"),
    [
        (0, {}, 0, 2, 1),
        (1, {}, 2, 2, 2),  # it takes no time: two samples at 2 s
        (2, {}, 2, 4, 0),
        (0, {"nth": 2}, 4, 5, 1),
        (0, {"between": (1, 9)}, 4, 5, 1),  # the stay that began before is not cut in two
        (1, {"nth": 2}, 5, 10, np.inf),  # until the run ends
        (0, {"ahead": 2}, 0, 2, 2),
        (7, {}, np.inf, np.inf, np.inf),
    ],
)
def test_a_stay_has_a_begin_an_end_and_a_value_after_it(
    than: float, more: dict[str, object], begin: float, end: float, following: float
) -> None:
    assert [taken(take, than, **more) for take in ("begin", "end", "next")] == [begin, end, following]


def test_a_trace_without_the_column_has_no_stay_and_no_sum() -> None:
    for take in ("begin", "end", "next", "at", "max"):
        assert np.isnan(taken(take, column="mode"))


def test_the_value_at_a_time_is_that_of_the_last_sample_up_to_it() -> None:
    assert [taken("at", column="bw", at=at) for at in (2.5, 2.0, 0.0)] == [8, 8, 5]
    assert np.isnan(taken("at", column="bw", at=-1.0))


def test_a_time_without_a_value_leaves_the_measure_without_one() -> None:
    assert np.isnan(taken("sum", column="bw", between=(float("nan"), 9.0)))
    assert taken("sum", column="bw", between=(3, 9)) == 15


def test_a_column_may_be_an_expression_of_others() -> None:
    expected = [(5, 0), (6, 0), (7, 1), (8, 2), (9, 2), (4, 0), (2, 1)]
    found = column_of(RECORD, "controller/f/0", "pick(state, 10, 20 + bw, bw)")
    assert found.tolist() == [10 if state == 0 else 20 + bw if state == 1 else bw for bw, state in expected]
    first = column_of(RECORD, "controller/f/0", "bw * began(state, 0)")
    assert np.nan_to_num(first).tolist() == [5, 0, 0, 0, 0, 4, 0]
    assert column_of(RECORD, "controller/f/0", "coalesce(mode, bw)", optional=True).tolist() == [5, 6, 7, 8, 9, 4, 2]


def test_a_column_that_the_trace_lacks_is_an_error_unless_it_is_optional() -> None:
    with pytest.raises(UserError, match='column: expected one of state, bw of the trace controller/f/0, got "mode"'):
        column_of(RECORD, "controller/f/0", "2 * mode")


def test_a_time_may_be_a_measure_of_the_run(outcome: Outcome) -> None:
    window = outcome.records[SMALL][0].series["cwnd/f/0"]
    half = window["t"] <= 0.5
    assert outcome.values(SMALL, "early")[0] == pytest.approx(window["packets"][half].mean())
    assert outcome.values(SMALL, "more")[0] == outcome.values(SMALL, "late")[0] / outcome.values(SMALL, "early")[0] - 1


def test_outside_counts_measures_that_miss_their_target_and_none_without_a_value(outcome: Outcome) -> None:
    # The window is between 1 and 1000 packets: at 1 the early one misses, at 1000 the late one.
    assert [outcome.values(Case(f"run_{limit}", "tail"), "missed")[0] for limit in (1, 1000)] == [1, 1]
    assert np.isnan(outcome.values(SMALL, "none")[0])
    assert [str(result.verdict) for result in outcome.results] == ["not reproduced"] * 2


def test_a_table_marks_values_that_meet_and_miss_their_target(outcome: Outcome) -> None:
    table = table_of(outcome, outcome.grid("main"))
    assert table is not None
    places = [head.text for head in table.heads]
    early, late = (table.rows[0].cells[places.index(name)] for name in ("early", "late"))
    assert (early.verdict, late.verdict) == (str(Verdict.NOT_REPRODUCED), str(Verdict.REPRODUCED))


def test_points_are_values_that_vary_together(folder: Path) -> None:
    experiment = load_experiment(folder)
    assert list(experiment.scenarios) == ["run_1", "run_1000"]
    assert [experiment.scenario(Case(name, "tail")).get_path("links.0.delay") for name in experiment.scenarios] == [
        "5 ms",
        "10 ms",
    ]
    with pytest.raises(UserError, match="expected lists of equal length, one for each value"):
        changed(folder, '["5", "10"]', '["5"]')


def test_a_claim_with_for_is_a_claim_for_each_value(outcome: Outcome) -> None:
    assert [each.text for each in outcome.experiment.claims] == ["The window is near 1", "The window is near 1000"]


def test_each_step_sees_the_run_before_it(folder: Path) -> None:
    outcome = reproduce(changed(folder, "[queues]\n", STEPS))
    assert outcome.values(SMALL, "length").tolist() == [4]  # 1 s, then twice as long, twice
    assert outcome.effort is not None
    assert outcome.effort.runs == 6


def test_runs_without_traces_have_the_same_measures_and_are_not_cached(folder: Path, tmp_path: Path) -> None:
    other = Store(tmp_path / "other")
    whole = reproduce(load_experiment(folder), options=RunOptions(cache=other))
    assert len(other) == 2
    experiment = changed(folder, "replications = 1", "replications = 1\nkeep_traces = false")
    cache = Store(tmp_path / "cache")
    outcome = reproduce(experiment, options=RunOptions(cache=cache))
    assert not outcome.records[SMALL][0].series
    assert len(cache) == 0
    for name in ("early", "late", "more", "missed"):
        assert outcome.values(SMALL, name).tolist() == whole.values(SMALL, name).tolist()


def test_a_shard_of_runs_that_depend_on_others_is_refused(folder: Path, tmp_path: Path) -> None:
    experiment = changed(folder, "[queues]\n", STEPS)
    with pytest.raises(UserError, match="shard: expected runs that the cache keeps, got steps"):
        run_shard(experiment, None, None, RunOptions(cache=Store(tmp_path)), "1/2")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"{length / 2}"]', '"{late}"]', "measures.early: set: expected {length}"),
        ('formula = "late / early"', 'formula = "more / early"', "measures.growth.formula: expected one of length,"),
        ('["early", "late", "none"]', '["growth"]', "measures.missed.outside: expected one of early, late, none, got"),
        ('early = { column = "window"', 'early = { column = "cwnd"', "measures.early.column: expected one of window"),
        ('holds = "< {limit}"', 'holds = "~ {limit}"', "measures.early: expected "),
    ],
)
def test_a_name_that_a_measure_cannot_have_is_refused(folder: Path, old: str, new: str, says: str) -> None:
    with pytest.raises(UserError) as error:
        changed(folder, old, new)
    assert says in str(error.value)
