"""Measures as small expressions.

Examples are `s3.red.queue_sd / s3.pd.queue_sd` and `max(s1.red.drops - s1.pd.drops, 0)`. Dotted names are arrays with
one value for each seed, so that differences and ratios are computed seed by seed. There are numbers, + - * / **, and
these functions; `functions.py` has a table of others that callers add.

| function | value |
|---|---|
| `min`, `max`, `abs`, `exp`, `round`, `sign` | as usual |
| `met(a, b, ...)` | the number of arguments that are 0 or more |
| `coalesce(a, b, ...)` | the first argument that is a finite number |
| `pick(i, a, b, ...)` | argument number `i` of the others, from 0 |
"""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sojourn.core.errors import UserError

Array = npt.NDArray[np.float64]
Value = float | Array
Lookup = Callable[[tuple[str, ...]], Value]
Functions = Mapping[str, Callable[..., Value]]


class UnknownNameError(LookupError):
    """A name without a value here: a case that was not run, a value that was not published."""


class UndecidableError(UnknownNameError):
    """A value that this subject does not have; the message is the reason."""


def _least(*values: Value) -> Value:
    result = values[0]
    for value in values[1:]:
        result = np.minimum(result, value)
    return result


def _greatest(*values: Value) -> Value:
    result = values[0]
    for value in values[1:]:
        result = np.maximum(result, value)
    return result


def _met(*margins: Value) -> Value:
    result: Value = 0.0
    for margin in margins:
        result = result + np.greater_equal(margin, 0.0)
    return result


def _coalesce(*values: Value) -> Value:
    """The first finite value, sample by sample."""
    result = values[-1]
    for value in reversed(values[:-1]):
        result = np.where(np.isfinite(value), value, result)
    return result


def _pick(number: Value, *values: Value) -> Value:
    """The value at an index from 0; NaN for an index out of range."""
    place, result = np.asarray(number), np.full(np.shape(number), np.nan)
    for i, value in enumerate(values):
        result = np.where(place == i, value, result)
    return result


_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: np.divide,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "min": _least,
    "max": _greatest,
    "abs": np.abs,
    "exp": np.exp,
    "round": np.round,
    "sign": np.sign,
    "met": _met,
    "coalesce": _coalesce,
    "pick": _pick,
}


LONGEST = 2000
"""The largest number of characters of an expression, which bounds its cost."""


