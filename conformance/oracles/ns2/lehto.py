"""The seven scenarios of Lehto et al. (IFAC 2005) in ns-2, under RED, PD and fuzzy RED.

`python -m conformance.oracles.ns2.lehto [--scenarios 1 2] [--laws red pd fuzzy] [--seeds 4]` prints published values
and those of ns-2. Values that the paper leaves open (the minimum RTO of 2004, a 40 s window, a 42 ms RTT) are chosen
as in `papers/lehto-2005`. Published queues are sampled every 10 ms; ns-2's are exact here. Scenario 7 counts
kilobytes.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import sys
from typing import Any

from . import measure
from .plan import Table
from .queues import QUEUES, Queue, periodic

# scenario -> law -> drops, Mbit/s, queue mean, queue sd (lehto-2005#table2)
PUBLISHED: dict[int, dict[str, tuple[float, float, float, float]]] = {
    1: {"red": (2068, 10.00, 33.3, 8.3), "fuzzy": (1975, 10.00, 26.2, 7.6), "pd": (1866, 10.00, 29.9, 9.3)},
    2: {"red": (639, 9.98, 19.8, 9.0), "fuzzy": (548, 9.95, 18.9, 8.7), "pd": (505, 9.92, 20.4, 11.1)},
    3: {"red": (6399, 9.85, 47.4, 30.3), "fuzzy": (6274, 10.00, 36.8, 4.1), "pd": (6284, 10.00, 42.1, 4.4)},
    4: {"red": (145, 9.34, 8.5, 10.2), "fuzzy": (88, 9.96, 13.9, 7.9), "pd": (85, 9.88, 13.4, 10.7)},
    5: {"red": (2034, 10.00, 32.6, 11.6), "fuzzy": (1836, 10.00, 26.1, 7.7), "pd": (1879, 9.99, 30.8, 9.1)},
    6: {"red": (4154, 9.05, 40.6, 29.2), "fuzzy": (1969, 9.57, 23.0, 16.5), "pd": (1524, 9.79, 24.1, 13.3)},
    7: {"red": (2095, 5.20, 17.5, 8.1), "fuzzy": (2034, 5.19, 12.9, 5.0), "pd": (1869, 5.20, 14.7, 5.9)},
}
_SIZES = ((64, 9), (256, 6), (512, 7), (1024, 4), (1460, 4))  # bytes on the wire, flows: scenario 7
_EDGE = {"rate": "45 Mbit/s", "delay": "5 ms"}

# The reconstruction "F-fit" of the fuzzy law: three sets per input, seven rules, product and centroid in closed form.
_FUZZY = """\
proc ramp {x a b} { expr {$x <= $a ? 0.0 : ($x >= $b ? 1.0 : ($x - $a) / double($b - $a))} }
proc fuzzy {q dq} {
    set full [ramp $q 30 45]
    set empty [expr {1.0 - [ramp $q 22 30]}]
    set modest [expr {1.0 - $empty - $full}]
    set up [ramp $dq 0 12]
    set down [ramp [expr {-$dq}] 0 12]
    set still [expr {1.0 - $up - $down}]
    set zero [expr {max($empty, min($modest, $down))}]
    set low [expr {min($modest, $still)}]
    set moderate [expr {max(min($modest, $up), min($full, $down), min($full, $still))}]
    set high [expr {min($full, $up)}]
    expr {(2.0 * $low + 25.0 * $moderate + 30.0 * $high) / ($zero + $low + $moderate + $high)}
}"""


def _fuzzy(table: Table, where: str, packet: int) -> Queue:
    made = periodic(table, where, packet, "[fuzzy $q $dq]", "0.010")
    return dataclasses.replace(made, helper=_FUZZY)


QUEUES["lehto-fuzzy"] = _fuzzy


def _queue(law: str, number: int) -> Table:
    limit = "52200 B" if number == 7 else "100 packets"
    if law == "red":
        return {"aqm": "red", "limit": limit, "min": 15, "max": 45, "max_p": 0.1, "weight": 0.002} | (
            {"queue_in_bytes": True} if number == 7 else {}
        )
    return {"aqm": "pd" if law == "pd" else "lehto-fuzzy", "limit": limit}


def _group(name: str, count: int, **more: Any) -> Table:
    start = {"uniform": ["0 s", "1 s"]}
    return {"name": name, "count": count, "from": "R0", "to": "R1", "start": start, **more} | {
        "access": dict(_EDGE),
        "egress": dict(_EDGE),
    }


def _flows(number: int) -> list[Table]:
    if number == 5:
        cbr = {"kind": "cbr", "rate": "1 Mbit/s", "size": "1000 B"}
        return [_group("ftp", 21), _group("cbr", 3, traffic=cbr)]
    if number == 6:
        web = {"kind": "web", "page_gap": "3 s", "objects": 50, "object_gap": "1 ms", "loop": "closed"}
        return [_group("ftp", 10), _group("web", 20, traffic={**web, "object_mean": 12, "object_shape": 1.2})]
    if number == 7:
        return [_group(f"ftp{size}", count, tcp={"mss": f"{size - 40} B"}) for size, count in _SIZES]
    return [_group("ftp", {1: 30, 2: 10, 3: 120, 4: 15}[number])]


def scenario(number: int, law: str) -> Table:
    """The scenario table of 1..7 under "red", "pd" or "fuzzy"."""
    rate, delay = "5220 kbit/s" if number == 7 else "10 Mbit/s", "90 ms" if number == 4 else "11 ms"
    link = {"name": "bottleneck", "from": "R0", "to": "R1", "rate": rate, "delay": delay, "duplex": True}
    tcp = {"profile": "ns2", "recovery": "reno", "window": "20 packets"}
    return {
        "name": f"lehto-{number}-{law}",
        "duration": "50 s",
        "warmup": "10 s",
        "packet": "522 B" if number == 7 else "1000 B",
        "links": [{**link, "queue": _queue(law, number)}],
        "tcp": {**tcp, "min_rto": "1 s", "max_rto": "64 s", "initial_rto": "6 s"},
        "flows": _flows(number),
    }


def run(number: int, law: str, seeds: int) -> list[tuple[float, float, float, float]]:
    """Drops, Mbit/s, and mean and sd of the queue for seeds 1..`seeds` in ns-2.

    The queue is in packets, in scenario 7 in kilobytes.
    """
    result = []
    for seed in range(1, seeds + 1):
        link = measure.run(scenario(number, law), seed)["links"][0]
        queue, scale = (link["queue_bytes"], 1e-3) if number == 7 else (link["queue"], 1.0)
        rate = link["throughput_bps"] / 1e6
        result.append((link["dropped_total"], rate, queue["mean"] * scale, queue["sd"] * scale))
    return result


def main() -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m conformance.oracles.ns2.lehto", description=__doc__)
    parser.add_argument("--scenarios", nargs="+", type=int, choices=range(1, 8), default=list(range(1, 8)))
    parser.add_argument("--laws", nargs="+", choices=["red", "pd", "fuzzy"], default=["red", "pd", "fuzzy"])
    parser.add_argument("--seeds", type=int, default=4)
    arguments = parser.parse_args()
    if not measure.available():
        print("ns-2 is not installed (Debian package ns2)", file=sys.stderr)
        return 2
    print("scenario law    published: drops  Mbit/s  mean   sd   | ns-2: drops  Mbit/s  mean   sd")
    for number in arguments.scenarios:
        for law in arguments.laws:
            means = [statistics.fmean(column) for column in zip(*run(number, law, arguments.seeds), strict=True)]
            left = "{:16.0f} {:7.2f} {:6.1f} {:5.1f}".format(*PUBLISHED[number][law])
            right = "{:11.0f} {:7.2f} {:6.1f} {:5.1f}".format(*means)
            print(f"{number:8d} {law:6s} {left}  | {right}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
