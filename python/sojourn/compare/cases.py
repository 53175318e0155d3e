"""The axes and cases of a comparison: queues, congestion controllers, or any field."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeAlias

from sojourn import _sojourn
from sojourn.core import field_paths
from sojourn.core.errors import ScenarioError, UserError
from sojourn.core.field_labels import field_label, setting_label, value_label
from sojourn.core.scenario import Scenario, link_paths, tables_of
from sojourn.core.scenario_files import parse_value
from sojourn.core.scenario_schema import schema
from sojourn.core.toml import plain

Named: TypeAlias = str | Sequence[str] | Mapping[str, str | Mapping[str, Any]]


@dataclass(frozen=True)
class Axis:
    """An axis of a comparison: its name (`queue`, `cc`, or a path) and its changes by label.

    The changes of a label are values by path. `named` contains the part of each value that its label shows, if other
    parts come from the scenario.
    """

    name: str
    changes: dict[str, dict[str, Any]]
    notes: list[str] = field(default_factory=list)
    named: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One case of a comparison: its label, its value on each axis, and its scenario."""

    label: str
    at: dict[str, Any]
    scenario: Scenario


def with_unique_labels(axes: Sequence[Axis]) -> list[Axis]:
    """The axes with unambiguous labels.

    Equal field names are prefixed by their owner, as in `mine access delay=5 ms`.
    """
    ends = Counter(field_paths.split(axis.name)[-1] for axis in axes)
    labels = Counter(label for axis in axes for label in axis.changes)
    found = []
    for axis in axes:
        alike = ends[field_paths.split(axis.name)[-1]] > 1 or any(labels[label] > 1 for label in axis.changes)
        if alike and axis.name not in ("queue", "cc"):
            changes = {
                f"{field_label(axis.name)}={value_label(value)}": {at: value}
                for change in axis.changes.values()
                for at, value in change.items()
            }
            found.append(replace(axis, changes=changes))
        else:
            found.append(axis)
    return found


def _set(scenario: Scenario, axes: Sequence[Axis], labels: Sequence[str]) -> None:
    """Applies the changes of these labels.

    Raises `UserError` if an axis overwrites the change of an earlier one, because labels would then be wrong.
    """
    before: list[tuple[Axis, str]] = []
    for axis, label in zip(axes, labels, strict=True):
        for path, value in axis.changes[label].items():
            scenario.set(path, value)
        for other, kept in before:
            if not _is_there(scenario, other, kept):
                what = {"queue": "the queues", "cc": "the controllers"}.get(other.name, other.name)
                raise UserError(f"{axis.name}: expected a field that keeps what {what} set, got one that replaces it")
        before.append((axis, label))


def _is_there(scenario: Scenario, axis: Axis, label: str) -> bool:
    """Whether a scenario contains the change that a label describes.

    Its tables may contain more.
    """
    return all(_holds(scenario, *change, axis.named.get(label)) for change in axis.changes[label].items())


def _holds(scenario: Scenario, path: str, value: Any, named: Any) -> bool:
    """Whether a path has this value, or at least the part `named` of it."""
    try:
        found = scenario.get_path(path)
    except UserError:
        return False
    wanted = value if named is None else named
    return all(_within(wanted, each) for each in (found if "*" in field_paths.split(path) else [found]))


def _within(value: Any, found: Any) -> bool:
    """Whether a value equals another, or a table is a subset of another."""
    if isinstance(value, Mapping):
        return isinstance(found, Mapping) and all(key in found and _within(value[key], found[key]) for key in value)
    if isinstance(value, list):
        return isinstance(found, list) and len(found) == len(value) and all(map(_within, value, found))
    return repr(found) == repr(value)  # `repr` tells true from 1, and NaN equals itself


def own_controllers(scenario: Scenario) -> dict[str, bool] | None:
    """Whether each TCP group has a controller of its own.

    None for an invalid scenario, which other checks report.
    """
    try:
        groups = scenario.resolved()["groups"]
    except ScenarioError:
        return None
    pairs = zip(tables_of(scenario, "flows"), groups, strict=True)
    return {
        group["name"]: field_paths.below(flow, "tcp", "control") is not None for flow, group in pairs if group["tcp"]
    }


