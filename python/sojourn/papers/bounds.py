"""What values a measure can have at all: a part whose target holds all of them cannot fail.

Interval arithmetic over the expression of a part. It may give too wide a range, never too narrow a one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn.errors import UserError
from sojourn.papers.claims import Part
from sojourn.papers.expression import UnknownNameError, evaluate
from sojourn.papers.schema.paper import Measure
from sojourn.papers.verdict import Target

SHARES = ("utilization", "jain", "loss_ratio", "probability_mean")
"""The last steps of paths into a record whose values lie in 0 to 1; all others are 0 or more."""
SPANS = ("sd", "settle", "box-width", "first-below", "nth-fall", "fall-variation")
"""What is taken from a series and is 0 or more, whatever its values are."""
VALUES = ("mean", "min", "max", "median")
"""What is taken from a series and lies between its values."""
COUNTS = ("bps", "bytes", "packets", "ms", "probability")
"""The columns of series whose values are 0 or more."""


@dataclass(frozen=True)
class Range:
    """All values from `low` to `high`."""

    low: float = -math.inf
    high: float = math.inf

    def __float__(self) -> float:
        return math.nan  # for the check that a function gives a number

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **_: Any) -> Any:
        """What numpy's numbers and functions do with a range."""
        known = {np.add: _add, np.subtract: _subtract, np.multiply: _multiply, np.divide: _divide}
        if method == "__call__" and ufunc in known:
            return known[ufunc](*map(_range, inputs))
        return Range()

    def __add__(self, other: Any) -> Range:
        return _add(self, _range(other))

    def __sub__(self, other: Any) -> Range:
        return _subtract(self, _range(other))

    def __mul__(self, other: Any) -> Range:
        return _multiply(self, _range(other))

    def __pow__(self, other: Any) -> Range:
        even = not isinstance(other, Range) and float(other) > 0 and float(other) % 2 == 0
        if even:
            ends = [abs(self.low) ** float(other), abs(self.high) ** float(other)]
            return Range(0.0 if self.low <= 0 <= self.high else min(ends), max(ends))
        return Range(0.0) if self.low >= 0 else Range()

    def __neg__(self) -> Range:
        return Range(-self.high, -self.low)

    def inside(self, target: Target) -> bool:
        """Whether a target has all its values; an infinite end is none of them."""
        low = self.low in target or (math.isinf(self.low) and math.isinf(target.low))
        high = self.high in target or (math.isinf(self.high) and math.isinf(target.high))
        return low and high


def _range(value: Any) -> Range:
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


def _least(*values: Any) -> Range:
    ranges = [_range(value) for value in values]
    return Range(min(r.low for r in ranges), min(r.high for r in ranges))


def _greatest(*values: Any) -> Range:
    ranges = [_range(value) for value in values]
    return Range(max(r.low for r in ranges), max(r.high for r in ranges))


def _abs(value: Any) -> Range:
    it = _range(value)
    return it if it.low >= 0 else Range(0.0, max(-it.low, it.high))


def _exp(value: Any) -> Range:
    it = _range(value)
    return Range(float(np.exp(it.low)), float(np.exp(it.high)))


def _anything(*_: Any) -> Range:
    """What is known of a formula: nothing."""
    return Range()


FUNCTIONS: dict[str, Callable[..., Range]] = {
    "min": _least, "max": _greatest, "abs": _abs, "exp": _exp, "met": lambda *margins: Range(0.0, float(len(margins))),
}  # fmt: skip
"""The functions of expressions, for ranges."""


def range_of(measure: Measure) -> Range:
    """The values that a measure of a run can have."""
    if measure.share_of:
        found = Range(0.0, 1.0)
    elif measure.series:
        counts = measure.column in COUNTS and measure.take in VALUES
        found = Range(0.0) if counts or measure.take in SPANS else Range()
    else:
        steps = [path.strip().rpartition(".")[2] for path in measure.path.split(" + ")]
        found = Range(0.0, float(len(steps))) if all(step in SHARES for step in steps) else Range(0.0)
    return found * measure.scale


def cannot_fail(part: Part, measured: Callable[[tuple[str, ...]], Measure], functions: set[str]) -> bool:
    """Whether a part holds whatever is measured.

    `measured` gives the measure that a name in an expression stands for; of `functions` nothing is known.
    """
    known: dict[str, Any] = {**dict.fromkeys(functions, _anything), **FUNCTIONS}
    target = part.cell_target if part.cells else part.target

    def lookup(name: tuple[str, ...]) -> Any:
        return range_of(measured(name))

    try:
        return all(_range(evaluate(text, lookup, known)).inside(target) for text in part.cells or (part.measure,))
    except (UserError, UnknownNameError):
        return False  # another place says what is wrong
