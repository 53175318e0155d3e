"""Runs a script in ns-2 and measures over [warmup, duration].

Mean and standard deviation of the queue are exact: ns-2 prints every change of the queue, and this module integrates
the queue and its square. ns-2's own integral of the queue must agree.
"""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from .plan import Link, Plan, Table, freeze, lay_out
from .quantities import size_bytes
from .translate import channel, measured, script

_WRAP = 2**32  # ns-2's counters are 32 bits wide


class OracleError(RuntimeError):
    """ns-2 failed, or its output is inconsistent."""


@dataclass
class _Integral:
    """Time integrals of a queue and of its square, from its changes.

    The queue is in packets or bytes, times are in seconds.
    """

    value: int = 0
    since: float = 0.0
    first: float = 0.0
    second: float = 0.0
    most: int = 0

    def change(self, now: float, value: int) -> None:
        lasted = now - self.since
        if lasted > 0.0:
            self.first += self.value * lasted
            self.second += self.value * self.value * lasted
            self.most = max(self.most, self.value)
            self.since = now
        self.value = value

    def mean(self, span: float) -> float:
        return self.first / span

    def sd(self, span: float) -> float:
        return math.sqrt(max(self.second / span - self.mean(span) ** 2, 0.0))


@dataclass
class _Output:
    """The output of a run: snapshots of links and flows, integrals of the traced links."""

    links: dict[int, list[list[float]]]
    flows: dict[int, list[int]]
    packets: dict[int, _Integral]
    bytes: dict[int, _Integral]


def available() -> bool:
    """Whether ns-2 is installed."""
    return shutil.which("ns") is not None


def version() -> str:
    """ns-2's version, as it reports it."""
    run = subprocess.run(["ns", "-"], input="puts [ns-version]\n", capture_output=True, text=True, check=False)
    return run.stdout.strip() or "unknown"


def _read(stream: IO[str]) -> _Output:
    out = _Output({}, {}, {}, {})
    packets, sizes = out.packets, out.bytes
    for line in stream:
        word = line.split()
        if not word:
            continue
        if word[0] == "q":  # q -t TIME -s LINK -d LINK -l BYTES -p PACKETS
            now, link = float(word[2]), int(word[4])
            packets[link].change(now, int(word[10]))
            sizes[link].change(now, int(word[8]))
        elif word[0] == "L":
            link, now = int(word[1]), float(word[2])
            out.links.setdefault(link, []).append([float(x) for x in word[2:]])
            waiting, size = int(word[8]), int(word[9])
            if link in packets:
                packets[link].change(now, waiting)
                sizes[link].change(now, size)
            else:
                packets[link] = _Integral(waiting, now)
                sizes[link] = _Integral(size, now)
        elif word[0] == "F":
            out.flows.setdefault(int(word[1]), []).append(int(word[2]))
        elif word[:2] != ["cmd", "select_ca"]:
            raise OracleError(f"ns-2 printed {line.strip()!r}")
    return out


def execute(text: str, channel: str = "stdout") -> _Output:
    """Runs the Tcl text in ns-2 and reads its output on `channel`.

    Raises `OracleError` with the last output of ns-2 if it fails.
    """
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as complaints:
        path = Path(folder) / "scenario.tcl"
        path.write_text(text)
        environment = {**os.environ, "LC_ALL": "C"}
        streams: Table = {"stdout": complaints, "stderr": complaints} | {channel: subprocess.PIPE}
        with subprocess.Popen(["ns", str(path)], cwd=folder, text=True, env=environment, **streams) as run:
            out = _read(getattr(run, channel))
        complaints.seek(0)
        said = complaints.read().strip()[-2000:]
    if run.returncode != 0 or not out.links or any(len(x) != 2 for x in out.links.values()):
        raise OracleError(f"ns-2 ended with {run.returncode}: {said}")
    return out


def _offered(link: Link, begin: float, end: float) -> float:
    """The bits that the link could have sent between two times (s)."""
    total, now, rate = 0.0, begin, link.rate or math.inf
    for at_ns, new in sorted(link.changes):
        at = min(max(at_ns / 1e9, begin), end)
        total += rate * (at - now)
        now, rate = at, new
    return total + rate * (end - now)


def _link(link: Link, out: _Output, number: int) -> Table:
    """One link's record: shares are 0..1, queues in packets or bytes."""
    first, last = out.links[number]
    arrived, departed, sent, dropped, marked = ((b - a) % _WRAP for a, b in zip(first[1:6], last[1:6], strict=True))
    begin, end = first[0], last[0]
    span = end - begin
    packets, sizes = out.packets[number], out.bytes[number]
    theirs = (last[8] - first[8]) / span
    if abs(theirs - packets.mean(span)) > 1e-6 * max(theirs, 1.0):
        raise OracleError(f"{link.name}: the queue's mean is {packets.mean(span)} here and {theirs} in ns-2")
    if arrived - departed - dropped != last[6] - first[6]:
        raise OracleError(f"{link.name}: {arrived} arrived, {departed} departed, {dropped} dropped don't add up")
    return {
        "utilization": sent * 8.0 / _offered(link, begin, end),
        "throughput_bps": sent * 8.0 / span,
        "arrived": round(arrived),
        "departed": round(departed),
        "marked": round(marked),
        "dropped_total": round(dropped),
        "queue": {"mean": packets.mean(span), "sd": packets.sd(span), "max": packets.most},
        "queue_bytes": {"mean": sizes.mean(span), "sd": sizes.sd(span), "max": sizes.most},
    }


def _goodput(plan: Plan, out: _Output) -> list[float]:
    """Bits per second of payload that each flow delivered in order.

    Web sessions are not followed and count as 0.
    """
    span = (plan.duration - plan.warmup) / 1e9
    result = []
    for i, flow in enumerate(plan.flows):
        if i not in out.flows:
            result.append(0.0)
            continue
        delivered = (out.flows[i][1] - out.flows[i][0]) % _WRAP
        if flow.traffic["kind"] == "bulk":  # the sink counts packets on the wire; a SYN adds 40 bytes, less than one
            mss = size_bytes(flow.tcp.get("mss", "1000 B"), "tcp.mss")
            delivered = delivered // (mss + size_bytes(flow.tcp.get("header", "40 B"), "tcp.header")) * mss
        result.append(delivered * 8.0 / span)
    return result


def run(scenario: Table, seed: int) -> dict[str, Any]:
    """One run: a record with the fields of Sojourn's that ns-2 can fill.

    It also has the hash of the Tcl script.
    """
    plan = lay_out(freeze(scenario, seed))
    text = script(plan, seed)
    out = execute(text, channel(plan))
    goodput = _goodput(plan, out)
    names = [link.name for _, link in measured(plan)]
    links = [_link(link, out, i) for i, link in measured(plan)]
    return {
        "seed": seed,
        "tcl_sha256": digest(text),
        "links": [{"name": name, **link} for name, link in zip(names, links, strict=True)],
        "flows": [
            {"name": flow.name, "group": flow.group, "goodput_bps": value}
            for flow, value in zip(plan.flows, goodput, strict=True)
        ],
    }


def digest(text: str) -> str:
    """The SHA-256 of a script."""
    return hashlib.sha256(text.encode()).hexdigest()
