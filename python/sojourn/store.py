"""Finished runs kept by content: the same scenario, seed and engine are never run twice."""

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
    """A digest of the built engine, so that a rebuilt one starts with nothing cached."""
    file = getattr(_sojourn, "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16] if file else "unknown"


class Store:
    """A folder of finished runs. A run is there when its JSON file is; that file is renamed into place last."""

    def __init__(self, root: str | Path = DEFAULT) -> None:
        self.root = Path(root)

    def _file(self, key: str, suffix: str) -> Path:
        return self.root / key[:2] / f"{key}{suffix}"

    def get(self, key: str) -> Record | None:
        """The run, or None where it is absent or unreadable."""
        try:
            data = json.loads(self._file(key, ".json").read_text(encoding="utf-8"))
            series = unpack_series(self._file(key, ".npz").read_bytes()) if data["has_series"] else {}
            return Record(data["record"], series)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, key: str, record_json: str, series: Series) -> None:
        """Keeps a finished run."""
        if series:
            write_atomic(self._file(key, ".npz"), pack_series(series))
        entry = f'{{"has_series": {json.dumps(bool(series))}, "record": {record_json}}}'
        write_atomic(self._file(key, ".json"), entry)

    def __len__(self) -> int:
        return sum(1 for _ in self.root.glob("??/*.json"))
