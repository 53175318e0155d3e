"""Sweeps: a grid over any fields of a scenario, several seeds a point."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from sojourn import _sojourn
from sojourn.errors import UserError
from sojourn.record import Record
from sojourn.running import Job, Progress, Seeds, run_jobs, seeds_of
from sojourn.scenario import Scenario, Source, load, plain, read_text
from sojourn.stats import estimate
from sojourn.store import Store

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Point:
    """One place on the grid: what each axis is there, the scenario, the first of its seeds."""

    labels: dict[str, Any]
    scenario: Scenario
    seed: int


@dataclass(frozen=True)
class Plan:
    """What a sweep will run: every point of the grid, each with several seeds."""

    name: str
    axes: list[str]
    points: list[Point]
    seeds: Seeds

    def jobs(self) -> list[tuple[Point, Job]]:
        """Every run with the point that it belongs to, in order."""
        return [
            (point, Job(point.scenario, seed)) for point in self.points for seed in seeds_of(self.seeds, point.seed)
        ]


@dataclass
class SweepResult:
    """Every run of a sweep, as tables."""

    plan: Plan
    runs: pd.DataFrame

    @property
    def axes(self) -> list[str]:
        """The columns that say where on the grid a run was."""
        return self.plan.axes

    @property
    def measures(self) -> list[str]:
        """The columns that were measured."""
        return [column for column in self.runs.columns if column not in {*self.axes, "seed", "fingerprint"}]

    def summary(self, measures: Sequence[str] | None = None) -> pd.DataFrame:
        """One row a point and measure: mean, standard deviation, confidence interval."""
        import pandas as pd

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
    """The sweep that a file describes; scenarios are named from its folder."""
    file = Path(path)

    def read(name: str) -> tuple[str, str]:
        base = file.parent / name
        return str(base), read_text(base, "scenario")

    return _plan(read_text(file, "sweep"), str(file), read, file.stem)


def make_plan(
    scenario: Source,
    axes: Mapping[str, Sequence[Any]] | None = None,
    seeds: Seeds = 1,
    *,
    variants: Mapping[str, Mapping[str, Mapping[str, Any]]] | None = None,
    name: str = "sweep",
) -> Plan:
    """A sweep from Python: fields by path with their values, and named sets of fields."""
    base = load(scenario)
    lists = {
        path: list(v) if isinstance(v, Iterable) and not isinstance(v, str) else v for path, v in (axes or {}).items()
    }
    tree = plain({"scenario": base.label, "axes": lists, "variants": dict(variants or {})})
    seeds_of(seeds)
    plan = _plan(tomli_w.dumps(tree), name, lambda _: (base.label, base.to_toml()), name)
    return replace(plan, seeds=seeds)


def _plan(text: str, label: str, read: Callable[[str], tuple[str, str]], name: str) -> Plan:
    """The engine's reading of a sweep."""
    grid = json.loads(_sojourn.expand(text, label, read))
    axes = [str(axis) for axis in grid["axes"]]
    points = []
    for point in grid["points"]:
        labels = dict(zip(axes, point["labels"], strict=True))
        scenario = Scenario.from_toml(point["scenario"], str(grid["file"]))
        points.append(Point(labels, scenario, int(point["seed"])))
    return Plan(name, axes, points, int(grid["replications"]))


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
    import pandas as pd

    if isinstance(plan, Plan):
        chosen = plan
    elif axes is not None:
        chosen = make_plan(plan, axes, seeds)
    elif isinstance(plan, (str, Path)):
        chosen = read_plan(plan)
    else:
        raise UserError("sweep: a scenario needs axes: taken is a table of paths, each with a list of values")
    jobs = chosen.jobs()
    work = [job for _, job in jobs]
    records = run_jobs(work, threads=threads, cache=cache, progress=progress, cluster=cluster)
    rows = [_row(point, job.seed, record) for (point, job), record in zip(jobs, records, strict=True)]
    return SweepResult(chosen, pd.DataFrame(rows))


def _row(point: Point, seed: int, record: Record) -> dict[str, Any]:
    """One run as a row: where it was, its seed, everything it measured."""
    at = {name: label if isinstance(label, (int, float)) else show(label) for name, label in point.labels.items()}
    return at | {"seed": seed, "fingerprint": str(record.get("fingerprint", ""))} | record.scalars()
