"""The subject of an evaluation: its varied parameters, and numbers without a run."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sojourn import _sojourn
from sojourn.core.errors import ScenarioError, UserError
from sojourn.core.scenario_files import read_text
from sojourn.experiments.expression import Functions, UndecidableError, Value
from sojourn.experiments.families import Choice
from sojourn.experiments.model import NAMING, SUBJECT, Case, Experiment, Grid, algorithm
from sojourn.experiments.outcome import Outcome

QUANTITY = re.compile(r"([0-9.]+)( ?[A-Za-z/]+)")
"""A number with its unit, such as `5 ms`."""
MARGINS = ("gain", "phase", "delay")
"""The margins of a loop: a factor, degrees, and seconds."""


def with_varied(experiment: Experiment) -> Experiment:
    """The experiment with a setting for each varied number of the subject.

    The clauses that ask for them run the subject with each. Numbers that are 0 or below mean "automatic" or "off" and
    are not varied. Values outside a parameter's range are left out.
    """
    settings, grids = dict(experiment.settings), dict(experiment.grids)
    for name, clause in experiment.clauses.items():
        if name in grids and clause.vary_subject:
            grid = grids[name]
            made = {each.id: each for each in _varied(experiment, grid, clause.vary_subject)}
            settings |= made
            others = {Case(s, q, t): "" for s in grid.scenarios for q in grid.queues if q != SUBJECT for t in made}
            grids[name] = replace(grid, settings=["", *made], refused={**others, **grid.refused})
    return replace(experiment, settings=settings, grids=grids)


def _varied(experiment: Experiment, grid: Grid, factors: Sequence[float]) -> Iterator[Choice]:
    """The settings that change one number of the subject and are valid in every scenario."""
    table = experiment.queues[SUBJECT].table
    for parameter, value in (_defaults(table) | table).items():
        for factor in factors:
            changed = _times(value, factor)
            if changed is None:
                continue
            places = {at for each in grid.scenarios for at in experiment.scenarios[each].queue_at}
            set_ = {f"{at}.{parameter}": changed for at in places or experiment.file.queue_at}
            label = f"{parameter} = {changed}"
            choice = Choice(f"{parameter}_times_{factor:g}".replace(".", "_"), label, label, set_)
            if all(_permitted(experiment, Case(each, SUBJECT), choice) for each in grid.scenarios):
                yield choice


def _defaults(table: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of an algorithm with their defaults; none for one in Python."""
    registry = json.loads(_sojourn.registry())
    kind = next((key for key in NAMING if key in table), "")
    entries = {each["name"]: each for each in registry.get(kind, [])}
    return dict(entries.get(algorithm(table), {}).get("parameters", {}))


def _times(value: Any, factor: float) -> Any:
    """A number or quantity above 0 times a factor; `None` for another value."""
    if isinstance(value, str) and (found := QUANTITY.fullmatch(value)):
        number = float(found[1]) * factor
        return f"{number:g}{found[2]}" if number > 0 else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
        return None
    return round(value * factor) or None if isinstance(value, int) else value * factor


def _permitted(experiment: Experiment, case: Case, choice: Choice) -> bool:
    """Whether a case with a setting is a valid scenario."""
    try:
        experiment.scenario(case, choice.table).canonical()
    except (ScenarioError, UserError):
        return False
    return True


def subject_functions(outcome: Outcome) -> Functions:
    """Functions of a scenario and a queue: over the varied parameters, or without a run."""
    experiment = outcome.experiment

    def varied(pick: np.ufunc) -> Any:
        def function(scenario: str, queue: str, measure: str) -> Value:
            cases = {case for grid in experiment.grids.values() for case in grid.cases() if case.setting}
            own = sorted(case for case in cases if (case.scenario, case.queue) == (scenario, queue))
            values = [outcome.values(case, measure) for case in own]
            if not values:
                raise UndecidableError(f"{experiment.queues[queue].label} has no numbers to vary.")
            return np.asarray(pick.reduce(values), dtype=np.float64)

        return function

    def margin(scenario: str, queue: str, what: str) -> Value:
        if what not in MARGINS:
            raise UserError.unknown("margin", what, MARGINS)
        case = Case(scenario, queue)
        return outcome.theory(case, lambda: _margin(experiment, case, what))

    def listed(scenario: str, queue: str, file: str) -> Value:
        name = algorithm(experiment.queue_table(queue))
        return outcome.theory(Case(scenario, queue), lambda: _listed(experiment, file, name))

    return {
        "least_varied": varied(np.minimum),
        "greatest_varied": varied(np.maximum),
        "margin": margin,
        "listed": listed,
    }


def _margin(experiment: Experiment, case: Case, what: str) -> float:
    """A margin of the loop of a case.

    Raises `UndecidableError` if the fluid model does not cover its queue.
    """
    from sojourn.analysis import Loop, managed  # here: python-control takes a second to load

    try:
        loop = managed(experiment.scenario(case))
        return float(getattr(Loop(loop.queue, loop.plant).margins(), what))
    except ScenarioError as error:
        raise UndecidableError(f"The fluid model does not cover this queue: {error}") from None


def _listed(experiment: Experiment, file: str, name: str) -> float:
    """The number of an algorithm in a file with the columns `name` and `value`."""
    path = experiment.root / file
    rows = {row.get("name"): row.get("value") for row in csv.DictReader(read_text(path).splitlines())}
    if name not in rows:
        raise UndecidableError(f"{file} has no number for {name}.")
    try:
        return float(rows[name] or "")
    except ValueError:
        raise UserError.expected(f"{path}: {name}", "a number", rows[name]) from None
