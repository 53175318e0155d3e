"""An experiment's folder, read and checked: its TOML files, its scenarios, and the values in `expected/`."""

from __future__ import annotations

import csv
import functools
import hashlib
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.errors import UserError
from sojourn.experiments.braces import BRACES, filled
from sojourn.experiments.claims import Claim, PublishedValues, expand_claims
from sojourn.experiments.expression import UnknownNameError, evaluate, fill
from sojourn.experiments.extra import Extra, load_extra
from sojourn.experiments.families import (
    MOST_CASES,
    Choice,
    Curve,
    ExperimentScenario,
    expand_curve,
    expand_family,
    plain_scenario,
)
from sojourn.experiments.readings import TAKES, Reading
from sojourn.experiments.schema import ClaimsFile, DeviationsFile, ExperimentFile
from sojourn.experiments.schema.claims import NoteTable, Origin, PublishedTable
from sojourn.experiments.schema.deviations import Deviation
from sojourn.experiments.schema.experiment import Fluid, GridTable, Measure
from sojourn.experiments.schema.figure import Figure
from sojourn.experiments.schema.figures import KINDS
from sojourn.experiments.schema.toml import read_toml
from sojourn.experiments.schema.variables import Choosing
from sojourn.experiments.verdict import parse_target
from sojourn.record import Record
from sojourn.scenario import Scenario, load, read_text

if TYPE_CHECKING:
    from sojourn.experiments.control_designs import ControlDesigns


@dataclass(frozen=True, order=True)
class Case:
    """One scenario under one queue, with a setting or without."""

    scenario: str
    queue: str
    setting: str = ""

    def __str__(self) -> str:
        return ".".join(filter(None, (self.scenario, self.queue, self.setting)))

    def other(self, place: Sequence[str], experiment: Experiment) -> Case:
        """The case that names before a measure stand for.

        One name is another queue, scenario or setting; several are scenario, queue and setting.
        """
        if len(place) > 1:
            return Case(*place[:3])
        kinds: dict[str, Collection[str]] = {
            "queue": experiment.queues,
            "scenario": experiment.scenarios,
            "setting": experiment.settings,
        }
        return replace(self, **{next(kind for kind in kinds if each in kinds[kind]): each for each in place})


@dataclass(frozen=True)
class Grid:
    """A grid of runs: scenarios by queues by settings."""

    id: str
    title: str
    scenarios: list[str]
    queues: list[str]
    settings: list[str]
    measures: list[str]
    replications: int | None
    """Seeds of its runs, where they are fewer than the paper's."""
    optional: bool
    """Whether a whole rerun leaves it out."""
    quick_set: dict[str, Any]
    quick_scenarios: list[str]
    """The scenarios that `--quick` runs."""
    pairs: bool = False
    """Whether its queues are compared pair by pair."""
    fixed: bool = False
    """Whether its queues can't be replaced."""
    refused: frozenset[Case] = frozenset()
    """Cases that can't be run, because the scenario does not suit the queue."""

    def quick(self) -> Grid:
        """The grid as `--quick` runs it."""
        return replace(self, scenarios=self.quick_scenarios)

    def cases(self) -> list[Case]:
        """The cases of the grid; the setting `""` is the scenario unchanged."""
        every = [Case(s, q, t) for s in self.scenarios for q in self.queues for t in self.settings]
        return [case for case in every if case not in self.refused] if self.refused else every


