"""What a run of one flow shows: the states of its controller, its rate and its losses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sojourn.record import Record

PACKET, PAYLOAD = 1500, 1448
"""Bytes of a full packet, and of the data in it."""
STEP = 0.05
"""Seconds between values of the throughput."""
DROPS = 4
"""Causes of signals below this number are drops."""

STATES = STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT = (
    "Startup", "Drain", "Down", "Cruise", "Refill", "Up", "ProbeRTT",
)  # fmt: skip
"""The states of BBR version 3. Of version 1 the phases of PROBE_BW are told by their gain; it has no Refill."""
HAS = {"bbr3": frozenset(STATES), "bbr": frozenset(STATES) - {REFILL}}
"""The states of each controller."""
OF_GAIN = {-1: DOWN, 0: CRUISE, 1: UP}


@dataclass(frozen=True)
class Path:
    """A path: its rate in Mbit/s, its round-trip time in ms, its buffer in bandwidth-delay products."""

    rate: float
    rtt: float
    buffer: float = 2.0

    @property
    def seconds(self) -> float:
        """The round-trip time."""
        return self.rtt / 1e3

    @property
    def packets_per_second(self) -> float:
        """How many full packets the link sends in a second."""
        return self.rate * 1e6 / (8 * PACKET)

    @property
    def product(self) -> float:
        """The bandwidth-delay product in packets."""
        return self.packets_per_second * self.seconds

    def __str__(self) -> str:
        return f"{self.rate:g} Mbit/s, {self.rtt:g} ms"


@dataclass(frozen=True)
class Stay:
    """A stay in a state: when it began and ended, and the rows of the trace in which."""

    state: str
    begin: float
    end: float
    first: int
    next: int


class Run:
    """A run of one flow, its controller `cc`, over a path."""

    def __init__(self, record: Record, cc: str, path: Path) -> None:
        self.record, self.cc, self.path = record, cc, path
        self.rows: Mapping[str, npt.NDArray[np.float64]] = record.series["controller/f/0"]
        self.length = float(record["duration_s"])

    @cached_property
    def stays(self) -> list[Stay]:
        """The states in order of time; none for a controller that has none."""
        return list(self._stays())

    def _stays(self) -> Iterator[Stay]:
        names = self._names()
        if names is None or not len(names):
            return
        begins = [0, *(np.flatnonzero(names[1:] != names[:-1]) + 1).tolist()]
        times = self.rows["t"]
        for begin, after in zip(begins, [*begins[1:], len(names)], strict=True):
            end = float(times[after]) if after < len(names) else self.length
            yield Stay(str(names[begin]), float(times[begin]), end, begin, after)

    def _names(self) -> npt.NDArray[np.str_] | None:
        if "state" in self.rows:
            return np.asarray(np.asarray(STATES)[self.rows["state"].astype(int)])
        if "mode" not in self.rows:
            return None
        cycle = np.asarray([OF_GAIN[int(sign)] for sign in np.sign(np.round(self.rows["pacing_gain"] - 1, 6))])
        names = np.asarray([STARTUP, DRAIN, "", PROBE_RTT])[self.rows["mode"].astype(int)]
        return np.asarray(np.where(names == "", cycle, names))

    def first(self, state: str, after: float = 0.0) -> Stay | None:
        """The first stay in a state that begins at a time or later."""
        return next((stay for stay in self.stays if stay.state == state and stay.begin >= after), None)

    def following(self, stay: Stay) -> Stay | None:
        """The stay after one."""
        return next((each for each in self.stays if each.first == stay.next), None)

    def then(self, stay: Stay) -> str:
        """The state after a stay, in words."""
        after = self.following(stay)
        return after.state if after else "the end"

    @property
    def bandwidth(self) -> str:
        """The column with the estimated bandwidth: BBR's version 1 calls it otherwise."""
        return "bw" if self.cc == "bbr" else "max_bw"

    def column(self, name: str) -> npt.NDArray[np.float64] | None:
        """A column of the trace; None where the controller has no such variable."""
        return self.rows.get(name)

    def value(self, name: str, time: float) -> float:
        """A column at a time, NaN where there is none."""
        column = self.column(name)
        row = int(np.searchsorted(self.rows["t"], time, side="right")) - 1
        return float(column[row]) if column is not None and row >= 0 else float("nan")

    def within(self, name: str, begin: float, end: float) -> npt.NDArray[np.float64]:
        """The values of a column in a time, NaN left out; empty where the controller has no such variable."""
        column = self.column(name)
        if column is None:
            return np.empty(0)
        rows = (self.rows["t"] >= begin) & (self.rows["t"] < end) & ~np.isnan(column)
        return column[rows]

    def share(self, begin: float, end: float | None = None) -> float:
        """What the receiver could read from a time on, over what the link carries at its first rate."""
        table = self.record.series["throughput/f/0"]
        inside = (table["t"] >= begin) & (table["t"] < (self.length if end is None else end))
        return float(table["bps"][inside].mean()) / (self.path.rate * 1e6 * PAYLOAD / PACKET)

    def lost(self, begin: float, end: float | None = None) -> int:
        """Packets lost in a time."""
        signals = self.record.series["signals/bottleneck"]
        inside = (signals["t"] >= begin) & (signals["t"] < (self.length if end is None else end))
        return int((inside & (signals["cause"] < DROPS)).sum())

    def loss_ratio(self, begin: float, end: float | None = None) -> float:
        """Packets lost in a time over those sent in it."""
        stop = self.length if end is None else end
        arrived = self.share(begin, stop) * self.path.packets_per_second * (stop - begin)
        lost = self.lost(begin, stop)
        return lost / max(1.0, arrived + lost)


def one_flow(path: Path, cc: str, seconds: float, traffic: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario of one flow over a path, with all that a [`Run`] reads."""
    limit = max(4, round(path.buffer * path.product))
    link = {
        "name": "bottleneck", "from": "a", "to": "b", "rate": f"{path.rate:g} Mbit/s",
        "delay": f"{path.rtt / 2:g} ms", "duplex": True, "queue": {"limit": f"{limit} packets"},
        "changes": [], "impairments": [], "back": {"queue": {"limit": "1000000 packets"}, "impairments": []},
    }  # fmt: skip
    flow = {"name": "f", "from": "a", "to": "b", "traffic": dict(traffic)}
    flows = ["f/0"]
    return {
        "name": f"{cc}, {path}", "duration": f"{seconds:g} s", "packet": f"{PACKET} B",
        "links": [link], "flows": [flow],
        "tcp": {
            "profile": "linux", "mss": f"{PAYLOAD} B", "window": "100000 packets", "control": {"cc": cc},
            "sack_algorithm": "rack-tlp",
        },
        "trace": {
            "controller": {"flows": flows}, "throughput": {"flows": flows, "every": f"{STEP:g} s"},
            "signals": {"links": ["bottleneck"]},
        },
    }  # fmt: skip
