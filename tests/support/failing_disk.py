"""A disk that fails at one of its calls, for `sojourn.core.files.disk`."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sojourn.core.bounded_files import MOST_TEXT
from sojourn.core.files import Disk


class Killed(BaseException):
    """The process is dead: nothing runs after it."""


class FailingDisk(Disk):
    """Fails at call number `at`, counted from 0, in one of these ways:

    - `full`: no space left; `broken`: input/output error;
    - `short`: a read or a write does only a half, without an error;
    - `killed`: the process is dead, before the call; `torn`: dead in the middle of a write.
    """

    def __init__(self, at: int = -1, how: str = "") -> None:
        self.at, self.how, self.calls, self.dead = at, how, 0, False

    def _call(self, do: Callable[[], Any], half: Callable[[], Any]) -> Any:
        if self.dead:
            raise Killed
        now, self.calls = self.calls, self.calls + 1
        if now != self.at:
            return do()
        if self.how == "full":
            raise OSError(errno.ENOSPC, "No space left on device")
        if self.how == "broken":
            raise OSError(errno.EIO, "Input/output error")
        if self.how == "short":
            return half()
        self.dead = True
        if self.how == "torn":
            half()
        raise Killed

    def read(self, path: Path, most: int = MOST_TEXT) -> bytes:
        return self._call(lambda: super(FailingDisk, self).read(path, most), lambda: self._half(path, most))

    def _half(self, path: Path, most: int) -> bytes:
        content = super().read(path, most)
        return content[: len(content) // 2]

    def make_folder(self, folder: Path) -> None:
        self._call(lambda: super(FailingDisk, self).make_folder(folder), lambda: None)

    def create(self, path: Path) -> int:
        create = super().create
        return self._call(lambda: create(path), lambda: create(path))

    def write(self, handle: int, content: memoryview) -> int:
        write = super().write
        return self._call(lambda: write(handle, content), lambda: write(handle, content[: len(content) // 2]))

    def read_part(self, handle: int, at: int, size: int) -> bytes:
        read = super().read_part
        return self._call(lambda: read(handle, at, size), lambda: read(handle, at, size // 2))

    def sync(self, handle: int) -> None:
        self._call(lambda: None, lambda: None)  # waiting for the disk would only take time

    def rename(self, old: Path, new: Path) -> None:
        rename = super().rename
        self._call(lambda: rename(old, new), lambda: rename(old, new))

    def remove(self, path: Path) -> None:
        remove = super().remove
        self._call(lambda: remove(path), lambda: remove(path))
