"""Quantities as scenarios write them, exact, in the unit that a reader expects."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal


def time_text(seconds: float) -> str:
    """A time, exact to the nanosecond; 0 for one below it."""
    nanoseconds = round(max(seconds, 0.0) * 1e9)
    return _written(nanoseconds, {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1})


def rate_text(bps: float) -> str:
    """A rate, exact to the bit/s."""
    return _written(round(bps), {"Gbit/s": 10**9, "Mbit/s": 10**6, "kbit/s": 10**3, "bit/s": 1})


def short_rate(bps: float) -> str:
    """A rate in three digits, for a message."""
    return rate_text(float(f"{bps:.3g}"))


def short_time(seconds: float) -> str:
    """A time in three digits, for a message."""
    return time_text(float(f"{seconds:.3g}"))


def _written(count: int, units: Mapping[str, int]) -> str:
    """A count of the smallest unit in the largest in which it is 1 or more, without loss."""
    unit, size = next(((unit, size) for unit, size in units.items() if count >= size), next(iter(units.items())))
    return f"{Decimal(count) / size:f} {unit}"
