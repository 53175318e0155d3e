"""Files: every read and write of the store, of results and of reports.

A file is written completely or not at all. A result is a folder whose `SHA256SUMS` lists its files in the format of
`sha256sum`. Files that were changed or damaged since are not read.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from sojourn.core.bounded_files import GIVEN, MOST_RESULT, MOST_TEXT, no_file, open_flags, read
from sojourn.core.errors import ScenarioError, UserError, one_line

try:
    import fcntl
except ImportError:  # Windows, where the lock is that an open file can't be removed
    fcntl = None  # type: ignore[assignment]

_FULL = {errno.ENOSPC, errno.EDQUOT}
SUMS = "SHA256SUMS"


class DiskError(OSError):
    """A file could not be written. The message is one line, ready to be shown to the user."""


class Disk:
    """All system calls of this module for data. Tests replace it by a failing one."""

    def read(self, path: Path, most: int = MOST_TEXT) -> bytes:
        """Reads a whole file. Raises as `reading.read` does."""
        return read(path, most)

    def make_folder(self, folder: Path) -> None:
        """Creates a folder and its missing parents."""
        folder.mkdir(parents=True, exist_ok=True)

    def create(self, path: Path) -> int:
        """Opens a new file for writing, and returns its handle."""
        return os.open(path, open_flags("O_WRONLY", "O_CREAT", "O_EXCL", "O_BINARY"), 0o666)

    def write(self, handle: int, content: memoryview) -> int:
        """Writes the beginning of the content and returns the number of bytes written."""
        return os.write(handle, content)

    def read_part(self, handle: int, at: int, size: int) -> bytes:
        """Reads a part of an open file; shorter at its end."""
        os.lseek(handle, at, os.SEEK_SET)
        return os.read(handle, size)

    def sync(self, handle: int) -> None:
        """Waits until all written data is on the disk."""
        os.fsync(handle)

    def rename(self, old: Path, new: Path) -> None:
        """Renames a file. Replaces an existing file of the new name."""
        os.replace(old, new)

    def remove(self, path: Path) -> None:
        """Removes a file if it exists."""
        path.unlink(missing_ok=True)


disk = Disk()


@dataclass
class _Result:
    """A result being written: its folder, whether it existed, file digests, and new files."""

    root: Path
    there: bool
    digests: dict[str, str] = field(default_factory=dict)
    new: list[Path] = field(default_factory=list)

    def add(self, path: Path, digest: str, new: bool) -> None:
        """Records a written file."""
        name = path.relative_to(self.root).as_posix()
        self.digests[name] = digest
        if new:
            self.new.append(path)

    def include(self, part: _Result) -> None:
        """Records the files of a part of this result."""
        within = part.root.relative_to(self.root)
        self.digests |= {(within / name).as_posix(): digest for name, digest in part.digests.items()}
        self.new += part.new


def check_inside(path: Path, root: Path) -> None:
    """Raises `UserError` for a file outside the folder `root`.

    A file behind a symbolic link below `root` counts as outside.
    """
    real, there = root.resolve(), path.parent.resolve()
    wanted = Path(os.path.normpath(real / os.path.relpath(path.parent, root)))
    if there != wanted or not there.is_relative_to(real):
        raise UserError(f"{path}: expected a file inside {root}, got one in {there}")


_result: ContextVar[_Result | None] = ContextVar("result", default=None)


@contextmanager
def together(root: Path, *, add: bool = False) -> Iterator[None]:
    """Writes the files of one result in the folder `root`, then their `SHA256SUMS`.

    Files of an earlier result that are not written again are removed, unless they have changed since. With `add` they
    are kept. A nested block writes a part of the result: its files belong to both. If the block fails, the files that
    it created are removed. `root` may be a symbolic link to a folder; a link below it is never followed. Raises
    `UserError` for a file outside the folder.
    """
    if "\0" in str(root):
        raise DiskError(errno.EINVAL, explain(ValueError("a NUL in its name"), root))
    before: dict[str, str] = {}
    with suppress(OSError, UserError):
        before = _listed(root)
    outer, made = _result.get(), _Result(root, root.exists())
    if outer is not None:
        check_inside(root / SUMS, outer.root)
    token = _result.set(made)
    try:
        yield
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
        _result.reset(token)
    for name, digest in before.items():
        if name not in digests:
            _remove_old(made, root / name, digest)


def _remove_old(result: _Result, path: Path, digest: str) -> None:
    """Removes a file of an earlier result, unless it has changed or lies elsewhere."""
    with suppress(OSError, UserError):
        check_inside(path, result.root)
        if not path.is_symlink() and hashlib.sha256(disk.read(path, MOST_RESULT)).hexdigest() == digest:
            disk.remove(path)
            for folder in path.parents:
                if folder == result.root:
                    break
                folder.rmdir()  # fails if the folder has files


def _listed(root: Path) -> dict[str, str]:
    """The files of the result in a folder with their digests.

    Files that were added to its parts are included.
    """
    found = _sums(root)
    for part in [PurePosixPath(name).parent for name in found if PurePosixPath(name).name == SUMS]:
        with suppress(OSError, UserError):
            found |= {(part / name).as_posix(): digest for name, digest in _sums(root / part).items()}
            found[(part / SUMS).as_posix()] = hashlib.sha256(disk.read(root / part / SUMS)).hexdigest()
    return found


def _sums(root: Path) -> dict[str, str]:
    """The digests in a folder's `SHA256SUMS` by name; empty if the file is missing."""
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

    Raises `UserError` if the file can't be read, or does not match the folder's `SHA256SUMS`.
    """
    path = root / name
    with _readable(path):
        content = disk.read(path, MOST_RESULT)
    with _readable(root / SUMS):
        expected = _sums(root).get(name)
    if expected is None:
        raise UserError(f"{root / SUMS}: expected the checksum of {name}, got none: {_AGAIN}")
    if hashlib.sha256(content).hexdigest() != expected:
        raise UserError(f"{path}: expected the content that {SUMS} describes, got another: {_AGAIN}")
    return content


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Converts an `OSError` of the block into a `UserError` about this file."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None


_AGAIN = f"run the same command again, or keep the file as it is with `sha256sum FILES > {SUMS}`"


def write_atomic(
    path: Path, data: bytes | str | Iterable[bytes], via: Path | None = None, *, sync: bool = True
) -> Path:
    """Writes a file by renaming a finished one into place, and returns its path.

    - `data` is the content, or its parts in order. Parts need not be in memory together.
    - Missing folders are created. The unfinished file is in `via` (default: next to the file). Leftovers of killed
      processes there are removed, unless `via` is given.
    - Without `sync` the call does not wait for the disk, so a power loss may damage the file.
    - A symbolic link is replaced, not its target. Pipes and terminals are written to, unless they are in a result.

    Raises `DiskError` if the file can't be written; the old file is then unchanged. Raises `UserError` for a file
    outside the folder of `together`, or outside `via`.
    """
    whole = data.encode("utf-8") if isinstance(data, str) else data
    parts = [whole] if isinstance(whole, bytes) else whole
    size = len(whole) if isinstance(whole, bytes) else None
    result = _result.get()
    for root in (result.root if result is not None else None, via):
        if root is not None:
            check_inside(path, root)
    try:
        disk.make_folder(path.parent)
        if _is_stream(path):
            with _open_stream(path) as stream:
                stream.writelines(parts)
            return path
        target = _target(path)
        if via is None:
            remove_unfinished(target.parent)
        new = result is not None and not os.path.lexists(path)
        digest = _write(via or target.parent, target, parts, sync)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise DiskError(getattr(error, "errno", errno.EINVAL), explain(error, path, size)) from error
    if result is not None:
        result.add(path, digest, new)
    return path


def _is_stream(path: Path) -> bool:
    """Whether a path is a pipe or a terminal outside a result.

    Raises `OSError` for anything else that is not a regular file.
    """
    try:
        mode = os.stat(path, follow_symlinks=path.parent in GIVEN).st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
        return False
    if _result.get() is None and (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)):
        return True
    raise no_file(mode)


def _open_stream(path: Path) -> IO[bytes]:
    """Opens a pipe or a terminal for writing."""
    link = () if path.parent in GIVEN else ("O_NOFOLLOW",)
    return os.fdopen(os.open(path, open_flags("O_WRONLY", "O_NOCTTY", *link)), "wb")


def _target(path: Path) -> Path:
    """The path; for a name such as `/dev/stdout`, the file that the shell opened."""
    return path.resolve() if path.parent in GIVEN else path


@contextmanager
def written_elsewhere(path: Path) -> Iterator[Path]:
    """Lets other code write a file: yields a temporary file next to it, renamed afterwards.

    Links and pipes are handled as by `write_atomic`. A file in the folder of `together` belongs to its result. Raises
    `DiskError` if the file can't be written, and for an `OSError` of the block; the old file is then unchanged. Missing
    folders are created, and removed again if the block fails.
    """
    missing = [folder for folder in path.parents if not folder.exists()]
    try:
        disk.make_folder(path.parent)
        if _is_stream(path):
            yield path
            return
        target = _target(path)
        remove_unfinished(target.parent)
        with _named_at_the_end(target.parent, target, sync=True) as (handle, unfinished):
            held = Path(f"/dev/fd/{handle}")  # no other process can put a link in its place
            new = not os.path.lexists(path)
            yield held if held.exists() else unfinished
        result = _result.get()
        if result is not None and path.is_relative_to(result.root):
            with path.open("rb") as written:
                result.add(path, hashlib.file_digest(written, "sha256").hexdigest(), new)
    except BaseException as error:
        for folder in missing:
            with suppress(OSError):
                folder.rmdir()
        if not isinstance(error, (OSError, ValueError)) or isinstance(error, UserError | ScenarioError):
            raise
        raise DiskError(getattr(error, "errno", errno.EINVAL), explain(error, path)) from error


@contextmanager
def _named_at_the_end(folder: Path, path: Path, *, sync: bool) -> Iterator[tuple[int, Path]]:
    """An open temporary file in a folder. It is renamed after the block, or removed on failure."""
    handle, unfinished = _unfinished(folder, path.name)
    held: int | None = handle
    try:
        yield handle, unfinished
        if sync:
            disk.sync(handle)
        if fcntl is None:
            os.close(handle)
            held = None
        disk.rename(unfinished, path)
    except BaseException:
        with suppress(OSError):
            disk.remove(unfinished)
        raise
    finally:
        if held is not None:
            os.close(held)


def _write(folder: Path, path: Path, parts: Iterable[bytes], sync: bool) -> str:
    """Writes a file via a temporary one in a folder and returns its digest."""
    digest = hashlib.sha256()
    with _named_at_the_end(folder, path, sync=sync) as (handle, _):
        for content in parts:
            digest.update(content)
            write_all(handle, content)
    return digest.hexdigest()


def write_all(handle: int, content: bytes | bytearray) -> None:
    """Writes the whole content at the end of an open file."""
    rest = memoryview(content)
    while rest:
        rest = rest[disk.write(handle, rest) :]


def _unfinished(folder: Path, name: str) -> tuple[int, Path]:
    """A new locked file. Other processes keep it while this one lives."""
    while True:
        path = folder / f".{name[:40]}.sojourn-{secrets.token_hex(6)}.part"
        handle = disk.create(path)
        if fcntl is None:
            return handle, path
        with suppress(OSError):  # some file systems have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle, path
        os.close(handle)  # another process removed it before it was locked


_UNFINISHED = re.compile(r"\..+\.sojourn-[0-9a-f]{12}\.part", re.DOTALL)
"""The name of an unfinished file, as `_unfinished` makes it."""


def remove_unfinished(folder: Path) -> None:
    """Removes temporary files that killed processes of this user left in a folder.

    Files that another process is writing, other names and anything but regular files stay.
    """
    found: list[Path] = []
    with suppress(OSError), os.scandir(folder) as entries:
        found = [Path(each.path) for each in entries if _UNFINISHED.fullmatch(each.name) and _is_own(each)]
    for path in found:
        with suppress(OSError):
            handle = _open_in_place(path)
            try:
                if fcntl is not None:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                disk.remove(path)
            finally:
                os.close(handle)


def _is_own(entry: os.DirEntry[str]) -> bool:
    """Whether an entry of a folder is a regular file of this user."""
    about = entry.stat(follow_symlinks=False)
    return stat.S_ISREG(about.st_mode) and about.st_uid == getattr(os, "geteuid", lambda: about.st_uid)()


def _open_in_place(path: Path, *create: str) -> int:
    """Opens a regular file for writing and returns its handle.

    It follows no link and does not wait for the reader of a pipe. `create` is empty, or "O_CREAT" to create a missing
    file. Raises `OSError` for anything but a regular file.
    """
    handle = os.open(path, open_flags("O_RDWR", "O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", *create), 0o666)
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        raise no_file(mode)
    return handle


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Holds the lock of an empty file during the block; yields whether the lock was free.

    The file is removed afterwards. Without support of locks by the system, the lock is always free. Raises `DiskError`
    if the file can't be created.
    """
    free, handle = True, None
    try:
        handle = _lock(path)
    except BlockingIOError:
        free = False
    try:
        yield free
    finally:
        if handle is not None:
            with suppress(OSError):
                disk.remove(path)
            os.close(handle)


def _lock(path: Path) -> int | None:
    """Locks a file and returns its handle; None if the system has no locks.

    Raises `BlockingIOError` if another process holds the lock.
    """
    if fcntl is None:
        return None
    try:
        disk.make_folder(path.parent)
        while True:
            handle = _open_in_place(path, "O_CREAT")
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
                raise
            except OSError:
                os.close(handle)
                disk.remove(path)
                return None
            if os.fstat(handle).st_nlink:
                return handle
            os.close(handle)  # another process removed it before it was locked
    except BlockingIOError:
        raise
    except OSError as error:
        raise DiskError(error.errno, explain(error, path)) from error


def explain(error: OSError | ValueError, path: Path, size: int | None = None) -> str:
    """One line that explains why a file of `size` bytes could not be written."""
    name = one_line(str(path))
    if getattr(error, "errno", None) in _FULL:
        need = f" ({size:,} bytes)" if size is not None else ""
        return f"disk full: {name}{need} could not be written; make room and run the same command again"
    return f"{name}: cannot be written: {getattr(error, 'strerror', None) or error}"
