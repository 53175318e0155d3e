"""The Python code of a paper: `extra.py` in its folder, loaded when it is first used.

It is loaded by path, and contains what only this paper needs. Each of these names may be defined in it; each is a
dictionary of functions:

- `FUNCTIONS`: functions for expressions of claims and figures. Arguments are numbers, texts, or arrays with one value
  for each seed; the result is a number or such an array.
- `READINGS`: values of `take` in a measure: `f(times, values, reading)` returns one number
  (`sojourn.experiments.readings.Take`).
- `DESIGNS`: values of `method` in `[designs]`. The other fields of the design are keyword arguments; the result is a
  `sojourn.experiments.control_designs.Design`.
- `FIGURES`: values of `kind` in `[[figures]]`: `draw(outcome, figure)` returns a matplotlib `Figure`.
"""

from __future__ import annotations

import functools
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import ModuleType
from typing import Any

from sojourn.core.errors import UserError
from sojourn.core.scenario_files import read_text

Table = dict[str, Callable[..., Any]]


@dataclass(frozen=True)
class Extra:
    """The definitions of an `extra.py`, by name."""

    functions: Table = field(default_factory=dict)
    readings: Table = field(default_factory=dict)
    designs: Table = field(default_factory=dict)
    figures: Table = field(default_factory=dict)


def load_extra(root: Path) -> Extra:
    """The `extra.py` of a folder; an empty one if the file is missing.

    Raises `UserError` with file and line if it cannot be loaded or defines something other than functions.
    """
    path = root / "extra.py"
    if not path.exists():
        return Extra()
    module = _run(path)
    return Extra(**{each.name: _table(path, module, each.name.upper()) for each in fields(Extra)})


def _run(path: Path) -> ModuleType:
    """The module of a file, under a name of its own."""
    text = read_text(path, "Python file")
    module = ModuleType(f"sojourn_paper_{path.parent.name}".replace("-", "_"))
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses look up the module of a class
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)  # an import would trust a cache by the file's time
    except Exception as error:  # whatever the file raises is the user's to know
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = error.lineno if isinstance(error, SyntaxError) else next(iter(lines), None)
        raise UserError(f"{path}:{line or 1}: {type(error).__name__}: {error}") from error
    return module


def _table(path: Path, module: ModuleType, name: str) -> Table:
    """One of the dictionaries, empty if it is not defined."""
    table = getattr(module, name, {})
    if not isinstance(table, dict) or not all(isinstance(key, str) and callable(f) for key, f in table.items()):
        raise UserError(f"{path}: {name}: expected a dictionary of functions by name, got {table!r:.80}")
    return {key: _named(f, f"{path}: {name}: {key}") for key, f in table.items()} if name in GUARDED else table


GUARDED = ("READINGS", "FIGURES")
"""Dictionaries whose errors name the paper's function; callers handle those of others."""


def _named(function: Callable[..., Any], where: str) -> Callable[..., Any]:
    """The function, with its errors in one line that names it."""

    @functools.wraps(function)
    def named(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except UserError:
            raise
        except Exception as error:  # whatever the function raises
            said = " ".join(str(error).split())
            raise UserError(f"{where}: {type(error).__name__}: {said}") from error

    return named
