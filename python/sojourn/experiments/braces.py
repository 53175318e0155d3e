"""Values in braces within tables.

Examples are `"{rate} Mbit/s"` and `"{max(50, round(20.8 * rate))} packets"`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sojourn.core.errors import FEW, UserError
from sojourn.experiments.expression import UnknownNameError, evaluate

BRACES = re.compile(r"\{([^{}]*)\}")
"""A pair of braces."""


def has_braces(template: Any) -> bool:
    """Whether any text of a template has a value in braces."""
    return any(BRACES.search(text) for text in _texts(template))


def _texts(template: Any) -> Iterator[str]:
    """The texts of a template."""
    if isinstance(template, str):
        yield template
    elif isinstance(template, (Mapping, list)):
        for each in template.values() if isinstance(template, Mapping) else template:
            yield from _texts(each)


def filled(template: Any, values: Mapping[str, Any]) -> Any:
    """Fills a template, at any depth.

    A text that is one pair of braces becomes the value itself, with its kind. Raises `UserError` for a name that is
    not among the values, and for an expression of a value that is not a number.
    """
    if isinstance(template, Mapping):
        return {key: filled(each, values) for key, each in template.items()}
    if isinstance(template, list):
        return [filled(each, values) for each in template]
    if not isinstance(template, str):
        return template
    whole = BRACES.fullmatch(template)
    return _value(whole[1], values) if whole else BRACES.sub(lambda m: _written(_value(m[1], values)), template)


def _value(text: str, values: Mapping[str, Any]) -> Any:
    """The value of a pair of braces: a value by name, or an expression of several."""
    name = text.strip()
    if name in values:
        return values[name]

    def lookup(path: tuple[str, ...]) -> float:
        value = values.get(".".join(path))
        try:
            return float("none" if isinstance(value, bool) or value is None else value)
        except (TypeError, ValueError):
            raise UnknownNameError(".".join(path)) from None

    try:
        found = float(evaluate(text, lookup))
    except UnknownNameError as error:
        names = " or ".join(f"{{{each}}}" for each in list(values)[:FEW]) or "no braces"
        what = f"{names}, or an expression of it where it is a number"
        raise UserError(f'set: expected {what}, got "{{{text}}}" ({error})') from None
    return int(found) if found.is_integer() else found


def _written(value: Any) -> str:
    """A value inside a text."""
    return f"{value:.9g}" if isinstance(value, float) and math.isfinite(value) else str(value)
