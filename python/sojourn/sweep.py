"""Sweeps: a grid over any fields of a scenario, with several seeds for each point."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from sojourn import _sojourn
from sojourn.errors import UserError
from sojourn.extras import require
from sojourn.record import Record
from sojourn.running import Job, Progress, Seeds, run_jobs, seeds_of
from sojourn.scenario import Scenario, Source, load, plain, read_text
from sojourn.stats import estimate
from sojourn.store import Store

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Point:
    """One point of the grid: the value of each axis, the scenario, the first seed."""

    labels: dict[str, Any]
    scenario: Scenario
    seed: int


@dataclass(frozen=True)
class Plan:
    """What a sweep runs: the points of the grid, each with the same number of seeds."""

    name: str
    axes: list[str]
    points: list[Point]
    seeds: Seeds

    def jobs(self) -> list[tuple[Point, Job]]:
        """Every run with its point, in order."""
        return [
            (point, Job(point.scenario, seed)) for point in self.points for seed in seeds_of(self.seeds, point.seed)
        ]


@dataclass
class SweepResult:
    """The runs of a sweep: a row for each, with the axes, the seed, the fingerprint and every measure."""

    plan: Plan
    runs: pd.DataFrame

    @property
    def axes(self) -> list[str]:
        """The columns with the values of the axes."""
        return self.plan.axes

    @property
    def measures(self) -> list[str]:
        """The columns with measures."""
        return [column for column in self.runs.columns if column not in {*self.axes, "seed", "fingerprint"}]

    def summary(self, measures: Sequence[str] | None = None) -> pd.DataFrame:
        """A row for each point and measure (default: all): axes, `measure`, `mean`, `sd`, `low`, `high`, `n`."""
        require("pandas")
        import pandas as pd

        rows = []
        for where, group in self.runs.groupby(self.axes, sort=False, dropna=False):
            at = dict(zip(self.axes, where if isinstance(where, tuple) else (where,), strict=True))
            for measure in measures or self.measures:
                one = estimate(group[measure].to_numpy(dtype=float))
                found = {"mean": one.mean, "sd": one.sd, "low": one.low, "high": one.high, "n": one.n}
                rows.append(at | {"measure": measure} | found)
        return pd.DataFrame(rows)


def axis_text(value: Any) -> str:
    """An axis value as tables show it: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def read_plan(path: str | Path) -> Plan:
    """The sweep that a file describes. Names of scenarios in it are relative to its folder.

    Raises `UserError` and `ScenarioError` for files that can't be used.
    """
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
    """A sweep made in Python.

    `axes` maps paths of fields to lists of values. `variants` maps the name of an axis to named sets of fields. `seeds`
    is how many or which.

    ```python
    plan = sj.make_plan("examples/dumbbell.toml", {"flows.ftp.count": [10, 50]}, seeds=5)
    ```
    """
    base = load(scenario)
    lists = {
        path: list(v) if isinstance(v, Iterable) and not isinstance(v, str) else v for path, v in (axes or {}).items()
    }
    tree = plain({"scenario": base.label, "axes": lists, "variants": dict(variants or {})})
    seeds_of(seeds)
    plan = _plan(tomli_w.dumps(tree), name, lambda _: (base.label, base.to_toml()), name)
    return replace(plan, seeds=seeds)


def _plan(text: str, label: str, read: Callable[[str], tuple[str, str]], name: str) -> Plan:
    """The plan as the engine reads it from a sweep file's text."""
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
    """Runs a sweep in parallel: a plan, a sweep file, or a scenario with axes.

    With a cache, a second call goes on where an interrupted one stopped. For `threads`, `cache`, `progress` and
    `cluster` see `run_jobs`. Raises `MissingExtraError` where pandas is missing.

    ```python
    sj.sweep("examples/dumbbell.toml", {"flows.ftp.count": [10, 50, 100]}, seeds=5).summary()
    ```
    """
    require("pandas")
    import pandas as pd

    if isinstance(plan, Plan):
        chosen = plan
    elif axes is not None:
        chosen = make_plan(plan, axes, seeds)
    elif isinstance(plan, (str, Path)):
        chosen = read_plan(plan)
    else:
        raise UserError("sweep: axes: expected a table of paths, each with a list of values, got none")
    jobs = chosen.jobs()
    work = [job for _, job in jobs]
    records = run_jobs(work, threads=threads, cache=cache, progress=progress, cluster=cluster)
    rows = [_row(point, job.seed, record) for (point, job), record in zip(jobs, records, strict=True)]
    return SweepResult(chosen, pd.DataFrame(rows))


def _row(point: Point, seed: int, record: Record) -> dict[str, Any]:
    """One run as a row: axes, seed, fingerprint, measures."""
    at = {name: label if isinstance(label, (int, float)) else axis_text(label) for name, label in point.labels.items()}
    return at | {"seed": seed, "fingerprint": str(record.get("fingerprint", ""))} | record.scalars()
