"""Files are written completely or not at all, and a result has the files of its list."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn.core import files
from sojourn.core.bounded_files import open_flags
from sojourn.core.errors import UserError
from sojourn.core.files import (
    Disk,
    DiskError,
    locked,
    read_result,
    remove_unfinished,
    together,
    write_atomic,
    written_elsewhere,
)
from tests.support.failing_disk import FailingDisk

UNFINISHED = ".x.sojourn-0123456789ab.part"


def tree(folder: Path) -> set[str]:
    """The files and folders below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def handles() -> int:
    """The number of open files of this process."""
    return len(os.listdir("/proc/self/fd"))


def test_flags_that_a_system_lacks_are_left_out():
    assert open_flags("O_RDWR", "O_CREAT", "O_NONE") == os.O_RDWR | os.O_CREAT
    assert open_flags() == 0


def test_files_and_locks_can_be_read_and_written_by_whom_the_umask_allows(tmp_path):
    before = os.umask(0o022)
    try:
        write_atomic(tmp_path / "file", "x")
        with locked(tmp_path / "lock"):
            modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("file", "lock")]
    finally:
        os.umask(before)
    assert modes == [0o644, 0o644]


@pytest.mark.parametrize("data", ["größer", "größer".encode(), ["größ".encode(), b"er"]])
def test_a_file_gets_its_text_its_bytes_or_its_parts_in_order_and_the_path_is_returned(tmp_path, data, monkeypatch):
    class Slow(Disk):
        def write(self, handle: int, content: memoryview) -> int:
            return super().write(handle, content[:1])

    monkeypatch.setattr(files, "disk", Slow())
    path = tmp_path / "a" / "b" / "x"
    assert write_atomic(path, data) == path
    assert path.read_text() == "größer"
    assert tree(tmp_path) == {"a", "a/b", "a/b/x"}


@pytest.mark.parametrize("sync", [True, False])
def test_the_disk_has_a_file_before_it_gets_its_name_unless_nobody_waits(tmp_path, monkeypatch, sync):
    done = []
    real = os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: done.append("sync"))
    monkeypatch.setattr(os, "replace", lambda old, new: (done.append("rename"), real(old, new)))
    write_atomic(tmp_path / "x", "x", **({} if sync else {"sync": False}))
    assert done == ["sync", "rename"] if sync else ["rename"]
    done.clear()
    with written_elsewhere(tmp_path / "y") as given:
        given.write_text("y")
    assert done == ["sync", "rename"]


def test_a_part_of_an_open_file_is_read_from_its_place_up_to_the_end(tmp_path):
    (tmp_path / "x").write_bytes(b"0123456789")
    with (tmp_path / "x").open("rb") as file:
        assert [files.disk.read_part(file.fileno(), at, 4) for at in (0, 5, 8)] == [b"0123", b"5678", b"89"]


def test_removing_a_file_that_is_not_there_is_no_error(tmp_path):
    files.disk.remove(tmp_path / "none")


def test_an_unfinished_file_lies_in_the_folder_that_is_given_and_old_ones_stay_there(tmp_path, monkeypatch):
    class Watched(Disk):
        def create(self, path: Path) -> int:
            assert path.parent == tmp_path
            return super().create(path)

    (tmp_path / UNFINISHED).write_text("old")
    monkeypatch.setattr(files, "disk", Watched())
    write_atomic(tmp_path / "a" / "x", "x", via=tmp_path)
    assert tree(tmp_path) == {"a", "a/x", UNFINISHED}
    with pytest.raises(UserError, match=f"expected a file inside {tmp_path / 'a'}, got one in"):
        write_atomic(tmp_path / "x", "x", via=tmp_path / "a")


@pytest.mark.parametrize(
    ("how", "data", "said"),
    [
        ("full", "12345", "disk full: {} (5 bytes) could not be written; make room and run the same command again"),
        ("full", [b"123", b"45"], "disk full: {} could not be written; make room and run the same command again"),
        ("broken", "12345", "{}: cannot be written: Input/output error"),
    ],
)
def test_a_file_that_cannot_be_written_is_named_in_one_line_and_the_old_one_stays(
    tmp_path, monkeypatch, how, data, said
):
    (tmp_path / "x").write_text("old")
    for at in (1, 2, 3, 4):  # create, write, sync, rename
        monkeypatch.setattr(files, "disk", FailingDisk(at, how))
        with pytest.raises(DiskError) as error:
            write_atomic(tmp_path / "x", data)
        assert str(error.value).endswith(said.format(tmp_path / "x"))
        assert error.value.errno == {"full": errno.ENOSPC, "broken": errno.EIO}[how]
        assert tree(tmp_path) == {"x"}
        assert (tmp_path / "x").read_text() == "old"