def _check_controlled(axes: Sequence[Axis], cases: Sequence[Case]) -> None:
    """Raises `UserError` if no flow would use the controllers.

    That is so if every TCP group has its own controller, or if there is no TCP group.
    """
    if not any(
        at == "tcp.control" for axis in axes if axis.name == "cc" for change in axis.changes.values() for at in change
    ):
        return
    for case in cases:
        own = own_controllers(case.scenario)
        if own is not None and all(own.values()):
            raise UserError(f'cc: expected flows that get these controllers, got none in the case "{case.label}"')


def cases_of(base: Scenario, axes: Sequence[Axis]) -> list[Case]:
    """Every combination of the axes' values, with the last axis fastest.

    A label shows the values of axes with several values; see `common_label` for the others.

    Raises `UserError` if one axis overwrites the change of another.
    """
    found, apart = [], [axis for axis in axes if len(axis.changes) > 1] or axes
    for choice in itertools.product(*(axis.changes for axis in axes)):
        scenario = base.copy()
        _set(scenario, axes, choice)
        scenario.label = " with ".join([base.label, *choice])
        label = " with ".join(label for axis, label in zip(axes, choice, strict=True) if axis in apart)
        at = {axis.name: _at(axis, label) for axis, label in zip(axes, choice, strict=True)}
        found.append(Case(label, at, scenario))
    _check_controlled(axes, found)
    return found


def common_label(axes: Sequence[Axis]) -> str:
    """The label of the axes with a single value, which all cases share.

    Empty if no other axis has several values.
    """
    alone = [next(iter(axis.changes)) for axis in axes if len(axis.changes) == 1]
    return " with ".join(alone) if len(alone) < len(axes) else ""


def _at(axis: Axis, label: str) -> Any:
    """A value as tables show it: numbers and fields as values, others as labels."""
    if axis.name in ("queue", "cc"):
        return label
    (value,) = axis.changes[label].values()
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else value_label(value)


def queue_axis(base: Scenario, links: Sequence[str], queues: Named, laws: Collection[str] = ()) -> Axis:
    """An axis of queues of these links. They inherit the scenario's `limit`, `ecn` and `hints`.

    A queue of the same discipline inherits all parameters. Raises `UserError` for a link with classes, because each
    class has its own queue.
    """
    paths = link_paths(base)
    tables = {label: _with_law(table, laws) for label, table in queue_tables(queues).items()}
    changes: dict[str, dict[str, Any]] = {label: {} for label in tables}
    defaults: list[str] = []
    for link in links:
        before = _queue_before(base, f"{paths[link]}.queue", tables)
        for label, table in tables.items():
            changes[label][f"{paths[link]}.queue"] = _inherited(before, table)
            aqm = _discipline_of(table)
            if aqm != before["aqm"] and _has_parameters(aqm) and not set(table) - {"aqm"} - of_every("Queue", "aqm"):
                defaults.append(aqm)
    notes = (
        [f"parameters of {', '.join(dict.fromkeys(defaults))}: the defaults, since the scenario has none"]
        if defaults
        else []
    )
    return Axis("queue", changes, notes, tables)


