"""A queue has one color in all figures of a report; start-up peaks flatten no curve."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from sojourn.core.errors import UserError
from sojourn.core.record import Record
from sojourn.experiments import find_experiment, load_experiment
from sojourn.experiments.figures import over_scenarios, over_time
from sojourn.experiments.figures.looks import looks_of
from sojourn.experiments.model import Case, Experiment
from sojourn.experiments.outcome import Outcome
from sojourn.experiments.schema.figures import Lines, Timeline
from sojourn.plots.style import COLORS, Look
from tests.support.papers import papers
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


@pytest.mark.parametrize("experiment", papers(), ids=lambda experiment: experiment.id)
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


def test_a_peak_above_the_top_is_cut_and_written() -> None:
    """50 Mbit/s empty 6,250 bytes in 1 ms: FuzzyRTT starts at 160 ms, RED at 10."""
    experiment = find_experiment("fuzzyrtt")
    t = np.arange(0.0, 200.0, 0.5)
    waits = {"fuzzy": np.where(t < 3, 160.0, 10.0), "red": np.full(len(t), 10.0)}
    records = {
        Case("y3", queue): [Record({"duration_s": 200.0}, series={"queue/bottleneck": {"t": t, "bytes": 6250 * wait}})]
        for queue, wait in waits.items()
    }
    outcome = Outcome(experiment, [experiment.grids["y3"]], [1], records)
    chosen = next(figure for figure in experiment.figures if figure.id == "fig10a")
    assert isinstance(chosen, Timeline)
    [axes] = over_time.timeline(outcome, chosen).axes
    assert [text.get_text() for text in axes.texts] == ["↑ 160"]
    assert axes.get_ylim() == (0, 60)
    marks = [float(np.asarray(line.get_xdata())[0]) for line in axes.lines if line.get_linestyle() == ":"]
    assert marks == [40, 80, 120, 160]


def test_printed_values_are_dashed_from_end_to_end() -> None:
    """fuzzyrtt-2024#fig8: RED rises from 90 to 99 %; a value without a queue is gray."""
    experiment = find_experiment("fuzzyrtt")
    names = [f"y1_light_{c}" for c in (10, 50, 100)]
    grid = replace(experiment.grids["y1"], scenarios=names, queues=["red"])
    record = Record({"links": [{"name": "bottleneck", "utilization": 0.95}]})
    outcome = Outcome(experiment, [grid], [1], {Case(name, "red"): [record] for name in names})
    published = {"y1_light": {"red": (90.0, 99.0), "fuzzy": 99.0, "": 95.0}}
    chosen = next(figure for figure in experiment.figures if figure.id == "fig8")
    assert isinstance(chosen, Lines)
    chosen = chosen.model_copy(update={"panels": ["y1_light"], "titles": ["(a)"], "published": published})
    [axes] = over_scenarios.lines(outcome, chosen).axes
    dashed = [line for line in axes.lines if line.get_linestyle() == "--"]
    assert axes.get_title() == "(a)"
    assert [(np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist()) for line in dashed] == [
        ([10, 100], [90, 99]),
        ([10, 100], [95, 95]),
    ], "none for a queue that is not drawn"
    assert [line.get_color() for line in dashed] == [looks(experiment)["red"].color, "#555555"]
