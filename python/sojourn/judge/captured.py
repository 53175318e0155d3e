"""Logs of TCP senders from captures at their hosts, and of senders in a Linux kernel."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from sojourn import _sojourn
from sojourn.core.errors import UserError
from sojourn.core.record import EPOCH
from sojourn.core.scenario_files import load, readable
from sojourn.judge.log import Log
from sojourn.judge.segments import log_of
from sojourn.linux.guest import Guests
from sojourn.linux.kernel import find_kernel

CAPTURES = (".pcap", ".pcapng", ".cap")
SCENARIOS = (".toml",)
LEAST = 10  # data segments of a connection that can be judged


def read_capture(file: Path, flow: str | None = None) -> Log:
    """The log of a TCP sender from a capture at its host.

    `flow` is the sender's `address:port`. Default: the connection with most data. Raises `UserError` for a file without
    such a connection or from a place nearer to the receiver, and `ScenarioError` for one that is no capture.
    """
    source, destination = _connection(file, flow)
    _, columns = _sojourn.capture_segments(str(file), source, destination)
    forward, times = columns["forward"].astype(bool), columns["t"]
    if int((forward & (columns["bytes"] > 0)).sum()) < LEAST:
        raise UserError(f"{file}: expected a connection with {LEAST} data segments or more, got fewer")
    opens, other = np.flatnonzero(columns["syn"])[[0, -1]] if columns["syn"].sum() > 1 else (0, 0)
    after = np.flatnonzero((forward == forward[opens]) & (np.arange(len(times)) > other))
    if other and len(after) and (times[other] - times[opens] < times[after[0]] - times[other]) == forward[opens]:
        raise UserError(f"{file}: expected a capture at the sender, got one nearer to the receiver")
    return log_of(f"{source} > {destination}", columns)


def _connection(file: Path, flow: str | None) -> tuple[str, str]:
    """The sender and the receiver of a connection."""
    with readable(file, "capture"):
        file.open("rb").close()
    found: dict[str, Any] = json.loads(_sojourn.capture_flows(str(file)))
    ends = []
    for each in found["flows"]:
        pair = (each["from"], each["to"]) if each["data"] == 0 else (each["to"], each["from"])
        ends.append((each["ways"][each["data"]]["bytes"], pair))
    chosen = [(size, pair) for size, pair in ends if flow in (None, pair[0])]
    if not chosen:
        names = ", ".join(pair[0] for _, pair in ends) or "none"
        raise UserError(f"{file}: expected a TCP sender{f' {flow}' if flow else ''}, got {names}")
    return max(chosen)[1]


def read_linux(file: Path, flow: str | None = None, seed: int | None = None) -> Log:
    """Runs a scenario whose host is a Linux kernel, and returns the log of a flow's sender.

    Default: the first flow, and the scenario's seed. Raises `UserError` for another host or without a kernel, and the
    errors of a run.
    """
    scenario = load(file).copy()
    tree = scenario.resolved()
    if tree.get("host") != "linux":
        raise UserError(f'{scenario.label}: host: expected "linux", or a log of `sojourn run --qlog`, got simulator')
    guests = Guests(find_kernel())
    number = int(tree["seed"]) if seed is None else seed
    planned = _sojourn.KernelRun(scenario.for_engine(), scenario.file, number)
    name = flow or f"{tree['groups'][0]['name']}/0"
    try:
        with tempfile.NamedTemporaryFile(suffix=".pcapng") as capture:
            points = (capture.name, list[str](), [f"{name}:sender"])
            logs, host = guests.logs(planned, scenario.file, number, points)
            planned.record(logs, json.dumps(host), points)
            source, destination = _connection(Path(capture.name), None)
            start, columns = _sojourn.capture_segments(capture.name, source, destination)
    finally:
        guests.stop()
    columns["t"] += (start - int(EPOCH.timestamp()) * 10**9) / 1e9
    return log_of(name, columns, planned.reports(logs[0], name))