@dataclass(frozen=True)
class Experiment:
    """Everything in an experiment's folder. `file` is `experiment.toml` as written; the rest is made from it."""

    root: Path
    file: ExperimentFile
    scenarios: dict[str, ExperimentScenario]
    families: dict[str, list[str]]
    """The scenarios of each family."""
    queues: dict[str, Choice]
    settings: dict[str, Choice]
    curves: dict[str, Curve]
    grids: dict[str, Grid]
    published: PublishedValues
    reference: PublishedValues
    units: dict[tuple[str, str, str], str]
    claims: list[Claim]
    tables: list[PublishedTable]
    notes: list[NoteTable]
    deviations: list[Deviation]

    @property
    def id(self) -> str:
        """The paper's name."""
        return self.file.id

    @property
    def measures(self) -> dict[str, Measure]:
        """The measures by name."""
        return self.file.measures

    @property
    def fluids(self) -> dict[str, Fluid]:
        """The fluid runs by name."""
        return self.file.fluids

    @property
    def figures(self) -> list[Figure]:
        """The figures."""
        return list(self.file.figures)

    @property
    def main(self) -> Path:
        """The file `experiment.toml`."""
        return self.root / "experiment.toml"

    @property
    def byline(self) -> str:
        """Authors, venue and year, as far as there are any."""
        where = ", ".join(filter(None, (self.file.venue, str(self.file.year or ""))))
        return ". ".join(filter(None, (", ".join(self.file.authors), where)))

    @property
    def citation(self) -> str:
        """Authors, title, venue and year in one line, as far as there are any."""
        authors = f"{', '.join(self.file.authors)}: " if self.file.authors else ""
        where = ", ".join(filter(None, (self.file.venue, str(self.file.year or ""))))
        return f"{authors}{self.file.title}" + (f". {where}" if where else "")

    @property
    def origin(self) -> Origin:
        """Who says what the headline counts: the paper, or, without a venue, the experiment itself."""
        return "paper" if self.file.venue else "ours"

    @functools.cached_property
    def _read(self) -> dict[Path, Scenario]:
        """The scenario files that were read: each once, so that all cases have the same content."""
        return {}

    @functools.cached_property
    def extra(self) -> Extra:
        """What the experiment's `extra.py` defines; nothing where there is none."""
        return load_extra(self.root)

    @functools.cached_property
    def control_designs(self) -> ControlDesigns:
        """The paper's designs of controllers, each computed once."""
        from sojourn.experiments.control_designs import ControlDesigns  # here: python-control takes a second to load

        return ControlDesigns(self.file.designs, self.file.step, self.extra)

    def replications(self, grids: Iterable[Grid]) -> int:
        """The seeds of a whole rerun of some grids: those of the one that has most."""
        return max((each.replications or self.file.replications for each in grids), default=self.file.replications)

    def measure(self, scenario: str, name: str) -> Measure:
        """A measure as this scenario takes it."""
        found = self.scenarios[scenario].measures.get(name) or self.measures.get(name)
        if found is None:
            raise UserError(f'{self.root}: measure: expected one of {", ".join(self.measures)}, got "{name}"')
        return found

    def value(self, scenario: str, name: str, record: Record) -> float:
        """A measure of a record, NaN where the record has none. `Outcome.values` computes formulas."""
        measure = self.measure(scenario, name)
        if measure.series:
            reading = reading_of(measure, self.scenarios[scenario].values)
            if measure.after and reading.between is not None:
                event = self.value(scenario, measure.after, record)
                if not math.isfinite(event):
                    return float("nan")
                reading = replace(reading, between=(event + reading.between[0], event + reading.between[1]))
            try:
                return reading.of(record, measure.scale, self.extra.readings)
            except UserError as error:
                raise UserError(f"{self.main}: measures.{name}.{error}") from None
        if measure.share_of:
            parts = [float(record.value(path) or 0.0) for path in measure.share_of]
            return parts[0] / sum(parts) * measure.scale if sum(parts) else float("nan")
        values = [record.value(each.strip()) for each in measure.path.split(" + ")]
        return float("nan") if None in values else sum(float(value) for value in values) * measure.scale

    def queue_table(self, queue: str, scenario: str | None = None) -> dict[str, Any]:
        """A queue's parameters, with those that a scenario replaces; `{x}` is the value of the scenario's family."""
        if scenario is None:
            return self.queues[queue].table
        chosen = self.scenarios[scenario]
        return self._filled(self.queues[queue].table, chosen) | chosen.queue

    def _filled(self, table: dict[str, Any], scenario: ExperimentScenario) -> dict[str, Any]:
        """A table with the values of a scenario's family in it; as it is for a scenario of no family."""
        return dict(filled(table, scenario.values)) if scenario.values else table

    def concerns(self, chosen: Choosing, case: Case) -> bool:
        """Whether a case is among those that a table of a file names."""
        curves = [name for name, curve in self.curves.items() if case.queue in curve.queues]
        families = [name for name, found in self.families.items() if case.scenario in found]
        asked = [
            (chosen.scenarios, [case.scenario, *families]),
            (chosen.queues, [case.queue, *curves]),
            (chosen.settings, [case.setting]),
        ]
        return all(
            not patterns or any(fnmatchcase(name, pattern) for name in names for pattern in patterns)
            for patterns, names in asked
        )

    def drawn(self, case: Case, seed: int) -> dict[str, Any]:
        """The fields that are drawn for a seed: the same for every queue, for they depend on the seed alone."""
        found: dict[str, Any] = {}
        for each in self.file.draws:
            if self.concerns(each, case):
                digest = hashlib.sha256(f"{seed}/{each.label}".encode()).digest()
                found |= each.changes(each.value(int.from_bytes(digest[:8], "big") / 2**64))
        return found

    def scenario(self, case: Case, over: Mapping[str, Any] | None = None) -> Scenario:
        """The scenario of a case; the fields in `over` are changed last."""
        chosen = self.scenarios[case.scenario]
        if chosen.file not in self._read:
            self._read[chosen.file] = load(chosen.file)
        scenario = self._read[chosen.file].copy()
        scenario.set_all(chosen.set)
        for at in chosen.queue_at or (self.file.queue_at,):
            scenario.set(at, self.queue_table(case.queue, case.scenario))
            scenario.set_all({path: value for path, value in chosen.set.items() if path.startswith(f"{at}.")})
        if case.setting:
            scenario.set_all(self._filled(self.settings[case.setting].table, chosen))
        scenario.set_all(dict(over or {}))
        scenario.set("name", self.id)  # not the case's: cases with the same network and traffic are run once
        scenario.label = f"{self.scenarios[case.scenario].file.name} as {case}"
        return scenario


