"""Sweeps: a grid over any fields of a scenario, with several seeds for each point."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn import _sojourn
from sojourn.core import field_paths, toml
from sojourn.core.errors import RunError, ScenarioError, UserError, note
from sojourn.core.extras import require
from sojourn.core.field_labels import value_label
from sojourn.core.record import Record
from sojourn.core.record_schema import range_of
from sojourn.core.scenario import Scenario, Source, load, read_scenario, read_text
from sojourn.core.stats import summarize
from sojourn.core.text_format import counted, html_table, listed, number
from sojourn.core.traces import Traces
from sojourn.runs.cluster import Cluster, Executor
from sojourn.runs.laws import Laws
from sojourn.runs.runner import Progress, Seeds, run_each, seeds_of
from sojourn.runs.store import Store
from sojourn.sweep.grid import Points, Runs
from sojourn.sweep.run_table import Rows

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from sojourn.plots.comparisons import SweepPlots


@dataclass(frozen=True)
class Plan:
    """The plan of a sweep: the points of the grid, each with the same number of seeds.

    >>> plan = sj.make_plan("examples/dumbbell.toml", {"flows.ftp.count": [10, 50]}, seeds=5)
    >>> len(plan.jobs())
    10
    """

    name: str
    """The name of the result folder."""
    axes: list[str]
    """The names of the axes."""
    points: Points
    """The points of the grid, with the last axis fastest. A point is created on access."""
    seeds: Seeds
    """The number of seeds per point, or a list of seeds."""

    def __repr__(self) -> str:
        return f"<Plan {self.name}: {self.grid}>"

    @property
    def grid(self) -> str:
        """The size of the grid and its axes: `12 points × 5 seeds over queue, flows.ftp.count`."""
        seeds = counted(self.replications, "seed")
        return f"{counted(len(self.points), 'point')} × {seeds} over {listed(self.axes)}"

    @property
    def replications(self) -> int:
        """The number of seeds per point."""
        return self.seeds if isinstance(self.seeds, int) else len(self.seeds)

    def jobs(self) -> Runs:
        """Every run, in order."""
        return Runs(self.points, self.seeds)


@dataclass
class SweepResult:
    """The runs of a sweep, one row per run: axes, seed, fingerprint and every measure.

    >>> found = sj.sweep("examples/dumbbell.toml", {"flows.ftp.count": [5, 10]}, seeds=2)
    >>> found.summary(["links.bottleneck.queue.mean"])[["flows.ftp.count", "n"]].to_numpy().tolist()
    [[5, 2], [10, 2]]
    """

    plan: Plan
    """The plan that was run."""
    rows: Rows = field(repr=False)
    """The rows of the runs, in a temporary file."""
    series: list[Traces] = field(default_factory=list)
    """The traces of every run, in the order of `runs`; empty unless `series=True` was passed."""
    failed: list[str] = field(default_factory=list)
    """A line per failed run (killed or out of memory). Such runs are missing in `runs`."""

    def __repr__(self) -> str:
        traces = ", with traces" if self.series else ""
        return f"<SweepResult {self.plan.name}: {self.plan.grid}, {len(self.measures)} measures{traces}>"

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
        """A column of `runs`. Raises `UserError` for an unknown name."""
        if column not in self.runs:
            raise UserError.unknown(f"{self.plan.name}: column", column, map(str, self.runs.columns))
        return self.runs[column]

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row per run. A measure's column has its path and unit in a record."""
        return self.rows.table()

    @property
    def axes(self) -> list[str]:
        """The columns that contain the values of the axes."""
        return self.plan.axes

    @property
    def measures(self) -> list[str]:
        """The columns that contain measures."""
        return [column for column in self.runs.columns if column not in {*self.axes, "seed", "fingerprint"}]

    @property
    def plot(self) -> SweepPlots:
        """Plots of the sweep, such as `found.plot.means("links.bottleneck.queue.mean")`.

        Needs the extra `plots`.
        """
        require("matplotlib")
        from sojourn.plots.comparisons import SweepPlots

        return SweepPlots(self)

    def summary(self, measures: str | Sequence[str] | None = None) -> pd.DataFrame:
        """One row per point and measure: axes, `measure`, `mean`, `sd`, `low`, `high`, `n`.

        `measures` is one name or several; default: all. Raises `UserError` for an unknown name.
        """
        chosen = [measures] if isinstance(measures, str) else list(measures or self.measures)
        known = self.measures
        for name in chosen:
            if name not in known:
                raise UserError.unknown(f"{self.plan.name}: measure", name, known)
        return summarize(self.runs, self.axes, {name: range_of(name) for name in chosen})

    def summaries(self, measures: Sequence[str] | None = None, points: int = 500) -> Iterator[pd.DataFrame]:
        """The summary of `measures` (default: all) as tables of at most `points` points each.

        The whole summary and `runs` are never in memory together. Changes made to `runs` have no effect.
        """
        ranges = {name: range_of(name) for name in (self.rows.names if measures is None else measures)}
        for part in self.rows.tables(points * self.plan.replications):
            yield summarize(part, self.axes, ranges)

    def series_names(self) -> list[str]:
        """The names of all series of the runs."""
        return list(dict.fromkeys(each for traces in self.series for each in traces))

    def series_table(self, name: str) -> pd.DataFrame:
        """The series `name` of all runs in one table: the axes, `seed`, `t` in seconds, its columns.

        Raises `UserError` if no run has the series. `sweep` keeps series only with `series=True`.
        """
        require("pandas")
        import pandas as pd

        if name not in self.series_names():
            raise UserError.unknown(f"{self.plan.name}: series", name, self.series_names())
        where: list[dict[str, Any]] = self.runs[[*self.axes, "seed"]].to_dict("records")  # type: ignore[assignment]
        runs = [(at, traces[name]) for at, traces in zip(where, self.series, strict=True) if name in traces]
        tables = [pd.DataFrame(table).assign(**at)[[*at, *table]] for at, table in runs]
        return pd.concat(tables, ignore_index=True)

    def to_xarray(self) -> xr.Dataset:
        """Every measure over the axes and `seed`; NaN if a point lacks the seed.

        Raises `MissingExtraError` if xarray is not installed.
        """
        require("xarray")
        table = self.runs.drop(columns="fingerprint").set_index([*self.axes, "seed"])
        found: xr.Dataset = table.to_xarray()
        return found


