"""Checks of arguments: numbers out of range, and arrays whose shapes do not match."""

from __future__ import annotations

import math
import sys
from numbers import Real

import numpy as np
import numpy.typing as npt

from sojourn.core.errors import UserError

Array = npt.NDArray[np.float64]
LEAST, MOST = 1e-9, 1e12
LONGEST = 1e6  # seconds


def _shown(limit: float) -> str:
    """A limit as text: 1e12, not 1e+12."""
    return f"{limit:g}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")


def within(where: str, value: object, expected: str, low: float, high: float) -> float:
    """A number from `low` to `high`. Raises `UserError` with `expected` for other values."""
    try:
        found = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        found = math.nan
    if not low <= found <= high:
        raise UserError.expected(where, expected, value)
    return found


def finite(where: str, value: object) -> float:
    """A finite number. Raises `UserError` for other values."""
    return within(where, value, "a finite number", -sys.float_info.max, sys.float_info.max)


def positive(where: str, value: object, unit: str) -> float:
    """A number of `unit` from 1e-9 to 1e12. Raises `UserError` for other values."""
    return within(where, value, f"a number of {unit}, {_shown(LEAST)} to {_shown(MOST)}", LEAST, MOST)


def seconds(where: str, value: object, what: str) -> float:
    """A time of 1e-9 to 1e6 s. Raises `UserError`, which calls it `what`, for other values."""
    return within(where, value, f"{what} of {_shown(LEAST)} to {_shown(LONGEST)} s", LEAST, LONGEST)


def operating(where: str, flows: object, capacity: object, rtt: object) -> tuple[float, float, float]:
    """Checks flows, packets per second and the round trip in seconds, and returns them.

    Raises `UserError` for values out of range.
    """
    found = positive(f"{where}flows", flows, "flows"), positive(f"{where}capacity", capacity, "packets per second")
    return *found, seconds(f"{where}rtt", rtt, "a round trip")


def whole(where: str, value: object, low: int, high: int) -> int:
    """A whole number from `low` to `high`. Raises `UserError` for other values."""
    expected = f"a whole number, {low} to {high}"
    if within(where, value, expected, low, high) % 1:
        raise UserError.expected(where, expected, value)
    return int(value)  # type: ignore[call-overload,no-any-return]


def numbers(where: str, values: object, low: float = -math.inf, high: float = math.inf) -> Array:
    """A non-empty array of finite numbers from `low` to `high`.

    Raises `UserError` for other values.
    """
    limits = "" if low == -math.inf else f", {low:g} to {high:g}" if high < math.inf else f", {low:g} or more"
    expected = f"finite numbers{limits}"
    try:
        found = np.asarray(values)
        if found.dtype.kind not in "biuf":
            raise TypeError
        found = found.astype(np.float64)
    except (TypeError, ValueError, OverflowError, RecursionError, MemoryError):
        raise UserError.expected(where, expected, values) from None
    if not found.size:
        raise UserError.expected(where, expected, "none" if isinstance(values, str) else values)
    wrong = found[~(np.isfinite(found) & (found >= low) & (found <= high))]
    if wrong.size:
        raise UserError.expected(where, expected, wrong[0])
    return found


def row(where: str, values: object) -> Array:
    """A one-dimensional array of finite numbers. Raises `UserError` for other values."""
    found = numbers(where, values)
    if found.ndim != 1:
        raise UserError(f"{where}: expected an array of one dimension, got the shape {found.shape}")
    return found


def series(where: str, t: object, values: object) -> tuple[Array, Array]:
    """Increasing times, and an equal number of values. Raises `UserError` for other values."""
    times, found = row(f"{where}: t", t), row(f"{where}: values", values)
    if len(times) != len(found):
        raise UserError(f"{where}: expected as many values as times, got {len(found)} values and {len(times)} times")
    if not np.all(np.diff(times) > 0):
        raise UserError(f"{where}: t: expected increasing times, got others")
    return times, found
