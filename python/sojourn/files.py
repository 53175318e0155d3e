"""Files: every read and write of the store, of results and of reports.

A file is written whole or not at all. A result is a folder; its `SHA256SUMS` says what belongs to it, in the format of
`sha256sum`. What was changed or damaged since is not read.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from sojourn.errors import ScenarioError, UserError, one_line

try:
    import fcntl
except ImportError:  # Windows, where an open file can't be removed: that is the lock
    fcntl = None  # type: ignore[assignment]

_FULL = {errno.ENOSPC, errno.EDQUOT}
SUMS = "SHA256SUMS"


class DiskError(OSError):
    """A file could not be written. The message is one line, ready to be shown to the user."""


class Disk:
    """Every call of the operating system that this module makes for data. Tests put one in its place that fails."""

    def read(self, path: Path) -> bytes:
        """The whole content of a file."""
        return path.read_bytes()

    def make_folder(self, folder: Path) -> None:
        """Makes a folder and those above it, where they are not there."""
        if not os.path.isdir(folder):
            folder.mkdir(parents=True, exist_ok=True)

    def create(self, path: Path) -> int:
        """Opens a new file for writing, and returns its handle."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)

    def write(self, handle: int, content: memoryview) -> int:
        """Writes the beginning of the content, and returns how many bytes."""
        return os.write(handle, content)

    def read_part(self, handle: int, at: int, size: int) -> bytes:
        """A part of an open file; less where the file ends."""
        os.lseek(handle, at, os.SEEK_SET)
        return os.read(handle, size)

    def sync(self, handle: int) -> None:
        """Waits until what was written is on the disk."""
        os.fsync(handle)

    def rename(self, old: Path, new: Path) -> None:
        """Gives a file another name, in place of the file that has it."""
        os.replace(old, new)

    def remove(self, path: Path) -> None:
        """Removes a file if it is there."""
        path.unlink(missing_ok=True)


disk = Disk()


@dataclass
class _Result:
    """A result that is being written: its folder and whether that was there, its files with digests, the new ones."""

    root: Path
    real: Path
    there: bool
    digests: dict[str, str] = field(default_factory=dict)
    new: list[Path] = field(default_factory=list)

    def check(self, path: Path) -> None:
        """Refuses a file outside the folder; a link to another folder leads outside."""
        if not path.parent.resolve().is_relative_to(self.real):
            raise UserError(f"{path}: expected a file inside {self.root}, got one in {path.parent.resolve()}")

    def add(self, path: Path, digest: str, new: bool) -> None:
        """Notes a file that was written."""
        name = path.relative_to(self.root).as_posix()
        self.digests[name] = digest
        if new:
            self.new.append(path)

    def include(self, part: _Result) -> None:
        """Notes the files of a part of this result."""
        within = part.root.relative_to(self.root)
        self.digests |= {(within / name).as_posix(): digest for name, digest in part.digests.items()}
        self.new += part.new


_result: ContextVar[_Result | None] = ContextVar("result", default=None)


@contextmanager
def together(root: Path, *, add: bool = False) -> Iterator[None]:
    """Writes the files of one result in the folder `root`, and then their `SHA256SUMS`.

    Files of the result that was there before, and that are not written again, are removed unless they were changed
    since; with `add` they stay. A block inside another writes a part: its files belong to both results. Where the block
    fails, the new files that it wrote are removed. Raises `UserError` for a file outside the folder.
    """
    if "\0" in str(root):
        raise DiskError(errno.EINVAL, explain(ValueError("a NUL in its name"), root))
    before: dict[str, str] = {}
    with suppress(OSError, UserError):
        before = _listed(root)
    outer, made = _result.get(), _Result(root, root.resolve(), root.exists())
    token = _result.set(made)
    try:
        yield
        _result.reset(token)
        digests = (before if add else {}) | made.digests
        lines = [f"{digest}  {name}\n" for name, digest in sorted(digests.items())]
        write_atomic(root / SUMS, "".join(lines))
        if outer is not None:
            outer.include(made)
    except BaseException:
        for path in made.new:
            with suppress(OSError):
                disk.remove(path)
        folders = {path.parent for path in made.new} | (set() if made.there else {root})
        for folder in sorted(folders, reverse=True):
            with suppress(OSError):
                folder.rmdir()
        raise
    finally:
        if _result.get() is made:
            _result.reset(token)
    for name, digest in before.items():
        if name not in digests:
            _remove_old(made, root / name, digest)


def _remove_old(result: _Result, path: Path, digest: str) -> None:
    """Removes a file of an earlier result, unless it has changed or lies elsewhere."""
    with suppress(OSError, UserError):
        result.check(path)
        if hashlib.sha256(disk.read(path)).hexdigest() == digest:
            disk.remove(path)
            for folder in path.parents:
                if folder == result.root:
                    break
                folder.rmdir()  # which keeps one with files in it


