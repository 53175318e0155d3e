"""Sweeps: a grid over any fields of a scenario, with several seeds for each point."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from sojourn import _sojourn
from sojourn.display import counted, html_table, listed, number
from sojourn.errors import UserError
from sojourn.extras import require
from sojourn.record import Record
from sojourn.running import Job, Progress, Seeds, run_jobs, seeds_of
from sojourn.scenario import Scenario, Source, load, plain, read_text
from sojourn.stats import estimate
from sojourn.store import Store
from sojourn.traces import Traces

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


@dataclass(frozen=True)
class Point:
    """One point of the grid: the value of each axis, the scenario, the first seed."""

    labels: dict[str, Any]
    scenario: Scenario
    seed: int


@dataclass(frozen=True)
class Plan:
    """What a sweep runs: the points of the grid, each with the same number of seeds.

    >>> plan = sj.make_plan("examples/dumbbell.toml", {"flows.ftp.count": [10, 50]}, seeds=5)
    >>> len(plan.jobs())
    10
    """

    name: str
    """Its name, for the folder of its results."""
    axes: list[str]
    """The names of the axes."""
    points: list[Point]
    """The grid, the last axis fastest."""
    seeds: Seeds
    """How many seeds for each point, or which."""

    def __repr__(self) -> str:
        seeds = self.seeds if isinstance(self.seeds, int) else len(self.seeds)
        grid = f"{counted(len(self.points), 'point')} × {counted(seeds, 'seed')}"
        return f"<Plan {self.name}: {grid} over {listed(self.axes)}>"

    def jobs(self) -> list[tuple[Point, Job]]:
        """Every run with its point, in order."""
        return [
            (point, Job(point.scenario, seed)) for point in self.points for seed in seeds_of(self.seeds, point.seed)
        ]


@dataclass
class SweepResult:
    """The runs of a sweep: a row for each, with the axes, the seed, the fingerprint and every measure.

    >>> found = sj.sweep("examples/dumbbell.toml", {"flows.ftp.count": [5, 10]}, seeds=2)
    >>> found.summary(["links.bottleneck.queue.mean"])[["flows.ftp.count", "n"]].to_numpy().tolist()
    [[5, 2], [10, 2]]
    """

    plan: Plan
    """What was run."""
    runs: pd.DataFrame
    """A row for each run; a measure is a column with the path and the unit that it has in a record."""
    series: list[Traces] = field(default_factory=list)
    """The traces of every run, in the order of `runs`; empty unless `sweep` was asked for them."""

    def __repr__(self) -> str:
        traces = ", with traces" if self.series else ""
        return f"<SweepResult {repr(self.plan).removeprefix('<Plan ')[:-1]}, {len(self.measures)} measures{traces}>"

    def _repr_html_(self) -> str:
        last = tuple(f".{path}" for path in ("utilization", "queue.mean", "loss_ratio"))
        shown = [m for m in self.measures if m.startswith("links.") and m.endswith(last)][:6]
        means = self.runs.groupby(self.axes, sort=False, dropna=False)[shown].mean()
        rows = [
            [", ".join(map(str, where)) if isinstance(where, tuple) else str(where), *map(number, row)]
            for where, row in zip(means.index, means.to_numpy(), strict=True)
        ]
        return html_table(f"{self.plan.name}: means", [", ".join(self.axes), *shown], rows)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.runs.columns)

    def __getitem__(self, column: str) -> pd.Series[Any]:
        """A column of `runs`. Raises `UserError` for a name that none has."""
        if column not in self.runs:
            raise UserError.unknown(f"{self.plan.name}: column", column, map(str, self.runs.columns))
        return self.runs[column]

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

    def series_table(self, name: str) -> pd.DataFrame:
        """One series of every run, below one another: the axes, `seed`, `t` in seconds, and its columns.

        Raises `UserError` where no run has such a series: `sweep` keeps them with `series=True`.
        """
        require("pandas")
        import pandas as pd

        names = list(dict.fromkeys(each for traces in self.series for each in traces))
        if name not in names:
            raise UserError.unknown(f"{self.plan.name}: series", name, names)
        where: list[dict[str, Any]] = self.runs[[*self.axes, "seed"]].to_dict("records")  # type: ignore[assignment]
        runs = [(at, traces[name]) for at, traces in zip(where, self.series, strict=True) if name in traces]
        tables = [pd.DataFrame(table).assign(**at)[[*at, *table]] for at, table in runs]
        return pd.concat(tables, ignore_index=True)

    def to_xarray(self) -> xr.Dataset:
        """Every measure over the axes and `seed`; NaN where a point has no such seed.

        Raises `MissingExtraError` where xarray is missing.
        """
        require("xarray")
        table = self.runs.drop(columns="fingerprint").set_index([*self.axes, "seed"])
        found: xr.Dataset = table.to_xarray()
        return found


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
    is how many or which. Raises `UserError` and `ScenarioError` for what can't be used.

    >>> sj.make_plan("examples/dumbbell.toml", {"flows.ftp.count": [10, 50]}, seeds=5)
    <Plan sweep: 2 points × 5 seeds over flows.ftp.count>
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
    series: bool = False,
) -> SweepResult:
    """Runs a sweep in parallel: a plan, a sweep file, or a scenario with axes.

    `axes` maps paths of fields to lists of values; `seeds` is how many for each point, or which. With a cache, a second
    call goes on where an interrupted one stopped. With `series` the result also has the traces of every run, which are
    otherwise left out: they may take much memory. For `threads`, `cache`, `progress` and `cluster` see `run_jobs`.

    Raises `UserError` for a plan that can't be used, `ScenarioError` for a scenario that can't be run, `Interrupted`
    after Ctrl-C, `MissingExtraError` where pandas is missing.

    >>> sj.sweep("examples/dumbbell.toml", {"flows.ftp.count": [5, 10, 20]}, seeds=1)
    <SweepResult sweep: 3 points × 1 seed over flows.ftp.count, ... measures>
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
    return SweepResult(chosen, pd.DataFrame(rows), [record.series for record in records] if series else [])


def _row(point: Point, seed: int, record: Record) -> dict[str, Any]:
    """One run as a row: axes, seed, fingerprint, measures."""
    at = {name: label if isinstance(label, (int, float)) else axis_text(label) for name, label in point.labels.items()}
    return at | {"seed": seed, "fingerprint": str(record.get("fingerprint", ""))} | record.scalars()
