"""The report on a paper: one self-contained page, its figures, and its tables as files.

This module prepares the content of the page; `templates/report.html` has its form.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn.core.files import together, write_atomic
from sojourn.core.foreign_names import file_name
from sojourn.core.record_files import frame_to_parquet
from sojourn.core.text_format import counted
from sojourn.experiments import latex
from sojourn.experiments.audit import Audit, read_audit
from sojourn.experiments.claim_pages import write_claim_pages
from sojourn.experiments.coverage import coverage_rows
from sojourn.experiments.environment import environment
from sojourn.experiments.evaluation import Passed, clause_results
from sojourn.experiments.figures import DrawnFigure, draw_figures
from sojourn.experiments.index import ABOUT
from sojourn.experiments.model import Grid
from sojourn.experiments.needs import covering, left_out
from sojourn.experiments.outcome import ClaimResult, Outcome
from sojourn.experiments.pages import CLASSES, page
from sojourn.experiments.pairs import CHANCE, PairTable, pair_table
from sojourn.experiments.schema.claims import Origin
from sojourn.experiments.scores import score_card
from sojourn.experiments.setup_tables import SetupTable, setup_tables
from sojourn.experiments.tables import CaseTable, markdown, measure_names, table_legend, table_of
from sojourn.experiments.verdict import Verdict
from sojourn.experiments.verification import FILE as RESULTS
from sojourn.experiments.verification import results
from sojourn.experiments.wording import ORIGINS
from sojourn.plots.style import PAGE, render, save_figure

PAGE_REM = 58
"""Width in rem of a figure as wide as a printed page.

Letters have one size in all figures.
"""
PASSED = {str(Passed.PASSES): "good", str(Passed.FAILS): "bad", str(Passed.UNDECIDED): "open"} | {
    str(each): "soft" for each in (Passed.NOT_DECIDABLE, Passed.NOT_RUN)
}
"""The color of a verdict on a clause."""
MIME = {"png": "image/png", "svg": "image/svg+xml"}


@dataclass(frozen=True)
class Picture:
    """A figure inside the page."""

    source: str
    """A `data:` address."""
    width: str
    """CSS."""
    caption: str


@dataclass(frozen=True, kw_only=True)
class Section:
    """A grid: its table and figures, and the claims about it."""

    anchor: str
    short: str
    """The beginning of its title, such as `Fig. 7`; the whole title if that is not unique."""
    title: str
    notes: list[str]
    table: CaseTable | None
    pictures: list[Picture]
    claims: list[ClaimResult]
    pairs: PairTable | None
    setup: list[SetupTable]
    legend: list[str]
    """What bold and gray values and quantiles of the table mean."""


@dataclass(frozen=True)
class TableSummary:
    """A table of values as one row of the list of claims."""

    id: str
    title: str
    where: str
    origin: Origin
    rows: list[ClaimResult]
    counts: str


def write_report(outcome: Outcome, folder: Path) -> list[Path]:
    """Writes figures, tables and, last, the page; returns their paths."""
    figures = draw_figures(outcome)
    with together(folder):
        return _write_files(outcome, figures, folder)


def _write_files(outcome: Outcome, figures: list[DrawnFigure], folder: Path) -> list[Path]:
    """Writes the files of the report, the page last."""
    written: list[Path] = []
    for drawn in figures:
        written += save_figure(drawn.figure, folder / "figures", drawn.id, outcome.caution)
    if outcome.records:
        runs = outcome.runs()
        written.append(frame_to_parquet(runs, folder / "tables" / "runs.parquet"))
        written.append(write_atomic(folder / "tables" / "runs.csv", runs.to_csv(index=False)))
    for grid in outcome.grids:
        if grid.cases():
            cells = outcome.cells(grid).drop(columns="decimals")
            written.append(write_atomic(folder / "tables" / f"{grid.id}.csv", cells.to_csv(index=False)))
            if shown_table := table_of(outcome, grid):
                written.append(write_atomic(folder / "tables" / f"{grid.id}.tex", latex.case_table(shown_table)))
                written.append(write_atomic(folder / "tables" / f"{grid.id}.md", markdown(shown_table)))
            if pairs := pair_table(outcome, grid):
                table = pairs.table().to_csv(index=False)
                written.append(write_atomic(folder / "tables" / f"{grid.id}-pairs.csv", table))
    if card := score_card(outcome):
        written.append(write_atomic(folder / "tables" / "scores.csv", card.table().to_csv(index=False)))
    claims = outcome.claims_table()
    written.append(write_atomic(folder / "tables" / "claims.csv", claims.to_csv(index=False)))
    if outcome.results:
        written.append(write_atomic(folder / "tables" / "claims.tex", latex.claims_table(outcome)))
    if found := clause_results(outcome):
        written.append(write_atomic(folder / "tables" / "clauses.tex", latex.clauses_table(found)))
    written.append(write_atomic(folder / ABOUT, json.dumps(_about(outcome), indent=1)))
    written.append(write_atomic(folder / RESULTS, json.dumps(results(outcome), indent=1)))
    audit = read_audit(folder)
    written += write_claim_pages(outcome, folder, page_name(outcome), audit)
    written.append(write_atomic(folder / page_name(outcome), build_page(outcome, figures, audit)))
    return written


def page_name(outcome: Outcome) -> str:
    """The name of the page: `report.html`, and `report-quick.html` for a quick look."""
    return "report-quick.html" if outcome.quick else "report.html"


def _about(outcome: Outcome) -> dict[str, Any]:
    """The provenance of a report's files, for programs."""
    facts = {
        "paper": outcome.experiment.id,
        "origin": outcome.experiment.origin,
        "quick": outcome.quick,
        "shortened": outcome.shortened,
        "seeds": outcome.seeds,
    }
    facts |= {
        "citation": outcome.experiment.citation,
        "page": page_name(outcome),
        "made": _made(outcome),
        "caution": _less_than_whole(outcome),
        "skipped": sum(claim.origin == outcome.experiment.origin for claim in outcome.skipped),
    }
    counts = {origin: outcome.counts(origin) for origin in ORIGINS}
    words = outcome.experiment.words
    facts["claims"] = {
        origin: {words.word(verdict): count for verdict, count in each.items()}
        for origin, each in counts.items()
        if sum(each.values())
    }
    return facts | {"fingerprint": outcome.fingerprint(), **environment()}


