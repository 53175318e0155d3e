"""Times one run on one thread and on two, of a 4-ary fat tree and of a row of bottlenecks.

`python conformance/bench/parts.py [RUNS]` prints the ratio of wall-clock times, the least of RUNS (default 5) that
alternate. It needs two idle cores.
"""

from __future__ import annotations

import math
import sys
import time
from itertools import pairwise
from typing import Any

import sojourn as sj

HOSTS, SWITCHES, PODS = 4, 2, 4


def link(name: str, ends: tuple[str, str], delay: str, limit: int) -> dict[str, Any]:
    """A duplex link of 1 Gbit/s under DropTail."""
    queue = {"aqm": "droptail", "limit": f"{limit} packets"}
    from_, to = ends
    return {"name": name, "from": from_, "to": to, "rate": "1 Gbit/s", "delay": delay, "queue": queue, "duplex": True}


def route(flow: int) -> list[str]:
    """The hosts and switches through which a flow of the fat tree passes.

    Each host sends to every other one.
    """
    hosts = PODS * HOSTS
    source, sink, way = flow % hosts, (flow + 1 + flow // hosts % (hosts - 1)) % hosts, flow // hosts

    def edge(host: int) -> str:
        return f"e{host // HOSTS}-{host % HOSTS // SWITCHES}"

    found = [f"h{source}", edge(source)]
    if edge(source) != edge(sink):
        found.append(f"a{source // HOSTS}-{way % SWITCHES}")
        if source // HOSTS != sink // HOSTS:
            found += [f"c{way % SWITCHES}-{way // SWITCHES % SWITCHES}", f"a{sink // HOSTS}-{way % SWITCHES}"]
        found.append(edge(sink))
    return [*found, f"h{sink}"]


def fat_tree(flows: int = 480) -> dict[str, Any]:
    """The fat tree of `crates/sim/examples/topology.rs`, 0.5 s."""
    routes = [route(flow) for flow in range(flows)]
    ends = sorted({tuple(sorted(pair)) for way in routes for pair in pairwise(way)})
    groups = [
        {"name": f"f{at}", "from": way[0], "to": way[-1], "via": way, "start": f"{at * 200} us"}
        for at, way in enumerate(routes)
    ]
    links = [link(f"{one}_{other}", (one, other), "100 us", 250) for one, other in ends]
    return {"name": "fat tree", "duration": "500 ms", "warmup": "50 ms", "links": links, "flows": groups}


def row(hops: int = 16, flows: int = 10_000) -> dict[str, Any]:
    """Bottlenecks in a row, 2 s: some flows cross all of them, and as many each of them."""
    share = flows // (hops + 1)
    routes = [(0, hops), *((at, at + 1) for at in range(hops))]
    groups = [
        {
            "name": f"f{at}",
            "count": share if at else flows - hops * share,
            "from": f"R{first}",
            "to": f"R{last}",
            "access": {"rate": "1 Gbit/s", "delay": "2 ms"},
            "start": {"uniform": ["0 s", "1 s"]},
        }
        for at, (first, last) in enumerate(routes)
    ]
    links = [link(f"l{at}", (f"R{at}", f"R{at + 1}"), "5 ms", 2000) for at in range(hops)]
    return {"name": "row", "duration": "2 s", "warmup": "200 ms", "links": links, "flows": groups}


def compared(scenario: dict[str, Any], runs: int) -> str:
    """The ratio of the times of one thread and two, whose records are equal."""
    loaded, least = sj.load(scenario), {1: math.inf, 2: math.inf}
    records = {}
    for _ in range(runs):
        for threads in least:
            begin = time.perf_counter()
            record = sj.run(loaded, threads=threads)
            least[threads] = min(least[threads], time.perf_counter() - begin)
            records[threads] = record.to_json()
    assert records[1] == records[2], "a run on two threads has another record"
    ratio = least[1] / least[2]
    return f"{scenario['name']} on 1 thread {least[1]:.2f} s, on 2 threads {least[2]:.2f} s: {ratio:.2f}x (wanted 1.7x)"


def main(runs: int) -> None:
    """Prints a line for each network."""
    for scenario in (fat_tree(), row()):
        print(compared(scenario, runs))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
