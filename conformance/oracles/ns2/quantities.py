"""Quantities of scenario files (`"10 Mbit/s"`, `"50 ms"`, `"100 packets"`) for ns-2.

Times are whole nanoseconds, rates bit/s, sizes bytes. Every error is a `FieldError` that names the field.
"""

from __future__ import annotations

import re
from typing import Any

_QUANTITY = re.compile(r"^\s*([+-]?[0-9._]+(?:[eE][+-]?[0-9]+)?)\s*([^\s0-9.]*)\s*$")
_TIME = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "sec": 1e9, "min": 60e9, "h": 3600e9}
_RATE = {
    **dict.fromkeys(("bit/s", "bps", "b/s"), 1.0),
    **dict.fromkeys(("kbit/s", "kbps", "kb/s"), 1e3),
    **dict.fromkeys(("Mbit/s", "Mbps", "Mb/s"), 1e6),
    **dict.fromkeys(("Gbit/s", "Gbps", "Gb/s"), 1e9),
}
_SIZE = {"B": 1.0, "byte": 1.0, "bytes": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024.0, "MiB": 1024.0**2}
_PACKETS = {"packets": 1.0, "packet": 1.0}


class FieldError(ValueError):
    """A field that can't be read, or that ns-2 can't simulate.

    The message has the field, the expectation and the value found.
    """

    def __init__(self, field: str, got: object, expected: str) -> None:
        super().__init__(f"{field}: expected {expected}, got {got!r}")
        self.field = field


def _scaled(value: Any, units: dict[str, float], field: str, expected: str) -> float:
    match = _QUANTITY.match(value) if isinstance(value, str) else None
    if match is None or match.group(2) not in units:
        raise FieldError(field, value, expected)
    try:
        number = float(match.group(1).replace("_", ""))
    except ValueError:
        raise FieldError(field, value, expected) from None
    if number < 0.0:
        raise FieldError(field, value, f"{expected}, zero or more")
    return number * units[match.group(2)]


def time_ns(value: Any, field: str) -> int:
    """A time in nanoseconds, rounded to the nearest one."""
    return round(_scaled(value, _TIME, field, 'a time such as "50 ms"'))


def rate_bps(value: Any, field: str) -> float:
    """A rate in bit/s."""
    return _scaled(value, _RATE, field, 'a rate such as "10 Mbit/s"')


def size_bytes(value: Any, field: str) -> int:
    """A size in bytes."""
    return round(_scaled(value, _SIZE, field, 'a size such as "1500 B"'))


def is_packets(value: Any) -> bool:
    """Whether a queue length is written in packets: a bare number or `"N packets"`."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return True
    match = _QUANTITY.match(value) if isinstance(value, str) else None
    return match is not None and match.group(2) in _PACKETS


def packets(value: Any, field: str, packet: int) -> float:
    """A queue length in packets; one in bytes becomes packets of the mean size `packet` (bytes)."""
    if isinstance(value, bool):
        raise FieldError(field, value, "a number of packets")
    if isinstance(value, (int, float)):
        return float(value)
    if is_packets(value):
        return _scaled(value, _PACKETS, field, "a number of packets")
    return size_bytes(value, field) / packet