def reading_of(measure: Measure, values: Mapping[str, str] | None = None) -> Reading:
    """How a measure of a series is computed in a scenario whose family has these values."""
    keys = ("series", "column", "take", "between", "event", "nth", "span", "bin", "share", "last")
    than = float(filled(measure.than, values or {}))
    return Reading(than=than, **{key: getattr(measure, key) for key in keys})


@dataclass(frozen=True)
class _Names:
    """Every name that a grid can refer to."""

    kinds: dict[str, list[str]]
    families: dict[str, list[str]]
    curves: dict[str, Curve]


def _grid(label: str, table: GridTable, names: _Names) -> Grid:
    """A grid, with families and curves spelled out and every name checked."""
    lists = {kind: list(getattr(table, kind)) for kind in names.kinds}
    known = names.kinds["scenarios"]
    lists["scenarios"] = [
        each for name in lists["scenarios"] for each in names.families.get(name) or _fitting(known, [name]) or [name]
    ]
    for kind, given in lists.items():
        for name in given:
            if name not in names.kinds[kind] and not (kind == "settings" and name == ""):
                raise _unknown(f"{label}: grids.{table.id}.{kind}", name, names.kinds[kind])
    for curve in table.curves:
        if curve not in names.curves:
            raise _unknown(f"{label}: grids.{table.id}.curves", curve, names.curves)
        lists["queues"] += names.curves[curve].queues
    cases = len(lists["scenarios"]) * len(lists["queues"]) * max(1, len(lists["settings"]))
    if cases > MOST_CASES:
        raise UserError(f"{label}: grids.{table.id}: expected at most {MOST_CASES} cases, got {cases}")
    return Grid(
        table.id, table.title, lists["scenarios"], lists["queues"], lists["settings"] or [""], lists["measures"],
        table.replications, table.optional, table.quick_set,
        lists["scenarios"] if table.quick_scenarios is None else _fitting(lists["scenarios"], table.quick_scenarios),
        pairs=table.pairs, fixed=table.fixed,
    )  # fmt: skip


def _fitting(names: Iterable[str], patterns: list[str]) -> list[str]:
    """The names that fit one of some patterns."""
    return [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)]


def _unknown(field: str, got: str, known: Mapping[str, Any] | list[str]) -> UserError:
    return UserError(f'{field}: expected one of {", ".join(known) or "none"}, got "{got}"')


def read_published(path: Path) -> tuple[PublishedValues, dict[tuple[str, str, str], str]]:
    """Published values and their units, by scenario, queue and measure."""
    values: PublishedValues = {}
    units: dict[tuple[str, str, str], str] = {}
    for number, row in enumerate(_rows(path), start=2):
        try:
            key = (row["scenario"], row["queue"], row["measure"])
            values[key], units[key] = float(row["value"]), row["unit"]
        except (KeyError, ValueError, TypeError):
            got = ",".join(str(cell) for cell in row.values())
            raise UserError(f'{path}:{number}: row: expected scenario,queue,measure,value,unit, got "{got}"') from None
    return values, units


