"""Queues or controllers of the user instead of those of an experiment."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from sojourn.compare.cases import controller_tables, queue_tables, start_up_tables
from sojourn.core.errors import ScenarioError, UserError, note
from sojourn.experiments.families import Choice
from sojourn.experiments.model import Case, Experiment, Grid, algorithm

NOT_HERE = ("external", "linux")
"""Disciplines that need a law of the caller or a kernel."""
NAMED = 3
"""The number of scenarios that a `Note` names."""
TABLES = {"queue": queue_tables, "controller": controller_tables, "start-up": start_up_tables}
"""The tables of what an experiment compares, from a text."""


def with_queues(experiment: Experiment, asked: str) -> Experiment:
    """The experiment with other queues in every grid, next to its reference queue.

    `asked` has the form of `compare`, such as `codel,red(min=5,max=15)`. A case that can't be run is skipped with a
    `Note`. Raises `UserError` for a queue that does not exist, has no such parameter, or can be run in no scenario.
    """
    tables = asked_tables(experiment, asked)
    reference = experiment.file.reference_queue
    own = [label for label in tables if label != reference]
    if not own:
        raise UserError(
            f"queues: expected one or more to compare with {reference or 'each other'}, got {asked or 'none'}"
        )
    names = [*([reference] if reference else []), *own]
    choices = {label: Choice(label, label, "", tables[label]) for label in own}
    changed = replace(experiment, queues=experiment.queues | choices)
    grids = {name: each if each.fixed else replace(each, queues=names) for name, each in experiment.grids.items()}
    found = possible(changed, grids, own)
    note_refused(changed, found.values())
    return replace(changed, grids=found)


def asked_tables(experiment: Experiment, asked: str) -> dict[str, dict[str, Any]]:
    """The tables of what the experiment compares, by label.

    Raises `UserError` for one of another host.
    """
    what = experiment.file.compares
    tables = TABLES[what](asked)
    for label, table in tables.items():
        if (name := algorithm(table)) in NOT_HERE:
            raise UserError(f'queues "{label}": expected a {what} of the simulator, got {name}')
    return tables


def possible(
    experiment: Experiment, grids: Mapping[str, Grid], own: Collection[str], laws: Collection[str] = ()
) -> dict[str, Grid]:
    """The grids without the cases that can't be run.

    `laws` are the names of laws in Python. Raises `UserError` if a queue in `own` can be run in no case.
    """
    cases = list(dict.fromkeys(case for grid in grids.values() for case in grid.cases()))
    why = _impossible(experiment, cases, laws)
    for label in own:
        of_queue = [case for case in cases if case.queue == label]
        if of_queue and all(case in why for case in of_queue):
            raise UserError(f'queues "{label}": {why[of_queue[0]]}')
    refused = {name: {case: why[case] for case in grid.cases() if case in why} for name, grid in grids.items()}
    return {name: replace(grid, refused=refused[name]) for name, grid in grids.items()}


def note_refused(experiment: Experiment, grids: Iterable[Grid]) -> None:
    """Names the cases that can't be run in a `Note` for each queue and reason."""
    scenarios: dict[tuple[str, str], list[str]] = {}
    for grid in grids:
        for case in [case for case in grid.every() if grid.refused.get(case)]:
            named = scenarios.setdefault((experiment.queues[case.queue].label, grid.refused[case]), [])
            named += [case.scenario] if case.scenario not in named else []
    for (label, reason), named in scenarios.items():
        more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
        note(f"not run: {label} in {', '.join(named[:NAMED])}{more}: {reason}")


def _impossible(experiment: Experiment, cases: Iterable[Case], laws: Collection[str] = ()) -> dict[Case, str]:
    """The cases whose scenario can't be run, and the reason of each.

    `laws` are the names of laws in Python.
    """
    why: dict[Case, str] = {}
    for case in cases:
        scenario = experiment.scenario(case)
        try:
            scenario.canonical(laws or None)
        except ScenarioError as error:
            places = experiment.scenarios[case.scenario].queue_at or experiment.file.queue_at
            said = str(error).removeprefix(f"{scenario.label}: ")
            why[case] = said.rpartition(places[0])[2].lstrip(".: ")
    return why
