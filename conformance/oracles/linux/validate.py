"""Compares the laboratory with a Linux kernel, in three blocks.

    python -m conformance.oracles.linux.validate            # runs the kernel if it is built, else uses stored runs
    python -m conformance.oracles.linux.validate red --seeds 10
    python -m conformance.oracles.linux.validate --linux stored
    python -m conformance.oracles.linux.validate --store    # runs all cases, or the named ones, and stores the results
    python -m conformance.oracles.linux.validate --draw 10 --seed 7    # other cases, drawn at random; stores nothing

Block `tcp`: our TCP against Linux's over the same queue of ours. Block `queue`: our queue against Linux's own queue
discipline, both under Linux's TCP. Block `both`: all of ours against all of Linux's. `sojourn validate linux` is the
same command. Exit code 1 for a miss that `explained.toml` does not cover or an entry there without a miss, 2 if the
kernel can't be run.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn.core.errors import UserError
from sojourn.core.record import Record
from sojourn.core.scenario import Scenario
from sojourn.linux.kernel import Kernel, find_kernel
from sojourn.runs.runner import run_many

from .. import compare
from . import RESULTS, settings
from .gaps import SCENARIO

HERE = Path(__file__).parent
NAME, EXPLAINED = "validate", HERE / "explained.toml"
SEEDS, MANY_SEEDS = 5, 30
"""The number of seeds of a case.

It is large if the few random drops of five seeds differ by more than a bound.
"""

Runs = dict[str, list[dict[str, float]]]
"""The numbers of each seed, for each way to run a case."""

OURS, MIXED, LINUX = "simulator, our queue", "linux, our queue", "linux, its queue"
"""The three ways to run a case."""


@dataclass(frozen=True)
class Block:
    """Two compared ways, and the compared part."""

    name: str
    title: str
    ours: str
    reference: str
    judged: tuple[compare.Metric, ...]


# One packet in fifty thousand is less than one in two runs.
_TCP = (
    compare.Metric("goodput_bps", 0.01),
    compare.Metric("rtt", 0.03),
    compare.Metric("signal_rate", 0.10, floor=2e-5),
    compare.Metric("jain", 0.02, relative=False),
)
_QUEUE = (
    compare.Metric("signal_rate", 0.05, floor=2e-5),
    compare.Metric("queue_mean", 0.05),
    compare.Metric("share", 0.02, relative=False),
)

BLOCKS = (
    Block("tcp", "our TCP against Linux's, over our queues", OURS, MIXED, _TCP),
    Block("queue", "our queues against Linux's, under Linux's TCP", MIXED, LINUX, _QUEUE),
    Block("both", "our TCP and queues against Linux's", OURS, LINUX, _TCP),
)


@dataclass(frozen=True)
class Queue:
    """A queue of ours and the same in Linux.

    Both get the same parameters, since the defaults differ.
    """

    ours: dict[str, Any]
    linux: str
    ecn: bool = False
    many: tuple[int, ...] = ()
    """The numbers of flows with `MANY_SEEDS`."""


_RED = {"aqm": "red", "limit": "1000 packets", "min": 15, "max": 45, "burst": 25, "max_p": 0.1, "avpkt": "1500 B"}
_PIE = "limit 1000 target 15ms tupdate 15ms alpha 2 beta 20"
# red_calc_qavg_no_idle_time in include/net/red.h; for RED it is a byte.
_ROUNDED = {"rounded_average": True}
# With another hash two of 20 flows share a queue.
_HASH = {"perturbation": 16}
# A timer of the kernel expires up to a tick of 1 ms late and never early: calc_index in kernel/time/timer.c.
_OUR_PIE = {"aqm": "pie", "limit": "1000 packets", "rule": "linux", "tupdate": "16 ms"}
_CODEL = {"aqm": "codel", "limit": "1000 packets", "rule": "linux"}
QUEUES = {
    "droptail": Queue({"aqm": "droptail", "limit": "42 packets"}, "pfifo limit 42"),
    "red": Queue(
        _RED | {"gentle": False, "wait": False, "queue_in_bytes": True},
        "red limit 1500000 min 22500 max 67500 avpkt 1500 burst 25 probability 0.1 bandwidth 10mbit",
        many=(5,),
    ),
    "choke": Queue(
        {"aqm": "choke", "limit": "1000 packets", "min": 15, "max": 45, "burst": 25, "max_p": 0.1} | _ROUNDED,
        "choke limit 1000 min 15 max 45 avpkt 1500 burst 25 probability 0.1 bandwidth 10mbit",
    ),
    "codel": Queue(_CODEL, "codel limit 1000 target 5ms interval 100ms noecn"),
    "fq-codel": Queue(
        {"aqm": "fq-codel", "limit": "1000 packets", "rule": "linux", "backlog": "all"} | _HASH,
        "fq_codel limit 1000 flows 1024 target 5ms interval 100ms quantum 1514 noecn",
    ),
    "pie": Queue(_OUR_PIE, f"pie {_PIE} noecn", many=(1,)),
    "fq-pie": Queue(
        {"aqm": "fq-pie", "limit": "1000 packets", "tupdate": "16 ms"} | _HASH,
        f"fq_pie flows 1024 {_PIE} quantum 1514 noecn",
        many=(1,),
    ),
    "cobalt": Queue({"aqm": "cobalt", "limit": "1000 packets"}, "cake besteffort flowblind rtt 100ms"),
    "codel, ecn": Queue(
        _CODEL | {"ecn": True},
        "codel limit 1000 target 5ms interval 100ms ecn",
        ecn=True,
    ),
    "pie, ecn": Queue(_OUR_PIE | {"ecn": True}, f"pie {_PIE} ecn", ecn=True, many=(1,)),
}
FLOWS = (1, 5, 20)
ELSEWHERE = {
    "codel-short": Queue(
        _CODEL | {"target": "10 ms", "interval": "60 ms"},
        "codel limit 1000 target 10ms interval 60ms noecn",
        many=(3,),
    ),
}
"""A link of 20 Mbit/s and 90 ms with three flows.

