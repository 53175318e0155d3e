"""Figures of fuzzy laws, diagrams and networks show the behavior of the code."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from sojourn.core.errors import UserError
from sojourn.experiments import load_experiment, reproduce
from sojourn.experiments.figures import DRAW, diagrams, draw_figures, over_time, rule_tables
from sojourn.experiments.outcome import Outcome
from sojourn.experiments.schema import figures as spec
from sojourn.experiments.schema import law_figures
from sojourn.experiments.tables import CaseTable, Head
from tests.support.source_tree import ROOT

PAPERS = ROOT / "papers"


@pytest.fixture(scope="module")
def flower() -> Outcome:
    return reproduce(load_experiment(PAPERS / "flower-2016"), "law", 1)


@pytest.fixture(scope="module")
def lehto() -> Outcome:
    return reproduce(load_experiment(PAPERS / "lehto-2005"), "table2", 1)


def texts(figure: object) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]  # type: ignore[attr-defined]


def figure_of(outcome: Outcome, name: str) -> spec.Figure:
    return next(figure for figure in outcome.experiment.figures if figure.id == name)


def test_every_kind_is_drawn() -> None:
    assert set(DRAW) == set(spec.KINDS)


def test_the_rule_table_of_flower_is_that_of_its_paper(flower: Outcome) -> None:
    """flower-2016#fig4: the sum of both terms, limited to -5 and 5.

    The last column is a reset.
    """
    cells = texts(rule_tables.rules(flower, figure_of(flower, "fig4")))
    expected = [str(max(-5, min(5, i + j))) if j < 5 else "-6" for i in range(-5, 6) for j in range(-5, 6)]
    assert cells == expected


def test_the_worked_example_of_flower_gives_what_its_paper_prints(flower: Outcome) -> None:
    """flower-2016#fig6: 25 % of one rule and 75 % of another yield 0.55 segments."""
    law = rule_tables.law_of(flower.experiment, figure_of(flower, "fig6"))
    assert law.fired(35.0, 1.0) == [("1", "1", "2", 0.25), ("2", "1", "3", 0.75)]
    drawn = rule_tables.inference(flower, figure_of(flower, "fig6"))
    assert drawn.axes[2].get_xlabel() == "change of the window = 0.55"


def test_sets_come_from_the_law_from_a_parameter_or_from_centers() -> None:
    outcome = reproduce(load_experiment(PAPERS / "fuzzyrtt-2024"), "law", 1)
    drawn = rule_tables.sets(outcome, figure_of(outcome, "fig3-4"))
    assert texts(drawn)[:5] == ["40 ms", "80 ms", "160 ms", "320 ms", "640 ms"]
    line = drawn.axes[0].lines[1]
    x, y = line.get_xdata(), line.get_ydata()
    assert np.interp(100, x, y) == pytest.approx(0.75, abs=1e-3), "fuzzyrtt-2024#eq9"
    law = rule_tables.law_of(outcome.experiment, figure_of(outcome, "fig1-2"))
    assert [name for name, _ in law.variables()] == ["e", "de", "y"]
    assert law.grades("e", np.array([0.0, 1 / 6])).tolist()[3] == pytest.approx([1.0, 0.5])


def test_all_figures_of_the_laws_are_drawn(flower: Outcome) -> None:
    assert [drawn.id for drawn in draw_figures(flower)] == ["fig2", "fig3", "fig4", "fig5", "fig6", "surface"]


def test_where_the_window_is_reset_the_surface_has_a_gap(flower: Outcome) -> None:
    law = rule_tables.law_of(flower.experiment, figure_of(flower, "surface"))
    values = law.surface(np.array([0.0]), np.array([4.0, 4.5]))
    assert values[0, 0] == pytest.approx(0.8)
    assert np.isnan(values[0, 1])


def test_the_topology_says_what_the_scenario_has(lehto: Outcome) -> None:
    said = texts(diagrams.network(lehto, figure_of(lehto, "fig4")))
    assert "10 Mbit/s\n11 ms\n100 packets" in said
    hosts = {f"ftp\n30 {what}\n45 Mbit/s, 5 ms" for what in ("senders", "receivers")}
    assert {"R0", "R1"} | hosts <= set(said)


