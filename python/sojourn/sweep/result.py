"""Sweeps: their runs and the summaries of the results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.core.errors import RunError, UserError, note
from sojourn.core.extras import require
from sojourn.core.field_labels import value_label
from sojourn.core.quantities import axis_text, base_quantity
from sojourn.core.record import Record
from sojourn.core.record_schema import range_of
from sojourn.core.scenario_files import Source
from sojourn.core.stats import summarize
from sojourn.core.text_format import html_table, number
from sojourn.core.traces import Traces
from sojourn.runs.cluster import Cluster, Executor
from sojourn.runs.laws import Laws
from sojourn.runs.runner import Progress, run_each
from sojourn.runs.seeds import Seeds
from sojourn.runs.store import Store
from sojourn.sweep.run_table import Rows

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from sojourn.plots.comparisons import SweepPlots
from sojourn.sweep.plan import Plan, make_plan, read_plan


@dataclass
class SweepResult:
    """The runs of a sweep, one row per run: axes, seed, fingerprint and every measure.

    Parameters
    ----------
    plan : Plan
        The plan that was run.
    rows : Rows
        The rows of the runs, in a temporary file.
    series : list of Traces, optional
        The traces of every run, in the order of `runs`; empty unless `sweep` was called with `series=True`.
    failed : list of str, optional
        A line per failed run (killed or out of memory). Such runs are missing in `runs`.

    Examples
    --------
    >>> found = sj.sweep("examples/dumbbell.toml", {"flows.ftp.count": [5, 10]}, seeds=2)
    >>> found.summary(["links.bottleneck.queue.mean"])[["flows.ftp.count", "n"]].to_numpy().tolist()
    [[5, 2], [10, 2]]
    """

    plan: Plan
    rows: Rows = field(repr=False)
    series: list[Traces] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        traces = ", with traces" if self.series else ""
        return f"<SweepResult {self.plan.name}: {self.plan.grid}, {len(self.measures)} measures{traces}>"

    def _repr_html_(self) -> str:
        last = tuple(f".{path}" for path in ("utilization", "queue.mean", "loss_ratio"))
        shown = [m for m in self.measures if m.startswith("links.") and m.endswith(last)][:6]
        means = self.runs.groupby(self.axes, sort=False, dropna=False)[shown].mean()
        rows = [
            [", ".join(self._texts(where)), *map(number, row)]
            for where, row in zip(means.index, means.to_numpy(), strict=True)
        ]
        return html_table(f"{self.plan.name}: means", [", ".join(self.axes), *shown], rows)

    def _texts(self, where: Any) -> list[str]:
        """The values of the axes at a point as texts."""
        values = where if isinstance(where, tuple) else (where,)
        return [axis_text(value, self.units.get(axis)) for axis, value in zip(self.axes, values, strict=True)]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.runs.columns)

    def __getitem__(self, column: str) -> pd.Series[Any]:
        """A column of `runs`. Raises `UserError` for an unknown name."""
        if column not in self.runs:
            raise UserError.unknown(f"{self.plan.name}: column", column, map(str, self.runs.columns))
        return self.runs[column]

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row per run.

        The column of an axis has its numbers in the base unit (see `units`): a rate of `10 Mbit/s` is 1e7. A measure's
        column has its path and unit in a record.
        """
        table = self.rows.table()
        table.attrs["units"] = dict(self.units)
        return table

    @property
    def axes(self) -> list[str]:
        """The columns that contain the values of the axes."""
        return self.plan.axes

    @property
    def units(self) -> dict[str, str]:
        """The base unit of each axis with quantities, such as `bit/s`; other axes have none."""
        return self.plan.units

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
        """One row per point and measure.

        Parameters
        ----------
        measures : str or sequence of str, optional
            The paths of measures (default: all).

        Returns
        -------
        pandas.DataFrame
            Columns: the axes, `measure`, `mean`, `sd`, `low`, `high`, `n`.

        Raises
        ------
        UserError
            A name is unknown.
        """
        chosen = [measures] if isinstance(measures, str) else list(measures or self.measures)
        known = self.measures
        for name in chosen:
            if name not in known:
                raise UserError.unknown(f"{self.plan.name}: measure", name, known)
        table = summarize(self.runs, self.axes, {name: range_of(name) for name in chosen})
        table.attrs["units"] = dict(self.units)
        return table

    def summaries(self, measures: Sequence[str] | None = None, points: int = 500) -> Iterator[pd.DataFrame]:
        """The summary as tables of a limited number of points.

        The whole summary and `runs` are never in memory together. Changes made to `runs` have no effect.

        Parameters
        ----------
        measures : sequence of str, optional
            The paths of measures (default: all).
        points : int, default 500
            The maximum number of points of a table.

        Yields
        ------
        pandas.DataFrame
            The columns of `summary`.
        """
        ranges = {name: range_of(name) for name in (self.rows.names if measures is None else measures)}
        for part in self.rows.tables(points * self.plan.replications):
            yield summarize(part, self.axes, ranges)

    def series_names(self) -> list[str]:
        """The names of all series of the runs.

        Returns
        -------
        list of str
            The names, such as "queue/bottleneck".
        """
        return list(dict.fromkeys(each for traces in self.series for each in traces))

    def series_table(self, name: str) -> pd.DataFrame:
        """A series of all runs in one table.

        `sweep` keeps series only with `series=True`.

        Parameters
        ----------
        name : str
            The name of the series, such as "queue/bottleneck".

        Returns
        -------
        pandas.DataFrame
            Columns: the axes, `seed`, `t` in seconds, and those of the series.

        Raises
        ------
        UserError
            No run has the series.
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
        """Every measure over the axes and `seed`.

        Returns
        -------
        xarray.Dataset
            A variable per measure; NaN if a point lacks the seed. Axes with quantities have an attribute `units`.

        Raises
        ------
        MissingExtraError
            Package xarray is not installed.
        """
        require("xarray")
        table = self.runs.drop(columns="fingerprint").set_index([*self.axes, "seed"])
        found: xr.Dataset = table.to_xarray()
        for axis, unit in self.units.items():
            found[axis].attrs["units"] = unit
        return found


def _value(label: Any, is_quantity: bool) -> Any:
    """A value of an axis as tables have it: numbers, quantities in their base unit, or a text."""
    number = base_quantity(label) if is_quantity else None
    return number[0] if number else label if isinstance(label, (int, float)) else value_label(label)


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
    """Runs a sweep in parallel.

    A run that is killed or runs out of memory is reported in a `Note` and in `failed`; the others continue.

    Parameters
    ----------
    plan : Plan, path, or scenario
        A plan, a sweep file, or with `axes` a scenario in any form that `load` accepts.
    axes : mapping of str to sequences, optional
        Paths of fields with lists of values.
    seeds : int or sequence of int, default 1
        The number of seeds per point, or a list.
    threads : int, default 0
        Number of simultaneous runs; 0 uses every core.
    cache : Store, optional
        Holds finished runs. A second call continues an interrupted one.
    progress : callable, optional
        Called as `progress(done, total)` after each run.
    executor : Executor or Cluster, optional
        Runs jobs on other machines: an object with `submit`, such as `client.get_executor()` of Dask. Its workers need
        this engine and no cache.
    shard : str, optional
        The part of the runs to do, such as "3/64". It requires a cache, which collects all parts.
    laws : mapping of str to callable, optional
        Laws and controllers in Python by name, as for `run`.
    series : bool, default False
        Whether the result contains the traces of every run, which may need much memory.

    Returns
    -------
    SweepResult
        One row per run, and summaries per point.

    Raises
    ------
    UserError
        The plan can't be used.
    ScenarioError
        The scenario can't be run.
    Interrupted
        The user pressed Ctrl-C.
    RunError
        Every run failed, or the executor did.
    MissingExtraError
        Pandas is not installed, which only a `shard` does without.

    Examples
    --------
    >>> sj.sweep("examples/dumbbell.toml", {"flows.ftp.count": [5, 10, 20]}, seeds=1)
    <SweepResult sweep: 3 points × 1 seed over flows.ftp.count, ... measures>
    """
    if shard is None:
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
        at = {name: _value(label, name in chosen.units) for name, label in labels}
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
