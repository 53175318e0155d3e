"""Differences between our code in a Linux kernel and the same code elsewhere.

With the kernel of `sojourn linux build`, `python -m conformance.oracles.linux.ours` runs every case and stores the
results with their provenance. Names of cases after it run only those. `--show` prints the stored tables, which
`page.py` writes into `docs/linux-comparison.md`. The measures and bounds are those of `gaps`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from conformance.oracles.linux import RESULTS, gaps
from sojourn import _sojourn
from sojourn.core.scenario import Scenario

NAME = "ours"
"""Its name in `RESULTS`."""
COMMAND = "python -m conformance.oracles.linux.ours"
TITLES = (
    "Sojourn's queues: on the simulated link, against the kernel's discipline `sojourn`, both under the kernel's TCP",
    "Sojourn's controllers: under the simulated TCP, against the kernel's TCP",
    "DualPI2: Sojourn's against the kernel's, both in the kernel, under Sojourn's Prague and the kernel's CUBIC",
)
"""The titles of the tables: the two sides of each comparison."""

CONTROLLERS = ("dctcp", "prague", "copa", "bbr", "bbr3", "westwood", "cdg")
"""Controllers that need more than ACKs.

Most pace, sample the delivery rate or count marks; two use the end of a reduction.
"""

Case = tuple[str, list[Scenario]]


def base(flows: int) -> Scenario:
    """These flows over 10 Mbit/s and 50 ms for 40 s, of which 30 are measured."""
    scenario = Scenario(gaps.SCENARIO, "ours").set("duration", "40 s").set("warmup", "10 s").set("host", gaps.LINUX)
    return scenario.set("flows.f.count", flows)


def as_discipline(queue: dict[str, str]) -> dict[str, str]:
    """A queue of ours as the kernel's discipline `sojourn`."""
    table = ", ".join(f"{key} = '{value}'" for key, value in queue.items())
    return {"linux": f"sojourn {{ {table} }}"}


def disciplines() -> Iterator[Case]:
    """Every queue of ours, in the network and as a discipline of the kernel."""
    for name in (each["name"] for each in json.loads(_sojourn.registry())["aqm"]):
        if name in ("external", "linux"):
            continue
        queue = {"aqm": name, "limit": "150 packets"}
        yield name, [base(5).set("links.bottleneck.queue", each) for each in (queue, as_discipline(queue))]
    shaped = {"aqm": "cake", "limit": "150 packets", "bandwidth": "8 Mbit/s", "diffserv": "diffserv4"}
    scenario = base(2)
    scenario["flows"].append({**scenario["flows"][0], "name": "g", "dscp": "ef", "count": 1})
    yield (
        "cake, shaped, two tins",
        [scenario.copy().set("links.bottleneck.queue", each) for each in (shaped, as_discipline(shaped))],
    )


def controllers() -> Iterator[Case]:
    """Controllers of ours, in the simulator and in the kernel."""
    for name in CONTROLLERS:
        for flows in (1, 4):
            scenario = base(flows).set("flows.f.tcp.control", {"cc": name})
            queue: dict[str, Any] = {"aqm": "droptail", "limit": "84 packets"}
            if name == "dctcp":
                queue = {"aqm": "step", "ecn": True, "limit": "1000 packets"}
            elif name == "prague":
                queue = {"aqm": "dualpi2", "ecn": True, "limit": "1000 packets"}
            scenario.set("flows.f.tcp.ecn", name in ("dctcp", "prague")).set("links.bottleneck.queue", queue)
            yield f"{name}, {flows} flow{'s' if flows > 1 else ''}", gaps.on_both(scenario)


def dual() -> Iterator[Case]:
    """DualPI2 under scalable and classic senders."""
    for scalable, classic in ((1, 1), (2, 2)):
        scenario = base(scalable)
        flow: dict[str, Any] = dict(scenario["flows"][0])
        prague = {"tcp": flow["tcp"] | {"control": {"cc": "prague"}, "ecn": True}}
        cubic = {"tcp": flow["tcp"] | {"control": {"cc": "cubic"}}}
        scenario["flows"] = [flow | prague, flow | {"name": "c", "count": classic} | cubic]
        ours = scenario.set("links.bottleneck.queue", {"aqm": "dualpi2", "ecn": True, "limit": "1000 packets"})
        theirs = ours.copy().set("links.bottleneck.queue", {"linux": "dualpi2 limit 1000"})
        yield f"{scalable} Prague, {classic} CUBIC", [ours, theirs]


def blocks() -> list[list[Case]]:
    """The cases of each table."""
    return [list(disciplines()), list(controllers()), list(dual())]


def tables(stored: dict[str, Any]) -> list[str]:
    """The lines of all tables."""
    lines = []
    for title, names in zip(TITLES, stored["tables"], strict=True):
        lines += [f"{title}:", "", *gaps.table(stored, names), ""]
    return lines


def main(argv: list[str] | None = None) -> int:
    """Measures, stores and prints; with `--show` only prints the stored tables.

    Returns the exit code.
    """
    known = blocks()
    names = [name for block in known for name, _ in block]
    options = gaps.read_options(COMMAND, __doc__, names, argv)
    if not options.show:
        asked = options.names
        chosen = [case for block in known for case in block if not asked or case[0] in asked]
        kept = (RESULTS.get(NAME) or {"cases": {}})["cases"] if asked else {}
        found = gaps.measure(chosen, COMMAND)
        found["cases"] = kept | found["cases"]
        found["tables"] = [[name for name, _ in block if name in found["cases"]] for block in known]
        RESULTS.put(NAME, found)
    print("\n".join(tables(RESULTS.get(NAME))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
