"""The walk-throughs of CONTRIBUTING.md work in a copy of the repository.

A walk-through is applied, compiled and run. It is a section of CONTRIBUTING.md with one of these comments before each
of its code blocks:

- `<!-- file: PATH -->`: the block is the whole of a new file,
- `<!-- line: PATH, after: TEXT -->`: the block goes after the last line of PATH that contains TEXT,
- `<!-- run -->`: the block is a list of commands.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.source_tree import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TABLE = re.compile(r"<!-- files touched: begin -->\n(.*?)<!-- files touched: end -->", re.DOTALL)
STEP = re.compile(
    r"^ *<!-- (?:(?P<run>run)|file: (?P<file>\S+)|line: (?P<line>\S+), after: (?P<after>.+?)) -->\n+"
    r"(?P<indent> *)```\w*\n(?P<code>.*?)\n(?P=indent)```",
    re.DOTALL | re.MULTILINE,
)
COPY = ROOT / "target" / "walkthroughs"
# A folder of its own: cargo takes a crate of the copy and the same crate here for one, and would use either for both.
BUILT = ROOT / "target" / "walkthroughs-built"
CARGO_TEST = re.compile(r"^(?:UPDATE=1 )?cargo test -p (\S+)$")
# Cases of each property test: all run in `make test`; here a few, for the AQMs that are new, without optimization.
CASES = "4"
# Tests of `sojourn-lab` that send millions of packets and know no registry: they say nothing of what is new.
SKIPPED = " ".join(f"--skip {name}::" for name in ("beginnings", "edges", "endless", "fast_links", "paths", "theory"))


@dataclass
class Walkthrough:
    """A section of CONTRIBUTING.md that adds something."""

    title: str
    files: dict[str, str] = field(default_factory=dict)
    lines: list[tuple[str, str, str]] = field(default_factory=list)  # path, text to find, lines to add after it
    commands: list[str] = field(default_factory=list)

    @property
    def touched_files(self) -> list[str]:
        """The written files: new files, or their folder if there are several, and changed files."""
        folders = {"/".join(path.split("/")[:2]) + "/" for path in self.files if path.startswith("papers/")}
        new = sorted(folders) or list(self.files)
        return [*new, *dict.fromkeys(path for path, _, _ in self.lines)]


def walkthroughs() -> list[Walkthrough]:
    found = []
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        walkthrough = Walkthrough(section.splitlines()[0].strip())
        for step in STEP.finditer(section):
            code = re.sub(rf"^{step['indent']}", "", step["code"], flags=re.MULTILINE) + "\n"
            if step["file"]:
                walkthrough.files[step["file"]] = code
            elif step["line"]:
                walkthrough.lines.append((step["line"], step["after"], code))
            else:
                walkthrough.commands += [
                    line for line in code.splitlines() if line.strip() and not line.startswith("#")
                ]
        if walkthrough.files or walkthrough.lines:
            found.append(walkthrough)
    return found


ALL = walkthroughs()
# The commands that test a crate, and what cargo has to compile for them and for the extension module.
TESTS = {command: found[1] for each in ALL for command in each.commands if (found := CARGO_TEST.match(command))}
AQMS = [Path(file).stem for each in ALL for file in each.files if file.startswith("crates/aqm/")]
PACKAGES = " ".join(f"--package {package}" for package in sorted({*TESTS.values(), "sojourn-python"}))


def table() -> str:
    """The files of each walk-through.

    `python -m tests.documents.test_walkthroughs` writes the table into CONTRIBUTING.md.
    """
    rows = ["| to add | new files | lines added to |", "|---|---|---|"]
    for each in ALL:
        new = [place for place in each.touched_files if place not in {path for path, _, _ in each.lines}]
        old = [place for place in each.touched_files if place not in new]
        cells = [", ".join(f"`{place}`" for place in places) or "–" for places in (new, old)]
        rows.append(f"| {each.title.removeprefix('Add ')} | {cells[0]} | {cells[1]} |")
    return "\n".join(rows) + "\n"


def test_the_table_says_what_each_walkthrough_touches() -> None:
    printed = TABLE.search(PAGE)
    assert printed, "CONTRIBUTING.md has no table of the files touched"
    assert printed[1] == table(), "run python -m tests.documents.test_walkthroughs"


@pytest.mark.parametrize("walkthrough", ALL, ids=lambda each: each.title)
def test_an_addition_touches_two_places_at_most(walkthrough: Walkthrough) -> None:
    assert len(walkthrough.touched_files) <= 2, f"{walkthrough.title} touches {walkthrough.touched_files}"
    assert walkthrough.commands, f"{walkthrough.title} has no commands that try it"


@pytest.fixture(scope="module")
def tree() -> Path:
    """A copy of the repository with every walk-through applied.

    Unchanged files keep their times.
    """
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    wanted = {name: (ROOT / name).read_bytes() for name in listed if (ROOT / name).is_file()}
    for each in ALL:
        for path, code in each.files.items():
            assert path not in wanted, f"{each.title} writes {path}, which exists"
            wanted[path] = code.encode()
        for path, after, code in each.lines:
            lines = wanted[path].decode().splitlines(keepends=True)
            at = [number for number, line in enumerate(lines) if after in line]
            assert at, f"{each.title}: no line of {path} holds {after!r}"
            lines.insert(at[-1] + 1, code)
            wanted[path] = "".join(lines).encode()
    for old in COPY.rglob("*"):
        name = old.relative_to(COPY).as_posix()
        if old.is_file() and name not in wanted and "__pycache__" not in name:
            old.unlink()
    for name, data in wanted.items():
        path = COPY / name
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    return COPY


def environment(tree: Path) -> dict[str, str]:
    """The environment in which `cargo` and `sojourn` work on the copy."""
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {
        **os.environ,
        "PATH": programs,
        "PYTHONPATH": str(tree / "python"),
        "CARGO_TARGET_DIR": str(BUILT),
        "CARGO_INCREMENTAL": "0",
        "CARGO_PROFILE_DEV_OPT_LEVEL": "0",  # compiled once and run for seconds
        "PROPTEST_CASES": CASES,
        "AQMS": ",".join(AQMS),
    }


def take_dependencies() -> None:
    """Copies the compiled registry crates of `make rust-build` into the build of the copy.

    They are the same if cargo has the same settings, which are those of the environment.
    """
    compiled = ROOT / "target" / "debug"
    if BUILT.exists() or not compiled.exists():
        return
    for folder, copy in ((".fingerprint", shutil.copy2), ("build", shutil.copy2), ("deps", os.link)):
        (BUILT / "debug" / folder).mkdir(parents=True)
        for there in (compiled / folder).iterdir() if (compiled / folder).exists() else ():
            here = BUILT / "debug" / folder / there.name
            if there.name.removeprefix("lib").startswith("sojourn"):
                continue
            if there.is_dir():
                shutil.copytree(there, here, copy_function=copy)
            else:
                copy(there, here)


@pytest.fixture(scope="module")
def built(tree: Path) -> Path:
    """The copy with tests and extension module, built by one command.

    Each crate is compiled once.
    """
    take_dependencies()
    ran(tree, f"cargo build --quiet --lib --tests {PACKAGES}")
    library = next(path for path in (BUILT / "debug").glob("lib_sojourn.*") if path.suffix in (".so", ".dylib"))
    module = tree / "python" / "sojourn" / "_sojourn.abi3.so"
    module.write_bytes(library.read_bytes())
    return tree


@pytest.fixture(scope="module")
def tested(built: Path) -> set[str]:
    """Runs the `cargo test` of all walk-throughs as one command, and returns those commands."""
    ran(built, f"UPDATE=1 cargo test --quiet --tests {PACKAGES} -- {SKIPPED}")  # `--lib` compiles those without tests
    return set(TESTS)


def ran(tree: Path, command: str) -> str:
    done = subprocess.run(
        command, shell=True, cwd=tree, env=environment(tree), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("walkthrough", ALL, ids=lambda each: each.title)
def test_a_walkthrough_does_what_it_says(walkthrough: Walkthrough, built: Path, tested: set[str]) -> None:
    for path in walkthrough.files:
        if path.endswith(".rs"):
            ran(built, f"rustfmt --edition 2024 --check {path}")
    for command in walkthrough.commands:
        if not command.startswith(("maturin", "make", ". ")) and command not in tested:  # the fixtures have done it
            ran(built, command)


if __name__ == "__main__":
    written = TABLE.sub(lambda _: f"<!-- files touched: begin -->\n{table()}<!-- files touched: end -->", PAGE)
    (ROOT / "CONTRIBUTING.md").write_text(written, encoding="utf-8")
