"""Reads an experiment's folder: its TOML files, its scenarios and the values in `expected/`."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from sojourn.core.errors import UserError
from sojourn.core.scenario_files import read_text
from sojourn.experiments.claims import PublishedValues, expand_claims
from sojourn.experiments.clauses import read_clauses, with_clauses, with_requirements
from sojourn.experiments.consistency import check_experiment, unknown_name
from sojourn.experiments.coverage import check_coverage
from sojourn.experiments.families import MOST_CASES, Choice, Curve, expand_curve, expand_family, plain_scenario
from sojourn.experiments.fits import with_fits
from sojourn.experiments.model import Experiment, Grid
from sojourn.experiments.schema import ClaimsFile, CoverageFile, DeviationsFile, ExperimentFile
from sojourn.experiments.schema.claims import Origin
from sojourn.experiments.schema.experiment import GridTable
from sojourn.experiments.schema.toml import read_toml


@dataclass(frozen=True)
class _Names:
    """Every name that a grid can refer to."""

    kinds: dict[str, list[str]]
    families: dict[str, list[str]]
    curves: dict[str, Curve]


def _grid(label: str, table: GridTable, names: _Names) -> Grid:
    """A grid, with families and curves expanded and every name checked."""
    lists = {kind: list(getattr(table, kind)) for kind in names.kinds}
    known = names.kinds["scenarios"]
    lists["scenarios"] = [
        each for name in lists["scenarios"] for each in names.families.get(name) or _fitting(known, [name]) or [name]
    ]
    for kind, given in lists.items():
        for name in given:
            if name not in names.kinds[kind] and not (kind == "settings" and name == ""):
                raise unknown_name(f"{label}: grids.{table.id}.{kind}", name, names.kinds[kind])
    for curve in table.curves:
        if curve not in names.curves:
            raise unknown_name(f"{label}: grids.{table.id}.curves", curve, names.curves)
        lists["queues"] += names.curves[curve].queues
    cases = len(lists["scenarios"]) * len(lists["queues"]) * max(1, len(lists["settings"]))
    if cases > MOST_CASES:
        raise UserError(f"{label}: grids.{table.id}: expected at most {MOST_CASES} cases, got {cases}")
    return Grid(
        id=table.id,
        title=table.title or table.id,
        scenarios=lists["scenarios"],
        queues=lists["queues"],
        settings=lists["settings"] or [""],
        measures=lists["measures"],
        replications=table.replications,
        optional=table.optional,
        quick_set=table.quick_set,
        quick_scenarios=lists["scenarios"]
        if table.quick_scenarios is None
        else _fitting(lists["scenarios"], table.quick_scenarios),
        pairs=table.pairs,
        fixed=table.fixed,
    )


def _fitting(names: Iterable[str], patterns: list[str]) -> list[str]:
    """The names that match one of some patterns."""
    return [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)]


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


def _resolve_columns(file: ExperimentFile, label: str) -> None:
    """Replaces the names of columns in measures by their traces and expressions."""
    own = [*(each.measures for each in file.scenarios.values()), *(each.measures for each in file.families.values())]
    for measures in (file.measures, *own):
        for name, measure in measures.items():
            if measure.column and not measure.series:
                if measure.column not in file.columns:
                    raise unknown_name(f"{label}: measures.{name}.column", measure.column, file.columns)
                measures[name] = measure.of_column(file.columns[measure.column])


def _claims_file(root: Path, has_clauses: bool) -> ClaimsFile:
    """`claims.toml`; it may be missing beside clauses."""
    path = root / "claims.toml"
    return ClaimsFile() if has_clauses and not path.exists() else read_toml(path, ClaimsFile)


def load_experiment(root: Path) -> Experiment:
    """The paper in a folder.

    Raises `UserError`, one line with file and field, for the first mistake.
    """
    label = str(root / "experiment.toml")
    file = read_toml(root / "experiment.toml", ExperimentFile)
    clauses = read_clauses(root)
    file = with_clauses(root, file, clauses)
    _resolve_columns(file, label)
    families = {name: expand_family(root, table, f"{label}: families.{name}") for name, table in file.families.items()}
    scenarios = {name: plain_scenario(root, table) for name, table in file.scenarios.items()}
    scenarios |= {each.id: each for family in families.values() for each in family}
    queues = {
        name: Choice(name, each.label, each.title, each.queue, each.values, each.like)
        for name, each in file.queues.items()
    }
    settings = {name: Choice(name, each.label, each.title, each.set) for name, each in file.settings.items()}
    curves = {}
    for name, table in file.curves.items():
        curves[name], points = expand_curve(table)
        queues |= points
    kinds = {
        "scenarios": list(scenarios),
        "queues": list(queues),
        "settings": list(settings),
        "measures": list(file.measures),
    }
    family_names = {name: [each.id for each in family] for name, family in families.items()}
    names = _Names(kinds, family_names, curves)
    grids = {name: _grid(label, table, names) for name, table in file.grids.items()}
    published, units = _merged(root, file.published)
    reference, their_units = _merged(root, file.reference)
    units |= their_units
    claims_file = _claims_file(root, bool(clauses))
    claims_file = with_requirements(claims_file, clauses)
    default_origin: Origin = "paper" if file.venue else "ours"
    claims, tables = expand_claims(str(root / "claims.toml"), claims_file, published, reference, default_origin)
    ledger = root / "deviations.toml"
    deviations = read_toml(ledger, DeviationsFile).deviations if ledger.exists() else []
    claims = with_fits(str(ledger), claims, deviations)
    covered = root / "coverage.toml"
    experiment = Experiment(
        root=root,
        file=file,
        scenarios=scenarios,
        families=family_names,
        queues=queues,
        settings=settings,
        curves=curves,
        grids=grids,
        published=published,
        reference=reference,
        units=units,
        claims=claims,
        tables=tables,
        notes=claims_file.notes,
        deviations=deviations,
        clauses=clauses,
        coverage=read_toml(covered, CoverageFile) if covered.exists() else None,
    )
    check_experiment(experiment, label)
    check_coverage(experiment)
    return experiment
