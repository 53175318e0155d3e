"""Queues and settings compared: trade-offs, shares, parallel coordinates, boxes, maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.cbook import boxplot_stats
from matplotlib.figure import Figure

from sojourn.core.errors import UserError
from sojourn.experiments.figures.parts import queue_label, records_of
from sojourn.experiments.fluid_runs import at_end, delay_margin, with_queue
from sojourn.experiments.model import Case
from sojourn.experiments.outcome import Outcome
from sojourn.experiments.run_measures import reading_of
from sojourn.experiments.schema import figures as spec
from sojourn.plots.style import COLORS, GOOD, PAGE, figure, legend_above, style_of

Array = npt.NDArray[np.float64]


def trade_off(outcome: Outcome, chosen: spec.TradeOffPlot) -> Figure:
    """The two measures of curves.

    There is a panel for each scenario, a line for each curve, and a mark for each point.
    """
    measures = outcome.experiment.file.trade_off
    columns = min(len(chosen.scenarios), 2)
    rows = -(-len(chosen.scenarios) // columns)
    with figure(PAGE, 2.3 * rows + 0.3) as made:
        places = made.subplots(rows, columns, squeeze=False).ravel()
        for spare in places[len(chosen.scenarios) :]:
            spare.remove()
        for axes, scenario in zip(places, chosen.scenarios, strict=False):
            for i, name in enumerate(chosen.curves):
                curve, look = outcome.experiment.curves[name], style_of(i)
                x, y = (
                    [outcome.mean(Case(scenario, queue), measure) for queue in curve.queues]
                    for measure in (measures.x, measures.y)
                )
                axes.plot(x, y, color=look.color, marker=look.marker, markersize=3.2, linewidth=0.9, label=curve.label)
            axes.set_xscale("log")
            labels = [outcome.experiment.measures[measure].title for measure in (measures.x, measures.y)]
            axes.set(title=outcome.experiment.scenarios[scenario].title, xlabel=labels[0], ylabel=labels[1])
            axes.title.set_fontsize(7.5)
        legend_above(made)
        return made


def shares(outcome: Outcome, chosen: spec.Shares) -> Figure:
    """Stacked bars: the measure dark, the rest to 1 light.

    Scenarios are grouped by the first part of their label.
    """
    with figure(PAGE, 2.9) as made:
        axes: Any = made.add_subplot()
        place = 0.0
        ticks: list[tuple[float, str]] = []
        groups: dict[str, list[float]] = {}
        for scenario in outcome.grid(chosen.grid).scenarios:
            group, _, part = outcome.experiment.scenarios[scenario].label.partition(", ")
            if group not in groups:
                place += 0.8
            for i, setting in enumerate(chosen.settings):
                share = outcome.mean(Case(scenario, chosen.queue, setting), chosen.measure)
                at = place + 0.42 * i
                axes.bar(at, share, 0.4, color=COLORS[i])
                axes.bar(at, 1 - share, 0.4, bottom=share, color=COLORS[i], alpha=0.25)
            ticks.append((place + 0.21, part))
            groups.setdefault(group, []).append(place + 0.21)
            place += 1.0
        axes.axhline(chosen.line, color="#000000", linewidth=0.9)
        axes.set_xticks([t for t, _ in ticks], [label for _, label in ticks], fontsize=5.5)
        for group, places in groups.items():
            axes.text(np.mean(places), 1.02, group, ha="center", fontsize=7)
        axes.set(ylabel=chosen.ylabel, xlabel=chosen.xlabel)
        axes.set_ylim(0, 1.08)
        axes.grid(visible=False, axis="x")
        labels = [outcome.experiment.settings[s].label for s in chosen.settings]
        made.legend(axes.patches[0 : 2 * len(labels) : 2], labels, loc="outside upper center", ncols=len(labels))
        return made


def parallel(outcome: Outcome, chosen: spec.Parallel) -> Figure:
    """Parallel coordinates: a line for each queue and setting."""
    grid = outcome.grid(chosen.grid)
    dashes: Sequence[str] = ["-", "--", ":", "-."]
    places = list(range(len(chosen.axes)))
    low, high = zip(*(axis.ideal for axis in chosen.axes), strict=True)
    with figure(PAGE * 0.75, 3.0) as made:
        axes: Any = made.add_subplot()
        axes.fill_between(places, low, high, color=GOOD, alpha=0.15, linewidth=0)
        for i, queue in enumerate(grid.queues):
            for j, setting in enumerate(grid.settings):
                look, case = style_of(i), Case(chosen.scenario, queue, setting)
                values = [outcome.mean(case, axis.measure) / axis.divide for axis in chosen.axes]
                label = f"{queue_label(outcome, queue)}, {outcome.experiment.settings[setting].label}"
                axes.plot(places, values, color=look.color, marker=look.marker, linestyle=dashes[j], label=label)
        axes.set_xticks(places, [axis.label for axis in chosen.axes])
        axes.set_ylim(0, 1.02)
        made.legend(loc="outside right upper", fontsize=6.5)
        return made


def boxes(outcome: Outcome, chosen: spec.Boxes) -> Figure:
    """Boxes of a measure's values, pooled over seeds: groups of queues."""
    measure = outcome.experiment.measures[chosen.measure]
    if not measure.series:
        field = f"{outcome.experiment.main}: figures[{chosen.id}].measure"
        raise UserError(f'{field}: expected a measure of a series, got "{measure.id}"')
    reading, count = reading_of(measure), max(len(queues) for queues in chosen.groups.values())
    with figure(PAGE, 2.5) as made:
        axes: Any = made.add_subplot()
        for i in range(count):
            groups = [(g, queues[i]) for g, queues in enumerate(chosen.groups.values()) if i < len(queues)]
            stats = []
            for _, queue in groups:
                records = records_of(outcome, chosen, Case(chosen.scenario, queue, chosen.setting))
                found = [reading.pooled(record) for record in records]
                stats += boxplot_stats(np.concatenate([each[1] for each in found if each]) * measure.scale)
            drawn = axes.bxp(
                stats,
                positions=[g + (i - (count - 1) / 2) * 0.25 for g, _ in groups],
                widths=0.2,
                patch_artist=True,
                flierprops={"markersize": 1.5},
                medianprops={"color": "black"},
                manage_ticks=False,
            )
            for box in drawn["boxes"]:
                box.set(facecolor=style_of(i).color, alpha=0.6)
            drawn["boxes"][0].set_label(chosen.labels[i])
        axes.set_xticks(range(len(chosen.groups)), list(chosen.groups))
        axes.set(xlabel=chosen.xlabel, ylabel=chosen.ylabel)
        made.legend(ncols=count, loc="outside upper center")
        return made


