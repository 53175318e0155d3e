"""The study of the BBR draft's test cases: verdicts on the first path, and open cases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sojourn.cli import main
from sojourn.experiments import Outcome, RunOptions, find_experiment, reproduce
from sojourn.experiments.model import Case
from sojourn.experiments.verdict import Verdict

OPEN = {"policer"}
"""Cases that do not hold for BBRv3 on the first path."""


@pytest.fixture(scope="module")
def quick() -> Outcome:
    return reproduce(find_experiment("bbr"), options=RunOptions(quick=True))


def test_the_draft_has_22_cases_and_each_controller_a_claim_on_each() -> None:
    study = find_experiment("bbr")
    assert len(study.grids) == 22
    assert {each.id for each in study.claims} == {
        f"{grid.replace('_', '-')}-{cc}" for grid in study.grids for cc in study.queues
    }


def test_bbr3_does_what_the_draft_says_except_at_a_policer(quick: Outcome) -> None:
    missed = {
        result.claim.id.removesuffix("-bbr3")
        for result in quick.results
        if result.claim.id.endswith("-bbr3") and result.verdict is not Verdict.REPRODUCED
    }
    assert missed == OPEN


def test_bbr1_stays_in_startup_where_version_3_leaves_it(quick: Outcome) -> None:
    ends = [quick.values(Case("startup_loss_10_40", cc), "startup_loss")[0] for cc in ("bbr3", "bbr")]
    assert 0 < ends[0] <= 3 < ends[1]


def test_a_condition_on_a_state_that_a_controller_lacks_is_not_judged(quick: Outcome) -> None:
    for cc, judged in (("bbr3", [True] * 3), ("bbr", [True, False, True]), ("cubic", [False] * 3)):
        case = Case("startup_plateau_10_40", cc)
        conditions = ("startup_bandwidth", "startup_count", "startup_next_drain")
        assert [bool(np.isfinite(quick.values(case, name)[0])) for name in conditions] == judged
        assert quick.values(case, "missed")[0] == 0


def test_a_loss_happens_in_the_state_that_its_case_names(quick: Outcome) -> None:
    # The case drops packets for a tenth of a round trip of 40 ms, 1.2 round trips after Up begins.
    case = Case("up_loss_10_40", "bbr3")
    up, lost = (float(quick.values(case, name)[0]) for name in ("up", "first_loss"))
    assert 1.2 <= (lost - up) / 0.04 <= 1.3 + 0.05


def test_a_case_runs_alone_and_its_report_says_that_it_is_a_quick_look(tmp_path: Path) -> None:
    assert main(["study", "bbr", "startup_plateau", "--quick", "--no-cache", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "report-quick.html").read_text()
    assert "A quick look" in page
    assert "Exit from Startup: the bandwidth stops growing" in page
