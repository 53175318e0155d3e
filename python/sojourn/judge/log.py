"""A sender's log as events for the replay, from any source."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

FULL = 2  # packets: a window with less room than this counts as full
UNUSED = 0.5  # of a window: a sender that uses less is application-limited (rfc9002#7.8)


@dataclass
class Log:
    """The events of one sender.

    `events` are dicts with `at` in seconds, `kind`, and sizes in bytes. `tcp` is whether TCP's rules of recovery apply.
    `linux` is whether the sender counts in whole segments. `mss` is the size of full packets at the start in bytes.
    `estimated` is whether the windows are estimates from the data in flight.
    """

    name: str
    tcp: bool
    linux: bool
    mss: int
    events: list[dict[str, Any]] = field(default_factory=list)
    estimated: bool = False


@dataclass
class Flight:
    """The packets in flight, and what limits the sender.

    The window counts as full if the most data in flight in the last round trip left less room than two packets.
    """

    bytes: int = 0
    recent: deque[tuple[float, int]] = field(default_factory=deque)

    def set(self, at: float, size: int, span: float) -> None:
        """Sets the bytes in flight. Older values than `span` seconds are dropped."""
        self.bytes = size
        while self.recent and (self.recent[-1][1] <= size or self.recent[0][0] < at - span):
            if self.recent[0][0] < at - span:
                self.recent.popleft()
            else:
                self.recent.pop()
        self.recent.append((at, size))

    def limit(self, window: int | None, mss: int) -> str:
        """What limits a sender with this window."""
        if window is None:
            return "unknown"
        most = self.recent[0][1] if self.recent else self.bytes
        if most + FULL * mss > window:
            return "window"
        return "application" if most < UNUSED * window else "unknown"
