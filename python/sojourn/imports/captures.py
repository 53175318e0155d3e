"""Converts a packet capture into a scenario: its TCP flows and datagrams over one link."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from sojourn import _sojourn
from sojourn.core.errors import UserError, note
from sojourn.core.foreign_names import scenario_name
from sojourn.core.quantities import rate_text, short_rate, short_time, time_text
from sojourn.core.scenario import Scenario
from sojourn.core.text_format import counted
from sojourn.imports.datagrams import datagram_group, datagram_ways

QUIET = 1.0  # seconds without a packet at the end of a capture after which a flow counts as complete
SURE = 0.5  # of the measured rate: the speed of an interface below this is not believed
LEAST_QUEUE = 20  # packets
WAYS = ("from left to right", "from right to left")
PACKET = 1500  # bytes of a full packet
ACCECN_OPTION = 12  # payload bytes that the option occupies with the profile "linux"
LONGEST = 1_000_000  # seconds, the longest run
UNSEEN = 0.01  # of the bytes: packets that are not read and have less are not worth a note


def capture_scenario(file: Path, rates: list[str] | None, rtt: float | None, cc: str) -> tuple[Scenario, list[str]]:
    """The scenario of a capture, and remarks for its reader.

    Raises `UserError` for a file that is no capture or has no flows, and `OSError` for an unreadable file.
    """
    found = json.loads(_sojourn.capture_flows(str(file)))
    flows = [flow for flow in found["flows"] if flow["ways"][flow["data"]]["bytes"] > 0]
    ways = datagram_ways(found["datagrams"])
    if not flows and not ways:
        raise UserError(f"{file}: expected TCP flows with data or UDP flows, got none in {_contents(found)}")
    if found["span_s"] > LONGEST:
        raise UserError(f"{file}: expected a capture of at most {LONGEST:,} s, got one of {found['span_s']:,.0f} s")
    base = _round_trips(file, flows, ways, found["datagrams"], rtt)
    for flow in flows:
        quiet = found["span_s"] - flow["last_s"] > max(QUIET, 4 * flow["rtt_s"])
        flow["size"] = flow["ways"][flow["data"]]["bytes"] if flow["complete"] or quiet else None
    _notes(found)
    directions, remarks = _directions(found, flows, rates)
    longest = max(each["rtt_s"] for each in [*flows, *ways])
    link = _link(directions, base, longest, found["layer"])
    remarks += [said for each in directions for said in each.buffer(longest).remarks]
    # A flow starts at its host, before its own delay.
    shift = max(*((each["rtt_s"] - base) / 2 - each["start_s"] for each in [*flows, *ways]), 0.0)
    groups = _groups(flows, base, shift)
    for number, way in enumerate(ways, start=1):
        groups.append(datagram_group(f"datagrams-{number}", way, (way["rtt_s"] - base) / 2, shift))
    duration = max(math.ceil(found["span_s"] * 10) / 10, 0.1)
    tree = {
        "name": scenario_name(_stem(file)),
        "duration": time_text(duration),
        "links": [link],
        "tcp": {"profile": "linux", "control": {"cc": cc}},
        "flows": groups,
    }
    return Scenario(tree, str(file)), remarks


def _stem(file: Path) -> str:
    for ending in (".pcapng", ".pcap", ".flent.gz", ".flent"):
        if file.name.endswith(ending):
            return file.name.removesuffix(ending) or "import"
    return file.stem or "import"


def _contents(found: dict[str, Any]) -> str:
    """Describes the contents of a capture without flows."""
    kinds = [f"{kind['packets']:,} {kind['what']}" for kind in found["unread"][:3]]
    for what, flows in (("TCP flows without data", found["flows"]), ("short UDP flows", found["datagrams"])):
        count = sum(way["packets"] for flow in flows for way in flow["ways"])
        kinds += [f"{count:,} in {what}"] if count else []
    return f"{found['packets']:,} packets" + (f" ({', '.join(kinds)})" if kinds else "")


def _round_trips(
    file: Path,
    flows: list[dict[str, Any]],
    ways: list[dict[str, Any]],
    datagrams: list[dict[str, Any]],
    rtt: float | None,
) -> float:
    """Assigns an RTT to every flow: its own, that of its two hosts, or the median.

    Returns the smallest RTT.
    """
    shown = [each for each in [*flows, *datagrams] if each["rtt_s"]]
    if rtt is None and not shown:
        raise UserError(f"{file}: expected a handshake or timestamps that show a round-trip time, or --rtt, got none")
    usual = rtt if rtt is not None else median(each["rtt_s"] for each in shown)
    between: dict[frozenset[str], float] = {}
    for each in shown:
        hosts = _hosts(each)
        between[hosts] = min(between.get(hosts, math.inf), each["rtt_s"])
    without = [each for each in [*flows, *ways] if not each["rtt_s"] and _hosts(each) not in between]
    for each in [*flows, *ways]:
        each["rtt_s"] = each["rtt_s"] or between.get(_hosts(each), usual)
    if without and rtt is None:
        note(
            f"{counted(len(without), 'flow')} of {len(flows) + len(ways)} show no round-trip time: they get the median "
            f"of the others, {short_time(usual)} (--rtt gives another)"
        )
    return float(min(each["rtt_s"] for each in [*flows, *ways]))


def _hosts(flow: dict[str, Any]) -> frozenset[str]:
    return frozenset(flow[end].rpartition(":")[0] for end in ("from", "to"))


def _notes(found: dict[str, Any]) -> None:
    """Issues notes on the parts of the capture that the scenario omits."""
    if found["cut"]:
        note(f"the last packet is truncated ({found['cut']}): only packets before it are used")
    if found["falls"]["count"]:
        packets, most = counted(found["falls"]["count"], "packet"), short_time(found["falls"]["most_s"])
        note(f"{packets} had timestamps out of order, by {most} at most: they were sorted")
    if found["guesses"]:
        note(
            f"{counted(found['guesses'], 'group')} of flows share no host or link station with other flows: their "
            "directions are a guess"
        )
    unread = sum(kind["bytes"] for kind in found["unread"])
    if unread > UNSEEN * found["bytes"]:
        kinds = ", ".join(f"{kind['packets']:,} {kind['what']}" for kind in found["unread"][:3])
        note(f"{unread / found['bytes']:.0%} of the bytes are neither TCP nor UDP and are left out: {kinds}")
    data = [way for flow in found["flows"] for way in flow["ways"]]
    missing = sum(max(way["bytes"] - way["sent"], 0) for way in data)
    if missing > UNSEEN * sum(way["bytes"] for way in data):
        share = missing / sum(way["bytes"] for way in data)
        note(f"{share:.0%} of the data of TCP flows was not captured; sizes are computed from sequence numbers")
    small = [way for flow in found["datagrams"] for way in flow["ways"] if "kept" not in way]
    size = sum(way["bytes"] for way in small)
    if size > UNSEEN * found["bytes"]:
        share = min(size / found["bytes"], 1)
        note(f"{share:.0%} of the bytes are in UDP flows too short to have a rate, and are left out")
    quic = sum(flow["quic"] and any("kept" in way for way in flow["ways"]) for flow in found["datagrams"])
    if quic:
        note(
            f"{counted(quic, 'QUIC connection')} became datagrams at their measured rates: "
            "they don't react to congestion"
        )


@dataclass(frozen=True)
class Buffer:
    """A buffer in packets, and remarks on what the capture shows of it."""

    packets: int
    remarks: list[str]


@dataclass(frozen=True)
class Direction:
    """One direction of the link.

    `rate` is in bit/s. `waits` are the queuing delays of its flows in s, the usual and the longest of each.
    `overflowed` is whether one of these flows lost data.
    """

    way: str
    rate: float
    waits: list[tuple[float, float]]
    overflowed: bool

    def buffer(self, rtt: float) -> Buffer:
        """The buffer: the usual queuing delay at the link's rate; longer ones may have other causes.

        Without losses no queue was full. It is then at least one bandwidth-delay product of `rtt`.
        """
        usual, longest = (max((wait[at] for wait in self.waits), default=0.0) for at in (0, 1))
        seen = usual if self.overflowed else max(usual, rtt)
        packets = max(LEAST_QUEUE, math.ceil(self.rate * seen / (8 * PACKET)))
        held = f"{packets} packets, {short_time(packets * 8 * PACKET / self.rate)} at {short_rate(self.rate)}"
        said = f"Buffer {self.way}: {held}."
        if not self.waits:
            why = "no round trip of the capture includes the queue, so this is a guess: one bandwidth-delay product."
            return Buffer(packets, [f"{said} Unknown: {why}"])
        waited = f"95 % of the round trips waited at most {short_time(usual)}, the longest {short_time(longest)}"
        if self.overflowed:
            lost = "Packets were lost, so a queue was full at some time; a loss in slow start hides the longest waits"
            return Buffer(packets, [f"{said} {waited}. {lost}."])
        return Buffer(packets, [f"{said} It may be larger, since no packet was lost: {waited}."])


def _directions(
    found: dict[str, Any], flows: list[dict[str, Any]], given: list[str] | None
) -> tuple[list[Direction], list[str]]:
    """Both directions of the link, and remarks on their rates."""
    data = [way["data"] > way["bytes"] / 2 for way in found["link"]]
    if not any(data):
        data = [way["data"] > 0 for way in found["link"]]
    rates = [_rate(way) for way in found["link"]] if given is None else [_quantity(each) for each in given]
    remarks = []
    if given is None:
        _unused(found["link"])
        for one, other in ((0, 1), (1, 0)):
            if not data[one] and not _speed(found["link"][one]):
                rates[one] = rates[other]
                seen = "If the directions are right, only" if found["guesses"] else "Only"
                least, most = short_rate(max(found["link"][one]["busiest_bps"], 1000)), short_rate(rates[other])
                remarks.append(
                    f"{seen} ACKs and requests went {WAYS[one]}, so its rate is a guess: that of the other direction, "
                    f"{most}. The capture shows at least {least}; to set it: links.link{'.back' * one}.rate."
                )
    directions = []
    for way in (0, 1):
        own = [flow for flow in flows if flow["rightward"] == (way == 0)]
        waits = [tuple(flow["wait_s"]) for flow in own if flow["wait_s"]]
        lost = any(flow["overflowed"] for flow in own if flow["wait_s"])
        directions.append(Direction(WAYS[way], rates[way], waits, lost))
    return directions, remarks


def _quantity(rate: str) -> float:
    return _sojourn.quantity("rate", rate)


def _speed(way: dict[str, Any]) -> float:
    """The speed of the interface; 0 if unknown or far below the measured rate.

    ACKs that fill a hole report more in a second than the link carried.
    """
    return float(way["speed_bps"]) if way["speed_bps"] >= SURE * way["busiest_bps"] else 0.0


def _rate(way: dict[str, Any]) -> float:
    return _speed(way) or float(max(way["busiest_bps"], 1000))


def _unused(link: list[dict[str, Any]]) -> None:
    """Issues a note if the interface is faster than the measured rate."""
    busier = max(link, key=lambda way: way["busiest_bps"])
    speed, used = _speed(busier), busier["busiest_bps"]
    if 2 * used < speed:
        note(
            f"the link has the rate of its interface, {short_rate(speed)}, of which no second used more than "
            f"{short_rate(used)}: if a narrower link held the flows back, give its rate with --rate"
        )


def _link(directions: list[Direction], base: float, longest: float, layer: int) -> dict[str, Any]:
    """The link, with a queue in each direction."""

    def queue(way: Direction) -> dict[str, Any]:
        return {"aqm": "droptail", "limit": f"{way.buffer(longest).packets} packets"}

    there, back = directions
    link: dict[str, Any] = {
        "name": "link",
        "from": "left",
        "to": "right",
        "rate": rate_text(there.rate),
        "delay": time_text(base / 2),
        "queue": queue(there),
        "duplex": True,
    }
    if layer:
        link["overhead"] = {"per_packet": f"{layer} B"}
    other: dict[str, Any] = {"rate": rate_text(back.rate)} if back.rate != there.rate else {}
    return link | {"back": other | {"queue": queue(back)}}


def _groups(flows: list[dict[str, Any]], base: float, shift: float) -> list[dict[str, Any]]:
    """Groups flows that differ only in start and round-trip time."""
    alike: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for flow in flows:
        tcp = _tcp(flow)
        alike[flow["rightward"], flow["size"], json.dumps(tcp, sort_keys=True)].append(flow | {"tcp": tcp})
    groups = []
    for number, ((rightward, size, _), members) in enumerate(alike.items(), start=1):
        ends = ("left", "right") if rightward else ("right", "left")
        own = [(flow["rtt_s"] - base) / 2 for flow in members]
        group: dict[str, Any] = {
            "name": f"flows-{number}",
            "count": len(members),
            "from": ends[0],
            "to": ends[1],
            "start": [time_text(flow["start_s"] - delay + shift) for flow, delay in zip(members, own, strict=True)],
            "access": {"delay": [time_text(delay) for delay in own]},
            "traffic": {"kind": "bulk"} | ({"size": f"{size} B"} if size else {}),
        }
        if members[0]["tcp"]:
            group["tcp"] = members[0]["tcp"]
        groups.append(group)
    return groups


def _tcp(flow: dict[str, Any]) -> dict[str, Any]:
    """The TCP options that a connection's packets reveal; without the SYN, only ECN."""
    way = flow["ways"][flow["data"]]
    # Queues recognize scalable senders by ECT(1) (rfc9331#4.1).
    scalable = {"ecn": "l4s", "control": {"cc": "prague"}} if way["scalable"] else {}
    if not flow["opened"]:
        return scalable or ({"ecn": True} if way["capable"] or way["marked"] else {})
    stamps = 12 if flow["timestamps"] else 0
    payload, most = max(way["largest"] for way in flow["ways"]), (flow["mss"] or 536) - stamps
    if scalable and payload:
        # The profile reduces the MSS by AccECN's option on data segments. A longer payload rules the option out.
        has_option = payload + ACCECN_OPTION <= most
        payload += ACCECN_OPTION if has_option else 0
        scalable |= {} if has_option else {"accecn_option": "minimum"}
    mss = min(payload, most) if payload else flow["mss"]
    options = {"mss": f"{mss} B", "header": f"{40 + stamps} B", "timestamps": flow["timestamps"], "ecn": flow["ecn"]}
    return options | ({} if flow["sack"] else {"recovery": "newreno"}) | scalable
