"""The table of differences between the simulator's `linux` profile and a Linux kernel.

With the kernel of `sojourn linux build`, `python -m conformance.oracles.linux.gaps` runs every case on both and
stores the results, with their provenance, in `stored.json.xz`. `--show` prints the stored tables, which `page.py`
writes into `docs/linux-comparison.md`. The first block is a grid. The cases of the others are drawn at random, so
that nothing is fitted to them: flows that always send, the same with pacing, and flows that pause. `compare` decides
the verdicts: a difference outside its bound has a star, or a question mark if the noise is wider than the bound.
`--draw 20 --seed 7` draws other cases, prints their table, and stores nothing; its exit code is 1 if any figure is
outside.
"""

from __future__ import annotations

import argparse
import functools
import random
import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sojourn.core.record import Record
from sojourn.core.scenario import Scenario
from sojourn.linux.kernel import find_kernel
from sojourn.runs.runner import run_many

from .. import compare
from . import RESULTS

NAME = "gaps"
"""Its name in `RESULTS`."""
COMMAND = "python -m conformance.oracles.linux.gaps"
SEEDS, MANY_SEEDS = 5, 20
MANY = {"choker", "cdg, 1 flow"}
"""Cases with many seeds, whose runs differ by more than a bound.

CHOKeR draws at random and its flows time out; CDG draws at random.
"""
DRAWN, DRAW_SEED = 24, 20261122
PACED, PACED_SEED = 12, 20261126
PAUSING, PAUSING_SEED = 12, 20261127
"""The number of stored cases that are drawn at random, and their seed."""
SIMULATOR, LINUX = "simulator", "linux"

SCENARIO = {
    "duration": "75 s",
    "warmup": "15 s",
    "links": [{"name": "bottleneck", "from": "a", "to": "b", "rate": "10 Mbit/s", "delay": "25 ms", "duplex": True}],
    "flows": [
        {"name": "f", "from": "a", "to": "b", "start": {"uniform": ["0 s", "1 s"]}, "tcp": {"profile": "linux"}},
    ],
}

QUEUES: dict[str, dict[str, Any]] = {
    "droptail, 1 BDP": {"aqm": "droptail", "limit": "42 packets"},
    "droptail, 4 BDP": {"aqm": "droptail", "limit": "168 packets"},
    "codel": {"aqm": "codel", "limit": "1000 packets"},
    "pie": {"aqm": "pie", "limit": "1000 packets"},
    "red": {"aqm": "red", "limit": "1000 packets", "min": 15.0, "max": 45.0},
    "fq-codel": {"aqm": "fq-codel", "limit": "1000 packets"},
}


MEASURES = (
    compare.Metric("goodput", 0.01),
    compare.Metric("RTT", 0.03),
    compare.Metric("loss ratio", 0.10),
    compare.Metric("Jain's index", 0.02, relative=False),
)
PATHS = {
    "goodput": "total.goodput_bps",
    "RTT": "groups.f.rtt_ms.mean",
    "loss ratio": "links.bottleneck.loss_ratio",
    "Jain's index": "total.jain",
}
"""The path of each measure in the record."""


def grid() -> Iterator[tuple[str, Scenario]]:
    """The cases of the first block by name."""
    for cc in ("reno", "cubic"):
        for queue, options in QUEUES.items():
            for count in (1, 5, 20):
                scenario = Scenario(SCENARIO, "gaps")
                scenario.set("flows.f.count", count).set("flows.f.tcp.control", {"cc": cc})
                scenario.set("links.bottleneck.queue", dict(options))
                yield f"{cc}, {queue}, {count} flow{'s' if count > 1 else ''}", scenario


