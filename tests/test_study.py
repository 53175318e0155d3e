"""The study of L4S: its verdicts are computed from its cells, and its page shows them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from sojourn import study_l4s
from sojourn.cli import main
from sojourn.study_l4s import Cell, Judged, Outcome, Study


def outcome(windows: float = 1.0, wait: float = 1.0, utilization: float = 1.0) -> Outcome:
    return Outcome(windows, windows, wait, utilization)


def judged(**cells: Outcome) -> dict[str, Judged]:
    """The verdicts on a study with one cell for each queue; those not given have equal shares."""
    given = {name.replace("_", "-"): each for name, each in cells.items()}
    usual = {name: outcome() for name in study_l4s.QUEUES} | given
    study = Study({Cell(40, 10, name, "cubic"): each for name, each in usual.items()}, 1, quick=False)
    return {each.claim.id: each for each in study_l4s.judge(study)}


def test_each_claim_fails_where_its_cells_say_so() -> None:
    assert [judged()[claim].verdict for claim in ("windows", "delay", "full", "fq", "base-LED")] == ["holds"] * 5
    assert judged(PIE=outcome(5.0))["single"].verdict == "holds"
    wrong = judged(DualPI2=outcome(3.0, 2.0, 0.9), PIE=outcome(1.0), FQ_CoDel=outcome(0.3), LED=outcome(math.inf))
    assert [wrong[claim].verdict for claim in ("windows", "delay", "full", "single", "fq", "base-LED")] == ["fails"] * 6


def test_a_claim_that_holds_in_half_of_its_cells_holds_in_part() -> None:
    cells = {Cell(rate, 10, name, "cubic"): outcome() for rate in (4, 40) for name in study_l4s.QUEUES}
    cells[Cell(4, 10, "DualPI2", "cubic")] = outcome(9.0)
    found = {each.claim.id: each for each in study_l4s.judge(Study(cells, 1, quick=False))}
    assert (found["windows"].verdict, found["windows"].hits, found["windows"].cells) == ("holds in part", 1, 2)


def test_a_search_that_changes_a_cell_over_dualpi2_or_leaves_prague_more_than_cubic_elsewhere_fails() -> None:
    assert [judged()[f"search-{queue}"].verdict for queue in ("DualPI2", "CoDel", "PIE")] == ["holds"] * 3
    assert judged(CoDel=outcome(5.0))["single-CoDel"].verdict == "holds"
    cells = {f"{queue}{study_l4s.SEARCH}": outcome(2.5) for queue in ("DualPI2", "CoDel", "PIE")}
    wrong = judged(**cells)
    assert [wrong[f"search-{queue}"].verdict for queue in ("DualPI2", "CoDel", "PIE")] == ["fails"] * 3
    assert wrong["windows"].verdict == "holds"


def test_every_cell_can_be_planned() -> None:
    for quick in (True, False):
        for cell in study_l4s.cells_of(quick):
            assert cell.scenario().canonical()


@pytest.mark.slow
def test_a_quick_look_writes_a_page_that_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_l4s, "LONG", 8)
    monkeypatch.setattr(study_l4s, "SKIPPED", 4)
    assert main(["study", "l4s", "--quick", "--out", str(tmp_path), "--no-cache"]) == 0
    assert "1 seeds" not in capsys.readouterr().out
    page = (tmp_path / "l4s" / "l4s-quick.html").read_text()
    assert "A quick look" in page
    assert "Prague next to Reno" in page
    assert "Prague next to CUBIC" in page
    assert study_l4s.ASKED in page
    data = json.loads((tmp_path / "l4s" / "l4s-quick.json").read_text())
    assert data["quick"] is True
    assert len(data["cells"]) == len(list(study_l4s.cells_of(quick=True)))
    assert {each["id"] for each in data["verdicts"]} == {claim.id for claim in study_l4s.CLAIMS}