def test_a_wrong_name_in_a_figure_is_one_line(flower: Outcome, lehto: Outcome) -> None:
    def wrong(figure: str, outcome: Outcome, **changed: object) -> spec.Figure:
        return figure_of(outcome, figure).model_copy(update=changed)

    with pytest.raises(UserError, match=r"figures\[fig4\].scenario: expected one of s1, .*, got \"s9\""):
        diagrams.network(lehto, wrong("fig4", lehto, scenario="s9"))
    with pytest.raises(UserError, match=r"figures\[fig4\].queue: expected one of droptail, .*, got \"blue\""):
        rule_tables.rules(flower, wrong("fig4", flower, cc="", queue="blue"))
    with pytest.raises(UserError, match=r"figures\[fig4\].queue: queue.aqm: expected a law with fuzzy rules, got"):
        rule_tables.rules(flower, wrong("fig4", flower, cc="", queue="droptail"))
    with pytest.raises(
        UserError, match=r"figures\[fig4\].cc: expected a congestion controller with fuzzy rules, got \"reno\""
    ):
        rule_tables.rules(flower, wrong("fig4", flower, cc="reno"))
    arrows = [spec.Arrow(**{"from": "t1", "to": "nowhere"})]
    with pytest.raises(UserError, match=r"figures\[fig2\].arrows: expected one of .*, got \"nowhere\""):
        diagrams.blocks(flower, wrong("fig2", flower, arrows=arrows))
    panel = law_figures.SetPanel(variable="x", range=(0.0, 1.0), xlabel="x")
    with pytest.raises(UserError, match=r"figures\[fig5\].panels.variable: expected one of e, de, dcwnd, got \"x\""):
        rule_tables.sets(flower, wrong("fig5", flower, panels=[panel]))
    panel = law_figures.SetPanel(variable="e", range=(-50.0, 110.0), xlabel="x")
    with pytest.raises(
        UserError, match=r"range: expected a range that shows every set, got -50 to 110 without -5, -4$"
    ):
        rule_tables.sets(flower, wrong("fig5", flower, panels=[panel]))


def test_a_column_that_a_trace_lacks_is_one_line(tmp_path: Path) -> None:
    shutil.copytree(PAPERS / "cpc-2015", tmp_path / "cpc-2015")
    file = tmp_path / "cpc-2015" / "experiment.toml"
    good = file.read_text()
    file.write_text(good.replace('series = "rtt/ping/0", column = "seconds"', 'series = "rtt/ping/0", column = "ms"'))
    with pytest.raises(
        UserError, match=r"experiment.toml: measures.ping_mean.column: expected one of seconds of the trace rtt/ping/0"
    ):
        reproduce(load_experiment(file.parent), "bloat", 1)
    outcome = reproduce(load_experiment(PAPERS / "cpc-2015"), "bloat", 1)
    chosen = figure_of(outcome, "fig4").model_copy(update={"series": "rtt/pong/0"})
    with pytest.raises(UserError, match="series: expected one of rtt/ping/0, got"):
        over_time.series(outcome, chosen)


def test_a_panel_of_sets_has_one_source() -> None:
    with pytest.raises(ValueError, match="one of variable, parameter and terms"):
        law_figures.SetPanel(variable="e", terms={"a": 0.0}, range=(0.0, 1.0), xlabel="x")
    with pytest.raises(ValueError, match="one of variable, parameter and terms"):
        law_figures.SetPanel(range=(0.0, 1.0), xlabel="x")


def test_a_figure_shows_one_law() -> None:
    known = {"id": "x", "kind": "rules", "grid": "e", "xlabel": "", "ylabel": ""}
    for laws in ({}, {"queue": "a", "cc": "b"}):
        with pytest.raises(ValueError, match="one of queue and cc"):
            spec.Rules(**known, **laws)


def test_a_table_of_many_columns_has_smaller_letters() -> None:
    def table(columns: int, given: str = "") -> CaseTable:
        return CaseTable(["scenario", "queue"], [Head("x", given)] * columns)

    assert not table(8).wide
    assert table(9).wide
    assert table(5, "published").wide, "a published value has a column of its own"
