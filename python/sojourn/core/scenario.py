"""Scenarios: loaded from TOML or a dictionary, changed by path, checked by the engine."""

from __future__ import annotations

import copy
import difflib
import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias

from sojourn import _sojourn
from sojourn.core import field_paths, files, json_text, toml
from sojourn.core.errors import LONGEST_LABEL, ScenarioError, UserError, one_line, printed, quoted, shortened, unicode
from sojourn.core.scenario_schema import first_unknown

Source: TypeAlias = "Scenario | Mapping[str, Any] | str | os.PathLike[str]"
ACCURATE = ("accurate", "l4s")
"""Values of `ecn` that use AccECN feedback."""


class Scenario(MutableMapping[str, Any]):
    """A scenario: a dictionary with the fields of the TOML file, and a label for messages.

    `tree` is the dictionary (default: empty), `label` the text (default: "scenario"). Methods change it in place;
    `copy` returns another scenario. docs/scenario.md describes the fields.

    >>> scenario = sj.load("examples/dumbbell.toml")
    >>> scenario.copy().set("links.bottleneck.rate", "5 Mbit/s").get_path("links.bottleneck.rate")
    '5 Mbit/s'
    """

    def __init__(self, tree: Mapping[str, Any] | None = None, label: str = "scenario") -> None:
        if tree is not None and not isinstance(tree, Mapping):
            raise UserError.expected("scenario", "a table of fields", tree)
        self._read: dict[str, Any] | None = toml.plain(tree or {}, f"{label}: ")
        self._text: str | None = None
        self._source: str | None = None  # the user's text, even if the tree has changed since
        self.file = unicode(label)
        """The origin: the default name of the scenario."""
        self.label = label
        """The prefix of error messages."""

    @classmethod
    def from_toml(cls, text: str, label: str = "scenario") -> Scenario:
        """Parses a TOML `text`; `label` names it in messages. Raises `UserError` for invalid TOML."""
        scenario = cls(toml.parse(text, label), label)
        scenario._text = scenario._source = text
        return scenario

    @classmethod
    def from_json(cls, text: str, label: str = "scenario") -> Scenario:
        """Parses a JSON `text`; `label` names it in messages. A null field is absent.

        Raises `UserError` for invalid JSON.
        """
        try:
            json_text.check_shape(text)
            tree = json.loads(text, object_pairs_hook=_once)
        except RecursionError:
            raise UserError(f"{label}: expected tables and lists that are not nested so deeply") from None
        except json.JSONDecodeError as error:
            raise UserError(f"{label}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
        except UserError as error:
            raise UserError(f"{label}: {error}") from None
        except json_text.TooManyError as error:
            raise UserError(f"{label}: {error}") from None
        except ValueError:  # raised for integers with more digits than Python parses
            most = toml.LARGEST - 1
            raise UserError(f"{label}: expected whole numbers of at most {most}, got one of more digits") from None
        if not isinstance(tree, dict):
            raise UserError.expected(label, "a table of fields", tree)
        return cls(tree, label)

    @classmethod
    def from_engine(cls, text: str, file: str, label: str) -> Scenario:
        """The scenario of a TOML `text` that the engine made from a `file`. Parsing is lazy.

        `label` names it in messages.
        """
        scenario = cls(label=file)
        scenario._read, scenario._text, scenario.label = None, text, label
        return scenario

    @property
    def _tree(self) -> dict[str, Any]:
        if self._read is None:
            self._read = toml.parse(self._text or "", self.label)
        return self._read

    def _changed(self) -> dict[str, Any]:
        """The tree, for a change. Invalidates the text."""
        tree = self._tree
        self._text = None
        return tree

    def __getitem__(self, key: str) -> Any:
        value = self._tree[key]
        return self._changed()[key] if isinstance(value, (dict, list)) else value  # the caller may change a table

    def __contains__(self, key: object) -> bool:
        return key in self._tree

    def __setitem__(self, key: str, value: Any) -> None:
        self._changed()[key] = toml.plain(value, f"{self.label}: {key}")

    def __delitem__(self, key: str) -> None:
        del self._changed()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tree)

    def __len__(self) -> int:
        return len(self._tree)

    def __repr__(self) -> str:
        lists = [f"{key} {_names(self._tree[key])}" for key in ("links", "flows") if self._tree.get(key)]
        name, duration = (printed(self._tree.get(*each)) for each in (("name", self.label), ("duration", "not set")))
        return f"<Scenario {name}: {', '.join([f'duration {duration}', *lists])}>"

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._tree)

    def copy(self) -> Scenario:
        """A copy of this scenario."""
        other = Scenario(self._tree, self.file)
        other._text, other._source, other.label = self._text, self._source, self.label
        return other

    def get_path(self, path: str) -> Any:
        """A copy of the value at a dotted `path`, as in `set`. Raises `UserError` if it is missing."""
        return copy.deepcopy(field_paths.get(self._tree, path, self.label))

    def set(self, path: str, value: Any) -> Scenario:
        """Sets the field at a `path` to `value` in place; returns the same scenario.

        A path is dotted, such as `links.bottleneck.rate`. To keep the original, write `scenario.copy().set(...)`.
        Missing tables are created. Raises `ScenarioError` for an unknown field or list entry, and suggests the nearest
        one; the scenario is then unchanged. `canonical` and every run check the value, and whether the chosen queue,
        controller or traffic has this parameter.

        >>> scenario = sj.load("examples/dumbbell.toml").set("links.bottleneck.rate", "5 Mbit/s")
        >>> scenario.set("links.bottleneck.rte", "5 Mbit/s")
        Traceback (most recent call last):
            ...
        sojourn.ScenarioError: ...links.bottleneck: expected one of ..., got key "rte"; did you mean "rate"?
        """
        value = toml.plain(value, f"{self.label}: {printed(path)}")
        try:
            self._check_path(path, value)
            field_paths.put(self._changed(), path, value, self.label)
        except UserError as error:
            raise ScenarioError(str(error)) from None
        return self

    def _check_path(self, path: str, value: Any) -> None:
        """Raises `ScenarioError` if no scenario has a field at this path."""
        steps = field_paths.split(path)
        found = first_unknown(steps)
        if found is None:
            return
        position, names = found
        if not names:
            where = ".".join(field_paths.element(step) for step in steps[:position])
            raise ScenarioError(f'{self.label}: {where}: expected a path that ends here, got "{path}"')
        changed = Scenario(self._tree, self.label)
        field_paths.put(changed._tree, path, value, self.label)
        try:
            changed.canonical()  # the schema omits aliases of parameters, such as those of ns-2
        except ScenarioError as error:
            said = str(error)
            if f'got key "{steps[position]}"' not in said:
                return  # another error, which every run reports in detail
            if "did you mean" not in said and (near := get_close_matches(steps[position], names, 1)):
                said += f'; did you mean "{near[0]}"?'
            raise ScenarioError(said) from None

    def set_all(self, changes: Mapping[str, Any]) -> Scenario:
        """Sets several fields in order, as `set` does; `changes` maps paths to values.

        Returns the same scenario.
        """
        for path, value in changes.items():
            self.set(path, value)
        return self

    def to_toml(self) -> str:
        """The scenario as TOML. An unchanged scenario returns its original text."""
        return self._text if self._text is not None else toml.dumps(self._tree, self.label)

    def for_engine(self) -> str:
        """The scenario as the engine reads it: the original text, or the tree after a change."""
        return self._text if self._text is not None else toml.for_engine(self._tree, self.label)

    def to_dict(self) -> dict[str, Any]:
        """A copy as a plain dictionary."""
        return copy.deepcopy(self._tree)

    def resolved(self) -> dict[str, Any]:
        """The scenario with all defaults filled in. Raises `ScenarioError` for an invalid scenario."""
        tree: dict[str, Any] = json.loads(self.canonical())
        return tree

    def canonical(self, laws: Collection[str] | None = None) -> str:
        """The resolved scenario as JSON. Raises `ScenarioError` for an invalid scenario.

        `laws` are the names of the Python laws that the run will have. They are also accepted if no queue uses them.
        """
        with self.clean_errors():
            return _sojourn.check(self.for_engine(), self.file, None if laws is None else list(laws))

    def warnings(self, *, without: Collection[str] = ()) -> list[str]:
        """What has no effect in the scenario, or another one than its reader may expect.

        Parameters
        ----------
        without
            Names of rules whose warnings are left out, such as `"marks-of-droptail"`.

        Returns
        -------
        list[str]
            A line for each warning: the path of a setting, and what is wrong with it. Empty where nothing is.

        Raises
        ------
        ScenarioError
            The scenario can't be run.

        Examples
        --------
        >>> scenario = sj.load("examples/dumbbell.toml").set("links.bottleneck.queue.limit", "1000 B")
        >>> scenario.warnings()
        ['links.bottleneck.queue.limit: 1000 B is less than a full packet of flows.ftp (1500 B): it can hold none']
        """
        with self.clean_errors():
            return [text for rule, text in _sojourn.lints(self.for_engine(), self.file) if rule not in without]

    @contextmanager
    def clean_errors(self) -> Iterator[None]:
        """Prefixes errors of the engine with the label, as `clean_error` does."""
        try:
            yield
        except ScenarioError as error:
            raise ScenarioError(self.clean_error(str(error))) from None

    def clean_error(self, message: str) -> str:
        """The engine's `message`, prefixed with the label.

        Line and column are added if the original text has the same error.
        """
        found = self._place(message)
        if found is None:
            return message
        said, place = message[found.end() :], found[1] or ""
        if self._text is None or self._text is not self._source:
            place = self._place_in_source(said)
            if place:
                return f"{one_line(self.file)}{place}: {said}"
        label = shortened(one_line(self.label), LONGEST_LABEL)  # it may contain the values that were set
        return f"{label}{place}: {said}"

    def _place(self, message: str) -> re.Match[str] | None:
        """The file in an error of the engine, with line and column if present."""
        return re.match(re.escape(one_line(self.file)) + r"(:\d+:\d+)?: ", message)

    def _place_in_source(self, said: str) -> str:
        """Line and column of an error in the user's text, before any change.

        Empty if the text does not have this error.
        """
        try:
            _sojourn.check(self._source or "", self.file, None)
        except ScenarioError as error:
            found = self._place(str(error))
            return found[1] or "" if found and str(error)[found.end() :] == said else ""
        return ""


