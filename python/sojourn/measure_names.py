"""Measures by what a user calls them: a path, the end of one, or the label that tables show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sojourn import paths
from sojourn.measures import ANY, chosen, place


def resolved(names: Iterable[str], known: Sequence[str], link: str) -> list[str]:
    """Paths of measures, from paths or from what tables call them: `wait p95`, `utilization`, `jain`.

    What several links or groups have is that of `link`, else that of all flows. Other names stay as they are.
    """
    return [name if name in known else _meant(name, known, link) for name in names]


def labelled(names: Iterable[str], labels: Sequence[str]) -> list[str]:
    """Names of measures as they stand among these `labels`: a path is replaced by its label, if that is there."""
    return [next((label for label in _labels(name) if name not in labels and label in labels), name) for name in names]


def _labels(path: str) -> tuple[str, str]:
    """What a comparison calls a measure: that of another link or of a group has its name."""
    label = chosen([path], place(path))[0].label
    return label, f"{place(path)} {label}"


def _meant(name: str, known: Sequence[str], link: str) -> str:
    """The path that a label, or the end of a path, stands for; the name itself where none or several do."""
    plain = [path for path in known if ANY not in paths.split(path)]
    found = [path for path in plain if path.endswith(f".{name}") or name in _labels(path)]
    for home in (link, "total"):
        if alone := [path for path in found if place(path) == home]:
            return alone[0]
    return found[0] if len(found) == 1 else name
