"""Writes the congestion control of flows as qlog, for viewers of QUIC logs.

The format is draft-ietf-quic-qlog-main-schema. Each TCP flow is a trace with these events: `recovery:metrics_updated`
(window, threshold, data in flight, pacing rate, round-trip times), `recovery:congestion_state_updated`,
`transport:packet_sent` (data segments), `transport:packet_received` (ACKs), `recovery:packet_lost` (losses that the
sender detects) and `recovery:marked_for_retransmit` (retransmissions). TCP has no packet numbers: a segment's is its
position among all segments of the flow. An ACK names the packets whose bytes it acknowledges, without SACK blocks. Each
link that dropped some of their packets is a trace with `transport:packet_dropped` (draft-ietf-quic-qlog-quic-events).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from heapq import merge
from pathlib import Path
from typing import Any

import numpy as np

from sojourn.core.errors import UserError
from sojourn.core.files import write_atomic
from sojourn.core.record import EPOCH, Record
from sojourn.core.scenario import Scenario
from sojourn.core.scenario_files import Source, load
from sojourn.runs.laws import Laws
from sojourn.runs.runner import run

# The qlog reason of a link's drop, by the cause of the signal. Other causes are not drops.
DROPS = ("a signal of the queue", "a forced signal of the queue", "the queue was full", "an impairment")
Event = tuple[float, str, dict[str, Any]]


def write_qlog(scenario: Source, path: str | Path, seed: int | None = None, laws: Laws | None = None) -> Path:
    """Runs a scenario, writes its TCP flows as qlog, and returns the path of the file.

    The traces that qlog needs are added. Windows, data in flight and pacing rates are the sender's at each change.
    Round-trip times are all samples. Losses are those that the sender detects, at the time of the retransmission. Drops
    of links are in traces of their own. Flows and links without an event have no trace.

    The bytes are reproducible. Raises `UserError` for a file name that does not end in ".qlog" or ".json", for a
    scenario without TCP flows or on a Linux host, and the errors of `run`.

    >>> write_qlog("examples/dumbbell.toml", "dumbbell.qlog").name
    'dumbbell.qlog'
    """
    file, loaded = Path(path), load(scenario).copy()
    groups = traced(loaded, file)
    record = run(loaded, seed, laws)
    return write_atomic(file, json.dumps(qlog_data(record, groups), separators=(",", ":")) + "\n")


def traced(scenario: Scenario, file: Path) -> dict[str, dict[str, Any]]:
    """Adds the traces for qlog to a scenario; returns its groups of TCP flows.

    Sessions have no series of their own. Raises `UserError` as `write_qlog` does, before any run.
    """
    if file.suffix not in (".qlog", ".json"):
        raise UserError(f'{file}: expected a file name that ends in ".qlog" or ".json"')
    tree = scenario.resolved()
    if tree.get("host") == "linux":
        expected = "a simulated host, since a kernel's senders are not watched (--pcap-hosts has their packets)"
        raise UserError(f"{scenario.label}: qlog: expected {expected}, got linux")
    groups = {str(g["name"]): g for g in tree["groups"] if g["tcp"] and g["traffic"]["kind"] != "web"}
    if not groups:
        raise UserError(f"{scenario.label}: qlog: expected TCP flows other than web sessions, got none")
    flows = [f"{name}/*" for name in groups]
    used = sorted({link for group in groups.values() for link in group["forward"]})
    for kind in ("controller", "rtt", "retransmissions", "segments"):
        scenario.set(f"trace.{kind}", {"flows": flows})
    scenario.set("trace.signals", {"links": [tree["links"][link]["name"] for link in used]})
    return groups


def qlog_data(record: Record, groups: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The data of a qlog file: a trace per flow of these groups, then one per link."""
    title = f"{record['scenario']}, seed {record['seed']}"
    traces = []
    for flow in record["flows"]:
        group = groups.get(str(flow["name"]).rpartition("/")[0])
        if group is not None:
            merged = merge(*_events(record, str(flow["name"]), group["tcp"]), key=lambda event: event[0])
            # The sender opens the connection, so it is the client.
            traces.append(_trace(title, flow["name"], "client", list(map(_event, merged))))
    for link, events in _dropped(record, groups).items():
        traces.append(_trace(title, link, "network", events))
    return {"qlog_version": "0.3", "qlog_format": "JSON", "title": title, "traces": [t for t in traces if t["events"]]}


