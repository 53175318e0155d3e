"""Builds a wheel whose engine is optimized by a profile of its own runs, where the tool for that is there.

    python scripts/profiled.py ARGUMENTS...        the arguments of `maturin build`; the wheel comes to dist/

The engine is built twice: first so that it counts what it does, then with the counts of `training`, always the same
runs. `llvm-profdata` of the version of LLVM that rustc has makes a profile of them: rustup's component llvm-tools, or
a package of the system such as llvm-22. Without it, or if the engine can't be run here because it is for another
machine, the wheel is built without a profile. It simulates the same in either case.
"""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
WORK = ROOT / "build" / "profiled"
PROFILE = WORK / "merged.profdata"
EXTERN = {"external", "linux"}
"""Algorithms that need a law in Python or a kernel."""


def said(*command: str | Path) -> str:
    """What a program prints."""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def llvm(printed: str) -> str | None:
    """The first part of LLVM's version in what `rustc -vV` or a tool prints, such as "22"."""
    found = re.search(r"LLVM version:? (\d+)", printed)
    return found[1] if found else None


def candidates(version: str) -> list[str]:
    """Where `llvm-profdata` may be: in rustup's component, or in PATH under its two names."""
    component = Path(said("rustc", "--print", "target-libdir").strip()).parent / "bin"
    names = [str(component / "llvm-profdata"), "llvm-profdata", f"llvm-profdata-{version}"]
    return [found for name in names if (found := shutil.which(name))]


def fitting(version: str, found: Sequence[str], version_of: Callable[[str], str | None]) -> str | None:
    """The first of the tools found that reads the counts of an engine that this version of LLVM has compiled."""
    return next((tool for tool in found if version_of(tool) == version), None)


def profdata() -> tuple[str | None, str]:
    """The `llvm-profdata` for this rustc, or the reason for its absence."""
    version = llvm(said("rustc", "-vV"))
    tool = version and fitting(version, candidates(version), lambda tool: llvm(said(tool, "--version")))
    return tool or None, f"there is no llvm-profdata of LLVM {version}: rustup component add llvm-tools"


def training(dumbbell: str, registry: dict[str, list[dict[str, str]]]) -> list[str]:
    """The scenarios whose runs are counted: a short dumbbell with each queue, and with each controller in two ways."""
    short = changed(dumbbell, '"60 s"', '"20 s"')
    queues = [entry["name"] for entry in registry["aqm"] if entry["name"] not in EXTERN]
    controllers = [entry["name"] for entry in registry["cc"] if entry["name"] not in EXTERN]
    texts = [changed(short, '"droptail"', f'"{name}"') for name in queues]
    rfc = changed(short, '"rfc"', '"rfc"\necn = true')
    linux = changed(changed(short, '"rfc"', '"linux"\necn = true'), 'aqm = "droptail"', 'aqm = "red", ecn = true')
    l4s = changed(changed(short, '"rfc"', '"linux"\necn = "l4s"'), 'aqm = "droptail"', 'aqm = "dualpi2", ecn = true')
    texts += [changed(base, '"reno"', f'"{name}"') for base in (rfc, linux) for name in controllers]
    return [*texts, changed(l4s, '"reno"', '"prague"')]


def changed(text: str, old: str, new: str) -> str:
    """The text with another value in the one place where it has the old one."""
    if text.count(old) != 1:
        raise ValueError(f"examples/dumbbell.toml: expected {old} once, got it {text.count(old)} times")
    return text.replace(old, new)


def train(file: Path) -> None:
    """Does the runs with the engine in this file. It writes its counts when the process ends."""
    spec = importlib.util.spec_from_file_location("sojourn._sojourn", file)
    assert spec
    assert spec.loader
    engine: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(engine)
    dumbbell = (ROOT / "examples" / "dumbbell.toml").read_text(encoding="utf-8")
    for text in training(dumbbell, json.loads(engine.registry())):
        engine.run(text, "training.toml", 1)


def maturin(arguments: Sequence[str], flags: Sequence[str]) -> int:
    """Builds a wheel with more flags of rustc."""
    environment = {**os.environ, "RUSTFLAGS": " ".join([os.environ.get("RUSTFLAGS", ""), *flags]).strip()}
    return subprocess.run([sys.executable, "-m", "maturin", "build", *arguments], cwd=ROOT, env=environment).returncode


def counting(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Arguments and flags for an engine that counts. zig does not link that: the system's linker does."""
    flags = [f"-Cprofile-generate={WORK / 'counts'}", *(["-Clinker=cc"] if "--zig" in arguments else [])]
    more = ["--auditwheel", "skip", "--target-dir", str(ROOT / "target" / "profiled"), "--out", str(WORK)]
    return [*arguments, *more], flags


def profile(arguments: Sequence[str]) -> str:
    """Writes the profile, and says why if it can't."""
    if "quick" in arguments:
        return "the profile quick is for a quick build"
    tool, why_not = profdata()
    if not tool:
        return why_not
    shutil.rmtree(WORK, ignore_errors=True)
    if maturin(*counting(arguments)) != 0:
        return "an engine that counts can't be built"
    with zipfile.ZipFile(next(WORK.glob("*.whl"))) as wheel:
        file = wheel.extract(next(name for name in wheel.namelist() if name.endswith((".so", ".pyd"))), WORK)
    if subprocess.run([sys.executable, __file__, "--train", file], check=False).returncode != 0:
        return "the engine does not run on this machine"
    merged = subprocess.run([tool, "merge", "--output", PROFILE, WORK / "counts"], check=False)
    return "" if merged.returncode == 0 else f"{tool} failed"


def main(arguments: Sequence[str]) -> int:
    """Builds the wheel, and says in which way."""
    if arguments[:1] == ["--train"]:
        train(Path(arguments[1]))
        return 0
    why_not = profile(arguments)
    print(f"wheel: without a profile: {why_not}" if why_not else "wheel: with a profile of its runs", flush=True)
    return maturin([*arguments, "--out", str(ROOT / "dist")], [] if why_not else [f"-Cprofile-use={PROFILE}"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
