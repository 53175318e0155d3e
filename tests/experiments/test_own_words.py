"""The page and the terminal of an own experiment do not speak of a paper."""

import json
import re
import shutil
from pathlib import Path

import pytest

from sojourn.cli import main
from sojourn.cli.output import out
from sojourn.core.stats import interval_reach
from sojourn.experiments.new import new_experiment
from sojourn.experiments.verdict import Verdict
from sojourn.experiments.wording import OWN, PAPER


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a starter of which one claim fails and two seeds leave one open."""
    here = tmp_path_factory.mktemp("ran")
    new_experiment(here / "mine")
    claims = here / "mine" / "claims.toml"
    text = claims.read_text()
    text = text.replace('holds = "< 0.5"', 'holds = "< 0.17"').replace('"< 0.1"', '"> 0.1"')
    claims.write_text(text)
    return here


@pytest.fixture
def said(ran: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    monkeypatch.chdir(ran)
    monkeypatch.setattr(out, "width", 200)
    shutil.rmtree(ran / "results", ignore_errors=True)
    assert main(["reproduce", "mine", "--quick", "--seeds", "2", "--require"]) == 1
    streams = capsys.readouterr()
    return streams.out, streams.err


def page_of(ran: Path) -> str:
    return (ran / "results" / "mine-quick" / "report-quick.html").read_text(encoding="utf-8")


def test_neither_page_nor_index_nor_terminal_calls_it_a_paper(ran: Path, said: tuple[str, str]) -> None:
    index = (ran / "results" / "index.html").read_text(encoding="utf-8")
    assert "<title>Sojourn: Experiments</title>" in index
    for text in (page_of(ran), index, *said):
        lower = text.lower()
        for word in ("paper", "reproduced", "rerun", "not decidable"):
            assert word not in lower, lower[lower.index(word) - 60 : lower.index(word) + 60]


def test_claims_hold_or_do_not_hold(ran: Path, said: tuple[str, str]) -> None:
    assert "claims: holds: 0, does not hold: 1, undecided: 1" in said[0]
    about = json.loads((ran / "results" / "mine-quick" / "about.json").read_text())
    assert about["claims"] == {
        "ours": {
            "holds": 0,
            "holds by a fit": 0,
            "holds in direction": 0,
            "does not hold": 1,
            "undecided": 1,
            "depends on the reading": 0,
        }
    }
    assert ",does not hold," in (ran / "results" / "mine-quick" / "tables" / "claims.csv").read_text()


def test_require_tells_failed_claims_from_undecided_ones(said: tuple[str, str]) -> None:
    assert "claims that do not hold: use; undecided claims: wait (more --seeds narrow their intervals)" in said[1]


def test_the_terminal_shows_the_numbers_of_the_parts_that_do_not_hold(said: tuple[str, str]) -> None:
    line = next(line for line in said[0].splitlines() if "rtt80.codel.wait / rtt80.droptail.wait" in line)
    assert "< 0.17" in line
    assert re.search(r"│ 0\.\d+ (±|\()", line)


def test_undecided_claims_come_with_the_reason_and_a_way_out(ran: Path, said: tuple[str, str]) -> None:
    advice = "1 claim undecided: with 2 seeds, a 95 % interval is the mean ± 9 standard deviations."
    assert advice in said[0]
    assert advice in page_of(ran)


def test_two_values_have_an_interval_of_nine_standard_deviations() -> None:
    # The quantile of Student's distribution with one degree of freedom is tan(0.475 pi) = 12.706.
    assert interval_reach(2) == pytest.approx(12.706 / 2**0.5, rel=1e-4)


def test_a_paper_keeps_its_words() -> None:
    assert PAPER.counts_text([Verdict.REPRODUCED, Verdict.UNDECIDED]) == "1 reproduced, 1 undecided"
    assert OWN.counts_text([Verdict.REPRODUCED, Verdict.UNDECIDED]) == "holds: 1, undecided: 1"
    assert "A claim is reproduced if all its parts are. It is reproduced in direction if" in PAPER.rule
    assert "A claim holds if all its parts hold. It holds in direction if" in OWN.rule
