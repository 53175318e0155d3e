"""Warnings about settings without effect, such as events after the end of the run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sojourn import _sojourn
from sojourn.cases import Case
from sojourn.errors import note
from sojourn.queue_notes import full_packet, link_field, unreached
from sojourn.scenario import ACCURATE, Scenario, tables_of


def note_unmet(scenario: Scenario) -> None:
    """Prints the warnings of this module for a scenario that can be run."""
    for each in [*_unmet(scenario), *idle_marks(scenario)]:
        note(each)


def note_unmet_in(cases: Sequence[Case]) -> None:
    """Prints the warnings for the cases of a comparison.

    A warning names its cases unless all cases have it.
    """
    found = {case.label: _unmet(case.scenario) for case in cases}
    said = dict.fromkeys(each for unmet in found.values() for each in unmet)
    for each in said:
        having = [label for label, unmet in found.items() if each in unmet]
        note(each if len(having) == len(found) else f"{', '.join(having)}: {each}")


def _unmet(scenario: Scenario) -> list[str]:
    finders = (
        after_the_end,
        too_small_buckets,
        too_small_queues,
        idle_accecn_options,
        idle_sack_algorithms,
        idle_repairs,
        idle_bursts,
        idle_ecn,
        misplaced_ect1,
        uncounted_marks,
        held_acks,
        unreached,
    )
    return [each for find in finders for each in find(scenario)]


def held_acks(scenario: Scenario) -> list[str]:
    """Warns of each TCP-LP group whose receivers delay ACKs.

    The measured delay then contains the ACK delay. At a window of one segment this is the largest delay of all, and the
    window may never open again.

    ```python
    scenario = sj.load("examples/dumbbell.toml").set("tcp.control", {"cc": "tcp-lp"})
    held_acks(scenario)
    # ['flows.ftp: tcp-lp counts delayed ACKs as queuing delay, ...']
    ```
    """
    return [
        f"flows.{group['name']}: tcp-lp counts delayed ACKs as queuing delay, so its window may stay at one segment "
        "its window may stay at one segment over an empty link; tcp.delayed_ack = false shows it without that"
        for group in scenario.resolved()["groups"]
        if (tcp := group.get("tcp")) and tcp.get("delayed_ack") and (tcp.get("control") or {}).get("cc") == "tcp-lp"
    ]


def idle_ecn(scenario: Scenario) -> list[str]:
    """Warns of ECN flows whose route has no queue that marks, although one could.

    The queue would mark with `ecn = true`. DropTail queues are ignored, because they never mark. So are queue
    disciplines of a Linux kernel, which have their own ECN setting. The scenario must be valid.

    ```python
    scenario = sj.load("examples/dumbbell.toml").set("tcp.ecn", True)
    idle_ecn(scenario.set("links.bottleneck.queue", {"aqm": "codel"}))
    # ['links.bottleneck.queue.ecn: false drops packets of flows.ftp instead of marking them, ...']
    ```
    """
    if "ecn" not in scenario.to_toml():
        return []
    tree = scenario.resolved()
    idle: dict[str, list[str]] = {}
    for group in tree["groups"]:
        if not (group.get("tcp") or {}).get("ecn"):
            continue
        queues = [(tree["links"][at], queue) for at in group["forward"] for queue in _queues(tree["links"][at])]
        if any(_marks(queue) for _, queue in queues):
            continue
        for link in {link["name"]: link for link, queue in queues if queue["aqm"] != "droptail"}.values():
            idle.setdefault(link_field(link), []).append(f"flows.{group['name']}")
    return [
        f"{field}.queue.ecn: false drops packets of {', '.join(flows)} instead of marking them, "
        "although their senders use ECN"
        for field, flows in idle.items()
    ]


def _marks(queue: dict[str, Any]) -> bool:
    """Whether a queue may mark packets.

    A kernel's discipline has its own setting; `ce_threshold` needs no `ecn`.
    """
    return bool(queue.get("ecn", True) or _sojourn.quantity("time", queue.get("ce_threshold", "0 s")))


def idle_marks(scenario: Scenario) -> list[str]:
    """Warns of each DropTail queue with `ecn = true`, which never marks.

    Comparisons omit this warning, because `ecn` may be meant for their other queues. The scenario must be valid.

    ```python
    scenario = sj.load("examples/dumbbell.toml").set("links.bottleneck.queue", {"aqm": "droptail", "ecn": True})
    idle_marks(scenario) # ['links.bottleneck.queue.ecn: true has no effect, because droptail ...']
    ```
    """
    asked = [queue for link in tables_of(scenario, "links") for queue in _queues(link) if queue.get("ecn") is True]
    if not asked:  # fast path: no queue sets `ecn` explicitly
        return []
    return [
        f"{link_field(link)}.queue.ecn: true has no effect, because droptail never marks"
        for link in scenario.resolved()["links"]
        if any(queue.get("aqm") == "droptail" and queue.get("ecn") for queue in _queues(link))
    ]


def _queues(link: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The queue of a link, or the queues of its classes."""
    queue = link.get("queue")
    if queue:
        yield from queue.get("classes", [queue])


