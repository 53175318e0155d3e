"""Derives a TCP sender's log from the segments at its host.

A capture has no congestion window. The window is then the largest flight since the last reduction, and the threshold
after a loss is the largest flight of the round trip after the recovery. With reports of the sender, as a Linux host's
log has them, windows and signals are those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.judge.log import Flight, Log

MIN_RTO = 0.19  # seconds beyond the RTT after which a retransmission is that of a timeout; Linux has 0.2 (rfc6298#2.4)
PROMPT = 1e-4  # seconds: a retransmission within it after an ACK is no timeout
PROBE = 1.5  # round trips after which a retransmission of the last segment is a probe (rfc8985#7.2)
CLOCKED = 0.05  # of a round trip: a segment sent within it after an ACK is clocked by the ACK
LEAST_CLOCKED = 0.001  # seconds, at least
TICK = 1e-6  # seconds: a report within it after an ACK belongs to the ACK; a kernel's clock has steps of 256 ns
SOON = 0.25  # of the round trip after recovery: the largest flight until then is the threshold
STEADY = 0.75  # of the largest flight in the round trip after recovery: the first one, if no slow start follows
NO_THRESHOLD = 2**30  # segments: a larger threshold is arbitrarily high
ORDER = {"acked": 1, "lost": 2, "timeout": 2, "spurious": 2, "recovered": 2, "window": 3}

Report = tuple[float, str, float, float]
"""A report of a sender, as of `_sojourn.KernelRun.reports`."""


def positions(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sequence numbers of 32 bits as byte offsets from the first.

    -1 counts as the number before.

    >>> positions(np.array([2**32 - 10, 90, -1, 2**32 - 10])).tolist()
    [0, 100, 100, 0]
    """
    known = numbers.copy()
    last = np.maximum.accumulate(np.where(numbers >= 0, np.arange(len(numbers)), 0))
    known = known[last]
    steps = np.diff(known, prepend=known[:1])
    return np.cumsum((steps + 2**31) % 2**32 - 2**31)


