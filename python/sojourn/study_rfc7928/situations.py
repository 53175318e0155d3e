"""The situations of RFC 7928 as scenarios: who sends what over which path, whatever the queue of the bottleneck is.

The RFC gives the situations, and the values that are cited here. The others are ours: a bottleneck of 10 Mbit/s, a
round trip of 100 ms, a buffer of one bandwidth-delay product (rfc7928#3.2), flows with the profile `linux`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.congestion import flows_for, packets_of
from sojourn.scenario import Scenario

Table = dict[str, Any]
RATE, RTT, PACKET = 10.0, 100.0, 1500
"""Mbit/s, ms and bytes."""
SECONDS, WARMUP = 60, 10
"""Of a run, and those of them that do not count."""
RTTS = (20, 50, 200, 560)
"""Round-trip times in ms of the second half of the flows, next to 100 ms (rfc7928#6.2: 5 to 560 ms)."""
TRACE = {
    "queue": {"links": ["bottleneck"], "every": "20 ms"},
    "throughput": {"links": ["bottleneck"], "every": "1 s"},
}


@dataclass(frozen=True)
class Phase:
    """A part of a run that is shown by itself: its name and its times in seconds."""

    name: str
    begin: float
    end: float


@dataclass(frozen=True)
class Situation:
    """A situation: its section in the RFC, what happens there, and its scenario for a queue of the bottleneck.

    `make` gets the table of a queue. With `rtts` it also gets each of these round-trip times in ms: one run for each.
    `groups` are those whose shares are shown, `equal` says that all flows are alike, `phases` are the parts of the run
    that are shown by themselves, `links` other links whose waits are shown.
    """

    id: str
    section: str
    title: str
    make: Callable[..., Table]
    groups: Sequence[str] = ()
    phases: Sequence[Phase] = ()
    rtts: Sequence[int] = ()
    links: Sequence[str] = ()
    equal: bool = False

    def scenarios(self, queue: Mapping[str, Any]) -> list[Scenario]:
        """What is run: one scenario, or one for each round-trip time."""
        trees = [self.make(queue, rtt) for rtt in self.rtts] if self.rtts else [self.make(queue)]
        return [Scenario({"name": self.title, **tree}, f"study rfc7928: {self.id}") for tree in trees]


def limit(rate: float = RATE) -> str:
    """The buffer: the packets that a path of `RTT` holds at a rate in Mbit/s."""
    return f"{packets_of(rate * 1e6, RTT / 1e3, PACKET)} packets"


def link(queue: Mapping[str, Any], rate: float = RATE, **more: Any) -> Table:
    """The bottleneck with a queue."""
    return {
        "name": "bottleneck", "from": "R0", "to": "R1", "rate": f"{rate:g} Mbit/s", "delay": "1 ms", "duplex": True,
        "queue": {"limit": limit(rate), **queue}, **more,
    }  # fmt: skip


def flow(name: str, cc: str = "reno", *, rtt: float = RTT, window: int = 10, **more: Any) -> Table:
    """A group of TCP flows with their round-trip time in ms and their initial window in segments."""
    tcp = {"control": {"cc": cc}, "initial_window": window, **more.pop("tcp", {})}
    return {**path(name, rtt), "tcp": tcp, **more}


def path(name: str, rtt: float = RTT) -> Table:
    """A group of flows on the bottleneck, each with a way to it of its own."""
    start = {"uniform": ["0 s", "1 s"]}
    return {"name": name, "from": "R0", "to": "R1", "start": start, "access": {"delay": f"{rtt / 2 - 1:g} ms"}}


def udp(name: str, traffic: Table) -> Table:
    """A group of one flow without congestion control."""
    return {**path(name), "traffic": traffic}


def tree(links: list[Table], flows: list[Table], **more: Any) -> Table:
    """A scenario."""
    return {
        "duration": f"{SECONDS} s", "warmup": f"{WARMUP} s", "packet": f"{PACKET} B", "links": links, "flows": flows,
        "tcp": {"profile": "linux", "mss": "1448 B", "window": "20000 packets"}, "trace": TRACE, **more,
    }  # fmt: skip


def web() -> Table:
    """Short transfers with an initial window of ten segments."""
    transfers = {"kind": "transfers", "every": "250 ms", "size_mean": "40 kB", "size_shape": 1.3}
    return flow("web", "cubic", traffic=transfers)


def video() -> Table:
    """Frames of some 10 kB, 25 a second, that leave their sender in bursts."""
    return udp("video", {"kind": "onoff", "on": "4 ms", "off": "36 ms", "rate": "20 Mbit/s", "size": "1200 B"})


def voice() -> Table:
    """A call: a packet in 20 ms."""
    return udp("voice", {"kind": "cbr", "rate": "87.2 kbit/s", "size": "218 B"})


def flood() -> Table:
    """More datagrams than the bottleneck can carry."""
    return udp("udp", {"kind": "cbr", "rate": f"{1.2 * RATE:g} Mbit/s", "size": f"{PACKET} B"})


def level(name: str) -> int:
    """How many flows make a level of congestion (rfc7928#8.2.1)."""
    return flows_for(name, RATE * 1e6, RTT / 1e3, PACKET)


def one(cc: str) -> Callable[[Mapping[str, Any]], Table]:
    """One long flow, with the initial window of three segments that rfc7928#5.1.1 names."""
    return lambda queue: tree([link(queue)], [flow("tcp", cc, window=3)])


def two_windows(queue: Mapping[str, Any]) -> Table:
    """A second flow with another initial window starts where the first has settled (rfc7928#5.1.2)."""
    second = flow("second", window=10, start={"uniform": ["20 s", "21 s"]})
    return tree([link(queue)], [flow("first", window=3), second], warmup="25 s")


def next_to_udp(queue: Mapping[str, Any]) -> Table:
    """A TCP flow and more datagrams than fit."""
    return tree([link(queue)], [flow("tcp"), flood()])


def next_to_ledbat(queue: Mapping[str, Any]) -> Table:
    """A TCP flow and one that yields."""
    return tree([link(queue)], [flow("tcp"), flow("ledbat", "ledbat")])


def two_rtts(queue: Mapping[str, Any], rtt: int) -> Table:
    """Five flows with the usual round-trip time and five with another."""
    return tree([link(queue)], [flow("usual", count=5), flow("other", count=5, rtt=rtt)])


def bursts(queue: Mapping[str, Any]) -> Table:
    """Web, frames of video and a call next to one long transfer (rfc7928#7.2)."""
    return tree([link(queue)], [flow("bulk", "cubic"), web(), video(), voice()])


def load(name: str, **more: Any) -> Callable[[Mapping[str, Any]], Table]:
    """As many flows as make a level of congestion."""
    return lambda queue: tree(
        [link({**queue, **({"ecn": True} if more else {})})], [flow("tcp", count=level(name), tcp=more)]
    )


PHASES = [Phase("light", 5, 20), Phase("medium", 20, 40), Phase("heavy", 40, 60)]
"""Levels of congestion in turn, 20 s each (rfc7928#8.2.5), without the start of the run."""
CHANGES = [Phase("100 Mbit/s", 5, 20), Phase("10 Mbit/s", 20, 40), Phase("100 Mbit/s again", 40, 60)]
"""The rate of the bottleneck in turn, 20 s each (rfc7928#8.2.6)."""


def growing_load(queue: Mapping[str, Any]) -> Table:
    """More flows join until the load is heavy."""
    light, medium, heavy = (level(name) for name in ("light", "medium", "heavy"))
    joins = [
        flow("second", count=medium - light, start={"uniform": ["20 s", "21 s"]}),
        flow("third", count=heavy - medium, start={"uniform": ["40 s", "41 s"]}),
    ]
    return tree([link(queue)], [flow("first", count=light), *joins])


def changing_rate(queue: Mapping[str, Any]) -> Table:
    """The bottleneck falls to a tenth and comes back."""
    changes = [{"at": f"{each.begin:g} s", "rate": " ".join(each.name.split()[:2])} for each in CHANGES[1:]]
    return tree([link(queue, 100, changes=changes)], [flow("tcp", "cubic", count=4)])


def shaky_rate(queue: Mapping[str, Any]) -> Table:
    """The rate of the bottleneck changes every second, as over a radio link."""
    changes = [{"at": f"{second} s", "rate": f"{(5, 20)[second % 2]} Mbit/s"} for second in range(1, SECONDS)]
    return tree([link(queue, 20, changes=changes)], [flow("tcp", "cubic", count=4)])


def mix(queue: Mapping[str, Any]) -> Table:
    """Long transfers, web, video and a call."""
    return tree([link(queue)], [flow("bulk", "cubic", count=3), web(), video(), voice()])


def both_directions(queue: Mapping[str, Any]) -> Table:
    """Long transfers in both directions, with the same queue in both."""
    away, back = flow("forward", "cubic", count=3), flow("backward", "cubic", count=3)
    back |= {"from": "R1", "to": "R0"}
    return tree([link(queue, back={"queue": {"limit": limit(), **queue}})], [away, back])


def two_bottlenecks(queue: Mapping[str, Any]) -> Table:
    """The same discipline at two links in a row, with flows over both and over the first alone."""
    first = {**link(queue, 2 * RATE), "name": "first", "from": "A"} | {"to": "R0"}
    both = flow("both", "cubic", count=3) | {"from": "A"}
    alone = flow("first-alone", "cubic", count=3) | {"from": "A", "to": "R0"}
    return tree([first, link(queue)], [both, alone])


SITUATIONS = [
    Situation("one-reno", "5.1.1", "One NewReno flow", one("reno")),
    Situation("two-windows", "5.1.2", "Two NewReno flows, initial windows 3 and 10", two_windows, ("first", "second")),
    Situation("one-cubic", "5.2", "One CUBIC flow", one("cubic")),
    Situation("udp", "5.3", "Datagrams at 1.2 times the rate", lambda queue: tree([link(queue)], [flood()])),
    Situation("tcp-and-udp", "5.3", "NewReno next to datagrams at 1.2 times the rate", next_to_udp, ("tcp", "udp")),
    Situation("ledbat", "5.4", "NewReno next to LEDBAT", next_to_ledbat, ("tcp", "ledbat")),
    Situation("rtts", "6.2", "Flows of 100 ms next to flows of another round-trip time", two_rtts, rtts=RTTS),
    Situation("bursts", "7.2", "One CUBIC flow, web, video frames, a call", bursts, ("bulk", "web", "video", "voice")),
    Situation("light", "8.2.2", "Light load", load("light"), equal=True),
    Situation("medium", "8.2.3", "Medium load", load("medium"), equal=True),
    Situation("heavy", "8.2.4", "Heavy load", load("heavy"), equal=True),
    Situation("ecn", "4.5", "Medium load with ECN", load("medium", ecn=True), equal=True),
    Situation("growing-load", "8.2.5", "Load that grows: light, medium, heavy", growing_load, phases=PHASES),
    Situation("changing-rate", "8.2.6", "A rate that falls to a tenth and returns", changing_rate, phases=CHANGES),
    Situation("shaky-rate", "8.2.6", "A rate that changes every second: 5 and 20 Mbit/s", shaky_rate),
    Situation("mix", "9.1", "Three CUBIC flows, web, video frames, a call", mix, ("bulk", "web", "video", "voice")),
    Situation(
        "both-directions", "9.2", "Three CUBIC flows each way", both_directions, ("forward", "backward"),
        links=("bottleneck:back",),
    ),
    Situation(
        "two-queues", "10", "Two bottlenecks in a row", two_bottlenecks, ("both", "first-alone"), links=("first",),
    ),
]  # fmt: skip
"""Every situation, in the order of the page."""
