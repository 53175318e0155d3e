"""Flags of rustc that compile the timed programs as wheels are compiled: with a profile.

A profile belongs to the program that it was recorded from, so the wheel's profile does not fit here. The recorded
runs differ from the timed ones: 20 s of ten flows over each queue discipline, and of ten flows with each congestion
controller.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from sojourn import _sojourn

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "bench"
sys.path.insert(0, str(ROOT / "scripts"))
import profiled as wheel  # noqa: E402  what builds wheels


def runs() -> list[str]:
    """The arguments of the dumbbells that are recorded."""
    registry = json.loads(_sojourn.registry())
    names = {
        kind: [entry["name"] for entry in registry[kind] if entry["name"] not in wheel.EXTERN] for kind in ("aqm", "cc")
    }
    words = [*names["aqm"], *(f"tcp=linux {name}" for name in names["cc"]), "tcp=linux l4s dualpi2 prague"]
    return [f"10 10 20 100 84 {each}" for each in words]


def flags(build: Callable[[str], None], dumbbell: Path, scenario: Path) -> str:
    """Builds the programs with counters, runs them, and returns the flags for the final build.

    Raises:
        SystemExit: the `llvm-profdata` of rustc's LLVM version is missing.
    """
    tool, why_not = wheel.profdata()
    if tool is None:
        raise SystemExit(f"--profiled: {why_not}")
    shutil.rmtree(WORK, ignore_errors=True)
    build(f"-Cprofile-generate={WORK}")
    for words in runs():
        subprocess.run([dumbbell, *words.split()], check=True, capture_output=True)
    subprocess.run([scenario, ROOT / "examples" / "dumbbell.toml"], check=True, capture_output=True)
    merged = WORK / "merged.profdata"
    subprocess.run([tool, "merge", "--output", merged, WORK], check=True)
    return f"-Cprofile-use={merged}"
