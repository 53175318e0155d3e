"""Audits claims: wrong versions of a paper's algorithm are run, and its claims should fail.

`python -m sojourn.experiments.audit FOLDER` measures the claims of a folder with the present engine, as JSON:
`mutate.py` calls it with a changed engine.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from sojourn.core import field_paths, files
from sojourn.core.errors import ScenarioError, UserError
from sojourn.core.scenario import Scenario
from sojourn.experiments.claims import Claim
from sojourn.experiments.folder import load_experiment
from sojourn.experiments.judging import judge_claims
from sojourn.experiments.model import Case, Experiment
from sojourn.experiments.mutant_laws import with_laws
from sojourn.experiments.needs import cases_of
from sojourn.experiments.outcome import Outcome
from sojourn.experiments.reproduce import RunOptions, run_cases
from sojourn.experiments.schema.mutants import MutantsFile, MutantTable
from sojourn.experiments.schema.toml import read_toml
from sojourn.experiments.selection import choose


@dataclass(frozen=True)
class MeasuredPart:
    """A part of a claim as measured: the mean over the seeds, and whether it meets the target.

    The interval of the mean does not count here.
    """

    mean: float
    holds: bool


Observed = dict[str, list[MeasuredPart]]
"""The parts of each claim, by its name."""


@dataclass(frozen=True)
class Plan:
    """The runs for every version: the audited claims, and their cases with changed fields."""

    experiment: Experiment
    file: MutantsFile
    claims: list[Claim]
    over: dict[Case, dict[str, Any]]
    seeds: list[int]


@dataclass(frozen=True)
class Row:
    """The results of the claims under one mutant."""

    id: str
    text: str
    noticed: list[str] = field(default_factory=list)
    """Claims with a part that held and no longer holds."""
    unmoved: list[str] = field(default_factory=list)
    """Claims whose numbers all stayed the same."""
    stopped: str = ""
    """The reason why it did not run; empty if it did."""
    missed: list[str] = field(default_factory=list)
    """Claims that should detect it and do not."""
    unseen: str = ""
    """Why no claim can detect it; empty if one should."""

    @property
    def excused(self) -> str:
        """Its name, with the reason why no claim can detect it."""
        return f"{self.id} ({self.unseen})" if self.unseen else self.id


@dataclass(frozen=True)
class Audit:
    """The table of mutants by claims."""

    experiment: str
    seeds: int
    claims: dict[str, str]
    """The audited claims, each with its text."""
    failed_before: list[str]
    """Claims of which no part holds without any mutant: they can't detect one."""
    rows: list[Row]

    @property
    def blind(self) -> list[str]:
        """Claims that detect no mutant although a part of them holds."""
        seen = {claim for row in self.rows for claim in row.noticed}
        return [claim for claim in self.claims if claim not in seen and claim not in self.failed_before]

    @property
    def unnoticed(self) -> list[Row]:
        """Mutants that run and that no claim detects."""
        return [row for row in self.rows if not row.noticed and not row.stopped]

    def moved(self, row: Row) -> list[str]:
        """Claims whose numbers a mutant changed without a change of the verdict."""
        other = {*row.noticed, *row.unmoved, *self.failed_before}
        return [claim for claim in self.claims if claim not in other]

    def as_json(self) -> str:
        """The audit as a file."""
        return json.dumps(asdict(self), indent=1)


FILE = "audit.json"
"""The name of that file in the folder of a paper's results."""


def read_audit(folder: Path) -> Audit | None:
    """The audit in a folder of results; None if there is no readable one."""
    try:
        table = json.loads(files.disk.read(folder / FILE))
        return Audit(**table | {"rows": [Row(**row) for row in table["rows"]]})
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


Measure = Callable[[MutantTable], Observed]
"""Measures the claims under a mutant; raises `StoppedError` if it does not run."""


class StoppedError(Exception):
    """A mutant that compiles but does not run to its end."""


