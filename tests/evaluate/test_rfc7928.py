"""The evaluation of queues by RFC 7928: its clauses, and planted faults."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sojourn import _sojourn
from sojourn.cli import main
from sojourn.core.congestion import LEVELS, flows_for
from sojourn.experiments import RunOptions, load_experiment, reproduce
from sojourn.experiments.evaluation import Passed, clause_results, with_subject
from sojourn.experiments.model import Case, Experiment
from sojourn.experiments.own_queues import NOT_HERE
from sojourn.experiments.readings import Reading, synchronization
from tests.support.source_tree import ROOT

sys.path.insert(0, str(Path(__file__).parent))
import planted_queues

pytestmark = pytest.mark.no_libraries

RFC7928 = ROOT / "studies" / "rfc7928"
SUMMARY = {
    "4.5": "must",
    "4.6": "must",
    "5.1.1": "must",
    "5.2": "must",
    "5.3": "must",
    "5.4": "may",
    "6.2": "must",
    "7.2": "must",
    "8.2.5": "must",
    "8.2.6": "must",
    "8.3": "should",
    "9.1": "should",
    "9.2": "may",
    "10.2": "may",
    "11.2": "should",
    "12.2": "should",
}
"""The rows of the summary in rfc7928#13, with their levels."""


@pytest.fixture(scope="module")
def rfc7928() -> Experiment:
    """The evaluation."""
    return load_experiment(RFC7928)


def verdicts(experiment: Experiment, *names: str, laws: dict[str, type] | None = None) -> dict[str, Passed]:
    """The verdict on some clauses, with one seed."""
    outcome = reproduce(experiment, names, 1, RunOptions(laws=laws))
    return {each.name: each.passed for each in clause_results(outcome) if each.name in names}


def planted(experiment: Experiment, table: dict[str, Any]) -> Experiment:
    """The evaluation of a queue of classes, which have limits of their own."""
    scenarios = {name: replace(each, queue={}) for name, each in experiment.scenarios.items()}
    return with_subject(replace(experiment, scenarios=scenarios), "planted", table)


def test_each_row_of_the_summary_has_a_clause_of_its_level(rfc7928):
    found = {each.where: each.level for each in rfc7928.clauses.values()}
    assert {where: found.get(where) for where in SUMMARY} == SUMMARY


def test_the_loads_are_those_of_the_rfc(rfc7928):
    loads = [rfc7928.scenario(Case(f"level_{name}", "subject")).get_path("flows.tcp.count") for name in LEVELS]
    assert loads == [flows_for(name, 10e6, 0.1, 1500) for name in LEVELS]
    growing = rfc7928.scenario(Case("growing_load", "subject"))
    joined = np.cumsum([growing.get_path(f"flows.{name}.count") for name in ("first", "second", "third")])
    assert joined.tolist() == loads


def test_the_cost_of_every_discipline_is_counted():
    names = {each["name"] for each in json.loads(_sojourn.registry())["aqm"]} - set(NOT_HERE)
    rows = list(csv.DictReader((RFC7928 / "instructions.csv").read_text().splitlines()))
    assert {row["name"] for row in rows} == names
    assert all(float(row["value"]) > 100 for row in rows)


def test_synchronization_is_the_share_of_flows_that_one_event_reaches():
    reading = Reading("s", "flow", "synchronization", than=4, span=0.1)
    times, flows = np.array([1.0, 1.05, 1.09, 2.0, 2.02]), np.array([0.0, 1.0, 1.0, 2.0, 2.0])
    assert synchronization(times, flows, reading) == (2 / 4 + 1 / 4) / 2
    assert synchronization(np.array([]), np.array([]), reading) == 0.0


def test_each_number_of_the_subject_is_varied_within_its_range(rfc7928):
    changed = with_subject(rfc7928, "pie", {"aqm": "pie"})
    grid = changed.grids["parameters"]
    assert grid.settings == ["", "alpha_times_0_5", "alpha_times_2", "beta_times_0_5", "beta_times_2"]
    cases = grid.cases()
    assert Case("parameters", "subject", "beta_times_2") in cases
    assert Case("parameters", "droptail", "beta_times_2") not in cases
    assert changed.scenario(cases[2]).get_path("links.bottleneck.queue.alpha") in (0.0625, 0.25)
    halves = with_subject(rfc7928, "codel", {"aqm": "codel", "target": "9 ms"}).settings
    assert halves["target_times_0_5"].table == {"links.bottleneck.queue.target": "4.5 ms"}
    assert not with_subject(rfc7928, "droptail", {"aqm": "droptail"}).settings


