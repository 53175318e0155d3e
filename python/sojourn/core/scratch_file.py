"""A temporary file for data that does not fit into memory."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import IO

from sojourn.core import files
from sojourn.core.files import DiskError, explain, write_all


class Scratch:
    """Parts in a temporary file, which the system removes when this process ends.

    The last megabyte is buffered, so few parts need no file.

    >>> scratch = sj.scratch.Scratch()
    >>> scratch.read(scratch.append(b"one part"), 3)
    b'one'
    """

    WAITING = 1 << 20

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._written, self._waiting = 0, bytearray()

    def append(self, content: bytes) -> int:
        """Appends a part and returns its offset in bytes. Raises `DiskError` if that fails."""
        at = self._written + len(self._waiting)
        self._waiting += content
        if len(self._waiting) >= self.WAITING:
            self._write()
        return at

    def _write(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as this object
            os.lseek(self._file.fileno(), self._written, os.SEEK_SET)
            write_all(self._file.fileno(), self._waiting)
        except OSError as error:
            raise DiskError(error.errno, explain(error, self._name, len(self._waiting))) from error
        self._written += len(self._waiting)
        self._waiting = bytearray()

    def read(self, at: int, size: int) -> bytes:
        """Reads `size` bytes of the part at `at`. Raises `DiskError` if that fails."""
        if self._file is None or at >= self._written:
            at -= self._written
            return bytes(self._waiting[at : at + size])
        try:
            content = files.disk.read_part(self._file.fileno(), at, size)
        except OSError as error:
            raise DiskError(error.errno, f"{self._name}: cannot be read: {error.strerror or error}") from error
        if len(content) != size:
            raise DiskError(errno.EIO, f"{self._name}: cannot be read: expected {size} bytes, got {len(content)}")
        return content

    @property
    def _name(self) -> Path:
        return Path(tempfile.gettempdir()) / "temporary file"
