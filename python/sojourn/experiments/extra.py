"""The Python that a paper may bring: `extra.py` in its folder, loaded by path when something in it is used.

It is for what only this paper needs. Each of these names may be defined in it; each is a dictionary of functions:

- `FUNCTIONS`: what claims and figures can call in expressions. Arguments are numbers, texts, or arrays with one value
  for each seed; the result is a number or such an array.
- `READINGS`: what `take` in a measure can be: `f(times, values, reading)` gives one number
  (`sojourn.experiments.readings.Take`).
- `DESIGNS`: what `method` in `[designs]` can be. The other fields of the design are keyword arguments; the result is a
  `sojourn.experiments.control_designs.Design`.
- `FIGURES`: what `kind` in `[[figures]]` can be: `draw(outcome, figure)` gives a matplotlib `Figure`.
"""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import ModuleType
from typing import Any

from sojourn.core.errors import UserError
from sojourn.core.scenario import read_text

Table = dict[str, Callable[..., Any]]


@dataclass(frozen=True)
class Extra:
    """What an `extra.py` defines, by name."""

    functions: Table = field(default_factory=dict)
    readings: Table = field(default_factory=dict)
    designs: Table = field(default_factory=dict)
    figures: Table = field(default_factory=dict)


def load_extra(root: Path) -> Extra:
    """The `extra.py` of a folder; an empty one where there is none.

    Raises `UserError` with file and line where it cannot be loaded or defines something else than functions.
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
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)  # an import would trust a cache by the file's time
    except Exception as error:  # whatever the file raises is the user's to know
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = error.lineno if isinstance(error, SyntaxError) else next(iter(lines), None)
        raise UserError(f"{path}:{line or 1}: {type(error).__name__}: {error}") from error
    return module


def _table(path: Path, module: ModuleType, name: str) -> Table:
    """One of the dictionaries, empty where it is not defined."""
    table = getattr(module, name, {})
    if not isinstance(table, dict) or not all(isinstance(key, str) and callable(f) for key, f in table.items()):
        raise UserError(f"{path}: {name}: expected a dictionary of functions by name, got {table!r:.80}")
    return {key: _named(f, f"{path}: {name}: {key}") for key, f in table.items()} if name in GUARDED else table


GUARDED = ("READINGS", "FIGURES")
"""Where an error of a function is the paper's to mend; elsewhere the caller says more."""


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
