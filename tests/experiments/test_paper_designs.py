"""The use of designs, fluid runs and series in a paper's claims."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sojourn.core.errors import UserError
from sojourn.core.record import Record
from sojourn.experiments import load_experiment, reproduce
from sojourn.experiments.expression import evaluate
from sojourn.experiments.figures import draw_figures
from sojourn.experiments.fluid_runs import at_end, delay_margin, with_queue
from sojourn.experiments.functions import theory_functions
from sojourn.experiments.model import Experiment
from sojourn.experiments.readings import TAKES
from sojourn.experiments.run_measures import reading_of
from sojourn.experiments.schema.experiment import ExperimentFile, Measure
from sojourn.experiments.schema.toml import check_table
from sojourn.experiments.verdict import Verdict
from tests.support.source_tree import ROOT

CPC = ROOT / "papers" / "cpc-2015"
POINT = {"flows": 60, "rate": 3750, "rtt": 0.246}


def paper_with(**tables: Any) -> Experiment:
    """The paper with other designs or fluid runs."""
    experiment = load_experiment(CPC)
    head = {"id": "x", "title": "x", "authors": [], "venue": "x", "year": 2015}
    return replace(experiment, file=check_table(head | tables, ExperimentFile, "x"))


def _none(_: tuple[str, ...]) -> float:
    raise AssertionError


@pytest.mark.parametrize(
    ("wrong", "seen"),
    [
        ({"inner": "blind"}, "inner_gain"),
        ({"inner_gain": 2.91e-5}, "inner_gain"),
        ({"outer_gain": 0.2562}, "outer_gain"),
        ({"integral_time": "1000 s"}, "integral_time"),
        ({"derivative_time": "1 us"}, "derivative_time"),
    ],
)
def test_the_gains_of_the_code_that_manages_the_queue_show_a_wrong_controller(wrong: dict[str, Any], seen: str) -> None:
    measured = load_experiment(CPC).extra.functions["as_run"].__globals__["measured"]
    right, found = measured({}), measured(wrong)
    assert abs(found[seen] / right[seen] - 1) > 0.5
    # Without the inner loop's feedback nothing can be told of the outer one.
    others = [] if "inner" in wrong else [name for name in right if name != seen]
    assert [found[name] for name in others] == pytest.approx([right[name] for name in others], rel=0.005)


def test_the_analytic_claims_of_the_paper_are_judged_without_a_run() -> None:
    outcome = reproduce(load_experiment(CPC), "analysis", 1)
    verdicts = {result.claim.id: result.verdict for result in outcome.results}
    for claim in ("A1", "A2", "A3b", "A6", "A7", "A8", "F1"):
        assert verdicts[claim] is Verdict.REPRODUCED, claim
    assert verdicts["A5"] is Verdict.BY_FIT  # RED's thresholds were chosen for its crossover
    assert verdicts["A3"] is Verdict.NOT_REPRODUCED
    assert not outcome.records
    assert [drawn.id for drawn in draw_figures(outcome)] == ["fig1", "fig2a", "fig2b"]


def test_a_claim_may_ask_for_every_number_of_a_design_and_no_other() -> None:
    known = theory_functions(paper_with(designs={"d": {"method": "cpc", **POINT}}))
    for what in ("inner_gain", "crossover", "phase_margin", "rise", "overshoot", "settling", "end", "rightmost_pole"):
        assert math.isfinite(float(evaluate(f'design("d", "{what}")', _none, known)))
    with_delay = evaluate('design("d", "phase_margin", "delay")', _none, known)
    assert float(with_delay) < float(evaluate('design("d", "phase_margin")', _none, known))
    for text in ('design("x", "rise")', 'design("d", "taste")', 'fluid("x", "queue")'):
        with pytest.raises(UserError, match="expected one of"):
            evaluate(text, _none, known)


@pytest.mark.parametrize(
    "table", [{"method": "guess", **POINT}, {"method": "cpc", "flows": 0, "rate": 1, "rtt": 1}, {"method": "cpc"}]
)
def test_a_design_that_cannot_be_is_refused(table: dict[str, Any]) -> None:
    with pytest.raises(UserError):
        theory_functions(paper_with(designs={"d": table}))["design"]("d", "rise")


def test_a_fluid_oscillates_where_its_delay_margin_is_negative_and_rests_where_it_is_not() -> None:
    experiment = load_experiment(CPC)
    for queue, stable in (("map_oo", True), ("map_vq", False), ("map_qv", True)):
        fluid = with_queue(experiment.fluids["dropping"], experiment.queue_table(queue))
        assert (delay_margin(fluid) > 0) is stable, queue
        assert (at_end(fluid)["queue_sd"] < 1.0) is stable, queue


def test_a_fluid_run_is_closed_by_the_queues_own_code() -> None:
    table = {
        "queue": {"aqm": "cpc", "flows": 3, "rtt": "60 ms", "target": 20},
        "plant": {"classes": [{"flows": 3, "delay": 0.06}], "capacity": 166.6667, "packet": 1500},
        "run": {"duration": 40},
    }
    known = theory_functions(paper_with(fluids={"f": table}))
    assert float(evaluate('fluid("f", "queue")', _none, known)) == pytest.approx(20, abs=0.1)
    with pytest.raises(UserError, match="expected one of queue"):
        evaluate('fluid("f", "taste")', _none, known)


def test_a_measure_of_series_pools_what_fits_and_leaves_the_warm_up_out() -> None:
    t = np.arange(40.0)
    series = {
        "throughput/a/0": {"t": t, "bps": t},
        "throughput/a/1": {"t": t, "bps": 2 * t},
        "rtt/a/0": {"t": t, "x": t},
    }
    record = Record({"warmup_s": 20.0}, series)

    def value(**table: Any) -> float:
        measure = check_table({"series": "throughput/a/*", "column": "bps", **table}, Measure, "m")
        return reading_of(measure).of(record)

    assert value(take="max") == 78
    assert value(take="mean", bin=10) == pytest.approx(1.5 * 29.5)
    assert value(take="box-width", bin=10) == pytest.approx(np.ptp(np.quantile([24.5, 34.5, 49, 69], [0.25, 0.75])))
    assert math.isnan(value(series="throughput/b/*", take="sd"))
    assert "taste" not in TAKES
    with pytest.raises(UserError, match="column and take"):
        value()
