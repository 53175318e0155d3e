"""Files are read up to a bound, and a check takes memory in proportion to its file."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.core import bounded_files, files, json_text
from sojourn.core.errors import UserError
from sojourn.core.record_files import unpack_series
from sojourn.core.scenario import Scenario
from sojourn.experiments.folder import load_experiment, read_published
from tests.experiments.test_paper_limits import folder  # noqa: F401 - a fixture

ZERO = Path("/dev/zero")
LINKED = """duration = "1 s"
links = [{ name = "l", from = "a", to = "b", delay = "1 ms", duplex = true, trace = { file = "t.csv" } }]
flows = [{ name = "f", from = "a", to = "b" }]
"""

pytestmark = [
    pytest.mark.no_libraries,
    pytest.mark.skipif(not ZERO.exists(), reason="there is no device that never ends"),
]


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The single line with which a command rejects its input."""
    assert main(list(arguments)) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1, said
    return said


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("x.toml", ["check"]),
        ("x.json", ["check"]),
        ("x.toml", ["sweep"]),
        ("law.py", ["run", "good.toml", "--law"]),
        ("x.flent", ["import"]),
        ("x.csv", ["trace", "show"]),
        ("x.up", ["trace", "show"]),
        ("x.pcap", ["import"]),
    ],
)
def test_a_device_that_never_ends_is_refused_in_one_line(name, command, here, dumbbell, capsys):
    Path("good.toml").write_text(sj.load(dumbbell).to_toml())
    Path(name).symlink_to(ZERO)
    assert name in refusal(capsys, *command, name)


@pytest.mark.parametrize(
    "name", ["experiment.toml", "claims.toml", "deviations.toml", "extra.py", "scenarios/base.toml"]
)
def test_a_file_of_a_paper_that_never_ends_is_refused_in_one_line(name, folder):  # noqa: F811
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(ZERO)
    with pytest.raises(UserError, match=r"cannot read this .*: expected a file, got a device$"):
        read_all(folder)


def read_all(folder: Path) -> None:  # noqa: F811
    """Reads every file of a paper."""
    experiment = load_experiment(folder)
    experiment.scenario(experiment.grids["one"].cases()[0])
    assert experiment.extra is not None


def test_the_bound_is_in_the_message(here, capsys):
    with Path("x.toml").open("wb") as file:
        file.truncate(bounded_files.MOST_TEXT + 1)
    assert "cannot read this scenario: expected at most 32000000 bytes, got more" in refusal(capsys, "check", "x.toml")
    Path("t.csv").symlink_to(ZERO)
    Path("y.toml").write_text(LINKED)
    assert "expected a file with a trace, got something that is no file" in refusal(capsys, "check", "y.toml")


def test_a_result_of_which_a_file_is_a_device_is_refused(here, dumbbell, capsys):
    sj.run(dumbbell).save("result")
    for name in ("record.json", "SHA256SUMS"):
        file = Path("result", name)
        kept = file.read_bytes()
        file.unlink()
        file.symlink_to(ZERO)
        assert "expected a file, got a device" in refusal(capsys, "plot", "result")
        file.unlink()
        file.write_bytes(kept)


def test_a_large_file_is_refused_by_its_size_and_a_pipe_by_what_comes(tmp_path):
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(bounded_files.MOST_TEXT + 1)
    with pytest.raises(OSError, match="at most 32000000 bytes"):
        files.disk.read(large)
    assert len(files.disk.read(large, bounded_files.MOST_TEXT + 1)) == bounded_files.MOST_TEXT + 1
    incoming, outgoing = os.pipe()
    sender = threading.Thread(target=send_forever, args=(outgoing,), daemon=True)
    sender.start()
    with pytest.raises(OSError, match="at most 32000000 bytes"):
        files.disk.read(Path(f"/dev/fd/{incoming}"), bounded_files.MOST_RESULT)
    os.close(incoming)
    sender.join()
    (tmp_path / "empty").write_bytes(b"")
    assert files.disk.read(tmp_path / "empty") == b""
    assert files.disk.read(Path("/proc/self/stat"))  # a file without a size


def send_forever(handle: int) -> None:
    """Writes zeros until nobody reads them."""
    with suppress(BrokenPipeError), open(handle, "wb", buffering=0) as pipe:
        while True:
            pipe.write(bytes(1 << 16))


def peak(*arguments: str) -> int:
    """The peak memory, in bytes, of a command that must reject its input.

    It runs in its own process.
    """
    program = "import resource, sys; from sojourn.cli import main; code = main(sys.argv[1:])\n"
    program += "print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    found = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}  # the folders of this process, wherever it runs
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=found)
    code, kilobytes = done.stdout.split()[-2:]
    assert code == "2", done.stdout + done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    return int(kilobytes) * (1 if sys.platform == "darwin" else 1024)


TABLES = "".join(f"[a{i}.b.c.d.e]\n" for i in range(300_000))
SHAPES = {"tables.toml": TABLES, "lists.toml": f"a = [{'[],' * 1_000_000}]", "lists.json": f"[{'[],' * 1_000_000}[]]"}


@pytest.mark.parametrize("name", SHAPES)
def test_a_check_takes_at_most_forty_times_the_size_of_a_file_of_nothing_but_tables(name, here):
    Path("none.toml").write_text("a = 1\n")
    Path(name).write_text(SHAPES[name])
    assert peak("check", name) - peak("check", "none.toml") < 40 * len(SHAPES[name])


def test_a_result_that_unpacks_to_gigabytes_is_refused_before_it_is_parsed(here):
    Path("none.flent.gz").write_bytes(gzip.compress(b"[]"))
    base = peak("import", "none.flent.gz", "--out", "x.toml")
    with gzip.open("long.flent.gz", "wb", 1) as file:
        for _ in range(250):
            file.write(b"[]," * 333_000)
    assert peak("import", "long.flent.gz", "--out", "x.toml") - base < 250_000_000
    Path("many.flent.gz").write_bytes(gzip.compress(b"[" + b"[]," * 10_000_000 + b"[]]"))
    assert peak("import", "many.flent.gz", "--out", "x.toml") - base < 250_000_000


def test_series_that_unpack_to_gigabytes_are_not_unpacked(tmp_path):
    packed = zipfile.ZipFile(tmp_path / "series.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1)
    with packed, packed.open("queue/l|t.npy", "w", force_zip64=True) as file:
        for _ in range(1001):
            file.write(bytes(1_000_000))
    with pytest.raises(ValueError, match="more than 1000000000 bytes when it is unpacked"):
        unpack_series((tmp_path / "series.npz").read_bytes())


def test_a_text_of_as_many_values_as_allowed_is_read():
    text = json.dumps({"links": [0] * 100_000})
    assert len(Scenario.from_json(text)["links"]) == 100_000
    many = "[" + "0," * json_text.MOST_VALUES + "0]"
    with pytest.raises(UserError, match=r"^x: expected at most 2000000 values, lists and tables, got about 2000001$"):
        Scenario.from_json(many, "x")


def test_a_cell_that_is_too_long_is_refused_in_one_line(tmp_path):
    (tmp_path / "values.csv").write_text("scenario,queue,measure,value,unit\n" + "x" * 200_000 + ",a,b,1,s\n")
    with pytest.raises(UserError, match=r"values.csv: expected a table in CSV, got one with a field larger than"):
        read_published(tmp_path / "values.csv")
