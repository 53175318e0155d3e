"""The store and results: damaged data is never accepted."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.core import files
from sojourn.core.errors import Note
from sojourn.core.files import together, write_atomic
from sojourn.core.foreign_names import file_names
from sojourn.core.record_files import pack_series
from sojourn.runs.store import DamagedError, Store, engine_identity, pack_entry, unpack_entry
from tests.support.failing_disk import FailingDisk

KEY, OTHER = "a" * 64, "b" * 64
RECORD = '{"scenario": "x", "links": [], "seed": 1}'
SERIES = {"queue/a": {"t": np.array([0.0, 1.0]), "packets": np.array([3.0, 4.0])}}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "cache")


def entry_file(store: Store, key: str = KEY) -> Path:
    return store.root / key[:2] / f"{key}.run"


def test_an_entry_comes_back_as_it_was_put(store):
    store.put(KEY, RECORD, SERIES)
    found = store.get(KEY)
    assert found is not None
    assert found.to_dict() == {"scenario": "x", "links": [], "seed": 1}
    assert found.series["queue/a"]["packets"].tolist() == [3.0, 4.0]
    assert store.get(OTHER) is None
    assert not store.notes


def test_a_folder_in_the_place_of_an_entry_is_set_aside(store):
    entry_file(store).mkdir(parents=True)
    assert store.get(KEY) is None
    store.put(KEY, RECORD, {})
    assert store.get(KEY) is not None
    assert "set aside" in store.notes[0]


def test_no_flip_of_a_bit_is_believed():
    entry = pack_entry(KEY, engine_identity(), RECORD, pack_series(SERIES))
    for bit in range(8 * len(entry)):
        flipped = bytearray(entry)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(DamagedError):
            unpack_entry(bytes(flipped), KEY, engine_identity())


def test_no_part_of_an_entry_and_nothing_longer_is_believed():
    entry = pack_entry(KEY, engine_identity(), RECORD, pack_series(SERIES))
    for size in range(len(entry)):
        with pytest.raises(DamagedError):
            unpack_entry(entry[:size], KEY, engine_identity())
    with pytest.raises(DamagedError):
        unpack_entry(entry + b"\0", KEY, engine_identity())


def test_an_engine_is_named_by_the_digest_of_its_file():
    digest = hashlib.sha256(Path(sj._sojourn.__file__).read_bytes()).hexdigest()
    assert engine_identity() == digest[:16]


def test_entries_are_counted_in_all_folders(store):
    for key in (KEY, OTHER):
        store.put(key, RECORD, {})
    assert len(store) == 2
    assert len(Store(store.root / "none")) == 0


def test_the_first_entry_that_is_put_removes_what_a_killed_process_left(store):
    left = store.root / ".x.run.sojourn-0123456789ab.part"
    store.root.mkdir()
    left.write_bytes(b"half")
    store.put(KEY, RECORD, {})
    assert not left.exists()
    left.write_bytes(b"half")
    store.put(OTHER, RECORD, {})
    assert left.exists(), "a folder is searched once, not for each run"


def test_an_entry_is_written_beside_the_folders_and_nobody_waits_for_the_disk(store, monkeypatch):
    class Watched(files.Disk):
        def sync(self, handle: int) -> None:
            raise AssertionError("an entry has a checksum, so it is not synced")

        def create(self, path: Path) -> int:
            assert path.parent == store.root
            return super().create(path)

    monkeypatch.setattr(files, "disk", Watched())
    store.put(KEY, RECORD, SERIES)
    assert store.get(KEY) is not None


def test_an_entry_that_cannot_be_read_stays_and_is_said_once(store, monkeypatch):
    store.put(KEY, RECORD, {})
    monkeypatch.setattr(files, "disk", FailingDisk(0, "broken"))
    assert store.get(KEY) is None
    assert store.notes == [f"{entry_file(store)}: cannot be read (Input/output error), run again"]
    assert entry_file(store).exists()
    with pytest.warns(Note) as said:
        store.say_notes()
    store.say_notes()
    assert [str(each.message) for each in said] == [
        f"{entry_file(store)}: cannot be read (Input/output error), run again"
    ]


def test_a_damaged_entry_that_cannot_be_set_aside_is_said(store, monkeypatch):
    store.put(KEY, RECORD, {})
    entry_file(store).write_bytes(b"")
    monkeypatch.setattr(files, "disk", FailingDisk(1, "broken"))  # call 1 renames what call 0 read
    assert store.get(KEY) is None
    assert store.notes == [f"{entry_file(store)}: damaged (its first line is damaged), run again"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b'{"record": {}}',
        pack_entry(OTHER, engine_identity(), RECORD, b""),
        pack_entry(KEY, "another0engine", RECORD, b""),
        pack_entry(KEY, engine_identity(), "[]", b""),
        pack_entry(KEY, engine_identity(), "{", b""),
    ],
)
def test_a_damaged_entry_is_set_aside_and_said(store, content):
    store.put(KEY, RECORD, {})
    entry_file(store).write_bytes(content)
    assert store.get(KEY) is None
    assert not entry_file(store).exists()
    assert entry_file(store).with_name(f"{KEY}.run.damaged").read_bytes() == content
    with pytest.warns(Note, match="damaged .*set aside as .damaged, run again") as said:
        store.say_notes()
    assert len(said) == 1


def test_a_damaged_entry_is_run_again_and_said_in_one_line(capsys, dumbbell, here):
    run = ["compare", str(dumbbell), "--queues", "red", "--seeds", "2"]
    assert main(run) == 0
    printed = capsys.readouterr().out
    for file in (here / "results" / "cache").rglob("*.run"):
        file.write_bytes(file.read_bytes()[:-1])
    assert main(run) == 0
    said = capsys.readouterr()
    assert said.out == printed
    assert said.err.count("\n") == 1
    assert said.err.startswith("note: ")
    assert "1 more like it" in said.err
    assert main(run) == 0
    assert capsys.readouterr().err == ""


def read_only(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Makes the folder read-only in effect (root may write everywhere)."""
    real = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: real(path, mode) and not (mode & os.W_OK and Path(path) == folder)
    )


