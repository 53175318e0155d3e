"""The table of differences between our congestion controllers under the profile `linux` and those of a Linux kernel.

With the kernel of `sojourn linux build`, `python -m conformance.oracles.linux.controllers` runs every case on both and
stores what it found, with its provenance, in `controllers.json`; names of controllers after it run those alone.
`--show` prints the table of what is stored, which the page `docs/linux.md` has too. The measures and bounds are those
of `gaps`; what is outside is explained in `explained.toml`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from conformance.oracles.linux import gaps

from sojourn.scenario import Scenario

STORED = Path(__file__).parent / "controllers.json"
COMMAND = "python -m conformance.oracles.linux.controllers"
CONTROLLERS = ("bbr", "dctcp", "vegas", "westwood", "htcp", "illinois", "highspeed", "scalable", "cdg")


QUEUES: dict[str, dict[str, object]] = {
    "droptail, 0.5 BDP": {"aqm": "droptail", "limit": "42 packets"},
    "droptail, 4 BDP": {"aqm": "droptail", "limit": "332 packets"},
    "codel": {"aqm": "codel", "limit": "1000 packets"},
}
MARKS = {
    "step of 20 packets": {
        "aqm": "red", "limit": "1000 packets", "ecn": True, "min": 20, "max": 21, "max_p": 1, "mark_p": 1, "weight": 1,
    },
    "codel, ecn": {"aqm": "codel", "limit": "1000 packets", "ecn": True},
}  # fmt: skip
"""For a controller that counts marks."""


def cases() -> Iterator[tuple[str, list[Scenario]]]:
    """By name, the scenario for the simulator and that for the kernel: 20 Mbit/s, 50 ms, 60 s, 45 measured."""
    for control in CONTROLLERS:
        marks = control == "dctcp"
        for queue, options in (MARKS if marks else QUEUES).items():
            for count in (1, 4):
                scenario = Scenario(gaps.SCENARIO, "controllers").set("duration", "60 s")
                scenario.set("links.bottleneck.rate", "20 Mbit/s").set("links.bottleneck.queue", dict(options))
                scenario.set("flows.f.count", count).set("flows.f.tcp.ecn", marks)
                pair = gaps.on_both(scenario)
                for each, named in zip(pair, ("cc", "linux"), strict=True):
                    each.set("flows.f.tcp.control", {named: control})
                yield f"{control}, {queue}, {count} flow{'s' if count > 1 else ''}", pair


def main(argv: list[str] | None = None) -> int:
    """Measures, stores and prints; with `--show` only prints what is stored. Gives the exit code."""
    options = gaps.read_options(COMMAND, __doc__, CONTROLLERS, argv)
    asked = options.names
    if not options.show:
        known = list(cases())
        chosen = [case for case in known if not asked or case[0].partition(",")[0] in asked]
        kept = json.loads(STORED.read_text(encoding="utf-8"))["cases"] if asked else {}
        found = gaps.measure(chosen, COMMAND)
        found["cases"] = {name: (kept | found["cases"])[name] for name, _ in known if name in kept | found["cases"]}
        STORED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    print("\n".join(gaps.table(stored, list(stored["cases"]))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