def evaluate(text: str, lookup: Lookup, functions: Functions | None = None) -> Value:
    """The value of an expression.

    Raises `UnknownNameError` for a name without a value, and `UserError` for an invalid text.
    """
    if len(text) > LONGEST:
        raise UserError(f"measure: expected an expression of at most {LONGEST} characters, got {len(text)}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python thinks of `1and`
            tree = ast.parse(text, mode="eval").body
        with np.errstate(all="ignore"):
            return _value(tree, text, lookup, {**_FUNCTIONS, **(functions or {})})
    except (SyntaxError, ValueError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f'measure: expected an expression, got "{text}": {getattr(error, "msg", error)}') from None
    except (RecursionError, MemoryError):
        raise UserError(f'measure: expected an expression that is nested less deeply, got "{text[:80]}..."') from None


def _value(node: ast.expr, text: str, lookup: Lookup, functions: Functions) -> Value:
    """The value of one node."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return _number(node.value)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = (_value(side, text, lookup, functions) for side in (node.left, node.right))
        _check_seeds([left, right], text)
        try:
            result: Value = _OPERATORS[type(node.op)](left, right)
        except (TypeError, ValueError) as error:
            raise UserError(f'measure: expected two numbers, or one for each seed, in "{text}", got {error}') from None
        return result
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        inner = _value(node.operand, text, lookup, functions)
        return -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, (ast.Name, ast.Attribute)):
        return lookup(_dotted(node, text))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _call(node, text, lookup, functions)
    got = f'"{ast.unparse(node)}" in "{text}"'
    raise UserError(f"measure: expected names, numbers, + - * / ** and calls, got {got}")


def _check_seeds(values: Sequence[Any], text: str) -> None:
    """Raises `UserError` for arrays with values of different numbers of seeds."""
    seeds = {len(value) for value in values if np.ndim(value) == 1}
    if len(seeds) > 1:
        got = " and ".join(map(str, sorted(seeds)))
        raise UserError(f'measure: expected equal numbers of seeds, that is replications, in "{text}", got {got}')


def _call(node: ast.Call, text: str, lookup: Lookup, functions: Functions) -> Value:
    """The value of a call; a text among its arguments is passed as it is."""
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    function = functions.get(name)
    if function is None:
        known = ", ".join(sorted(functions))
        raise UserError(f'measure: expected one of the functions {known}, got "{name}" in "{text}"')
    arguments = [
        a.value if isinstance(a, ast.Constant) and isinstance(a.value, str) else _value(a, text, lookup, functions)
        for a in node.args
    ]
    if not arguments:
        raise UserError(f'measure: expected arguments for "{name}", got none in "{text}"')
    if name in _FUNCTIONS:
        _check_seeds(arguments, text)
    try:
        result = function(*arguments)
        np.asarray(result, dtype=np.float64)
    except (UserError, UnknownNameError):
        raise
    except Exception as error:  # whatever a function raises for arguments that it does not take
        said = " ".join(str(error).split())
        raise UserError(f'measure: expected arguments that "{name}" takes, got {ast.unparse(node)}: {said}') from error
    return result


def _number(value: float) -> Value:
    """A number as written, in floating point: 0 ** -1 is infinite, as it is for measured values."""
    try:
        return np.float64(value)
    except OverflowError:
        raise UserError("measure: expected numbers below 1.8e308, got a larger one") from None


def _dotted(node: ast.expr, text: str) -> tuple[str, ...]:
    """The parts of a dotted name."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        return (*_dotted(node.value, text), node.attr)
    raise UserError(f'measure: expected a name, got "{ast.unparse(node)}" in "{text}"')


def is_constant(template: str) -> bool:
    """Whether an expression is arithmetic with numbers alone.

    It then needs no run, no design and no formula.
    """
    nodes = _nodes(_FIELD.sub("x", template))
    return bool(nodes) and all(node.id in _FUNCTIONS for node in nodes if isinstance(node, ast.Name))


def names_of(text: str) -> list[str]:
    """The names in an expression, without those of functions."""
    nodes = _nodes(text)
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    return [node.id for node in nodes if isinstance(node, ast.Name) and node not in called]


_SAME_UNIT = ("min", "max", "abs", "round")
"""Functions whose value has the unit of their arguments."""


def terms(text: str) -> list[tuple[str, ...]]:
    """The dotted names of a sum or difference; none for another expression."""
    nodes = _nodes(text)
    found = _terms(nodes[0].body, text) if nodes and isinstance(nodes[0], ast.Expression) else None
    return found or []


def _terms(node: ast.expr, text: str) -> list[tuple[str, ...]] | None:
    """The names in a node of a sum; None for a node of another kind."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        return [_dotted(node, text)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        inner = [node.left, node.right]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SAME_UNIT:
        inner = node.args
    else:
        return None
    found = [_terms(each, text) for each in inner]
    return None if None in found else [name for each in found if each for name in each]


def _nodes(text: str) -> list[ast.AST]:
    """The nodes of an expression; none for a text that `evaluate` rejects."""
    if len(text) > LONGEST:
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(ast.walk(ast.parse(text, mode="eval")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


_FIELD = re.compile(r"\{(\w+)\}")


def fields(template: str) -> list[str]:
    """The names in braces of a template."""
    return list(dict.fromkeys(_FIELD.findall(template)))


def fill(template: str, values: Mapping[str, str]) -> str:
    """A template with the names in braces replaced."""
    return _FIELD.sub(lambda match: values.get(match.group(1), match.group(0)), template)
