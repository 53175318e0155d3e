"""An experiment: its files, scenarios, queues, grids and claims."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.core.errors import UserError
from sojourn.core.record import Record
from sojourn.core.scenario import Scenario
from sojourn.core.scenario_files import load
from sojourn.experiments.braces import filled
from sojourn.experiments.claims import Claim, PublishedValues
from sojourn.experiments.expression import UnknownNameError
from sojourn.experiments.extra import Extra, load_extra
from sojourn.experiments.families import Choice, Curve, ExperimentScenario
from sojourn.experiments.run_measures import TAKEN, RunMeasures
from sojourn.experiments.schema import ExperimentFile
from sojourn.experiments.schema.claims import NoteTable, Origin, PublishedTable
from sojourn.experiments.schema.clauses import ClauseFile
from sojourn.experiments.schema.coverage import CoverageFile
from sojourn.experiments.schema.deviations import Deviation
from sojourn.experiments.schema.experiment import Fluid, Measure
from sojourn.experiments.schema.figure import Figure
from sojourn.experiments.schema.variables import Choosing
from sojourn.experiments.wording import Wording, wording_of

if TYPE_CHECKING:
    from sojourn.experiments.control_designs import ControlDesigns


SUBJECT = "subject"
"""The entry of `queues` that an evaluation replaces by its subject."""

NAMING = ("aqm", "cc", "name")
"""The fields that name the algorithm of a queue, a controller or a start-up."""


def algorithm(table: Mapping[str, Any]) -> str:
    """The name of the algorithm of a queue, a controller or a start-up; "" for another table."""
    return str(next((table[key] for key in NAMING if key in table), ""))


@dataclass(frozen=True, order=True)
class Case:
    """One scenario under one queue, with a setting or without."""

    scenario: str
    queue: str
    setting: str = ""

    def __str__(self) -> str:
        return ".".join(filter(None, (self.scenario, self.queue, self.setting)))

    @classmethod
    def named(cls, name: str) -> Case:
        """The case `scenario.queue` or `scenario.queue.setting`."""
        scenario, _, rest = name.partition(".")
        queue, _, setting = rest.partition(".")
        return cls(scenario, queue, setting)

    def other(self, place: Sequence[str], experiment: Experiment) -> Case:
        """The case named by the names before a measure.

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


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A grid of runs: scenarios by queues by settings."""

    id: str
    title: str
    scenarios: list[str]
    queues: list[str]
    settings: list[str]
    measures: list[str]
    replications: int | None
    """Seeds of its runs, if they are fewer than the paper's."""
    optional: bool
    """Whether a whole rerun skips it."""
    quick_set: dict[str, Any]
    quick_scenarios: list[str]
    """The scenarios that `--quick` runs."""
    pairs: bool = False
    """Whether its queues are compared pair by pair."""
    fixed: bool = False
    """Whether its queues can't be replaced."""
    refused: Mapping[Case, str] = field(default_factory=dict)
    """Cases that aren't run: why they can't be, or "" if they are not asked for."""

    def quick(self) -> Grid:
        """The grid as `--quick` runs it."""
        return replace(self, scenarios=self.quick_scenarios)

    def cases(self) -> list[Case]:
        """The cases of the grid; the setting `""` is the scenario unchanged."""
        return [case for case in self.every() if case not in self.refused]

    def every(self) -> list[Case]:
        """The cases of the grid with those that aren't run."""
        return [Case(s, q, t) for s in self.scenarios for q in self.queues for t in self.settings]


