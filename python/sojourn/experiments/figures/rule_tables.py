"""Figures of fuzzy laws: their sets, their rules, their results, and one inference.

All of them are computed by the code that manages the queue or sets the window.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from sojourn import _sojourn
from sojourn.core.errors import UserError
from sojourn.experiments.figures.parts import panels
from sojourn.experiments.model import Experiment
from sojourn.experiments.outcome import Outcome
from sojourn.experiments.schema import law_figures as spec
from sojourn.plots.style import PAGE, figure, style_of

Array = npt.NDArray[np.float64]
POINTS = 1201
"""Numbers at which a set is drawn."""
OUTPUT = 2
"""The place of the output after the two inputs."""


def law_of(experiment: Experiment, chosen: spec.LawFigure) -> _sojourn.FuzzyLaw:
    """The law of a figure.

    Raises `UserError` for an unknown queue, and for a queue without fuzzy rules.
    """
    place = f"{experiment.main}: figures[{chosen.id}]"
    try:
        if chosen.cc:
            return _sojourn.FuzzyLaw.of_controller(chosen.cc)
        if chosen.queue not in experiment.queues:
            raise UserError(f'{place}.queue: expected one of {", ".join(experiment.queues)}, got "{chosen.queue}"')
        return _sojourn.FuzzyLaw.of_queue(json.dumps(experiment.queue_table(chosen.queue)))
    except _sojourn.ScenarioError as error:
        raise UserError(f"{place}.{'cc' if chosen.cc else 'queue'}: {error}") from None


def sets(outcome: Outcome, chosen: spec.Sets) -> Figure:
    """Membership functions: a panel for each variable, a line for each term."""
    law = law_of(outcome.experiment, chosen)
    with figure(PAGE, 1.9) as made:
        for axes, panel in zip(panels(made, len(chosen.panels), sharey=True), chosen.panels, strict=True):
            x = np.linspace(*panel.range, POINTS)
            names, grades = _terms(outcome.experiment, law, chosen, panel, x)
            if hidden := [name for name, grade in zip(names, grades, strict=True) if grade.max() < 0.5]:
                place = f"{outcome.experiment.main}: figures[{chosen.id}].panels.range"
                wide = f"{panel.range[0]:g} to {panel.range[1]:g}"
                raise UserError(
                    f"{place}: expected a range that shows every set, got {wide} without {', '.join(hidden)}"
                )
            for i, (name, grade) in enumerate(zip(names, grades, strict=True)):
                axes.plot(x, grade, color=style_of(i).color, linewidth=1.0)
                _name_set(axes, name, (x, grade), style_of(i).color, above=i % 2)
            axes.set(xlabel=panel.xlabel, ylim=(0, 1.26), xlim=panel.range)
            axes.set_yticks([0, 0.5, 1])
        made.axes[0].set_ylabel("membership")
        return made


def _name_set(axes: Any, name: str, curve: tuple[Array, Array], color: str, *, above: int = 0) -> None:
    """Writes the name of a set above its peak.

    `above` moves it one line higher, so that narrow neighbors can be read. A name at an edge stays inside: it begins
    or ends there.
    """
    x, grade = curve
    if grade.max() > 0:
        peak = x[grade >= grade.max() - 1e-9]
        middle, edge = peak[[0, -1]].mean(), 0.06 * (x[-1] - x[0])
        side = "left" if middle < x[0] + edge else "right" if middle > x[-1] - edge else "center"
        at = {"left": x[0] + 0.2 * edge, "right": x[-1], "center": middle}[side]
        axes.text(at, 1.03 + 0.11 * above, name, ha=side, fontsize=6, color=color)


def _terms(
    experiment: Experiment, law: _sojourn.FuzzyLaw, chosen: spec.Sets, panel: spec.SetPanel, x: Array
) -> tuple[Sequence[str], Array]:
    """The names of a panel's terms, and their grades at `x`."""
    centers = _centers(experiment, chosen, panel)
    if centers:
        return list(centers), _partition(x, np.array(list(centers.values())))
    known = dict(law.variables())
    if panel.variable not in known:
        place = f"{experiment.main}: figures[{chosen.id}].panels.variable"
        raise UserError(f'{place}: expected one of {", ".join(known)}, got "{panel.variable}"')
    grades = law.grades(panel.variable, x)
    return known[panel.variable][: len(grades)], grades