def _less_than_whole(outcome: Outcome) -> str:
    """The difference from the whole rerun in a few words; empty for a whole rerun."""
    said = ["A quick look."] if outcome.quick else []
    seeds, every = len(outcome.seeds), outcome.experiment.replications(outcome.grids)
    if outcome.records and seeds < every:
        said.append(f"{counted(seeds, 'seed')} instead of {every}.")
    if outcome.part:
        said.append(f"{outcome.part} rerun.")
    return " ".join(said)


def _made(outcome: Outcome) -> str:
    """One sentence: seeds, duration of the runs, and engine."""
    seeds = counted(len(outcome.seeds), "seed")
    ran = outcome.experiment.words.ran
    how = f"{ran} with {seeds} in {outcome.effort}" if outcome.effort else "Computed without runs"
    facts = environment()
    commit = f", commit {facts['commit']}" if "commit" in facts else ""
    return f"{how}, by Sojourn {facts['sojourn']}{commit} (engine {facts['engine']})."


def build_page(outcome: Outcome, figures: list[DrawnFigure], audit: Audit | None = None) -> str:
    """The whole page; `audit` is the result of `sojourn audit-claims`."""
    homes = {result.claim.id: [each.id for each in covering(result.cases, outcome.grids)] for result in outcome.results}
    sections = {each.id: _section(outcome, each, figures, homes) for each in outcome.grids}
    table_cells = [
        part for result in outcome.of_origin(outcome.experiment.origin) if result.claim.table for part in result.parts
    ]
    others = [origin for origin in ORIGINS if origin != outcome.experiment.origin and outcome.of_origin(origin)]
    missing, words = left_out(outcome), outcome.experiment.words
    waiting = {claim.id for each in missing for claim in each.claims}
    return page(
        "report.html",
        CHANCE=CHANCE,
        words=words,
        measure_names=measure_names(outcome),
        places=words.is_paper or len({claim.where for claim in outcome.experiment.claims}) > 1,
        made=_made(outcome),
        outcome=outcome,
        experiment=outcome.experiment,
        counts=_clause_counts(outcome)
        or [
            (words.word(verdict), CLASSES[str(verdict)], total)
            for verdict, total in outcome.counts(outcome.experiment.origin).items()
            if total or verdict not in words.rare
        ],
        table_cells=len(table_cells),
        good_cells=sum(part.verdict is Verdict.REPRODUCED for part in table_cells),
        fitted_cells=sum(part.verdict is Verdict.BY_FIT for part in table_cells),
        clauses=clause_results(outcome),
        PASSED=PASSED,
        tables=list(_table_summaries(outcome)),
        sections=list(sections.values()),
        others=others,
        audit=audit,
        coverage=coverage_rows(outcome.experiment),
        verdict_of={
            each.claim.table or each.claim.id: "" if each.claim.table else str(each.verdict) for each in outcome.results
        },
        linked={result.claim.origin for result in outcome.results if homes[result.claim.id]},
        missing=missing,
        skipped=list(dict.fromkeys(claim.table or claim.id for claim in outcome.skipped if claim.id not in waiting)),
        origin_counts={origin: outcome.counts_text(origin) for origin in others},
        card=score_card(outcome),
        homes={claim: [sections[name] for name in names] for claim, names in homes.items()},
        facts=environment()
        | {
            "seeds": ", ".join(map(str, outcome.seeds)),
            "runs": str(sum(map(len, outcome.records.values()))),
            "fingerprint of all runs": outcome.fingerprint(),
        },
        fingerprints={
            str(case): " ".join(str(record.get("fingerprint")) for record in records)
            for case, records in sorted(outcome.records.items())
        },
    )


