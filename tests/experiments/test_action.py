"""The GitHub action: its steps' commands run here as GitHub runs them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from sojourn.exports.qlog import write_qlog
from tests.judge.test_judge import dumbbell
from tests.support.source_tree import ROOT

pytestmark = pytest.mark.no_libraries

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
EXAMPLE = ROOT / "examples" / "gate"


def runs(step: dict[str, Any], inputs: dict[str, str]) -> bool:
    """Whether a step's condition holds."""
    found = re.fullmatch(r"inputs\.([\w-]+) (==|!=) '(\w*)'", step["if"])
    assert found is not None, step["if"]
    return (inputs[found[1]] == found[3]) == (found[2] == "==")


def action(folder: Path, **given: str) -> subprocess.CompletedProcess[str]:
    """Runs the steps of the action in a folder until one fails."""
    inputs = {name: str(value["default"]) for name, value in ACTION["inputs"].items()}
    inputs |= {name.replace("_", "-"): value for name, value in given.items()} | {"install": "false"}
    assert inputs.keys() == ACTION["inputs"].keys()
    done = subprocess.CompletedProcess[str]([], 0, "", "")
    for step in ACTION["runs"]["steps"]:
        if not runs(step, inputs):
            continue
        variables = {
            name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: inputs[found[1]], value)
            for name, value in step.get("env", {}).items()
        }
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        environment = {**os.environ, "PATH": path, **variables}
        done = subprocess.run(command, cwd=folder, env=environment, text=True, capture_output=True, check=False)
        if done.returncode:
            break
    return done


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A copy of the example, as a repository of others has it."""
    return shutil.copytree(EXAMPLE, tmp_path / "mine")


def workflow() -> dict[str, str]:
    """What the example's workflow passes to the action."""
    steps = yaml.safe_load((EXAMPLE / "congestion.yml").read_text(encoding="utf-8"))["jobs"]["sojourn"]["steps"]
    (used,) = (step["with"] for step in steps if step["uses"].endswith("/sojourn@TAG"))
    assert used.keys() <= ACTION["inputs"].keys()
    return {name.replace("-", "_"): value for name, value in used.items()}


def test_the_example_passes_and_a_worse_controller_fails(repository: Path) -> None:
    done = action(repository, **workflow())
    assert done.returncode == 0, done.stderr
    assert "passed: goodput not worse than baseline.json" in done.stdout
    file = repository / "controller.py"
    file.write_text(file.read_text(encoding="utf-8").replace("BETA = 0.5", "BETA = 0.05"), encoding="utf-8")
    done = action(repository, **workflow())
    assert done.returncode == 1
    assert "failed: goodput not worse than baseline.json" in done.stdout
    assert (repository / "results/sojourn/gate/junit.xml").is_file()


def test_all_logs_are_judged_and_one_that_parts_from_its_law_fails(tmp_path: Path) -> None:
    write_qlog(dumbbell("reno", "rfc", 5), tmp_path / "a.qlog")
    write_qlog(dumbbell("cubic", "rfc", 5), tmp_path / "b.qlog")
    done = action(tmp_path, logs="*.qlog", controller="cubic")
    assert done.returncode == 1
    assert "f/0 parts from cubic" in done.stdout
    assert sorted(path.name for path in (tmp_path / "results/sojourn").iterdir()) == ["a.qlog.html", "b.qlog.html"]
    assert action(tmp_path, logs="b.qlog", controller="cubic").returncode == 0


@pytest.mark.parametrize(("asserts", "code"), [("true", 0), ("false", 101)])
def test_trials_are_the_tests_of_a_crate(tmp_path: Path, asserts: str, code: int) -> None:
    crate = tmp_path / "crate"
    (crate / "src").mkdir(parents=True)
    (crate / "Cargo.toml").write_text('[package]\nname = "mine"\nedition = "2024"\n[workspace]\n', encoding="utf-8")
    (crate / "src/lib.rs").write_text(f"#[test]\nfn trial() {{\n    assert!({asserts});\n}}\n", encoding="utf-8")
    assert action(tmp_path, trials="crate").returncode == code


def test_the_action_installs_itself_unless_told_otherwise() -> None:
    install = ACTION["runs"]["steps"][0]
    assert runs(install, {"install": "true"})
    assert not runs(install, {"install": "false"})
    assert "$GITHUB_ACTION_PATH" in install["run"]
