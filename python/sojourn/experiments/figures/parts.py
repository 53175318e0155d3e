"""Shared parts of figures: axes of scenarios, marks with intervals, cases by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sojourn.core.errors import UserError
from sojourn.core.record import Record
from sojourn.core.stats import Estimate
from sojourn.experiments.model import Case
from sojourn.experiments.outcome import LeftOutError, Outcome
from sojourn.experiments.schema.figure import Figure as FigureSpec
from sojourn.plots.style import Look


def panels(made: Figure, count: int, **options: Any) -> list[Any]:
    """Axes side by side."""
    return list(made.subplots(1, count, squeeze=False, **options)[0])


def scenario_ticks(axes: Any, outcome: Outcome, scenarios: Sequence[str]) -> None:
    """Labels of scenarios below a panel."""
    axes.set_xticks(range(len(scenarios)), [outcome.experiment.scenarios[name].label for name in scenarios])
    axes.set_xlabel(_axis_of(outcome, scenarios))


def _axis_of(outcome: Outcome, scenarios: Sequence[str]) -> str:
    """The label of an axis: the family's, else the value that varies, else `scenario`."""
    experiment = outcome.experiment
    for name, family in experiment.file.families.items():
        if family.axis and set(scenarios) <= set(experiment.families[name]):
            return family.axis
    values = [experiment.scenarios[name].values for name in scenarios]
    names = {name for each in values for name in each if len({other.get(name) for other in values}) > 1}
    return names.pop() if len(names) == 1 else "scenario"


def interval_marks(axes: Any, x: Iterable[float], found: Sequence[Estimate], look: Look, **options: Any) -> None:
    """Means with their confidence intervals."""
    errors = np.array([each.errors for each in found]).T
    axes.errorbar(x, [each.mean for each in found], yerr=errors, color=look.color, marker=look.marker, **options)


def queue_label(outcome: Outcome, queue: str) -> str:
    """The label of a queue."""
    return outcome.experiment.queues[queue].label


def records_of(outcome: Outcome, figure: FigureSpec, case: Case) -> list[Record]:
    """The records of a case, seed by seed.

    Raises `LeftOutError` for a case that the rerun leaves out.
    """
    if case in outcome.left_out or any(case in grid.refused for grid in outcome.grids):
        raise LeftOutError(str(case))
    if case not in outcome.records:
        raise UserError(f"{outcome.experiment.main}: figures[{figure.id}]: expected a case that is run, got {case}")
    return outcome.records[case]


def first_record(outcome: Outcome, figure: FigureSpec, case: Case) -> Record:
    """The first seed's record of a case; see `records_of`."""
    return records_of(outcome, figure, case)[0]
