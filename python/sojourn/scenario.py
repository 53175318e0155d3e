"""Scenarios: loaded from TOML, built as dictionaries, changed by path, checked by the engine."""

from __future__ import annotations

import copy
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import tomli_w

from sojourn import _sojourn, paths
from sojourn.errors import ScenarioError, UserError

Source: TypeAlias = "Scenario | Mapping[str, Any] | str | os.PathLike[str]"


class Scenario(MutableMapping[str, Any]):
    """What is simulated: a tree as in the TOML file, with a label for messages.

    It is a dictionary and is changed in place; `copy` gives another.
    """

    def __init__(self, tree: Mapping[str, Any] | None = None, label: str = "scenario") -> None:
        self._tree: dict[str, Any] = copy.deepcopy(dict(tree or {}))
        self._text: str | None = None
        self.label = label

    @classmethod
    def from_toml(cls, text: str, label: str = "scenario") -> Scenario:
        """The scenario that a TOML text describes."""
        try:
            scenario = cls(tomllib.loads(text), label)
        except tomllib.TOMLDecodeError as error:
            raise UserError(f"{label}: not TOML: {error}") from None
        scenario._text = text
        return scenario

    def __getitem__(self, key: str) -> Any:
        self._text = None  # what is handed out may be changed
        return self._tree[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._text = None
        self._tree[key] = value

    def __delitem__(self, key: str) -> None:
        self._text = None
        del self._tree[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tree)

    def __len__(self) -> int:
        return len(self._tree)

    def __repr__(self) -> str:
        return f"Scenario({self._tree!r}, label={self.label!r})"

    def copy(self) -> Scenario:
        """Another scenario, equal to this one."""
        other = Scenario(self._tree, self.label)
        other._text = self._text
        return other

    def get_path(self, path: str) -> Any:
        """The value at a dotted path; a copy, so that changing it changes nothing here."""
        return copy.deepcopy(paths.get(self._tree, path, self.label))

    def set(self, path: str, value: Any) -> Scenario:
        """Sets the field at a dotted path (`links.bottleneck.rate`) and returns the scenario."""
        paths.put(self._tree, path, plain(value), self.label)
        self._text = None
        return self

    def set_all(self, changes: Mapping[str, Any]) -> Scenario:
        """Sets several fields, in order."""
        for path, value in changes.items():
            self.set(path, value)
        return self

    def to_toml(self) -> str:
        """The scenario as TOML; the text it was read from while nothing has changed."""
        return self._text if self._text is not None else tomli_w.dumps(plain(self._tree))

    def to_dict(self) -> dict[str, Any]:
        """A copy of the tree."""
        return copy.deepcopy(self._tree)

    def resolved(self) -> dict[str, Any]:
        """The scenario as the engine understands it, every default filled in."""
        tree: dict[str, Any] = json.loads(self.canonical())
        return tree

    def canonical(self) -> str:
        """The resolved scenario as JSON; raises `ScenarioError` where it cannot be run."""
        with self.refusals():
            return _sojourn.check(self.to_toml(), self.label)

    @contextmanager
    def refusals(self) -> Iterator[None]:
        """Takes line and column out of the engine's refusals where they would be those of a text that nobody wrote."""
        try:
            yield
        except ScenarioError as error:
            place = re.match(re.escape(self.label) + r":\d+:\d+: ", str(error))
            if self._text is not None or place is None:
                raise
            raise ScenarioError(f"{self.label}: {str(error)[place.end() :]}") from None


def plain(value: Any) -> Any:
    """A value as TOML knows it: NumPy numbers become Python's, tuples become lists, paths text."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return value


def read_text(path: Path, what: str = "file") -> str:
    """The text of a file that a user named."""
    try:
        return path.read_text(encoding="utf-8-sig")  # some editors put a mark before the text
    except OSError as error:
        raise UserError(f"{path}: cannot read this {what}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 at byte {error.start}: taken is a {what} in UTF-8") from None


def load(source: Source) -> Scenario:
    """A scenario from a file, from TOML text (anything with a line break or a `=`), or from a dictionary."""
    if isinstance(source, Scenario):
        return source
    if isinstance(source, Mapping):
        return Scenario(source)
    if isinstance(source, str) and ("\n" in source or "=" in source):
        return Scenario.from_toml(source)
    if not isinstance(source, (str, os.PathLike)):
        taken = "a path, TOML text, a dictionary or a Scenario"
        raise UserError(f"scenario: given {type(source).__name__}, taken is {taken}")
    path = Path(source)
    return Scenario.from_toml(read_text(path, "scenario"), str(path))


def parse_value(text: str) -> Any:
    """A value from the command line: TOML where it is TOML, else the text itself."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def parse_assignment(text: str) -> tuple[str, Any]:
    """`path=value` from the command line."""
    path, sign, value = text.partition("=")
    if not sign or not path.strip():
        raise UserError(f'--set "{text}": taken is path=value, such as links.bottleneck.rate="5 Mbit/s"')
    return path.strip(), parse_value(value.strip())
