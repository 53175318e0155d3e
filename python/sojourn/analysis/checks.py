"""Argument checks: numbers out of range, and arrays of different shape."""

from __future__ import annotations

import math
import sys
from numbers import Real

import numpy as np
import numpy.typing as npt

from sojourn.errors import UserError

Array = npt.NDArray[np.float64]
LEAST, MOST = 1e-9, 1e12
LONGEST = 1e6  # seconds


def _shown(limit: float) -> str:
    """A limit as text: 1e12, not 1e+12."""
    return f"{limit:g}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")


def within(where: str, value: object, expected: str, low: float, high: float) -> float:
    """A number from `low` to `high`. Raises `UserError` with `expected` for anything else."""
    try:
        found = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        found = math.nan
    if not low <= found <= high:
        raise UserError.expected(where, expected, value)
    return found


def finite(where: str, value: object) -> float:
    """A finite number. Raises `UserError` for anything else."""
    return within(where, value, "a finite number", -sys.float_info.max, sys.float_info.max)


def positive(where: str, value: object, unit: str) -> float:
    """A number of `unit`, 1e-9 to 1e12. Raises `UserError` for anything else."""
    return within(where, value, f"a number of {unit}, {_shown(LEAST)} to {_shown(MOST)}", LEAST, MOST)


def seconds(where: str, value: object, what: str) -> float:
    """`what`, such as "a round trip", of 1e-9 to 1e6 s. Raises `UserError` for anything else."""
    return within(where, value, f"{what} of {_shown(LEAST)} to {_shown(LONGEST)} s", LEAST, LONGEST)


def operating(where: str, flows: object, capacity: object, rtt: object) -> tuple[float, float, float]:
    """Flows, packets per second and seconds of a round trip. Raises `UserError` for what is out of range."""
    found = positive(f"{where}flows", flows, "flows"), positive(f"{where}capacity", capacity, "packets per second")
    return *found, seconds(f"{where}rtt", rtt, "a round trip")


def whole(where: str, value: object, low: int, high: int) -> int:
    """A whole number from `low` to `high`. Raises `UserError` for anything else."""
    expected = f"a whole number, {low} to {high}"
    if within(where, value, expected, low, high) % 1:
        raise UserError.expected(where, expected, value)
    return int(value)  # type: ignore[call-overload,no-any-return]


def numbers(where: str, values: object, low: float = -math.inf, high: float = math.inf) -> Array:
    """An array of finite numbers from `low` to `high`. Raises `UserError` for anything else, and for an empty one."""
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
    """Finite numbers in one dimension. Raises `UserError` for anything else."""
    found = numbers(where, values)
    if found.ndim != 1:
        raise UserError(f"{where}: expected an array of one dimension, got the shape {found.shape}")
    return found


def series(where: str, t: object, values: object) -> tuple[Array, Array]:
    """Times in increasing order, and as many values. Raises `UserError` for anything else."""
    times, found = row(f"{where}: t", t), row(f"{where}: values", values)
    if len(times) != len(found):
        raise UserError(f"{where}: expected as many values as times, got {len(found)} values and {len(times)} times")
    if not np.all(np.diff(times) > 0):
        raise UserError(f"{where}: t: expected increasing times, got others")
    return times, found
