"""Reads quantities as scenarios write them, and formats them exactly and in a readable unit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any

from sojourn import _sojourn
from sojourn.core.errors import ScenarioError
from sojourn.core.field_labels import value_label

SCALES = {
    "bit/s": {"Gbit/s": 1e9, "Mbit/s": 1e6, "kbit/s": 1e3, "bit/s": 1.0},
    "s": {"s": 1.0, "ms": 1e-3, "us": 1e-6},
    "B": {"GB": 1e9, "MB": 1e6, "kB": 1e3, "B": 1.0},
    "packets": {"packets": 1.0},
    "BDP": {"BDP": 1.0},
}
"""The base units of quantities, each with the units in which it is shown, the largest first."""


def base_quantity(text: str) -> tuple[float, str] | None:
    """The number and the base unit of a quantity such as `10 Mbit/s`; None for another text.

    >>> base_quantity("10 Mbit/s"), base_quantity("20 ms"), base_quantity("50 packets"), base_quantity("red")
    ((10000000.0, 'bit/s'), (0.02, 's'), (50.0, 'packets'), None)
    """
    for unit in ("packets", "packet", "BDP"):
        if text.endswith(unit):
            with suppress(ValueError):
                return float(text.removesuffix(unit)), unit if unit == "BDP" else "packets"
    for kind, unit in (("rate", "bit/s"), ("time", "s"), ("size", "B")):
        with suppress(ScenarioError):
            return float(_sojourn.quantity(kind, text)), unit
    return None


def common_unit(values: Iterable[Any]) -> str | None:
    """The base unit of quantities; None for other values, and for quantities of different kinds."""
    found = [base_quantity(value) if isinstance(value, str) else None for value in values]
    units = {each[1] for each in found if each is not None}
    return units.pop() if len(units) == 1 and all(found) else None


def shown_scale(unit: str, values: Iterable[float]) -> tuple[float, str]:
    """The unit in which quantities of a base unit are shown, and its size."""
    most = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    scales = SCALES.get(unit, {unit: 1.0})
    name = next((name for name, size in scales.items() if most >= size), next(iter(scales)))
    return scales[name], name


def quantity_text(value: float, unit: str) -> str:
    """A quantity of a base unit as scenarios write it.

    >>> quantity_text(1e7, "bit/s"), quantity_text(0.02, "s"), quantity_text(50, "packets")
    ('10 Mbit/s', '20 ms', '50 packets')
    """
    size, name = shown_scale(unit, [value])
    return f"{value / size:.12g} {name}"


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


def axis_text(value: Any, unit: str | None) -> str:
    """A value of an axis as scenarios write it: of its base unit if it has one."""
    return value_label(value) if unit is None else quantity_text(float(value), unit)
