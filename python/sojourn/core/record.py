"""Records of runs as dictionaries, tables, arrays and files."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sojourn.core import field_paths, record_schema
from sojourn.core.errors import UserError, quoted
from sojourn.core.extras import require
from sojourn.core.field_labels import WITHIN_A_LINK
from sojourn.core.files import read_result, together, write_atomic
from sojourn.core.foreign_names import file_names
from sojourn.core.record_files import Series, frame_to_parquet, pack_series, unpack_series
from sojourn.core.text_format import counted, html_table, number
from sojourn.core.traces import Traces

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from sojourn.plots.records import RecordPlots

Array = npt.NDArray[np.float64]
TABLES = ("links", "flows", "groups")
# Simulated runs have no date. Files in formats of other programs that need a date use this one.
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


class Record(Mapping[str, Any]):
    """The results of one run: a dictionary with tables and traces.

    The keys are `scenario`, `seed`, `duration_s` and `warmup_s` (seconds), `fingerprint` (hexadecimal), the lists
    `links`, `flows` and `groups`, and the tables `total` and `audit`. A name ends in its unit: `_bps` is bit/s, `_ms`
    milliseconds, `_s` seconds. Queues are in packets, ratios from 0 to 1. A field without a value is None.
    docs/measurements.md defines every field.

    `links`, `flows` and `groups` are also attributes: pandas tables with one row per entry, indexed by name, with
    dotted columns (`queue.mean`). `series` contains the traces.

    Parameters
    ----------
    data : mapping of str to object
        The dictionary.
    series : mapping of str to mappings of str to arrays, optional
        The traces: columns by name of the series.

    Examples
    --------
    >>> record = sj.run("examples/dumbbell.toml", seed=1)
    >>> print(f'{record.links.loc["bottleneck", "utilization"]:.1f}')
    1.0
    """

    series: Traces
    """The traces by name (`queue/bottleneck`), each a dictionary of equally long arrays.

    Empty unless the scenario requests traces.
    """
    _text: str
    """The engine's JSON."""

    def __init__(self, data: Mapping[str, Any], series: Series | None = None) -> None:
        self._data = dict(data)
        self.series = Traces(series or {})

    @classmethod
    def from_json(cls, text: str, series: Series | None = None) -> Record:
        """Builds a record from the engine's JSON.

        Parameters
        ----------
        text : str
            The JSON.
        series : mapping of str to mappings of str to arrays, optional
            The traces (default: none).

        Returns
        -------
        Record
            The record.
        """
        data = json.loads(text)
        _check_shape(data)
        return cls(data, series)

    @functools.cached_property
    def _data(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._text)
        return found

    def __getitem__(self, key: str) -> Any:
        return self._data[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __repr__(self) -> str:
        parts = [counted(len(self._data.get(key, [])), key[:-1]) for key in ("links", "flows")]
        parts.append(counted(len(self.series), "trace"))
        return f"<Record {self.get('scenario')}, seed {self.get('seed')}: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        title = f"{self.get('scenario')}, seed {self.get('seed')}"
        links = self._html(
            f"{title}: links", "links", (*record_schema.OF_A_LINK, *record_schema.marks(self._data.get("links", [])))
        )
        return links + self._html("groups of flows", "groups", record_schema.OF_A_GROUP)

    def _html(self, title: str, part: str, shown: Iterable[str]) -> str:
        """A part of the record as an HTML table: one row per entry, one column per main measure."""
        names = [str(item["name"]) for item in self._data.get(part, [])]
        columns = [record_schema.measure(part, path, "*") for path in shown]
        header = ["", *(f"{each.label} ({each.unit})" if each.unit else each.label for each in columns)]
        values = [[number(v) for v in each.all_of(self)] for each in columns]
        return html_table(title, header, list(zip(names, *values, strict=True)))

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._data)

    @property
    def plot(self) -> RecordPlots:
        """Plots of the run, such as `record.plot.queue()`. Needs the extra `plots`."""
        require("matplotlib")
        from sojourn.plots.records import RecordPlots

        return RecordPlots(self)

    @functools.cached_property
    def links(self) -> pd.DataFrame:
        """One row per link, indexed by name. Nested fields have dotted names (`queue.mean`)."""
        return self._table("links")

    @functools.cached_property
    def flows(self) -> pd.DataFrame:
        """One row per flow, indexed by name."""
        return self._table("flows")

    @functools.cached_property
    def groups(self) -> pd.DataFrame:
        """One row per group of flows, indexed by name."""
        return self._table("groups")

    def _table(self, key: str) -> pd.DataFrame:
        require("pandas")
        import pandas as pd  # here, because it is an extra and takes half a second to load

        frame = pd.json_normalize(list(self._data.get(key, [])))
        return frame.set_index("name") if "name" in frame else frame

    def trace(self, name: str) -> pd.DataFrame:
        """A series as a table. A row is a sample, a packet or a connection.

        Parameters
        ----------
        name : str
            The name of the series, such as "wait/bottleneck".

        Returns
        -------
        pandas.DataFrame
            `t` is the time in seconds. If the series covers flows, `flow` and `group` contain their names. Units are
            those of `sojourn.core.record_schema.column`.

        Raises
        ------
        UserError
            The record lacks the series.
        """
        require("pandas")
        import pandas as pd

        columns = self._traced(name)
        table = pd.DataFrame({"t": columns["t"], **{key: data for key, data in columns.items() if key != "t"}})
        if "flow" in table:
            place = table["flow"].to_numpy(dtype=int)
            for key, field in (("flow", "name"), ("group", "group")):
                table[key] = np.array([flow[field] for flow in self._data["flows"]], dtype=object)[place]
        return table

    @property
    def completions(self) -> pd.DataFrame:
        """All completed connections of the flows in `trace.completions`, in order of time.

        Columns are those of `trace`: `t`, `start` and `seconds` in s, `bytes`, `flow` and `group`. Raises `UserError`
        if no flow is traced.
        """
        require("pandas")
        import pandas as pd

        names = [name for name in self.series if name.startswith("completions/")] or ["completions/<group>"]
        tables = [self.trace(name) for name in names]
        return pd.concat(tables, ignore_index=True).sort_values("t", kind="stable", ignore_index=True)

    def samples(self, name: str, column: str = "seconds") -> Array:
        """The values of a column of a series after the warm-up, in order of time.

        Measures use the same values.

        Parameters
        ----------
        name : str
            The name of the series: "wait/bottleneck" for waits, "completions/web" for completion times, "rtt/ftp/0" for
            round-trip times, all in seconds.
        column : str, default "seconds"
            The column.

        Returns
        -------
        array of shape (n,)
            The values.

        Raises
        ------
        UserError
            The series or column is unknown.
        """
        columns = self._traced(name)
        if not isinstance(column, str) or column not in columns:
            raise UserError(f"{name}: expected one of {', '.join(columns)}, got {quoted(column)}")
        return columns[column][columns["t"] >= float(self._data.get("warmup_s", 0.0))]

    def _traced(self, name: str) -> dict[str, Array]:
        if not isinstance(name, str) or name not in self.series:
            raise self.series.unknown(f"record of {self.get('scenario', 'a run')}", name)
        return self.series[name]

    def value(self, path: str) -> Any:
        """The value at a path.

        Parameters
        ----------
        path : str
            A dotted path, such as "links.bottleneck.queue.mean". A `*` selects every entry of a list.

        Returns
        -------
        object
            The value; a list for a path with `*`.

        Raises
        ------
        UserError
            The path is unknown.

        Examples
        --------
        >>> sj.run("examples/dumbbell.toml").value("links.*.name")
        ['bottleneck', 'bottleneck:back']
        """
        return field_paths.get(self._data, path, f"record of {self.get('scenario', 'a run')}")

    def scalars(self) -> dict[str, float]:
        """All numbers of links, their classes and queues, groups and totals.

        Returns
        -------
        dict of str to float
            Numbers by path.
        """
        numbers: dict[str, float] = {}
        for key in ("links", "groups"):
            for item in self._data.get(key, []):
                _collect(item, f"{key}.{field_paths.element(str(field_paths.name_of(item)))}", numbers)
        _collect(self._data.get("total", {}), "total", numbers)
        return numbers

    def to_dict(self) -> dict[str, Any]:
        """The record without its series.

        Returns
        -------
        dict of str to object
            A copy.
        """
        return dict(self._data)

    def to_json(self) -> str:
        """The record without its series, as JSON.

        Returns
        -------
        str
            The JSON, indented.
        """
        return json.dumps(self._data, indent=1)

    def to_pandas(self, series: str | None = None) -> pd.DataFrame:
        """One series as a table indexed by `t` in seconds; otherwise as `trace` returns it.

        For links, flows and groups use the attributes of these names.

        Parameters
        ----------
        series : str, optional
            The name of the series. It may be omitted if the record has one series only.

        Returns
        -------
        pandas.DataFrame
            The table.

        Raises
        ------
        UserError
            The record lacks the series.
        """
        if series is None:
            names = list(self.series)
            if len(names) != 1:
                there = ", ".join(names) or "but nothing is traced"
                raise UserError(f"series: expected the name of one, {there}, got none")
            series = names[0]
        return self.trace(series).set_index("t")

    def to_xarray(self) -> xr.DataTree:
        """The series as a tree of datasets with units: `record.to_xarray()["queue/bottleneck"]`.

        Returns
        -------
        xarray.DataTree
            Scenario, seed, durations and fingerprint are its attributes. See also `Traces`.

        Raises
        ------
        MissingExtraError
            Package xarray is not installed.
        """
        return self.series.to_xarray({key: each for key, each in self._data.items() if np.isscalar(each)})

    def to_parquet(self, folder: str | Path) -> list[Path]:
        """Writes links, flows, groups and each series as Parquet.

        Parameters
        ----------
        folder : str or path
            The folder to write to.

        Returns
        -------
        list of path
            The written files.
        """
        require("pandas", "pyarrow")
        import pandas as pd

        root = Path(folder)
        written = [frame_to_parquet(self._table(key).reset_index(), root / f"{key}.parquet") for key in TABLES]
        for name, stem in file_names(self.series).items():
            file = root / "series" / f"{stem}.parquet"
            written.append(frame_to_parquet(pd.DataFrame(self.series[name]), file))
        return written

    def save(self, folder: str | Path) -> list[Path]:
        """Writes the record, its tables and series, and `SHA256SUMS`.

        Parameters
        ----------
        folder : str or path
            The folder to write to.

        Returns
        -------
        list of path
            The written files.
        """
        root = Path(folder)
        with together(root):
            written = self.to_parquet(root)
            if self.series:
                written.append(write_atomic(root / "series.npz", pack_series(self.series)))
            written.append(write_atomic(root / "record.json", self.to_json()))
        return written

    @classmethod
    def read(cls, folder: str | Path) -> Record:
        """Reads the record that `save` wrote.

        Parameters
        ----------
        folder : str or path
            The folder that was written to.

        Returns
        -------
        Record
            The record with its series.

        Raises
        ------
        UserError
            A file was changed.
        """
        file = Path(folder)
        file = file if file.is_file() else file / "record.json"
        root = file.parent
        content = read_result(root, file.name)
        try:
            data = json.loads(content)
            _check_shape(data)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{file}: expected a record, got {error}") from None
        if not (root / "series.npz").exists():
            return cls(data)
        try:
            return cls(data, unpack_series(read_result(root, "series.npz")))
        except UserError:
            raise
        except Exception as error:  # NumPy, zipfile and zlib raise many types
            raise UserError(f"{root / 'series.npz'}: expected series, got {error}") from None


def unread(text: str, series: Series) -> Record:
    """The record of a run of the engine, whose JSON is parsed at the first access."""
    record = Record.__new__(Record)
    record._text, record.series = text, Traces(series)
    return record


def _check_shape(data: Any) -> None:
    """Raises `ValueError` for an invalid record."""
    if not isinstance(data, dict):
        raise ValueError(f"{type(data).__name__} instead of a table")
    for key in TABLES:
        items = data.get(key, [])
        if not isinstance(items, list) or not all(
            isinstance(i, dict) and isinstance(i.get("name"), str) for i in items
        ):
            raise ValueError(f"{key} that are no list of tables with names")


def _collect(node: Any, path: str, into: dict[str, float]) -> None:
    """Collects the numbers under `node`."""
    for key, item in node.items():
        if isinstance(item, (int, float)):
            if not isinstance(item, bool):
                into[f"{path}.{key}"] = float(item)
        elif isinstance(item, dict):
            _collect(item, f"{path}.{key}", into)
        elif key in WITHIN_A_LINK:
            for each in item:
                _collect(each, f"{path}.{key}.{field_paths.element(str(each['name']))}", into)
