"""The series of a run by name. A series is a table of equally long arrays, with units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sojourn.core.errors import UserError, printed
from sojourn.core.extras import require
from sojourn.core.record_schema import Column, series_columns
from sojourn.core.text_format import counted, html_table, listed

if TYPE_CHECKING:
    import xarray as xr

Array = npt.NDArray[np.float64]
Columns = dict[str, Array]
TIME = Column("t", "s", "simulated time")

# The setting that adds each kind of missing trace to a scenario.
TO_ADD = {
    "queue": 'queue = { links = ["*"], every = "10 ms" }',
    "cwnd": 'cwnd = { flows = ["*"], every = "10 ms" }',
    "throughput": 'throughput = { flows = ["*"], every = "1 s" }',
    "wait": 'wait = { links = ["*"] }',
    "rtt": 'rtt = { flows = ["*"] }',
    "completions": 'completions = { flows = ["*"] }',
    "controller": 'controller = { flows = ["*"] }',
}


def missing(where: str, kind: str) -> UserError:
    """The error for a record without a kind of traces. It names the setting to add."""
    what = f"add {TO_ADD[kind]} to [trace] of the scenario" if kind in TO_ADD else "add a [trace] table to the scenario"
    return UserError(f"{where}: {kind}: expected a trace: {what}, got none")


class Traces(dict[str, Columns]):
    """Series by name (`queue/bottleneck`), each a dictionary of equally long arrays.

    `t` is in seconds. `traces[name]` raises `UserError` for an unknown name.

    >>> scenario = sj.load("examples/dumbbell.toml").set("trace.queue", {"links": ["bottleneck"], "every": "1 s"})
    >>> sj.run(scenario).series["queue/bottleneck"]["packets"].shape
    (61,)
    """

    def __missing__(self, name: str) -> Columns:
        raise self.unknown("series", name)

    def unknown(self, where: str, name: object) -> UserError:
        """The error for an unknown series.

        It lists the known names, or the setting that adds the trace.
        """
        kind = printed(name).partition("/")[0]
        if not self or (kind in TO_ADD and all(other.partition("/")[0] != kind for other in self)):
            return missing(where, kind)
        return UserError.unknown(where, name, self)

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'trace')}{': ' if self else ''}{listed(self)}>"

    def _repr_html_(self) -> str:
        rows = [
            (name, str(len(next(iter(table.values()), ()))), listed(map(str, columns_of(name, table))))
            for name, table in self.items()
        ]
        return html_table(counted(len(self), "trace"), ("", "samples", "columns"), rows)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def to_xarray(self, attributes: Mapping[str, Any] | None = None) -> xr.DataTree:
        """All series as a tree of datasets with units, each over its own `t`.

        The key is the name of the series: `tree["queue/bottleneck"]`. `attributes` become those of the tree. Raises
        `MissingExtraError` if xarray is not installed.
        """
        require("xarray")
        import xarray as xr

        datasets = {name: self._dataset(name) for name in self}
        return xr.DataTree.from_dict({"/": xr.Dataset(attrs=dict(attributes or {})), **datasets})

    def _dataset(self, name: str) -> xr.Dataset:
        import xarray as xr

        table = self[name]
        known = {column.name: column for column in columns_of(name, table)}
        across = "t" if "t" in table else "sample"
        made = {
            key: (across, values, {"units": known[key].unit, "long_name": known[key].summary})
            for key, values in table.items()
        }
        return xr.Dataset(made).set_coords([across] if across in made else [])


def columns_of(name: str, table: Mapping[str, Any]) -> list[Column]:
    """The columns of a series with their units, `t` first.

    A column that the engine does not define has no unit.
    """
    known = {"t": TIME} | series_columns(name.partition("/")[0])
    return [known.get(key, Column(key, "", "")) for key in table]
