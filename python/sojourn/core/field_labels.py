"""Labels for paths and values: `bottleneck queue limit`, `red(min=5)`, `count=10`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sojourn.core import field_paths
from sojourn.core.errors import printed

# The key that names the kind of a table, as in `{ aqm = "red", min = 5 }`.
KINDS = ("aqm", "cc", "kind")
# The kind of a Python law, and the key with its name: `{ cc = "external", controller = "Mine" }` is labelled `Mine`.
EXTERNAL = "external"
SUPPLIED = {"aqm": "law", "cc": "controller"}
# Tables that need no name in a label, because their content names them.
SAYS_ITSELF = ("control",)
LISTS = {"links": "link", "flows": "flow", "groups": "group"}
# The lists inside a link's queue, and the noun for an entry.
WITHIN_A_LINK = {"classes": "class", "queues": "queue"}


def field_label(path: str) -> str:
    """The label of a scenario path.

    `links.bottleneck.queue.limit` becomes `bottleneck queue limit`.
    """
    first, *rest = field_paths.split(path)
    if not rest:
        return first
    if first in LISTS:
        rest = [f"{LISTS[first]} {rest[0]}" if rest[0].isdigit() else rest[0], *rest[1:]]
    else:
        rest = [first, *rest]
    return " ".join(step for step in rest if step != "*")


def value_label(value: Any) -> str:
    """The label of a value in a scenario.

    `{ aqm = "red", min = 5 }` becomes `red(min=5)`; strings are unchanged.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        kind = next((key for key in KINDS if key in value), None)
        if kind in SUPPLIED and value[kind] == EXTERNAL and value.get(SUPPLIED[kind]):
            value = {key: item for key, item in value.items() if key != kind}
            kind = SUPPLIED[kind]
        rest = ", ".join(_entry(key, item) for key, item in value.items() if key != kind)
        name = value_label(value[kind]) if kind else ""
        return f"{name}({rest})" if name and rest else name or rest
    if isinstance(value, (list, tuple)):
        return ", ".join(map(value_label, value))
    return printed(value)


def _entry(key: str, value: Any) -> str:
    """A key of the table with its value: `ecn=l4s`.

    `control = { cc = "prague" }` becomes `prague` only.
    """
    alone = key in SAYS_ITSELF and isinstance(value, Mapping)
    return value_label(value) if alone else f"{key}={value_label(value)}"


def setting_label(path: str, value: Any) -> str:
    """The shortest clear label of a field with its value: `count=10`, `reno` for a controller."""
    text = value_label(value)
    named = isinstance(value, Mapping) or (isinstance(value, str) and value[:1].isalpha())
    return text if named else f"{field_paths.split(path)[-1]}={text}"


def with_unit(label: str, unit: str) -> str:
    """A label with its unit, as on an axis: `wait (ms)`; the label alone for a ratio."""
    return f"{label} ({unit})" if unit else label
