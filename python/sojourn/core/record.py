"""Records of runs as dictionaries, tables, arrays and files."""

from __future__ import annotations

import functools
import io
import json
import zipfile
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
from sojourn.core.text_format import counted, html_table, number
from sojourn.core.traces import Traces

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from sojourn.plots.records import RecordPlots

Array = npt.NDArray[np.float64]
Series = dict[str, dict[str, Array]]
TABLES = ("links", "flows", "groups")
MOST_SERIES = 1_000_000_000
"""The maximum size of a run's series in bytes. A run has at most 100,000,000 numbers."""
# Simulated runs have no date. Files in formats of other programs that need a date use this one.
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


class Record(Mapping[str, Any]):
    """The results of one run: a dictionary with tables and traces.

    The keys are `scenario`, `seed`, `duration_s` and `warmup_s` (seconds), `fingerprint` (hexadecimal), the lists
    `links`, `flows` and `groups`, and the tables `total` and `audit`. A name ends in its unit: `_bps` is bit/s, `_ms`
    milliseconds, `_s` seconds. Queues are in packets, ratios from 0 to 1. A field without a value is None.
    docs/measurements.md defines every field.

    `links`, `flows` and `groups` are also attributes: pandas tables with one row per entry, indexed by name, with
    dotted columns (`queue.mean`). `series` contains the traces. The constructor requires `data`, the dictionary, and
    accepts `series`.

    >>> record = sj.run("examples/dumbbell.toml", seed=1)
    >>> print(f'{record.links.loc["bottleneck", "utilization"]:.1f}')
    1.0
    """

    series: Traces
    """The traces by name (`queue/bottleneck`), each a dictionary of equally long arrays.

    Empty unless the scenario requests traces.
    """

    def __init__(self, data: Mapping[str, Any], series: Series | None = None) -> None:
        self._data = dict(data)
        self.series = Traces(series or {})

    @classmethod
    def from_json(cls, text: str, series: Series | None = None) -> Record:
        """Builds a record from the engine's JSON `text`, with traces `series` (default: none)."""
        data = json.loads(text)
        _check_shape(data)
        return cls(data, series)

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
        """The series `name`, such as `record.trace("wait/bottleneck")`, as a table.

        A row is a sample, a packet or a connection. `t` is the time in seconds. Units are those of
        `sojourn.core.record_schema.column`. If the series covers flows, `flow` and `group` contain their names. Raises
        `UserError` if the record lacks the series.
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
        """The values of a `column` of the series `name` after the warm-up, in order of time.

        Measures use the same values. `record.samples("wait/bottleneck")`, `record.samples("completions/web")` and
        `record.samples("rtt/ftp/0")` return waits, completion times and round-trip times in seconds. Raises `UserError`
        for an unknown series or column.
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
        """The value at a `path`. Raises `UserError` for an unknown path.

        >>> sj.run("examples/dumbbell.toml").value("links.*.name")
        ['bottleneck', 'bottleneck:back']
        """
        return field_paths.get(self._data, path, f"record of {self.get('scenario', 'a run')}")

    def scalars(self) -> dict[str, float]:
        """All numbers of links, their classes and queues, groups and totals, by path."""
        numbers: dict[str, float] = {}
        for key in ("links", "groups"):
            for item in self._data.get(key, []):
                _collect(item, f"{key}.{field_paths.element(str(field_paths.name_of(item)))}", numbers)
        _collect(self._data.get("total", {}), "total", numbers)
        return numbers

    def to_dict(self) -> dict[str, Any]:
        """The record without its series."""
        return dict(self._data)

    def to_json(self) -> str:
        """The record without its series, as JSON."""
        return json.dumps(self._data, indent=1)

    def to_pandas(self, series: str | None = None) -> pd.DataFrame:
        """One series as a table indexed by `t` in seconds; otherwise as `trace` returns it.

        `series` is its name, optional if the record has one series only. Raises `UserError` for another name. For
        links, flows and groups use the attributes of these names.
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

        Scenario, seed, durations and fingerprint are its attributes. See also `Traces`. Raises `MissingExtraError` if
        xarray is not installed.
        """
        return self.series.to_xarray({key: each for key, each in self._data.items() if np.isscalar(each)})

    def to_parquet(self, folder: str | Path) -> list[Path]:
        """Writes links, flows, groups and each series as Parquet into `folder`; returns the files."""
        require("pandas", "pyarrow")
        import pandas as pd

        root = Path(folder)
        written = [frame_to_parquet(self._table(key).reset_index(), root / f"{key}.parquet") for key in TABLES]
        for name, stem in file_names(self.series).items():
            file = root / "series" / f"{stem}.parquet"
            written.append(frame_to_parquet(pd.DataFrame(self.series[name]), file))
        return written

    def save(self, folder: str | Path) -> list[Path]:
        """Writes the record into `folder` and returns the files.

        They are `record.json`, the tables, the series and `SHA256SUMS`.
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
        """Reads the record that `save` wrote into `folder`. Raises `UserError` for a changed file."""
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


def frame_to_parquet(frame: pd.DataFrame, path: Path) -> Path:
    """Writes a table as Parquet, completely or not at all."""
    return frames_to_parquet([frame], path)


def frames_to_parquet(frames: Iterable[pd.DataFrame], path: Path) -> Path:
    """Writes tables with the same columns as one Parquet file.

    They need not be in memory together.
    """

    def parts() -> Iterator[bytes]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        written, writer = _Written(), None
        for frame in frames:
            table = pa.Table.from_pandas(frame, schema=writer.schema if writer else None, preserve_index=False)
            writer = writer or pq.ParquetWriter(written, table.schema)
            writer.write_table(table)
            yield written.take()
        if writer:
            writer.close()
        yield written.take()

    return write_atomic(path, parts())


def frames_to_csv(frames: Iterable[pd.DataFrame], path: Path) -> Path:
    """Writes tables with the same columns as one CSV file."""
    texts = (frame.to_csv(index=False, header=at == 0) for at, frame in enumerate(frames))
    return write_atomic(path, (text.encode("utf-8") for text in texts))


class _Written(io.RawIOBase):
    """A file that buffers written bytes until `take`."""

    def __init__(self) -> None:
        self._content, self._taken = bytearray(), 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._taken + len(self._content)

    def write(self, content: Any) -> int:
        self._content += content
        return len(content)

    def take(self) -> bytes:
        """The bytes written since the last call."""
        taken = bytes(self._content)
        self._taken += len(taken)
        self._content.clear()
        return taken


def pack_series(series: Series) -> bytes:
    """Packs series into one NumPy archive."""
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {
        f"{name}|{column}": data for name, columns in series.items() for column, data in columns.items()
    }
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def unpack_series(data: bytes) -> Series:
    """Series from an archive of `pack_series`. Raises `ValueError` above `MOST_SERIES` bytes."""
    series: Series = {}
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        if sum(part.file_size for part in packed.infolist()) > MOST_SERIES:
            raise ValueError(f"more than {MOST_SERIES} bytes when it is unpacked")
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        for key in archive.files:
            name, _, column = key.rpartition("|")
            series.setdefault(name, {})[column] = archive[key]
    return series
