"""Scenarios from what was measured elsewhere: packet captures and Flent results.

The scenario has the traffic that the file shows over one link, so that another queue can be tried on it.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from statistics import median
from typing import Any

from sojourn import _sojourn
from sojourn.errors import UserError, note
from sojourn.flent_import import flent_scenario
from sojourn.foreign import scenario_name
from sojourn.reading import opened
from sojourn.scenario import Scenario

QUIET = 1.0  # seconds without a packet at the end of a capture after which a flow counts as complete
LEAST_QUEUE = 20  # packets
PACKET = 1500  # bytes
ACCECN_OPTION = 12  # bytes that it takes of the payload with the profile "linux"


def import_file(path: str | Path, rate: str | None = None, rtt: str | None = None, cc: str = "cubic") -> Scenario:
    """The scenario that a capture (pcapng, pcap) or a result of Flent (`.flent.gz`, `.flent`) at `path` gives.

    `rate` is that of the link, such as "10 Mbit/s"; by default it is the rate that the capture's interface has, or else
    the largest that was seen over a second. Where the flows of a capture used less than half of its interface, a `Note`
    says so. `rtt` is the round-trip time of flows of which the file does not show one. `cc` is the congestion control
    of the flows; those that send ECT(1) have Prague.

    Raises `UserError` for a file that can't be read, that is damaged, or that has no flows: one line.

    >>> sj.run("examples/dumbbell.toml", pcap="dumbbell.pcapng", pcap_links=["bottleneck"])
    <Record dumbbell, seed 1...>
    >>> len(sj.import_file("dumbbell.pcapng")["flows"])
    1
    """
    file = Path(path)
    base = None if rtt is None else _quantity("rtt", "time", rtt)
    if rate is not None:
        _quantity("rate", "rate", rate)
    known = [entry["name"] for entry in json.loads(_sojourn.registry())["cc"]]
    if cc not in known:
        raise UserError.unknown("--cc", cc, known)
    try:
        opened(file).close()  # which refuses a pipe or a device
        if file.name.endswith((".flent.gz", ".flent")):
            made = flent_scenario(file, rate, base, cc)
        else:
            made = capture_scenario(file, rate, base, cc)
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror or error}") from None
    made.canonical()
    return made


def _quantity(name: str, kind: str, text: str) -> float:
    """The value of a parameter in its base unit."""
    try:
        return _sojourn.quantity(kind, text)
    except ValueError as error:
        raise UserError(f"{name}: {error}") from None


def capture_scenario(file: Path, rate: str | None, rtt: float | None, cc: str) -> Scenario:
    """The scenario of a capture: its flows over one link in each direction."""
    found = json.loads(_sojourn.capture_flows(str(file)))
    flows = [flow for flow in found["flows"] if flow["ways"][flow["data"]]["bytes"] > 0]
    if not flows:
        raise UserError(f"{file}: expected TCP flows with data, got none in {found['packets']:,} packets")
    known = [flow["rtt_s"] for flow in flows if flow["rtt_s"]]
    if rtt is None and not known:
        raise UserError(f"{file}: expected a handshake or timestamps that show a round-trip time, or --rtt, got none")
    usual = rtt if rtt is not None else median(known)
    for flow in flows:
        flow["rtt_s"] = flow["rtt_s"] or usual
        quiet = found["span_s"] - flow["last_s"] > max(QUIET, 4 * flow["rtt_s"])
        flow["size"] = flow["ways"][flow["data"]]["bytes"] if flow["complete"] or quiet else None
    base = min(flow["rtt_s"] for flow in flows)
    rates = _rates(found, rate)
    longest = max(flow["rtt_s"] for flow in flows)
    queue = max(LEAST_QUEUE, math.ceil(rates[0] * longest / (8 * PACKET)))
    wire: dict[str, Any] = {
        "name": "link", "from": "left", "to": "right", "rate": _rate(rates[0]), "delay": _time(base / 2),
        "queue": {"aqm": "droptail", "limit": f"{queue} packets"}, "duplex": True,
    }  # fmt: skip
    if rates[1] != rates[0]:
        wire["back"] = {"rate": _rate(rates[1])}
    groups = _groups(flows, base)
    tree = {
        "name": scenario_name(_stem(file)),
        "duration": _time(max(math.ceil(found["span_s"] * 10) / 10, 0.1)), "links": [wire],
        "tcp": {"profile": "linux", "control": {"cc": cc}}, "flows": groups,
    }  # fmt: skip
    return Scenario(tree, str(file))


def _stem(file: Path) -> str:
    for ending in (".pcapng", ".pcap", ".flent.gz", ".flent"):
        if file.name.endswith(ending):
            return file.name.removesuffix(ending) or "import"
    return file.stem or "import"


def _rates(found: dict[str, Any], rate: str | None) -> list[float]:
    """The rates of the two directions in bit/s: that of the busiest interface, and of the next one if there is one."""
    if rate is not None:
        return [_quantity("rate", "rate", rate)] * 2
    order = sorted(found["interfaces"], key=lambda each: -each["busiest_bps"])
    speed, used = order[0]["speed_bps"], order[0]["busiest_bps"]
    if 2 * used < speed:
        note(
            f"the link has the rate of its interface, {_short_rate(speed)}, of which no second used more than "
            f"{_short_rate(used)}: if a narrower link held the flows back, give its rate with --rate"
        )
    rates = [float(each["speed_bps"] or max(each["busiest_bps"], 1000)) for each in order[:2]]
    return rates if len(rates) == 2 else rates * 2


def _groups(flows: list[dict[str, Any]], base: float) -> list[dict[str, Any]]:
    """The groups of flows that are alike but for their start and their round-trip time."""
    sides = _sides(flows)
    alike: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for flow in flows:
        rightward = sides[_data_ends(flow)[0]] == "left"
        options = (flow["mss"], flow["sack"], flow["timestamps"], flow["ecn"]) if flow["opened"] else ()
        alike[rightward, flow["size"], options, _is_scalable(flow)].append(flow)
    # The time at which a flow starts is that at its host, before its own delay.
    own = {id(flow): (flow["rtt_s"] - base) / 2 for flow in flows}
    shift = max(max(own[id(flow)] - flow["start_s"] for flow in flows), 0.0)
    groups = []
    for number, ((rightward, size, *_), members) in enumerate(alike.items(), start=1):
        ends = ("left", "right") if rightward else ("right", "left")
        group: dict[str, Any] = {
            "name": f"flows-{number}", "count": len(members), "from": ends[0], "to": ends[1],
            "start": [_time(flow["start_s"] - own[id(flow)] + shift) for flow in members],
            "access": {"delay": [_time(own[id(flow)]) for flow in members]},
            "traffic": {"kind": "bulk"} | ({"size": f"{size} B"} if size else {}),
        }  # fmt: skip
        if tcp := _tcp(members[0]):
            group["tcp"] = tcp
        groups.append(group)
    return groups


def _is_scalable(flow: dict[str, Any]) -> bool:
    """Whether its data has ECT(1), as that of Prague (rfc9331#4.1)."""
    return bool(flow["ways"][flow["data"]]["scalable"])


def _tcp(flow: dict[str, Any]) -> dict[str, Any]:
    """The options of a connection that its packets show: without the SYN, only whether its sender is scalable."""
    scalable = {"ecn": "l4s", "control": {"cc": "prague"}} if _is_scalable(flow) else {}
    if not flow["opened"]:
        return scalable
    stamps = 12 if flow["timestamps"] else 0
    payload, most = max(way["largest"] for way in flow["ways"]), (flow["mss"] or 536) - stamps
    if scalable and payload:
        # The profile takes the option of AccECN off the MSS where data has it. Longer payload shows that it has not.
        has_option = payload + ACCECN_OPTION <= most
        payload += ACCECN_OPTION if has_option else 0
        scalable |= {} if has_option else {"accecn_option": "minimum"}
    mss = min(payload, most) if payload else flow["mss"]
    options = {"mss": f"{mss} B", "header": f"{40 + stamps} B", "timestamps": flow["timestamps"], "ecn": flow["ecn"]}
    return options | ({} if flow["sack"] else {"recovery": "newreno"}) | scalable


def _host(address: str) -> str:
    return address.rpartition(":")[0]


def _data_ends(flow: dict[str, Any]) -> tuple[str, str]:
    """The hosts that send and receive the data of a flow."""
    ends = (_host(flow["from"]), _host(flow["to"]))
    return ends if flow["data"] == 0 else (ends[1], ends[0])


def _sides(flows: list[dict[str, Any]]) -> dict[str, str]:
    """On which side of the link each host is: the first sender of data is on the left."""
    sides: dict[str, str] = {}
    other = {"left": "right", "right": "left"}
    for flow in flows:
        sender, receiver = _data_ends(flow)
        side = sides.get(sender) or other.get(sides.get(receiver, ""), "left")
        sides.setdefault(sender, side)
        sides.setdefault(receiver, other[side])
    return sides


def _time(seconds: float) -> str:
    """A time as scenarios write it, exact to the nanosecond."""
    nanoseconds = round(max(seconds, 0.0) * 1e9)
    return _written(nanoseconds, {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1})


def _rate(bps: float) -> str:
    """A rate as scenarios write it, exact to the bit/s."""
    return _written(round(bps), {"Gbit/s": 10**9, "Mbit/s": 10**6, "kbit/s": 10**3, "bit/s": 1})


def _short_rate(bps: float) -> str:
    """A rate in three digits, for a reader."""
    return _rate(float(f"{bps:.3g}"))


def _written(count: int, units: Mapping[str, int]) -> str:
    """A count of the smallest unit in the largest in which it is 1 or more, without loss."""
    unit, size = next(((unit, size) for unit, size in units.items() if count >= size), next(iter(units.items())))
    return f"{Decimal(count) / size:f} {unit}"
