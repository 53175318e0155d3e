"""The speed of a Linux host as a multiple of real time, by processor time.

    python -m conformance.bench.linux

Other work on the machine does not count. Needs the kernel of `sojourn linux build`. The goals are 30 times with 10
Mbit/s and 5 flows, and 6 times with 100 Mbit/s and 20 flows.
"""

from __future__ import annotations

import resource

import sojourn
from sojourn.core.scenario import Scenario

SECONDS = 60
CASES = ((10, 5, 30), (100, 20, 6))
"""Mbit/s, flows and the goal."""


def scenario(rate: int, flows: int) -> Scenario:
    """Reno over a drop-tail queue of one bandwidth-delay product and 50 ms."""
    packets = round(rate * 1e6 * 0.05 / 8 / 1500)
    link = {
        "name": "bottleneck",
        "from": "a",
        "to": "b",
        "rate": f"{rate} Mbit/s",
        "delay": "25 ms",
        "duplex": True,
        "queue": {"limit": f"{packets} packets"},
    }
    flow = {"name": "f", "from": "a", "to": "b", "count": flows, "tcp": {"profile": "linux"}}
    return Scenario({"host": "linux", "duration": f"{SECONDS} s", "links": [link], "flows": [flow]}, "speed")


def processor_time() -> float:
    """Processor time of finished kernels, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Prints a line for each case."""
    for rate, flows, goal in CASES:
        before = processor_time()
        sojourn.run(scenario(rate, flows))
        speed = SECONDS / (processor_time() - before)
        print(f"{rate} Mbit/s, {flows} flows: {speed:.0f} times real time (goal {goal})")


if __name__ == "__main__":
    main()
