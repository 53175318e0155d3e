"""The evaluation of controllers by the common TCP evaluation suite."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from sojourn.core import field_paths
from sojourn.experiments import RunOptions, load_experiment, reproduce
from sojourn.experiments.evaluation import Passed, clause_results, with_subject
from sojourn.experiments.model import Case, Experiment
from sojourn.experiments.readings import Reading, accumulates, rise
from tests.support.source_tree import ROOT

sys.path.insert(0, str(Path(__file__).parent))
import planted

pytestmark = pytest.mark.no_libraries

SECTIONS = {"2.2", *(f"4.4.{i}" for i in range(1, 7)), "5.1", "5.2", "5.3", "6.1", "6.2.2.1", "6.2.2.2", "6.3"}
"""The sections of draft-irtf-iccrg-tcpeval with tests."""


@pytest.fixture(scope="module")
def tcpeval() -> Experiment:
    """The evaluation."""
    return load_experiment(ROOT / "studies" / "tcpeval")


def verdicts(experiment: Experiment, *names: str, laws: dict[str, type] | None = None) -> dict[str, Passed]:
    """The verdict on some clauses or requirements, with one seed."""
    outcome = reproduce(experiment, names, 1, RunOptions(quick=True, laws=laws))
    return {each.name: each.passed for each in clause_results(outcome) if each.results}


def seconds(text: str) -> float:
    """A time such as `60 ms` in seconds."""
    number, unit = text.split()
    return float(number) * {"ms": 1e-3, "s": 1.0}[unit]


def test_each_test_of_the_draft_has_a_clause(tcpeval):
    assert {each.where for each in tcpeval.clauses.values()} == SECTIONS


@pytest.mark.parametrize(
    ("name", "rate", "share"),
    [
        ("data_center", 1e9, 1.0),
        ("access_link", 1e8, 1.0),
        ("trans_oceanic", 1e9, 1.0),
        ("dial_up", 64e3, 1.0),
        ("satellite", 40e6, 1.0),
        ("wireless_lan", 6e6, 2 / 3),
    ],
)
def test_sessions_offer_the_loads_of_the_draft(tcpeval, name, rate, share):
    for load in (60, 85, 110):
        scenario = tcpeval.scenario(Case(f"{name}_{load}", "standard"))
        every = seconds(scenario.get_path("flows.sessions.traffic.every"))
        assert 9 * 8 * 50e3 / every == pytest.approx(share * load / 100 * rate, rel=1e-3)


def test_the_nine_paths_have_the_round_trips_of_the_draft(tcpeval):
    scenario = tcpeval.scenario(Case("access_link_60", "standard"))
    flow = next(each for each in scenario.to_dict()["flows"] if each["name"] == "sessions")
    ends = [[1e3 * seconds(each) for each in field_paths.below(flow, end, "delay")] for end in ("access", "egress")]
    round_trips = [round(2 * (a + b)) for a, b in zip(*ends, strict=True)]
    assert round_trips == [4, 74, 150, 28, 98, 174, 54, 124, 200]


def test_accumulates_is_the_time_until_a_sum_of_rates_is_reached():
    times, rates = np.array([10.0, 10.5, 11.0]), np.array([4.0, 8.0, 8.0])
    assert accumulates(times, rates, Reading("s", "bps", "accumulates", than=6.0)) == 1.0
    assert np.isnan(accumulates(times, rates, Reading("s", "bps", "accumulates", than=11.0)))


def test_rise_is_the_difference_from_the_sample_before():
    assert rise(np.array([3.0, 5.0, 4.0])).tolist() == [0.0, 2.0, -1.0]


def test_cubic_takes_released_bandwidth_sooner_than_standard_tcp(tcpeval):
    assert verdicts(tcpeval, "release") == {"release": Passed.PASSES}


def test_a_fixed_window_fails_the_clauses_on_harm_to_others(tcpeval):
    subject = with_subject(tcpeval, "Fixed", {"cc": "external", "controller": "Fixed"}, ["Fixed"])
    found = verdicts(subject, "arrival", "impact", "release", laws={"Fixed": planted.Fixed})
    assert found == {"release": Passed.PASSES, "arrival": Passed.FAILS, "impact": Passed.FAILS}


def test_standard_tcp_in_python_passes(tcpeval):
    subject = with_subject(tcpeval, "Plain", {"cc": "external", "controller": "Plain"}, ["Plain"])
    found = verdicts(subject, "release", "arrival", laws={"Plain": planted.Plain})
    assert found == {"release": Passed.PASSES, "arrival": Passed.PASSES}