def test_a_name_with_a_nul_is_refused(tmp_path):
    with pytest.raises(DiskError, match="cannot be written: embedded null byte") as error:
        write_atomic(tmp_path / "a\0b", "x")
    assert error.value.errno == errno.EINVAL
    with pytest.raises(DiskError, match="cannot be written: a NUL in its name"), together(tmp_path / "a\0b"):
        pass


def test_a_pipe_is_written_to_and_a_socket_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    said = []
    reader = threading.Thread(target=lambda: said.append((tmp_path / "pipe").read_bytes()), daemon=True)
    reader.start()
    assert write_atomic(tmp_path / "pipe", [b"1", b"2"]) == tmp_path / "pipe"
    reader.join()
    assert said == [b"12"]
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(tmp_path / "socket"))
        with pytest.raises(DiskError, match="expected a file, got a socket"):
            write_atomic(tmp_path / "socket", "x")


def removed_when_locked(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Another process removes the first file before it is locked."""
    real, left = fcntl.flock, [1]

    def flock(handle: int, operation: int) -> None:
        if left and left.pop():
            os.unlink(os.readlink(f"/proc/self/fd/{handle}"))
        real(handle, operation)

    monkeypatch.setattr(fcntl, "flock", flock)


def test_a_file_that_is_removed_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    removed_when_locked(monkeypatch, tmp_path)
    write_atomic(tmp_path / "x", "x")
    assert (tmp_path / "x").read_text() == "x"
    removed_when_locked(monkeypatch, tmp_path)
    with locked(tmp_path / "lock") as free:
        assert free
        assert (tmp_path / "lock").exists()


def test_one_process_has_a_lock_and_the_file_goes_with_it(tmp_path):
    lock = tmp_path / "made" / "lock"
    with locked(lock) as first:
        with locked(lock) as second:
            assert (first, second) == (True, False)
        assert lock.exists()
    assert not lock.exists()
    with locked(lock) as again:
        assert again


def test_a_lock_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(DiskError, match="lock: cannot be written: "), locked(tmp_path / "file" / "lock"):
        pass


def test_a_file_system_without_locks_has_every_lock_free(tmp_path, monkeypatch):
    def refused(handle: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refused)
    with locked(tmp_path / "lock") as free:
        assert free
        assert tree(tmp_path) == set()
    write_atomic(tmp_path / "x", "x")
    assert tree(tmp_path) == {"x"}


def test_without_locks_a_file_is_closed_before_it_gets_its_name(tmp_path, monkeypatch):
    """On Windows an open file acts like a lock: it can't be renamed or removed."""

    class Closing(Disk):
        def create(self, path: Path) -> int:
            self.handle = super().create(path)
            return self.handle

        def rename(self, old: Path, new: Path) -> None:
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.fstat(self.handle)
            super().rename(old, new)

    (tmp_path / UNFINISHED).write_text("old")
    monkeypatch.setattr(files, "fcntl", None)
    monkeypatch.setattr(files, "disk", Closing())
    write_atomic(tmp_path / "x", "x")
    with locked(tmp_path / "lock") as free:
        assert free
    assert tree(tmp_path) == {"x"}


def stale(folder: Path) -> None:
    (folder / UNFINISHED).write_text("old")
    remove_unfinished(folder)


def lock_twice(folder: Path) -> None:
    with locked(folder / "lock"), locked(folder / "lock"):
        pass


def lock_a_pipe(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with locked(folder / "pipe"):
        pass


def fail_to_write(folder: Path) -> None:
    write_atomic(folder / "x", iter([b"1", None]))  # type: ignore[list-item]


def take_unlocked(folder: Path) -> None:
    removed_when_locked(pytest.MonkeyPatch(), folder)
    write_atomic(folder / "x", "x")


def lock_unlocked(folder: Path) -> None:
    removed_when_locked(pytest.MonkeyPatch(), folder)
    with locked(folder / "lock"):
        pass


def lock_without_locks(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fcntl, "flock", lambda handle, operation: os.open("/none", os.O_RDONLY))
        with locked(folder / "lock"):
            pass


WORK = [stale, lock_twice, lock_a_pipe, fail_to_write, take_unlocked, lock_unlocked, lock_without_locks]


@pytest.mark.parametrize("work", WORK, ids=lambda work: work.__name__)
def test_no_file_stays_open(tmp_path: Path, monkeypatch, work: Callable[[Path], None]):
    monkeypatch.setattr(fcntl, "flock", fcntl.flock)  # and back after the test
    before = handles()
    try:
        work(tmp_path)
    except (OSError, TypeError):
        assert work in (lock_a_pipe, fail_to_write)
    assert handles() == before


def write_half(path: Path, error: BaseException) -> None:
    with written_elsewhere(path) as given:
        given.write_text("half")
        raise error


def test_what_other_code_writes_gets_its_name_at_the_end_or_leaves_nothing(tmp_path):
    path = tmp_path / "a" / "b" / "x"
    for error, seen in ((UserError("wrong"), UserError), (OSError(errno.EIO, "no"), DiskError), (KeyError(), KeyError)):
        with pytest.raises(seen) as raised:
            write_half(path, error)
        assert not isinstance(raised.value, DiskError) or raised.value.errno == errno.EIO
        assert tree(tmp_path) == set()
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / UNFINISHED).write_text("old")
    with written_elsewhere(tmp_path / "a" / "x") as given:
        given.write_text("whole")
        assert not (tmp_path / "a" / "x").exists()
    assert tree(tmp_path) == {"a", "a/x"}
    assert (tmp_path / "a" / "x").read_text() == "whole"


def test_other_code_writes_to_a_pipe_itself(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with written_elsewhere(tmp_path / "pipe") as given:
        assert given == tmp_path / "pipe"
    assert tree(tmp_path) == {"pipe"}


def sums(root: Path) -> dict[str, str]:
    """The list of a result: digests by name."""
    lines = (root / "SHA256SUMS").read_text().splitlines()
    return {name: digest for digest, name in (line.split("  ") for line in lines)}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_result_lists_its_files_in_order_and_its_parts_with_theirs(tmp_path):
    with together(tmp_path):
        write_atomic(tmp_path / "b", "b")
        with together(tmp_path / "part"):
            write_atomic(tmp_path / "part" / "x", "x")
        write_atomic(tmp_path / "a" / "c", "c")
    part = (tmp_path / "part" / "SHA256SUMS").read_text()
    assert part == f"{digest('x')}  x\n"
    assert list(sums(tmp_path).items()) == [
        ("a/c", digest("c")),
        ("b", digest("b")),
        ("part/SHA256SUMS", digest(part)),
        ("part/x", digest("x")),
    ]


def test_files_of_the_result_before_go_with_their_folders_unless_they_were_changed_or_added_to(tmp_path):
    def write(*names: str, **options: bool) -> None:
        with together(tmp_path, **options):
            for name in names:
                write_atomic(tmp_path / name, "x")

    write("a/b/x", "c/x", "c/y", "d")
    (tmp_path / "c" / "y").write_text("changed")
    write("e", add=True)
    assert {"a/b/x", "c/x", "d", "e"} <= tree(tmp_path)
    assert set(sums(tmp_path)) == {"a/b/x", "c/x", "c/y", "d", "e"}
    write("d")
    assert tree(tmp_path) == {"SHA256SUMS", "c", "c/y", "d"}
    assert set(sums(tmp_path)) == {"d"}


def fail(root: Path, error: BaseException) -> None:
    with together(root):
        write_atomic(root / "a" / "x", "x")
        write_atomic(root / "a" / "b" / "y", "y")
        with together(root / "part"):
            write_atomic(root / "part" / "z", "z")
        raise error


def test_a_result_that_fails_leaves_what_was_there(tmp_path):
    root = tmp_path / "out"
    with pytest.raises(KeyError):
        fail(root, KeyError())
    assert tree(tmp_path) == set()
    with together(root):
        write_atomic(root / "old", "old")
    with pytest.raises(KeyboardInterrupt):
        fail(root, KeyboardInterrupt())
    assert tree(tmp_path) == {"out", "out/SHA256SUMS", "out/old"}
    write_atomic(tmp_path / "elsewhere", "and no block is left open")


@pytest.mark.parametrize("line", ["x", f"{'0' * 64}  ../x", f"{'0' * 63}  x", f"{'0' * 64}   \0"])
def test_a_list_with_a_wrong_line_is_refused_by_its_number(tmp_path, line):
    (tmp_path / "x").write_text("x")
    (tmp_path / "SHA256SUMS").write_text(f"{digest('x')}  x\n{line}\n")
    with pytest.raises(UserError, match=r"SHA256SUMS:2: expected a checksum and the name of a file: run the same"):
        read_result(tmp_path, "x")


def test_a_file_of_a_result_is_read_as_it_is_listed_or_refused(tmp_path):
    with together(tmp_path):
        write_atomic(tmp_path / "x", "x")
    assert read_result(tmp_path, "x") == b"x"
    (tmp_path / "y").write_text("y")
    (tmp_path / "x").write_text("changed")
    for name, said in (
        ("x", "x: expected the content that SHA256SUMS describes, got another: run the same command again"),
        ("y", "SHA256SUMS: expected the checksum of y, got none: run the same command again"),
        ("z", "z: cannot be read: No such file or directory"),
    ):
        with pytest.raises(UserError, match=said):
            read_result(tmp_path, name)
