"""Checks without a run everything that could otherwise stop an experiment after its runs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from sojourn.core import record_schema
from sojourn.core.errors import ScenarioError, UserError
from sojourn.core.measure_paths import check_number
from sojourn.experiments.audit import check_mutants, plan_of
from sojourn.experiments.expression import names_of
from sojourn.experiments.figure_names import check_figure
from sojourn.experiments.folder import load_experiment
from sojourn.experiments.model import Case, Experiment, Grid
from sojourn.experiments.needs import measures_of_claim
from sojourn.experiments.schema.experiment import Measure

Asked = Iterable[tuple[str, str]]
"""Scenarios with a measure of each."""


def check_folder(folder: Path) -> tuple[Experiment, int]:
    """Checks a folder; returns the experiment and the number of its cases.

    It checks every scenario, whole and with `--quick`, and every name in every file. Raises `UserError` or
    `ScenarioError` for the first mistake.
    """
    experiment = load_experiment(folder)
    grids = list(experiment.grids.values())
    cases = {case for grid in grids for case in grid.cases()}
    for case in sorted(cases):
        experiment.scenario(case, experiment.drawn(case, 1)).canonical()
    for grid in grids:
        _check_quick(experiment, grid)
    check_results(experiment, grids)
    if (experiment.root / "mutants.toml").exists():
        check_mutants(plan_of(experiment))
    return experiment, len(cases)


def check_results(experiment: Experiment, grids: Sequence[Grid]) -> None:
    """Raises `UserError` for a mistake in the measures, claims and figures of some grids."""
    asked = [
        (scenario, name)
        for grid in grids
        for scenario in grid.scenarios
        for name in grid.measures or experiment.measures
    ]
    for claim in experiment.claims:
        asked += measures_of_claim(experiment, claim)
    _check_measures(experiment, asked)
    chosen = {grid.id for grid in grids}
    for figure in experiment.figures:
        if figure.grid not in experiment.grids or figure.grid in chosen:
            check_figure(experiment, figure)


def _check_quick(experiment: Experiment, grid: Grid) -> None:
    """Checks what `--quick` changes in a grid."""
    label = f"{experiment.main}: grids.{grid.id}"
    for pattern in experiment.file.grids[grid.id].quick_scenarios or []:
        if not any(fnmatchcase(name, pattern) for name in grid.scenarios):
            raise UserError.unknown(f"{label}.quick_scenarios", pattern, grid.scenarios)
    for case in grid.cases() if grid.quick_set else []:
        scenario = experiment.scenario(case)
        try:
            scenario.set_all(grid.quick_set)
            scenario.canonical()
        except (ScenarioError, UserError) as error:
            said = str(error).removeprefix(f"{scenario.label}: ")
            raise UserError(f"{label}.quick_set: {said}") from None


def _check_measures(experiment: Experiment, asked: Asked) -> None:
    """Checks the paths and traces of measures, and of the measures that these need."""
    names: dict[str, dict[str, list[str]]] = {}
    first = next(iter(experiment.queues), "")
    queues = {case.scenario: case.queue for grid in experiment.grids.values() for case in grid.cases()[::-1]}
    for scenario, name in dict.fromkeys(_with_needed(experiment, asked)):
        if scenario not in names:
            names[scenario] = _names_in(experiment.scenario(Case(scenario, queues.get(scenario, first))).resolved())
        measure = experiment.measure(scenario, name)
        label = f"{experiment.main}: measures.{name}"
        for field, paths in (("path", measure.path.split(" + ")), ("share_of", measure.share_of)):
            for path in filter(None, paths):
                check_number(path.strip(), names[scenario], f"{label}.{field}")
        if measure.series:
            _check_series(measure, names[scenario], label)


def _with_needed(experiment: Experiment, asked: Asked) -> Iterator[tuple[str, str]]:
    """The measures asked for, and those that their formulas and braces name."""
    waiting, seen = list(asked), set()
    while waiting:
        scenario, name = waiting.pop()
        if (scenario, name) in seen:
            continue
        seen.add((scenario, name))
        yield scenario, name
        measure = experiment.measure(scenario, name)
        texts = (measure.formula, measure.column, measure.at, measure.than, measure.after, *measure.outside)
        words = re.findall(r"[\w.]+", " ".join(map(str, (*texts, *(measure.between or ())))))
        waiting += [(scenario, word) for word in words if word in experiment.measures]


def _names_in(resolved: Mapping[str, Any]) -> dict[str, list[str]]:
    """The names of links, groups and flows in the record of a scenario."""
    groups = resolved["groups"]
    return {
        "links": [str(each["name"]) for each in resolved["links"]],
        "groups": [str(each["name"]) for each in groups],
        "flows": [f"{each['name']}/{i}" for each in groups for i in range(int(each.get("count", 1)))],
    }


def _check_series(measure: Measure, names: Mapping[str, Collection[str]], label: str) -> None:
    """Checks the kind of a trace, what it is of, and its columns."""
    kind, _, of = measure.series.partition("/")
    kinds = [each for each in record_schema.series_kinds() if fnmatchcase(each.kind, kind)]
    if not kinds:
        known = dict.fromkeys(f"{each.kind}/<{each.of}>" for each in record_schema.series_kinds())
        raise UserError.unknown(f"{label}.series", measure.series, known)
    owners = [name for each in kinds for name in names.get(f"{each.of}s", ())]
    if owners and not any(fnmatchcase(name, of) for name in owners):
        raise UserError.unknown(f"{label}.series", measure.series, [f"{kind}/{name}" for name in owners])
    columns = dict.fromkeys(name for each in kinds for name in each.columns)
    for name in [] if measure.optional else names_of(re.sub(r"\{[^{}]*\}", "1", measure.column)):
        if name not in columns and name != "t":
            raise UserError.unknown(f"{label}.column", name, columns)