def _centers(experiment: Experiment, chosen: spec.Sets, panel: spec.SetPanel) -> dict[str, float]:
    """The centers of a panel's terms if it defines them; empty for those of the law."""
    if not panel.parameter:
        return panel.terms
    table = experiment.queue_table(chosen.queue)
    known = next(each["parameters"] for each in json.loads(_sojourn.registry())["aqm"] if each["name"] == table["aqm"])
    times = table.get(panel.parameter, known.get(panel.parameter))
    if not isinstance(times, list) or not all(isinstance(time, str) for time in times):
        place = f"{experiment.main}: figures[{chosen.id}].panels.parameter"
        raise UserError(f'{place}: expected a list of times among {", ".join(known)}, got "{panel.parameter}"')
    return {time: 1e3 * _sojourn.quantity("time", time) for time in times}


def _partition(x: Array, centers: Array) -> Array:
    """Triangles that reach to their neighbors' centers, with shoulders at the ends."""
    return np.array([np.interp(x, centers, row) for row in np.eye(len(centers))])


def rules(outcome: Outcome, chosen: spec.Rules) -> Figure:
    """The rule table: the term of the output for each pair of terms of the inputs.

    Cells are colored by the position of the term.
    """
    law = law_of(outcome.experiment, chosen)
    (_, rows), (_, columns), (_, consequents) = law.variables()
    numbers = len(law.grades(law.variables()[2][0], np.zeros(1)))
    cells = law.rules()
    place = {name: i for i, name in enumerate(consequents[:numbers])}
    colors = np.array([[place.get(cell or "", np.nan) for cell in line] for line in cells], dtype=np.float64)
    with figure(PAGE * 0.7, 0.24 * len(rows) + 0.9) as made:
        axes: Any = made.add_subplot()
        axes.imshow(colors, cmap="cividis", aspect="auto", vmin=0, vmax=numbers - 1)
        for (i, j), color in np.ndenumerate(colors):
            ink = "black" if not color < 0.55 * (numbers - 1) else "white"
            axes.text(j, i, cells[i][j] or "", ha="center", va="center", fontsize=7, color=ink)
        axes.set_xticks(range(len(columns)), columns)
        axes.set_yticks(range(len(rows)), rows)
        axes.grid(visible=False)
        axes.set(xlabel=chosen.xlabel, ylabel=chosen.ylabel)
        return made


def control_surface(outcome: Outcome, chosen: spec.ControlSurface) -> Figure:
    """The result of the law over both inputs, with a gap where it is not a number."""
    law = law_of(outcome.experiment, chosen)
    rows, columns = np.linspace(*chosen.rows, 51), np.linspace(*chosen.columns, 51)
    with figure(PAGE * 0.62, 3.2) as made:
        axes: Any = made.add_subplot(projection="3d")
        x, y = np.meshgrid(rows, columns, indexing="ij")
        axes.plot_surface(
            x, y, law.surface(rows, columns), cmap="cividis", linewidth=0.15, edgecolor="#333333", rcount=51, ccount=51
        )
        axes.set(xlabel=chosen.xlabel, ylabel=chosen.ylabel)
        axes.set_zlabel(chosen.zlabel)
        axes.view_init(elev=26, azim=-128)
        axes.set_box_aspect((1.2, 1.2, 0.75), zoom=0.9)
        return made


def inference(outcome: Outcome, chosen: spec.Inference) -> Figure:
    """One inference: grades of the inputs, clipped sets of the output, and the result."""
    law = law_of(outcome.experiment, chosen)
    fired = law.fired(*chosen.at)
    result = float(law.surface(np.array([chosen.at[0]]), np.array([chosen.at[1]]))[0, 0])
    with figure(PAGE, 2.0) as made:
        drawn = zip(panels(made, 3, sharey=True), law.variables(), (*chosen.at, result), chosen.ranges, strict=True)
        for position, (axes, (name, terms), at, span) in enumerate(drawn):
            x = np.linspace(*span, POINTS)
            for i, (term, grade) in enumerate(zip(terms, law.grades(name, x), strict=False)):
                strengths = [rule[3] for rule in fired if rule[position] == term]
                color = style_of(i).color if strengths else "#bbbbbb"
                axes.plot(x, grade, color=color, linewidth=1.0)
                if strengths and position == OUTPUT:
                    axes.fill_between(x, np.minimum(grade, max(strengths)), color=color, alpha=0.35, linewidth=0)
                if strengths:
                    _name_set(axes, term, (x, grade), color)
            axes.axvline(at, color="black", linewidth=0.9)
            axes.set(xlabel=f"{chosen.xlabels[position]} = {at:g}", xlim=span, ylim=(0, 1.16))
        made.axes[0].set_ylabel("membership")
        return made
