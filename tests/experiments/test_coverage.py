"""`coverage.toml` accounts for every numbered item, sentence and claim of a paper."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from sojourn.core.errors import UserError
from sojourn.experiments import load_experiment, reproduce
from sojourn.experiments.coverage import coverage_rows
from sojourn.experiments.model import Experiment
from sojourn.experiments.report import build_page
from tests.support.papers import papers
from tests.support.source_tree import ROOT

COVERED = [each for each in papers() if each.coverage is not None]
FUZZY = ROOT / "papers" / "fuzzyrtt-2024"


@pytest.mark.parametrize("experiment", COVERED, ids=lambda experiment: experiment.id)
def test_every_test_that_covers_a_paper_exists(experiment: Experiment) -> None:
    assert experiment.coverage is not None
    named = [name for entry in experiment.coverage.entries for name in entry.tests]
    for name in named:
        file, _, test = name.partition("::")
        assert re.search(rf"(fn|def) {re.escape(test)}\(", (ROOT / file).read_text(encoding="utf-8")), name


def changed(tmp_path: Path, old: str, new: str) -> Path:
    """A copy of FuzzyRTT's folder whose coverage differs in one place."""
    copy = tmp_path / "paper"
    shutil.copytree(FUZZY, copy)
    text = (copy / "coverage.toml").read_text(encoding="utf-8")
    assert old in text
    (copy / "coverage.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
    return copy


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "equations = 10",
            "equations = 11",
            "equations: expected entries for equations 1 to 11, got none for equation 11",
        ),
        (
            "equations = 10",
            "equations = 9",
            "equations: expected entries for equations 1 to 9, got an entry for equation 10",
        ),
        ("figure  = 5", "figure  = 6", "figures: expected entries for figures 1 to 10, got none for figure 5"),
        ('["R24"]', '["R99"]', "entries[Fig. 8].claims: expected one of R5, R6, "),
        ('figures = ["fig8sd"]', 'figures = ["fig88"]', "entries[Fig. 8].figures: expected one of fig1-2, fig3-4, "),
        ('claims  = ["R24"]', 'reason = "no"', "entries: expected every claim and note of the paper, got none for R24"),
        (
            "table   = 1",
            "table   = 1\nfigure  = 1",
            "entries[4].equation: expected one of equation, table and figure, got",
        ),
        ("figure  = 5", "chapter = 5", "chapter: expected one of equation, table, figure, where, text, claims,"),
        ('reason = "A number of RFC 7928', 'text2 = "A number of RFC 7928', "text2: expected one of"),
        ("tests.rs::r2_", "tests.rs:r2_", "tests: expected FILE::NAME, got crates/aqm/"),
    ],
)
def test_a_gap_in_the_coverage_is_named(tmp_path: Path, old: str, new: str, says: str) -> None:
    with pytest.raises(UserError, match=re.escape(says)):
        load_experiment(changed(tmp_path, old, new))


def test_an_entry_that_nothing_covers_is_rejected(tmp_path: Path) -> None:
    gap = '[[entries]]\nwhere = "V"\ntext = "nothing"\n\n[[entries]]\nwhere  = "abstract'
    with pytest.raises(UserError, match=r"entries\[1\].claims: expected at least one of claims, notes, deviations,"):
        load_experiment(changed(tmp_path, '[[entries]]\nwhere  = "abstract', gap))


def test_a_pattern_names_every_claim_that_fits(tmp_path: Path) -> None:
    experiment = load_experiment(changed(tmp_path, 'claims  = ["R24"]', 'claims  = ["R2[45]"]'))
    assert [row.claims for row in coverage_rows(experiment) if row.entry.figures == ["fig8sd"]] == [["R24", "R25"]]


def test_the_report_lists_the_whole_paper() -> None:
    page = build_page(reproduce(load_experiment(FUZZY), "law", 1), [])
    assert "10 equations,\n  1 table and 10 figures" in page
    for item in (*(f"Eq. {n}" for n in range(1, 11)), "Table 1", *(f"Fig. {n}" for n in range(1, 11))):
        assert f"<tr><td>{item}</td>" in page
    assert "<div>R24 </div>" in page, "no link to a claim that was not judged"
