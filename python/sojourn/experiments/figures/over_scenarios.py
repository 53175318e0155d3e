"""Measures over scenarios, with the published values as open marks or dashed lines."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sojourn.core.errors import UserError
from sojourn.core.ranges import Range
from sojourn.core.stats import Estimate, estimate
from sojourn.experiments.bounds import range_of
from sojourn.experiments.figure_names import panel_scenarios
from sojourn.experiments.figures.looks import looks_of
from sojourn.experiments.figures.parts import interval_marks, panels, queue_label, scenario_ticks
from sojourn.experiments.model import Case, Grid
from sojourn.experiments.outcome import Outcome
from sojourn.experiments.schema import figures as spec
from sojourn.plots.style import PAGE, figure, legend_above

ROOM = 1.04
"""The least height of an axis, as a multiple of the largest value."""


def by_scenario(outcome: Outcome, chosen: spec.ByScenario) -> Figure:
    """One panel for each measure, with every scenario and queue.

    The measured value with its interval is next to the published value.
    """
    grid = outcome.grid(chosen.grid)
    with figure(PAGE, 2.7) as made:
        for axes, measure in zip(panels(made, len(chosen.measures)), chosen.measures, strict=True):
            for i in range(len(grid.queues)):
                _queue_marks(axes, outcome, chosen, measure, i)
            scenario_ticks(axes, outcome, grid.scenarios)
            axes.set(ylabel=outcome.experiment.measures[measure].title)
            _from_zero(axes)
            axes.grid(visible=False, axis="x")
        by_label = dict(zip(*made.axes[0].get_legend_handles_labels()[::-1], strict=True))
        names = [queue_label(outcome, queue) for queue in grid.queues]
        labels = [k for name in names for k in (name, f"{name}, published") if k in by_label]
        made.legend([by_label[k] for k in labels], labels, ncols=len(labels), loc="outside upper center", fontsize=7)
        return made


def _from_zero(axes: Any) -> None:
    """Starts the y axis at 0, with room for whole marks at its top."""
    top = axes.dataLim.ymax
    axes.set_ylim(0, max(axes.get_ylim()[1], ROOM * top))


def _queue_marks(axes: Any, outcome: Outcome, chosen: spec.ByScenario, measure: str, index: int) -> None:
    """The marks of the grid's queue number `index`: filled as measured, open as published."""
    grid = outcome.grid(chosen.grid)
    queue, scenarios = grid.queues[index], grid.scenarios
    look, label = looks_of(outcome)[queue], queue_label(outcome, queue)
    scales = [chosen.divide.get(scenario, 1.0) for scenario in scenarios]
    x = np.arange(len(scenarios)) + (index - (len(grid.queues) - 1) / 2) * 0.26
    found = [
        outcome.estimate(Case(scenario, queue), measure).scaled(1 / scale)
        for scenario, scale in zip(scenarios, scales, strict=True)
    ]
    interval_marks(axes, x, found, look, linestyle="none", label=label)
    known = outcome.experiment.published
    published = [known.get((s, queue, measure), np.nan) / scale for s, scale in zip(scenarios, scales, strict=True)]
    if np.isfinite(published).any():
        axes.plot(
            x + 0.09,
            published,
            linestyle="none",
            marker=look.marker,
            color=look.color,
            markerfacecolor="white",
            label=f"{label}, published",
        )


def parity(outcome: Outcome, chosen: spec.Parity) -> Figure:
    """Measured over published, a panel for each measure; 1 is agreement."""
    grid = outcome.grid(chosen.grid)
    cells = outcome.cells(grid)
    measures = chosen.measures or grid.measures
    looks = looks_of(outcome)
    with figure(PAGE, 2.3) as made:
        for axes, measure in zip(panels(made, len(measures)), measures, strict=True):
            for i, queue in enumerate(grid.queues):
                rows = cells[(cells["measure"] == measure) & (cells["queue"] == queue) & (cells["published"] > 0)]
                positions = [grid.scenarios.index(s) for s in rows["scenario"]]
                x = np.array(positions) + (i - (len(grid.queues) - 1) / 2) * 0.22
                look = looks[queue]
                axes.plot(
                    x,
                    rows["mean"] / rows["published"],
                    linestyle="none",
                    marker=look.marker,
                    color=look.color,
                    label=queue_label(outcome, queue),
                )
            axes.axhline(1, color="#555555", linewidth=0.8)
            scenario_ticks(axes, outcome, grid.scenarios)
            axes.set(title=outcome.experiment.measures[measure].label)
        made.axes[0].set_ylabel("measured / published")
        legend_above(made)
        return made