RESERVED = ("seed", "fingerprint", "measure", "unit", "mean", "sd", "low", "high", "n")
"""Column names of the tables. An axis may not have such a name."""


def read_plan(path: str | Path, changes: Mapping[str, Any] | None = None) -> Plan:
    """Reads a sweep file. Scenario names in it are relative to its folder.

    `changes` maps paths of fields to values. They are applied to the scenario before the axes.

    Raises `UserError` and `ScenarioError` for files that can't be used, `UserError` for a change of an axis.
    """
    file = Path(path)
    changed = changes or {}
    named: list[Scenario] = []

    def read(name: str) -> tuple[str, str]:
        base = read_scenario(file.parent / name).set_all(changed)
        named.append(base)
        return base.file, base.for_engine()

    text = read_text(file, "sweep")
    try:
        grid = _sojourn.Grid(text, str(file), read, written=True)
    except ScenarioError as error:  # its position may refer to generated text or to a changed field
        raise ScenarioError(named[-1].clean_error(str(error)) if named else str(error)) from None
    written = toml.parse(text, str(file))
    plan = _plan(grid, written, str(file), file.stem)
    for path in changed:
        if axis := _setting(written, named[-1].to_dict(), path):
            of = "" if axis == path else f", which the axis {axis} sets"
            raise UserError(f'{file}: expected a change of a field that is no axis, got "{path}"{of}')
    return plan


def _setting(written: Mapping[str, Any], base: Mapping[str, Any], path: str) -> str | None:
    """The axis that sets the field at `path` at every point of a sweep; None if none does."""
    points: dict[str, list[list[str]]] = {axis: [[axis]] for axis in written.get("axes", {})}
    points |= {axis: list(map(list, variants.values())) for axis, variants in written.get("variants", {}).items()}
    for axis, every in points.items():
        if all(any(field_paths.replaces(base, one, path) for one in sets) for sets in every):
            return axis
    return None


def make_plan(
    scenario: Source,
    axes: Mapping[str, Sequence[Any]] | None = None,
    seeds: Seeds = 1,
    *,
    variants: Mapping[str, Mapping[str, Mapping[str, Any]]] | None = None,
    name: str = "sweep",
) -> Plan:
    """Makes a plan of a sweep from a `scenario` and its axes.

    `scenario` is anything that `load` accepts. `axes` maps paths of fields to lists of values. `variants` maps the name
    of an axis to named sets of fields. `seeds` is the number of seeds or a list. `name` is used in messages and file
    names.

    Raises `UserError` and `ScenarioError` for arguments that can't be used.

    >>> sj.make_plan("examples/dumbbell.toml", {"flows.ftp.count": [10, 50]}, seeds=5)
    <Plan sweep: 2 points × 5 seeds over flows.ftp.count>
    """
    base = load(scenario)
    if not isinstance(name, str):
        raise UserError.expected("name", "a text", name)
    toml.plain(name, "name")
    for what, given in (("axes", axes), ("variants", variants)):
        if given is not None and not isinstance(given, Mapping):
            raise UserError.expected(f"{name}: {what}", "a table of paths or names", given)
    lists = {
        path: list(v) if isinstance(v, Iterable) and not isinstance(v, (str, Mapping)) else v
        for path, v in (axes or {}).items()
    }
    seeds_of(seeds)
    written = toml.plain({"scenario": base.label, "axes": lists, "variants": variants or {}}, f"{name}: ")
    with base.clean_errors():
        text = toml.for_engine(written, name)
        grid = _sojourn.Grid(text, name, lambda _: (base.file, base.for_engine()), written=False)
    return replace(_plan(grid, written, name, name), seeds=seeds)


