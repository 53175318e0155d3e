"""Installs the wheel in dist/ in an empty environment, and runs README's first scenario there in an empty folder.

python scripts/try_wheel.py        needs `make wheel`; the environment is build/try
"""

import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
LARGEST = 8_000_000
"""The maximum size of the wheel in bytes."""
FIRST = re.compile(r"^\$ (sojourn run examples/dumbbell\.toml)\n(.*?)^(?:```|\$ )", re.MULTILINE | re.DOTALL)
"""The first scenario in README.md and what it prints."""


def first_scenario(readme: str) -> tuple[list[str], list[str]]:
    """The command, in words, and the lines that it prints."""
    found = FIRST.search(readme)
    assert found, "README.md shows no run of examples/dumbbell.toml"
    return found[1].split(), found[2].rstrip().splitlines()


def main() -> int:
    """Tries the wheel; 1 where there is not exactly one, or where it prints something else than README.md."""
    wheels = sorted((ROOT / "dist").glob("sojourn-*.whl"))
    if len(wheels) != 1:
        print(f"dist: expected one wheel, got {len(wheels)}: make wheel", file=sys.stderr)
        return 1
    if (size := wheels[0].stat().st_size) > LARGEST:
        print(f"{wheels[0].name}: expected at most {LARGEST:,} bytes, got {size:,}", file=sys.stderr)
        return 1
    folder = ROOT / "build" / "try"
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    empty = folder / "empty"
    empty.mkdir()
    programs = folder / ("Scripts" if sys.platform == "win32" else "bin")
    subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", wheels[0]], check=True)
    (program, *arguments), expected = first_scenario((ROOT / "README.md").read_text(encoding="utf-8"))
    done = subprocess.run(
        [programs / program, *arguments],
        cwd=empty,
        env={"COLUMNS": "120", "PATH": str(programs)},
        capture_output=True,
        text=True,
        check=False,
    )
    printed = [line.rstrip() for line in done.stdout.splitlines()]
    if printed != expected:
        print(f"{wheels[0].name}: expected the output in README.md, got:", *printed, sep="\n", file=sys.stderr)
        return 1
    print(f"{wheels[0].name} ({size:,} bytes) runs README's first scenario in an empty environment and folder")
    return 0


if __name__ == "__main__":
    sys.exit(main())