With large windows the start of CoDel's drops shows more.
"""


@dataclass(frozen=True)
class Case:
    """A scenario in its three ways, and its number of seeds."""

    ways: dict[str, Scenario]
    seeds: int


def cases() -> dict[str, Case]:
    """The cases by name."""
    found = {}
    for name, queue in QUEUES.items():
        for cc in ("reno", "cubic"):
            for flows in FLOWS:
                base = Scenario(SCENARIO, "validate").set("flows.f.count", flows)
                base.set("flows.f.tcp.control", {"cc": cc}).set("flows.f.tcp.ecn", queue.ecn)
                found[f"{name}-{cc}-{flows}".replace(", ", "-")] = _case(base, queue, flows)
    for name, queue in ELSEWHERE.items():
        for cc in ("reno", "cubic"):
            base = Scenario(SCENARIO, "validate").set("flows.f.count", 3).set("flows.f.tcp.control", {"cc": cc})
            base.set("links.bottleneck.rate", "20 Mbit/s").set("links.bottleneck.delay", "45 ms")
            found[f"{name}-{cc}-3"] = _case(base, queue, 3)
    return found | {name: _case_of(setting) for name, setting in settings.SETTINGS.items()}


def drawn(count: int, seed: int) -> dict[str, Case]:
    """Cases by name, drawn at random.

    They are the queues over 10 to 50 Mbit/s, 20 to 100 ms and up to 20 flows.
    """
    draw = random.Random(seed)
    found = {}
    for number in range(count):
        kind, cc = draw.choice(list(QUEUES)), ("reno", "cubic")[number % 2]
        rate, rtt = draw.choice([10, 15, 20, 30, 40, 50]), draw.choice([20, 30, 40, 60, 80, 100])
        flows, buffer = draw.choice([1, 2, 3, 5, 8, 12, 20]), draw.choice([0.5, 1, 2, 4])
        queue, limit = QUEUES[kind], max(4, round(buffer * rate * rtt / 12))
        ours, linux = dict(queue.ours), queue.linux.replace("10mbit", f"{rate}mbit")
        if kind == "droptail":
            kind, ours["limit"], linux = f"droptail-{limit}", f"{limit} packets", f"pfifo limit {limit}"
        base = Scenario(SCENARIO, "validate").set("flows.f.count", flows).set("flows.f.tcp.control", {"cc": cc})
        base.set("flows.f.tcp.ecn", queue.ecn).set("duration", "75 s" if rate <= 20 else "45 s")
        base.set("links.bottleneck.rate", f"{rate} Mbit/s").set("links.bottleneck.delay", f"{rtt / 2} ms")
        few = MANY_SEEDS if queue.many and flows <= max(queue.many) else SEEDS
        found[f"{kind}-{cc}-{flows}-{rate}mbit-{rtt}ms".replace(", ", "-")] = Case(_ways(base, ours, linux), few)
    return found


def _case(base: Scenario, queue: Queue, flows: int) -> Case:
    return Case(_ways(base, queue.ours, queue.linux), MANY_SEEDS if flows in queue.many else SEEDS)


def _case_of(setting: settings.Setting) -> Case:
    return Case(_ways(settings.scenario(setting), setting.ours, setting.linux), SEEDS)


def _ways(base: Scenario, ours: dict[str, Any], linux: str) -> dict[str, Scenario]:
    ways = [(OURS, "simulator", ours), (MIXED, "linux", ours), (LINUX, "linux", {"linux": linux})]
    return {way: base.copy().set("host", host).set("links.bottleneck.queue", dict(table)) for way, host, table in ways}


def numbers(record: Record) -> dict[str, float]:
    """The compared numbers of a run.

    They are `compare.metrics`, the mean RTT in ms, and drops and marks together.
    """
    found = compare.metrics(dict(record), SCENARIO)
    found["signal_rate"] = found["drop_rate"] + found["mark_rate"]
    found["rtt"] = float(record.value("groups.f.rtt_ms.mean") or 0.0)
    if len(record["groups"]) > 1:
        found["share"] = found["goodput_bps"] / max(float(record.value("total.goodput_bps")), 1.0)
    return found


def run_case(ways: dict[str, Scenario], seeds: int, only: str | None = None) -> Runs:
    """Runs a case in all its ways, or in those of one host."""
    chosen = {way: scenario for way, scenario in ways.items() if only is None or way.startswith(only)}
    done = run_many(list(chosen.values()), seeds)
    return {way: [numbers(record) for record in records] for way, records in zip(chosen, done, strict=True)}


def provenance(kernel: Kernel) -> dict[str, str]:
    """The kernel of the stored results."""
    return {
        "version": kernel.version,
        "source": kernel.source,
        "config_sha256": kernel.config_sha256,
        "kernel_sha256": kernel.kernel_sha256,
    }


def store(kernel: Kernel, runs: dict[str, Runs]) -> None:
    """Stores the runs of some cases; the stored runs of the others stay."""
    kept = RESULTS.get(NAME) or {"kernels": [], "runs": {}}
    others = [one | {"cases": [case for case in one["cases"] if case not in runs]} for one in kept["kernels"]]
    text = {
        "command": "python -m conformance.oracles.linux.validate --store",
        "kernels": [one for one in others if one["cases"]] + [provenance(kernel) | {"cases": list(runs)}],
        "runs": {case: (kept["runs"] | runs)[case] for case in cases() if case in kept["runs"] | runs},
    }
    RESULTS.put(NAME, text)


def judge(block: Block, runs: dict[str, Runs]) -> list[compare.Row]:
    """The rows of a block, for each case and measure."""
    explained = compare.explanations(EXPLAINED, [f"{each.name}/{case}" for each in BLOCKS for case in cases()], _ALL)
    found = []
    for case, ways in runs.items():
        if block.reference not in ways or block.ours not in ways:
            continue
        judged = [metric for metric in block.judged if metric.name in ways[block.reference][0]]
        found += compare.rows(f"{block.name}/{case}", ways[block.reference], ways[block.ours], explained, judged)
    return found


_ALL = tuple({metric.name: metric for metric in (*_TCP, *_QUEUE)}.values())
NAMES = {
    "goodput_bps": "goodput",
    "rtt": "RTT",
    "signal_rate": "drops and marks",
    "queue_mean": "mean queue",
    "jain": "Jain's index",
    "share": "the first group's share",
}


def line(block: Block, rows: list[compare.Row]) -> str:
    """One line on a block: median and largest difference of each metric, and the verdicts."""
    parts = []
    for metric in block.judged:
        sizes = [abs(row.difference) for row in rows if row.metric == metric.name]
        if not sizes:
            continue
        middle, worst = statistics.median(sizes), max(sizes)
        shown = f"{100 * middle:.1f} % ({100 * worst:.1f} %)" if metric.relative else f"{middle:.3f} ({worst:.3f})"
        parts.append(f"{NAMES[metric.name]} {shown}")
    return f"{block.title}: {', '.join(parts)}; {compare.summary(rows)}"


def lines(runs: dict[str, Runs]) -> list[str]:
    """The lines of README: one a block."""
    return [f"- {line(block, judge(block, runs))}" for block in BLOCKS]


def stored() -> dict[str, Any]:
    """The stored results: the numbers of every run, and the kernel of each case."""
    found = RESULTS.get(NAME)
    if found is None:
        print(f"{RESULTS.file}: expected stored results, got none: --store makes them", file=sys.stderr)
        raise SystemExit(2)
    return dict(found)


def kernel_to_run(asked: str) -> Kernel | None:
    """The kernel to run; `None` for stored results."""
    if asked == "stored":
        return None
    try:
        kernel = find_kernel()
        if kernel.is_current:
            return kernel
        said = f"{kernel.program}: expected a kernel of the present code: run `sojourn linux build`"
    except UserError as error:
        said = str(error)
    if asked == "live":
        print(said, file=sys.stderr)
        raise SystemExit(2)
    print(f"{said}\nLinux's numbers are those stored in {RESULTS.file.name}", file=sys.stderr)
    return None


def main(argv: list[str] | None = None) -> int:
    """Compares, prints, and stores if required; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m conformance.oracles.linux.validate", description=__doc__)
    parser.add_argument("--linux", choices=["live", "stored"], default="", help="whether the kernel is run")
    parser.add_argument("--store", action="store_true", help="run the cases and store what was found")
    parser.add_argument(
        "--draw", type=int, metavar="CASES", help="run so many other cases, drawn at random, and store nothing"
    )
    parser.add_argument("--seed", type=int, default=1, help="with --draw: what they are drawn by (default: 1)")
    parser.add_argument("--readme", action="store_true", help="print the lines of README from what is stored, and stop")
    known = cases()
    options = compare.read_options(parser, argv, [*known, *QUEUES])
    if options.list:
        print("\n".join(known))
        return 0
    if options.readme:
        print("\n".join(lines(stored()["runs"])))
        return 0
    wanted = (
        drawn(options.draw, options.seed)
        if options.draw
        else {
            name: case
            for name, case in known.items()
            if not options.cases or any(name == asked or name.startswith(f"{asked}-") for asked in options.cases)
        }
    )
    kernel = kernel_to_run("live" if options.store or options.draw else options.linux)
    kept = stored()["runs"] if kernel is None else {}
    runs: dict[str, Runs] = {}
    for name, case in wanted.items():
        seeds = options.seeds or case.seeds
        ours = None if kernel else "simulator"
        runs[name] = kept.get(name, {}) | run_case(case.ways, seeds, ours)
        print(name, file=sys.stderr, flush=True)
    if options.store and kernel and not options.draw:
        store(kernel, runs)
    return report(runs)


def report(runs: dict[str, Runs]) -> int:
    """Prints the tables and the lines of all blocks; returns the exit code."""
    judged = {block: judge(block, runs) for block in BLOCKS}
    for rows in judged.values():
        print(compare.table(rows, "Linux"), end="\n\n")
    for block, rows in judged.items():
        if rows:
            print(line(block, rows))
    return int(any(compare.failed(rows) for rows in judged.values()))


if __name__ == "__main__":
    sys.exit(main())
