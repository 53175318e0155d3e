"""Parses and writes TOML with one-line errors, and writes tables for the engine."""

from __future__ import annotations

import datetime
import json
import os
import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import tomli_w

from sojourn import _sojourn
from sojourn.core.errors import ScenarioError, UserError, printed, unicode

DEEPEST = 32  # nesting depth of lists and tables, and maximum parts of a key
LARGEST = 2**63  # whole numbers are from -LARGEST to LARGEST - 1


def parse(text: str, label: str) -> dict[str, Any]:
    """Parses a TOML text into a table. Raises `UserError`, `LABEL:LINE:COLUMN: ...`, if invalid."""
    if (wrong := unicode(text)) != text:
        raise UserError.expected(label, "a text in UTF-8", wrong)
    label = unicode(label)
    try:
        _sojourn.check_toml(text, label, whole=False)
        return tomllib.loads(text)
    except ScenarioError as error:
        raise UserError(str(error)) from None
    except RecursionError:
        raise UserError(f"{label}: expected tables and lists that are not nested so deeply") from None
    except ValueError as error:
        try:  # Python does not say where an integer has too many digits
            _sojourn.check_toml(text, label, whole="digits" in str(error))
        except ScenarioError as engine:
            raise UserError(str(engine)) from None
        said = " ".join(str(error).split())
        last = text.split("\n")
        said = said.replace("(at end of document)", f"(at line {len(last)}, column {len(last[-1]) + 1})")
        found = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", said)
        place, problem = (f":{found[2]}:{found[3]}", found[1]) if found else ("", said)
        raise UserError(f"{label}{place}: not TOML: {problem}") from None


def dumps(tree: Mapping[str, Any], label: str) -> str:
    """Formats a table as TOML.

    Raises `ScenarioError`, `LABEL: FIELD: ...`, for a value that TOML can't represent.
    """
    return tomli_w.dumps(plain(tree, f"{label}: "))


def for_engine(tree: Mapping[str, Any], label: str) -> str:
    """Formats a table for the engine, as JSON.

    A table with NaN, an infinity or a date, which JSON lacks, is formatted as TOML. Raises `ScenarioError`,
    `LABEL: FIELD: ...`, for a value that neither can represent.
    """
    table = plain(tree, f"{label}: ")
    try:
        return json.dumps(table, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        return tomli_w.dumps(table)


def plain(value: Any, where: str = "") -> Any:
    """A copy that TOML can represent.

    NumPy numbers become Python's, tuples become lists, paths become text, and None is omitted from tables. Raises
    `ScenarioError` for a value that TOML can't represent. The message begins with `where`: a path, or a label that ends
    in ": ".
    """
    return _plain(value, where, DEEPEST)


def _plain(value: Any, where: str, deeper: int) -> Any:
    if not deeper:
        raise _refused(where, f"at most {DEEPEST} lists and tables within one another", "more")
    if isinstance(value, Mapping):
        return {
            _text(printed(key), where): _plain(item, _below(where, key), deeper - 1)
            for key, item in value.items()
            if item is not None
        }
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{where}[{place}]", deeper - 1) for place, item in enumerate(value)]
    if isinstance(value, os.PathLike):
        return _text(os.fspath(value), where)
    if hasattr(value, "tolist"):
        return _plain(value.tolist(), where, deeper - 1)
    if isinstance(value, str):
        return _text(value, where)
    if isinstance(value, int) and not -LARGEST <= value < LARGEST:
        raise _refused(where, f"a whole number, {-LARGEST} to {LARGEST - 1}", value)
    if not isinstance(value, (int, float, Decimal, datetime.date, datetime.time)):
        raise _refused(where, "a number, a text, true or false, a time, a list or a table", value)
    return value


def _below(where: str, key: Any) -> str:
    """The path of a key in the table at path `where`."""
    name = _sojourn.path_element(key) if isinstance(key, str) and key.isascii() else printed(key)
    return f"{where}.{name}" if where and not where.endswith(": ") else f"{where}{name}"


def _text(text: Any, where: str) -> str:
    """Checks that a text can be written in UTF-8 and returns it."""
    try:
        text.encode()
    except (UnicodeEncodeError, AttributeError):
        raise _refused(where, "a text in Unicode", text) from None
    return str(text)


def _refused(where: str, what: str, got: Any) -> ScenarioError:
    label, _, field = where.rpartition(": ")
    place = ": ".join(filter(None, (label, field or "value")))
    return ScenarioError(str(UserError.expected(place, what, got)))
