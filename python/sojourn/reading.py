"""Reads untrusted files: regular files only, up to a size limit."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import IO

MOST_TEXT = 32_000_000
"""Size limit in bytes of a user's text, and of anything read from a pipe or a device."""
MOST_RESULT = 4_000_000_000
"""Size limit in bytes of a file that Sojourn wrote."""

GIVEN = {Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd")}
"""System folders whose names refer to files that the shell opened for this process."""


def open_flags(*names: str) -> int:
    """Those of these flags of `os.open` that this system has."""
    flags = 0
    for name in names:
        flags |= getattr(os, name, 0)
    return flags


def opened(path: Path) -> IO[bytes]:
    """Opens a regular file for reading.

    Raises `OSError` for a pipe, which may have no writer, for a device, which may have no end, and for a folder. A pipe
    that the shell opened for this process (`/dev/stdin`, `<(...)`) can be read.
    """
    given = path.parent in GIVEN
    _check_readable(os.stat(path).st_mode, given)  # before a device notices that it is opened
    wait = () if given else ("O_NONBLOCK",)
    handle = os.open(path, open_flags("O_RDONLY", "O_BINARY", "O_NOCTTY", *wait))
    try:
        _check_readable(os.fstat(handle).st_mode, given)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _check_readable(mode: int, given: bool) -> None:
    """Raises `OSError` for something other than a regular file, or than a pipe that the shell has `given`."""
    if not (stat.S_ISREG(mode) or (given and stat.S_ISFIFO(mode))):
        raise no_file(mode)


def no_file(mode: int) -> OSError:
    """The error for something other than a file."""
    if stat.S_ISDIR(mode):
        return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    kinds = {stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket"}
    return OSError(errno.EINVAL, f"expected a file, got {kinds.get(stat.S_IFMT(mode), 'something else')}")


def read(path: Path, most: int = MOST_TEXT) -> bytes:
    """The whole content of a file. Raises as `opened` does, and for one of more than `most` bytes.

    A pipe can be read up to `MOST_TEXT`.
    """
    parts = []
    with opened(path) as file:
        about = os.fstat(file.fileno())
        is_file = stat.S_ISREG(about.st_mode)
        most = most if is_file else min(most, MOST_TEXT)
        room = most + 1 if about.st_size <= most else 0  # it may grow while it is read
        size = about.st_size + 1 if is_file else 1 << 20
        while room and (part := file.read(min(size, room))):
            parts.append(part)
            room -= len(part)
    if not room:
        raise OSError(errno.EFBIG, f"expected at most {most} bytes, got more")
    return b"".join(parts)