def drawn(count: int = DRAWN, seed: int = DRAW_SEED) -> Iterator[tuple[str, Scenario]]:
    """Cases by name: rates of 10 to 50 Mbit/s, round trips of 20 to 100 ms, up to 20 flows."""
    draw = random.Random(seed)
    for number in range(count):
        cc = ("reno", "cubic")[number % 2]
        rate = draw.choice([10, 12, 15, 20, 25, 30, 40, 50])
        rtt = draw.choice([20, 30, 40, 50, 60, 80, 100])
        flows = draw.choice([1, 2, 3, 5, 8, 12, 16, 20])
        packets = rate * 1e6 * rtt / 1e3 / 8 / 1500
        aqm = ("droptail", "droptail", "codel", "pie", "red", "fq-codel")[number // 2 % 6]
        buffer = draw.choice([0.5, 0.75, 1, 1.5, 2, 3, 4])
        queue: dict[str, Any] = {"aqm": aqm, "limit": "1000 packets"}
        if aqm == "droptail":
            queue["limit"] = f"{max(4, round(packets * buffer))} packets"
        if aqm == "red":
            least = max(5.0, round(packets / 3))
            queue |= {"min": least, "max": 3 * least}
        scenario = Scenario(SCENARIO, "gaps")
        scenario.set("flows.f.count", flows).set("flows.f.tcp.control", {"cc": cc})
        scenario.set("links.bottleneck.queue", queue)
        scenario.set("links.bottleneck.rate", f"{rate} Mbit/s").set("links.bottleneck.delay", f"{rtt / 2} ms")
        if rate > 20:
            scenario.set("duration", "45 s")
        size = f" {buffer} BDP" if aqm == "droptail" else ""
        yield f"{cc}, {rate} Mbit/s, {rtt} ms, {aqm}{size}, {flows} flows", scenario


def paced() -> Iterator[tuple[str, Scenario]]:
    """Other drawn cases by name, whose senders pace."""
    for name, scenario in drawn(PACED, PACED_SEED):
        yield f"paced {name}", scenario.set("flows.f.tcp.pacing", True)


def pausing() -> Iterator[tuple[str, Scenario]]:
    """Other drawn cases by name, whose applications send at a rate or pause.

    Their total load is between 0.5 and 1.5 times the link's rate.
    """
    draw = random.Random(PAUSING_SEED)
    for name, scenario in drawn(PAUSING, PAUSING_SEED):
        flows = scenario["flows"][0]["count"]
        rate = float(scenario["links"][0]["rate"].split()[0])
        on, off = draw.choice([0.3, 1, 3]), draw.choice([0.3, 1, 3])
        peak = round(draw.choice([0.5, 0.75, 1, 1.5]) * rate / flows * (on + off) / on, 1)
        traffic = {"kind": "onoff", "transport": "tcp", "on": f"{on} s", "off": f"{off} s", "rate": f"{peak} Mbit/s"}
        yield f"{name} at {peak} Mbit/s, {on} s on, {off} s off", scenario.set("flows.f.traffic", traffic)


BLOCKS = (grid, drawn, paced, pausing)
TITLES = (
    "Bulk flows, 10 Mbit/s, 50 ms",
    "Bulk flows, random links",
    "Paced bulk flows, random links",
    "Applications that send at a rate and pause, random links; together they offer 0.5 to 1.5 times the link's rate",
)
"""The titles of the tables, one for each block."""


def cases() -> Iterator[tuple[str, Scenario]]:
    """All cases by name."""
    for block in BLOCKS:
        yield from block()


def means(records: list[Record]) -> dict[str, list[float]]:
    """The mean over the seeds of each measure, and half the width of its 95 % interval."""
    found = {name: compare.estimate([record.value(path) for record in records]) for name, path in PATHS.items()}
    return {name: [each.mean, each.half] for name, each in found.items()}


def on_both(scenario: Scenario) -> list[Scenario]:
    """The same scenario on each host."""
    return [scenario.copy().set("host", host) for host in (SIMULATOR, LINUX)]


def measure(pairs: Iterable[tuple[str, list[Scenario]]], command: str) -> dict[str, Any]:
    """Runs every case on both hosts; a case is a scenario for each host."""
    kernel = find_kernel()
    found: dict[str, Any] = {}
    for name, scenarios in pairs:
        pair = run_many(scenarios, MANY_SEEDS if name in MANY else SEEDS)
        found[name] = {host: means(records) for host, records in zip((SIMULATOR, LINUX), pair, strict=True)}
        print(name, flush=True)
    about = {
        "command": command,
        "seeds": SEEDS,
        "version": kernel.version,
        "source": kernel.source,
        "config_sha256": kernel.config_sha256,
        "kernel_sha256": kernel.kernel_sha256,
    }
    return {"about": about, "cases": found}


def judge(name: str, case: dict[str, dict[str, list[float]]]) -> list[compare.Row]:
    """The rows of a case, in the order of the measures."""
    here, there = ({key: compare.Estimate(*pair) for key, pair in case[host].items()} for host in (SIMULATOR, LINUX))
    return [compare.judge(name, each, there[each.name], here[each.name], explained()) for each in MEASURES]


@functools.cache
def explained() -> dict[tuple[str, str], compare.Explanation]:
    """The known differences of the cases here."""
    path = Path(__file__).with_name("gaps_explained.toml")
    return compare.explanations(path, [name for name, _ in cases()], MEASURES)


def with_verdict(verdict: str, stored: dict[str, Any]) -> list[str]:
    """The cases and measures with this verdict."""
    rows = [row for name, case in stored["cases"].items() for row in judge(name, case)]
    return [f"{row.case}: {row.metric}" for row in rows if row.verdict == verdict]


SIGNS = {"inside": "", "undecided": "?", "explained": "*", "MISS": "*"}
"""The signs behind a difference in the tables."""


def text(measure: compare.Metric, difference: float) -> str:
    """A difference as the tables show it."""
    return f"{100 * difference:+.1f} %" if measure.relative else f"{difference:+.3f}"


def spread(stored: dict[str, Any], names: list[str]) -> list[tuple[str, list[str]]]:
    """The median and the largest difference of each measure in these cases, with labels."""
    rows = [judge(name, stored["cases"][name]) for name in names]
    sizes = [[abs(row.difference) for row in column] for column in zip(*rows, strict=True)]
    return [
        (label, [text(each, of(found)).lstrip("+") for each, found in zip(MEASURES, sizes, strict=True)])
        for label, of in (("median size", statistics.median), ("largest", max))
    ]


def table(stored: dict[str, Any], names: list[str]) -> list[str]:
    """The lines of a table with these cases."""
    lines = [
        "| case | "
        + " | ".join(f"{each.name}, Linux" for each in MEASURES[:3])
        + " | "
        + " | ".join(f"{each.name}, difference" for each in MEASURES)
        + " |",
        "|---" * (4 + len(MEASURES)) + "|",
    ]
    for name in names:
        case = stored["cases"][name]
        linux = {each.name: case[LINUX][each.name][0] for each in MEASURES}
        values = [
            f"{linux['goodput'] / 1e6:.3f} Mbit/s",
            f"{linux['RTT']:.1f} ms",
            f"{100 * linux['loss ratio']:.3f} %",
        ]
        rows = zip(MEASURES, judge(name, case), strict=True)
        differences = [text(each, row.difference) + SIGNS[row.verdict] for each, row in rows]
        lines.append(f"| {name} | {' | '.join(values + differences)} |")
    return lines + [f"| {label} | | | | {' | '.join(shown)} |" for label, shown in spread(stored, names)]


def tables(stored: dict[str, Any]) -> list[str]:
    """The lines of all tables, each under its title."""
    blocks = [(title, [name for name, _ in block()]) for title, block in zip(TITLES, BLOCKS, strict=True)]
    return [line for title, names in blocks for line in ("", f"{title}:", "", *table(stored, names))][1:]


def read_options(command: str, about: str | None, names: Sequence[str], argv: list[str] | None) -> argparse.Namespace:
    """Reads the command line of a command that measures these cases or shows stored results."""
    parser = argparse.ArgumentParser(prog=command, description=about)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"what to measure (default: all): {'; '.join(names)}")
    parser.add_argument("--show", action="store_true", help="print what is stored")
    options = parser.parse_args(argv)
    unknown = [name for name in options.names if name not in names]
    if unknown:
        parser.error(f"{unknown[0]!r}: expected one of {'; '.join(names)}")
    return options


def main(argv: list[str] | None = None) -> int:
    """Measures, stores and prints; with `--show` only prints the stored tables.

    Returns the exit code.
    """
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--show", action="store_true", help="print the tables of what is stored")
    parser.add_argument("--draw", type=int, metavar="CASES", help="draw so many other cases and print their table")
    parser.add_argument("--seed", type=int, default=1, help="with --draw: what they are drawn by (default: 1)")
    options = parser.parse_args(argv)
    if options.draw:
        found = measure(((name, on_both(scenario)) for name, scenario in drawn(options.draw, options.seed)), COMMAND)
        outside = with_verdict("MISS", found)
        print("\n".join([*table(found, list(found["cases"])), "", *(f"outside: {each}" for each in outside)]))
        return int(bool(outside))
    if not options.show:
        found = measure(((name, on_both(scenario)) for name, scenario in cases()), COMMAND)
        RESULTS.put(NAME, found)
    print("\n".join(tables(RESULTS.get(NAME))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
