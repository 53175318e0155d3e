"""The study of the BBR draft's test cases: what holds for BBRv3 on one path, and that a condition can fail."""

from __future__ import annotations

import json
from pathlib import Path as File

import pytest

from sojourn import study_bbr
from sojourn.cli import main
from sojourn.study_bbr import CASES, PATHS, Judged, Study, judge
from sojourn.study_bbr.case import Case, Condition, uses

OPEN = {"policer"}
"""Cases that do not hold for BBRv3 on the first path."""


def test_the_draft_has_22_cases() -> None:
    assert len({case.id for case in CASES}) == len(CASES) == 22


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_bbr3_does_what_the_draft_says(case: Case) -> None:
    found = judge(case, case.path or PATHS[0], "bbr3")
    failed = [(condition.says, seen) for condition, seen in found.seen if seen is not None and not seen[0]]
    assert bool(failed) == (case.id in OPEN), failed


def test_bbr1_stays_in_startup_where_version_3_leaves_it() -> None:
    case = next(case for case in CASES if case.id == "startup-loss")
    assert not judge(case, PATHS[0], "bbr").holds


def test_what_a_controller_does_not_have_is_not_judged() -> None:
    case = next(case for case in CASES if case.id == "startup-plateau")
    found = judge(case, PATHS[0], "cubic")
    assert [seen is None for _, seen in found.seen] == [True, True, True, False]


def test_a_verdict_counts_paths() -> None:
    case = CASES[0]
    condition: Condition = uses(0.5, 1.0)
    judged = [
        Judged(case, path, "bbr3", [(condition, (good, ""))]) for path, good in zip(PATHS, [1, 1, 0, 1], strict=True)
    ]
    study = Study(judged, quick=False)
    assert (study.verdict(case, "bbr3"), study.score(case, "bbr3")) == ("holds in part", "3 of 4")


def test_the_page_and_the_numbers_are_written(tmp_path: File, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_bbr, "CASES", CASES[:2])
    assert main(["study", "bbr", "--quick", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "bbr-quick.html").read_text()
    assert "A quick look" in page
    assert CASES[0].title in page
    data = json.loads((tmp_path / "bbr-quick.json").read_text())
    assert len(data["judged"]) == 2 * len(study_bbr.CONTROLLERS)


def test_seeds_are_refused(tmp_path: File, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "bbr", "--seeds", "3", "--out", str(tmp_path)]) == 2
    assert "study bbr: --seeds: expected no option, since nothing is random, got 3" in capsys.readouterr().err
