"""Parameters of queue laws as constants: `struct law_params` of each header."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn import _sojourn
from sojourn.bpf.fields import Fields, checked, fixed
from sojourn.core.errors import UserError

MEAN_PACKET = 1500
"""The bytes of a packet in laws that measure in bytes, and in rates in packets."""

QUEUE: Fields = ("interval", "queue_in_bytes", "ecn")

LARGEST_TABLE = 1 << 16
LARGEST_GAIN = 0.25

Parameters = dict[str, Any]


@dataclass(frozen=True)
class Constants:
    """The constants of a queue's program."""

    content: bytes
    macros: dict[str, str]


def scaled(value: float, bits: int) -> int:
    """A number with `bits` after the point, as 64 bits."""
    return round(value * 2.0**bits) % 2**64


def gain(name: str, value: float) -> int:
    """A gain in probability per packet.

    Raises `UserError` if it does not fit into the arithmetic.
    """
    if value > LARGEST_GAIN:
        raise UserError.expected(name, f"at most {LARGEST_GAIN:.0%} a packet in the kernel", round(value, 4))
    return scaled(value, 60)


def seconds(value: str) -> float:
    """A time of the registry in seconds."""
    return _sojourn.quantity("time", value)


def pi(found: Parameters, _rate: float | None) -> list[int]:
    """Constants of PI."""
    return [gain("a", found["a"]), gain("b", found["b"]), scaled(found["target"], 20)]


def pd(found: Parameters, _rate: float | None) -> list[int]:
    """Constants of the linear PD, whose gains are in percent."""
    gains = [gain(name, found[name] / 100) for name in ("k1", "k2")]
    return [*gains, scaled(found["k3"] / 100, 48), scaled(found["target"], 20)]


def fuzzy_red(found: Parameters, _rate: float | None) -> list[int]:
    """The table of fuzzy RED's rules.

    It reaches from an empty to a full queue, and from the fastest fall to the fastest rise.
    The ends are those of the preset that reaches farthest, unless they are set.
    """
    sets = {key: value for key, value in found.items() if key not in ("limit", "ecn", "hints", "ack_filter")}
    full, fall, rise = (
        math.ceil(found.get(name) or default) for name, default in (("full", 45), ("fall", 12), ("rise", 13))
    )
    queues, changes = np.arange(full + 1.0), np.arange(-fall, rise + 1.0)
    if queues.size * changes.size > LARGEST_TABLE:
        raise UserError.expected("full", f"a table of at most {LARGEST_TABLE} entries", queues.size * changes.size)
    table = np.asarray(_sojourn.surface(json.dumps(sets), queues, changes))
    # A queue cannot rise by more than its length: such entries get the value of the largest rise.
    possible = np.minimum(np.arange(changes.size), fall + queues[:, None].astype(int))
    values = [scaled(float(value), 31) for value in np.take_along_axis(table, possible, axis=1).ravel()]
    pairs = [low | high << 32 for low, high in zip(values[::2], [*values[1::2], 0], strict=False)]
    return [full, fall + rise, fall, *pairs]


def led(found: Parameters, rate: float | None) -> list[int]:
    """Constants of LED."""
    capacity = round(needed("led", rate) / 8 * seconds(found["interval"]))
    size = round(_sojourn.quantity("size", found["max_packet"])) or MEAN_PACKET
    law = [fixed(found[name]) for name in ("min", "max", "weight")]
    return [*law, max(capacity, 1), size, *(int(found[name]) for name in ("min_queue", "count_own", "forced"))]


def cpc(found: Parameters, rate: float | None) -> list[int]:
    """Constants of CPC: its design for the number of flows, the rate and the round-trip time."""
    packets = needed("cpc", rate) / 8 / MEAN_PACKET
    interval, propagation, flows = seconds(found["interval"]), seconds(found["rtt"]), found["flows"]
    rtt = propagation + found["target"] / packets
    window = rtt * packets / flows
    w = max(window, 2.0)
    inner, outer = 4 / (rtt * w**4), w / (2 * flows)
    averaging = seconds(found["averaging"]) or rtt
    return [
        scaled(found["target"], 20),
        scaled(interval / (interval + averaging), 32),
        scaled(propagation / (interval * flows), 32),
        scaled(1 / (packets * interval * flows), 44),
        scaled(outer, 32),
        scaled(outer * interval / (rtt * w), 44),
        gain("inner gain", inner * interval),
        gain("inner gain", inner * outer * rtt * w / 2),
        scaled(min(max(window, found["min_window"]), found["max_window"] * window), 32),
        scaled(found["min_window"], 32),
        scaled(max(found["max_window"] * window, found["min_window"]), 32),
        scaled(found["max_p"], 48),
    ]


def needed(name: str, rate: float | None) -> float:
    """The rate of the link. Raises `UserError` without one."""
    if rate is None:
        raise UserError(f"--rate: expected the rate at which the device sends, for {name}, got none")
    return rate


@dataclass(frozen=True)
class Law:
    """A law of a queue.

    Its header, the parameters that its program has, and its constants after those of all laws.
    """

    header: str
    names: Fields
    constants: Callable[[Parameters, float | None], list[int]]


SETS: Fields = (
    "preset",
    "inference",
    "empty",
    "modest",
    "full",
    "fall",
    "rise",
    "low",
    "moderate",
    "high",
    "full_falling",
)

LAWS = {
    "pi": Law("pi", (*QUEUE, "a", "b", "target"), pi),
    "pd": Law("pd", (*QUEUE, "k1", "k2", "k3", "target"), pd),
    "fuzzy-red": Law("fuzzy_red", (*QUEUE, *SETS), fuzzy_red),
    "led": Law(
        "led", ("interval", "ecn", "min", "max", "weight", "max_packet", "min_queue", "count_own", "forced"), led
    ),
    "cpc": Law("cpc", (*QUEUE, "flows", "rtt", "target", "averaging", "max_p", "min_window", "max_window"), cpc),
}
"""The laws that `sojourn attach --aqm` knows."""


def constants(name: str, settings: Sequence[tuple[str, Any]], rate: float | None) -> Constants:
    """The constants of a law's program. `rate` is the rate of the link in bit/s."""
    law = LAWS[name]
    found = checked("queue", name, settings, law.names)
    in_bytes = MEAN_PACKET if found.get("queue_in_bytes") else 0
    numbers = [fixed(found["interval"]), in_bytes, int(found["ecn"]), *law.constants(found, rate)]
    table = max(2 * (len(numbers) - 6), 2)
    return Constants(struct.pack(f"={len(numbers)}Q", *numbers), {"LAW": f'"{law.header}.h"', "MAX_TABLE": str(table)})
