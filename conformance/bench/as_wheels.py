"""The flags with which rustc compiles the timed programs as wheels are compiled: with a profile of their own runs.

A profile belongs to the program that it was made of, so the wheel's can't be used here. The runs are other ones than
those that are timed: 20 s of ten flows over each queue discipline, and of ten flows with each congestion controller.
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
    """The arguments of the dumbbells that are counted."""
    registry = json.loads(_sojourn.registry())
    names = {
        kind: [entry["name"] for entry in registry[kind] if entry["name"] not in wheel.EXTERN] for kind in ("aqm", "cc")
    }
    words = [*names["aqm"], *(f"tcp=linux {name}" for name in names["cc"]), "tcp=linux l4s dualpi2 prague"]
    return [f"10 10 20 100 84 {each}" for each in words]


def flags(build: Callable[[str], None], dumbbell: Path, scenario: Path) -> str:
    """Builds the programs so that they count, runs them, and gives the flags for a build with the counts.

    Raises:
        SystemExit: there is no `llvm-profdata` of the version of LLVM that rustc has.
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
