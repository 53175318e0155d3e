"""Symbolic links, pipes, devices and foreign files in reads, writes and removals."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sojourn.cli import main
from sojourn.core import files
from sojourn.core.errors import UserError
from sojourn.core.files import DiskError, locked, remove_unfinished, together, write_atomic
from sojourn.runs.store import Store
from tests.experiments.test_paper_folder import CLAIMS, PAPER

pytestmark = pytest.mark.no_libraries

FLENT = {
    "metadata": {"NAME": "m"},
    "x_values": [0, 1, 2],
    "results": {"TCP upload BE": [1, 2, 3], "Ping (ms) ICMP": [20, 30, 40]},
}
SWEEP = 'scenario = "dumbbell.toml"\nreplications = 1\n[axes]\n"flows.ftp.count" = [1, 2]\n'
TRACED = ["--set", 'trace.queue={links=["bottleneck"],every="1 s"}', "--set", "duration=2 s"]
COMMANDS = {
    "run": ["run", "dumbbell.toml", *TRACED, "--out", "out"],
    "seeds": ["run", "dumbbell.toml", *TRACED, "--seeds", "2", "--out", "out"],
    "exports": ["run", "rrul.toml", "--pcap", "out/a.pcapng", "--qlog", "out/a.qlog", "--flent", "out/a.flent.gz"],
    "compare": ["compare", "dumbbell.toml", "--queues", "red", "--seeds", "1", "--out", "out"],
    "sweep": ["sweep", "sweep.toml", "--plot", "links.bottleneck.utilization", "--out", "out"],
    "cache": ["compare", "dumbbell.toml", "--queues", "red", "--seeds", "1", "--cache", "out"],
    "import": ["import", "m.flent", "--out", "out/m.toml"],
    "trace": ["trace", "make", "out/t.csv"],
}


@pytest.fixture(autouse=True)
def inputs(dumbbell: Path, here: Path) -> Path:
    """A scenario, a sweep and a result of Flent in the working directory."""
    (here / "dumbbell.toml").write_text(dumbbell.read_text())
    rrul = dumbbell.read_text().replace('"ftp"', '"up-be"').replace('"5 s"', '"2 s"')
    (here / "rrul.toml").write_text(f'{rrul}[trace]\nthroughput = {{ flows = ["*"], every = "1 s" }}\n')
    (here / "sweep.toml").write_text(SWEEP)
    (here / "m.flent").write_text(json.dumps(FLENT))
    return here


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Fails if the block takes longer, because it waits for something."""

    def stop(*_: object) -> None:
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder by its name there, except those that were set aside."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".damaged"
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_a_link_in_a_folder_of_results_is_replaced_and_what_it_leads_to_stays(here: Path, name: str) -> None:
    assert main(COMMANDS[name]) == 0
    written = contents(here / "out")
    assert written
    (here / "victims").mkdir()
    for at, file in enumerate(written):
        victim = here / "victims" / str(at)
        victim.write_text("precious")
        (here / "out" / file).unlink()
        (here / "out" / file).symlink_to(victim)
    assert main(COMMANDS[name]) == 0
    assert set(contents(here / "victims").values()) == {b"precious"}
    assert contents(here / "out") == written
    assert not any((here / "out" / file).is_symlink() for file in written)


@pytest.mark.parametrize(("name", "below"), [("run", "series"), ("seeds", "seed-1"), ("cache", "??")])
def test_a_folder_below_the_results_that_is_a_link_is_refused(here: Path, capsys, name: str, below: str) -> None:
    assert main(COMMANDS[name]) == 0
    capsys.readouterr()
    (folder,) = (here / "out").glob(below)
    folder.rename(here / "moved")
    folder.symlink_to(here / "elsewhere")
    (here / "elsewhere").mkdir()
    assert main(COMMANDS[name]) == 2
    error = capsys.readouterr().err
    assert "expected a file inside out, got one in" in error
    assert error.count("\n") == 1
    assert not contents(here / "elsewhere")


