"""Dotted paths into scenarios and records, such as `links.bottleneck.queue.min`.

A step into a list of tables is the name of an entry, its position (`links[0]` or `links.0`), or `*` for all entries. A
name that contains a dot is quoted: `links."a.b".rate`. The engine splits paths; this module follows them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from sojourn import _sojourn
from sojourn.core.errors import ScenarioError, UserError, printed, quoted


def split(path: str) -> list[str]:
    """The steps of a path. Raises `UserError` for a text that is no path."""
    try:
        return _sojourn.path_split(path)
    except ScenarioError as error:
        raise UserError(str(error)) from None
    except (TypeError, UnicodeEncodeError):
        raise UserError.expected("path", "a text such as links.bottleneck.rate", path) from None


def element(name: str) -> str:
    """A name as a step of a path, in quotation marks if needed."""
    return _sojourn.path_element(name)


def name_of(item: Any) -> str | None:
    """The name of a table in a list. A link without a name is called "from->to"."""
    if not isinstance(item, Mapping):
        return None
    if "name" in item:
        return printed(item["name"])
    if "from" in item and "to" in item:
        return f"{printed(item['from'])}->{printed(item['to'])}"
    return None


def below(node: Any, *keys: str) -> Any:
    """The value under nested keys; None if a key or table is missing."""
    for key in keys:
        node = node.get(key) if isinstance(node, Mapping) else None
    return node


def get(tree: Any, path: str, label: str = "record") -> Any:
    """The value at `path`; a list of values if the path has a `*`.

    Fields below null are null. Raises `UserError` for an unknown path; its message begins with `label`.
    """
    steps = split(path)
    found = list(_walk(tree, steps, f"{label}: {path}", make=False))
    return found if "*" in steps else found[0]


def put(tree: dict[str, Any], path: str, value: Any, label: str = "scenario") -> None:
    """Sets the field at `path` and creates missing tables. Raises `UserError` as `get` does."""
    *steps, last = split(path)
    where = f"{label}: {path}"
    for node in list(_walk(tree, steps, where, make=True)):
        if isinstance(node, list):
            for item in _enter(node, last, where):
                node[node.index(item)] = value
        elif isinstance(node, dict):
            node[last] = value
        else:
            raise UserError(f'{where}: expected a table or list for "{last}", got {quoted(node)}')


def selected_fields(tree: Any, path: str) -> list[tuple[str, ...]]:
    """The fields of a scenario that `path` selects, each as steps.

    Steps are positions instead of names of list entries. Steps that do not exist yet are unchanged. Two paths of one
    field return the same steps. Raises `UserError` for an invalid path.

    ```python
    selected_fields(scenario, "links.bottleneck.rate")  # [("links", "0", "rate")], as of links[0].rate
    ```
    """
    found: list[tuple[tuple[str, ...], Any]] = [((), tree)]
    for step in split(path):
        found = [((*steps, own), inner) for steps, node in found for own, inner in _inner(node, step)]
    return [steps for steps, _ in found]


def _inner(node: Any, step: str) -> list[tuple[str, Any]]:
    """The keys or positions that a step selects, with their values.

    If it selects nothing, the result is the step itself.
    """
    if isinstance(node, list):
        keys = range(len(node))
        named = [i for i in keys if name_of(node[i]) == step][:1]
        chosen = list(keys) if step == "*" else named or [i for i in keys if str(i) == step]
        return [(str(i), node[i]) for i in chosen] or [(step, None)]
    if isinstance(node, Mapping):
        chosen_keys = list(node) if step == "*" and step not in node else [step]
        return [(key, node.get(key)) for key in chosen_keys]
    return [(step, None)]


def replaces(tree: Any, path: str, other: str) -> bool:
    """Whether setting `path` of a scenario replaces everything at `other`."""
    setting = selected_fields(tree, path)
    return all(any(steps[: len(each)] == each for each in setting) for steps in selected_fields(tree, other))


def differing(one: Any, other: Any, at: str = "") -> Iterator[str]:
    """The paths of the fields that differ between two scenarios.

    ```python
    list(differing({"links": [{"name": "up", "rate": 1}]}, {"links": [{"name": "up", "rate": 2}]}))  # ["links.up.rate"]
    ```
    """
    ours, theirs = _by_step(one), _by_step(other)
    if ours is None or theirs is None:
        if one != other:
            yield at
        return
    for step in dict.fromkeys([*ours, *theirs]):
        below_it = f"{at}.{element(step)}" if at else element(step)
        if step in ours and step in theirs:
            yield from differing(ours[step], theirs[step], below_it)
        else:
            yield below_it


def _by_step(node: Any) -> dict[str, Any] | None:
    """The fields of a table, or the tables of a list by name; None for any other value."""
    if isinstance(node, Mapping):
        return dict(node)
    if isinstance(node, list) and node and all(isinstance(each, Mapping) for each in node):
        return {name_of(each) or str(i): each for i, each in enumerate(node)}
    return None


def _enter(items: list[Any], step: str, where: str) -> list[Any]:
    """The tables of a list that a step selects."""
    if step == "*":
        return items
    named = [item for item in items if name_of(item) == step]
    if named:
        return named[:1]
    if re.fullmatch("[0-9]{1,9}", step) and int(step) < len(items):
        return [items[int(step)]]
    raise _missing(where, step, [name_of(item) or str(i) for i, item in enumerate(items)])


def _walk(node: Any, steps: list[str], where: str, make: bool) -> Iterator[Any]:
    """Every value to which `steps` lead from `node`. With `make`, missing tables are created."""
    if not steps:
        yield node
        return
    step, rest = steps[0], steps[1:]
    if node is None and not make:
        yield None
    elif isinstance(node, list):
        for item in _enter(node, step, where):
            yield from _walk(item, rest, where, make)
    elif isinstance(node, Mapping):
        if step == "*" and step not in node:
            for item in node.values():
                yield from _walk(item, rest, where, make)
            return
        if step not in node and make and isinstance(node, dict):
            node[step] = {}
        if step not in node:
            raise _missing(where, step, list(node))
        yield from _walk(node[step], rest, where, make)
    else:
        raise UserError(f'{where}: expected a table or list for "{step}", got {quoted(node)}')


def _missing(where: str, step: str, names: list[str]) -> UserError:
    shown = ", ".join(f'"{name}"' for name in names[:12]) or "nothing"
    more = ", ..." if len(names) > 12 else ""
    near = get_close_matches(step, names, 1)
    meant = f'; did you mean "{near[0]}"?' if near else ""
    return UserError(f'{where}: expected one of {shown}{more}, got "{step}"{meant}')
