"""Builds the extension module into the virtual environment that runs this, and says how far it is.

On a terminal cargo shows its own progress. Elsewhere, as in a log, a line is printed for each tenth.

    .venv/bin/python scripts/build.py [PROFILE]        the profile of Cargo.toml (default: release)
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
LAST = "; the last, which is optimized as a whole, takes longest"
PROGRESS = re.compile(r"Building \[.*?\] (\d+)/(\d+)")


def tenths(lines: Iterable[str]) -> Iterator[str]:
    """A sentence for each tenth of the crates that cargo's progress bar reports as compiled."""
    said = -1
    for line in lines:
        found = PROGRESS.search(line)
        if found is None:
            continue
        done, total = int(found[1]), int(found[2])
        tenth, last = 10 * done // total, done == total - 1
        if tenth > said or last:
            said = 10 if last else tenth
            yield f"compiled {done} of {total} crates{LAST if last else ''}"


def printed(stream: Iterable[bytes], kept: list[str]) -> Iterator[str]:
    """The lines of a stream that ends a line with a return or a new line. They are kept too."""
    rest = ""
    for part in stream:
        *lines, rest = re.split(r"[\r\n]", rest + part.decode(errors="replace"))
        for line in lines:
            kept.append(line)
            yield line


def main(profile: str) -> int:
    """Builds, and returns the exit code of maturin. What it printed is shown if it fails."""
    programs = Path(sys.executable).parent
    command = [programs / "maturin", "develop", "--uv", "--profile", profile]
    environment = {**os.environ, "VIRTUAL_ENV": str(programs.parent), "PATH": f"{programs}:{os.environ['PATH']}"}
    if sys.stderr.isatty():
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    environment |= {"CARGO_TERM_PROGRESS_WHEN": "always", "CARGO_TERM_PROGRESS_WIDTH": "120"}
    kept: list[str] = []
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as running:
        assert running.stdout is not None
        for sentence in tenths(printed(iter(lambda: running.stdout.read1(4096), b""), kept)):  # type: ignore[attr-defined]
            print(f"setup: {sentence}", flush=True)
    if running.returncode != 0:
        print("\n".join(line for line in kept if not PROGRESS.search(line)), file=sys.stderr)
    return running.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "release"))