def test_a_question_that_the_subject_cannot_answer_is_not_decidable(rfc7928):
    outcome = reproduce(with_subject(rfc7928, "droptail", {"aqm": "droptail"}), ("parameters", "margins"), 1)
    found = {each.name: each for each in clause_results(outcome)}
    assert found["parameters"].passed is Passed.NOT_DECIDABLE
    assert found["parameters"].why == "droptail has no numbers to vary."
    assert found["margins"].passed is Passed.NOT_DECIDABLE
    assert "no equilibrium" in found["margins"].why


def test_a_situation_that_the_subject_cannot_run_is_named(tmp_path, capsys):
    asked = ["--no-cache", "--seeds", "1", "--out", str(tmp_path)]
    assert main(["evaluate", str(RFC7928), "unresponsive", "margins", "--aqm", "fuzzy-rtt", *asked]) == 0
    said = capsys.readouterr()
    assert "not run: fuzzy-rtt in udp: expected TCP flows" in said.err
    found = {each["name"]: each for each in json.loads((tmp_path / "evaluation.json").read_text())["clauses"]}
    assert found["unresponsive"]["verdict"] == "not run"
    assert "no fluid form" in found["margins"]["reason"]
    assert "not_run" not in found["margins"], "the reason belongs to another clause"


def test_a_known_margin_decides_the_clause(rfc7928):
    assert verdicts(with_subject(rfc7928, "cpc", {"aqm": "cpc"}), "margins") == {"margins": Passed.PASSES}
    assert verdicts(with_subject(rfc7928, "red", {"aqm": "red"}), "margins") == {"margins": Passed.FAILS}


def test_a_queue_that_drops_ecn_fails_the_clause_on_ecn_alone(rfc7928):
    subject = planted(rfc7928, planted_queues.DROPS_ECN)
    names = ("ecn", "same_window", "congestion_levels", "packet_sizes")
    assert verdicts(subject, *names) == dict.fromkeys(names, Passed.PASSES) | {"ecn": Passed.FAILS}


def test_a_queue_that_favors_short_round_trips_fails_their_fairness(rfc7928):
    subject = planted(rfc7928, planted_queues.FAVORS_NEAR)
    assert verdicts(subject, "round_trips") == {"round_trips": Passed.FAILS}
    assert verdicts(rfc7928, "round_trips") == {"round_trips": Passed.PASSES}


@pytest.mark.parametrize(
    ("law", "broken"),
    [
        ("Standing", {"same_window", "congestion_levels"}),
        ("Eager", {"same_window", "congestion_levels", "frames"}),
    ],
)
def test_a_faulty_law_in_python_fails_what_it_breaks(rfc7928, law, broken):
    subject = with_subject(rfc7928, law, {"aqm": "external", "law": law, "interval": "10 ms"}, [law])
    names = ("same_window", "congestion_levels", "frames", "ecn")
    found = verdicts(subject, *names, laws={law: getattr(planted_queues, law)})
    assert {name for name, passed in found.items() if passed is Passed.FAILS} == broken


def test_a_law_in_python_is_a_subject(tmp_path, capsys):
    path = Path(planted_queues.__file__)
    asked = ["--law", f"{path}:Standing", "--no-cache", "--seeds", "1", "--out", str(tmp_path)]
    assert main(["evaluate", str(RFC7928), "same_window", *asked]) == 0
    assert "Queue disciplines by RFC 7928: Standing" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], 'expected a queue: --aqm or --law, got "none"'),
        (["--cc", "reno"], 'expected a queue: --aqm or --law, got "--cc"'),
        (["--aqm", "codle"], "expected one of"),
        (["--aqm", "linux"], "expected a queue of the simulator"),
    ],
)
def test_a_wrong_subject_is_one_line(options, said, tmp_path, capsys):
    assert main(["evaluate", str(RFC7928), *options, "--out", str(tmp_path)]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert len(shown.strip().splitlines()) == 1