def test_a_complete_cache_need_not_be_writable(capsys, dumbbell, here, monkeypatch):
    run = ["compare", str(dumbbell), "--queues", "red", "--seeds", "1", "--cache", "kept"]
    assert main(run) == 0
    read_only(monkeypatch, Path("kept"))
    assert main(run) == 0
    capsys.readouterr()
    assert main([*run, "--seeds", "2"]) == 1
    assert "kept: expected a folder that can be written to" in capsys.readouterr().err


def test_what_a_killed_process_left_unfinished_is_removed(tmp_path):
    code = (
        "import os, signal, sys; from pathlib import Path; from sojourn.core import files\n"
        "class Killed(files.Disk):\n"
        "    def sync(self, handle): os.kill(os.getpid(), signal.SIGKILL)\n"
        "files.disk = Killed(); files.write_atomic(Path(sys.argv[1]), 'half')"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(files.__file__).parents[2])}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "x")], env=env, check=False)
    (left,) = tmp_path.iterdir()
    assert left.name.endswith(".part")
    write_atomic(tmp_path / "y", "whole")
    assert [file.name for file in tmp_path.iterdir()] == ["y"]


def test_what_another_process_is_writing_stays(tmp_path):
    handle, path = files._unfinished(tmp_path, "x")
    files.remove_unfinished(tmp_path)
    assert path.exists()
    os.close(handle)
    files.remove_unfinished(tmp_path)
    assert not path.exists()


@pytest.fixture
def result(dumbbell: Path, tmp_path: Path) -> Path:
    """A folder with the result of a run."""
    scenario = sj.load(dumbbell).copy().set("trace.queue", {"links": ["bottleneck"], "every": "1 s"})
    sj.run(scenario).save(tmp_path / "out")
    return tmp_path / "out"