def _queue_before(base: Scenario, at: str, tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The queue at a path with its discipline. Raises `UserError` for a scheduler with classes."""
    before = table_at(base, at) or {}
    if "classes" in before:
        names = ",".join(dict.fromkeys(str(table.get("law", _discipline_of(table))) for table in tables.values()))
        way = f"to vary that of a class: --vary '{at}.classes[0].aqm={names}'"
        raise UserError(f"{base.label}: {at}: expected one queue, got a scheduler with classes; {way}")
    return {"aqm": _discipline_of(before)} | before


def _with_law(table: dict[str, Any], laws: Collection[str]) -> dict[str, Any]:
    """A queue as a scenario writes it, in which a key names a law in Python.

    Raises `UserError` for other names.
    """
    aqm = _discipline_of(table)
    if aqm in laws:
        return {**table, "aqm": "external", "law": aqm}
    if laws and aqm not in _disciplines():
        raise UserError(f'queues: expected one of {", ".join([*laws, *_disciplines()])}, got "{aqm}"')
    return table


def _inherited(before: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """A queue with what it inherits from the queue that it replaces."""
    aqm = _discipline_of(table)
    common = () if "linux" in (aqm, before["aqm"]) else of_every("Queue", "aqm")  # a kernel's queue has its own limit
    kept = before if aqm == before["aqm"] else {key: before[key] for key in before if key in common}
    return {**kept, **table}


def queue_tables(queues: Named) -> dict[str, dict[str, Any]]:
    """Queue tables by label.

    `queues` is a text such as `droptail,red(min=5,max=15)`, names, or tables by label.
    """
    return _tables(queues, "queues", "aqm")


def controller_tables(controllers: Named) -> dict[str, dict[str, Any]]:
    """Controller tables by label, from a text such as `reno,ledbat(target=60 ms)`."""
    return _tables(controllers, "cc", "cc")


def start_up_tables(start_ups: Named) -> dict[str, dict[str, Any]]:
    """Tables of start-ups by label, from a text such as `classic,search(thresh=0.3)`."""
    return _tables(start_ups, "start_up", "name")


def controller_axis(
    base: Scenario, controllers: Named, group: str | None = None, own_laws: Collection[str] = ()
) -> Axis:
    """An axis of congestion controllers of a group of flows.

    By default it covers every group without a controller of its own. Names in `own_laws` are controllers in Python.

    Raises `UserError` if every group has its own controller, and if the axis would replace a Python controller that it
    does not contain.
    """
    groups = tables_of(base, "flows")
    names = [str(field_paths.name_of(item)) for item in groups]
    own = [
        name for name, item in zip(names, groups, strict=True) if field_paths.below(item, "tcp", "control") is not None
    ]
    controlled = own_controllers(base)
    if group is None and controlled and all(controlled.values()):
        what = f"the group that gets the controllers, one of {', '.join(own)}, since each has its own"
        raise UserError(f"group: expected {what}")
    at = "tcp.control" if group is None else f"flows.{field_paths.element(group)}.tcp.control"
    before = table_at(base, at) or table_at(base, "tcp.control") or {}
    tables = controller_tables(controllers)
    named = {label: _external(table, own_laws) for label, table in tables.items()}
    replaced = before.get("controller")
    if replaced in own_laws and replaced not in [control.get("controller") for control in named.values()]:
        raise UserError.expected("cc", f"{replaced} among the controllers, since they replace it", ", ".join(tables))
    changes = {
        label: {at: {**(before if before.get("cc") == table.get("cc") else {}), **named[label]}}
        for label, table in tables.items()
    }
    notes = [f"{', '.join(own)}: keeps its own controller"] if group is None and own else []
    return Axis("cc", changes, notes, named)


def check_group(base: Scenario, group: str | None) -> None:
    """Raises `UserError` for a group that the scenario does not have."""
    names = [str(field_paths.name_of(item)) for item in tables_of(base, "flows")]
    if group is not None and group not in names:
        raise UserError.unknown("group", group, names)


def _external(control: dict[str, Any], laws: Collection[str]) -> dict[str, Any]:
    """A controller as a scenario writes it. A controller in Python is named by its class."""
    return {"cc": "external", "controller": control["cc"]} if control.get("cc") in laws else control


def field_axis(path: str, values: Iterable[Any]) -> Axis:
    """An axis of values of any field.

    Raises `UserError` for an empty list, a duplicate, or a value that is no list.
    """
    field_paths.split(path)
    if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
        raise UserError(f"{path}: expected a list of values, got {value_label(values)}")
    changes: dict[str, dict[str, Any]] = {}
    for value in plain(list(values), path):
        label = setting_label(path, value)
        if label in changes:
            raise UserError(f'{path}: expected each value once, got "{value_label(value)}" twice')
        changes[label] = {path: value}
    if not changes:
        raise UserError(f"{path}: expected one or more values, got none")
    return Axis(path, changes)


@cache
def of_every(definition: str, tag: str) -> set[str]:
    """The keys that all variants of a schema definition share.

    The tag and the kernel's variant are excluded. `of_every("Queue", "aqm")` returns the keys of every queue, such as
    its limit.
    """
    choices = [choice["properties"] for choice in schema()["$defs"][definition]["oneOf"]]
    return set.intersection(*(set(keys) for keys in choices if keys[tag]["const"] != "linux")) - {tag}


def _discipline_of(queue: Mapping[str, Any]) -> str:
    """The discipline of a queue. A kernel's discipline is the value of its own key."""
    return str(queue.get("aqm", "linux" if "linux" in queue else "droptail"))


@cache
def _disciplines() -> list[str]:
    """The values that `aqm` can have."""
    queues = schema()["$defs"]["Queue"]["oneOf"]
    return [str(queue["properties"]["aqm"]["const"]) for queue in queues]


@cache
def _has_parameters(aqm: str) -> bool:
    """Whether a discipline has parameters of its own."""
    return any(entry["name"] == aqm and entry["parameters"] for entry in json.loads(_sojourn.registry())["aqm"])


def table_at(base: Scenario, path: str) -> dict[str, Any] | None:
    """The table at a path; None if it is missing."""
    try:
        found = base.get_path(path)
    except UserError:
        return None
    return dict(found) if isinstance(found, Mapping) else None


def _tables(named: Named, what: str, key: str) -> dict[str, dict[str, Any]]:
    """Tables by label, from text as on the command line, a list of such texts, or tables."""
    if isinstance(named, str):
        return parse_named(named, what, key)
    if not isinstance(named, Mapping):
        if not isinstance(named, Iterable):
            raise UserError.expected(what, f"names such as {EXAMPLES[key]}, or tables by label", named)
        named = {_named(each, what, key): each for each in named}
    if not named:
        raise UserError(f"{what}: expected one or more such as {EXAMPLES[key]}, got none")
    return {_named(label, what, key): _table(spec, what, key) for label, spec in named.items()}


def _named(name: Any, what: str, key: str) -> str:
    """The value as a name or label. Raises an error unless it is a string."""
    if not isinstance(name, str):
        raise UserError.expected(what, f"names such as {EXAMPLES[key]}", name)
    return name


def _table(spec: str | Mapping[str, Any], what: str, key: str) -> dict[str, Any]:
    if not isinstance(spec, Mapping):
        return next(iter(parse_named(_named(spec, what, key), what, key).values()))
    table: dict[str, Any] = plain(spec, what)
    return table


EXAMPLES = {"aqm": "droptail,red(min=5,max=15)", "cc": "reno,cubic(beta=0.7)", "name": "classic,search(thresh=0.3)"}
_NAMED = re.compile(r"([\w+-]+)\s*(?:\((.*)\))?", re.DOTALL)


def parse_named(text: str, what: str, key: str) -> dict[str, dict[str, Any]]:
    """Parses a text such as `droptail,red(min=5,max=15)` into tables by label.

    The name is stored under `key`. Raises `UserError` for other texts.
    """
    found: dict[str, dict[str, Any]] = {}
    for label in split_list(text):
        match = _NAMED.fullmatch(label)
        if match is None:
            raise UserError.expected(what, f"names and commas such as {EXAMPLES[key]}", text)
        table: dict[str, Any] = {key: match[1]}
        for pair in split_list(match[2] or ""):
            name, sign, value = pair.partition("=")
            if not sign:
                raise UserError.expected(f'{what} "{text}"', "parameters of the form name=value", pair)
            if name.strip() in table:
                raise UserError(f'{what} "{text}": expected each parameter once, got "{name.strip()}" twice')
            table[name.strip()] = parse_value(value.strip())
        if label in found:
            raise UserError(f'{what} "{text}": expected each once, got "{label}" twice')
        found[label] = table
    if not found:
        raise UserError(f"{what}: expected one or more such as {EXAMPLES[key]}, got none")
    return found


def parse_variation(text: str) -> tuple[str, list[Any]]:
    """Path and values of `PATH=a,b,c`. Raises `UserError` for other texts."""
    path, sign, values = text.partition("=")
    if not sign or not path.strip():
        raise UserError.expected("--vary", "PATH=a,b,c such as flows.ftp.count=10,50", text)
    parts = split_list(values)
    if "" in parts:
        raise UserError.expected(f"--vary {path.strip()}", "a value on both sides of each comma", values)
    return path.strip(), [parse_value(value) for value in parts]


def split_list(text: str) -> list[str]:
    """Splits at commas outside brackets and quotation marks. An empty text has no parts."""
    parts, depth, quote, start = [], 0, "", 0
    for i, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [part.strip() for part in parts] if text.strip() else []
