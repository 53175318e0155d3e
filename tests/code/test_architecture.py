"""The parts of ARCHITECTURE.md exist, and the rules about their dependencies hold."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.source_tree import ROOT

MODULE = re.compile(r"^(?:pub )?mod (\w+);", re.MULTILINE)
TABLE = re.compile(r"<!-- dependencies: begin -->(.*)<!-- dependencies: end -->", re.DOTALL)


def allowed() -> dict[str, tuple[set[str], bool]]:
    """The parts that each part may use, by ARCHITECTURE.md.

    The flag is whether it must do without the standard library.
    """
    found = TABLE.search((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    assert found, "ARCHITECTURE.md has no table of dependencies"
    rows = [line.strip("| ").split("|") for line in found.group(1).strip().splitlines()[2:]]
    return {
        re.findall(r"`([^`]+)`", part)[0]: (set(re.findall(r"`([^`]+)`", uses)), bare.strip() == "yes")
        for part, uses, bare in rows
    }


@pytest.fixture(scope="module")
def packages() -> dict[str, dict[str, Any]]:
    """The crates of the workspace as cargo sees them."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--offline"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {package["name"]: package for package in json.loads(said)["packages"]}


def sources(package: dict[str, Any]) -> list[Path]:
    return sorted((Path(package["manifest_path"]).parent / "src").rglob("*.rs"))


def test_every_crate_has_a_line_in_the_table(packages: dict[str, dict[str, Any]]) -> None:
    assert set(allowed()) == set(packages)


def test_a_crate_uses_only_what_the_table_allows(packages: dict[str, dict[str, Any]]) -> None:
    table = allowed()
    for name, package in packages.items():
        used = {dependency["name"] for dependency in package["dependencies"]} & set(packages) - {name}
        assert used <= table[name][0], f"{name} uses {used - table[name][0]}, which ARCHITECTURE.md does not allow"


def test_what_the_table_allows_has_no_cycle() -> None:
    table = {part: set(uses) for part, (uses, _) in allowed().items()}
    while table:
        free = {part for part, uses in table.items() if not uses & set(table)}
        assert free, f"a cycle among {sorted(table)}"
        table = {part: uses for part, uses in table.items() if part not in free}


def test_the_parts_that_are_no_std_do_without_the_standard_library(packages: dict[str, dict[str, Any]]) -> None:
    bare = {name for name, (_, no_std) in allowed().items() if no_std}
    assert {"sojourn-aqm", "sojourn-cc", "sojourn-traffic", "sojourn-link", "sojourn-spec", "sojourn-net"} <= bare
    for name in bare:
        root = Path(packages[name]["manifest_path"]).parent / "src" / "lib.rs"
        assert "#![no_std]" in root.read_text(encoding="utf-8").splitlines(), f"{name} is not no_std"


def test_the_simulator_touches_no_files_threads_clocks_or_serde(packages: dict[str, dict[str, Any]]) -> None:
    package = packages["sojourn-sim"]
    assert not {d["name"] for d in package["dependencies"] if d["kind"] is None} & {"serde", "rayon", "toml"}
    for path in sources(package):
        found = re.search(r"\bstd::(fs|thread|time|net|env|process|io)\b|\bserde\b", path.read_text(encoding="utf-8"))
        assert found is None, f"{path.relative_to(ROOT)} uses {found and found.group()}"


def test_the_product_never_imports_the_comparison_with_other_simulators() -> None:
    for path in (ROOT / "python").rglob("*.py"):
        assert not re.search(r"^\s*(from|import) conformance", path.read_text(encoding="utf-8"), re.MULTILINE), path


FOLDERS = [
    "python/sojourn/",
    "python/sojourn_program/",
    "papers/<id>/",
    "conformance/oracles/",
    "conformance/bench/",
    "hosts/linux/",
    "stacks/",
    "tests/",
    "fuzz/",
    "examples/",
    "docs/",
    "playground/",
    "scripts/",
    ".ci/",
]


def test_every_part_is_on_the_map_once() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    code_map = text[text.index("## Code map") : text.index("## Who may use whom")]
    for part in [*allowed(), *FOLDERS]:
        assert code_map.count(f"| `{part}` |") == 1, f"{part} is not in one row of the code map"


def test_every_file_of_tests_is_compiled(packages: dict[str, dict[str, Any]]) -> None:
    """A crate whose tests are one program names each file in it; cargo would not miss one."""
    for name, package in packages.items():
        roots = {Path(target["src_path"]) for target in package["targets"] if "test" in target["kind"]}
        named = {root.parent / f"{module}.rs" for root in roots for module in MODULE.findall(root.read_text("utf-8"))}
        lost = set((Path(package["manifest_path"]).parent / "tests").glob("*.rs")) - roots - named
        assert not lost, f"{name}: no program of tests has {', '.join(sorted(path.name for path in lost))}"


def test_one_program_of_tests_misses_no_file(packages: dict[str, dict[str, Any]]) -> None:
    folders = [Path(package["manifest_path"]).parent / "tests" for package in packages.values()]
    programs = [folder / "all.rs" for folder in folders if (folder / "all.rs").exists()]
    assert programs
    for program in programs:
        files = {file.stem for file in program.parent.glob("*.rs")} - {"all"}
        assert set(MODULE.findall(program.read_text(encoding="utf-8"))) == files, program