@pytest.mark.parametrize("name", ["record.json", "series.npz", "SHA256SUMS"])
def test_a_changed_result_is_refused_in_one_line(result, capsys, name):
    content = (result / name).read_bytes()
    for changed in (content[:-40], content.replace(b"e", b"g", 1), b""):
        (result / name).write_bytes(changed)
        assert main(["plot", str(result)]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert "SHA256SUMS" in error
    (result / name).write_bytes(content)
    assert main(["plot", str(result)]) == 0


def test_a_changed_summary_is_refused(dumbbell, here, capsys):
    assert main(["compare", str(dumbbell), "--queues", "red", "--seeds", "1", "--out", "c"]) == 0
    file = here / "c" / "summary.csv"
    file.write_text(file.read_text().replace("1", "2", 1))
    assert main(["plot", "c"]) == 2
    assert "c/summary.csv: expected the content that SHA256SUMS describes, got another" in capsys.readouterr().err


def test_checksums_are_those_of_sha256sum(result):
    for line in (result / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ", 1)
        assert hashlib.sha256((result / name).read_bytes()).hexdigest() == digest
    listed = {line.split("  ", 1)[1] for line in (result / "SHA256SUMS").read_text().splitlines()}
    assert listed == {str(f.relative_to(result)) for f in result.rglob("*") if f.is_file()} - {"SHA256SUMS"}


def test_a_result_written_again_leaves_nothing_of_the_one_before(result, dumbbell):
    (result / "notes.txt").write_text("my own")
    sj.run(dumbbell).save(result)
    assert not (result / "series.npz").exists()
    assert not (result / "series").exists()
    assert (result / "notes.txt").exists()
    assert not sj.Record.read(result).series


def test_one_run_and_several_leave_nothing_of_each_other(dumbbell, here):
    def run(*options):
        assert main(["run", str(dumbbell), "--out", "out", *options]) == 0
        return {path.name for path in (here / "out").iterdir()}

    alone = run()
    (here / "out" / "notes.txt").write_text("my own")
    assert run("--seeds", "2") == {"seed-1", "seed-2", "SHA256SUMS", "notes.txt"}
    assert main(["plot", "out"]) == 2
    with together(here / "out" / "seed-1", add=True):
        write_atomic(here / "out" / "seed-1" / "queue.png", "a plot")
    assert run("--seeds", "2", "--seed", "2") == {"seed-2", "seed-3", "SHA256SUMS", "notes.txt"}
    assert run() == alone | {"notes.txt"}


def test_a_list_of_files_does_not_lead_to_files_elsewhere(tmp_path):
    (tmp_path / "mine").write_text("mine")
    digest = hashlib.sha256(b"mine").hexdigest()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "link").symlink_to(tmp_path)
    lines = [f"{digest}  {name}\n" for name in ("../mine", str(tmp_path / "mine"), "link/mine")]
    (tmp_path / "out" / "SHA256SUMS").write_text("".join(lines))
    with together(tmp_path / "out"):
        write_atomic(tmp_path / "out" / "x", "x")
    assert (tmp_path / "mine").exists()


def test_nothing_is_written_outside_the_folder_of_a_result(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out" / "link").symlink_to(tmp_path / "elsewhere")
    for path in ("../x", "link/x", "a/../../x"):
        with pytest.raises(sj.UserError, match="expected a file inside"), together(tmp_path / "out"):
            write_atomic(tmp_path / "out" / path, "x")
    assert not list((tmp_path / "elsewhere").iterdir())
    assert not (tmp_path / "x").exists()


def test_every_name_gets_a_file_of_its_own():
    names = ["queue/a-b", "queue/a>b", "queue/A-B", "queue/a-b-2", "..", ".x", "", "/", "ä" * 400, "ä" * 401]
    found = file_names(names)
    assert found["queue/a-b"] == "queue-a-b"
    assert len({each.casefold() for each in found.values()}) == len(names)
    assert all(each and not each.startswith(".") and len(each.encode()) < 255 for each in found.values())


def test_traces_of_links_with_similar_names_have_files_of_their_own(dumbbell, tmp_path):
    scenario = sj.load(dumbbell).copy().set("trace.queue", {"links": ["a-b", "a>b"], "every": "1 s"})
    links = [
        {"name": name, "from": at, "to": to, "rate": "9 Mbit/s", "delay": "1 ms", "duplex": True}
        for name, at, to in (("a-b", "R0", "X"), ("a>b", "X", "R1"))
    ]
    scenario.set("links", links)
    written = {file.name for file in sj.run(scenario).save(tmp_path / "out")}
    assert {"queue-a-b.parquet", "queue-a-b-2.parquet"} <= written


def test_the_last_change_names_neither_the_run_nor_its_key(capsys, dumbbell, here, observed, monkeypatch):
    import json

    changes = ["--set", "duration=2 s", "--set", "links.bottleneck.rate=5 Mbit/s"]
    dumbbell.write_text(dumbbell.read_text().replace('name = "dumbbell"\n', "", 1))
    assert main(["run", str(dumbbell), "--json", *changes]) == 0
    assert main(["run", str(dumbbell), "--json", *changes[2:], *changes[:2]]) == 0
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert first["scenario"] == "dumbbell"
    assert first == second
    monkeypatch.setenv("RUN_LOG", str(here / "log"))
    compare = ["compare", str(dumbbell), "--queues", "red", "--seeds", "1"]
    assert main([*compare, *changes]) == main([*compare, *changes[2:], *changes[:2]]) == 0
    assert len((here / "log").read_text().splitlines()) == 1
