"""A user without a checkout has first files: examples by name, and files to change."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.core import examples
from tests.support.source_tree import ROOT

SHORT = ["--set", 'duration="3 s"', "--set", 'warmup="1 s"']


@pytest.fixture
def installed(here: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, and a package that has its examples inside, as in a wheel."""
    package = tmp_path_factory.mktemp("site") / "sojourn"
    shutil.copytree(ROOT / "examples", package / "examples")
    monkeypatch.setattr(examples, "FOLDERS", (package.parents[1] / "examples", package / "examples"))
    return here


@pytest.mark.parametrize("name", ["dumbbell", "dumbbell.toml", "examples/dumbbell.toml"])
def test_an_example_is_run_by_its_name(name: str, installed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", name, *SHORT]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("dumbbell, seed 1")
    assert ("the shipped example is used" in said.err) == (name != "dumbbell")
    assert not list(installed.iterdir())


def test_a_file_of_ones_own_comes_before_an_example(installed: Path, dumbbell: Path) -> None:
    shutil.copy(dumbbell, "minimal")
    assert sj.load("minimal").get("name") == "dumbbell"
    assert sj.load("minimal.toml").get("name") is None


@pytest.mark.parametrize("name", ["../dumbbell.toml", "papers/dumbbell.toml", "a/examples/dumbbell.toml", "traces"])
def test_other_paths_are_not_examples(name: str, installed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", name]) == 2
    assert "cannot read this scenario: No such file" in capsys.readouterr().err


def test_every_example_is_listed_with_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["examples"]) == 0
    printed = capsys.readouterr().out
    for file in filter(Path.is_file, (ROOT / "examples").iterdir()):
        assert (file.name in printed) == (file.suffix in (".toml", ".py")), file
    assert all(len(examples.summary(name)) > 20 for name in examples.names())


def test_a_copied_example_runs_where_it_is(installed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["examples", "sweep"]) == 0
    assert {file.name for file in Path("examples").iterdir()} == {"sweep.toml", "dumbbell.toml"}
    assert main(["examples", "radio", "--out", "mine"]) == 0
    assert sorted(file.name for file in Path("mine/traces").iterdir()) == ["leo.csv", "lte.up"]
    capsys.readouterr()
    assert main(["check", "mine/radio.toml"]) == main(["check", "examples/sweep.toml"]) == 0
    assert "shipped" not in capsys.readouterr().err


def test_a_changed_file_is_not_overwritten(installed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.toml").write_text("mine")
    assert main(["new", "scenario", "a.toml"]) == 2
    assert "a.toml: expected a new file" in capsys.readouterr().err
    assert Path("a.toml").read_text() == "mine"


@pytest.mark.parametrize(
    ("kind", "file", "use"),
    [
        ("scenario", "a.toml", ["run", "a.toml"]),
        ("sweep", "a.toml", ["sweep", "a.toml", "--no-cache"]),
        ("law", "a.py", ["compare", "dumbbell", "--queues", "droptail", "--law", "a.py:Mine", "--seeds", "2"]),
        ("controller", "a.py", ["compare", "dumbbell", "--cc", "cubic", "--controller", "a.py:Mine", "--seeds", "2"]),
        ("gate", "a.toml", ["gate", "a.toml", "--no-cache"]),
    ],
)
def test_a_new_file_can_be_used_at_once(
    kind: str, file: str, use: list[str], installed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", kind, file]) == 0
    assert f"next: sojourn {use[0]}" in capsys.readouterr().out
    assert main(use if kind == "gate" else [*use, *SHORT]) == 0
    assert main(["new", kind, "a.txt"]) == 2


def test_new_files_have_something_random(installed: Path) -> None:
    main(["new", "scenario", "a.toml"])
    one, other = (sj.run("a.toml", seed=seed)["fingerprint"] for seed in (1, 2))
    assert one != other


@pytest.mark.parametrize("command", [["run", "-"], ["check", "-"], ["compare", "-", "--queues", "red", "--no-cache"]])
def test_a_dash_is_standard_input(
    command: list[str], dumbbell: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in (dumbbell.read_text(), json.dumps(sj.load(dumbbell).to_dict())):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        assert main(command) == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("duration ="))
    assert main(command) == 2
    assert "error: standard input:1:" in capsys.readouterr().err


def test_the_module_is_the_program() -> None:
    done = subprocess.run([sys.executable, "-m", "sojourn", "--version"], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (0, f"sojourn {sj.__version__}\n")