def lines(outcome: Outcome, chosen: spec.Lines) -> Figure:
    """A measure over a value of a family, a line for each queue; dashed as published."""
    grid = outcome.grid(chosen.grid)
    also = [each for each in outcome.grids if each.id == chosen.also]
    with figure(PAGE, 2.7) as made:
        shown = chosen.panels or [""]
        titles = chosen.titles or [panel.rpartition("_")[2] if len(shown) > 1 else "" for panel in shown]
        for axes, panel, title in zip(panels(made, len(shown), sharey=True), shown, titles, strict=True):
            _lines_of_panel(axes, outcome, chosen, panel, [grid, *also])
            axes.set(title=title, xlabel=chosen.xlabel or chosen.x)
        made.axes[0].set_ylabel(outcome.experiment.measures[chosen.measure].title)
        legend_above(made)
        return made


def _lines_of_panel(axes: Any, outcome: Outcome, chosen: spec.Lines, panel: str, grids: Sequence[Grid]) -> None:
    """The lines of one group of scenarios."""
    drawn, looks = [(each, queue) for each in grids for queue in each.queues], looks_of(outcome)
    for grid, queue in drawn:
        names = panel_scenarios(outcome.experiment, panel, grid)
        if not names:
            raise UserError.expected(f"figures[{chosen.id}].panels", "a panel with a scenario that was run", panel)
        x = [float(outcome.experiment.scenarios[name].values[chosen.x]) for name in names]
        look, label = looks[queue], queue_label(outcome, queue)
        found = [outcome.estimate(Case(name, queue), chosen.measure) for name in names]
        interval_marks(axes, x, found, look, markersize=3, linewidth=0.9, linestyle=look.line, label=label)
    colors = {"": "#555555"} | {queue: looks[queue].color for _, queue in drawn}
    for name, published in chosen.published.get(panel, {}).items():
        if name in colors:
            ends = np.broadcast_to(published, 2)
            axes.plot([min(x), max(x)], ends, color=colors[name], linestyle="--", linewidth=0.8)


def averages(outcome: Outcome, chosen: spec.Averages) -> Figure:
    """Averages over the scenarios that match a pattern.

    There is a mark for each queue, open for published values.
    """
    grid = outcome.grid(chosen.grid)
    names = [name for name in grid.scenarios if fnmatchcase(name, chosen.scenarios)]
    looks = looks_of(outcome)
    with figure(PAGE, 2.4) as made:
        for axes, measure in zip(panels(made, len(chosen.measures)), chosen.measures, strict=True):
            published = chosen.published.get(measure, {})
            for i, queue in enumerate(grid.queues):
                look = looks[queue]
                found = _average(outcome, [Case(name, queue) for name in names], measure)
                interval_marks(axes, [i], [found], look, linestyle="none")
                if queue in published:
                    axes.plot(
                        [i + 0.2],
                        [published[queue]],
                        color=look.color,
                        marker=look.marker,
                        markerfacecolor="white",
                        linestyle="none",
                    )
            labels = [queue_label(outcome, queue) for queue in grid.queues]
            axes.set_xticks(range(len(labels)), labels, rotation=60, ha="right")
            axes.set(title=outcome.experiment.measures[measure].title)
        return made


def _average(outcome: Outcome, cases: Sequence[Case], measure: str) -> Estimate:
    """The mean of a measure over cases, seed by seed."""
    ranges = [range_of(outcome.experiment.measure(case.scenario, measure)) for case in cases]
    within = Range(min(each.low for each in ranges), max(each.high for each in ranges))
    return estimate(np.mean([outcome.values(case, measure) for case in cases], axis=0), within=within)


def spread(outcome: Outcome, chosen: spec.Spread) -> Figure:
    """Mean and standard deviation over all runs of the scenarios that match a pattern.

    There is a mark for each queue.
    """
    grid, measure = outcome.grid(chosen.grid), outcome.experiment.measures[chosen.measure]
    names = [name for name in grid.scenarios if fnmatchcase(name, chosen.scenarios)]
    looks = looks_of(outcome)
    with figure(PAGE, 2.4) as made:
        left, right = panels(made, 2)
        for i, queue in enumerate(grid.queues):
            look = looks[queue]
            values = np.concatenate([outcome.values(Case(name, queue), chosen.measure) for name in names])
            for axes, value in ((left, values.mean()), (right, values.std(ddof=1))):
                axes.plot([i], [value], color=look.color, marker=look.marker, linestyle="none")
            if queue in chosen.published:
                right.plot(
                    [i + 0.2],
                    [chosen.published[queue]],
                    color=look.color,
                    marker=look.marker,
                    markerfacecolor="white",
                    linestyle="none",
                )
        labels = [queue_label(outcome, queue) for queue in grid.queues]
        unit = f" ({measure.unit})" if measure.unit else ""
        for axes, title in ((left, "mean"), (right, "standard deviation")):
            axes.set_xticks(range(len(labels)), labels, rotation=60, ha="right")
            axes.set(title=f"{measure.label}: {title}{unit}")
        right.set_ylim(bottom=0)
        return made
