"""Sweeps: a grid over any fields of a scenario, several seeds a point."""

from __future__ import annotations

import itertools
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from sojourn.errors import UserError
from sojourn.record import Record
from sojourn.running import Job, Progress, Seeds, first_seed, run_jobs, seeds_of
from sojourn.scenario import Scenario, Source, load, read_text
from sojourn.stats import estimate
from sojourn.store import Store

KEYS = {"scenario", "replications", "seeds", "axes", "variants", "name"}


@dataclass(frozen=True)
class Point:
    """One place on an axis: what it is called in results, and the fields it sets."""

    label: Any
    sets: dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """What a sweep will run: the grid is the product of the axes, every point with every seed."""

    name: str
    scenario: Scenario
    axes: dict[str, list[Point]]
    seeds: list[int]

    def points(self) -> list[dict[str, Point]]:
        """The points of the grid, the last axis fastest."""
        return [dict(zip(self.axes, chosen, strict=True)) for chosen in itertools.product(*self.axes.values())]

    def scenario_at(self, where: Mapping[str, Point]) -> Scenario:
        """The scenario at one point of the grid."""
        scenario = self.scenario.copy()
        for point in where.values():
            scenario.set_all(point.sets)
        at = ", ".join(f"{name} = {show(point.label)}" for name, point in where.items())
        scenario.label = f"{self.scenario.label} with {at}"
        return scenario


@dataclass
class SweepResult:
    """Every run of a sweep, as tables."""

    plan: Plan
    runs: pd.DataFrame

    @property
    def axes(self) -> list[str]:
        """The columns that say where on the grid a run was."""
        return list(self.plan.axes)

    @property
    def measures(self) -> list[str]:
        """The columns that were measured."""
        return [column for column in self.runs.columns if column not in {*self.axes, "seed", "fingerprint"}]

    def summary(self, measures: Sequence[str] | None = None) -> pd.DataFrame:
        """One row a point and measure: mean, standard deviation, confidence interval."""
        rows = []
        for where, group in self.runs.groupby(self.axes, sort=False, dropna=False):
            at = dict(zip(self.axes, where if isinstance(where, tuple) else (where,), strict=True))
            for measure in measures or self.measures:
                one = estimate(group[measure].to_numpy(dtype=float))
                found = {"mean": one.mean, "sd": one.sd, "low": one.low, "high": one.high, "n": one.n}
                rows.append(at | {"measure": measure} | found)
        return pd.DataFrame(rows)


def show(value: Any) -> str:
    """An axis value as it stands in tables: text and numbers as they are, tables as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def read_plan(path: str | Path) -> Plan:
    """The sweep that a file describes."""
    file = Path(path)
    try:
        tree = tomllib.loads(read_text(file, "sweep"))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{file}: not TOML: {error}") from None
    unknown = sorted(set(tree) - KEYS)
    if unknown:
        raise UserError(f'{file}: unknown key "{unknown[0]}"; taken are {", ".join(sorted(KEYS))}')
    base = tree.get("scenario")
    if not isinstance(base, str):
        raise UserError(f"{file}: scenario {base!r}: taken is the path of a scenario file")
    if "seeds" in tree and "replications" in tree:
        raise UserError(f"{file}: seeds and replications: taken is one of them")
    variants, axes = tree.get("variants", {}), tree.get("axes", {})
    chosen = tree.get("seeds", tree.get("replications", 1))
    return _plan(load(file.parent / base), variants, axes, chosen, str(tree.get("name", file.stem)), str(file))


def make_plan(
    scenario: Source,
    axes: Mapping[str, Sequence[Any]],
    seeds: Any = 1,
    *,
    variants: Mapping[str, Mapping[str, Mapping[str, Any]]] | None = None,
    name: str = "sweep",
) -> Plan:
    """A sweep from Python: fields by path with their values, and named sets of fields."""
    lists = {path: list(values) for path, values in axes.items()}
    return _plan(load(scenario), variants or {}, lists, seeds, name, name)


def _plan(scenario: Scenario, variants: Any, axes: Any, seeds: Any, name: str, label: str) -> Plan:
    """A plan with everything given checked; the axes of variants come first."""
    for key, given in (("variants", variants), ("axes", axes)):
        if not isinstance(given, Mapping):
            raise UserError(f"{label}: {key} {given!r}: taken is a table")
    both = {str(k): _variants(str(k), v, label) for k, v in variants.items()}
    both |= {str(k): _values(str(k), v, label) for k, v in axes.items()}
    if not both or len(both) < len(variants) + len(axes):
        raise UserError(f"{label}: axes: taken is one or more fields by path, or variants, each name once")
    if isinstance(seeds, bool) or not isinstance(seeds, (int, list, tuple, range)):
        raise UserError(f"{label}: seeds {seeds!r}: taken is a count or a list of seeds")
    return Plan(name, scenario, both, seeds_of(seeds, first_seed(scenario)))


def _values(path: str, given: Any, label: str) -> list[Point]:
    """An axis whose points are values of one field."""
    if not isinstance(given, list) or not given:
        raise UserError(f'{label}: axes."{path}" {given!r}: taken is a list of one or more values')
    return [Point(value, {path: value}) for value in given]


def _variants(name: str, given: Any, label: str) -> list[Point]:
    """An axis whose points are named sets of fields."""
    if not isinstance(given, Mapping) or not given or not all(isinstance(sets, Mapping) for sets in given.values()):
        raise UserError(
            f"{label}: variants.{name} {given!r}: taken is a table of names, each a table of fields by path"
        )
    return [Point(str(each), dict(sets)) for each, sets in given.items()]


def sweep(
    plan: Plan | Source,
    axes: Mapping[str, Sequence[Any]] | None = None,
    seeds: Seeds = 1,
    *,
    threads: int = 0,
    cache: Store | None = None,
    progress: Progress | None = None,
    cluster: bool = False,
) -> SweepResult:
    """Runs a sweep on all cores: a plan, a sweep file, or a scenario with its axes.

    With a cache, finished runs are kept and a second call starts where one stopped.
    """
    if isinstance(plan, Plan):
        chosen = plan
    elif axes is not None:
        chosen = make_plan(plan, axes, seeds)
    elif isinstance(plan, (str, Path)):
        chosen = read_plan(plan)
    else:
        raise UserError("sweep: a scenario needs axes: taken is a table of paths, each with a list of values")
    points = chosen.points()
    jobs = [Job(scenario, seed) for scenario in map(chosen.scenario_at, points) for seed in chosen.seeds]
    records = run_jobs(jobs, threads=threads, cache=cache, progress=progress, cluster=cluster)
    where = [point for point in points for _ in chosen.seeds]
    rows = [_row(point, job.seed, record) for point, job, record in zip(where, jobs, records, strict=True)]
    return SweepResult(chosen, pd.DataFrame(rows))


def _row(where: Mapping[str, Point], seed: int, record: Record) -> dict[str, Any]:
    """One run as a row: where it was, its seed, everything it measured."""
    labels = {name: point.label for name, point in where.items()}
    at = {name: label if isinstance(label, (int, float)) else show(label) for name, label in labels.items()}
    return at | {"seed": seed, "fingerprint": str(record.get("fingerprint", ""))} | record.scalars()