def test_without_out_a_link_that_leads_out_of_the_results_is_refused(here: Path, capsys) -> None:
    (here / "results").mkdir()
    (here / "elsewhere").mkdir()
    (here / "results" / "sweep").symlink_to(here / "elsewhere")
    assert main(["sweep", "sweep.toml", "--no-cache"]) == 2
    assert "results/sweep: expected a folder in results, got a link to" in capsys.readouterr().err
    assert not contents(here / "elsewhere")


def test_the_folder_that_is_named_may_be_a_link(here: Path) -> None:
    (here / "real").mkdir()
    (here / "out").symlink_to("real")
    for name in ("run", "compare", "cache", "exports", "import"):
        assert main(COMMANDS[name]) == 0
    assert {"summary.csv", "a.pcapng", "m.toml"} <= set(contents(here / "real"))
    assert (here / "out").is_symlink()


def test_what_is_removed_of_an_earlier_result_is_no_link(tmp_path: Path) -> None:
    with together(tmp_path / "out"):
        write_atomic(tmp_path / "out" / "old", "the same")
    (tmp_path / "victim").write_text("the same")
    (tmp_path / "out" / "old").unlink()
    (tmp_path / "out" / "old").symlink_to(tmp_path / "victim")
    with together(tmp_path / "out"):
        write_atomic(tmp_path / "out" / "new", "x")
    assert (tmp_path / "victim").read_text() == "the same"
    assert (tmp_path / "out" / "old").is_symlink()


OURS = ".x.sojourn-0123456789ab.part"


def test_only_our_own_unfinished_files_are_removed(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    others = [".movie.mkv.part", ".x.0123456789ab.part", f"x{OURS}", f"{OURS}.kept", ".x.sojourn-0123456789AB.part"]
    for name in others:
        (tmp_path / name).write_text("not ours")
    (tmp_path / ".folder.sojourn-0123456789ab.part").mkdir()
    (tmp_path / ".link.sojourn-0123456789ab.part").symlink_to("victim")
    os.mkfifo(tmp_path / ".pipe.sojourn-0123456789ab.part")
    os.mkfifo(tmp_path / ".x.part")
    there = {path.name for path in tmp_path.iterdir()}
    (tmp_path / OURS).write_text("left by a killed process")
    with within(20):
        write_atomic(tmp_path / "file", "x")
    assert {path.name for path in tmp_path.iterdir()} == there | {"file"}
    assert (tmp_path / "victim").read_text() == "precious"


def test_an_unfinished_file_of_another_user_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / OURS).write_text("left by somebody else")
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    remove_unfinished(tmp_path)
    assert (tmp_path / OURS).exists()
    monkeypatch.undo()
    remove_unfinished(tmp_path)
    assert not (tmp_path / OURS).exists()


