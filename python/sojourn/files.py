"""Writing files atomically: a reader never sees a part of one."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

_FULL = {errno.ENOSPC, errno.EDQUOT}


class DiskError(OSError):
    """A file could not be written. The message is one line, ready to be shown to the user."""


_together: ContextVar[list[Path] | None] = ContextVar("together", default=None)


@contextmanager
def together() -> Iterator[None]:
    """Writes files that belong together: where one can't be written, the new ones written before it are removed."""
    written: list[Path] = []
    token = _together.set(written)
    try:
        yield
    except OSError:
        for path in written:
            path.unlink(missing_ok=True)
        for folder in sorted({path.parent for path in written}, reverse=True):
            with suppress(OSError):
                folder.rmdir()
        raise
    finally:
        _together.reset(token)


def write_atomic(path: Path, data: bytes | str) -> Path:
    """Writes a file by renaming a finished one into place, and returns its path.

    Makes missing folders. Raises `DiskError` where the file can't be written; the old file is then unchanged.
    """
    content = data.encode("utf-8") if isinstance(data, str) else data
    temporary: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:40]}.", suffix=".part", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        new = not path.exists()
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
        temporary = None
        if new and (written := _together.get()) is not None:
            written.append(path)
    except OSError as error:
        raise DiskError(error.errno, explain(error, path, len(content))) from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
    return path


def explain(error: OSError, path: Path, size: int | None = None) -> str:
    """One line on why a file of `size` bytes could not be written."""
    if error.errno in _FULL:
        need = f" ({size:,} bytes)" if size is not None else ""
        return f"disk full: {path}{need} could not be written; make room and run the same command again"
    return f"{path}: cannot be written: {error.strerror or error}"


def _umask() -> int:
    """The file mode mask of the process, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