def _rows(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a table with a header."""
    try:
        yield from csv.DictReader(read_text(path).splitlines())
    except csv.Error as error:
        raise UserError(f"{path}: expected a table in CSV, got one with a {error}") from None


def _merged(root: Path, names: list[str]) -> tuple[PublishedValues, dict[tuple[str, str, str], str]]:
    """The values of several files, and their units."""
    values: PublishedValues = {}
    units: dict[tuple[str, str, str], str] = {}
    for name in names:
        more, their_units = read_published(root / name)
        values |= more
        units |= their_units
    return values, units


def load_experiment(root: Path) -> Experiment:
    """The paper in a folder. Raises `UserError`, one line with file and field, for the first mistake."""
    label = str(root / "experiment.toml")
    file = read_toml(root / "experiment.toml", ExperimentFile)
    families = {name: expand_family(root, table, f"{label}: families.{name}") for name, table in file.families.items()}
    scenarios = {name: plain_scenario(root, table) for name, table in file.scenarios.items()}
    scenarios |= {each.id: each for family in families.values() for each in family}
    queues = {name: Choice(name, each.label, each.title, each.queue) for name, each in file.queues.items()}
    settings = {name: Choice(name, each.label, each.title, each.set) for name, each in file.settings.items()}
    curves = {}
    for name, table in file.curves.items():
        curves[name], points = expand_curve(table)
        queues |= points
    kinds = {
        "scenarios": list(scenarios), "queues": list(queues), "settings": list(settings),
        "measures": list(file.measures),
    }  # fmt: skip
    family_names = {name: [each.id for each in family] for name, family in families.items()}
    names = _Names(kinds, family_names, curves)
    grids = {name: _grid(label, table, names) for name, table in file.grids.items()}
    published, units = _merged(root, file.published)
    reference, their_units = _merged(root, file.reference)
    units |= their_units
    claims_file = read_toml(root / "claims.toml", ClaimsFile)
    usual: Origin = "paper" if file.venue else "ours"
    claims, tables = expand_claims(str(root / "claims.toml"), claims_file, published, reference, usual)
    ledger = root / "deviations.toml"
    deviations = read_toml(ledger, DeviationsFile).deviations if ledger.exists() else []
    experiment = Experiment(
        root,
        file,
        scenarios,
        family_names,
        queues,
        settings,
        curves,
        grids,
        published,
        reference,
        units,
        claims,
        tables,
        claims_file.notes,
        deviations,
    )
    _check_kinds(experiment, label)
    _check_scores(experiment, label)
    _check_formulas(experiment, label)
    _check_variables(experiment, label)
    return experiment


def _check_variables(experiment: Experiment, label: str) -> None:
    """Refuses a value left open that changes no run."""
    cases = [(each.id, case) for each in experiment.grids.values() for case in each.cases()]
    for kind, variables in (("draws", experiment.file.draws), ("omitted", experiment.file.omitted)):
        for variable in variables:
            asked = getattr(variable, "grids", [])
            for name in asked:
                if name not in experiment.grids:
                    raise _unknown(f"{label}: {kind}[{variable.label}].grids", name, list(experiment.grids))
            if not any(experiment.concerns(variable, case) for name, case in cases if not asked or name in asked):
                raise UserError(f"{label}: {kind}[{variable.label}]: expected runs that it changes, got none")


def _check_scores(experiment: Experiment, label: str) -> None:
    """Refuses a score without a reference, of an unknown measure, or with a target that is none."""
    reference = experiment.file.reference_queue
    if reference and reference not in experiment.queues:
        raise _unknown(f"{label}: reference_queue", reference, experiment.queues)
    for name, score in experiment.file.scores.items():
        if not reference:
            raise UserError(f"{label}: scores.{name}: expected a reference_queue, got none")
        for measure, target in score.holds.items():
            if measure not in experiment.measures:
                raise _unknown(f"{label}: scores.{name}.holds", measure, experiment.measures)
            try:
                parse_target(target)
            except UserError as error:
                raise UserError(f"{label}: scores.{name}.holds.{measure}: {error}") from None


def _check_formulas(experiment: Experiment, label: str) -> None:
    """Refuses a formula that is no expression of measures that come straight from a run."""
    plain = [each.id for each in experiment.measures.values() if not each.formula]

    def one(path: tuple[str, ...]) -> float:
        names = (*experiment.queues, *experiment.settings, *experiment.scenarios)
        if path[-1] not in plain or any(each not in names for each in path[:-1]):
            raise UnknownNameError(".".join(path))
        return 1.0

    some = next((each.values for each in experiment.scenarios.values() if each.values), {})
    for measure in experiment.measures.values():
        try:
            evaluate(BRACES.sub("1", fill(measure.formula or "1", some)), one)
        except UnknownNameError as error:
            raise _unknown(f"{label}: measures.{measure.id}.formula", str(error), plain) from None
        except UserError as error:
            raise UserError(f"{label}: measures.{measure.id}.formula: {error}") from None


def _check_kinds(experiment: Experiment, label: str) -> None:
    """Refuses what neither this package nor the experiment's `extra.py` knows; loads `extra.py` only where it must."""
    for figure in experiment.figures:
        if figure.kind not in KINDS and figure.kind not in experiment.extra.figures:
            raise _unknown(f"{label}: figures[{figure.id}].kind", figure.kind, [*KINDS, *experiment.extra.figures])
    own = [measure for each in experiment.scenarios.values() for measure in each.measures.values()]
    for measure in (*experiment.measures.values(), *own):
        if measure.series and measure.take not in TAKES and measure.take not in experiment.extra.readings:
            known = [*TAKES, *experiment.extra.readings]
            raise _unknown(f"{label}: measures.{measure.id}.take", measure.take, known)
        if measure.after:
            events = [each.id for each in experiment.measures.values() if each.series and not each.after]
            if measure.after not in events:
                raise _unknown(f"{label}: measures.{measure.id}.after", measure.after, events)
