"""The series of a Flent result, their kinds, and the properties of their flows.

Names, metadata and raw samples follow Flent's tests and runners, in file formats 1 to 4.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from statistics import fmean
from typing import Any

import numpy as np

MBIT = {"Mbits/s": 1.0, "Kbits/s": 1e-3, "bits/s": 1e-6}  # units of rates, in Mbit/s
DERIVED = re.compile(r" (avg|sum|totals|fairness)$")
PROBE = "Ping (ms)"
VOIP = "VoIP::"

_CODEPOINTS = (
    {f"cs{n}": 8 * n for n in range(8)}
    | {f"af{n}{drop}": 8 * n + 2 * drop for n in range(1, 5) for drop in range(1, 4)}
    | {"ef": 46, "va": 44, "le": 1}
)
# Meanings of Flent's labels other than DSCP names: https://flent.org/tests.html, 802.11e in `bursts_11e`.
_LABELS = _CODEPOINTS | {"be": 0, "bk": 8, "vi": 40, "vo": 56}
_LABEL = re.compile(rf"6?({'|'.join(sorted(_LABELS, reverse=True))})\d*")


def codepoint_name(dscp: int) -> str | int:
    """The name of a DSCP as scenarios write it, or its number if it has none."""
    return next((name for name, value in _CODEPOINTS.items() if value == dscp), dscp)


def is_number(value: Any) -> bool:
    """Whether a value is a finite number below 10^12."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e12


def table(value: Any) -> dict[str, Any]:
    """The value if it is a table, else an empty table."""
    return value if isinstance(value, dict) else {}


def kind_of(name: str, names: dict[str, Any], command: str) -> str:
    """The kind of a series: transfer, probe, datagrams, voip, derived, statistic, or other.

    `NAME::label` is a flow of its own, unless a series NAME exists, or the label is a statistic of a socket.
    """
    parent, _, label = name.rpartition("::")
    if DERIVED.search(name) or command.endswith("(computed)"):
        return "derived"
    if name.startswith(VOIP):
        return "voip"
    if parent and (parent in names or label.startswith("tcp_")):
        return "statistic"
    for start, kind in ((PROBE, "probe"), ("TCP ", "transfer"), ("SCTP ", "transfer"), ("UDP ", "datagrams")):
        if name.startswith(start):
            return kind
    return "statistic" if parent else "other"


@dataclass(frozen=True)
class Series:
    """A series of a result, and what its runner recorded about it.

    `values` has one value or None for each of the times `x`. `host` is the far end, `meta` its table of SERIES_META.
    """

    name: str
    x: list[float]
    values: list[float | None]
    host: str
    meta: dict[str, Any] = field(default_factory=dict)
    raw: list[Any] = field(default_factory=list)

    @cached_property
    def words(self) -> list[str]:
        """The words of the name in lower case, without the host."""
        return re.split(r"[\s:()]+", self.name.removesuffix(self.host).lower())

    @cached_property
    def command(self) -> str:
        """The command that measured it; empty if unknown."""
        return command_of(self.meta)

    def option(self, flag: str) -> str:
        """The value of an option in netperf's command line; empty if absent."""
        words = self.command.split() if "netperf" in self.command else []
        return next((value for word, value in pairwise(words) if word == flag), "")

    @property
    def is_down(self) -> bool:
        """Whether its data comes from the far end, by netperf's test or else by the name."""
        test = self.option("-t")
        return test.endswith("_MAERTS") if test else "download" in self.words

    @property
    def has_values(self) -> bool:
        """Whether any value is above zero. The properties below require it."""
        return any(self.values)

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last index with a value above zero."""
        active = [at for at, value in enumerate(self.values) if value]
        return active[0], active[-1]

    @cached_property
    def mean(self) -> float:
        """The mean rate in Mbit/s while it was active.

        It is netperf's own, else that of its samples, else that of the series.
        """
        stated: Any = self.meta.get("MEAN_VALUE")
        if is_number(stated) and stated > 0:
            return float(stated) * MBIT.get(str(self.meta.get("UNITS")), 1.0)
        samples = [(float(each["val"]), float(each["dur"])) for each in map(table, self.raw) if _is_sample(each)]
        seconds = sum(duration for _, duration in samples)
        return sum(value * duration for value, duration in samples) / seconds if seconds > 0 else self.sent

    @property
    def sent(self) -> float:
        """The mean of the values while it was active, without gaps."""
        first, last = self.span
        return fmean(value for value in self.values[first : last + 1] if value is not None)

    def levels(self) -> list[float | None]:
        """The rate at each time in Mbit/s, scaled to the mean rate of the flow.

        Gaps are interpolated as in Flent's plots.
        """
        first, last = self.span
        known = {at: value for at, value in enumerate(self.values) if value is not None and first <= at <= last}
        between = np.interp(range(first, last + 1), list(known), list(known.values()))
        found: list[float | None] = [None] * len(self.values)
        found[first : last + 1] = (between * self.mean / between.mean()).tolist()
        return found

    def dscp(self) -> int:
        """The DSCP of its packets; 0 if unknown.

        Sources are the socket, netperf's command, and a label in the name.
        """
        side = "DOWNSTREAM_TOS" if self.is_down else "UPSTREAM_TOS"
        marking = _of_side(self.option("-Y"), self.is_down).lower()
        for written in (self.meta.get("DATA_TOS"), self.meta.get(side), marking):
            if (byte := _byte(written)) is not None:
                return byte >> 2
        if marking in _LABELS:
            return _LABELS[marking]
        labels = [found[1] for word in self.words if (found := _LABEL.fullmatch(word))]
        return _LABELS[labels[0]] if labels else 0

    def controller(self, is_one: Callable[[str], bool]) -> str:
        """The congestion controller of the flow; empty if unknown.

        Sources are the socket, netperf's command, and the words of the name. `is_one` is whether a word names a
        controller.
        """
        stated = self.meta.get("CONG_CONTROL")
        given = _of_side(self.option("-K"), self.is_down)
        named = [word for word in self.words if is_one(word)]
        return str(stated).lower() if isinstance(stated, str) and stated else given.lower() or "".join(named[:1])


def command_of(meta: dict[str, Any]) -> str:
    """The command line of SERIES_META; empty if absent."""
    said = meta.get("COMMAND") or meta.get("command")
    return said if isinstance(said, str) else ""


def host_of(name: str, command: str, hosts: dict[str, None]) -> str:
    """The far end of a series: the host in its name or its command, else the first of the test."""
    bare = name.removesuffix(" (extra)")
    last = bare.rpartition(" ")[2]
    if last in hosts or bare != name:
        return last
    words = command.split()
    if "-H" in words[:-1] and "netperf" in command:
        return words[words.index("-H") + 1]
    if words and re.search(r"\b(f?ping6?|irtt)$", words[0]):
        return words[-1]
    return next(iter(hosts), "")


def _is_sample(raw: dict[str, Any]) -> bool:
    return is_number(raw.get("val")) and is_number(raw.get("dur")) and raw["val"] >= 0 and raw["dur"] >= 0


def _of_side(pair: str, down: bool) -> str:
    """The part of netperf's "local,remote" value for the side that sends the data."""
    sides = pair.split(",")
    return sides[-1] if down else sides[0]


def _byte(written: Any) -> int | None:
    """A byte from a number or from text such as "0x20".

    None for other values, such as a TOS that netperf does not know.
    """
    if isinstance(written, str):
        try:
            written = int(written, 0)
        except ValueError:
            return None
    return int(written) if is_number(written) and 0 <= written <= 255 else None
