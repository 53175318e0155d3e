"""A cache of finished runs. It prevents a second run of the same scenario, seed and engine."""

from __future__ import annotations

import functools
import hashlib
import os
import re
from pathlib import Path

from sojourn import _sojourn
from sojourn.core import bounded_files, files
from sojourn.core.errors import RunError, UserError, note
from sojourn.core.files import DiskError, remove_unfinished, write_atomic
from sojourn.core.record import Record
from sojourn.core.record_files import Series, pack_series, unpack_series
from sojourn.runs import worker_program

DEFAULT = Path("results") / "cache"
_HEAD = re.compile(rb"sojourn-run 1 (\w{1,128}) (\w{1,128}) (\d{1,18}) (\d{1,18}) ([0-9a-f]{64})\n")


_ENGINE = _sojourn.__file__
_LOADED = worker_program.stamp(_ENGINE)


@functools.cache
def engine_identity() -> str:
    """A digest of the extension module. A rebuilt engine has other cache keys.

    Raises `RunError` if the file is no longer the one that was loaded.
    """
    digest = hashlib.sha256(Path(_ENGINE).read_bytes()).hexdigest()
    if worker_program.stamp(_ENGINE) != _LOADED:
        raise RunError(str(worker_program.STALE[1]))
    return digest[:16]


class DamagedError(ValueError):
    """A cache entry differs from the data that was written under its key."""


def pack_entry(key: str, engine: str, record_json: str, arrays: bytes) -> bytes:
    """Packs a finished run into one file.

    The file contains a line with key, engine, sizes and checksum, then the record, then its packed series.
    """
    record = record_json.encode("utf-8")
    about = f"{key} {engine} {len(record)} {len(arrays)}".encode("ascii")
    digest = hashlib.sha256(about + b"\n" + record + arrays).hexdigest().encode("ascii")
    return b"sojourn-run 1 " + about + b" " + digest + b"\n" + record + arrays


def unpack_entry(data: bytes, key: str, engine: str) -> tuple[str, Series]:
    """Record and series of an entry.

    Raises `DamagedError` unless every byte is as written for this key.
    """
    head = _HEAD.match(data)
    if head is None:
        raise DamagedError("its first line is damaged")
    if (head[1].decode(), head[2].decode()) != (key, engine):
        raise DamagedError("it is another run's")
    body, size = data[head.end() :], int(head[3])
    if len(body) != size + int(head[4]):
        raise DamagedError(f"it has {len(body)} bytes instead of {size + int(head[4])}")
    if hashlib.sha256(b" ".join(head.groups()[:4]) + b"\n" + body).hexdigest().encode() != head[5]:
        raise DamagedError("its checksum is wrong")
    try:
        return body[:size].decode("utf-8"), unpack_series(body[size:]) if len(body) > size else {}
    except Exception as error:  # NumPy, zipfile and zlib raise many types
        raise DamagedError(f"its series cannot be read: {error}") from None


class Store:
    """A folder of finished runs, one file `KEY.run` per run.

    A damaged entry is never returned. It is renamed to `KEY.run.damaged`. `notes` collects a line per damaged or
    unreadable entry.

    Parameters
    ----------
    root : str or path, default "results/cache"
        The folder.

    Examples
    --------
    >>> len(sj.Store("results/none"))
    0
    """

    def __init__(self, root: str | Path = DEFAULT) -> None:
        if not isinstance(root, (str, os.PathLike)):
            raise UserError.expected("store", "the path of a folder", root)
        self.root = Path(root)
        self.notes: list[str] = []
        self._tidy = False

    def _file(self, key: str) -> Path:
        return Path(f"{self.root}/{key[:2]}/{key}.run")

    def get(self, key: str) -> Record | None:
        """The record of a run.

        Parameters
        ----------
        key : str
            The key of the run (see `keys_of`).

        Returns
        -------
        Record or None
            The record; None if it is absent, damaged or unreadable.
        """
        path = self._file(key)
        try:
            return Record.from_json(
                *unpack_entry(files.disk.read(path, bounded_files.MOST_RESULT), key, engine_identity())
            )
        except FileNotFoundError:
            return None
        except OSError as error:
            aside = self._set_aside(path) if path.exists() and not path.is_file() else ""
            self.notes.append(f"{path}: cannot be read ({error.strerror or error}), {aside}run again")
        except (ValueError, TypeError, RecursionError) as error:
            self.notes.append(f"{path}: damaged ({error}), {self._set_aside(path)}run again")
        return None

    def _set_aside(self, path: Path) -> str:
        """Renames a damaged entry. Returns a phrase for the note, empty if renaming fails."""
        try:
            files.disk.rename(path, path.with_name(f"{path.name}.damaged"))
        except OSError:
            return ""
        return "set aside as .damaged, "

    def put(self, key: str, record_json: str, series: Series) -> None:
        """Writes a finished run to the cache.

        Parameters
        ----------
        key : str
            The key of the run (see `keys_of`).
        record_json : str
            The record as JSON.
        series : mapping of str to mappings of str to arrays
            The traces.

        Raises
        ------
        DiskError
            The write fails.
        UserError
            The entry would be behind a symbolic link.
        """
        self.put_packed(key, record_json, pack_series(series) if series else b"")

    def put_packed(self, key: str, record_json: str, arrays: bytes) -> None:
        """Writes a finished run to the cache, with series that `pack_series` has already packed.

        Parameters
        ----------
        key : str
            The key of the run (see `keys_of`).
        record_json : str
            The record as JSON.
        arrays : bytes
            The packed series.

        Raises
        ------
        DiskError
            The write fails.
        UserError
            The entry would be behind a symbolic link.
        """
        if not self._tidy:
            remove_unfinished(self.root)
            self._tidy = True
        entry = pack_entry(key, engine_identity(), record_json, arrays)
        write_atomic(self._file(key), entry, via=self.root, sync=False)  # its checksum reveals damage

    def say_notes(self) -> None:
        """Reports damaged or unreadable entries since the last call as one note."""
        if self.notes:
            more = f"; {len(self.notes) - 1} more like it" if len(self.notes) > 1 else ""
            note(self.notes[0] + more)
        self.notes.clear()

    def check_writable(self) -> None:
        """Checks that finished runs can be written.

        Raises
        ------
        DiskError
            The folder can't be written.
        """
        there = self.root
        while not there.exists() and there != there.parent:
            there = there.parent
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            raise DiskError(f"{self.root}: expected a folder that can be written to, for the runs that it lacks")

    def __len__(self) -> int:
        return sum(1 for _ in self.root.glob("??/*.run"))
