"""A measure over two values of a family: a table of numbers colored as a map."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure

from sojourn.experiments.figures.parts import queue_label
from sojourn.experiments.model import Case
from sojourn.experiments.outcome import Outcome
from sojourn.experiments.schema import figures as spec
from sojourn.plots.maps import NONE, draw_cells
from sojourn.plots.style import PAGE, figure

ACROSS = 3
"""Panels side by side."""
Cells = dict[tuple[str, str], Case]


def heat(outcome: Outcome, chosen: spec.Heat) -> Figure:
    """A panel for each queue, setting and combination of the family's other values.

    All panels have the same colors.
    """
    panels = _panels(outcome, chosen)
    values = {
        case: float(np.median(outcome.shown(case, chosen.measure)))
        for cells in panels.values()
        for case in cells.values()
    }
    norm = _colors(chosen, list(values.values()))
    across = min(ACROSS, len(panels))
    down = math.ceil(len(panels) / across)
    rows = max(len({y for _, y in cells}) for cells in panels.values())
    with figure(PAGE, down * (0.8 + 0.2 * rows)) as made:
        for axes in made.subplots(down, across, squeeze=False).flat[len(panels) :]:
            axes.remove()
        for axes, (title, cells) in zip(made.axes, panels.items(), strict=True):
            axes.set_title(title, fontsize=7)
            _draw(axes, chosen, {place: values[case] for place, case in cells.items()}, norm)
        return made


def _colors(chosen: spec.Heat, values: list[float]) -> Normalize:
    """The scale of colors, from the smallest to the largest value.

    Good values are in its middle.
    """
    finite = [value for value in values if math.isfinite(value) and (value > 0 or not chosen.log)] or [1.0]
    low, high = min(finite), max(finite)
    if chosen.good and chosen.log:
        middle = math.sqrt(chosen.good[0] * chosen.good[1])
        reach = max(high / middle, middle / low)
        low, high = middle / reach, middle * reach
    return (LogNorm if chosen.log else Normalize)(low, high)


def _panels(outcome: Outcome, chosen: spec.Heat) -> dict[str, Cells]:
    """The cases by panel, then by column and row."""
    experiment = outcome.experiment
    found: dict[str, Cells] = {}
    for case in outcome.grid(chosen.grid).cases():
        own = experiment.scenarios[case.scenario].values
        rest = [value for name, value in own.items() if name not in (chosen.x, chosen.y)]
        setting = [experiment.settings[case.setting].label] if case.setting else []
        title = ", ".join([queue_label(outcome, case.queue), *setting, *rest])
        found.setdefault(title, {})[own[chosen.x], own[chosen.y]] = case
    return found


def _draw(axes: Any, chosen: spec.Heat, values: dict[tuple[str, str], float], norm: Normalize) -> None:
    """One panel: each value in a colored cell, bold if it is good."""
    columns, rows = (list(dict.fromkeys(place[i] for place in values)) for i in (0, 1))
    table = np.array([[values.get((x, y), math.nan) for x in columns] for y in rows])
    draw_cells(axes, table, norm, "PuOr", alpha=0.6, bold=chosen.good or NONE)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.set(xlabel=chosen.xlabel or chosen.x, ylabel=chosen.ylabel or chosen.y)
