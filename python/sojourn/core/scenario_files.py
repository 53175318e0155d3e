"""Scenarios from files, texts and the command line."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeAlias
from weakref import WeakKeyDictionary

from sojourn.core import examples, files, toml
from sojourn.core.errors import UserError, unicode
from sojourn.core.scenario import Scenario

STANDARD_INPUT = Path("-")

Source: TypeAlias = "Scenario | Mapping[str, Any] | str | os.PathLike[str]"


def read_text(path: Path, what: str = "file") -> str:
    """The text of a user's UTF-8 file.

    Raises `UserError` if it can't be read; the error calls the file `what`.
    """
    if path == STANDARD_INPUT:
        return _standard_input()
    if unicode(str(path)) != str(path):
        raise UserError(f"{path}: expected a {what} with a name in UTF-8")
    with readable(path, what):
        text = files.disk.read(path).decode("utf-8-sig")  # some editors write a byte order mark
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _standard_input() -> str:
    """The text of standard input, which a command may ask for twice."""
    if sys.stdin not in _GIVEN:
        _GIVEN[sys.stdin] = sys.stdin.read()
    return _GIVEN[sys.stdin]


_GIVEN: WeakKeyDictionary[TextIO, str] = WeakKeyDictionary()


@contextmanager
def readable(path: Path, what: str) -> Iterator[None]:
    """Guards the reading of a user's file.

    Raises `UserError` if it can't be read; the error calls the file `what`.
    """
    try:
        yield
    except OSError as error:
        near = nearest_path(path) if isinstance(error, FileNotFoundError) else None
        meant = f'; did you mean "{near}"?' if near else ""
        if (
            isinstance(error, FileNotFoundError)
            and not near
            and examples.may_be(path)
            and what in ("scenario", "sweep")
        ):
            meant = "; `sojourn examples` lists those that are shipped"
        raise UserError(f"{path}: cannot read this {what}: {error.strerror or error}{meant}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: expected a {what} in UTF-8, got other bytes at position {error.start}") from None
    except ValueError:
        raise UserError(f"{str(path)!r}: expected the name of a {what}, got one with a NUL") from None


def nearest_path(path: Path) -> Path | None:
    """An existing path that differs from a wrong one by a few letters in its first wrong part."""
    there = next((folder for folder in path.parents if folder.is_dir()), None)
    if there is None:
        return None
    wrong, *rest = path.parts[len(there.parts) :]
    near = difflib.get_close_matches(wrong, [entry.name for entry in there.iterdir()], 1, 0.75)
    found = there.joinpath(*near, *rest)
    return found if near and found.exists() else None


def load(source: Source) -> Scenario:
    """Loads a scenario.

    `canonical` and every run check the fields.

    Parameters
    ----------
    source : str, path, mapping or Scenario
        A file or a dictionary. A file whose name ends in `.json` is JSON, any other TOML. `loads` reads a text.

    Returns
    -------
    Scenario
        The scenario. A `Scenario` is returned as it is, without a copy.

    Raises
    ------
    UserError
        The file can't be read, or the text can't be parsed.

    Examples
    --------
    >>> sj.load("examples/dumbbell.toml")
    <Scenario dumbbell: duration 60 s, links bottleneck, flows ftp>
    """
    if isinstance(source, Scenario):
        return source
    if isinstance(source, Mapping):
        return Scenario(source)
    if isinstance(source, str) and "\n" in source:
        raise UserError("scenario: expected a path, got a text with line breaks: sojourn.loads reads a text")
    if not isinstance(source, (str, os.PathLike)):
        raise UserError(f"scenario: expected a path, a dictionary or a Scenario, got {type(source).__name__}")
    return read_scenario(Path(source))


def loads(text: str, label: str = "scenario") -> Scenario:
    """Reads a scenario from a text in TOML or JSON.

    `canonical` and every run check the fields.

    Parameters
    ----------
    text : str
        TOML, or JSON if it starts with a brace.
    label : str, default "scenario"
        The prefix of error messages.

    Returns
    -------
    Scenario
        The scenario.

    Raises
    ------
    UserError
        The text can't be parsed.

    Examples
    --------
    >>> sj.loads('duration = "60 s"').get_path("duration")
    '60 s'
    """
    if not isinstance(text, str):
        raise UserError.expected(label, "a text in TOML or JSON", text)
    return (Scenario.from_json if text.lstrip().startswith("{") else Scenario.from_toml)(text, label)


def read_scenario(path: Path) -> Scenario:
    """Reads a scenario file. If its name ends in `.json` it is JSON, else TOML.

    The path `-` is standard input. A name such as `dumbbell` is a shipped example, unless there is such a file. Raises
    `UserError` for a file that can't be read or parsed.
    """
    path = examples.located(path)
    if path == STANDARD_INPUT:
        return loads(read_text(path), "standard input")
    read = Scenario.from_json if path.suffix == ".json" else Scenario.from_toml
    return read(read_text(path, "scenario"), str(path))


def parse_value(text: str) -> Any:
    """A value from the command line: parsed as TOML if possible, else the text itself."""
    try:
        return toml.parse(f"value = {text}", "value")["value"]
    except UserError:
        return text


def parse_assignment(text: str) -> tuple[str, Any]:
    """Path and value of `path=value` from the command line. Raises `UserError` for other texts."""
    path, sign, value = text.partition("=")
    if not sign or not path.strip():
        raise UserError.expected("--set", 'path=value such as links.bottleneck.rate="5 Mbit/s"', text)
    return path.strip(), parse_value(value.strip())
