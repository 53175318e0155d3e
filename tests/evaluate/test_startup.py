"""The evaluation of start-ups, and what their documents promise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sojourn import _sojourn
from sojourn.cli import main
from sojourn.experiments import load_experiment, reproduce
from sojourn.experiments.evaluation import Passed, clause_results, with_subject
from sojourn.experiments.model import Case, Experiment
from sojourn.experiments.outcome import Outcome
from tests.support.source_tree import ROOT

pytestmark = pytest.mark.no_libraries

STARTUP = ROOT / "studies" / "startup"


@pytest.fixture(scope="module")
def startup() -> Experiment:
    """The evaluation."""
    return load_experiment(STARTUP)


def evaluated(experiment: Experiment, subject: dict[str, object], *names: str) -> Outcome:
    """Some clauses for a subject, with one seed."""
    return reproduce(with_subject(experiment, "subject", subject), names, 1)


def verdicts(outcome: Outcome) -> dict[str, Passed]:
    """The verdict on each clause that was run."""
    return {each.name: each.passed for each in clause_results(outcome) if each.results}


def test_every_start_up_meets_the_subject(startup):
    flows = startup.scenario(Case("together_100", "subject")).to_dict()["flows"]
    met = {each["tcp"]["start_up"] for each in flows if isinstance(each["tcp"]["start_up"], str)}
    met |= {each["tcp"]["start_up"]["name"] for each in flows if isinstance(each["tcp"]["start_up"], dict)}
    assert met == {each["name"] for each in json.loads(_sojourn.registry())["start-up"]}


def test_classic_slow_start_passes_every_clause(startup):
    found = verdicts(evaluated(startup, {"name": "classic"}))
    assert set(found.values()) == {Passed.PASSES}
    assert set(found) == set(startup.clauses)


def test_hystartpp_loses_fewer_packets_as_rfc_9406_says(startup):
    outcome = evaluated(startup, {"name": "hystart++"}, "long_flows")
    assert all(outcome.mean(Case(f"long_{buffer}", "subject"), "lost_more") < 0 for buffer in (100, 400))


def test_jitter_ends_hystart_early_and_not_search(startup):
    """draft-chung-ccwg-search, abstract."""
    hystart, search = (
        reproduce(with_subject(startup, name, {"name": name}), "jitter", 5) for name in ("hystart", "search")
    )
    case = Case("jitter", "subject")
    assert search.mean(case, "completion") < hystart.mean(case, "completion")
    assert verdicts(search) == {"jitter": Passed.PASSES}


def test_careful_resume_halves_the_time_over_a_satellite(startup):
    """rfc9959#1.4 measured 62 % less."""
    saved = {"name": "careful-resume", "saved_cwnd": 2500.0, "saved_rtt": "600 ms"}
    outcome = evaluated(startup, saved, "satellite")
    assert outcome.mean(Case("satellite", "subject"), "time_kept") < 0.5


def test_a_window_saved_on_a_wider_path_harms_others(startup):
    """The planted fault: four times the window of the path."""
    stale = {"name": "careful-resume", "saved_cwnd": 832.0, "saved_rtt": "50 ms"}
    found = verdicts(evaluated(startup, stale, "harm", "narrower", "jitter", "satellite"))
    fine = dict.fromkeys(("jitter", "satellite"), Passed.PASSES)
    assert found == fine | dict.fromkeys(("harm", "narrower"), Passed.FAILS)


def test_rapid_start_pays_for_its_speed_in_a_shallow_buffer(startup):
    found = verdicts(evaluated(startup, {"name": "rapid-start"}, "short_flows", "satellite"))
    assert found == {"short_flows": Passed.FAILS, "satellite": Passed.PASSES}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], 'expected a start-up: --start-up, got "none"'),
        (["--cc", "cubic"], 'expected a start-up: --start-up, got "--cc"'),
        (["--start-up", "serch"], "did you mean"),
    ],
)
def test_a_wrong_subject_is_one_line(options: list[str], said: str, tmp_path: Path, capsys):
    assert main(["evaluate", str(STARTUP), *options, "--out", str(tmp_path)]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert len(shown.strip().splitlines()) == 1