def misplaced_ect1(scenario: Scenario) -> list[str]:
    """Warns of flows that send ECT(1) although their controller does not count marks.

    ECT(1) is reserved for scalable senders (rfc9331#4.3). Other controllers fill the low-latency queue: they treat a
    marked window as a lossy one, or ignore marks. Flows whose receiver lacks AccECN send no ECT(1). The scenario must
    be valid.

    ```python
    scenario = sj.load("examples/dumbbell.toml").set("tcp.ecn", "l4s").set("tcp.control", {"cc": "bbr3"})
    misplaced_ect1(scenario) # ['flows.ftp.tcp.ecn: "l4s" sends packets of bbr3 to the low-latency queue, ...']
    ```
    """
    if "l4s" not in scenario.to_toml():
        return []
    counting = {entry["name"] for entry in json.loads(_sojourn.registry())["cc"] if entry["counts_marks"]}
    groups = [
        group for group in scenario.resolved()["groups"] if (tcp := group.get("tcp")) and _agreed_ecn(tcp) == "l4s"
    ]
    return [
        f'flows.{group["name"]}.tcp.ecn: "l4s" sends packets of {cc} to the low-latency queue, '
        "but it does not react to the count of marks; true keeps it among the classic ones"
        for group in groups
        if (cc := group["tcp"]["control"]["cc"]) not in counting
    ]


def uncounted_marks(scenario: Scenario) -> list[str]:
    """Warns of flows whose controller counts marks, but whose `peer_ecn` reports no counts.

    Such a connection uses classic ECN (one echo per window) or no ECN. The scenario must be valid.

    ```python
    scenario = sj.load("examples/l4s.toml").set("flows.prague.tcp.peer_ecn", "dctcp")
    uncounted_marks(scenario) # ['flows.prague.tcp.peer_ecn: "dctcp" does not support "l4s", so ...']
    ```
    """
    if "peer_ecn" not in scenario.to_toml():
        return []
    counting = {entry["name"] for entry in json.loads(_sojourn.registry())["cc"] if entry["counts_marks"]}
    groups = [group for group in scenario.resolved()["groups"] if (tcp := group.get("tcp")) and tcp["ecn"]]
    return [
        f"flows.{group['name']}.tcp.peer_ecn: {why}"
        for group in groups
        if group["tcp"]["control"]["cc"] in counting and (why := _no_count(group["tcp"]))
    ]


def _no_count(tcp: dict[str, Any]) -> str:
    """The reason why a sender gets no mark counts from its receiver; empty if it gets them."""
    agreed, cc = _agreed_ecn(tcp), tcp["control"]["cc"]
    if agreed is False:
        return f"false leaves {cc} without ECN: its packets cannot be marked"
    if agreed is True and tcp["ecn"] is not True:
        ours, peer = json.dumps(tcp["ecn"]), json.dumps(tcp["peer_ecn"])
        classic = "the connection uses classic ECN with one echo per window"
        return f"{peer} does not support {ours}, so {classic}: {cc} gets no counts"
    return ""


def _agreed_ecn(tcp: dict[str, Any]) -> bool | str:
    """The ECN variant on which both hosts of a flow agree."""
    ours, peer = json.dumps(tcp["ecn"]), json.dumps(tcp.get("peer_ecn", tcp["ecn"]))
    agreed: bool | str = json.loads(_sojourn.agreed_ecn(ours, peer))
    return agreed


