"""Scenarios: loaded from TOML or a dictionary, changed by path, checked by the engine."""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

from sojourn import _sojourn
from sojourn.core import field_paths, json_text, toml
from sojourn.core.errors import LONGEST_LABEL, ScenarioError, UserError, one_line, printed, quoted, shortened, unicode
from sojourn.core.scenario_schema import first_unknown

ACCURATE = ("accurate", "l4s")
"""Values of `ecn` that use AccECN feedback."""


class Scenario(MutableMapping[str, Any]):
    """A scenario: a dictionary with the fields of the TOML file, and a label for messages.

    Methods change it in place; `copy` returns another scenario. docs/scenario.md describes the fields.

    Parameters
    ----------
    tree : mapping of str to object, optional
        The dictionary (default: empty).
    label : str, default "scenario"
        The prefix of error messages.

    Examples
    --------
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
        """Parses a scenario in TOML.

        Parameters
        ----------
        text : str
            The TOML.
        label : str, default "scenario"
            The prefix of error messages.

        Returns
        -------
        Scenario
            The scenario.

        Raises
        ------
        UserError
            The text is not TOML.
        """
        scenario = cls(toml.parse(text, label), label)
        scenario._text = scenario._source = text
        return scenario

    @classmethod
    def from_json(cls, text: str, label: str = "scenario") -> Scenario:
        """Parses a scenario in JSON. A null field is absent.

        Parameters
        ----------
        text : str
            The JSON.
        label : str, default "scenario"
            The prefix of error messages.

        Returns
        -------
        Scenario
            The scenario.

        Raises
        ------
        UserError
            The text is not JSON.
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
        """The scenario of a text that the engine made. Parsing is lazy.

        Parameters
        ----------
        text : str
            The TOML.
        file : str
            The file from which the engine made it.
        label : str
            The prefix of error messages.

        Returns
        -------
        Scenario
            The scenario.
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
        """A copy of this scenario.

        Returns
        -------
        Scenario
            The copy, with the same label.
        """
        other = Scenario(self._tree, self.file)
        other._text, other._source, other.label = self._text, self._source, self.label
        return other

    def get_path(self, path: str) -> Any:
        """A copy of the value at a path.

        Parameters
        ----------
        path : str
            A dotted path, as in `set`.

        Returns
        -------
        object
            The value.

        Raises
        ------
        UserError
            There is no value.
        """
        return copy.deepcopy(field_paths.get(self._tree, path, self.label))

    def set(self, path: str, value: Any) -> Scenario:
        """Sets the field at a path in place.

        To keep the original, write `scenario.copy().set(...)`. Missing tables are created. `canonical` and every run
        check the value, and whether the chosen queue, controller or traffic has this parameter.

        Parameters
        ----------
        path : str
            A dotted path, such as `links.bottleneck.rate`.
        value : object
            The value: a number, a text with a unit, a list, a table, or whatever the field accepts.

        Returns
        -------
        Scenario
            The same scenario.

        Raises
        ------
        ScenarioError
            The field or list entry is unknown. The message suggests the nearest one; the scenario is unchanged.

        Examples
        --------
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
        """Sets several fields in order, as `set` does.

        Parameters
        ----------
        changes : mapping of str to object
            Paths with their values.

        Returns
        -------
        Scenario
            The same scenario.

        Raises
        ------
        ScenarioError
            A field or list entry is unknown.
        """
        for path, value in changes.items():
            self.set(path, value)
        return self

    def to_toml(self) -> str:
        """The scenario as TOML.

        Returns
        -------
        str
            The TOML. An unchanged scenario returns its original text.
        """
        return self._text if self._text is not None else toml.dumps(self._tree, self.label)

    def for_engine(self) -> str:
        """The scenario as the engine reads it.

        Returns
        -------
        str
            The original text, or after a change JSON.
        """
        return self._text if self._text is not None else toml.for_engine(self._tree, self.label)

    def to_dict(self) -> dict[str, Any]:
        """A copy as a plain dictionary.

        Returns
        -------
        dict of str to object
            The fields.
        """
        return copy.deepcopy(self._tree)

    def resolved(self) -> dict[str, Any]:
        """The scenario with all defaults filled in.

        Returns
        -------
        dict of str to object
            The fields.

        Raises
        ------
        ScenarioError
            The scenario can't be run.
        """
        tree: dict[str, Any] = json.loads(self.canonical())
        return tree

    def canonical(self, laws: Collection[str] | None = None) -> str:
        """The resolved scenario as JSON.

        Parameters
        ----------
        laws : collection of str, optional
            The names of the Python laws that the run will have. They are also accepted if no queue uses them.

        Returns
        -------
        str
            The JSON.

        Raises
        ------
        ScenarioError
            The scenario can't be run.
        """
        with self.clean_errors():
            return _sojourn.check(self.for_engine(), self.file, None if laws is None else list(laws))

    def warnings(self, *, without: Collection[str] = ()) -> list[str]:
        """Settings that have no effect, or another one than a reader may expect.

        Parameters
        ----------
        without : collection of str, default ()
            Names of rules whose warnings are left out, such as `"marks-of-droptail"`.

        Returns
        -------
        list of str
            A line for each warning: the path of a setting, and its fault.

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
        """Prefixes errors of the engine with the label, as `clean_error` does.

        Yields
        ------
        None
            Nothing.

        Raises
        ------
        ScenarioError
            The engine reports an error.
        """
        try:
            yield
        except ScenarioError as error:
            raise ScenarioError(self.clean_error(str(error))) from None

    def clean_error(self, message: str) -> str:
        """A message of the engine, prefixed with the label.

        Line and column are added if the original text has the same error.

        Parameters
        ----------
        message : str
            The engine's message.

        Returns
        -------
        str
            One line.
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
