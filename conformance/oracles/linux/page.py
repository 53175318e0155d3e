"""Writes the tables of `docs/linux-comparison.md` from the stored results.

`python -m conformance.oracles.linux.page` runs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import RESULTS, cells, gaps, ours, papers, validate

PAGE = Path(__file__).resolve().parents[3] / "docs" / "linux-comparison.md"


def groups() -> Iterator[tuple[str, dict[str, Any], list[str]]]:
    """The groups of cases by title, each with the stored cases and the names of its own."""
    stored = {name: RESULTS.get(name) for name in ("gaps", "controllers", "ours", "cells")}
    for title, block in zip(gaps.TITLES, gaps.BLOCKS, strict=True):
        yield title, stored["gaps"]["cases"], [name for name, _ in block()]
    yield "Controllers that Linux has too", stored["controllers"]["cases"], list(stored["controllers"]["cases"])
    for title, names in zip(ours.TITLES, stored["ours"]["tables"], strict=True):
        yield title, stored["ours"]["cases"], names
    yield "Cells of the evaluation by RFC 9743", stored["cells"]["cases"], list(stored["cells"]["cases"])


def summary() -> list[str]:
    """One line for each group of cases: the median difference, and the largest in brackets."""
    heads = ["compared", "cases", *(each.name for each in gaps.MEASURES), "outside the bounds", "undecided"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for title, cases, names in groups():
        own = {"cases": {name: cases[name] for name in names}}
        (_, medians), (_, largest) = gaps.spread(own, names)
        shown = [f"{median} ({most})" for median, most in zip(medians, largest, strict=True)]
        found = {verdict: len(gaps.with_verdict(verdict, own)) for verdict in ("MISS", "explained", "undecided")}
        counts = [str(found["MISS"] + found["explained"]), str(found["undecided"])]
        lines.append(f"| {' | '.join([title, str(len(names)), *shown, *counts])} |")
    return lines


PARTS = {
    "summary": summary,
    "linux": lambda: validate.lines(validate.stored()["runs"]),
    "gaps": lambda: gaps.tables(RESULTS.get("gaps")),
    "controllers": lambda: gaps.table(RESULTS.get("controllers"), list(RESULTS.get("controllers")["cases"])),
    "ours": lambda: ours.tables(RESULTS.get("ours"))[:-1],
    "cells": lambda: gaps.table(RESULTS.get(cells.NAME), list(RESULTS.get(cells.NAME)["cases"])),
    "papers": lambda: papers.tables(RESULTS.get("papers"))[:-1],
}


def with_tables(page: str) -> str:
    """A page with the tables between their marks replaced."""
    for name, lines in PARTS.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        body = "\n".join([begin, *lines(), end])
        page = re.sub(f"{begin}.*?{end}", lambda _, body=body: body, page, flags=re.DOTALL)
    return page


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
