"""The paths of measures in a record, and the check of a path before the first run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sojourn.core import field_paths
from sojourn.core.errors import UserError
from sojourn.core.field_labels import WITHIN_A_LINK
from sojourn.core.record_schema import Definition, Part, definition, parts

ANY = "NAME"  # placeholder for a class, tin or queue


def measures_of(links: Sequence[str], groups: Sequence[str]) -> list[str]:
    """The paths of all measures of a record with these links and groups, with `NAME` for queues."""
    found = []
    for part, names in (("links", links), ("groups", groups), ("total", [""])):
        fields = [each.path for each in _numbers(parts()[part])]
        if part == "links":
            fields += [f"{within}.{path}" for within in INNER for path in fields if _is_inner(within, path)]
        for name in names:
            prefix = ".".join(filter(None, (part, name and field_paths.element(name))))
            found += [f"{prefix}.{path}" for path in fields]
    return found


INNER = (f"queues.{ANY}", f"classes.{ANY}", f"classes.{ANY}.queues.{ANY}")


def _is_inner(within: str, path: str) -> bool:
    """Whether a class or a queue has this field of a link."""
    return f"{within.partition('.')[0]}[].{path}" in parts()["links"].fields


def check(columns: Iterable[str], known: Sequence[str], where: str) -> None:
    """Raises `UserError`, which begins with `where`, for a path that is not one of `known`."""
    for column in columns:
        steps = _with_any(column)
        if steps is None or ".".join(steps) not in known:
            raise UserError.unknown(where, column, _beside(column, steps or [], known))


def check_number(path: str, names: Mapping[str, Sequence[str]], where: str) -> None:
    """Checks that `path` leads to a number of a record.

    `names` are the names in each list of the record: `links`, `groups` and `flows`. Raises `UserError`, whose message
    begins with `where`.
    """
    found, steps = definition(path), _with_any(path) or [""]
    entry = field_paths.split(path)[1] if len(steps) > 1 else ""
    named = steps[0] not in names or entry in names[steps[0]] or entry.isdigit()
    if found is None or found.minimum is None or not named:
        own = [(f"flows.{field_paths.element(each)}.", parts()["flows"]) for each in names["flows"]]
        known = [f"{at}{each.path}" for at, part in [*own, ("", parts()["run"])] for each in _numbers(part)]
        known = [*measures_of(names["links"], names["groups"]), *known]
        raise UserError.unknown(where, path, _beside(path, steps, known))


def _numbers(part: Part) -> list[Definition]:
    """The fields of a part that are one number."""
    return [each for each in part.fields.values() if each.number]


def _with_any(column: str) -> list[str] | None:
    """The steps of a path, with `NAME` for classes and queues; None for an invalid path."""
    try:
        steps = field_paths.split(column)
    except UserError:
        return None
    written = [field_paths.element(step) for step in steps]
    if steps[0] == "links":
        for at in range(3, len(steps)):
            if written[at - 1] in WITHIN_A_LINK and steps[at] != "*":
                written[at] = ANY
    return written


def _beside(column: str, steps: Sequence[str], known: Sequence[str]) -> list[str]:
    """The candidates for a wrong path: paths with the same end or a similar beginning, else all."""
    ends = [each for each in known if each.endswith(f".{column}")]
    begins = (".".join(steps[:count]) + "." for count in range(len(steps) - 1, 1, -1))
    lists = (ends, *([each for each in known if each.startswith(begin)] for begin in begins))
    return next((each for each in lists if each), list(known))
