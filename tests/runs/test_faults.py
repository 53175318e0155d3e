"""Every call of the disk fails in turn.

No finished run is lost, damaged data is never accepted, and one line is printed.
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.core import files
from sojourn.core.errors import Note, UserError
from sojourn.core.files import DiskError
from sojourn.runs.store import Store
from tests.support.failing_disk import FailingDisk, Killed

HOW = ["full", "broken", "short", "killed", "torn"]


@pytest.fixture
def scenario(dumbbell: Path) -> sj.Scenario:
    """A short run with a trace."""
    short = {"duration": "1 s", "warmup": "500 ms", "trace.queue": {"links": ["bottleneck"], "every": "500 ms"}}
    return sj.load(dumbbell).copy().set_all(short)


def work(scenario: sj.Scenario, root: Path) -> dict[str, object]:
    """Two runs with a cache, a result, and the result read again."""
    store = Store(root / "cache")
    records = [sj.run_many(scenario, [seed], cache=store)[0][0] for seed in (1, 2)]  # one alone needs no process
    records[1].save(root / "out")
    return sj.Record.read(root / "out").to_dict()


def entries(root: Path) -> set[str]:
    """The finished runs in the cache; each of them is correct."""
    store = Store(root / "cache")
    names = {file.stem for file in (root / "cache").glob("??/*.run")}
    assert all(store.get(name) is not None for name in names)
    assert not store.notes
    return names


def calls_of(scenario: sj.Scenario, root: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """The number of disk calls of the work."""
    disk = FailingDisk()
    monkeypatch.setattr(files, "disk", disk)
    work(scenario, root)
    monkeypatch.undo()
    return disk.calls


@pytest.mark.slow
@pytest.mark.parametrize("how", HOW)
@pytest.mark.filterwarnings("ignore::sojourn.core.errors.Note")
def test_a_failure_at_any_call_loses_and_falsifies_nothing(scenario, tmp_path, monkeypatch, how):
    calls = calls_of(scenario, tmp_path / "good", monkeypatch)
    assert calls > 40
    good = sj.Record.read(tmp_path / "good" / "out").to_dict()
    for at in range(calls):
        root = tmp_path / f"{at}"
        monkeypatch.setattr(files, "disk", FailingDisk(at, how))
        expected = (Killed,) if how in ("killed", "torn") else (DiskError, UserError)
        with contextlib.suppress(*expected):
            assert work(scenario, root) == good
        monkeypatch.undo()
        kept = entries(root)
        assert work(scenario, root) == good, at
        assert entries(root) >= kept
        assert not list(root.rglob("*.part")), at
        shutil.rmtree(root)


@pytest.mark.parametrize("how", ["full", "broken", "short"])
@pytest.mark.filterwarnings("ignore::sojourn.core.errors.Note")
def test_a_failure_while_a_complete_cache_is_read_is_said_or_mended(scenario, tmp_path, monkeypatch, how):
    good = work(scenario, tmp_path)
    for at in range(4):
        monkeypatch.setattr(files, "disk", FailingDisk(at, how))
        store = Store(tmp_path / "cache")
        records = sj.run_many(scenario, 2, cache=store, threads=1)[0]
        assert records[1].to_dict() == good
        monkeypatch.undo()
        assert len(entries(tmp_path)) == 2


@pytest.mark.parametrize("how", ["full", "broken"])
def test_a_command_says_it_in_one_line(capsys, dumbbell, here, monkeypatch, how):
    run = ["run", str(dumbbell), "--set", "duration=2 s", "--out", "out"]
    disk = FailingDisk()
    monkeypatch.setattr(files, "disk", disk)
    assert main(run) == 0
    capsys.readouterr()
    for at in range(disk.calls):
        shutil.rmtree(here / "out", ignore_errors=True)
        monkeypatch.setattr(files, "disk", FailingDisk(at, how))
        code = main(run)
        error = capsys.readouterr().err
        assert (code, error.count("\n")) in ((0, 0), (1, 1), (2, 1)), (at, error)
        assert code == 0 or not (here / "out").exists(), (at, error)


def test_a_damaged_entry_that_cannot_be_set_aside_is_run_again(scenario, tmp_path, monkeypatch):
    good = work(scenario, tmp_path)
    for file in (tmp_path / "cache").glob("??/*.run"):
        file.write_bytes(b"")
    monkeypatch.setattr(files, "disk", FailingDisk(1, "broken"))  # call 1 renames what call 0 read
    with pytest.warns(Note, match=r"damaged \(its first line is damaged\), run again"):
        assert sj.run_many(scenario, 2, cache=Store(tmp_path / "cache"))[0][1].to_dict() == good
    monkeypatch.undo()
    assert len(entries(tmp_path)) == 2
