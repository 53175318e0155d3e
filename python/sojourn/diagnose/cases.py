"""The runs of a diagnosis: one standard load on the line, with each setting that might help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sojourn.compare.cases import queue_axis
from sojourn.core.quantities import rate_text
from sojourn.core.scenario import Scenario
from sojourn.core.text_format import listed
from sojourn.diagnose.line import Line, Way, written

NOW = "as it is"
IDLE = "idle"
SLOWER = 0.95
"""The rate of the line, relative to the stated one, that a recommended shaper must tolerate."""
SHARES = (0.95, 0.9, 0.85)
"""The rates of CAKE's shaper, relative to that of the line."""
FLOWS = 4
"""The number of TCP flows in each direction, as in Flent's test rrul."""
ROUTER = "home-router"
"""The link between the line and the home, where the user's router can shape."""
LAN = 1e9  # bit/s, or ten times the line if that is more
BURST = 0.1  # seconds of the line's rate that a policer passes at once
KEPT = ("name", "seed", "links", "media")


@dataclass(frozen=True)
class Shaper:
    """CAKE in the router, with a shaper at this share of the line's rate in each direction.

    `down` and `up` are its queues as a scenario writes them.
    """

    share: float
    down: dict[str, Any]
    up: dict[str, Any]

    @property
    def label(self) -> str:
        """Its name in tables and pictures."""
        return f"cake at {self.share:.0%} in the router"


def shapers(line: Line) -> list[Shaper]:
    """The settings of CAKE that are tried, the fastest first."""
    return [Shaper(share, _cake(line.down, share), _cake(line.up, share)) for share in SHARES]


def _cake(way: Way, share: float) -> dict[str, Any]:
    """CAKE with a shaper in whole kbit/s. It counts the overhead of the line."""
    queue = {"aqm": "cake", "bandwidth": rate_text(int(way.rate * share / 1000) * 1000), "limit": "10240 packets"}
    return queue | ({"overhead": way.overhead} if way.overhead else {})


def loaded(scenario: Scenario, line: Line) -> Scenario:
    """The line with the router behind it, under the standard load.

    The load replaces the scenario's flows: four downloads, four uploads (CUBIC as in Linux) and a ping each 20 ms. They
    start at random times.
    """
    tree = {key: value for key, value in scenario.to_dict().items() if key in KEPT}
    inside = _free("home-devices", line)
    rate = rate_text(max(LAN, 10 * line.down.rate, 10 * line.up.rate))
    tree["links"] = [
        *tree["links"],
        {"name": ROUTER, "from": line.home, "to": inside, "rate": rate, "duplex": True, "queue": {"limit": "1 s"}},
    ]
    start = {"uniform": ["0 s", "1 s"]}
    ends = {"down": (line.net, inside), "up": (inside, line.net)}
    bulk = [{"name": n, "count": FLOWS, "from": a, "to": b, "start": start} for n, (a, b) in ends.items()]
    ping = {"name": "ping", "from": inside, "to": line.net, "start": {"uniform": ["0 s", "20 ms"]}}
    ping["traffic"] = {"kind": "ping", "every": "20 ms"}
    tree |= {"duration": "20 s", "warmup": "5 s", "flows": [*bulk, ping]}
    tree |= {"tcp": {"profile": "linux", "control": {"cc": "cubic"}}, "trace": {"rtt": {"flows": ["ping/0"]}}}
    return Scenario(tree, scenario.label)


def _free(name: str, line: Line) -> str:
    """A node's name that the ends of the line don't have."""
    return name if name not in (line.net, line.home) else f"{name}-2"


def idle(base: Scenario) -> Scenario:
    """The same scenario with the ping alone."""
    return base.copy().set("flows", [flow for flow in base["flows"] if flow["name"] == "ping"])


def cases_of(base: Scenario, line: Line) -> dict[str, Scenario]:
    """The loaded line in each case: as it is, other queues, a policer, and CAKE.

    Queues in the line replace those of both directions and keep their limits. A line with classes keeps its scheduler.
    """
    changes: dict[str, dict[str, Any]] = {NOW: {}}
    if all(way.buffer is not None for way in line.ways.values()):
        there = {written(base, way.path).get("queue", {}).get("aqm", "droptail") for way in line.ways.values()}
        others = [aqm for aqm in ("droptail", "fq-codel", "pie", "dualpi2") if {aqm} != there]
        queues = {f"{aqm} in the line": {"aqm": aqm} for aqm in others}
        changes |= queue_axis(base, [way.link for way in line.ways.values()], queues).changes
    changes["policer in the line"] = {
        f"{way.path}.impairments": _policed(base, way.path, way.rate) for way in line.ways.values()
    }
    changes |= {each.label: _shaped(each) for each in shapers(line)}
    return {label: base.copy().set_all(change) for label, change in changes.items()}


def slower(case: Scenario, line: Line) -> Scenario:
    """A case on a line that is 5 % slower than stated."""
    return case.copy().set_all({f"{way.path}.rate": rate_text(SLOWER * way.rate) for way in line.ways.values()})


def _policed(base: Scenario, path: str, rate: float) -> list[dict[str, Any]]:
    """The impairments of a link with a policer at 95 % of its rate in front of its queue."""
    burst = f"{max(15_000, int(rate * BURST / 8))} B"
    policer = {"kind": "policer", "rate": rate_text(SLOWER * rate), "burst": burst, "place": "before-queue"}
    return [*written(base, path).get("impairments", []), policer]


def _shaped(shaper: Shaper) -> dict[str, Any]:
    """The router's queues with CAKE. The link from the line to the home carries downloads."""
    return {f"links.{ROUTER}.queue": shaper.down, f"links.{ROUTER}.back.queue": shaper.up}


def load_text() -> str:
    """Describes the load."""
    return listed([f"{FLOWS} downloads", f"{FLOWS} uploads (CUBIC)", "a ping every 20 ms"])
