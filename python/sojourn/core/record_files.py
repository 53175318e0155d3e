"""Files of records and their series: Parquet, CSV and packed arrays."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sojourn.core.field_labels import with_unit
from sojourn.core.files import write_atomic

if TYPE_CHECKING:
    import pandas as pd

Series = dict[str, dict[str, npt.NDArray[np.float64]]]


NO_UNITS: Mapping[str, str] = MappingProxyType({})
MOST_SERIES = 1_000_000_000
"""The maximum size of a run's series in bytes. A run has at most 100,000,000 numbers."""


def frame_to_parquet(frame: pd.DataFrame, path: Path, units: Mapping[str, str] = NO_UNITS) -> Path:
    """Writes a table as Parquet, completely or not at all. For `units` see `frames_to_parquet`."""
    return frames_to_parquet([frame], path, units)


def frames_to_parquet(frames: Iterable[pd.DataFrame], path: Path, units: Mapping[str, str] = NO_UNITS) -> Path:
    """Writes tables with the same columns as one Parquet file.

    They need not be in memory together. Columns in `units` have the metadata field `unit`.
    """

    def parts() -> Iterator[bytes]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        written, writer = _Written(), None
        for frame in frames:
            table = pa.Table.from_pandas(frame, schema=writer.schema if writer else None, preserve_index=False)
            if writer is None:
                fields = [
                    each.with_metadata({"unit": units[each.name]}) if each.name in units else each
                    for each in table.schema
                ]
                writer = pq.ParquetWriter(written, pa.schema(fields, table.schema.metadata))
            writer.write_table(table.cast(writer.schema))
            yield written.take()
        if writer:
            writer.close()
        yield written.take()

    return write_atomic(path, parts())


def frames_to_csv(frames: Iterable[pd.DataFrame], path: Path, units: Mapping[str, str] = NO_UNITS) -> Path:
    """Writes tables with the same columns as one CSV file.

    The heads of columns in `units` end with the unit: `links.bottleneck.rate (bit/s)`.
    """
    named = {name: with_unit(name, unit) for name, unit in units.items()}
    texts = (frame.rename(columns=named).to_csv(index=False, header=at == 0) for at, frame in enumerate(frames))
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