def plan_of(experiment: Experiment) -> Plan:
    """The plan of `mutants.toml`. Raises `UserError` for a name that does not exist."""
    path = experiment.root / "mutants.toml"
    if not path.exists():
        raise UserError(f"{path}: expected a file with mutants (`sojourn schema mutants`), got none")
    file = read_toml(path, MutantsFile)
    for name in file.grids:
        choose(experiment, (name,))
    chosen = [each for each in experiment.grids.values() if not file.grids or each.id in file.grids]
    quick = {case: {**each.quick_set, **file.short} for each in chosen for case in each.cases()}
    known = {claim.id: claim for claim in experiment.claims}
    asked = dict.fromkeys(file.claims, "claims")
    asked |= {name: f"mutants[{each.id}].claims" for each in file.mutants for name in each.claims}
    for name, where in asked.items():
        if name not in known:
            raise UserError.unknown(f"{path}: {where}", name, known)
    claims: list[Claim] = []
    over: dict[Case, dict[str, Any]] = {}
    for claim in experiment.claims:
        if claim.id not in file.claims if file.claims else claim.origin == "judge":
            continue
        plain = replace(claim, readings=())  # the reading that is chosen here says enough
        cases = cases_of(experiment, plain)
        if cases <= set(quick):
            claims.append(plain)
            over |= {case: quick[case] for case in cases}
        elif claim.id in asked:
            raise UserError.expected(f"{path}: {asked[claim.id]}", "a claim that rests on these grids", claim.id)
    seeds = list(range(1, 1 + (file.seeds or experiment.file.quick)))
    return Plan(experiment, file, claims, dict(sorted(over.items())), seeds)


def check_mutants(plan: Plan) -> None:
    """Raises `UserError` for an unknown name or field of a mutant of parameters."""
    experiment = plan.experiment
    curves, families = experiment.curves, experiment.families
    for mutant in plan.file.mutants:
        label = f"{experiment.root / 'mutants.toml'}: mutants[{mutant.id}]"
        for kind, names in (
            ("scenarios", [*experiment.scenarios, *families]),
            ("queues", [*experiment.queues, *curves]),
            ("settings", list(experiment.settings)),
        ):
            for pattern in getattr(mutant, kind):
                if not any(fnmatchcase(name, pattern) for name in names):
                    raise UserError.unknown(f"{label}.{kind}", pattern, names)
        if mutant.patch:
            continue
        changes = {case: found for case in plan.over if (found := changed_fields(plan, mutant, case))}
        if not changes and changed_laws(plan, mutant) is experiment:
            raise UserError(f"{label}: expected runs that it changes, got none")
        for case, found in changes.items():
            scenario = experiment.scenario(case, plan.over[case])
            try:
                scenario.set_all(found)
                scenario.canonical()
            except (ScenarioError, UserError) as error:
                raise UserError(f"{label}.set: {str(error).removeprefix(f'{scenario.label}: ')}") from None


def observe(
    plan: Plan,
    options: RunOptions,
    over: Mapping[Case, Mapping[str, Any]] | None = None,
    laws: Experiment | None = None,
) -> Observed:
    """The claims as measured, with the plan's runs and laws or with others."""
    records = run_cases(plan.experiment, plan.over if over is None else over, plan.seeds, options)
    outcome = Outcome(laws or plan.experiment, [], plan.seeds, records)
    judge_claims(outcome, plan.claims)
    return {
        result.claim.id: [MeasuredPart(part.measured.mean, part.holds) for part in result.parts]
        for result in outcome.results
    }


def changed_fields(plan: Plan, mutant: MutantTable, case: Case) -> dict[str, Any]:
    """The fields that a mutant of parameters changes in a case."""
    if not plan.experiment.concerns(mutant, case):
        return {}
    scenario, found = plan.experiment.scenario(case, plan.over.get(case)), dict(mutant.set)
    for path, factor in mutant.scale.items():
        found[path] = _times(_current_value(scenario, path), factor, f"mutants[{mutant.id}].scale.{path}")
    return found


