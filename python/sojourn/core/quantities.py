"""Formats quantities as scenarios write them, exactly and in a readable unit."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal


def time_text(seconds: float) -> str:
    """A time, exact to the nanosecond; 0 if it is shorter."""
    nanoseconds = round(max(seconds, 0.0) * 1e9)
    return _written(nanoseconds, {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1})


def rate_text(bps: float) -> str:
    """A rate, exact to 1 bit/s."""
    return _written(round(bps), {"Gbit/s": 10**9, "Mbit/s": 10**6, "kbit/s": 10**3, "bit/s": 1})


def short_rate(bps: float) -> str:
    """A rate with three digits, for messages."""
    return rate_text(float(f"{bps:.3g}"))


def short_time(seconds: float) -> str:
    """A time with three digits, for messages."""
    return time_text(float(f"{seconds:.3g}"))


def _written(count: int, units: Mapping[str, int]) -> str:
    """Converts a count of the smallest unit, without loss, to the largest with 1 or more."""
    unit, size = next(((unit, size) for unit, size in units.items() if count >= size), next(iter(units.items())))
    return f"{Decimal(count) / size:f} {unit}"