def test_what_code_of_others_writes_goes_to_the_file_that_is_held(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    with files.written_elsewhere(tmp_path / "x.pcapng") as given:
        (part,) = tmp_path.glob(".*.part")
        part.rename(tmp_path / "held")
        part.symlink_to(tmp_path / "victim")
        given.write_text("packets")
    assert (tmp_path / "victim").read_text() == "precious"
    assert (tmp_path / "held").read_text() == "packets"


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/null")])
def test_a_lock_is_no_pipe_and_no_link(tmp_path: Path, make) -> None:
    make(tmp_path / "lock")
    with within(20), pytest.raises(DiskError), locked(tmp_path / "lock"):
        pass
    assert os.path.lexists(tmp_path / "lock")


def test_a_pipe_in_a_result_is_refused_and_one_that_is_named_is_written_to(here: Path, capsys) -> None:
    (here / "out").mkdir()
    os.mkfifo(here / "out" / "record.json")
    with within(60):
        assert main(COMMANDS["run"]) == 1
    assert "record.json: cannot be written: expected a file, got a pipe" in capsys.readouterr().err
    os.mkfifo(here / "pipe.pcapng")
    with (here / "packets").open("wb") as packets, subprocess.Popen(["cat", "pipe.pcapng"], stdout=packets):
        assert main(["run", "dumbbell.toml", *TRACED, "--pcap", "pipe.pcapng"]) == 0
    assert (here / "packets").read_bytes().startswith(b"\x0a\x0d\x0d\x0a")


def run_program(*arguments: str, **options) -> subprocess.CompletedProcess[bytes]:
    """The program in a process of its own."""
    code = "import sys; from sojourn.cli import main; sys.exit(main(sys.argv[1:]))"
    environment = {**os.environ, "PYTHONPATH": str(Path(files.__file__).parents[2])}
    return subprocess.run([sys.executable, "-c", code, *arguments], env=environment, timeout=60, check=False, **options)


def test_standard_input_and_output_are_files_too(here: Path) -> None:
    text = (here / "dumbbell.toml").read_bytes()
    assert run_program("check", "/dev/stdin", input=text, capture_output=True).returncode == 0
    piped = run_program("trace", "make", "/dev/stdout", "--duration", "1 s", stdout=subprocess.PIPE)
    assert piped.stdout.splitlines()[-2] == b"1000", "the last time of the trace, in ms"
    with (here / "shown").open("wb") as shown:
        assert run_program("trace", "make", "/dev/stdout", "--duration", "1 s", stdout=shown).returncode == 0
    assert (here / "shown").read_bytes() + b"/dev/stdout\n" == piped.stdout
    assert Path("/dev/stdout").is_symlink()


def replaced(path: Path, how: str) -> None:
    """Replaces a file by a pipe, a device or a socket."""
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    if how == "pipe":
        os.mkfifo(path)
    elif how == "device":
        path.symlink_to("/dev/zero")
    else:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path.relative_to(Path.cwd())))


READS = {
    "dumbbell.toml": ["check", "dumbbell.toml"],
    "sweep.toml": ["sweep", "sweep.toml", "--no-cache"],
    "law.py": ["run", "dumbbell.toml", "--law", "law.py:Mine"],
    "link.csv": ["trace", "show", "link.csv"],
    "m.flent": ["import", "m.flent"],
    "m.pcap": ["import", "m.pcap"],
    "mine-2026/experiment.toml": ["reproduce", "mine-2026"],
    "mine-2026/claims.toml": ["reproduce", "mine-2026"],
    "mine-2026/extra.py": ["reproduce", "mine-2026"],
    "out/record.json": ["plot", "out"],
    "out/series.npz": ["plot", "out"],
    "out/SHA256SUMS": ["plot", "out"],
    "compared/summary.csv": ["plot", "compared"],
}


@pytest.mark.parametrize("how", ["pipe", "device", "socket"])
@pytest.mark.parametrize("name", READS)
def test_what_is_no_file_is_refused_in_one_line_where_a_file_is_read(here: Path, capsys, name: str, how: str) -> None:
    (here / "mine-2026").mkdir()
    (here / "mine-2026" / "experiment.toml").write_text(PAPER)
    (here / "mine-2026" / "claims.toml").write_text(CLAIMS)
    if name.startswith("out/"):
        assert main(COMMANDS["run"]) == 0
    if name.startswith("compared/"):
        assert main([*COMMANDS["compare"], "--out", "compared"]) == 0
    capsys.readouterr()
    replaced(here / name, how)
    with within(60):
        assert main(READS[name]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert Path(name).name in error
    assert how in error or "no file" in error


@pytest.mark.parametrize("how", ["pipe", "device", "socket"])
def test_an_entry_of_the_cache_that_is_no_file_is_set_aside(here: Path, how: str) -> None:
    store = Store("cache")
    store.put("a" * 64, '{"scenario": "x", "seed": 1}', {})
    (entry,) = here.glob("cache/??/*.run")
    replaced(entry, how)
    with within(20):
        assert store.get("a" * 64) is None
        store.put("a" * 64, '{"scenario": "x", "seed": 1}', {})
        assert store.get("a" * 64) is not None
    assert "set aside" in store.notes[0]


def test_a_file_outside_a_result_is_refused_also_by_way_of_a_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    inside = pytest.raises(UserError, match="expected a file inside")
    with inside, together(tmp_path / "out"), together(tmp_path / "elsewhere"):
        write_atomic(tmp_path / "elsewhere" / "x", "x")
    assert not contents(tmp_path / "elsewhere")