def _listed(root: Path) -> dict[str, str]:
    """What belongs to the result in a folder: digest by name, with what was added to its parts since."""
    found = _sums(root)
    for part in [PurePosixPath(name).parent for name in found if PurePosixPath(name).name == SUMS]:
        with suppress(OSError, UserError):
            found |= {(part / name).as_posix(): digest for name, digest in _sums(root / part).items()}
            found[(part / SUMS).as_posix()] = hashlib.sha256(disk.read(root / part / SUMS)).hexdigest()
    return found


def _sums(root: Path) -> dict[str, str]:
    """What a folder's `SHA256SUMS` says: digest by name; nothing where there is none."""
    found = {}
    try:
        content = disk.read(root / SUMS)
    except FileNotFoundError:
        return {}
    for number, line in enumerate(content.decode("utf-8", errors="replace").splitlines(keepends=True), start=1):
        match = re.fullmatch(r"([0-9a-f]{64}) [ *]([^\0]+)\n", line)
        if match is None or ".." in PurePosixPath(match[2]).parts:
            raise UserError(f"{root / SUMS}:{number}: expected a checksum and the name of a file: {_AGAIN}")
        found[match[2]] = match[1]
    return found


def read_result(root: Path, name: str) -> bytes:
    """The content of a file of a result.

    Raises `UserError` where the file can't be read, or is not the one that `SHA256SUMS` in the folder describes.
    """
    path = root / name
    try:
        content = disk.read(path)
        expected = _sums(root).get(name)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    if expected is None:
        raise UserError(f"{root / SUMS}: expected the checksum of {name}, got none: {_AGAIN}")
    if hashlib.sha256(content).hexdigest() != expected:
        raise UserError(f"{path}: expected the content that {SUMS} describes, got another: {_AGAIN}")
    return content


_AGAIN = f"run the same command again, or keep the file as it is with `sha256sum FILES > {SUMS}`"


def write_atomic(
    path: Path, data: bytes | str | Iterable[bytes], via: Path | None = None, *, sync: bool = True
) -> Path:
    """Writes a file by renaming a finished one into place, and returns its path.

    `data` is the content, or its parts in order, which need not be in memory together. Makes missing folders. The
    unfinished file lies in `via` (default: beside the file); what killed processes left there is removed, unless `via`
    is given. Without `sync` nobody waits for the disk, so a loss of power may damage the file. A symbolic link stays
    one: what it leads to is written. A pipe or a device is written to as it is.
    Raises `DiskError` where the file can't be written; the old file is then unchanged. In `together`, raises
    `UserError` for a file outside its folder.
    """
    whole = data.encode("utf-8") if isinstance(data, str) else data
    parts = [whole] if isinstance(whole, bytes) else whole
    size = len(whole) if isinstance(whole, bytes) else None
    result = _result.get()
    if result is not None:
        result.check(path)
    try:
        disk.make_folder(path.parent)
        if _is_device(path):
            with path.open("wb") as device:
                device.writelines(parts)
            return path
        target = _linked(path)
        if via is None:
            remove_unfinished(target.parent)
        new = result is not None and not path.exists()
        digest = _write(via or target.parent, target, parts, sync)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise DiskError(getattr(error, "errno", errno.EINVAL), explain(error, path, size)) from error
    if result is not None:
        result.add(path, digest, new)
    return path


