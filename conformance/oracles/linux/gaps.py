"""The table of differences between the simulator's `linux` profile and a Linux kernel.

With the kernel of `sojourn linux build`, `python -m conformance.oracles.linux.gaps` runs every case on both and stores
what it found, with its provenance, in `stored.json`. `--show` prints the table of what is stored, which `docs/linux.md`
has too.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn.linux.kernel import find_kernel
from sojourn.record import Record
from sojourn.running import run_many
from sojourn.scenario import Scenario

STORED = Path(__file__).parent / "stored.json"
SEEDS = 5
SIMULATOR, LINUX = "simulator", "linux"

SCENARIO = {
    "duration": "75 s",
    "warmup": "15 s",
    "links": [{"name": "bottleneck", "from": "a", "to": "b", "rate": "10 Mbit/s", "delay": "25 ms", "duplex": True}],
    "flows": [
        {"name": "f", "from": "a", "to": "b", "start": {"uniform": ["0 s", "1 s"]}, "tcp": {"profile": "linux"}},
    ],
}  # fmt: skip

QUEUES: dict[str, dict[str, Any]] = {
    "droptail, 1 BDP": {"aqm": "droptail", "limit": "42 packets"},
    "droptail, 4 BDP": {"aqm": "droptail", "limit": "168 packets"},
    "codel": {"aqm": "codel", "limit": "1000 packets"},
    "pie": {"aqm": "pie", "limit": "1000 packets"},
    "red": {"aqm": "red", "limit": "1000 packets", "min": 15.0, "max": 45.0},
    "fq-codel": {"aqm": "fq-codel", "limit": "1000 packets"},
}


@dataclass(frozen=True)
class Measure:
    """What is compared, and how much it may differ."""

    name: str
    path: str
    bound: float
    relative: bool = True

    def gap(self, here: float, there: float) -> float:
        """The difference of the simulator's value from Linux's."""
        if not self.relative:
            return here - there
        return (here - there) / there if there else 0.0

    def text(self, gap: float) -> str:
        """A difference as the table shows it; a star marks one outside the bound."""
        shown = f"{100 * gap:+.1f} %" if self.relative else f"{gap:+.3f}"
        return shown + ("*" if abs(gap) > self.bound else "")


MEASURES = [
    Measure("goodput", "total.goodput_bps", 0.01),
    Measure("RTT", "groups.f.rtt_ms.mean", 0.03),
    Measure("loss ratio", "links.bottleneck.loss_ratio", 0.10),
    Measure("Jain's index", "total.jain", 0.02, relative=False),
]


def cases() -> Iterator[tuple[str, Scenario]]:
    """The cases by name."""
    for cc in ("reno", "cubic"):
        for queue, options in QUEUES.items():
            for count in (1, 5, 20):
                scenario = Scenario(SCENARIO, "gaps")
                scenario.set("flows.f.count", count).set("flows.f.tcp.control", {"cc": cc})
                scenario.set("links.bottleneck.queue", dict(options))
                yield f"{cc}, {queue}, {count} flow{'s' if count > 1 else ''}", scenario


def means(records: list[Record]) -> dict[str, float]:
    """The mean over the seeds of each measure."""
    return {each.name: statistics.fmean(record.value(each.path) for record in records) for each in MEASURES}


def measure() -> dict[str, Any]:
    """Runs every case on both hosts."""
    kernel = find_kernel()
    found: dict[str, Any] = {}
    for name, scenario in cases():
        pair = run_many([scenario.copy().set("host", host) for host in (SIMULATOR, LINUX)], SEEDS)
        found[name] = {host: means(records) for host, records in zip((SIMULATOR, LINUX), pair, strict=True)}
        print(name, flush=True)
    about = {
        "command": "python -m conformance.oracles.linux.gaps", "seeds": SEEDS, "version": kernel.version,
        "source": kernel.source, "config_sha256": kernel.config_sha256, "kernel_sha256": kernel.kernel_sha256,
    }  # fmt: skip
    return {"about": about, "cases": found}


def gaps(stored: dict[str, Any]) -> dict[str, list[float]]:
    """The differences of each case, in the order of the measures."""
    return {
        name: [each.gap(both[SIMULATOR][each.name], both[LINUX][each.name]) for each in MEASURES]
        for name, both in stored["cases"].items()
    }


def table(stored: dict[str, Any]) -> list[str]:
    """The lines of the table in `docs/linux.md`."""
    lines = [
        "| case | " + " | ".join(f"{each.name}, Linux" for each in MEASURES[:3]) + " | "
        + " | ".join(f"{each.name}, difference" for each in MEASURES) + " |",
        "|---" * (4 + len(MEASURES)) + "|",
    ]  # fmt: skip
    differences = gaps(stored)
    for name, each in differences.items():
        linux = stored["cases"][name][LINUX]
        values = [
            f"{linux['goodput'] / 1e6:.3f} Mbit/s", f"{linux['RTT']:.1f} ms", f"{100 * linux['loss ratio']:.3f} %",
        ]  # fmt: skip
        shown = [one.text(gap) for one, gap in zip(MEASURES, each, strict=True)]
        lines.append(f"| {name} | {' | '.join(values + shown)} |")
    sizes = [[abs(each[at]) for each in differences.values()] for at in range(len(MEASURES))]
    for label, of in (("median size", statistics.median), ("largest", max)):
        shown = [one.text(of(size)).lstrip("+") for one, size in zip(MEASURES, sizes, strict=True)]
        lines.append(f"| {label} | | | | {' | '.join(shown)} |")
    return lines


def main() -> None:
    """Measures, stores and prints; with `--show` only prints what is stored."""
    if sys.argv[1:] != ["--show"]:
        STORED.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")
    print("\n".join(table(json.loads(STORED.read_text(encoding="utf-8")))))


if __name__ == "__main__":
    main()
