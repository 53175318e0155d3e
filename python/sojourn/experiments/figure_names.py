"""Checks the names in a figure of `experiment.toml` against those of the experiment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from sojourn.core.errors import UserError
from sojourn.experiments.consistency import unknown_name
from sojourn.experiments.model import Case, Experiment, Grid
from sojourn.experiments.schema import figures as spec
from sojourn.experiments.schema.figure import Figure
from sojourn.experiments.schema.law_figures import LawFigure

WITHOUT_RUNS = (spec.Surface, spec.Network, LawFigure)
"""Kinds that draw scenarios and queues themselves, not their runs."""


def check_figure(experiment: Experiment, figure: Figure) -> None:
    """Raises `UserError` for an unknown name and for a panel without a scenario."""
    label = f"{experiment.main}: figures[{figure.id}]"
    if figure.grid not in experiment.grids:
        raise unknown_name(f"{label}.grid", figure.grid, experiment.grids)
    if isinstance(figure, spec.ExtraFigure):
        return
    grid = experiment.grids[figure.grid]
    known = _known(experiment, None if isinstance(figure, WITHOUT_RUNS) else grid)
    for field, names in known.items():
        for name in _listed(getattr(figure, field, ())):
            if name not in names:
                raise UserError.unknown(f"{label}.{field}", name, names)
    for name in [*_listed(getattr(figure, "case", ())), *getattr(figure, "cases", ())]:
        if not any(Case.named(name) in each.cases() for each in experiment.grids.values()):
            raise UserError.unknown(f"{label}.cases", name, map(str, grid.cases()))
    match figure:
        case spec.Lines():
            _check_lines(experiment, figure, grid, label)
        case spec.Heat():
            _check_values(experiment, figure, grid, label)
        case spec.Averages() | spec.Spread():
            if not any(fnmatchcase(name, figure.scenarios) for name in grid.scenarios):
                raise UserError.unknown(f"{label}.scenarios", figure.scenarios, grid.scenarios)
        case spec.TradeOffPlot():
            _check_among(f"{label}.scenarios", figure.scenarios, grid.scenarios)
        case spec.Parallel():
            _check_among(f"{label}.axes", [axis.measure for axis in figure.axes], experiment.measures)
        case spec.Boxes():
            _check_among(f"{label}.groups", [name for group in figure.groups.values() for name in group], grid.queues)
        case spec.ByScenario():
            _check_among(f"{label}.divide", figure.divide, grid.scenarios)


def _known(experiment: Experiment, grid: Grid | None) -> Mapping[str, Iterable[str]]:
    """The names that each field can contain: those of a grid, or of the whole experiment."""
    scenarios = grid.scenarios if grid else list(experiment.scenarios)
    queues = grid.queues if grid else list(experiment.queues)
    settings = ["", *(grid.settings if grid else experiment.settings)]
    file = experiment.file
    return {
        "measure": list(experiment.measures),
        "measures": list(experiment.measures),
        "scenario": scenarios,
        "queue": queues,
        "queues": queues,
        "setting": settings,
        "settings": settings,
        "curves": list(experiment.curves),
        "designs": list(file.designs),
        "fluid": list(file.fluids),
        "also": list(experiment.grids),
    }


def _listed(value: Any) -> list[str]:
    """The names in a field: none for an empty text."""
    return [value] if isinstance(value, str) and value else list(value)


def _check_among(label: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Raises `UserError` for a name that is not known."""
    known = list(known)
    for name in names:
        if name not in known:
            raise UserError.unknown(label, name, known)


def panel_scenarios(experiment: Experiment, panel: str, grid: Grid) -> list[str]:
    """The scenarios of a panel of lines: a family, or names that begin with `<panel>_`."""
    family = experiment.families.get(panel, [])
    return [name for name in grid.scenarios if not panel or name in family or name.startswith(f"{panel}_")]


def _check_lines(experiment: Experiment, figure: spec.Lines, grid: Grid, label: str) -> None:
    """Raises `UserError` for a panel without a scenario, and for an axis without numbers."""
    for panel in figure.panels:
        if not panel_scenarios(experiment, panel, grid):
            what = f"a family, or what stands before _ in the name of a scenario ({', '.join(grid.scenarios[:12])})"
            raise UserError.expected(f"{label}.panels", what, panel)
    _check_values(experiment, figure, grid, label)
    for panel in figure.panels or [""]:
        for name in panel_scenarios(experiment, panel, grid):
            try:
                float(experiment.scenarios[name].values[figure.x])
            except ValueError:
                value = experiment.scenarios[name].values[figure.x]
                raise UserError.expected(f"{label}.x", f"numbers as values of {figure.x}", value) from None


def _check_values(experiment: Experiment, figure: spec.Lines | spec.Heat, grid: Grid, label: str) -> None:
    """Raises `UserError` for an axis that is no value of the scenarios' families."""
    shown = [
        name for panel in (getattr(figure, "panels", None) or [""]) for name in panel_scenarios(experiment, panel, grid)
    ]
    for field in ("x", "y"):
        for name in shown if hasattr(figure, field) else []:
            values = experiment.scenarios[name].values
            if getattr(figure, field) not in values:
                raise UserError.unknown(f"{label}.{field}", getattr(figure, field), values)
