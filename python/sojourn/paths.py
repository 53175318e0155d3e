"""Dotted paths into scenarios and records: `links.bottleneck.queue.min`, `flows.0.count`, `flows.*.rtt_ms.mean`.

A list of tables is entered by the name of one, by its position (`links[0]` or `links.0`), or by `*` for all of
them. A name with a dot in it is quoted: `links."a.b".rate`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sojourn.errors import UserError

_TOKEN = re.compile(r"""\[(\d+|\*)\]|"([^"]*)"|'([^']*)'|([^."'\[\]]+)""")


def split(path: str) -> list[str]:
    """The steps of a path."""
    steps: list[str] = []
    rest = path.strip()
    while match := _TOKEN.match(rest):
        if match.group(1) is not None and not steps:
            break
        steps.append(next(group for group in match.groups() if group is not None))
        rest = rest[match.end() :]
        if not rest:
            return steps
        if rest.startswith("."):
            rest = rest[1:]
            if rest.startswith("["):
                break
        elif not rest.startswith("["):
            break
    raise UserError(f'path "{path}": taken is names with dots between, such as links.bottleneck.rate')


def name_of(item: Any) -> str | None:
    """The name of a table in a list; a link without one is called "from->to"."""
    if not isinstance(item, Mapping):
        return None
    if "name" in item:
        return str(item["name"])
    if "from" in item and "to" in item:
        return f"{item['from']}->{item['to']}"
    return None


def _enter(items: list[Any], step: str, path: str, label: str) -> list[Any]:
    """The tables of a list that a step means."""
    if step == "*":
        return items
    named = [item for item in items if name_of(item) == step]
    if named:
        return named[:1]
    if step.isdigit() and int(step) < len(items):
        return [items[int(step)]]
    there = ", ".join(f'"{name_of(item) or i}"' for i, item in enumerate(items[:8])) or "none"
    more = ", ..." if len(items) > 8 else ""
    raise UserError(f'{label}: path "{path}": no "{step}"; there are {there}{more}')


def _walk(node: Any, steps: list[str], path: str, label: str, make: bool) -> Iterator[Any]:
    """Every table that `steps` lead to from `node`."""
    if not steps:
        yield node
        return
    step, rest = steps[0], steps[1:]
    if node is None and not make:
        yield None
        return
    if isinstance(node, list):
        for item in _enter(node, step, path, label):
            yield from _walk(item, rest, path, label, make)
        return
    if isinstance(node, Mapping):
        if step == "*" and step not in node:
            for item in node.values():
                yield from _walk(item, rest, path, label, make)
            return
        if step not in node and make and isinstance(node, dict):
            node[step] = {}
        if step in node:
            yield from _walk(node[step], rest, path, label, make)
            return
        there = ", ".join(f'"{key}"' for key in list(node)[:12]) or "nothing"
        raise UserError(f'{label}: path "{path}": no "{step}"; there is {there}')
    raise UserError(f'{label}: path "{path}": "{step}" looked for in {node!r}, which has no fields')


def get(tree: Any, path: str, label: str = "record") -> Any:
    """The value at `path`; a list of them where the path has a `*`."""
    steps = split(path)
    found = list(_walk(tree, steps, path, label, make=False))
    return found if "*" in steps else found[0]


def put(tree: dict[str, Any], path: str, value: Any, label: str = "scenario") -> None:
    """Sets the field at `path`, with the tables in between made where they are absent."""
    *steps, last = split(path)
    for node in list(_walk(tree, steps, path, label, make=True)):
        if isinstance(node, list):
            for item in _enter(node, last, path, label):
                node[node.index(item)] = value
        elif isinstance(node, dict):
            node[last] = value
        else:
            raise UserError(f'{label}: path "{path}": "{last}" set in {node!r}, which has no fields')
