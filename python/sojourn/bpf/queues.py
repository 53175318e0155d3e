"""Parameters of queue laws as constants: `struct law_params` of each header."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sojourn import _sojourn
from sojourn.bpf.fields import Fields, checked
from sojourn.core.errors import UserError

MEAN_PACKET = 1500
"""The bytes of a packet in laws that measure in bytes, and in rates in packets."""

QUEUE: Fields = ("interval", "queue_in_bytes", "ecn")


@dataclass(frozen=True)
class Constants:
    """The constants of a queue's program."""

    content: bytes
    macros: dict[str, str]


@dataclass(frozen=True)
class Law:
    """A law of a queue.

    Its header, the parameters that its program has, and whether it needs the rate of the link.
    """

    header: str
    names: Fields
    needs_rate: bool = False


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
    "pi": Law("pi", (*QUEUE, "a", "b", "target")),
    "pd": Law("pd", (*QUEUE, "k1", "k2", "k3", "target")),
    "fuzzy-red": Law("fuzzy_red", (*QUEUE, *SETS)),
    "led": Law(
        "led",
        ("interval", "ecn", "min", "max", "weight", "max_packet", "min_queue", "count_own", "forced"),
        needs_rate=True,
    ),
    "cpc": Law(
        "cpc",
        (*QUEUE, "flows", "rtt", "target", "averaging", "max_p", "min_window", "max_window"),
        needs_rate=True,
    ),
}
"""The laws that `sojourn attach --aqm` knows."""

WITHOUT_RATE = 1e9
"""The rate in bit/s for laws that do not depend on it."""


def constants(name: str, settings: Sequence[tuple[str, Any]], rate: float | None) -> Constants:
    """The constants of a law's program. `rate` is the rate of the link in bit/s."""
    law = LAWS[name]
    found = checked("queue", name, settings, law.names)
    if rate is None and law.needs_rate:
        raise UserError(f"--rate: expected the rate at which the device sends, for {name}, got none")
    numbers = _sojourn.fixed_point(json.dumps(found), round(rate or WITHOUT_RATE), MEAN_PACKET)
    table = max(2 * (len(numbers) - 6), 2)
    return Constants(struct.pack(f"={len(numbers)}Q", *numbers), {"LAW": f'"{law.header}.h"', "MAX_TABLE": str(table)})