def _is_device(path: Path) -> bool:
    """Whether a name leads to a pipe, a terminal or a device, which a renamed file must not replace."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _linked(path: Path) -> Path:
    """The file that a symbolic link leads to, so that the link stays; any other path as it is."""
    return path.resolve() if path.is_symlink() else path


@contextmanager
def written_elsewhere(path: Path) -> Iterator[Path]:
    """A file that other code writes in the block: gives an unfinished one beside it, which then gets its name.

    Links, pipes and devices are treated as by `write_atomic`. Raises `DiskError` where it can't be written, also for an
    `OSError` of the block; the old file is then unchanged. Folders that were missing are made, and where the block
    fails they are removed again.
    """
    missing = [folder for folder in path.parents if not folder.exists()]
    try:
        disk.make_folder(path.parent)
        if _is_device(path):
            yield path
            return
        target = _linked(path)
        remove_unfinished(target.parent)
        with _named_at_the_end(target.parent, target, sync=True) as (_, unfinished):
            yield unfinished
    except BaseException as error:
        for folder in missing:
            with suppress(OSError):
                folder.rmdir()
        if not isinstance(error, (OSError, ValueError)) or isinstance(error, UserError | ScenarioError):
            raise
        raise DiskError(getattr(error, "errno", errno.EINVAL), explain(error, path)) from error


@contextmanager
def _named_at_the_end(folder: Path, path: Path, *, sync: bool) -> Iterator[tuple[int, Path]]:
    """An open unfinished file in a folder, which gets its name after the block; it is removed where something fails."""
    handle, unfinished = _unfinished(folder, path.name)
    try:
        yield handle, unfinished
        if sync:
            disk.sync(handle)
        if fcntl is None:
            os.close(handle)
            handle = -1
        disk.rename(unfinished, path)
    except BaseException:
        with suppress(OSError):
            disk.remove(unfinished)
        raise
    finally:
        if handle >= 0:
            os.close(handle)


def _write(folder: Path, path: Path, parts: Iterable[bytes], sync: bool) -> str:
    """Writes a file by way of an unfinished one in a folder, and returns its digest."""
    digest = hashlib.sha256()
    with _named_at_the_end(folder, path, sync=sync) as (handle, _):
        for content in parts:
            digest.update(content)
            _write_all(handle, content)
    return digest.hexdigest()


def _write_all(handle: int, content: bytes | bytearray) -> None:
    """Writes the whole content at the end of an open file."""
    rest = memoryview(content)
    while rest:
        rest = rest[disk.write(handle, rest) :]


def _unfinished(folder: Path, name: str) -> tuple[int, Path]:
    """A new file, locked: nobody removes it while this process lives."""
    while True:
        path = folder / f".{name[:40]}.{secrets.token_hex(6)}.part"
        handle = disk.create(path)
        if fcntl is None:
            return handle, path
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle, path
        os.close(handle)  # somebody removed it before it was locked


def remove_unfinished(folder: Path) -> None:
    """Removes what killed processes left unfinished in a folder, and nothing that another process is writing."""
    for path in folder.glob(".*.part"):
        with suppress(OSError):
            handle = os.open(path, os.O_WRONLY)
            try:
                if fcntl is not None:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                disk.remove(path)
            finally:
                os.close(handle)


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Holds the lock that an empty file stands for during the block; gives whether no other process has it.

    The file is removed afterwards. Where the system or the file system has no locks, it is always free. Raises
    `DiskError` where the file can't be made.
    """
    handle = _lock(path)
    try:
        yield handle is not None
    finally:
        if handle is not None and handle >= 0:
            with suppress(OSError):
                disk.remove(path)
            os.close(handle)


def _lock(path: Path) -> int | None:
    """The handle of a file that is now locked, or None where another process has it; -1 where there are no locks."""
    if fcntl is None:
        return -1
    try:
        disk.make_folder(path.parent)
        while True:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
                return None
            except OSError:
                os.close(handle)
                disk.remove(path)
                return -1
            if os.fstat(handle).st_nlink:
                return handle
            os.close(handle)  # somebody removed it before it was locked
    except OSError as error:
        raise DiskError(error.errno, explain(error, path)) from error


class Scratch:
    """Parts of a temporary file, which the system removes however this process ends.

    The last megabyte waits in memory, so that few parts need no file.

    >>> scratch = sj.files.Scratch()
    >>> scratch.read(scratch.append(b"one part"), 3)
    b'one'
    """

    WAITING = 1 << 20

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._written, self._waiting = 0, bytearray()

    def append(self, content: bytes) -> int:
        """Adds a part, and returns where it begins, in bytes. Raises `DiskError` where it can't be written."""
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
            _write_all(self._file.fileno(), self._waiting)
        except OSError as error:
            raise DiskError(error.errno, explain(error, self._name, len(self._waiting))) from error
        self._written += len(self._waiting)
        self._waiting = bytearray()

    def read(self, at: int, size: int) -> bytes:
        """So many bytes of a part that begins at `at`. Raises `DiskError` where they can't be read."""
        if self._file is None or at >= self._written:
            at -= self._written
            return bytes(self._waiting[at : at + size])
        try:
            content = disk.read_part(self._file.fileno(), at, size)
        except OSError as error:
            raise DiskError(error.errno, f"{self._name}: cannot be read: {error.strerror or error}") from error
        if len(content) != size:
            raise DiskError(errno.EIO, f"{self._name}: cannot be read: expected {size} bytes, got {len(content)}")
        return content

    @property
    def _name(self) -> Path:
        return Path(tempfile.gettempdir()) / "temporary file"


def explain(error: OSError | ValueError, path: Path, size: int | None = None) -> str:
    """One line on why a file of `size` bytes could not be written."""
    name = one_line(str(path))
    if getattr(error, "errno", None) in _FULL:
        need = f" ({size:,} bytes)" if size is not None else ""
        return f"disk full: {name}{need} could not be written; make room and run the same command again"
    return f"{name}: cannot be written: {getattr(error, 'strerror', None) or error}"
