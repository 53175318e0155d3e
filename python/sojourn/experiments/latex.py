"""Tables in LaTeX, to paste into a paper: the tables of the page, and the claims."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.core.latex import escaped, tabular
from sojourn.experiments.evaluation import ClauseResult
from sojourn.experiments.outcome import Outcome, PartResult
from sojourn.experiments.tables import CaseTable, Cell


def case_table(table: CaseTable) -> str:
    """The table of a grid, with bold and gray values as in the page."""
    heads = [*table.names]
    for head in table.heads:
        heads += [f"{head.text}, {head.given}", head.text] if head.given else [head.text]
    rows = []
    for row in table.rows:
        first, *rest = row.names
        name = f"{first}: {row.note}" if row.note else first
        rows.append([*map(escaped, (name if row.span else "", *rest)), *map(_cell, row.cells)])
    return tabular(heads, rows, len(table.names))


def _cell(cell: Cell) -> str:
    text = escaped(cell.text)
    if cell.best:
        text = rf"\textbf{{{text}}}"
    return rf"\textcolor{{gray}}{{{text}}}" if cell.alike and not cell.best else text


def claims_table(outcome: Outcome) -> str:
    """One row for each part of a claim. Rows of published tables are left out."""
    rows = []
    for result in outcome.results:
        for i, part in enumerate([] if result.claim.table else result.parts):
            claim = (result.claim.id, result.claim.text) if i == 0 else ("", "")
            rows.append([*map(escaped, (*claim, *_numbers(part), outcome.experiment.words.word(part.verdict)))])
    return tabular(["", "claim", "target", "measured", "verdict"], rows, 2, wide=1)


def clauses_table(found: Sequence[ClauseResult]) -> str:
    """One row for each clause of an evaluation."""
    heads = ["section", "clause", "level", "verdict"]
    rows = [(each.clause.where, each.clause.title, each.clause.level, str(each.passed)) for each in found]
    return tabular(heads, [[*map(escaped, row)] for row in rows], 4, wide=1)


def _numbers(part: PartResult) -> tuple[str, str]:
    return part.target_text, part.measured_with_unit
