"""The possible values of a paper's measures.

The interval of a measure ends there, and a part whose target has all of them cannot fail. The range of a part is
computed from those of its measures, as the record defines them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sojourn.core import record_schema
from sojourn.core.errors import UserError
from sojourn.core.ranges import Range, as_range
from sojourn.experiments.claims import Part
from sojourn.experiments.expression import UnknownNameError, evaluate
from sojourn.experiments.schema.experiment import Measure
from sojourn.experiments.verdict import Target

SPANS = (
    "sd",
    "settle",
    "box-width",
    "first-below",
    "longest-below",
    "nth-fall",
    "fall-variation",
    "yields",
    "recovers",
)
"""Results of a series that are 0 or more for any values."""
VALUES = ("mean", "min", "max", "median")
"""Results of a series that lie between its values."""


def _least(*values: Any) -> Range:
    ranges = [as_range(value) for value in values]
    return Range(min(r.low for r in ranges), min(r.high for r in ranges))


def _greatest(*values: Any) -> Range:
    ranges = [as_range(value) for value in values]
    return Range(max(r.low for r in ranges), max(r.high for r in ranges))


def _abs(value: Any) -> Range:
    it = as_range(value)
    return it if it.low >= 0 else Range(0.0, max(-it.low, it.high))


def _exp(value: Any) -> Range:
    it = as_range(value)
    return Range(float(np.exp(it.low)), float(np.exp(it.high)))


def _anything(*_: Any) -> Range:
    """The range of an unknown formula: any value."""
    return Range()


FUNCTIONS: dict[str, Callable[..., Range]] = {
    "min": _least,
    "max": _greatest,
    "abs": _abs,
    "exp": _exp,
    "met": lambda *margins: Range(0.0, float(len(margins))),
}
"""The functions of expressions, for ranges."""


def range_of(measure: Measure) -> Range:
    """The possible values of a measure of a run."""
    if measure.within:
        return Range(*measure.within)
    if measure.outside:
        return Range(0.0, float(len(measure.outside)))
    if measure.share_of:
        found = Range(0.0, 1.0)
    elif not measure.series:
        found = sum(map(record_schema.range_of, measure.path.split(" + ")), Range(0.0, 0.0))
    elif measure.take in SPANS:
        found = Range(0.0)
    else:
        column = record_schema.series_columns(measure.series.partition("/")[0]).get(measure.column)
        found = column.range if column and measure.take in VALUES else Range()
    return found * measure.scale


def range_of_part(part: Part, measured: Callable[[tuple[str, ...]], Measure], functions: set[str]) -> Range:
    """The possible values of a part: those of its expression, or a share of its cells.

    `measured` returns the measure of a name in an expression; the results of `functions` are unknown.
    """
    if part.cells or part.share_of_seeds:
        return Range(0.0, 1.0)
    return _of_expression(part.measure, measured, functions)


def cannot_fail(part: Part, measured: Callable[[tuple[str, ...]], Measure], functions: set[str]) -> bool:
    """Whether a part cannot fail: all possible values of its expressions are in the target."""
    target = part.cell_target if part.cells else part.target
    return all(_inside(_of_expression(text, measured, functions), target) for text in part.cells or (part.measure,))


def _of_expression(text: str, measured: Callable[[tuple[str, ...]], Measure], functions: set[str]) -> Range:
    """The possible values of an expression."""
    known: dict[str, Any] = {**dict.fromkeys(functions, _anything), **FUNCTIONS}

    def lookup(name: tuple[str, ...]) -> Any:
        return range_of(measured(name))

    try:
        return as_range(evaluate(text, lookup, known))
    except (UserError, UnknownNameError):
        return Range()  # another place says what is wrong


def _inside(values: Range, target: Target) -> bool:
    """Whether a target has all values of a range; an infinite end is none of them."""
    low = values.low in target or (math.isinf(values.low) and math.isinf(target.low))
    high = values.high in target or (math.isinf(values.high) and math.isinf(target.high))
    return low and high
