"""Applies a mutant's parameters to laws of queues, designs and fluid runs.

These need no run. Claims reach them by `surface`, `slope_backlog`, `slope_change`, `design` and `fluid`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from sojourn.core import field_paths
from sojourn.experiments.model import Case, Experiment
from sojourn.experiments.schema.mutants import MutantTable

Changes = Callable[[Case], Mapping[str, Any]]
"""The fields of the scenario file that a mutant changes in a case."""
Scaled = Callable[[Any, float, str], Any]
"""A value with a number, times a factor; the text begins the message of an error."""


def with_laws(experiment: Experiment, mutant: MutantTable, changes: Changes, scaled: Scaled) -> Experiment:
    """The experiment with the mutant's laws; the same experiment if it changes none.

    A law has no scenario: a mutant of some scenarios or settings leaves all laws as they are. A fluid run or a design
    changes if it belongs to the AQM of a changed queue: the AQM of its queue, or its method, has this name.
    """
    if mutant.patch or mutant.scenarios or mutant.settings:
        return experiment
    first = {case.queue: case for grid in experiment.grids.values() for case in grid.cases()}
    tables = {name: _changed(experiment, changes(case)) for name, case in first.items()}
    queues = {
        name: replace(queue, table=_with(queue.table, tables[name])) if tables.get(name) else queue
        for name, queue in experiment.queues.items()
    }
    if queues == experiment.queues:
        return experiment
    aqms = {str(queue.table.get("aqm")) for name, queue in experiment.queues.items() if tables.get(name)}
    fluids = {
        name: fluid.model_copy(update={"queue": fluid.queue | _present(experiment, mutant, fluid.queue, scaled)})
        if fluid.queue.get("aqm") in aqms
        else fluid
        for name, fluid in experiment.file.fluids.items()
    }
    designs = {
        name: design.model_copy(update=_present(experiment, mutant, _numbers(design.model_extra or {}), scaled))
        if design.method in aqms
        else design
        for name, design in experiment.file.designs.items()
    }
    file = experiment.file.model_copy(update={"fluids": fluids, "designs": designs})
    return replace(experiment, queues=queues, file=file)


def _changed(experiment: Experiment, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields inside the queue, by their paths there."""
    return {inside: value for path, value in fields.items() for inside in _inside(experiment, path)}


def _inside(experiment: Experiment, path: str) -> Iterator[str]:
    """The path of a field inside the queue, if it is one."""
    for at in experiment.file.queue_at:
        if path.startswith(f"{at}."):
            yield path.removeprefix(f"{at}.")


def _present(experiment: Experiment, mutant: MutantTable, table: Mapping[str, Any], scaled: Scaled) -> dict[str, Any]:
    """The mutant's fields that a table has, with their new values."""
    found = {name: value for name, value in _changed(experiment, mutant.set).items() if name in table}
    for name, factor in _changed(experiment, mutant.scale).items():
        if name in table:
            found[name] = scaled(table[name], factor, f"mutants[{mutant.id}].scale.{name}")
    return found


def _numbers(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: float(value) for name, value in table.items() if isinstance(value, (int, float))}


def _with(table: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """A table with some fields replaced, by their paths."""
    found = dict(table)
    for path, value in fields.items():
        first, *rest = field_paths.split(path)
        found[first] = _with(found.get(first, {}), {".".join(map(field_paths.element, rest)): value}) if rest else value
    return found