def _trace(title: str, name: str, kind: str, events: list[dict[str, Any]]) -> dict[str, Any]:
    """A trace of the events at a flow's sender or at a link."""
    return {
        "title": f"{title}, {name}",
        "vantage_point": {"name": name, "type": kind},
        "common_fields": {
            "time_format": "relative",
            "reference_time": EPOCH.timestamp() * 1e3,
            "protocol_type": ["TCP"],
        },
        "events": events,
    }


def _event(event: Event) -> dict[str, Any]:
    at, name, data = event
    return {"time": round(at * 1e3, 6), "name": name, "data": data}


def _bytes(tcp: Mapping[str, Any]) -> int:
    """The payload of a full segment in bytes."""
    return int(str(tcp["mss"]).split()[0])


def _events(record: Record, flow: str, tcp: Mapping[str, Any]) -> list[Iterator[Event]]:
    """The events of a flow by kind, each kind in the order of time."""
    sender, rtt = record.series.get(f"controller/{flow}"), record.series.get(f"rtt/{flow}")
    again = record.series.get(f"retransmissions/{flow}")
    sent, acks = record.series.get(f"segments/{flow}"), record.series.get(f"acks/{flow}")
    found: list[Iterator[Event]] = []
    if sent is not None and acks is not None:
        found += [_sent(sent), _acknowledged(sent, acks)]
    if sender is not None:
        found += [_metrics(sender, _bytes(tcp)), _states(sender, _starting(sender, tcp))]
    if sender is not None and again is not None and sent is not None:
        found.append(_losses(again, sender, sent, tcp))
    if rtt is not None:
        found.append(_round_trips(rtt))
    return found


def _metrics(sender: Mapping[str, Any], mss: int) -> Iterator[Event]:
    """Changes of window, threshold and data in flight in bytes, and of the pacing rate in bit/s.

    An arbitrarily high threshold and a missing pacing rate are omitted.
    """
    before: dict[str, int] = {}
    columns = (sender[name] for name in ("t", "cwnd", "ssthresh", "in_flight", "pacing_rate"))
    for at, cwnd, ssthresh, in_flight, pace in zip(*columns, strict=True):
        now = {"bytes_in_flight": round(float(in_flight) * mss)}
        if cwnd > 0:
            now["congestion_window"] = round(float(cwnd) * mss)
        if 0 < ssthresh < 2**20:
            now["ssthresh"] = round(float(ssthresh) * mss)
        if pace > 0:
            now["pacing_rate"] = round(float(pace) * 8 * mss)
        changed = {name: value for name, value in now.items() if before.get(name) != value}
        before |= changed
        if changed:
            yield float(at), "recovery:metrics_updated", changed


STARTUP = {"bbr": "mode", "bbr3": "state"}
"""Controllers without a threshold, and their variable that is 0 during startup."""


def _starting(sender: Mapping[str, Any], tcp: Mapping[str, Any]) -> Any:
    """Whether a controller is in slow start at each change.

    Determined by its own variable, else by the threshold.
    """
    own = STARTUP.get(str(tcp["control"]["cc"]))
    return sender[own] == 0 if own else sender["cwnd"] < sender["ssthresh"]


def _states(sender: Mapping[str, Any], starting: Any) -> Iterator[Event]:
    """The states of a sender at each change.

    It is in recovery while it repairs losses, and when its threshold falls. If the window does not fall with it, slow
    start has ended early.
    """
    old, last, window = "", 0.0, 0.0
    columns = (sender[name] for name in ("t", "cwnd", "ssthresh", "repair"))
    for at, cwnd, ssthresh, repair, starts in zip(*columns, starting, strict=True):
        if cwnd <= 0:
            continue
        new = "slow_start" if starts else "congestion_avoidance"
        if (ssthresh < last and (cwnd < window or ssthresh < cwnd)) or repair == 1:
            new = "recovery"
        if new != old:
            yield float(at), "recovery:congestion_state_updated", ({"old": old} if old else {}) | {"new": new}
        old, last, window = new, float(ssthresh), float(cwnd)


