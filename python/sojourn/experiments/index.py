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
from sojourn.experiments.verdict import Verdict

ABOUT = "about.json"
"""The file of a report with its provenance."""


@dataclass(frozen=True)
class Entry:
    """The last run of an experiment."""

    id: str
    citation: str
    page: str
    """Its report, from the index."""
    counts: dict[str, int]
    """The paper's own claims by verdict."""
    skipped: int
    """Those of its claims that were not judged, because their grids were not run."""
    caution: str
    """Reasons why it is less than the whole rerun."""
    facts: str
    """Seeds, duration and engine."""

    @property
    def total(self) -> int:
        """The paper's own claims that were judged."""
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
        counts = about["claims"].get(about.get("origin", "paper"), {})
        return Entry(
            str(about["paper"]),
            str(about["citation"]),
            f"{quote(file.parent.name)}/{quote(about['page'], safe='')}",
            {str(verdict): int(counts.get(str(verdict), 0)) for verdict in Verdict},
            int(about["skipped"]),
            str(about["caution"]),
            str(about["made"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def write_index(results: Path) -> Path:
    """Writes `index.html` into a folder that has reports in its folders, and returns its path."""
    listed = entries(results)
    verdicts = [str(verdict) for verdict in Verdict]
    sums = {verdict: sum(entry.counts[verdict] for entry in listed if not entry.caution) for verdict in verdicts}
    return write_atomic(results / "index.html", page("index.html", entries=listed, verdicts=verdicts, sums=sums))