def _clause_counts(outcome: Outcome) -> list[tuple[str, str, int]]:
    """The number of clauses with each verdict, and its color; empty without clauses."""
    found = [each.passed for each in clause_results(outcome)]
    return [(str(each), PASSED[str(each)], found.count(each)) for each in Passed if each in found]


def _table_summaries(outcome: Outcome) -> Iterator[TableSummary]:
    """Each table with judged rows."""
    for table in outcome.experiment.tables:
        rows = [result for result in outcome.results if result.claim.table == table.id]
        if rows:
            yield TableSummary(table.id, table.title, table.where, table.origin, rows, _counts(outcome, rows))


def _counts(outcome: Outcome, results: Sequence[ClaimResult]) -> str:
    return outcome.experiment.words.counts_text([result.verdict for result in results])


def _section(outcome: Outcome, grid: Grid, figures: list[DrawnFigure], homes: dict[str, list[str]]) -> Section:
    """A grid's table and figures, and the claims about it."""
    table = table_of(outcome, grid)
    return Section(
        anchor=f"run-{file_name(grid.id)}",
        short=short_title(grid, outcome.grids),
        title=grid.title,
        notes=_notes(outcome, grid),
        table=table,
        pictures=[_picture(drawn) for drawn in figures if drawn.grid == grid.id],
        claims=[result for result in outcome.results if grid.id in homes[result.claim.id]],
        pairs=pair_table(outcome, grid),
        setup=setup_tables(outcome, grid),
        legend=table_legend(outcome, grid, table) if table else [],
    )


def short_title(grid: Grid, among: Sequence[Grid]) -> str:
    """The text of a link to a grid: the title up to its colon, if that is unique."""
    short = grid.title.partition(":")[0]
    alike = [each for each in among if each.title.partition(":")[0] == short]
    return short if len(alike) == 1 else grid.title


def _notes(outcome: Outcome, grid: Grid) -> list[str]:
    """The notes above a grid's table."""
    clause = outcome.experiment.clauses.get(grid.id)
    found = [each for each in (clause.asks, clause.reading) if each] if clause else []
    found += [each.note for each in outcome.experiment.tables if each.grid == grid.id and each.note]
    seeds = outcome.replications(grid)
    return [*found, f"{counted(seeds, 'seed')}."] if grid.cases() and seeds < len(outcome.seeds) else found


def _picture(drawn: DrawnFigure) -> Picture:
    kind = "png" if drawn.as_pixels else "svg"
    data = base64.b64encode(render(drawn.figure, kind)).decode()
    share = drawn.figure.get_figwidth() / PAGE
    return Picture(f"data:{MIME[kind]};base64,{data}", f"{PAGE_REM * share:.1f}rem", drawn.caption)