def _round_trips(rtt: Mapping[str, Any]) -> Iterator[Event]:
    """RTT samples with RFC 6298's smoothed values, in ms."""
    least, smoothed, variance = np.inf, 0.0, 0.0
    for number, (at, seconds) in enumerate(zip(rtt["t"], rtt["seconds"], strict=True)):
        ms = 1e3 * float(seconds)
        variance = ms / 2 if number == 0 else 0.75 * variance + 0.25 * abs(smoothed - ms)
        smoothed = ms if number == 0 else 0.875 * smoothed + 0.125 * ms
        least = min(least, ms)
        values = {"latest_rtt": ms, "min_rtt": least, "smoothed_rtt": smoothed, "rtt_variance": variance}
        yield float(at), "recovery:metrics_updated", {name: round(value, 6) for name, value in values.items()}


def _packet(number: int) -> dict[str, Any]:
    """The header of a packet, as QUIC has it."""
    return {"packet_type": "1RTT", "packet_number": number}


def _frame(offset: float, length: float) -> dict[str, Any]:
    return {"frame_type": "stream", "stream_id": 0, "offset": int(offset), "length": int(length)}


def _sent(sent: Mapping[str, Any]) -> Iterator[Event]:
    """Data segments that the sender sends."""
    for number, (at, offset, length) in enumerate(zip(sent["t"], sent["offset"], sent["bytes"], strict=True)):
        raw = {"raw": {"length": int(length)}, "frames": [_frame(offset, length)]}
        yield float(at), "transport:packet_sent", {"header": _packet(number)} | raw


def _acknowledged(sent: Mapping[str, Any], acks: Mapping[str, Any]) -> Iterator[Event]:
    """ACKs that acknowledge new data, each with the packets whose bytes they acknowledge first.

    Of several packets with the same bytes, only the last one that was sent before the ACK counts.
    """
    waiting: dict[int, tuple[int, int]] = {}  # number and end of the last packet by its first byte
    next_packet, done = 0, 0
    for number, (at, ack) in enumerate(zip(acks["t"], acks["offset"], strict=True)):
        while next_packet < len(sent["t"]) and sent["t"][next_packet] < at:
            first = int(sent["offset"][next_packet])
            waiting[first] = next_packet, first + int(sent["bytes"][next_packet])
            next_packet += 1
        if ack <= done:
            continue
        done = int(ack)
        covered = [first for first, (_, end) in waiting.items() if end <= done]
        packets = sorted(waiting.pop(first)[0] for first in covered)
        if packets:
            frame = {"frame_type": "ack", "acked_ranges": [[packet, packet] for packet in packets]}
            yield float(at), "transport:packet_received", {"header": _packet(number), "frames": [frame]}


def _losses(
    again: Mapping[str, Any], sender: Mapping[str, Any], sent: Mapping[str, Any], tcp: Mapping[str, Any]
) -> Iterator[Event]:
    """Losses that the sender detects, at their retransmission, and all retransmissions.

    Retransmissions include tail loss probes.
    """
    number_of: dict[int, int] = {}  # of the last packet by its first byte
    next_packet = 0
    by_time = tcp["recovery"] == "sack" and tcp["sack_algorithm"] == "rack-tlp"
    triggers = {1: "time_threshold" if by_time else "reordering_threshold", 2: "pto_expired"}
    repairs = np.append(0, sender["repair"])[np.searchsorted(sender["t"], again["t"], side="right")]
    for at, offset, length, repair in zip(again["t"], again["offset"], again["bytes"], repairs, strict=True):
        frame = _frame(offset, length)
        while next_packet < len(sent["t"]) and sent["t"][next_packet] < at:
            number_of[int(sent["offset"][next_packet])] = next_packet
            next_packet += 1
        trigger = triggers.get(int(repair))
        if trigger is not None:
            header = {"header": _packet(number_of[int(offset)])} if int(offset) in number_of else {}
            yield float(at), "recovery:packet_lost", header | {"frames": [frame], "trigger": trigger}
        yield float(at), "recovery:marked_for_retransmit", {"frames": [frame]}


def _dropped(record: Record, groups: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The packets of these groups' flows that links dropped, by link."""
    names = [str(flow["name"]) for flow in record["flows"]]
    found: dict[str, list[dict[str, Any]]] = {}
    for name, series in record.series.items():
        kind, _, link = name.partition("/")
        if kind != "signals":
            continue
        events = found.setdefault(link, [])
        for at, flow, cause in zip(series["t"], series["flow"], series["cause"], strict=True):
            if cause < len(DROPS) and names[int(flow)].rpartition("/")[0] in groups:
                event = _event((float(at), "transport:packet_dropped", {"details": DROPS[int(cause)]}))
                events.append(event | {"group_id": names[int(flow)]})
    return found
