"""Evaluations: each clause is a file, and planted faults are found."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from sojourn.cli import main
from sojourn.core.errors import UserError
from sojourn.experiments import load_experiment
from sojourn.experiments.evaluation import LEVELS, changes, evaluations
from sojourn.experiments.readings import Reading, longest_below
from tests.support.source_tree import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import clauses_table

pytestmark = pytest.mark.no_libraries

RFC9743 = ROOT / "studies" / "rfc9743"
PAGE = ROOT / "docs" / "evaluate.md"
PLANTED = Path(__file__).with_name("planted.py")
SECTIONS = [
    "4",
    *(f"5.1.{i}" for i in range(1, 6)),
    "5.2",
    *(f"5.2.{i}" for i in range(1, 4)),
    "5.3.1",
    "5.3.2",
    *(f"6.{i}" for i in range(1, 5)),
    *(f"7.{i}" for i in range(1, 12)),
]
"""The sections of RFC 9743 that have criteria."""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """An evaluation of three clauses with short runs."""
    folder = tmp_path / "small"
    (folder / "clauses").mkdir(parents=True)
    shutil.copytree(RFC9743 / "scenarios", folder / "scenarios")
    text = (RFC9743 / "experiment.toml").read_text().replace('id = "rfc9743"', 'id = "small"')
    (folder / "experiment.toml").write_text(text.replace("replications = 5", "replications = 2"))
    for name in ("controlled", "bufferbloat", "collapse"):
        shutil.copy(RFC9743 / "clauses" / f"{name}.toml", folder / "clauses")
    return folder


def evaluate(folder: Path, *options: str) -> int:
    """The exit code of an evaluation whose page is beside the folder."""
    return main(["evaluate", str(folder), "--no-cache", "--out", str(folder.parent / "out"), *options])


def verdicts(folder: Path) -> dict[str, str]:
    """The verdict on each clause by name."""
    found = json.loads((folder.parent / "out" / "evaluation.json").read_text())
    return {each["name"]: each["verdict"] for each in found["clauses"]}


def test_each_section_of_rfc_9743_has_a_clause_that_is_run_or_says_why_not():
    clauses = load_experiment(RFC9743).clauses
    assert {each.where for each in clauses.values()} == {*SECTIONS, "6"}
    for name, clause in clauses.items():
        assert clause.level in LEVELS
        assert bool(clause.requires) != bool(clause.undecidable), name
        assert all(each.reason for each in clause.requires), f"{name}: a limit without a reason"


def test_the_table_of_clauses_is_generated():
    text = PAGE.read_text(encoding="utf-8")
    assert clauses_table.with_tables(text) == text, "python scripts/clauses_table.py"
    assert set(re.findall(r"<!-- clauses: (\w+) -->", text)) == {each.id for each in evaluations()}


def test_verdicts_follow_from_the_requirements(small, capsys):
    assert evaluate(small, "--cc", "reno") == 0
    assert verdicts(small) == {"controlled": "not decidable here", "collapse": "passes", "bufferbloat": "fails"}
    assert "fails: 1, not decidable here: 1, passes: 1" in capsys.readouterr().out
    summary = (small.parent / "out" / "tables" / "clauses.tex").read_text()
    assert r"5.1.2 & Protection against bufferbloat & should & fails \\" in summary
    page = (small.parent / "out" / "report.html").read_text()
    assert "Congestion control by RFC 9743: reno" in page
    assert "A queue of one BDP lets a controller" in page
    assert "src=" not in page.replace('src="data:', "").replace("src=data:", ""), "it needs no other file"


def test_only_the_named_clauses_are_in_the_files_of_an_evaluation(small):
    assert evaluate(small, "collapse", "--cc", "reno", "--quick") == 0
    assert verdicts(small) == {"collapse": "passes"}


def test_require_demands_a_level_and_those_above(small, capsys):
    assert evaluate(small, "--cc", "reno", "--require", "must") == 0
    assert evaluate(small, "--cc", "reno", "--require", "should") == 1
    assert "clauses that do not pass: §5.1.2 bufferbloat (fails)" in capsys.readouterr().err


def test_a_failing_run_makes_its_clause_not_run_with_the_reason_and_the_others_are_judged(small, capsys):
    shutil.copy(RFC9743 / "clauses" / "feedback_loss.toml", small / "clauses")
    chosen = ["bufferbloat", "feedback_loss", "--controller", f"{PLANTED}:BreaksOnTimeout", "--quick"]
    assert evaluate(small, *chosen) == 0
    assert verdicts(small)["feedback_loss"] == "not run"
    assert verdicts(small)["bufferbloat"] in ("passes", "fails", "undecided")
    assert "not run: 1" in capsys.readouterr().out
    entries = json.loads((small.parent / "out" / "evaluation.json").read_text())["clauses"]
    assert "no answer to a timeout" in next(each for each in entries if each["name"] == "feedback_loss")["not_run"]
    page = next((small.parent / "out").glob("*.html")).read_text()
    assert "no answer to a timeout" in page
    assert evaluate(small, *chosen, "--require", "must") == 1
    assert "feedback_loss (not run)" in capsys.readouterr().err


def test_a_requirement_that_a_quick_look_leaves_out_does_not_count(small, capsys):
    text = (RFC9743 / "clauses" / "application_limits.toml").read_text()
    quick = text.replace("[measures]", 'quick_scenarios = ["limited"]\n\n[measures]', 1)
    (small / "clauses" / "application_limits.toml").write_text(quick)
    assert evaluate(small, "application_limits", "--cc", "cubic", "--quick") == 0
    assert verdicts(small)["application_limits"] == "passes"
    assert "4 of" not in capsys.readouterr().out


def test_cases_that_cannot_be_run_share_a_note(small, capsys):
    shutil.copy(RFC9743 / "clauses" / "own_fairness.toml", small / "clauses")
    clause = small / "clauses" / "bufferbloat.toml"
    clause.write_text(clause.read_text().replace("set = {", 'set = { "tcp.ecn" = false,'))
    assert evaluate(small, "bufferbloat", "collapse", "--cc", "prague", "--quick") == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if "not run" in line]
    assert len(notes) == 1
    assert notes[0].startswith("note: not run: prague in bloat_1_400, bloat_1_1000, bloat_4_400 and 1 more: tcp.ecn: ")
    assert verdicts(small)["bufferbloat"] == "not run"
    assert verdicts(small)["collapse"] in ("passes", "fails")


def test_a_subject_whose_runs_all_fail_is_an_error_of_one_line(small, capsys):
    assert evaluate(small, "bufferbloat", "--controller", f"{PLANTED}:Breaks", "--quick") == 2
    error = capsys.readouterr().err
    assert "nothing works" in error
    assert "Traceback" not in error


def test_a_transport_of_others_can_be_the_subject(small, capsys):
    pytest.importorskip("sojourn_stacks")
    shutil.copy(RFC9743 / "clauses" / "short_flows.toml", small / "clauses")
    assert evaluate(small, "bufferbloat", "short_flows", "--stack", "quinn", "--quick") == 0
    found = verdicts(small)
    assert found["bufferbloat"] in ("passes", "fails", "undecided")
    assert found["short_flows"] == "not run", "a host has no flows of many connections"
    assert json.loads((small.parent / "out" / "evaluation.json").read_text())["subject"] == "quinn"


def test_a_baseline_tells_what_became_better_or_worse(small, capsys):
    assert evaluate(small, "bufferbloat", "--cc", "reno") == 0
    before = small.parent / "before.json"
    shutil.move(small.parent / "out" / "evaluation.json", before)
    assert evaluate(small, "bufferbloat", "--cc", "ledbat++", "--baseline", str(before)) == 0
    after = json.loads((small.parent / "out" / "evaluation.json").read_text())
    found = changes(json.loads(before.read_text()), after)
    assert found
    assert all(each.better and each.after < each.before for each in found)
    assert all(each.difference.high < 0 for each in found)
    back = changes(after, json.loads(before.read_text()))
    assert [each.better for each in back] == [False] * len(found)
    assert changes(after, after) == []
    with pytest.raises(UserError, match="expected small"):
        changes(after | {"evaluation": "other"}, after)
    assert "better" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "expected a controller: --cc or --controller or --stack, got"),
        (["--aqm", "codel"], "expected a controller: --cc or --controller or --stack, got"),
        (["--cc", "reno,cubic"], "expected one controller, got"),
        (["--cc", "renoo"], 'got "renoo"'),
        (["--cc", "reno", "--baseline", "experiment.toml"], "expected the evaluation.json of an evaluation"),
        (["nothing", "--cc", "reno"], 'clause: expected one of controlled, collapse, bufferbloat, got "nothing"'),
        (["controlled", "--cc", "reno"], "clause: expected one that runs can decide"),
    ],
)
def test_a_wrong_subject_is_one_line(small, options, said, capsys, monkeypatch):
    monkeypatch.chdir(small)
    assert evaluate(small, *options) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1


def test_a_paper_is_not_an_evaluation(capsys):
    assert main(["evaluate", "lehto-2005", "--aqm", "red"]) == 2
    assert "clauses" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("[[requires]]", "[[required]]"), "required: expected one of where, title"),
        (lambda text: text + '\n[[requires]]\nid = "more"\n', "requires[more].text"),
        (lambda text: text.replace('level = "should"', 'level = "shall"'), "level"),
        (lambda text: text.replace('where = "5.1.2"', 'where = "5.1.2"\nundecidable = "no"'), "undecidable"),
    ],
)
def test_a_mistake_in_a_clause_names_its_file(small, change, said, capsys):
    path = small / "clauses" / "bufferbloat.toml"
    path.write_text(change(path.read_text()))
    assert main(["check", str(small)]) == 2
    error = capsys.readouterr().err
    assert f"bufferbloat.toml: {said}" in error or (said in error and "bufferbloat.toml" in error)
    assert len(error.splitlines()) == 1


def test_two_clauses_cannot_define_one_name(small, capsys):
    shutil.copy(small / "clauses" / "bufferbloat.toml", small / "clauses" / "again.toml")
    assert main(["check", str(small)]) == 2
    assert "families: expected names that no other file defines, got" in capsys.readouterr().err


def test_the_clause_of_the_page_can_be_added(small):
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    clause = re.search(r"<!-- file: studies/rfc9743/clauses/(\w+)\.toml -->\n```toml\n(.*?)```", text, re.DOTALL)
    assert clause
    (small / "clauses" / f"{clause[1]}.toml").write_text(clause[2])
    assert evaluate(small, clause[1], "--cc", "cubic", "--seeds", "1") == 0
    assert verdicts(small)[clause[1]] == "passes"


def test_starvation_is_the_longest_time_below_a_level():
    values = np.array([5.0, 0.0, 0.0, 5.0, 0.0, 0.0, 0.0, 5.0])
    reading = Reading(series="s", column="bps", take="longest-below", than=1.0)
    assert longest_below(np.arange(8) * 0.5, values, reading) == 1.5
    assert longest_below(np.arange(8) * 0.5, values + 1.0, reading) == 0.0


FAULTS = {
    "Plain": set(),
    "EverySecond": {"standard", "marks", "misbehaving", "application_limits"},
    "NoTimeouts": {"feedback_loss"},
}
"""The clauses that the planted controllers break, beside those that Reno fails."""


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_fail_the_clauses_that_they_break(name, tmp_path):
    out = str(tmp_path / "out")
    asked = ["--controller", f"{PLANTED}:{name}", "--quick", "--no-cache", "--out", out]
    assert main(["evaluate", str(RFC9743), *asked]) == 0
    found = json.loads((tmp_path / "out" / "evaluation.json").read_text())
    failed = {each["name"] for each in found["clauses"] if each["verdict"] == "fails"}
    assert failed == FAULTS[name] | {"bufferbloat"}


SMALL_FAULTS = {
    "IgnoresMarks": ({"aqm", "marks"}, {"feedback_loss"}),
    "YieldsATenth": ({"several_bottlenecks", "short_and_long", "transients"}, {"latecomers", "own_fairness"}),
    "NeverLeavesSlowStart": ({"collapse", "short_flows", "feedback_loss"}, {"reordering"}),
    "GrowsUnused": ({"application_limits"}, {"collapse"}),
    "RichGetRicher": ({"latecomers", "own_fairness"}, {"varying_delay"}),
    "FavorsShortTrips": ({"own_round_trips"}, {"latecomers", "own_fairness"}),
}
"""Some clauses that other planted controllers break, and some that they do not."""


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL_FAULTS)
def test_a_fault_fails_its_clauses_and_not_their_neighbors(name, tmp_path):
    broken, kept = SMALL_FAULTS[name]
    asked = ["--controller", f"{PLANTED}:{name}", "--quick", "--no-cache", "--out", str(tmp_path / "out")]
    assert main(["evaluate", str(RFC9743), *sorted(broken | kept), *asked]) == 0
    found = json.loads((tmp_path / "out" / "evaluation.json").read_text())
    verdicts = {each["name"]: each["verdict"] for each in found["clauses"] if each["name"] in broken | kept}
    assert verdicts == dict.fromkeys(broken, "fails") | dict.fromkeys(kept, "passes")


@pytest.mark.slow
def test_a_fixed_window_fails_all_that_ask_for_a_reaction(tmp_path):
    names = [
        "collapse",
        "bufferbloat",
        "high_loss",
        "starvation",
        "standard",
        "short_and_long",
        "aqm",
        "circuit_breakers",
    ]
    asked = ["--controller", f"{PLANTED}:Fixed", "--quick", "--no-cache", "--out", str(tmp_path / "out")]
    assert main(["evaluate", str(RFC9743), *names, *asked]) == 0
    found = json.loads((tmp_path / "out" / "evaluation.json").read_text())
    assert {each["name"]: each["verdict"] for each in found["clauses"] if each["name"] in names} == dict.fromkeys(
        sorted(names, key=[each["name"] for each in found["clauses"]].index), "fails"
    )
