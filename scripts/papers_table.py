"""Writes the table of the papers' claims in README.md from the last whole rerun of each paper.

    python scripts/papers_table.py [FOLDER ...]     # default: results, after `sojourn reproduce all`

A paper without a whole rerun in the folders keeps its row; a new one has dashes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from sojourn.experiments import find_experiments
from sojourn.experiments.index import Entry, entries
from sojourn.experiments.verdict import Verdict

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- papers: begin -->\n", "<!-- papers: end -->\n"


def table(experiments: Iterable[str], found: Mapping[str, Entry], kept: Mapping[str, list[str]]) -> str:
    """The table, one row for each paper. `kept` are the cells of rows by paper, for those that are not found."""
    verdicts = [str(verdict) for verdict in Verdict]
    rows = [["paper", "claims of the paper", *verdicts]]
    for experiment in experiments:
        entry = found.get(experiment)
        counts = [str(each) for each in (entry.total, *(entry.counts[each] for each in verdicts))] if entry else []
        rows.append([experiment, *(counts or kept.get(experiment, ["–"] * (1 + len(verdicts))))])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], f"|---|{'---:|' * (len(rows[0]) - 1)}", *lines[1:]]) + "\n"


def rows(text: str) -> dict[str, list[str]]:
    """The cells of a page's table by paper."""
    lines = text.partition(BEGIN)[2].partition(END)[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {paper: counts for paper, *counts in cells}


def with_table(text: str, new: str) -> str:
    """A page with the table between its marks replaced."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + new + END + rest.partition(END)[2]


def main(folders: list[str]) -> None:
    """Writes the table; prints how to use this where an option is asked for."""
    if any(folder.startswith("-") for folder in folders):
        print(__doc__)
        return
    whole = {
        e.id: e for folder in folders or ["results"] for e in entries(Path(folder)) if not (e.caution or e.skipped)
    }
    experiments = sorted(experiment.id for experiment in find_experiments())
    text = README.read_text()
    README.write_text(with_table(text, table(experiments, whole, rows(text))))


if __name__ == "__main__":
    main(sys.argv[1:])
