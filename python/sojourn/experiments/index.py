"""`index.html` in a folder of reports: links to every report with the counts of its claims.

It is written from the `about.json` of the last rerun of each paper, so a paper that was not rerun is missing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sojourn.core import files
from sojourn.core.files import write_atomic
from sojourn.experiments.pages import page
from sojourn.experiments.schema.claims import Origin
from sojourn.experiments.verdict import Verdict
from sojourn.experiments.wording import OWN, PAPER, Wording, wording_of

ABOUT = "about.json"
"""The file of a report with its provenance."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The last run of an experiment."""

    id: str
    citation: str
    page: str
    """Its report, from the index."""
    counts: dict[str, int]
    """Its own claims by verdict."""
    skipped: int
    """Those of its claims that were not judged, because their grids were not run."""
    caution: str
    """Reasons why it is less than the whole rerun."""
    facts: str
    """Seeds, duration and engine."""
    origin: Origin = "paper"
    """`paper` for a paper, `ours` for another experiment."""

    @property
    def total(self) -> int:
        """Its own claims that were judged."""
        return sum(self.counts.values())


def entries(results: Path) -> list[Entry]:
    """The reports in the folders of a folder, by paper; a whole rerun before a quick look."""
    found = [entry for file in sorted(results.glob(f"*/{ABOUT}")) if (entry := _entry(file)) is not None]
    return sorted(found, key=lambda entry: (entry.id, entry.page))


def _entry(file: Path) -> Entry | None:
    """The content of a report's `about.json`.

    `None` for an invalid file, or one of another version.
    """
    try:
        about: dict[str, Any] = json.loads(files.disk.read(file))
        origin: Origin = "ours" if about.get("origin") == "ours" else "paper"
        counts, words = about["claims"].get(origin, {}), wording_of(origin)
        return Entry(
            id=str(about["paper"]),
            citation=str(about["citation"]),
            page=f"{quote(file.parent.name)}/{quote(about['page'], safe='')}",
            counts={str(verdict): int(counts.get(words.word(verdict), 0)) for verdict in Verdict},
            skipped=int(about["skipped"]),
            caution=str(about["caution"]),
            facts=str(about["made"]),
            origin=origin,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def write_index(results: Path) -> Path:
    """Writes `index.html` into a folder that has reports in its folders, and returns its path."""
    listed = entries(results)
    groups = [_group(PAPER, [each for each in listed if each.origin == "paper"])]
    groups.append(_group(OWN, [each for each in listed if each.origin != "paper"]))
    return write_atomic(results / "index.html", page("index.html", groups=[each for each in groups if each.entries]))


@dataclass(frozen=True)
class Group:
    """The papers, or the other experiments."""

    words: Wording
    verdicts: list[str]
    """The columns: verdicts, without rare ones that no claim has."""
    entries: list[Entry]
    sums: dict[str, int]
    """The claims of whole runs by verdict."""


def _group(words: Wording, listed: list[Entry]) -> Group:
    sums = {each: sum(entry.counts[str(each)] for entry in listed) for each in Verdict}
    whole = {str(each): sum(entry.counts[str(each)] for entry in listed if not entry.caution) for each in Verdict}
    return Group(words, [str(each) for each in Verdict if sums[each] or each not in words.rare], listed, whole)
