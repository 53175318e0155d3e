"""The congestion control of a run's flows as qlog (draft-ietf-quic-qlog-main-schema), for viewers of QUIC's logs.

Each TCP flow is a trace with the events `recovery:metrics_updated` (its window, its threshold, its data in flight, its
pace and its round-trip times), `recovery:congestion_state_updated` and `recovery:packet_lost`
(draft-ietf-quic-qlog-quic-events).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from heapq import merge
from pathlib import Path
from typing import Any

import numpy as np

from sojourn.errors import UserError
from sojourn.files import write_atomic
from sojourn.laws import Laws
from sojourn.record import Record
from sojourn.running import run
from sojourn.scenario import Scenario, Source, load

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)  # simulated runs have no date: every file has this one
DROPS = 4  # causes of signals below this number are drops
Event = tuple[float, str, dict[str, Any]]


def write_qlog(scenario: Source, path: str | Path, seed: int | None = None, laws: Laws | None = None) -> Path:
    """Runs a scenario with the traces that it needs, writes its TCP flows as qlog, and returns the file's path.

    Windows, data in flight and paces are the sender's at each change, round-trip times are all samples, losses are what
    links dropped of the flow.
    The same run gives the same bytes. Raises `UserError` for a file name that does not end in ".qlog" or ".json" and
    for a scenario without TCP flows, and what `run` raises.

    >>> write_qlog("examples/dumbbell.toml", "dumbbell.qlog").name
    'dumbbell.qlog'
    """
    file, loaded = Path(path), load(scenario).copy()
    if file.suffix not in (".qlog", ".json"):
        raise UserError(f'{file}: expected a file name that ends in ".qlog" or ".json"')
    groups = traced(loaded)
    record = run(loaded, seed, laws)
    return write_atomic(file, json.dumps(qlog_data(record, groups), separators=(",", ":")) + "\n")


def traced(scenario: Scenario) -> dict[str, dict[str, Any]]:
    """Gives a scenario the traces for qlog; returns its groups of TCP flows. Sessions have no series of their own."""
    tree = scenario.resolved()
    groups = {str(g["name"]): g for g in tree["groups"] if g["tcp"] and g["traffic"]["kind"] != "web"}
    if not groups:
        raise UserError(f"{scenario.label}: qlog: expected TCP flows other than web sessions, got none")
    flows = [f"{name}/*" for name in groups]
    used = sorted({link for group in groups.values() for link in group["forward"]})
    scenario.set("trace.controller", {"flows": flows}).set("trace.rtt", {"flows": flows})
    scenario.set("trace.signals", {"links": [tree["links"][link]["name"] for link in used]})
    return groups


def qlog_data(record: Record, groups: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The data of a qlog file: a trace for each flow of these groups."""
    traces = []
    lost = _losses(record)
    for number, flow in enumerate(record["flows"]):
        group = groups.get(str(flow["name"]).rpartition("/")[0])
        if group is None:
            continue
        events = merge(*_events(record, str(flow["name"]), _bytes(group)), lost.get(number, []), key=lambda e: e[0])
        traces.append({
            "title": f"{record['scenario']}, seed {record['seed']}, {flow['name']}",
            "vantage_point": {"name": flow["name"], "type": "server"},
            "common_fields": {
                "time_format": "relative", "reference_time": EPOCH.timestamp() * 1e3, "protocol_type": ["TCP"],
            },
            "events": [{"time": round(at * 1e3, 6), "name": name, "data": data} for at, name, data in events],
        })  # fmt: skip
    title = f"{record['scenario']}, seed {record['seed']}"
    return {"qlog_version": "0.3", "qlog_format": "JSON", "title": title, "traces": traces}


def _bytes(group: Mapping[str, Any]) -> int:
    """The payload of a full segment."""
    return int(str(group["tcp"]["mss"]).split()[0])


def _events(record: Record, flow: str, mss: int) -> list[Iterator[Event]]:
    """The events of a flow by kind, each kind in the order of time."""
    sender, rtt = record.series.get(f"controller/{flow}"), record.series.get(f"rtt/{flow}")
    found: list[Iterator[Event]] = []
    if sender is not None:
        found += [_metrics(sender, mss), _states(sender)]
    if rtt is not None:
        found.append(_round_trips(rtt))
    return found


def _metrics(sender: Mapping[str, Any], mss: int) -> Iterator[Event]:
    """What changed of the window, the threshold and the data in flight, in bytes, and of the pace, in bit/s.

    A threshold that is arbitrarily high and a pace that there is not are left out.
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


def _states(sender: Mapping[str, Any]) -> Iterator[Event]:
    """The state that window and threshold show; a recovery while losses are repaired, and where the threshold falls."""
    old, last = "", 0.0
    columns = (sender[name] for name in ("t", "cwnd", "ssthresh", "repair"))
    for at, cwnd, ssthresh, repair in zip(*columns, strict=True):
        if cwnd <= 0:
            continue
        new = "slow_start" if cwnd < ssthresh else "congestion_avoidance"
        if ssthresh < last or repair == 1:
            new = "recovery"
        if new != old:
            yield float(at), "recovery:congestion_state_updated", ({"old": old} if old else {}) | {"new": new}
        old, last = new, float(ssthresh)


def _round_trips(rtt: Mapping[str, Any]) -> Iterator[Event]:
    """Each sample, and the means that RFC 6298 takes of them, in ms."""
    least, smoothed, variance = np.inf, 0.0, 0.0
    for number, (at, seconds) in enumerate(zip(rtt["t"], rtt["seconds"], strict=True)):
        ms = 1e3 * float(seconds)
        variance = ms / 2 if number == 0 else 0.75 * variance + 0.25 * abs(smoothed - ms)
        smoothed = ms if number == 0 else 0.875 * smoothed + 0.125 * ms
        least = min(least, ms)
        values = {"latest_rtt": ms, "min_rtt": least, "smoothed_rtt": smoothed, "rtt_variance": variance}
        yield float(at), "recovery:metrics_updated", {name: round(value, 6) for name, value in values.items()}


def _losses(record: Record) -> dict[int, list[Event]]:
    """What links dropped, by the position of its flow."""
    found: dict[int, list[Event]] = {}
    for name, series in record.series.items():
        kind, _, link = name.partition("/")
        if kind != "signals":
            continue
        for at, flow, cause in zip(series["t"], series["flow"], series["cause"], strict=True):
            if cause < DROPS:
                found.setdefault(int(flow), []).append((float(at), "recovery:packet_lost", {"link": link}))
    for losses in found.values():
        losses.sort(key=lambda event: event[0])
    return found
