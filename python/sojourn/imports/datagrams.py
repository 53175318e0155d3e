"""Converts the UDP flows of a capture into groups with their rates and packet size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sojourn.core.quantities import rate_text, time_text

LEAST_PACKETS = 10  # per direction; fewer packets have no rate
MOST_PARTS = 100  # parts of a schedule
LARGEST = 65_535  # bytes per packet


def datagram_ways(datagrams: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The directions of UDP flows that have a rate.

    Sets the round-trip time of each to that of its flow, and marks each as kept.
    """
    ways = []
    for flow in datagrams:
        for way in flow["ways"]:
            if way["packets"] >= LEAST_PACKETS:
                way["kept"] = True
                ways.append(way | {key: flow[key] for key in ("rtt_s", "from", "to")} | {"start_s": way["first_s"]})
    return ways


def datagram_group(name: str, way: dict[str, Any], delay: float, shift: float) -> dict[str, Any]:
    """The group of a direction: a constant rate, or a schedule if the rate varies."""
    size = min(max(round(way["bytes"] / way["packets"]), 1), LARGEST)
    parts = _parts(way)
    ends = ("left", "right") if way["rightward"] else ("right", "left")
    start = way["first_s"] - delay + shift
    group: dict[str, Any] = {
        "name": name,
        "from": ends[0],
        "to": ends[1],
        "start": time_text(start),
        "access": {"delay": time_text(delay)},
    }
    # Stop halfway to the next expected packet.
    group["stop"] = time_text(start + way["last_s"] - way["first_s"] + parts[-1].seconds * size / (2 * parts[-1].bytes))
    if len(parts) == 1:
        group["traffic"] = {"kind": "cbr", "rate": rate_text(parts[0].rate), "size": f"{size} B"}
    else:
        rates = [
            {"at": time_text(part.begin)} | ({"rate": rate_text(part.rate)} if part.bytes else {"silent": True})
            for part in parts
        ]
        group["traffic"] = {"kind": "schedule", "transport": "udp", "size": f"{size} B", "rates": rates}
    return group


@dataclass
class Part:
    """A part of a schedule: its start after the first packet, its length, and its bytes."""

    begin: float
    seconds: float
    bytes: float

    @property
    def rate(self) -> float:
        """The mean rate in bit/s, at least 1, so that the part carries its bytes."""
        return max(8 * self.bytes / self.seconds, 1.0)


def _parts(way: dict[str, Any]) -> list[Part]:
    """The parts of nearly constant rate, at most `MOST_PARTS`."""
    lasting = way["last_s"] - way["first_s"]
    window = max(1, math.ceil(LEAST_PACKETS * lasting / way["packets"]))
    while True:
        parts = _merged(_windows(way, window), way["bytes"] / way["packets"])
        if len(parts) <= MOST_PARTS:
            return parts
        window *= 2


def _windows(way: dict[str, Any], window: int) -> list[Part]:
    """The bytes per window of `window` seconds.

    A remainder of less than half a window is added to the last window.
    """
    first, last = way["first_s"], way["last_s"]
    gap = (last - first) / (way["packets"] - 1)
    end = last - first + max(gap, 1e-6)
    tenths = range(math.floor(first * 10) + 10 * window, math.ceil(last * 10), 10 * window)
    borders = [0.0, *(at / 10 - first for at in tenths if first + end - at / 10 > window / 2), end]
    parts = [Part(begin, until - begin, 0.0) for begin, until in pairwise(borders)]
    scale = way["bytes"] / sum(count for _, count in way["tenths"])
    at = 0
    for tenth, count in way["tenths"]:
        while at + 1 < len(parts) and tenth / 10 >= first + parts[at + 1].begin - 1e-6:
            at += 1
        parts[at].bytes += count * scale
    return parts


def _merged(windows: list[Part], size: float) -> list[Part]:
    """Merges adjacent windows of about the same rate.

    Rates may differ by the noise of counting few packets.
    """
    parts: list[Part] = []
    for each in windows:
        last = parts[-1] if parts else None
        if last is not None and _alike(last, each, size):
            last.seconds += each.seconds
            last.bytes += each.bytes
        else:
            parts.append(each)
    return parts


def _alike(one: Part, other: Part, size: float) -> bool:
    if not one.bytes or not other.bytes:
        return one.bytes == other.bytes
    packets = max(one.bytes, other.bytes) / size
    low, high = sorted((one.rate, other.rate))
    return 1 - low / high <= 0.25 + 2 / math.sqrt(packets)
