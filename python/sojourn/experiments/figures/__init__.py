"""Draws a paper's figures.

A kind of figure is a class in `schema/figures.py`, a function in this package, and a line in `DRAW`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from sojourn.experiments.expression import UnknownNameError
from sojourn.experiments.figures import (
    comparison,
    diagrams,
    ellipses,
    heat,
    over_scenarios,
    over_time,
    rule_tables,
    theory,
)
from sojourn.experiments.outcome import Outcome
from sojourn.plots.style import PlotError, drawn_or_noted, settled

DRAW: dict[str, Callable[[Outcome, Any], Figure]] = {
    "surface": theory.surface,
    "expressions": theory.expressions,
    "step": theory.step,
    "bode": theory.bode,
    "fluid": theory.fluid_over_packets,
    "by-scenario": over_scenarios.by_scenario,
    "parity": over_scenarios.parity,
    "lines": over_scenarios.lines,
    "averages": over_scenarios.averages,
    "spread": over_scenarios.spread,
    "timeline": over_time.timeline,
    "series": over_time.series,
    "traces": over_time.traces,
    "ellipses": ellipses.ellipses,
    "rates": over_time.rates,
    "windows": over_time.windows,
    "trade-off": comparison.trade_off,
    "shares": comparison.shares,
    "parallel": comparison.parallel,
    "boxes": comparison.boxes,
    "map": comparison.grid_map,
    "heat": heat.heat,
    "sets": rule_tables.sets,
    "rules": rule_tables.rules,
    "control-surface": rule_tables.control_surface,
    "inference": rule_tables.inference,
    "blocks": diagrams.blocks,
    "network": diagrams.network,
}
"""The function that draws each kind of `sojourn.experiments.schema.figures.KINDS`."""


@dataclass(frozen=True)
class DrawnFigure:
    """A finished figure with its caption."""

    id: str
    grid: str
    caption: str
    figure: Figure
    as_pixels: bool
    """Whether it is better kept as pixels than as lines."""


def draw_figures(outcome: Outcome) -> list[DrawnFigure]:
    """The figures of the grids that were run. One that can't be drawn is noted."""
    ran = {grid.id for grid in outcome.grids}
    drawn: list[DrawnFigure] = []
    for spec in outcome.experiment.figures:
        if spec.grid in ran:
            drawn += drawn_or_noted(f"figure {spec.id}", partial(_draw, outcome, spec))
    return drawn


def _draw(outcome: Outcome, spec: Any) -> list[DrawnFigure]:
    """A figure as the paper specifies it; none if the rerun leaves out a case that it needs."""
    draw = DRAW.get(spec.kind) or outcome.experiment.extra.figures[spec.kind]
    try:
        figure = draw(outcome, spec)
    except (LookupError, PlotError) as error:
        cut = outcome.left_out or outcome.grid(spec.grid).refused
        if cut and isinstance(error.__cause__ or error, (KeyError, UnknownNameError)):
            return []
        raise
    return [DrawnFigure(spec.id, spec.grid, spec.caption, settled(figure), spec.as_pixels)]


__all__ = ["DRAW", "DrawnFigure", "draw_figures"]