def changed_laws(plan: Plan, mutant: MutantTable) -> Experiment:
    """The experiment with the laws of a mutant of parameters; the plan's own if it changes none."""
    return with_laws(plan.experiment, mutant, lambda case: changed_fields(plan, mutant, case), _times)


def _current_value(scenario: Scenario, path: str) -> Any:
    """The value of a field: as written, else the engine's default."""
    try:
        return scenario.get_path(path)
    except UserError:
        tree = json.loads(scenario.canonical())
        return field_paths.get(tree | {"flows": tree.get("groups")}, path, scenario.label)


def _times(value: Any, factor: float, label: str) -> Any:
    """A number, or one with its unit, times a factor."""
    if isinstance(value, list):
        return [_times(each, factor, label) for each in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return round(value * factor) if isinstance(value, int) else value * factor
    number, _, unit = str(value).partition(" ")
    try:
        return f"{float(number) * factor:.9g} {unit}".strip()
    except ValueError:
        raise UserError(f'{label}: expected a field with a number, got "{value}"') from None


def with_parameters(plan: Plan, mutant: MutantTable, options: RunOptions) -> Observed:
    """The claims under a mutant that changes parameters alone."""
    changes = {case: changed_fields(plan, mutant, case) for case in plan.over}
    laws = changed_laws(plan, mutant)
    if not any(changes.values()) and laws is plan.experiment:
        raise UserError(f"mutants[{mutant.id}]: expected runs that it changes, got none")
    return observe(plan, options, {case: {**usual, **changes[case]} for case, usual in plan.over.items()}, laws)


def chosen_mutants(plan: Plan, only: list[str], patches: bool) -> list[MutantTable]:
    """The mutants with these names (none: all), with those that change sources or without them."""
    known = {mutant.id: mutant for mutant in plan.file.mutants}
    for name in only:
        if name not in known:
            raise UserError(f'--only: expected one of {", ".join(known)}, got "{name}"')
    return [each for name, each in known.items() if (not only or name in only) and (patches or not each.patch)]


def audit(plan: Plan, mutants: list[MutantTable], base: Observed, measure: Measure) -> Audit:
    """Measures the claims under each mutant."""
    rows = []
    for mutant in mutants:
        try:
            rows.append(compare(mutant, base, measure(mutant)))
        except StoppedError as error:
            rows.append(Row(mutant.id, mutant.text, stopped=str(error)))
    return Audit(
        plan.experiment.id,
        len(plan.seeds),
        {claim.id: claim.text for claim in plan.claims if claim.id in base},
        [claim for claim, parts in base.items() if not any(part.holds for part in parts)],
        rows,
    )


def compare(mutant: MutantTable, base: Observed, found: Observed) -> Row:
    """The results of the claims under a mutant."""
    noticed, unmoved = [], []
    for claim, before in base.items():
        after = found[claim]
        if any(one.holds and not other.holds for one, other in zip(before, after, strict=True)):
            noticed.append(claim)
        elif all(_equal(one.mean, other.mean) for one, other in zip(before, after, strict=True)):
            unmoved.append(claim)
    missed = [claim for claim in mutant.claims if claim not in noticed]
    return Row(mutant.id, mutant.text, noticed, unmoved, missed=missed, unseen=mutant.unseen)


def _equal(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


def main(folder: str, threads: str = "0") -> None:
    """Prints the claims as measured with the present engine."""
    observed = observe(plan_of(load_experiment(Path(folder))), RunOptions(threads=int(threads)))
    print(json.dumps({claim: [asdict(part) for part in parts] for claim, parts in observed.items()}))


def read_observed(text: str) -> Observed:
    """The observations that `main` printed."""
    return {claim: [MeasuredPart(**part) for part in parts] for claim, parts in json.loads(text).items()}


if __name__ == "__main__":
    main(*sys.argv[1:])
