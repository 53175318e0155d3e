"""Measures as expressions."""

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.core.errors import UserError
from sojourn.experiments.expression import UnknownNameError, evaluate, fields, fill

VALUES = {("a", "x"): np.array([1.0, 2.0, 4.0]), ("b", "x"): np.array([2.0, 2.0, 2.0]), ("c",): 3.0}


def lookup(name):
    try:
        return VALUES[name]
    except KeyError:
        raise UnknownNameError(".".join(name)) from None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.x - b.x", [-1, 0, 2]),
        ("a.x / b.x", [0.5, 1, 2]),
        ("min(a.x, b.x, c)", [1, 2, 2]),
        ("max(a.x, b.x)", [2, 2, 4]),
        ("abs(a.x - 2) * -1", [-1, 0, -2]),
        ("2 ** c + 1e1", 18),
        ("met(a.x - b.x, b.x - a.x, c - 3)", [2, 3, 2]),
        ("met(a.x / 0 - a.x / 0, -c)", [0, 0, 0]),
    ],
)
def test_arithmetic_is_seed_by_seed(text, expected):
    assert np.allclose(evaluate(text, lookup), expected)


@pytest.mark.parametrize("text", ["a.x - one.x", "min(one.x, a.x)"])
def test_one_value_is_not_compared_with_those_of_other_seeds(text):
    values = {**VALUES, ("one", "x"): np.array([1.0])}
    with pytest.raises(UserError, match=r"expected equal numbers of seeds.*, got 1 and 3$"):
        evaluate(text, values.__getitem__)


def test_functions_are_given_texts_and_numbers():
    assert evaluate('f("red", 1 + 1)', lookup, {"f": lambda name, x: len(name) + x}) == 5


def test_a_name_without_a_value_is_unknown():
    with pytest.raises(UnknownNameError):
        evaluate("a.x - nothing.there", lookup)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.x +",
        "__import__('os')",
        "a.x[0]",
        "lambda: 1",
        "[1]",
        "'x'",
        "a.x if c else 1",
        "min()",
        "f(x=1)",
        "True",
        "(1).real",
        "1 < 2",
        "a.x; b.x",
        "c and c",
        "~c",
    ],
)
def test_everything_else_is_refused(text):
    with pytest.raises(UserError):
        evaluate(text, lookup)


@given(st.text(max_size=30))
def test_no_text_does_more_than_compute(text):
    with contextlib.suppress(UserError, UnknownNameError, ArithmeticError):
        evaluate(text, lookup)


def test_division_by_zero_is_a_number():
    assert np.isinf(evaluate("c / (c - c)", lookup))


def test_templates_are_filled():
    assert fields("{s}.{q}.drops - {s}.red.drops") == ["s", "q"]
    assert fill("{s}.{q}", {"s": "s1", "q": "pd"}) == "s1.pd"
