"""Reads a sender's log from qlog: 0.3 and today's drafts, as JSON or JSON-SEQ.

The sender's ACKs come from ACK frames of received packets. A log without frames, such as quinn's, has them as decreases
of the bytes in flight; the oldest packets then count as acknowledged first. Source: draft-ietf-quic-qlog-main-schema,
draft-ietf-quic-qlog-quic-events.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from sojourn.core.errors import UserError
from sojourn.core.scenario_files import readable
from sojourn.judge.log import Flight, Log

ENDINGS = (".qlog", ".sqlog", ".json")
HIGH = 2**40  # bytes: a threshold above this is arbitrarily high
MAX_ACK_DELAY = 0.025  # seconds, of the transport parameter (rfc9000#18.2)
GRANULARITY = 0.001  # seconds (rfc9002#6.1.2)
PERSISTENT = 3  # probe timeouts that establish persistent congestion (rfc9002#7.6.1)
SEEN = 3  # packets of a larger size that show a larger MSS; a probe is one
ALIASES = {"cwnd": "congestion_window"}
"""Names of aioquic."""

RTTS = ("latest_rtt", "smoothed_rtt", "min_rtt", "rtt_variance")
ORDER = {"mss": 0, "acked": 1, "lost": 2, "marked": 2, "timeout": 2, "spurious": 2, "recovered": 2, "window": 3}


@dataclass(frozen=True)
class Trace:
    """A trace of a file: a name, whether it is TCP, and its events with times in seconds."""

    name: str
    tcp: bool
    events: list[tuple[float, str, dict[str, Any]]]

    def sent(self) -> int:
        """The number of packets that it sent."""
        return sum(name == "packet_sent" for _, name, _ in self.events)


def read_qlog(file: Path, flow: str | None = None) -> Log:
    """The log of a trace: the one called `flow`, or the one that sent most packets.

    Raises `UserError` for a file that is no qlog, has no such trace, or has no congestion windows.
    """
    traces = [trace for trace in _traces(file) if trace.sent()]
    chosen = [trace for trace in traces if flow in (None, trace.name)]
    if not chosen:
        names = ", ".join(trace.name for trace in traces) or "none"
        raise UserError(f"{file}: expected a trace that sends packets{f' called {flow}' if flow else ''}, got {names}")
    log = _Reader(max(chosen, key=Trace.sent)).log()
    if not any(event["kind"] == "window" for event in log.events):
        raise UserError(f"{file}: expected congestion windows in metrics_updated, got none")
    return log


def _traces(file: Path) -> Iterator[Trace]:
    with readable(file, "log"):
        text = file.read_text(encoding="utf-8", errors="replace")
    try:
        if text.startswith("\x1e"):
            head, *events = (json.loads(each) for each in text.split("\x1e") if each.strip())
            yield _trace(head.get("trace", {}) | {"events": events}, file.stem)
            return
        for number, trace in enumerate(json.loads(text)["traces"]):
            yield _trace(trace, f"{file.stem}-{number}")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{file}: expected a qlog of version 0.3 or newer, got {error}") from error


def _trace(trace: dict[str, Any], otherwise: str) -> Trace:
    """A trace of a file. Without a format, its times are absolute, as in 0.3."""
    common = trace.get("common_fields") or {}
    kind = common.get("time_format", "absolute")
    events, now = [], 0.0
    for event in trace.get("events", []):
        now = now + event["time"] if kind in ("delta", "relative_to_previous_event") else event["time"]
        name = event["name"].rpartition(":")[2].removeprefix("recovery_")
        events.append((now / 1e3, name, event.get("data") or {}))
    events.sort(key=lambda event: event[0])
    start = events[0][0] if events and kind == "absolute" else 0.0
    name = (trace.get("vantage_point") or {}).get("name") or trace.get("title") or otherwise
    return Trace(str(name), "TCP" in common.get("protocol_type", ()), [(at - start, *rest) for at, *rest in events])


@dataclass
class _Reader:
    """Turns the events of a trace into those of the replay."""

    trace: Trace
    frames: bool = False
    mss: int = 0
    waiting: dict[tuple[str, int], tuple[float, int]] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)
    highest: int = 0
    sent_before: int = 0
    done: int = 0
    recover: int = 0
    timed_out: bool = False
    sample: float | None = None
    sizes: dict[int, int] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    window: int | None = None
    flight: Flight = field(default_factory=Flight)
    out: list[dict[str, Any]] = field(default_factory=list)
    lost: list[tuple[int, float]] = field(default_factory=list)
    unseen_lost: int = 0
    unseen_sent: int = 0
    received: bool = False
    news: bool = False
    state: str = ""
    expired: float = -1.0

    def log(self) -> Log:
        """The log of the trace."""
        events = self.trace.events
        self.frames = any("acked_ranges" in frame for _, _, data in events for frame in data.get("frames") or ())
        self.mss = next((size for _, name, data in events if name == "packet_sent" and (size := _size(data))), 1)
        scale = self._seconds_of_rtt()
        first = self.mss
        found: list[dict[str, Any]] = []
        for at, group in groupby(events, key=lambda event: event[0]):
            self.out, self.sent_before = [], self.highest
            for _, name, data in sorted(group, key=self._late):
                handle = getattr(self, f"_on_{name}", None)
                if name == "metrics_updated":
                    data = data | {rtt: data[rtt] * scale for rtt in RTTS if rtt in data}
                if handle is not None:
                    handle(at, data)
            self._losses(at)
            if self.trace.tcp:  # the RTT sample, which came first, is often the last report of an ACK
                self._report(at)
            found += _settled(self.out)
        whole = all(event["bytes"] % first == 0 for event in found if event["kind"] == "window")
        return Log(self.trace.name, self.trace.tcp, self.trace.tcp and whole, first, found)

    def _late(self, event: tuple[float, str, dict[str, Any]]) -> bool:
        """Whether an event follows the RTT samples of its time.

        A controller of TCP receives the sample of the same ACK.
        """
        return not (self.trace.tcp and "latest_rtt" in event[2])

    def _seconds_of_rtt(self) -> float:
        """The factor from reported round-trip times to seconds.

        The drafts have ms. quinn writes seconds: no sample is then longer than the log so far, and the smallest RTT is
        far below the first answer's time.
        """
        times = {name: at for at, name, _ in reversed(self.trace.events) if name in ("packet_sent", "packet_received")}
        start = times.get("packet_sent", 0.0)
        samples = [(at - start, data["latest_rtt"]) for at, _, data in self.trace.events if data.get("latest_rtt")]
        if any(rtt > passed for passed, rtt in samples):
            return 1e-3
        answer = times.get("packet_received", start) - start
        least = min((data["min_rtt"] for _, _, data in self.trace.events if data.get("min_rtt")), default=0.0)
        return 1.0 if 0 < least < answer * 1e3 / 30 else 1e-3

    def _emit(self, at: float, kind: str, **fields: Any) -> None:
        self.out.append({"at": at, "kind": kind} | fields)

    def _on_packet_sent(self, at: float, data: dict[str, Any]) -> None:
        size, header = _size(data), data.get("header") or {}
        self.waiting[_space(header), header.get("packet_number", 0)] = (at, size)
        for end in (frame["offset"] + frame["length"] for frame in data.get("frames") or () if "offset" in frame):
            self.ends[header.get("packet_number", 0)] = end
            self.highest = max(self.highest, end)
        self.unseen_sent += size
        self.sizes[size] = self.sizes.get(size, 0) + 1
        if size > self.mss and self.sizes[size] >= SEEN:
            self.mss = size
            self._emit(at, "mss", bytes=size)
        if self.frames:
            self.flight.set(at, self.flight.bytes + size, self.metrics.get("smoothed_rtt", 1.0))

    def _on_packet_received(self, at: float, data: dict[str, Any]) -> None:
        self.received = True
        header = data.get("header") or {}
        acked = [
            (_space(header), number)
            for frame in data.get("frames") or ()
            for first, *last in frame.get("acked_ranges", ())
            for number in range(int(first), int(last[0] if last else first) + 1)
        ]
        packets = [self.waiting.pop(key) for key in acked if key in self.waiting]
        self.done = max([self.done, *(self.ends.pop(number, 0) for _, number in acked)])
        if packets:
            self._acked(at, sum(size for _, size in packets), max(sent for sent, _ in packets))

    def _acked(self, at: float, size: int, sent: float | None) -> None:
        window = self.window
        known: dict[str, Any] = {name: self.metrics[rtt] for name, rtt in _RTT_FIELDS.items() if rtt in self.metrics}
        if self.sample is not None:
            known["rtt"], self.sample = self.sample, None
        if self.timed_out and self.done < self.recover:
            known["after_timeout"] = True
        limit = self.flight.limit(window, self.mss)
        self._emit(at, "acked", bytes=size, sent=sent, in_flight=self.flight.bytes, limit=limit, **known)
        if self.frames:
            self.flight.set(at, max(self.flight.bytes - size, 0), self.metrics.get("smoothed_rtt", 1.0))
        self.news = True

    def _on_packet_lost(self, at: float, data: dict[str, Any]) -> None:
        header = data.get("header") or {"packet_type": data.get("type")} | data  # aioquic has no header
        sent, size = self.waiting.pop((_space(header), header.get("packet_number", -1)), (None, _size(data)))
        if data.get("trigger") == "pto_expired" and self.trace.tcp and (sent is None or sent > self.expired):
            self._emit(at, "timeout")
            self.expired, self.news = at, True
            self.timed_out, self.recover = True, self.sent_before
        self.unseen_lost += size
        if self.frames:
            self.flight.set(at, max(self.flight.bytes - size, 0), self.metrics.get("smoothed_rtt", 1.0))
        if not self.trace.tcp:
            self.lost.append((header.get("packet_number", -1), at if sent is None else sent))

    def _losses(self, at: float) -> None:
        """Emits the losses of one time."""
        if not self.lost:
            return
        longest, (last, start) = 0.0, self.lost[0]
        for number, sent in sorted(self.lost):
            start = start if number == last + 1 else sent
            last, longest = number, max(longest, sent - start)
        timeout = self.metrics.get("smoothed_rtt", 0.333) + MAX_ACK_DELAY
        timeout += max(4 * self.metrics.get("rtt_variance", 0.1665), GRANULARITY)
        newest, persistent = max(sent for _, sent in self.lost), longest > PERSISTENT * timeout
        known = {"in_flight": self.flight.bytes} if self.frames else {}
        self._emit(at, "lost", sent=newest, persistent=persistent, **known)
        self.lost, self.news = [], True

    def _on_congestion_state_updated(self, at: float, data: dict[str, Any]) -> None:
        """TCP's recovery: QUIC has its own rules of recovery in the replay."""
        new = str(data.get("new", ""))
        if self.trace.tcp and new == "recovery" != self.state:
            self._recovery(at)
        elif self.trace.tcp and self.state == "recovery" != new:
            self._emit(at, "recovered")
        self.state, self.news = new, True

    def _recovery(self, at: float) -> None:
        """TCP's recovery begins. It ends when what was sent so far is acknowledged (rfc6582#3.2)."""
        self._emit(at, "lost")
        self.timed_out, self.recover = False, self.sent_before

    def _on_metrics_updated(self, at: float, data: dict[str, Any]) -> None:
        before = self.flight.bytes
        values = {ALIASES.get(name, name): value for name, value in data.items() if isinstance(value, int | float)}
        falls = values.get("ssthresh", HIGH) < self.metrics.get("ssthresh", 0)
        self.metrics |= values
        self.sample = values.get("latest_rtt", self.sample)
        if self.trace.tcp and self.state == "recovery" and falls and self.done >= self.recover > 0:
            # The next recovery began at the end of the last one.
            self._emit(at, "recovered")
            self._recovery(at)
        if "bytes_in_flight" in data and not self.frames:
            after = int(data["bytes_in_flight"])
            if self.received:
                self._answered(at, before - self.unseen_lost - after)
            self.unseen_lost = self.unseen_sent = 0
            self.flight.set(at, after, self.metrics.get("smoothed_rtt", 1.0))
            self.received = False
        self.window = int(self.metrics["congestion_window"]) if "congestion_window" in self.metrics else None
        self.news |= "congestion_window" in values or "ssthresh" in values
        self._report(at)

    def _report(self, at: float) -> None:
        """Emits the windows, if something has happened since the last report."""
        if self.news and "congestion_window" in self.metrics:
            ssthresh = int(self.metrics.get("ssthresh", HIGH))
            known = {"ssthresh": ssthresh} if ssthresh < HIGH else {}
            self._emit(at, "window", bytes=int(self.metrics["congestion_window"]), **known)
            self.news = False

    def _answered(self, at: float, size: int) -> None:
        """Emits an ACK of `size` bytes, for the packets that were sent first."""
        if size <= 0:
            return
        left, newest = size, None
        while self.waiting and left > 0:
            key, (sent, length) = next(iter(self.waiting.items()))
            if left < length:
                break
            del self.waiting[key]
            left, newest = left - length, sent
        self._acked(at, size, newest)


def _settled(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events of one time: causes first, then the last report of the window."""
    events = sorted(events, key=lambda event: ORDER[event["kind"]])
    windows = [event for event in events if event["kind"] == "window"]
    return [event for event in events if event["kind"] != "window"] + windows[-1:]


_RTT_FIELDS = {"srtt": "smoothed_rtt", "rtt_min": "min_rtt"}


def _size(data: dict[str, Any]) -> int:
    return int((data.get("raw") or {}).get("length") or (data.get("header") or {}).get("length") or 0)


def _space(header: dict[str, Any]) -> str:
    return "application" if header.get("packet_type") in ("1RTT", "0RTT", None) else str(header["packet_type"])
