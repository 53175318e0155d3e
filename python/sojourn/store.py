"""A cache of finished runs: the same scenario, seed and engine are never run twice."""

from __future__ import annotations

import functools
import hashlib
import json
from pathlib import Path

from sojourn import _sojourn
from sojourn.files import write_atomic
from sojourn.record import Record, Series, pack_series, unpack_series

DEFAULT = Path("results") / "cache"


@functools.cache
def engine_identity() -> str:
    """A digest of the extension module, so that a rebuilt engine does not use what another one cached."""
    file = getattr(_sojourn, "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16] if file else "unknown"


class Store:
    """A folder of finished runs, two files each: `KEY.json` for the record and `KEY.npz` for its series.

    The JSON file is written last: a run is in the cache if it is there.
    """

    def __init__(self, root: str | Path = DEFAULT) -> None:
        self.root = Path(root)

    def _file(self, key: str, suffix: str) -> Path:
        return self.root / key[:2] / f"{key}{suffix}"

    def get(self, key: str) -> Record | None:
        """The record with this key, or None where it is absent or unreadable."""
        try:
            data = json.loads(self._file(key, ".json").read_text(encoding="utf-8"))
            series = unpack_series(self._file(key, ".npz").read_bytes()) if data["has_series"] else {}
            return Record(data["record"], series)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, key: str, record_json: str, series: Series) -> None:
        """Writes a finished run to the cache. Raises `DiskError` where it can't."""
        if series:
            write_atomic(self._file(key, ".npz"), pack_series(series))
        entry = f'{{"has_series": {json.dumps(bool(series))}, "record": {record_json}}}'
        write_atomic(self._file(key, ".json"), entry)

    def __len__(self) -> int:
        return sum(1 for _ in self.root.glob("??/*.json"))
