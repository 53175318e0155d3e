"""Resolves names of measures: a path, the end of a path, or a label of tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sojourn.core import field_paths
from sojourn.core.errors import FEW, UserError
from sojourn.core.measure_paths import ANY
from sojourn.core.record_schema import OF_A_GROUP, OF_A_LINK, chosen, place


def resolved(names: Iterable[str], known: Sequence[str], link: str, where: str) -> list[str]:
    """Resolves measures by path or label (`wait p95`, `utilization`, `jain`) to paths.

    If several links or groups match, `link` is preferred, then all flows. Unknown names are unchanged. Raises
    `UserError` for an ambiguous name; its message begins with `where`.
    """
    return [name if name in known else _meant(name, known, link, where) for name in names]


def labelled(names: Iterable[str], labels: Mapping[str, str]) -> list[str]:
    """Names of measures as labels of a table.

    `labels` maps labels to paths. Other names are unchanged.
    """
    found = {_steps(path): label for label, path in labels.items()}
    return [name if name in labels else found.get(_steps(name), name) for name in names]


def _steps(path: str) -> tuple[str, ...]:
    """The steps of a path. A text that is no path is a single step."""
    try:
        return tuple(field_paths.split(path))
    except UserError:
        return (path,)


def _labels(path: str) -> tuple[str, str]:
    """The labels of a measure in tables: short, and with the name of its link or group."""
    label = chosen([path], place(path))[0].label
    return label, f"{place(path)} {label}"


def _field(path: str) -> str:
    """A measure's path without its link or group: `wait_ms.p95`."""
    return ".".join(field_paths.split(path)[1 if path.startswith("total.") else 2 :])


def _meant(name: str, known: Sequence[str], link: str, where: str) -> str:
    """The path of a label or of the end of a path; the name itself if unknown."""
    plain = [path for path in known if ANY not in field_paths.split(path)]
    found = [path for path in plain if name in _labels(path)]
    if not found:
        found = [path for path in plain if path.endswith(f".{name}")]
        if len(set(map(_field, found))) > 1:  # `mean` may be that of a queue or of an RTT
            raise _several(name, found, where)
    for home in (link, "total"):
        if of_home := [path for path in found if place(path) == home]:
            found = of_home
            break
    if len(found) > 1:  # tables show a queue's mean in packets, not the one in bytes with the same label
        found = [path for path in found if _field(path) in (*OF_A_LINK, *OF_A_GROUP)] or found
    if len(found) > 1:
        raise _several(name, found, where)
    return found[0] if found else name


def _several(name: str, found: Sequence[str], where: str) -> UserError:
    """The error for an ambiguous name. It lists the paths, or only their ends if there are many."""
    listed = found if len(found) <= FEW else list(dict.fromkeys(map(_field, found)))
    return UserError.unknown(where, name, listed)
