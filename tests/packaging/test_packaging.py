"""Published metadata is the same everywhere, and names existing files."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

import sojourn
from sojourn.experiments import catalog
from tests.support.source_tree import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CARGO = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]


def script(name: str = "crates") -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{name}_script", ROOT / "scripts" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CRATES = script().crates()


def test_there_is_one_version():
    said = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert said
    version = CARGO["package"]["version"]
    assert {version, PYPROJECT["project"]["version"], sojourn.__version__, said[1]} == {version}
    inner = {name: each["version"] for name, each in CARGO["dependencies"].items() if name.startswith("sojourn-")}
    assert set(inner) == {str(package["name"]) for package in CRATES.values()}
    assert set(inner.values()) == {version}


def test_codemeta_and_the_recipe_for_conda_say_what_the_package_says():
    yaml = pytest.importorskip("yaml")
    project = PYPROJECT["project"]
    about = json.loads((ROOT / "codemeta.json").read_text())
    recipe = yaml.safe_load((ROOT / "packaging/conda/recipe.yaml").read_text())
    assert (about["version"], recipe["context"]["version"]) == (project["version"], project["version"])
    assert {about["description"], recipe["about"]["summary"]} == {project["description"]}
    assert about["keywords"] == project["keywords"]
    assert " OR ".join(each.rpartition("/")[2] for each in about["license"]) == recipe["about"]["license"]
    assert recipe["about"]["license"] == project["license"]
    needed = [re.sub(r"(?<=\w)(?=>=)", " ", each) for each in project["dependencies"]]
    assert recipe["requirements"]["run"] == [f"python {project['requires-python']}", *needed]
    [maturin] = PYPROJECT["build-system"]["requires"]
    assert maturin.replace("maturin", "maturin ") in recipe["requirements"]["host"]


def test_the_wheel_serves_every_python_that_is_supported():
    features = tomllib.loads((ROOT / "crates/python/Cargo.toml").read_text())["dependencies"]["pyo3"]["features"]
    assert features == ["abi3-py" + PYPROJECT["project"]["requires-python"].removeprefix(">=").replace(".", "")]


@pytest.mark.parametrize("folder", CRATES, ids=lambda folder: folder.name)
def test_a_crate_is_ready_to_be_published(folder: Path):
    package = CRATES[folder]
    assert (folder / "README.md").read_text() == script().readme(folder, package), "run python scripts/crates.py"
    assert package["readme"] == "README.md"
    assert package["description"]
    assert 1 <= len(package["keywords"]) <= 5
    assert all(re.fullmatch(r"[a-z][a-z0-9-]{0,19}", word) for word in package["keywords"])
    assert package["categories"]
    assert package["metadata"]["docs"]["rs"]["all-features"]


def test_links_to_items_become_names():
    about = script().about("//! A [`Law`] of [`kinds`](x).\n//!\n//! ```\n//! a[`0`]\n//! ```\nuse x;")
    assert about == "A `Law` of [`kinds`](x).\n\n```rust\na[`0`]\n```"


def test_a_wheel_gets_the_papers_once_and_its_record_says_so(tmp_path, monkeypatch):
    wheel, record = tmp_path / "sojourn-1-py3-none-any.whl", "sojourn-1.dist-info/RECORD"
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("sojourn/__init__.py", "")
        made.writestr(record, "sojourn/__init__.py,,\n")
    added = script("wheel").add(wheel)
    assert added > 40
    assert script("wheel").add(wheel) == 0
    with zipfile.ZipFile(wheel) as made:
        lines = made.read(record).decode().splitlines()
        assert {line.split(",")[0] for line in lines} | {record} == set(made.namelist())
        assert len(lines) == added + 1 == len(made.namelist()) - 1
        name, digest, size = next(line for line in lines if "lehto-2005/experiment.toml" in line).split(",")
        content = made.read(name)
        assert base64.urlsafe_b64decode(digest.removeprefix("sha256=") + "=") == hashlib.sha256(content).digest()
        assert int(size) == len(content)
        made.extractall(tmp_path / "site")
    # As in an installed package, far from a checkout.
    monkeypatch.setattr(catalog, "__file__", str(tmp_path / "site/sojourn/experiments/catalog.py"))
    monkeypatch.chdir(tmp_path)
    assert catalog.find_experiment("lehto").root == tmp_path / "site/sojourn/experiments/papers/lehto-2005"


def test_a_workflow_names_what_is_there():
    yaml = pytest.importorskip("yaml")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for file in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        read = yaml.safe_load(file.read_text())
        commands = [step["run"] for job in read["jobs"].values() for step in job["steps"] if "run" in step]
        assert commands
        for command in commands:
            for words in re.findall(r"\bmake ((?:[a-z-]+ ?)+)", command):
                assert set(words.split()) <= targets, f"{file.name}: {command}"
            for name in re.findall(r"\b(?:tests|examples|scripts)/[\w./]+", command):
                assert (ROOT / name).exists(), f"{file.name}: {command}"


def test_a_hook_before_a_commit_runs_what_is_there():
    yaml = pytest.importorskip("yaml")
    read = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    for hook in read["repos"][0]["hooks"]:
        for name in re.findall(r"tests/[\w./]+", hook["entry"]):
            assert (ROOT / name).exists()


def test_the_changelog_has_the_sections_of_its_form():
    text = (ROOT / "CHANGELOG.md").read_text()
    assert re.findall(r"^## \[(.+?)\]", text, re.MULTILINE)[0] == "Unreleased"
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.*)$", text, re.MULTILINE)) <= kinds


def test_property_tests_draw_the_same_cases_but_in_make_properties_also_where_ci_is_set():
    shown = "from tests.conftest import settings as s; print(*(s.get_profile(n).derandomize for n in ('same', 'anew')))"
    program = [sys.executable, "-c", shown]
    said = subprocess.run(program, cwd=ROOT, env={**os.environ, "CI": "1"}, capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["True", "False"]
