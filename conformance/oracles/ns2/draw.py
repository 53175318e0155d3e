"""Draws random scenarios, runs them in ns-2 and in Sojourn, and compares them.

From the root of the repository:

    python -m conformance.oracles.ns2.draw 30                # thirty scenarios, eight seeds each
    python -m conformance.oracles.ns2.draw 30 --draw 7       # thirty others
    python -m conformance.oracles.ns2.draw 1 --draw 7 --print  # the first of them as JSON, not run

Exit code 1 for a miss, 2 if ns-2 is not installed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import sys

from .. import compare
from . import measure
from .plan import Table, freeze

LAWS = ("droptail", "red", "adaptive red", "pi", "rem", "led")


def scenario(draw: random.Random, law: str, name: str) -> Table:
    """A dumbbell of bulk flows under a law of `LAWS`, everything else drawn."""
    rate, delay = draw.choice([1.5, 3, 5, 8, 12, 20, 30]), draw.choice([2, 5, 12, 25, 60])
    mss = draw.choice([500, 1000, 1460])
    product = rate * 1e6 * (2 * delay + 20) / 1e3 / 8 / mss  # packets, with a mean round trip over the access links
    queue = _queue(draw, law, max(8, int(draw.choice([0.5, 1, 2, 4]) * product)))
    link = {"name": "bottleneck", "from": "R0", "to": "R1", "rate": f"{rate} Mbit/s", "delay": f"{delay} ms"}
    tcp: Table = {"profile": "ns2", "recovery": draw.choice(["reno", "newreno", "sack"]), "mss": f"{mss} B"}
    tcp |= {"min_rto": "200 ms", "window": f"{draw.choice([20, 60, 200, 500])} packets"}
    if law != "droptail" and draw.random() < 0.4:
        tcp["ecn"] = queue["ecn"] = True
        # ns-2's threshold of marks, and its treatment of packets above it.
        queue |= {"at_departure": True, "spare_unmarkable": True} if law == "rem" else {}
    if draw.random() < 0.35:
        tcp["delayed_ack"] = "100 ms"
    access = {"rate": "100 Mbit/s", "delay": draw.choice(["3 ms", "10 ms", {"uniform": ["2 ms", "40 ms"]}])}
    common = {"start": {"uniform": ["0 s", "5 s"]}, "access": access}
    count = draw.choice([1, 2, 4, 7, 15, 25, 45, 80])
    flows = [{"name": "forth", "count": count, "from": "R0", "to": "R1"} | common]
    if draw.random() < 0.15:
        flows.append({"name": "back", "count": max(1, count // 4), "from": "R1", "to": "R0"} | common)
    head = {"name": name, "duration": "120 s", "warmup": "20 s", "packet": f"{mss} B"}
    return head | {"links": [link | {"duplex": True, "queue": queue}], "tcp": tcp, "flows": flows}


def _queue(draw: random.Random, law: str, limit: int) -> Table:
    """A queue of `limit` packets or more under a law, its parameters drawn."""
    low = max(3, limit // 8)
    red = {
        "aqm": "red",
        "limit": f"{limit} packets",
        "min": low,
        "max": 3 * low,
        "max_p": draw.choice([0.02, 0.1, 0.3]),
    }
    room = f"{max(limit, 40)} packets"
    match law:
        case "red":
            return red | {
                "weight": draw.choice([0.002, 0.01]),
                "gentle": draw.random() < 0.5,
                "wait": draw.random() < 0.6,
            }
        case "adaptive red":
            steps = {"interval": "500 ms", "alpha": 0.01, "beta": 0.9, "top": 0.5, "bottom": 0.01}
            return red | {"max_p": 0.1, "weight": 0.002, "gentle": True, "wait": True, "adaptive": True} | steps
        case "pi":
            return {
                "aqm": "pi",
                "limit": room,
                "target": max(4, limit // 4),
                "a": 1.822e-4,
                "b": 1.816e-4,
                "interval": "6250 us",
            }
        case "rem":
            times = draw.choice(["2 ms", "10 ms"])
            return {
                "aqm": "rem",
                "limit": room,
                "target": max(4, limit // 4),
                "gamma": draw.choice([0.001, 0.005]),
                "interval": times,
            }
        case "led":
            return {
                "aqm": "led",
                "limit": room,
                "count_own": True,
                "max_packet": "40 B",
                "max": draw.choice([1.0, 1.2, 1.5, 1.75]),
            }
    return {"aqm": "droptail", "limit": f"{limit} packets"}


def rows(drawn: Table, seeds: int) -> list[compare.Row]:
    """Both simulators' numbers of a drawn scenario for seeds 1 to `seeds`, compared."""
    sojourn = importlib.import_module("sojourn")
    theirs, ours = [], []
    for seed in range(1, seeds + 1):
        theirs.append(compare.metrics(measure.run(drawn, seed), drawn))
        ours.append(compare.metrics(sojourn.run(sojourn.load(freeze(drawn, seed)), seed=seed), drawn))
    return compare.rows(drawn["name"], theirs, ours, {})


def main(argv: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m conformance.oracles.ns2.draw", description=__doc__.split("\n")[0])
    parser.add_argument("count", type=int, help="how many scenarios")
    parser.add_argument("--draw", type=int, default=1, help="seed of the draws (default: 1)")
    parser.add_argument("--seeds", type=int, default=8, help="seeds of each scenario (default: 8)")
    parser.add_argument("--print", action="store_true", help="print the scenarios as JSON lines and stop")
    options = parser.parse_args(argv)
    if min(options.count, options.seeds) < 1:
        parser.error(f"count, --seeds: expected 1 or more, got {options.count}, {options.seeds}")
    draw = random.Random(options.draw)
    laws = [LAWS[i % len(LAWS)] for i in range(options.count)]
    drawn = [scenario(draw, law, f"{law.replace(' ', '-')}-{i}") for i, law in enumerate(laws, 1)]
    if options.print:
        print("\n".join(map(json.dumps, drawn)))
        return 0
    if not measure.available():
        print("ns-2: expected the program ns, got none (Debian package ns2)", file=sys.stderr)
        return 2
    found: list[compare.Row] = []
    for each in drawn:
        print(f"{each['name']} ...", file=sys.stderr, flush=True)
        found += rows(each, options.seeds)
    print(compare.table(found, "ns-2"))
    print("\n" + compare.summary(found))
    return 1 if compare.failed(found) else 0


if __name__ == "__main__":
    sys.exit(main())
