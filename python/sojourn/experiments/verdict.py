"""Verdicts, computed by one rule, which `wording.py` states.

A claim has parts. A part is a measure, evaluated seed by seed, and a target: the range in which its mean must lie.
The target is an inequality (`> 3`), or a published value with a tolerance.
"""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from sojourn.core.errors import UserError
from sojourn.core.stats import Estimate
from sojourn.core.text_format import number

PartKind = Literal["number", "direction"]
"""The statement of a part: a number, or a direction (a sign or an order)."""


class Verdict(enum.Enum):
    """The result for a claim or a part of one."""

    REPRODUCED = "reproduced"
    BY_FIT = "reproduced by a fit"
    IN_DIRECTION = "reproduced in direction"
    NOT_REPRODUCED = "not reproduced"
    UNDECIDED = "undecided"
    NOT_DECIDABLE = "not decidable from the paper"

    def __str__(self) -> str:
        return self.value

    @property
    def holds(self) -> bool:
        """Whether the numbers agree, by a fit or without one."""
        return self in (Verdict.REPRODUCED, Verdict.BY_FIT)


@dataclass(frozen=True)
class Judged:
    """The verdict on one part, and on the direction that it states, if any."""

    verdict: Verdict
    direction: Verdict | None = None

    def by_fit(self) -> Judged:
        """The verdict if an omitted value was fitted to the part."""
        return replace(self, verdict=Verdict.BY_FIT) if self.verdict is Verdict.REPRODUCED else self


@dataclass(frozen=True)
class Target:
    """A range of values; an open end is not part of it."""

    low: float = -math.inf
    high: float = math.inf
    low_open: bool = True
    high_open: bool = True

    def __contains__(self, value: float) -> bool:
        above = value > self.low if self.low_open else value >= self.low
        below = value < self.high if self.high_open else value <= self.high
        return above and below

    def meets(self, low: float, high: float) -> bool:
        """Whether the closed interval and the target share a value; NaN shares none."""
        return low in self or high in self or (low <= self.low and high >= self.high and self.nonempty)

    @property
    def nonempty(self) -> bool:
        """Whether there is any value in the target."""
        return self.low < self.high or (self.low == self.high and not (self.low_open or self.high_open))

    def __str__(self) -> str:
        if math.isinf(self.low) and math.isinf(self.high):
            return "any"
        if math.isinf(self.low):
            return f"{'<' if self.high_open else '≤'} {number(self.high)}"
        if math.isinf(self.high):
            return f"{'>' if self.low_open else '≥'} {number(self.low)}"
        return f"{number(self.low)} … {number(self.high)}"


_NUMBER = r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
_SIDE = re.compile(rf"\s*(<=|>=|<|>)\s*{_NUMBER}\s*")
_BETWEEN = re.compile(rf"\s*between\s+{_NUMBER}\s+and\s+{_NUMBER}\s*")


def parse_target(text: str) -> Target:
    """`"> 3"`, `">= 9.5"`, `"< -5"`, `"<= 0.22"` or `"between -3 and 3"` (ends included)."""
    side, between = _SIDE.fullmatch(text), _BETWEEN.fullmatch(text)
    if side:
        sign, number = side.group(1), float(side.group(2))
        if sign.startswith(">"):
            return Target(low=number, low_open=sign == ">")
        return Target(high=number, high_open=sign == "<")
    if between:
        low, high = float(between.group(1)), float(between.group(2))
        if low <= high:
            return Target(low, high, False, False)
    raise UserError(f'expected "> 3", ">= 3", "< 3", "<= 3" or "between -3 and 3", got "{text}"')


@dataclass(frozen=True)
class Tolerance:
    """The allowed difference of a measured value from a published one.

    It is a share of the value or a number, whichever is larger.
    """

    relative: float = 0.0
    absolute: float = 0.0
    reason: str = ""

    def around(self, published: float) -> Target:
        """The values that count as the published one."""
        allowed = max(self.relative * abs(published), self.absolute)
        return Target(published - allowed, published + allowed, False, False)

    def __str__(self) -> str:
        parts = []
        if self.relative:
            parts.append(f"±{number(self.relative * 100)} %")
        if self.absolute:
            parts.append(f"±{number(self.absolute)}")
        return " or ".join(parts) or "exact"


def judge(measured: Estimate, target: Target) -> Verdict:
    """Whether a measured value lies in a target."""
    if measured.low in target and measured.high in target:
        return Verdict.REPRODUCED
    return Verdict.UNDECIDED if target.meets(measured.low, measured.high) else Verdict.NOT_REPRODUCED


def judge_part(measured: Estimate, target: Target, kind: PartKind, direction: Target | None = None) -> Judged:
    """The verdict on one part; `direction` is the range that a number's own direction allows."""
    found = judge(measured, target)
    if kind == "direction":
        return Judged(found, found)
    if direction is None:
        return Judged(found)
    holds = Verdict.REPRODUCED if found is Verdict.REPRODUCED else judge(measured, direction)
    if found is Verdict.NOT_REPRODUCED and holds is not Verdict.NOT_REPRODUCED:
        found = Verdict.IN_DIRECTION if holds is Verdict.REPRODUCED else Verdict.UNDECIDED
    return Judged(found, holds)


def combine(parts: Iterable[Judged]) -> Verdict:
    """The verdict on a claim from those on its parts."""
    seen = set(parts)
    if not seen:
        raise ValueError("a claim without parts has no verdict")
    verdicts = {part.verdict for part in seen}
    directions = {part.direction for part in seen} - {None}
    if Verdict.NOT_REPRODUCED in directions:
        return Verdict.NOT_REPRODUCED
    if verdicts & {Verdict.NOT_REPRODUCED, Verdict.IN_DIRECTION}:
        if not directions:
            return Verdict.NOT_REPRODUCED
        return Verdict.UNDECIDED if Verdict.UNDECIDED in directions else Verdict.IN_DIRECTION
    open_or_fit = [each for each in (Verdict.UNDECIDED, Verdict.BY_FIT) if each in verdicts]
    return open_or_fit[0] if open_or_fit else Verdict.REPRODUCED


def over_readings(chosen: Verdict, others: Iterable[Verdict]) -> Verdict:
    """The verdict on a claim from those under each reading of what the paper omits.

    Whether a reading is a fit does not make readings differ: the chosen one decides it.
    """
    seen = {Verdict.REPRODUCED if each.holds else each for each in (chosen, *others)}
    if len(seen - {Verdict.UNDECIDED}) > 1:
        return Verdict.NOT_DECIDABLE
    return Verdict.UNDECIDED if Verdict.UNDECIDED in seen else chosen