def tables_of(scenario: Scenario, part: str) -> list[dict[str, Any]]:
    """Copies of the tables of a list, such as `links`; empty if it is absent.

    Raises `ScenarioError` if the list contains anything but tables.
    """
    found = scenario.to_dict().get(part, [])
    if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
        scenario.canonical()  # reports what is there instead
    return list(found)


def link_paths(scenario: Scenario) -> dict[str, str]:
    """The path of each link's table by the link's name; a `duplex` link has two directions.

    ```python
    link_paths(scenario)  # {"bottleneck": "links.bottleneck", "bottleneck:back": "links.bottleneck.back"}
    ```
    """
    found = {}
    for link in tables_of(scenario, "links"):
        name = str(field_paths.name_of(link))
        found[name] = f"links.{field_paths.element(name)}"
        if link.get("duplex") is True:
            back = f"{name}:back" if "name" in link else f"{printed(link.get('to'))}->{printed(link.get('from'))}"
            found[back] = f"{found[name]}.back"
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A table of JSON. Raises `UserError` for a duplicate key, as TOML does."""
    table = dict(pairs)
    if len(table) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise UserError(f"expected each key once, got {quoted(twice)} twice")
    return table


def _names(items: Any) -> str:
    """The names of the entries of a list, as `repr` shows them: the first three."""
    names = [str(field_paths.name_of(item)) for item in items] if isinstance(items, list) else ["?"]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def read_text(path: Path, what: str = "file") -> str:
    """The text of a user's UTF-8 file.

    Raises `UserError` if it can't be read; the error calls the file `what`.
    """
    if unicode(str(path)) != str(path):
        raise UserError(f"{path}: expected a {what} with a name in UTF-8")
    with readable(path, what):
        text = files.disk.read(path).decode("utf-8-sig")  # some editors write a byte order mark
    return text.replace("\r\n", "\n").replace("\r", "\n")


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
    """Loads a `source`: a file, a TOML text, or a dictionary.

    A string with a line break or `=` is a TOML text. A file whose name ends in `.json` has the same structure in JSON.
    A `Scenario` is returned as it is, without a copy. Raises `UserError` for a file that can't be read and for a text
    that can't be parsed. `canonical` and every run check the fields.

    >>> sj.load("examples/dumbbell.toml")
    <Scenario dumbbell: duration 60 s, links bottleneck, flows ftp>
    """
    if isinstance(source, Scenario):
        return source
    if isinstance(source, Mapping):
        return Scenario(source)
    if isinstance(source, str) and ("\n" in source or "=" in source):
        return Scenario.from_toml(source)
    if not isinstance(source, (str, os.PathLike)):
        kinds = "a path, a TOML text, a dictionary or a Scenario"
        raise UserError(f"scenario: expected {kinds}, got {type(source).__name__}")
    return read_scenario(Path(source))


def read_scenario(path: Path) -> Scenario:
    """Reads a scenario file. If its name ends in `.json` it is JSON, else TOML.

    Raises `UserError` for a file that can't be read or parsed.
    """
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
