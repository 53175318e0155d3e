"""Writes qlog files with every kind of event, and checks them with quiche's crate `qlog`.

    python -m conformance.oracles.qlog.validate

The crate reads them with its types. Exit code 1 for a file that it does not read. Nothing is downloaded: if cargo
does not have the crate, a line says how to get it, and the exit code is 0.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
BUILD = ["cargo", "build", "--quiet", "--offline", "--locked", "--manifest-path", str(HERE / "Cargo.toml")]
JUDGE = ROOT / "target" / "qlog" / "debug" / "sojourn-qlog-judge"
# Losses found by ACKs and by timeouts, pacing, RACK with its probes, and marks.
RUNS: dict[str, dict[str, Any]] = {
    "reno": {"duration": "20 s"},
    "linux": {"duration": "12 s", "flows.ftp.tcp": {"profile": "linux"}},
    "bbr3": {"duration": "12 s", "flows.ftp.tcp": {"profile": "linux", "control": {"cc": "bbr3"}}},
    "ecn": {"duration": "12 s", "flows.ftp.tcp.ecn": True, "links.bottleneck.queue": {"aqm": "codel", "ecn": True}},
}


def write(folder: Path) -> list[Path]:
    """The qlog files of all runs, in this folder."""
    sojourn = importlib.import_module("sojourn")
    write_qlog = importlib.import_module("sojourn.exports.qlog").write_qlog
    dumbbell = sojourn.load(ROOT / "examples" / "dumbbell.toml").copy().set("trace", {})
    return [write_qlog(dumbbell.copy().set_all(changes), folder / f"{name}.qlog") for name, changes in RUNS.items()]


def main() -> int:
    """The command line; returns the exit code."""
    build = subprocess.run([*BUILD, "--target-dir", str(ROOT / "target" / "qlog")], capture_output=True, text=True)
    if build.returncode != 0:
        print(
            "qlog: not judged: expected the crate qlog, which "
            f"`cargo fetch --manifest-path {HERE.relative_to(ROOT) / 'Cargo.toml'}` gets; cargo says: "
            f"{build.stderr.strip().splitlines()[0] if build.stderr.strip() else 'nothing'}"
        )
        return 0
    with tempfile.TemporaryDirectory() as folder:
        files = write(Path(folder))
        said = subprocess.run([str(JUDGE), *(file.name for file in files)], cwd=folder, capture_output=True, text=True)
    print(said.stdout, end="")
    return said.returncode


if __name__ == "__main__":
    sys.exit(main())
