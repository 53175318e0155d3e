"""The cases of `validate` for CAKE, DualPI2 and the mark threshold of FQ-CoDel.

Each has a name, the bottleneck's queue (ours and the kernel's), and groups of flows: of two hosts, with other DSCPs,
or with other controllers. The bottleneck has 10 Mbit/s; CAKE's shaper has 8. A host of ours is a group of senders:
`dual-srchost`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sojourn.core.scenario import Scenario

Table = dict[str, Any]

LINKS: list[Table] = [
    {"name": "bottleneck", "from": "m", "to": "b", "rate": "10 Mbit/s", "delay": "20 ms", "duplex": True},
    {"from": "a", "to": "m", "delay": "5 ms", "duplex": True},
    {"from": "c", "to": "m", "delay": "5 ms", "duplex": True},
]
"""Two hosts that send, and one that receives: a round trip of 50 ms."""


@dataclass(frozen=True)
class Setting:
    """The bottleneck's queue, ours and the kernel's, and the groups of flows.

    The first group is measured.
    """

    ours: Table
    linux: str
    groups: tuple[Table, ...]
    rate: str = "10 Mbit/s"
    ecn: bool = False
    back: Table | None = None
    """The reverse path, if it differs."""


def group(name: str, count: int, cc: str = "cubic", **more: Any) -> Table:
    """A group of flows from a host."""
    tcp = {"profile": "linux", "control": {"cc": cc}}
    start = {"uniform": ["0 s", "1 s"]}
    return {"name": name, "from": "a", "to": "b", "count": count, "start": start, "tcp": tcp} | more


def cake(linux: str, groups: tuple[Table, ...], more: Table | None = None, **options: Any) -> Setting:
    """CAKE with these parameters in both."""
    ours = {"aqm": "cake", "limit": "4000 packets", "ecn": True, "diffserv": "besteffort", "isolation": "flows"}
    return Setting(ours | options, f"cake {linux} rtt 100ms memlimit 64mb", groups, **(more or {}))


SHAPED = {"bandwidth": "8 Mbit/s"}
MIXED = (group("f", 3), group("g", 3, "reno"))
TINS = (group("f", 2, dscp="ef"), group("g", 2), group("h", 2, dscp="cs1"))
HOSTS = (group("f", 1), group("g", 4, **{"from": "c"}))
VOICE = (
    {"name": "f", "from": "a", "to": "b", "dscp": "ef"}
    | {"traffic": {"kind": "cbr", "rate": "1 Mbit/s", "size": "200 B"}},
    group("g", 4),
)
UPLOAD = ({**group("f", 4), "from": "b", "to": "a"},)
ACKS = {"rate": "150 kbit/s", "back": {"rate": "20 Mbit/s", "queue": {"limit": "1000 packets"}}}

L4S = (group("f", 2, "prague"), group("g", 2))


def dual(linux: str = "", groups: tuple[Table, ...] = L4S, ecn: bool = True, **options: Any) -> Setting:
    """DualPI2 with these parameters in both."""
    ours = {"aqm": "dualpi2", "limit": "1000 packets", "ecn": True}
    return Setting(ours | options, f"dualpi2 limit 1000 {linux}".rstrip(), groups, ecn=ecn)


SETTINGS: dict[str, Setting] = {
    "cake-flows": cake("besteffort flows", MIXED),
    "cake-one": cake("besteffort flows bandwidth 8mbit", (group("f", 1),), **SHAPED),
    "cake-shaper": cake("besteffort flows bandwidth 8mbit", MIXED, **SHAPED),
    "cake-shaper-ecn": cake("besteffort flows bandwidth 8mbit", MIXED, {"ecn": True}, **SHAPED),
    "cake-overhead": cake("besteffort flows bandwidth 8mbit overhead 38 mpu 84", MIXED, overhead="ethernet", **SHAPED),
    "cake-diffserv3": cake("diffserv3 flows bandwidth 8mbit", TINS, **SHAPED | {"diffserv": "diffserv3"}),
    "cake-diffserv4": cake("diffserv4 flows bandwidth 8mbit", TINS, **SHAPED | {"diffserv": "diffserv4"}),
    "cake-unshaped-diffserv4": cake("diffserv4 flows", TINS, diffserv="diffserv4"),
    "cake-voice": cake("diffserv4 flows bandwidth 8mbit", VOICE, **SHAPED | {"diffserv": "diffserv4"}),
    "cake-hosts": cake("besteffort dual-srchost bandwidth 8mbit", HOSTS, **SHAPED | {"isolation": "triple-isolate"}),
    "cake-hosts-off": cake("besteffort flows bandwidth 8mbit", HOSTS, **SHAPED),
    "cake-no-ack-filter": cake("besteffort flows", UPLOAD, ACKS),
    "cake-ack-filter": cake("besteffort flows ack-filter", UPLOAD, ACKS, ack_filter="filter"),
    "cake-ack-filter-aggressive": cake("besteffort flows ack-filter-aggressive", UPLOAD, ACKS, ack_filter="aggressive"),
    "fq-codel-ce-threshold": Setting(
        {"aqm": "fq-codel", "limit": "1000 packets", "ecn": True, "ce_threshold": "2 ms"}
        | {"backlog": "all", "perturbation": 16},
        "fq_codel limit 1000 flows 1024 target 5ms interval 100ms quantum 1514 ce_threshold 2ms ecn",
        (group("f", 5),),
        ecn=True,
    ),
    "dualpi2": dual(),
    "dualpi2-prague": dual(groups=(group("f", 4, "prague"),)),
    "dualpi2-cubic": dual(groups=(group("f", 4),)),
    "dualpi2-step-packets": dual("step_packets 5", step_packets=5),
    "dualpi2-min-qlen-step": dual("min_qlen_step 3", min_qlen_step=3),
    "dualpi2-any-ect": dual("any_ect", ecn_mask=3),
    "dualpi2-coupling": dual("coupling_factor 4 classic_protection 30", coupling_factor=4, classic_protection=30),
    "dualpi2-drop-enqueue": dual("drop_enqueue", (group("f", 4),), ecn=False, drop_early=True),
}


def scenario(setting: Setting) -> Scenario:
    """The scenario of a setting, without its queue."""
    scenario = Scenario(
        {"duration": "75 s", "warmup": "15 s", "links": LINKS, "flows": list(setting.groups)}, "settings"
    )
    scenario.set("links.bottleneck.rate", setting.rate).set("tcp.ecn", setting.ecn)
    if setting.back:
        scenario.set("links.bottleneck.back", setting.back)
    return scenario