@dataclass
class Sender:
    """The state of a TCP sender while its segments are read.

    Offsets and sizes are in bytes, times in seconds.
    """

    mss: int
    reported: bool
    una: int = 0
    highest: int = 0
    recover: int = -1
    state: str = "open"
    window: int | None = None
    threshold: dict[str, int] = field(default_factory=dict)
    last_ack: float = 0.0
    advanced: float = 0.0
    srtt: float = 0.0
    rtt_min: float = 0.0
    rtt: float | None = None
    receiver: int = -1
    unclocked: float = -1.0
    duplicates: bool = False
    sent: dict[int, tuple[float, bool]] = field(default_factory=dict)
    flight: Flight = field(default_factory=Flight)
    lost: dict[str, Any] | None = None
    judged_until: float = -1.0
    after: int = 0
    unsure: bool = False
    events: list[dict[str, Any]] = field(default_factory=list)

    def emit(self, at: float, kind: str, **values: Any) -> dict[str, Any]:
        """Adds an event."""
        self.events.append({"at": at, "kind": kind} | values)
        return self.events[-1]

    def add(self, at: float, offset: int, size: int) -> None:
        """A data segment is sent."""
        end = offset + size
        if offset < self.highest:
            self.retransmit(at, offset, end)
        elif at - self.last_ack > max(CLOCKED * self.srtt, LEAST_CLOCKED):
            self.unclocked = at
        self.sent[end] = (at, offset < self.highest)
        self.highest = max(self.highest, end)
        self.flight.set(at, self.highest - self.una, self.srtt or 1.0)

    def retransmit(self, at: float, offset: int, end: int) -> None:
        """Infers from a retransmission what the sender has detected, unless it reports that itself."""
        waited = at - self.last_ack
        if self.reported:
            return
        again = self.sent.get(end, (at, False))[1]
        late = waited > PROMPT and at - self.advanced > self.srtt + MIN_RTO
        if offset == self.una and (late or (self.state == "recovery" and again)):
            # In recovery, a lost retransmission or a timeout.
            self.unsure = self.state == "recovery"
            self.timeout(at)
        elif self.state == "open" and not (end == self.highest and waited > PROBE * self.srtt):
            self.recovery(at)

    def timeout(self, at: float) -> None:
        """The retransmission timer expires."""
        self.unjudged()
        self.emit(at, "timeout")
        self.state, self.recover, self.window = "timeout", self.highest, None
        if not self.reported:
            self.emit(at, "window", bytes=self.mss)

    def recovery(self, at: float) -> None:
        """Recovery begins: it ends when what was sent so far is acknowledged (rfc6582#3.2)."""
        self.unjudged()
        if self.unsure:
            flight = self.highest - self.una
            self.emit(at, "window", bytes=flight, ssthresh=flight)
            self.unsure, self.window = False, flight
        self.emit(at, "lost")
        self.state, self.recover = "recovery", self.highest
        if not self.reported:
            self.lost = self.emit(at, "window", bytes=self.window or self.highest - self.una)
            self.window = None

    def unsettled(self, at: float, flight: int) -> bool:
        """Whether an unknown reduction, and slow start after it, may still set the window."""
        if not self.unsure or self.state != "open":
            return self.unsure
        if at >= self.judged_until and self.after < STEADY * flight:
            self.after, self.judged_until = flight, at + self.srtt
        return at < self.judged_until

    def unjudged(self, unknown: bool = True) -> None:
        """Ends the estimate of a threshold.

        It is unknown if it ends too early, or if slow start followed recovery.
        """
        if self.lost is not None and unknown:
            self.lost.pop("ssthresh", None)
        self.lost, self.after = None, 0

    def sample(self, rtt: float) -> None:
        """A sample of the RTT (rfc6298#2)."""
        self.rtt = rtt
        self.srtt = self.srtt * 0.875 + rtt * 0.125 if self.srtt else rtt
        self.rtt_min = min(self.rtt_min, rtt) if self.rtt_min else rtt

    def ack(self, at: float, offset: int, receiver: int) -> None:
        """An ACK arrives, with the receive window."""
        self.receiver, self.last_ack = receiver, at
        size = offset - self.una
        if size <= 0:
            self.duplicates = self.highest > self.una
            return
        self.duplicates, self.advanced = False, at
        covered = [end for end in self.sent if end <= offset]
        packets = [self.sent.pop(end) for end in covered]
        if packets and not self.reported and not any(again for _, again in packets):
            self.sample(at - max(sent for sent, _ in packets))
        done = self.state != "open" and offset >= self.recover
        if not self.unsure:
            self.acked(at, size, self.state == "timeout" and not done)
        self.rtt, self.una = None, offset
        self.flight.set(at, self.highest - offset, self.srtt or 1.0)
        if done:
            if self.state == "recovery":
                self.emit(at, "recovered")
            self.state, self.judged_until = "open", at + self.srtt
        if self.reported and self.window is not None:
            # A sender reports changes. The window of this ACK is the last one, unless a report follows.
            self.emit(at, "window", bytes=self.window, **self.threshold)

    def acked(self, at: float, size: int, after_timeout: bool) -> None:
        """Adds an ACK of `size` bytes."""
        rtts = {"srtt": self.srtt, "rtt_min": self.rtt_min} | ({} if self.rtt is None else {"rtt": self.rtt})
        flight, limit = self.highest - self.una, self.limit(at)
        self.emit(at, "acked", bytes=size, in_flight=flight, limit=limit, after_timeout=after_timeout, **rtts)

    def limit(self, at: float) -> str:
        """What limits the sender.

        Without reports, only segments that follow ACKs show a full window.
        """
        if self.reported:
            return self.flight.limit(self.window, self.mss)
        most = self.flight.recent[0][1] if self.flight.recent else self.flight.bytes
        full = 0 <= self.receiver < most + 2 * self.mss
        return "unknown" if full or self.unclocked > at - self.srtt else "window"

    def settle(self, at: float) -> None:
        """Estimates the window after the segments that an ACK allowed."""
        flight = self.highest - self.una
        if self.lost is not None and self.state == "open":
            self.after = self.after or flight
            if at <= self.judged_until - (1 - SOON) * self.srtt:
                self.lost["ssthresh"] = max(self.lost.get("ssthresh", 0), flight)
            if at >= self.judged_until:
                self.unjudged(self.after < STEADY * flight)
        if self.state == "recovery" or self.duplicates or not flight or self.unsettled(at, flight):
            return
        self.window = max(self.window or 0, flight)
        # What reduced the window is not known, so neither is its threshold.
        self.emit(at, "window", bytes=self.window, **({"ssthresh": flight} if self.unsure else {}))
        self.unsure = False

    def report(self, report: Report) -> None:
        """Adds a report of the sender."""
        at, kind, first, second = report
        at = self.last_ack if at - self.last_ack < TICK else at
        if kind == "rtt":
            self.sample(first)
        elif kind == "timeout":
            self.timeout(at)
        elif kind == "recovery":
            self.recovery(at)
        else:
            self.window = round(first) * self.mss
            self.threshold = {"ssthresh": round(second) * self.mss} if second < NO_THRESHOLD else {}
            self.emit(at, "window", bytes=self.window, **self.threshold)


def log_of(name: str, columns: Mapping[str, NDArray[Any]], reports: list[Report] | None = None) -> Log:
    """The log of a sender from the columns of `_sojourn.capture_segments`.

    `reports` are those of the sender, if it has any.
    """
    forward, sizes = columns["forward"], columns["bytes"].astype(int)
    data = forward & (sizes > 0)
    mss = int(np.bincount(sizes[data]).argmax())
    sender, offsets = Sender(mss, reports is not None), positions(columns["number"])
    start = int(np.flatnonzero(data)[0])
    sender.una = sender.highest = int(offsets[start])
    waiting = list(reports or [])[::-1]
    answered = False
    for number in range(start, len(offsets)):
        at, offset = float(columns["t"][number]), int(offsets[number])
        while waiting and waiting[-1][0] <= at:
            sender.report(waiting.pop())
        if data[number]:
            sender.add(at, offset, int(sizes[number]))
        elif not forward[number]:
            if reports is None and (answered or sender.highest > sender.una):
                sender.settle(sender.last_ack if answered else at)
            while waiting and waiting[-1][1] == "rtt" and waiting[-1][0] < at + TICK:
                sender.report(waiting.pop())
            sender.ack(at, offset, int(columns["window"][number]))
            answered = True
    events = sender.events
    if reports is not None:
        events = sorted(events, key=lambda event: (event["at"], ORDER[event["kind"]]))
        last = {event["at"]: number for number, event in enumerate(events) if event["kind"] == "window"}
        events = [
            each
            for number, each in enumerate(events)
            if last.get(each["at"], number) == number or each["kind"] != "window"
        ]
    return Log(name, True, True, mss, events, estimated=reports is None)
