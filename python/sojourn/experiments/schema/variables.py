"""Values that a paper leaves open: a range for each, what in a scenario it sets, and in which runs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Self

from pydantic import Field, model_validator

from sojourn.errors import UserError
from sojourn.experiments.expression import UnknownNameError, evaluate
from sojourn.experiments.schema.toml import FileModel, Span, expected

Parameters = dict[str, Any]
"""Fields of a scenario file, or parameters of an algorithm: checked where they are used."""

_BRACES = re.compile(r"\{([^{}]*)\}")


class Choosing(FileModel):
    """Names the runs that it is about by scenario, queue and setting; `*` stands for any letters."""

    scenarios: list[str] = []
    """The scenarios and families (default: all)."""
    queues: list[str] = []
    """The queues and curves (default: all)."""
    settings: list[str] = []
    """The settings (default: all, and none)."""


class Variable(Choosing):
    """A value that the paper does not give."""

    label: str
    """What it is, in words."""
    between: Span | None = None
    """The least and the greatest value."""
    among: list[Any] = []
    """The values, where they are few: numbers, texts, tables."""
    log: bool = False
    """`between`: whether equal ratios are equally likely, instead of equal differences."""
    whole: bool = False
    """`between`: whether it is a whole number."""
    set: Parameters = Field(min_length=1)
    """Fields of the scenario file; `{x}` in a text stands for the value, and `{2 * x}` for twice it."""

    @model_validator(mode="after")
    def _one_range(self) -> Self:
        if (self.between is None) == (not self.among):
            raise expected("one of between and among", "none" if self.between is None else "both", field="between")
        if self.log and (self.between is None or self.between[0] <= 0):
            raise expected("false without a range above 0", "true", field="log")
        if not any(_BRACES.search(text) for text in _texts(self.set)):
            raise expected("{x} in one of its texts", "none", field="set")
        return self

    def value(self, u: float) -> Any:
        """The value at a place `u` in 0 .. 1 of the range."""
        if self.between is None:
            return self.among[min(int(u * len(self.among)), len(self.among) - 1)]
        low, high = self.between
        if self.whole:
            low, high = low - 0.5, high + 0.5
            if self.log:
                low = max(low, 0.5)
        found = low * (high / low) ** u if self.log else low + u * (high - low)
        return round(min(max(found, self.between[0]), self.between[1])) if self.whole else float(f"{found:.9g}")

    def changes(self, value: Any) -> Parameters:
        """The fields that it sets, with their values."""
        return {path: _filled(text, value) for path, text in self.set.items()}


def _texts(template: Any) -> Iterator[str]:
    """The texts of a template."""
    if isinstance(template, str):
        yield template
    elif isinstance(template, (Mapping, list)):
        for each in template.values() if isinstance(template, Mapping) else template:
            yield from _texts(each)


def _filled(template: Any, value: Any) -> Any:
    """A template with the value in it: `{x}` alone is the value itself, with its kind."""
    if isinstance(template, Mapping):
        return {key: _filled(each, value) for key, each in template.items()}
    if isinstance(template, list):
        return [_filled(each, value) for each in template]
    if not isinstance(template, str):
        return template
    whole = _BRACES.fullmatch(template)
    return _braces(whole[1], value) if whole else _BRACES.sub(lambda m: _written(_braces(m[1], value)), template)


def _braces(text: str, value: Any) -> Any:
    """What stands in a pair of braces: the value, or an expression of it."""
    if text.strip() == "x":
        return value

    def lookup(name: tuple[str, ...]) -> float:
        if name != ("x",) or isinstance(value, bool) or not isinstance(value, (int, float)):
            raise UnknownNameError(".".join(name))
        return float(value)

    try:
        found = float(evaluate(text, lookup))
    except UnknownNameError:
        raise UserError(f'set: expected {{x}}, or an expression of it where it is a number, got "{{{text}}}"') from None
    return int(found) if isinstance(value, int) and found.is_integer() else found


def _written(value: Any) -> str:
    """A value inside a text."""
    return f"{value:.9g}" if isinstance(value, float) and math.isfinite(value) else str(value)
