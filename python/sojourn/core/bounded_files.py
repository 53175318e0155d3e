"""Reads untrusted files: regular files only, up to a size limit."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import IO

MOST_TEXT = 32_000_000
"""The size limit in bytes of a user's text, and of anything read from a pipe or a device."""
MOST_RESULT = 4_000_000_000
"""The size limit in bytes of a file that Sojourn wrote."""

GIVEN = {Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd")}
"""System folders whose names refer to files that the shell opened for this process."""


def open_flags(*names: str) -> int:
    """The flags of `os.open` with these names that the system has."""
    flags = 0
    for name in names:
        flags |= getattr(os, name, 0)
    return flags


def opened(path: Path) -> IO[bytes]:
    """Opens a regular file for reading.

    Raises `OSError` for a pipe (it may have no writer), a device (it may have no end) and a folder. A pipe that the
    shell opened for this process (`/dev/stdin`, `<(...)`) can be read.
    """
    given = path.parent in GIVEN
    _check_readable(os.stat(path).st_mode, given)  # before opening, which a device might notice
    wait = () if given else ("O_NONBLOCK",)
    handle = os.open(path, open_flags("O_RDONLY", "O_BINARY", "O_NOCTTY", *wait))
    try:
        _check_readable(os.fstat(handle).st_mode, given)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _check_readable(mode: int, given: bool) -> None:
    """Raises `OSError` unless it is a regular file, or a pipe that the shell has `given`."""
    if not (stat.S_ISREG(mode) or (given and stat.S_ISFIFO(mode))):
        raise no_file(mode)


def no_file(mode: int) -> OSError:
    """The error for a path that is not a regular file."""
    if stat.S_ISDIR(mode):
        return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    kinds = {stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket"}
    return OSError(errno.EINVAL, f"expected a file, got {kinds.get(stat.S_IFMT(mode), 'something else')}")


def read(path: Path, most: int = MOST_TEXT) -> bytes:
    """The whole content of a file of at most `most` bytes. Raises `OSError` as `opened` does.

    Also raises it for a longer file. A pipe can be read up to `MOST_TEXT`.
    """
    parts = []
    with opened(path) as file:
        about = os.fstat(file.fileno())
        is_file = stat.S_ISREG(about.st_mode)
        most = most if is_file else min(most, MOST_TEXT)
        room = most + 1 if about.st_size <= most else 0  # the file may grow while it is read
        size = about.st_size + 1 if is_file else 1 << 20
        while room and (part := file.read(min(size, room))):
            parts.append(part)
            room -= len(part)
    if not room:
        raise OSError(errno.EFBIG, f"expected at most {most} bytes, got more")
    return b"".join(parts)