@dataclass(frozen=True)
class _MapPanel:
    """One panel of a map: a value for each queue."""

    title: str
    decimals: int
    values: Array


def grid_map(outcome: Outcome, chosen: spec.Map) -> Figure:
    """A measure for each panel over a grid of queues.

    With `fluid` a second row of panels is about that fluid.
    """
    queues = outcome.grid(chosen.grid).queues
    if len(queues) != len(chosen.rows) * len(chosen.columns):
        field = f"{outcome.experiment.main}: figures[{chosen.id}].rows"
        got = f"{len(chosen.rows)} rows and {len(chosen.columns)} columns"
        raise UserError(f"{field}: expected rows times columns to be the grid's {len(queues)} queues, got {got}")
    shown = [_measured(outcome, chosen.scenario, queues, name) for name in chosen.measures]
    across = len(shown)
    if chosen.fluid:
        shown += _fluid_panels(outcome, chosen.fluid, queues)
    down = len(shown) // across
    with figure(PAGE, 2.6 * down) as made:
        for axes, panel in zip(made.subplots(down, across, squeeze=False).flat, shown, strict=True):
            _draw_map(axes, panel, chosen)
        return made


def _draw_map(axes: Any, panel: _MapPanel, chosen: spec.Map) -> None:
    """One panel: colors and numbers."""
    # Rounded, so that cells with the same number have the same color.
    table = np.round(panel.values, panel.decimals).reshape(len(chosen.rows), len(chosen.columns))
    low, high = np.quantile(table, (0.0, 0.9))  # one very large value must not hide the differences of the others
    high = max(high, low + 10.0**-panel.decimals)
    axes.imshow(table, cmap="cividis", vmin=low, vmax=high)
    for (i, j), value in np.ndenumerate(table):
        color = "white" if value < (low + high) / 2 else "black"
        axes.text(j, i, f"{value:.{panel.decimals}f}", ha="center", va="center", fontsize=6, color=color)
    axes.set_xticks(range(len(chosen.columns)), chosen.columns)
    axes.set_yticks(range(len(chosen.rows)), chosen.rows)
    axes.grid(visible=False)
    axes.set(title=panel.title, xlabel=chosen.xlabel, ylabel=chosen.ylabel)


def _measured(outcome: Outcome, scenario: str, queues: Sequence[str], name: str) -> _MapPanel:
    measure = outcome.experiment.measures[name]
    values = [float(np.nanmean(outcome.values(Case(scenario, queue), name))) for queue in queues]
    return _MapPanel(measure.title, measure.decimals, np.array(values))


def _fluid_panels(outcome: Outcome, name: str, queues: Sequence[str]) -> list[_MapPanel]:
    """The equilibrium of a fluid under the laws of the queues, and its delay margin there."""
    fluid = outcome.experiment.fluids[name]
    runs = [with_queue(fluid, outcome.experiment.queue_table(queue)) for queue in queues]
    ends = [at_end(run) for run in runs]
    return [
        _MapPanel("fluid: queue mean (packets)", 1, np.array([end["queue"] for end in ends])),
        _MapPanel("fluid: queue sd (packets)", 1, np.array([end["queue_sd"] for end in ends])),
        _MapPanel("fluid: delay margin (s)", 2, np.array([delay_margin(run) for run in runs])),
    ]