def _plan(grid: _sojourn.Grid, written: Mapping[str, Any], label: str, name: str) -> Plan:
    """The plan of a grid that was read from the table of a sweep."""
    if not grid.axes:
        raise UserError(f"{label}: axes: expected one or more, got none: `run --seeds` runs one scenario several times")
    for axis in grid.axes:
        if axis in RESERVED:
            raise UserError(f'{label}: expected an axis of another name than {", ".join(RESERVED)}, got "{axis}"')
    _check_different(label, written)
    return Plan(name, grid.axes, Points(grid), grid.replications)


def _check_different(label: str, written: Mapping[str, Any]) -> None:
    """Rejects duplicate values of an axis, and variants named like a measure.

    The runs of duplicate values would count twice.
    """
    for axis, values in written.get("axes", {}).items():
        seen = set()
        for value in values:
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            text = repr(float(value)) if number else value_label(value)
            if text in seen:
                raise UserError(f"{label}: axes.{axis}: expected different values, got {value_label(value)} twice")
            seen.add(text)
    for axis in written.get("variants", {}):
        if "." in axis:
            raise UserError(f'{label}: variants: expected a name without dots, unlike a measure\'s, got "{axis}"')


def sweep(
    plan: Plan | Source,
    axes: Mapping[str, Sequence[Any]] | None = None,
    seeds: Seeds = 1,
    *,
    threads: int = 0,
    cache: Store | None = None,
    progress: Progress | None = None,
    executor: Executor | Cluster | None = None,
    shard: str | None = None,
    laws: Laws | None = None,
    series: bool = False,
) -> SweepResult:
    """Runs a sweep in parallel. `plan` is a plan, a sweep file, or a scenario with axes.

    `axes` maps paths of fields to lists of values. `seeds` is the number of seeds per point, or a list. With a cache, a
    second call continues an interrupted one. With `series` the result contains the traces of every run, which may need
    much memory. `executor` runs jobs on other machines, and `shard` selects a part of the runs. For these, `threads`,
    `cache`, `progress` and `laws` (laws in Python by name) see `run_each`.

    A run that is killed or runs out of memory is reported in a `Note` and in `failed`; the others continue.

    Raises `UserError` for a plan that can't be used, `ScenarioError` for a scenario that can't be run, `Interrupted`
    after Ctrl-C, `RunError` if every run fails, and `MissingExtraError` if pandas is not installed.

    >>> sj.sweep("examples/dumbbell.toml", {"flows.ftp.count": [5, 10, 20]}, seeds=1)
    <SweepResult sweep: 3 points × 1 seed over flows.ftp.count, ... measures>
    """
    require("pandas")
    if isinstance(plan, Plan):
        chosen = plan
    elif axes is not None:
        chosen = make_plan(plan, axes, seeds)
    elif isinstance(plan, (str, Path)):
        chosen = read_plan(plan)
    else:
        raise UserError("sweep: axes: expected a table of paths, each with a list of values, got none")
    jobs, failed, kept = chosen.jobs(), list[str](), dict[int, Traces]()
    rows = Rows(len(jobs))

    def on_record(index: int, record: Record) -> None:
        labels = jobs.labels(index).items()
        at = {name: label if isinstance(label, (int, float)) else value_label(label) for name, label in labels}
        rest = {"seed": record["seed"], "fingerprint": str(record.get("fingerprint", ""))}
        rows.add(index, record.scalars(), at | rest)
        if series:
            kept[index] = record.series

    def on_failed(_: int, reason: str) -> None:
        failed.append(reason)
        note(f"a run failed: {reason}")

    run_each(
        jobs,
        on_record,
        threads=threads,
        cache=cache,
        progress=progress,
        executor=executor,
        shard=shard,
        laws=laws,
        on_failed=on_failed,
    )
    if failed and not len(rows):
        raise RunError(f"{chosen.name}: every run failed; the last: {failed[-1]}")
    return SweepResult(chosen, rows, [kept[index] for index in sorted(kept)], failed)