def idle_accecn_options(scenario: Scenario) -> list[str]:
    """Warns of each `accecn_option` other than `off` that no flow uses.

    A flow without AccECN does not use it. An option in `[tcp]` is used if any flow that inherits it has AccECN. The
    scenario must be valid.

    ```python
    scenario = sj.load("examples/dumbbell.toml").set("tcp.accecn_option", "full")
    idle_accecn_options(scenario)  # ['tcp.accecn_option: "full" has no effect, because ...']
    ```
    """
    need = 'no flow uses AccECN (ecn = "accurate" or "l4s" at both hosts)'
    unused = _unused(
        scenario,
        "accecn_option",
        lambda tcp: _agreed_ecn(tcp) in ACCURATE,
    )
    return [
        f'{field}.accecn_option: "{option}" has no effect, because {need}'
        for field, option in unused.items()
        if option != "off"
    ]


def idle_sack_algorithms(scenario: Scenario) -> list[str]:
    """Warns of each `sack_algorithm` that no flow uses, because its `recovery` is not "sack".

    The scenario must be valid.

    ```python
    scenario = sj.load("examples/dumbbell.toml").set("tcp.sack_algorithm", "rfc6675").set("tcp.recovery", "reno")
    idle_sack_algorithms(scenario)  # ['tcp.sack_algorithm: "rfc6675" has no effect, because ...']
    ```
    """
    unused = _unused(scenario, "sack_algorithm", lambda tcp: tcp["recovery"] == "sack")
    return [
        f'{field}.sack_algorithm: "{name}" has no effect, because no flow that it applies to has recovery = "sack"'
        for field, name in unused.items()
    ]


REPAIRS = ("tail_loss_probe", "f_rto", "undo", "proportional_reduction")
"""Options of loss recovery that only RACK-TLP supports."""


def idle_repairs(scenario: Scenario) -> list[str]:
    """Warns of each RACK-TLP option that no flow uses, because its recovery is not RACK-TLP.

    The scenario must be valid.

    ```python
    idle_repairs(sj.load("examples/dumbbell.toml").set("tcp.f_rto", True))
    # ['tcp.f_rto: true has no effect, because no flow that it applies to has sack_algorithm = "rack-tlp"']
    ```
    """
    return [
        f'{field}.{option}: true has no effect, because no flow that it applies to has sack_algorithm = "rack-tlp"'
        for option in REPAIRS
        for field, on in _unused(scenario, option, _has_rack).items()
        if on
    ]


def _has_rack(tcp: dict[str, Any]) -> bool:
    return bool(tcp["recovery"] == "sack" and tcp["sack_algorithm"] == "rack-tlp")


def idle_bursts(scenario: Scenario) -> list[str]:
    """Warns of each Prague group with its own `burst` and `linux_pacing`, which ignores `burst`.

    The scenario must be valid.

    ```python
    scenario = sj.load("examples/l4s.toml").set("flows.prague.tcp.control.burst", "1 ms")
    idle_bursts(scenario)  # ['flows.prague.tcp.control.burst: "1 ms" has no effect, because ...']
    ```
    """
    if "burst" not in scenario.to_toml():
        return []
    default = next(each["parameters"] for each in json.loads(_sojourn.registry())["cc"] if each["name"] == "prague")
    return [
        f"flows.{group['name']}.tcp.control.burst: {json.dumps(burst)} has no effect, because linux_pacing sends "
        "segments one by one"
        for group in scenario.resolved()["groups"]
        if (tcp := group.get("tcp")) and tcp["control"].get("cc") == "prague" and tcp["linux_pacing"]
        if (burst := tcp["control"]["burst"]) != default["burst"]
    ]


