"""Runs a paper's claims with changed sources, in a patched copy of the workspace.

The engine is built again there, and nothing outside the copy is changed. The mutants of all papers share the copy and
the build folder, so each builds only what its change affects.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sojourn.core.errors import UserError
from sojourn.core.files import locked, write_atomic
from sojourn.experiments.audit import Observed, Plan, StoppedError, read_observed
from sojourn.experiments.schema.mutants import MutantTable, PatchTable

PROFILE = "quick"
"""The cargo profile of changed engines: quick to build, fast enough to run."""
BUILT = ("lib_sojourn.so", "lib_sojourn.dylib", "_sojourn.dll")
"""The file names of the extension module on Linux, macOS and Windows."""
LONGEST_S = 1800
"""The time limit of one mutant's runs, in seconds."""


@dataclass
class Workspace:
    """A copy of the repository and of an experiment's folder, in which sources are changed."""

    plan: Plan
    folder: Path
    threads: int = 0
    _built: bool = False
    _changed: dict[Path, bytes] = field(default_factory=dict)
    """The files that differ from the original, with their original content."""

    @property
    def experiment(self) -> Path:
        """The paper's folder in the copy."""
        return self.folder / "papers" / self.plan.experiment.root.name

    def measure(self, mutant: MutantTable) -> Observed:
        """The claims under a mutant of sources."""
        patched = [self._path(mutant, number, each) for number, each in enumerate(mutant.patch, start=1)]
        try:
            for number, (path, each) in enumerate(zip(patched, mutant.patch, strict=True), start=1):
                self._patch(path, each, f"mutants[{mutant.id}].patch[{number}]")
            if any(path.is_relative_to(self.folder / "crates") for path in patched):
                self._build(mutant)
            return self._observe()
        finally:
            for path, text in self._changed.items():
                _replace(path, text)
            if any(path.is_relative_to(self.folder / "crates") for path in self._changed):
                self._restore_engine()
            self._changed.clear()

    def _path(self, mutant: MutantTable, number: int, patch: PatchTable) -> Path:
        """The file in the copy that a patch changes; copies its folder if necessary."""
        if patch.file.partition("/")[0] not in ("crates", "python"):
            self._copy(self.plan.experiment.root, self.experiment)
            self._copy_python()
            path = self.experiment / patch.file
        else:
            if patch.file.startswith("crates/"):
                self._copy_sources()
            self._copy(self.plan.experiment.root, self.experiment)
            self._copy_python()
            path = self.folder / patch.file
        if not path.is_file():
            label = f"{self.plan.experiment.root / 'mutants.toml'}: mutants[{mutant.id}].patch[{number}].file"
            raise UserError(f'{label}: expected a file of the experiment or the repository, got "{patch.file}"')
        return path

    def _patch(self, path: Path, patch: PatchTable, label: str) -> None:
        """Replaces a text that occurs once."""
        text = path.read_bytes().decode()
        if (count := text.count(patch.old)) != 1:
            where = self.plan.experiment.root / "mutants.toml"
            raise UserError(f"{where}: {label}.old: expected a text that {patch.file} has once, got it {count} times")
        self._changed.setdefault(path, path.read_bytes())
        _replace(path, text.replace(patch.old, patch.new).encode())

    def _copy(self, source: Path, target: Path) -> None:
        """Copies a folder.

        An equal file is not rewritten, so that cargo does not rebuild it.
        """
        for file in source.rglob("*"):
            if not file.is_file() or "__pycache__" in file.parts or file.name.startswith("_sojourn."):
                continue
            copy = target / file.relative_to(source)
            if copy in self._changed or (copy.exists() and copy.read_bytes() == file.read_bytes()):
                continue
            write_atomic(copy, file.read_bytes(), sync=False)

    def _copy_python(self) -> None:
        package = Path(__file__).resolve().parent.parent
        self._copy(package, self.folder / "python" / "sojourn")
        for engine in package.glob("_sojourn.*"):
            copy = self.folder / "python" / "sojourn" / engine.name
            if not copy.exists() or copy.read_bytes() != engine.read_bytes():
                write_atomic(copy, engine.read_bytes(), sync=False)

    def _copy_sources(self) -> None:
        """The sources of the engine, which an installed package does not have."""
        root = repository()
        for name in ("Cargo.toml", "Cargo.lock"):
            copy = self.folder / name
            if not copy.exists() or copy.read_bytes() != (root / name).read_bytes():
                write_atomic(copy, (root / name).read_bytes(), sync=False)
        self._copy(root / "crates", self.folder / "crates")

    def _build(self, mutant: MutantTable) -> None:
        """Builds the engine of the copy and puts it beside the package there."""
        cargo = shutil.which("cargo")
        if cargo is None:
            raise UserError(f"mutants[{mutant.id}]: expected cargo, which builds the changed engine, got none")
        target = self.folder.parent / "target"
        command = [cargo, "build", "--quiet", "--package", "sojourn-python", "--profile", PROFILE]
        environment = os.environ | {"CARGO_TARGET_DIR": str(target.resolve()), "CARGO_TERM_COLOR": "never"}
        done = _quietly(command, self.folder, environment)
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.startswith("error")] or [done.stderr.strip()]
            raise UserError(f"mutants[{mutant.id}].patch: expected sources that compile, got {said[0][:200]}")
        built = next((path for name in BUILT if (path := target / PROFILE / name).exists()), None)
        if built is None:
            raise UserError(f"{target / PROFILE}: expected one of {', '.join(BUILT)} after the build, got none")
        self._engines()
        ending = ".pyd" if built.suffix == ".dll" else ".abi3.so"
        write_atomic(self.folder / "python" / "sojourn" / f"_sojourn{ending}", built.read_bytes(), sync=False)

    def _engines(self) -> None:
        """Removes the engines beside the package in the copy."""
        for engine in (self.folder / "python" / "sojourn").glob("_sojourn.*"):
            if engine.suffix != ".pyi":
                engine.unlink()

    def _restore_engine(self) -> None:
        self._engines()
        self._copy_python()

    def _observe(self) -> Observed:
        """The claims as the changed copy measures them, in a process of its own."""
        command = [sys.executable, "-m", "sojourn.experiments.audit", str(self.experiment.resolve()), str(self.threads)]
        environment = os.environ | {"PYTHONPATH": str((self.folder / "python").resolve())}
        try:
            done = _quietly(command, self.folder, environment, LONGEST_S)
        except subprocess.TimeoutExpired:
            raise StoppedError(f"its runs take more than {LONGEST_S} s") from None
        if done.returncode:
            raise StoppedError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:200])
        return read_observed(done.stdout)


def _replace(path: Path, text: bytes) -> None:
    """Writes a source, and removes its compiled Python code.

    Python accepts compiled code for a source of the same size and second.
    """
    write_atomic(path, text, sync=False)
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


@contextmanager
def shared_workspace(plan: Plan, threads: int = 0) -> Iterator[Workspace]:
    """The copy that all audits share: in `target` of the repository or of the working folder.

    Raises `UserError` while another process uses it.
    """
    try:
        root = repository()
    except UserError:
        root = Path()
    folder = root / "target" / "audit"
    with locked(folder / "lock") as free:
        if not free:
            raise UserError(f"{folder}: expected one audit with changed sources at a time, got a second one")
        yield Workspace(plan, folder / "workspace", threads)


def _quietly(
    command: list[str], folder: Path, environment: dict[str, str], limit_s: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a command and captures its output."""
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=limit_s, check=False
    )


def repository() -> Path:
    """The folder with the sources of the engine.

    Raises `UserError` if the package is installed without them.
    """
    for folder in Path(__file__).resolve().parents:
        if (folder / "Cargo.toml").exists() and (folder / "crates").is_dir():
            return folder
    raise UserError("patch: expected a package that lies in its repository, with crates/ above it, got one without")
