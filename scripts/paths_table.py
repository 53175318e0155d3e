#!/usr/bin/env python3
"""Writes the table of paths in docs/paths.md."""

import re
from pathlib import Path

from sojourn import paths

PAGE = Path(__file__).parent.parent / "docs" / "paths.md"


def table() -> str:
    """One row for each path: its figures and its source."""
    rows = ["| path | access | mean rate | round trip | varies | source |", "|---|---|---|---|---|---|"]
    for path in map(paths.find, paths.names()):
        kinds = [each["kind"] for each in path.impairments]
        found = path.varying
        parts = [
            *(["rate"] if found and found.cv else []),
            *(["delay"] if found and found.delay_ms else []),
            *(["outages"] if found and found.outages else []),
            *([f"handovers every {found.handover.period_ms / 1e3:g} s"] if found and found.handover else []),
            *kinds,
        ]
        trip = f"{path.rtt_ms:g} ms" if path.rtt_ms else "–"
        cells = [f"`{path.name}`", path.summary, f"{path.mean_mbps:g} Mbit/s", trip, ", ".join(parts) or "–"]
        rows.append(f"| {' | '.join(cells)} | `{path.source.work}` |")
    return "\n".join(rows) + "\n"


def with_table(page: str) -> str:
    """A page with the table between its two comments."""
    marks = re.compile(r"(<!-- paths: begin -->\n).*?(<!-- paths: end -->)", re.DOTALL)
    return marks.sub(lambda found: f"{found[1]}{table()}{found[2]}", page)


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