@dataclass(frozen=True)
class Experiment:
    """The content of an experiment's folder.

    `file` is `experiment.toml` as written; the rest is derived from it.
    """

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
    clauses: Mapping[str, ClauseFile] = field(default_factory=dict)
    """The clauses of a specification that it evaluates."""
    coverage: CoverageFile | None = None
    """Which parts of the paper are covered; `None` without the file."""

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
    def title(self) -> str:
        """Its title, with the subject of an evaluation."""
        return f"{self.file.title}: {self.subject}" if self.subject else self.file.title

    @property
    def subject(self) -> str:
        """The label of the evaluated controller or queue; "" without clauses, and if no grid has it."""
        has_one = self.clauses and any(SUBJECT in each.queues for each in self.grids.values())
        return self.queues[SUBJECT].label if has_one else ""

    @property
    def byline(self) -> str:
        """Authors, venue and year, as far as they exist."""
        where = ", ".join(filter(None, (self.file.venue, str(self.file.year or ""))))
        return ". ".join(filter(None, (", ".join(self.file.authors), where)))

    @property
    def citation(self) -> str:
        """Authors, title, venue and year in one line, as far as they exist."""
        authors = f"{', '.join(self.file.authors)}: " if self.file.authors else ""
        where = ", ".join(filter(None, (self.file.venue, str(self.file.year or ""))))
        return f"{authors}{self.title}" + (f". {where}" if where else "")

    @property
    def words(self) -> Wording:
        """The words of its reports."""
        return wording_of(self.origin)

    @property
    def origin(self) -> Origin:
        """The origin counted in the headline: the paper, or, without a venue, the experiment."""
        return "paper" if self.file.venue else "ours"

    @functools.cached_property
    def _read(self) -> dict[Path, Scenario]:
        """The scenario files that were read: each once, so that all cases have the same content."""
        return {}

    @functools.cached_property
    def extra(self) -> Extra:
        """The definitions of the experiment's `extra.py`; empty without the file."""
        return load_extra(self.root)

    @functools.cached_property
    def control_designs(self) -> ControlDesigns:
        """The paper's designs of controllers, each computed once."""
        from sojourn.experiments.control_designs import ControlDesigns  # here: python-control takes a second to load

        return ControlDesigns(self.file.designs, self.file.step, self.extra)

    def replications(self, grids: Iterable[Grid]) -> int:
        """The seeds of a whole rerun of some grids: those of the grid with most seeds."""
        return max((each.replications or self.file.replications for each in grids), default=self.file.replications)

    @functools.cached_property
    def seeds(self) -> Mapping[Case, int]:
        """The seeds of each case in a whole rerun: those of its grid with most."""
        found: dict[Case, int] = {}
        for grid in self.grids.values():
            for case in grid.cases():
                found[case] = max(found.get(case, 0), self.replications([grid]))
        return found

    def measure(self, scenario: str, name: str) -> Measure:
        """A measure as defined for this scenario."""
        found = self.scenarios[scenario].measures.get(name) or self.measures.get(name)
        if found is None:
            raise UserError(f'{self.root}: measure: expected one of {", ".join(self.measures)}, got "{name}"')
        return found

    def run_measures(self, case: Case, record: Record) -> RunMeasures:
        """The measures of a run of a case."""
        own = self.measures | self.scenarios[case.scenario].measures
        return RunMeasures(record, self.values_of(case), own.get, lambda: self.extra.readings)

    def values_of(self, case: Case) -> dict[str, str]:
        """The values of a case's family and queue, for braces."""
        return self.scenarios[case.scenario].values | self.queues[case.queue].values

    def value(self, case: Case, name: str, record: Record) -> float:
        """A measure of a run, NaN if it has none."""
        self.measure(case.scenario, name)
        try:
            return self.run_measures(case, record).value(name)
        except UserError as error:
            raise UserError(f"{self.main}: measures.{error}") from None

    def without_traces(self, case: Case, record: Record) -> Record:
        """The record with the measures of its grids instead of its traces."""
        asking = [grid for grid in self.grids.values() if case in grid.cases()]
        measures = self.run_measures(case, record)
        for name in dict.fromkeys(name for grid in asking for name in grid.measures or self.measures):
            with suppress(UnknownNameError):  # of another run
                measures.value(name)
        return Record({**record, TAKEN: measures.found})

    def queue_table(self, queue: str, scenario: str | None = None) -> dict[str, Any]:
        """A queue's parameters, with those that a scenario replaces.

        `{x}` is the value of the scenario's family.
        """
        if scenario is None:
            return self.queues[queue].table
        chosen = self.scenarios[scenario]
        return self._filled(self.queues[queue].table, chosen) | chosen.queue

    def _filled(self, table: dict[str, Any], scenario: ExperimentScenario) -> dict[str, Any]:
        """A table with the values of a scenario's family filled in.

        It is unchanged for a scenario outside families.
        """
        return dict(filled(table, scenario.values)) if scenario.values else table

    def concerns(self, chosen: Choosing, case: Case) -> bool:
        """Whether a table of a file applies to a case."""
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
        """The drawn fields of a seed.

        They depend on the seed alone, so they are the same for every queue.
        """
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
        for at in chosen.queue_at or self.file.queue_at:
            if host := self.queues[case.queue].host:
                scenario.set(f"{at.removesuffix('.tcp.control')}.host", host)
                continue
            scenario.set(at, self.queue_table(case.queue, case.scenario))
            scenario.set_all({path: value for path, value in chosen.set.items() if path.startswith(f"{at}.")})
        if case.setting:
            scenario.set_all(self._filled(self.settings[case.setting].table, chosen))
        scenario.set_all(dict(over or {}))
        scenario.set("name", self.id)  # not the case's: cases with the same network and traffic are run once
        scenario.label = f"{self.scenarios[case.scenario].file.name} as {case}"
        return scenario
