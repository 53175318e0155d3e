"""Ranges of values, and interval arithmetic on them.

A computed range may be too wide, but never too narrow.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Range:
    """All values from `low` to `high`; without arguments all numbers.

    Parameters
    ----------
    low : float, default -inf
        The lowest value.
    high : float, default inf
        The highest value.

    Examples
    --------
    >>> sj.Range(0, 1) * 100
    Range(low=0.0, high=100.0)
    >>> sj.Range(0, 1) - sj.Range(0, 1)
    Range(low=-1, high=1)
    """

    low: float = -math.inf
    high: float = math.inf

    def __float__(self) -> float:
        return math.nan  # satisfies the check that a function returns a number

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **_: Any) -> Any:
        """Applies operators and functions of NumPy to ranges."""
        known = {np.add: _add, np.subtract: _subtract, np.multiply: _multiply, np.divide: _divide}
        if method == "__call__" and ufunc in known:
            return known[ufunc](*map(as_range, inputs))
        return Range()

    def __add__(self, other: Any) -> Range:
        return _add(self, as_range(other))

    def __sub__(self, other: Any) -> Range:
        return _subtract(self, as_range(other))

    def __mul__(self, other: Any) -> Range:
        return _multiply(self, as_range(other))

    def __truediv__(self, other: Any) -> Range:
        return _divide(self, as_range(other))

    def __pow__(self, other: Any) -> Range:
        even = not isinstance(other, Range) and float(other) > 0 and float(other) % 2 == 0
        if even:
            ends = [abs(self.low) ** float(other), abs(self.high) ** float(other)]
            return Range(0.0 if self.low <= 0 <= self.high else min(ends), max(ends))
        return Range(0.0) if self.low >= 0 else Range()

    def __neg__(self) -> Range:
        return Range(-self.high, -self.low)


def as_range(value: Any) -> Range:
    """The range itself, or the range of a single number."""
    return value if isinstance(value, Range) else Range(float(value), float(value))


def _add(one: Range, other: Range) -> Range:
    return Range(one.low + other.low, one.high + other.high)


def _subtract(one: Range, other: Range) -> Range:
    return _add(one, -other)


def _multiply(one: Range, other: Range) -> Range:
    ends = [_product(a, b) for a, b in itertools.product((one.low, one.high), (other.low, other.high))]
    return Range(min(ends), max(ends))


def _product(a: float, b: float) -> float:
    return 0.0 if 0.0 in (a, b) else a * b  # 0 times infinity: the infinite end is never reached


def _divide(one: Range, other: Range) -> Range:
    if other.low > 0 or other.high < 0:
        return _multiply(one, Range(1 / other.high, 1 / other.low))
    return Range(0.0) if one.low >= 0 and other.low >= 0 else Range()
