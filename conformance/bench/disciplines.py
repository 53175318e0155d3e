"""Counts the instructions for a packet of each discipline, for `sojourn evaluate rfc7928`.

`python conformance/bench/disciplines.py` needs valgrind and writes `studies/rfc7928/instructions.csv`. The count is
that of a packet that arrives at a queue without a network (`crates/aqm/examples/qdisc.rs`), with updates and departure.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from conformance.bench.bench import QDISC, counted  # noqa: E402  a script's own folder is in the path
from sojourn import _sojourn  # noqa: E402
from sojourn.experiments.own_queues import NOT_HERE  # noqa: E402

TABLE = ROOT / "studies" / "rfc7928" / "instructions.csv"


def instructions(name: str) -> float:
    """Instructions for a packet under a discipline with its defaults."""
    few, many = (counted([str(QDISC), name, str(n)], "packets") for n in (20_000, 60_000))
    return (many[0] - few[0]) / (many[1] - few[1])


def main() -> None:
    """Builds the program and writes the table."""
    build = ["cargo", "build", "--release", "--quiet", "-p", "sojourn-aqm", "--example", "qdisc"]
    subprocess.run(build, cwd=ROOT, check=True)
    names = [each["name"] for each in json.loads(_sojourn.registry())["aqm"] if each["name"] not in NOT_HERE]
    rows = [f"{name},{instructions(name):.1f}" for name in names]
    TABLE.write_text("\n".join(["name,value", *rows]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