def _unused(scenario: Scenario, option: str, uses: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The values of an option that no flow uses, by the table that sets it."""
    if option not in scenario.to_toml():
        return {}
    asked, used = {"tcp": scenario.get("tcp", {}).get(option)}, set()
    for flow, group in zip(scenario["flows"], scenario.resolved()["groups"], strict=True):
        own = flow.get("tcp", {}).get(option)
        field = "tcp" if own is None else f"flows.{group['name']}.tcp"
        asked[field] = own or asked["tcp"]
        if (tcp := group.get("tcp")) and uses(tcp):
            used.add(field)
    return {field: value for field, value in asked.items() if value is not None and field not in used}


def too_small_buckets(scenario: Scenario) -> list[str]:
    """Warns of policers and shapers on TCP routes whose `burst` is below a full packet.

    Such a bucket passes no full packet. It is not an error, because smaller packets such as ACKs pass. The scenario
    must be valid.

    ```python
    policer = {"kind": "policer", "rate": "20 Mbit/s", "burst": "100 B"}
    scenario = sj.load("examples/dumbbell.toml").set("links.bottleneck.impairments", [policer])
    too_small_buckets(scenario)  # ['links.bottleneck.impairments[0].burst: 100 B is less than a full packet of ...']
    ```
    """
    if "burst" not in scenario.to_toml():
        return []
    tree = scenario.resolved()
    sizes = [full_packet(group) for group in tree["groups"]]
    found = []
    for number, link in enumerate(tree["links"]):
        groups = [
            (group["name"], size)
            for group, size in zip(tree["groups"], sizes, strict=True)
            if number in group["forward"]
        ]
        field = link_field(link)
        for at, impairment in enumerate(link.get("impairments") or []):
            burst = impairment.get("burst")
            held = [f"flows.{name} ({size:g} B)" for name, size in groups if burst and size > _bytes(burst)]
            if held:
                said = f"{field}.impairments[{at}].burst: {burst} is less than a full packet of {', '.join(held)}"
                found.append(f"{said}: none passes")
    return found


def too_small_queues(scenario: Scenario) -> list[str]:
    """Warns of queues on TCP routes whose `limit` in bytes is below a full packet.

    Such a queue can hold no full packet, so a packet that arrives at a busy link is dropped. The scenario must be
    valid.

    ```python
    scenario = sj.load("examples/dumbbell.toml").set("links.bottleneck.queue.limit", "1000 B")
    too_small_queues(scenario)  # ['links.bottleneck.queue.limit: 1000 B is less than a full packet of ...']
    ```
    """
    tree = scenario.resolved()
    found: dict[str, list[str]] = {}
    for group in tree["groups"]:
        size = full_packet(group)
        for link in (tree["links"][at] for at in group["forward"]):
            limits = [str(queue.get("limit", "")) for queue in _queues(link)]
            for limit in [each for each in limits if each.endswith("B") and _bytes(each) < size]:
                said = f"{link_field(link)}.queue.limit: {limit} is less than a full packet of"
                found.setdefault(said, []).append(f"flows.{group['name']} ({size:g} B)")
    return [f"{said} {', '.join(dict.fromkeys(flows))}: it can hold none" for said, flows in found.items()]


def _bytes(size: str) -> float:
    return _sojourn.quantity("size", size)


def after_the_end(scenario: Scenario) -> list[str]:
    """Warns of each event at or after the end of the run, in file order.

    An event is a change of a link, the start of an outage or of another impairment, a new route of a group, or the
    start of a group's first flow. It is not an error, because `--set duration=...` often shortens a run. The scenario
    must be valid.

    ```python
    scenario = sj.load("examples/dumbbell.toml").set("flows.ftp.start", "90 s")
    after_the_end(scenario)  # ['flows.ftp.start: 90 s is not before the end of the run (60 s): it never happens']
    ```
    """
    end = scenario["duration"]
    last = _sojourn.quantity("time", end)
    return [
        f"{field}: {time} is not before the end of the run ({end}): it never happens"
        for field, time in _events(scenario)
        if _sojourn.quantity("time", time) >= last
    ]


def _events(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """The events, each as field and time."""
    for section, keys in (("links", ("changes", "impairments")), ("flows", ("reroute",))):
        for part in scenario.get(section, []):
            name = part.get("name", f"{part['from']}->{part['to']}")
            field = f"{section}.{name}"
            yield from ((f"{field}.start", time) for time in _first(part.get("start", [])))
            for key in keys:
                for i, event in enumerate(part.get(key, [])):
                    yield from ((f"{field}.{key}[{i}].{at}", event[at]) for at in ("at", "from") if at in event)


def _first(start: Any) -> list[str]:
    """The earliest start of a group's flows; empty if it is drawn without a lower bound."""
    if isinstance(start, dict):
        start = start.get("uniform") or start.get("spread") or start.get("first", [])
    times = [start] if isinstance(start, str) else start
    return [min(times, key=lambda time: _sojourn.quantity("time", time))] if times else []
