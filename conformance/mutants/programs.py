"""Builds test programs with all mutants in them, and runs the tests that reach one."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.mutants.rust_sources import SWITCH, Planted, Source, blamed, planted
from sojourn.core.errors import UserError

ENVIRONMENT = {
    "PROPTEST_RNG_SEED": "1",
    "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "true",
    "PROPTEST_MAX_SHRINK_ITERS": "0",
}
"""Property tests draw the same cases for each mutant, and stop at the first failure."""
LIBRARY = Path("crates/units/src/lib.rs")
LINTS = "[workspace.lints.rust]\n"
ALLOWED = LINTS + "".join(f'{name} = "allow"\n' for name in ("warnings", "arithmetic_overflow", "unconditional_panic"))
"""An overflow in a mutant fails its test, not its compilation."""
ROUNDS = 30
"""The largest number of builds in which mutants that don't compile are found."""
FIRST, SECOND = 6, 40
"""Numbers of the fastest tests run first and second for a mutant, before all others."""
LEAST_S, SLOWEST = 15.0, 8.0
"""The time limit of the tests of a mutant: seconds, and a multiple of their usual time."""


def copied(root: Path, tree: Path) -> None:
    """Copies the Rust sources, with the switch, next to links to the rest.

    Equal files are not rewritten, so their build products stay valid.
    """
    tree.mkdir(parents=True, exist_ok=True)
    sources = {path.relative_to(root) for path in (root / "crates").rglob("*") if path.is_file()}
    for path in (tree / "crates").rglob("*"):
        if path.is_file() and path.relative_to(tree) not in sources:
            path.unlink()
    for name in sources:
        content = (root / name).read_bytes()
        write(tree / name, with_switch(content) if name == LIBRARY else content)
    for name in (".cargo", "conformance", "docs", "papers", "examples", "tests", "Cargo.lock"):
        (tree / name).unlink(missing_ok=True)
        (tree / name).symlink_to(root / name)
    write(tree / "Cargo.toml", (root / "Cargo.toml").read_text().replace(LINTS, ALLOWED).encode())


def write(path: Path, content: bytes) -> None:
    """Writes a file if its content differs."""
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def with_switch(library: bytes) -> bytes:
    """The library that all crates use, with the function that chooses a mutant."""
    return library.replace(b"#[cfg(test)]\nextern crate std;", b"extern crate std;") + SWITCH.encode()


def cargo(tree: Path, *arguments: str) -> list[dict[str, Any]]:
    """The messages of cargo."""
    command = ["cargo", *arguments, "--message-format", "json"]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def compiled(tree: Path, crate: str, mutants: dict[int, Planted]) -> dict[int, Planted]:
    """Writes mutants of a crate into its sources, and returns those that compile."""
    switch = "crate::planted" if crate == "units" else "sojourn_units::planted"
    originals = {each.mutant.file: (tree / each.mutant.file).read_bytes() for each in mutants.values()}
    alive, sources = dict(mutants), dict[str, Source]()
    changed = set(originals)
    for _ in range(ROUNDS):
        for file in changed:
            here = {number: each for number, each in alive.items() if each.mutant.file == file}
            sources[file] = planted(originals[file], here, switch)
            write(tree / file, sources[file].text)
        changed = set()
        for message in cargo(tree, "check", "--quiet", "--lib", "--all-features", "--package", f"sojourn-{crate}"):
            found = message.get("message", {})
            if message["reason"] != "compiler-message" or found["level"] != "error" or not found["spans"]:
                continue
            numbers = guilty(found["spans"], sources)
            if not numbers:
                raise UserError(f"crates/{crate}: does not compile: {found['message']}")
            changed |= {mutants[number].mutant.file for number in numbers}
            alive = {number: each for number, each in alive.items() if number not in numbers}
        if not changed:
            return alive
    raise UserError(f"crates/{crate}: mutants still don't compile after {ROUNDS} builds")


def guilty(spans: list[dict[str, Any]], sources: dict[str, Source]) -> tuple[int, ...]:
    """The mutants that a compiler error refers to."""
    for span in sorted(spans, key=lambda each: not each["is_primary"]):
        if span["file_name"] in sources:
            numbers = blamed(sources[span["file_name"]], span["byte_start"], span["byte_end"])
            if numbers:
                return numbers
    return ()


@dataclass(frozen=True)
class Test:
    """A test of a test program, and how long it takes."""

    folder: Path
    program: str
    name: str
    seconds: float = 0.0


def run(folder: Path, program: str, names: Iterable[str], environment: dict[str, str], limit_s: float) -> bool:
    """Whether tests of a program pass in time."""
    command = [program, "--exact", "--test-threads=1", "--quiet", *names]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | ENVIRONMENT | environment,
            capture_output=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


@dataclass
class Programs:
    """Test programs, with the mutants reached by each test."""

    tree: Path
    packages: list[str]
    reaching: dict[int, list[Test]] = field(default_factory=lambda: defaultdict(list))

    def build(self) -> None:
        """Builds the tests of the packages, and runs each once to record the mutants it reaches."""
        tests = []
        for package in self.packages:
            folder = self.tree / "crates" / package
            for message in cargo(
                self.tree, "test", "--quiet", "--no-run", "--tests", "--package", f"sojourn-{package}"
            ):
                if message["reason"] == "compiler-artifact" and message["executable"] and message["profile"]["test"]:
                    tests += [Test(folder, message["executable"], name) for name in names_in(message["executable"])]
                if message["reason"] == "build-finished" and not message["success"]:
                    raise UserError(f"crates/{package}: expected tests that compile, got tests that don't")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for test, reached in pool.map(self._traced, tests):
                for number in reached:
                    self.reaching[number].append(test)

    def _traced(self, test: Test) -> tuple[Test, list[int]]:
        """Runs a test; returns it with its time, and the mutants that it reaches."""
        cover = self.tree / f"cover-{os.getpid()}-{abs(hash(test))}"
        begin = time.monotonic()
        passes = run(test.folder, test.program, [test.name], {"COVER": str(cover)}, 600.0)
        seconds = time.monotonic() - begin
        reached = [int(line) for line in cover.read_text().split()] if cover.exists() else []
        cover.unlink(missing_ok=True)
        # Recording allocates memory, so a test of allocations may fail here.
        if not passes and not run(test.folder, test.program, [test.name], {}, 600.0):
            raise UserError(
                f"{test.folder.name}: {test.name}: expected a test that passes without a mutant, but it fails"
            )
        return Test(test.folder, test.program, test.name, seconds), reached

    def catches(self, number: int) -> bool:
        """Whether some test fails with a mutant."""
        tests = sorted(self.reaching[number], key=lambda test: test.seconds)
        for some in (tests[:FIRST], tests[FIRST:SECOND], tests[SECOND:]):
            groups: dict[tuple[Path, str], list[Test]] = defaultdict(list)
            for test in some:
                groups[test.folder, test.program].append(test)
            for (folder, program), group in groups.items():
                limit_s = max(LEAST_S, SLOWEST * sum(test.seconds for test in group))
                if not run(folder, program, [test.name for test in group], {"MUTANT": str(number)}, limit_s):
                    return True
        return False


def names_in(program: str) -> list[str]:
    """The tests of a test program that are not ignored."""

    def listing(*options: str) -> set[str]:
        command = [program, "--list", "--format", "terse", *options]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return {line.removesuffix(": test") for line in text.splitlines() if line.endswith(": test")}

    return sorted(listing() - listing("--ignored"))
