"""The commands of docs/own-experiment.md lead from an empty folder to the archive."""

import hashlib
import json
import re
import shlex
import zipfile
from pathlib import Path

import pytest

from sojourn.cli import main
from tests.support.source_tree import ROOT

PAGE = (ROOT / "docs" / "own-experiment.md").read_text(encoding="utf-8")
COMMANDS = re.search(r"```sh\n(.*?)```", PAGE, re.DOTALL)
assert COMMANDS
STEPS = [shlex.split(line)[1:] for line in COMMANDS[1].splitlines()]


def blocks() -> dict[str, str]:
    """The files that the page shows, by name."""
    return dict(re.findall(r"```toml\n# (\w+\.toml)\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_page_leads_from_an_empty_folder_to_the_archive(here: Path) -> None:
    assert [main(step) for step in STEPS] == [0] * 4
    tex = (here / "results" / "mine" / "tables" / "main.tex").read_text()
    assert "a round trip of 20 ms & DropTail" in tex
    with zipfile.ZipFile(here / "mine.zip") as archive:
        manifest = json.loads(archive.read("mine/manifest.json"))
        names = {name.removeprefix("mine/") for name in archive.namelist()} - {"manifest.json"}
        digests = {name: hashlib.sha256(archive.read(f"mine/{name}")).hexdigest() for name in names}
    assert manifest["sha256"] == digests
    assert manifest["seeds"] == [1, 2, 3, 4, 5]
    assert {"experiment/claims.toml", "experiment/scenarios/base.toml", "results/report.html"} <= names


def test_a_claim_that_fails_makes_the_command_exit_with_1(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "experiment", "mine"]) == 0
    file = here / "mine" / "claims.toml"
    file.write_text(file.read_text().replace('"< 0.1"', '"> 0.1"'))
    assert main(["reproduce", "mine", "--quick"]) == 0
    assert main(["reproduce", "mine", "--quick", "--require"]) == 1
    assert "claims that do not hold: use" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        (
            "experiment.toml",
            "utilization / wait",
            "utilization / power",
            "measures.power.formula: expected one of wait,",
        ),
        ("experiment.toml", "{rtt / 2}", "{trip / 2}", "expected {rtt}, or an expression"),
        (
            "claims.toml",
            ".codel.wait /",
            ".codle.wait /",
            "claims.toml: claims[wait].measure: queue of rtt20.codle.wait: expected one of",
        ),
        ("scenarios/base.toml", "10 Mbit/s", "10", "base.toml"),
    ],
)
@pytest.mark.usefixtures("here")
def test_check_finds_a_mistake_in_any_file(
    file: str, old: str, new: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "experiment", "mine"]) == 0
    path = Path("mine") / file
    path.write_text(path.read_text().replace(old, new))
    assert main(["check", "mine"]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.usefixtures("here")
def test_new_leaves_a_folder_with_something_in_it_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "experiment", "mine"]) == 0
    assert main(["new", "experiment", "mine"]) == 2
    assert "expected a new or an empty folder" in capsys.readouterr().err


def test_the_files_that_the_page_shows_are_an_experiment(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "experiment", "mine"]) == 0
    (here / "mine" / "mutants.toml").unlink()
    for name, text in blocks().items():
        (here / "mine" / name).write_text(text, encoding="utf-8")
    assert set(blocks()) == {"experiment.toml", "claims.toml"}
    assert main(["check", "mine"]) == 0
    assert "4 cases, 1 claim, all can be run" in capsys.readouterr().out
