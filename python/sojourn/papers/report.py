"""The report on a paper: one page that needs nothing else, its figures, and its tables as files.

This module prepares what the page shows; `templates/report.html` says how.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from sojourn.files import together, write_atomic
from sojourn.papers.environment import environment
from sojourn.papers.figures import DrawnFigure, draw_figures
from sojourn.papers.model import Case, Experiment, Paper
from sojourn.papers.outcome import ClaimResult, Outcome
from sojourn.papers.verdict import Verdict
from sojourn.plots.style import PAGE, render, save_figure
from sojourn.record import frame_to_parquet
from sojourn.stats import estimate_of

CLASSES = {"reproduced": "good", "partly": "fair", "not reproduced": "bad", "": ""}
MARKS = {"reproduced": "✓", "partly": "~", "not reproduced": "✗", "": ""}
PAGE_REM = 58
"""Width in the page of a figure that is as wide as a printed page, in rem: letters have one size in all figures."""
MIME = {"png": "image/png", "svg": "image/svg+xml"}


@dataclass(frozen=True)
class Picture:
    """A figure inside the page."""

    source: str
    """A `data:` address."""
    width: str
    """CSS."""
    caption: str


@dataclass(frozen=True)
class Cell:
    """A measure of a case: published and measured, colored by the verdict."""

    published: str
    measured: str
    verdict: str
    tolerance: str


@dataclass(frozen=True)
class Row:
    """A case of an experiment."""

    scenario: str
    title: str
    span: int
    """Rows that share the scenario's cell, 0 where an earlier row has it."""
    queue: str
    setting: str
    cells: list[Cell]


@dataclass(frozen=True)
class Section:
    """An experiment: its table and figures."""

    title: str
    notes: list[str]
    has_settings: bool
    measures: list[Any]
    rows: list[Row]
    pictures: list[Picture]


@dataclass(frozen=True)
class TableSummary:
    """A published table as one row of the list of claims."""

    id: str
    title: str
    where: str
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
        written += save_figure(drawn.figure, folder / "figures", drawn.id)
    if outcome.records:
        runs = outcome.runs()
        written.append(frame_to_parquet(runs, folder / "tables" / "runs.parquet"))
        written.append(write_atomic(folder / "tables" / "runs.csv", runs.to_csv(index=False)))
    for experiment in outcome.experiments:
        if experiment.cases():
            cells = outcome.cells(experiment).drop(columns="decimals")
            written.append(write_atomic(folder / "tables" / f"{experiment.id}.csv", cells.to_csv(index=False)))
    claims = outcome.claims_table()
    written.append(write_atomic(folder / "tables" / "claims.csv", claims.to_csv(index=False)))
    written.append(write_atomic(folder / "report.html", build_page(outcome, figures)))
    return written


def build_page(outcome: Outcome, figures: list[DrawnFigure]) -> str:
    """The whole page."""
    templates = Environment(
        loader=PackageLoader("sojourn.papers"), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=StrictUndefined, keep_trailing_newline=True,
    )  # fmt: skip
    templates.globals |= {"MARKS": MARKS, "CLASSES": CLASSES}
    table_cells = [part for result in outcome.results if result.claim.table for part in result.parts]
    return templates.get_template("report.html").render(
        outcome=outcome,
        paper=outcome.paper,
        counts={str(verdict): total for verdict, total in outcome.counts().items()},
        table_cells=len(table_cells),
        good_cells=sum(part.verdict is Verdict.REPRODUCED for part in table_cells),
        tables=list(_table_summaries(outcome)),
        sections=[_section(outcome, experiment, figures) for experiment in outcome.experiments],
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


def _table_summaries(outcome: Outcome) -> Iterator[TableSummary]:
    """Each published table of which rows were judged."""
    for table in outcome.paper.tables:
        rows = [result for result in outcome.results if result.claim.table == table.id]
        if rows:
            counts = ", ".join(f"{sum(row.verdict is verdict for row in rows)} {verdict}" for verdict in Verdict)
            yield TableSummary(table.id, table.title, table.where, rows, counts)


def _section(outcome: Outcome, experiment: Experiment, figures: list[DrawnFigure]) -> Section:
    """An experiment's table and figures."""
    cells = outcome.cells(experiment)
    names = list(dict.fromkeys(cells["measure"])) if len(cells) else []
    notes = [each.note for each in outcome.paper.tables if each.experiment == experiment.id and each.note]
    return Section(
        experiment.title, notes, any(experiment.settings), [outcome.paper.measures[name] for name in names],
        list(_rows(outcome.paper, experiment.cases(), names, cells)),
        [_picture(drawn) for drawn in figures if drawn.experiment == experiment.id],
    )  # fmt: skip


def _rows(paper: Paper, cases: list[Case], names: list[str], cells: pd.DataFrame) -> Iterator[Row]:
    """A row for each case; the scenario is named once for all its rows."""
    for i, case in enumerate(cases):
        at = cells[
            (cells["scenario"] == case.scenario) & (cells["queue"] == case.queue) & (cells["setting"] == case.setting)
        ]
        first = i == 0 or cases[i - 1].scenario != case.scenario
        scenario = paper.scenarios[case.scenario]
        yield Row(
            scenario.label, scenario.title, sum(other.scenario == case.scenario for other in cases) if first else 0,
            paper.queues[case.queue].label, paper.settings[case.setting].label if case.setting else "as chosen",
            [_cell(at[at["measure"] == name].iloc[0], paper.measures[name].unit) for name in names],
        )  # fmt: skip


def _cell(row: pd.Series[Any], unit: str) -> Cell:
    """Published and measured as text; a unit that is not the column's is printed."""
    digits = int(row["decimals"])
    own_unit = f" {row['unit']}" if row["unit"] != unit else ""
    published = "" if pd.isna(row["published"]) else f"{row['published']:,.{digits}f}{own_unit}"
    measured = f"{estimate_of(row).text(places=digits + 1)}{own_unit}"
    return Cell(published, measured, str(row["verdict"]), str(row["tolerance"]))


def _picture(drawn: DrawnFigure) -> Picture:
    kind = "png" if drawn.as_pixels else "svg"
    data = base64.b64encode(render(drawn.figure, kind)).decode()
    share = drawn.figure.get_figwidth() / PAGE
    return Picture(f"data:{MIME[kind]};base64,{data}", f"{PAGE_REM * share:.1f}rem", drawn.caption)
