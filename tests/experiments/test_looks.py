"""A queue has one color in all figures of a report."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from sojourn.core.errors import UserError
from sojourn.experiments import find_experiment, find_experiments, load_experiment
from sojourn.experiments.figures.looks import looks_of
from sojourn.experiments.model import Experiment
from sojourn.experiments.outcome import Outcome
from sojourn.plots.style import COLORS, Look
from tests.support.source_tree import ROOT


def looks(experiment: Experiment) -> dict[str, Look]:
    return looks_of(Outcome(experiment, list(experiment.grids.values()), [1], {}))


def test_a_scheme_keeps_its_color_whatever_else_a_grid_compares() -> None:
    """`y1` has RED first, `stronger` has it sixth, `y1fits` has only its fits."""
    found = looks(find_experiment("fuzzyrtt"))
    six = [found[name].color for name in ("red", "flc", "pid", "codel", "choker", "fuzzy")]
    assert six == COLORS[:6]
    for scheme, others in {"red": ["redtext", "redmark", "classic"], "codel": ["codel2012"]}.items():
        assert {found[name].color for name in others} == {found[scheme].color}
        styles = {(found[name].line, found[name].marker) for name in (scheme, *others)}
        assert len(styles) == len(others) + 1


@pytest.mark.parametrize("experiment", find_experiments(), ids=lambda experiment: experiment.id)
def test_queues_of_a_grid_differ_in_color_line_or_marker(experiment: Experiment) -> None:
    found = looks(experiment)
    for grid in experiment.grids.values():
        if len(grid.queues) <= len(COLORS):
            for one, other in combinations(grid.queues, 2):
                assert found[one] != found[other], (grid.id, one, other)


def test_a_queue_like_an_unknown_one_is_named(tmp_path: Path) -> None:
    experiment = find_experiment("fuzzyrtt")
    copy = tmp_path / "paper"
    copy.mkdir()
    for file in ("claims.toml", "deviations.toml", "scenarios"):
        (copy / file).symlink_to(experiment.root / file)
    text = (ROOT / "papers/fuzzyrtt-2024/experiment.toml").read_text(encoding="utf-8")
    (copy / "experiment.toml").write_text(text.replace('like = "codel"', 'like = "redtext"'), encoding="utf-8")
    with pytest.raises(UserError, match=r"queues.codel2012.like: expected one of red, flc"):
        load_experiment(copy)
