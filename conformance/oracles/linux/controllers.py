"""Differences between our congestion controllers and those of a Linux kernel.

Ours run under the profile `linux`. With the kernel of `sojourn linux build`, `python -m
conformance.oracles.linux.controllers` runs every case on both and stores the results, with their provenance, in
`stored.json.xz`. Names of controllers after it run only those. `--show` prints the stored table, which `page.py`
writes into `docs/linux-comparison.md`. The measures and bounds are those of `gaps`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from conformance.oracles.linux import RESULTS, gaps
from sojourn.core.scenario import Scenario

NAME = "controllers"
"""Its name in `RESULTS`."""
COMMAND = "python -m conformance.oracles.linux.controllers"
CONTROLLERS = ("bbr", "dctcp", "vegas", "westwood", "htcp", "illinois", "highspeed", "scalable", "cdg")


QUEUES: dict[str, dict[str, object]] = {
    "droptail, 0.5 BDP": {"aqm": "droptail", "limit": "42 packets"},
    "droptail, 4 BDP": {"aqm": "droptail", "limit": "332 packets"},
    "codel": {"aqm": "codel", "limit": "1000 packets"},
}
MARKS = {
    "step of 20 packets": {
        "aqm": "red",
        "limit": "1000 packets",
        "ecn": True,
        "min": 20,
        "max": 21,
        "max_p": 1,
        "mark_p": 1,
        "weight": 1,
    },
    "codel, ecn": {"aqm": "codel", "limit": "1000 packets", "ecn": True},
}
"""The queue for a controller that counts marks."""


FAST = {
    "100 Mbit/s, step of 80 packets": MARKS["step of 20 packets"] | {"min": 80, "max": 81},
    "100 Mbit/s, codel as Linux, ecn": MARKS["codel, ecn"] | {"rule": "linux"},
}
"""The same at a higher rate: few of the segments of a window are marked."""
PAUSES = {"kind": "onoff", "transport": "tcp", "on": "1 s", "off": "1 s", "rate": "15 Mbit/s"}
"""The traffic of flows that pause."""


def cases() -> Iterator[tuple[str, list[Scenario]]]:
    """The cases by name: the scenarios for the simulator and for the kernel.

    Each has 50 ms and runs 60 s, of which 45 are measured. A name without a rate has 20 Mbit/s. Flows that pause and
    count no marks have a buffer of 4 BDP.
    """
    for control in CONTROLLERS:
        marks = control == "dctcp"
        known = [(queue, options, "20 Mbit/s") for queue, options in (MARKS if marks else QUEUES).items()]
        known += [(queue, options, "100 Mbit/s") for queue, options in FAST.items() if marks]
        for queue, options, rate in known:
            for count in (1, 4):
                yield _case(control, queue, count), _pair(control, options, count, rate)
        queue, options, rate = known[1]
        pair = [each.set("flows.f.traffic", dict(PAUSES)) for each in _pair(control, options, 2, rate)]
        yield f"{control}, {queue}, 2 flows that pause", pair


def _case(control: str, queue: str, count: int) -> str:
    return f"{control}, {queue}, {count} flow{'s' if count > 1 else ''}"


def _pair(control: str, queue: dict[str, object], count: int, rate: str) -> list[Scenario]:
    """The scenario on each host."""
    scenario = Scenario(gaps.SCENARIO, "controllers").set("duration", "60 s")
    scenario.set("links.bottleneck.rate", rate).set("links.bottleneck.queue", dict(queue))
    scenario.set("flows.f.count", count).set("flows.f.tcp.ecn", control == "dctcp")
    pair = gaps.on_both(scenario)
    for each, named in zip(pair, ("cc", "linux"), strict=True):
        each.set("flows.f.tcp.control", {named: control})
    return pair


def main(argv: list[str] | None = None) -> int:
    """Measures, stores and prints; with `--show` only prints the stored table.

    Returns the exit code.
    """
    options = gaps.read_options(COMMAND, __doc__, CONTROLLERS, argv)
    asked = options.names
    if not options.show:
        known = list(cases())
        chosen = [case for case in known if not asked or case[0].partition(",")[0] in asked]
        kept = RESULTS.get(NAME)["cases"] if asked else {}
        found = gaps.measure(chosen, COMMAND)
        found["cases"] = {name: (kept | found["cases"])[name] for name, _ in known if name in kept | found["cases"]}
        RESULTS.put(NAME, found)
    stored = RESULTS.get(NAME)
    print("\n".join(gaps.table(stored, list(stored["cases"]))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
