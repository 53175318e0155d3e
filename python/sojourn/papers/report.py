"""The report on a paper: one page that needs nothing else, its figures, and its tables as files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from sojourn.files import write_atomic
from sojourn.papers.environment import environment
from sojourn.papers.figures import DrawnFigure, draw_figures
from sojourn.papers.markup import Html, image, page, safe, table, tag
from sojourn.papers.model import Experiment
from sojourn.papers.outcome import ClaimResult, Outcome, PartResult
from sojourn.papers.verdict import Verdict
from sojourn.plots.style import PAGE, render, save_figure
from sojourn.record import frame_to_parquet
from sojourn.stats import estimate_of

CLASSES = {"reproduced": "good", "partly": "fair", "not reproduced": "bad", "": ""}
MARKS = {"reproduced": "✓", "partly": "~", "not reproduced": "✗", "": ""}
RULE = (
    "A part of a claim is reproduced if the mean over the seeds lies in its target, partly if only some of the 95 % "
    "confidence interval does, and not reproduced otherwise. A claim is reproduced if all its parts are, not "
    "reproduced if none is even partly, and partly in between. “Within the noise” marks a part whose interval "
    "reaches over the edge of its target."
)


def write_report(outcome: Outcome, folder: Path) -> list[Path]:
    """Writes figures, tables and, last, the page; says where they are."""
    figures = draw_figures(outcome)
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
    paper = outcome.paper
    parts: list[object] = [
        tag("h1", paper.file.title),
        tag(
            "p",
            f"{', '.join(paper.file.authors)}. {paper.file.venue}, {paper.file.year}. "
            f"Rerun with {len(outcome.seeds)} seeds.",
            cls="soft",
        ),
        tag("p", paper.file.summary),
        _summary(outcome),
        tag("h2", "Claims"),
        tag("p", RULE, cls="soft"),
        _claims(outcome),
    ]
    if outcome.skipped:
        skipped = ", ".join(claim.id for claim in outcome.skipped)
        parts.append(tag("p", f"Not judged, for their experiments were not run: {skipped}.", cls="soft"))
    for experiment in outcome.experiments:
        parts += _experiment(outcome, experiment, figures)
    parts += [tag("h2", "What was read differently, and what was tried"), *_deviations(outcome)]
    parts += [tag("h2", "How this was made"), _provenance(outcome)]
    return page(f"{paper.id}: report", *parts)


def _summary(outcome: Outcome) -> Html:
    counts = outcome.counts()
    boxes = [tag("div", tag("b", counts[v], cls=CLASSES[str(v)]), v) for v in Verdict]
    cells = [part for result in outcome.results if result.claim.table for part in result.parts]
    if cells:
        good = sum(part.verdict is Verdict.REPRODUCED for part in cells)
        boxes.append(tag("div", tag("b", f"{good} / {len(cells)}"), "cells of published tables"))
    return tag("div", *boxes, cls="sum")


def verdict_text(verdict: object) -> Html:
    """A verdict with its mark and color."""
    return tag("span", f"{MARKS[str(verdict)]} {verdict}", cls=CLASSES[str(verdict)])


def _claims(outcome: Outcome) -> Html:
    """One row a claim that is not a table's row; those are in the tables themselves."""
    rows: list[list[object]] = [
        row for each in outcome.paper.tables if (row := _table_row(outcome, each.id, each.title, each.where))
    ]
    rows += [
        [result.claim.id, _claim_text(result), result.claim.where, verdict_text(result.verdict)]
        for result in outcome.results
        if not result.claim.table
    ]
    return table(["", "what the paper says", "where", "verdict"], rows)


def _table_row(outcome: Outcome, table_id: str, title: str, where: str) -> list[object] | None:
    """A published table as one row: how many of its rows got which verdict."""
    rows = [result for result in outcome.results if result.claim.table == table_id]
    if not rows:
        return None
    counts = [f"{sum(r.verdict is v for r in rows)} {v}" for v in Verdict]
    listed = tag("details", tag("summary", f"{title}, {len(rows)} rows"), *[_row_line(row) for row in rows])
    return [table_id, listed, where, ", ".join(counts)]


def _row_line(result: ClaimResult) -> Html:
    reason = f" ({result.claim.reason})" if result.claim.reason else ""
    return tag("div", f"{result.claim.id}: ", verdict_text(result.verdict), tag("span", reason, cls="soft"))


def _claim_text(result: ClaimResult) -> Html:
    head = ["measure", "target", "published", "measured, mean ± 95 %", ""]
    return tag(
        "details",
        tag("summary", result.claim.text),
        table(head, [_part_row(part) for part in result.parts]),
        tag("p", result.claim.reason, cls="soft"),
    )


def _part_row(part: PartResult) -> list[object]:
    published: object = "–"
    if part.published is not None:
        fails = part.published_holds is False
        published = Html(
            safe(f"{part.published:.4g}") + (" <span class=soft>(misses its own target)</span>" if fails else "")
        )
    noise = "" if part.clear else " within the noise"
    measure: object = tag("code", part.part.measure)
    if part.part.label:
        measure = Html(safe(part.part.label + " ") + tag("code", part.part.measure))
    verdict = Html(verdict_text(part.verdict) + tag("span", noise, cls="soft"))
    return [measure, part.part.target_text, published, str(part.measured), verdict]


def _experiment(outcome: Outcome, experiment: Experiment, figures: list[DrawnFigure]) -> Iterator[object]:
    """An experiment's table and figures."""
    yield tag("h2", experiment.title)
    for each in outcome.paper.tables:
        if each.experiment == experiment.id and each.note:
            yield tag("p", each.note, cls="soft")
    if experiment.cases():
        yield _cells_table(outcome, experiment)
    for drawn in figures:
        if drawn.experiment == experiment.id:
            kind = "png" if drawn.as_pixels else "svg"
            picture = image(render(drawn.figure, kind), kind, drawn.caption, drawn.figure.get_figwidth() / PAGE)
            yield tag("figure", picture, tag("figcaption", drawn.caption))


def _cells_table(outcome: Outcome, experiment: Experiment) -> Html:
    """Published beside measured: a row a case, two columns a measure."""
    cells = outcome.cells(experiment)
    measures = list(dict.fromkeys(cells["measure"]))
    paper = outcome.paper
    has_settings = any(experiment.settings)
    head: list[object] = ["scenario", "queue", *(["setting"] if has_settings else [])]
    for name in measures:
        chosen = paper.measures[name]
        head += [f"{chosen.label}, published", f"measured ({chosen.unit})" if chosen.unit else "measured"]
    rows = []
    cases = list(experiment.cases())
    for i, case in enumerate(cases):
        at = cells[
            (cells["scenario"] == case.scenario) & (cells["queue"] == case.queue) & (cells["setting"] == case.setting)
        ]
        row: list[object] = [paper.queues[case.queue].label]
        if i == 0 or cases[i - 1].scenario != case.scenario:  # said once for all its rows
            same = sum(other.scenario == case.scenario for other in cases)
            row.insert(0, tag("td", _title(outcome, case.scenario), rowspan=str(same)))
        if has_settings:
            row.append(paper.settings[case.setting].label if case.setting else "as chosen")
        for name in measures:
            row += _cell(at[at["measure"] == name].iloc[0], paper.measures[name].unit)
        rows.append(row)
    return table(head, rows)


def _title(outcome: Outcome, scenario: str) -> Html:
    chosen = outcome.paper.scenarios[scenario]
    return Html(safe(chosen.label) + tag("span", f" {chosen.title}", cls="soft"))


def _cell(row: pd.Series[Any], unit: str) -> list[object]:
    """Published and measured, colored by the verdict; a unit that is not the column's is said."""
    digits = int(row["decimals"])
    published = "" if pd.isna(row["published"]) else f"{row['published']:,.{digits}f}"
    own_unit = f" {row['unit']}" if row["unit"] != unit else ""
    verdict = str(row["verdict"])
    mark = f" {MARKS[verdict]}" if verdict else ""
    return [
        tag("td", f"{published}{own_unit if published else ''}", cls="n"),
        tag(
            "td",
            f"{estimate_of(row).text(places=digits + 1)}{own_unit}{mark}",
            cls=f"n {CLASSES[verdict]}".strip(),
            title=str(row["tolerance"]),
        ),
    ]


def _deviations(outcome: Outcome) -> Iterator[Html]:
    """The ledger: what the paper says, what is done here, why, and what else was tried."""
    for each in outcome.paper.deviations:
        rows = [["The paper", each.paper], ["Here", each.here], ["Why", each.why]]
        tried = table(["tried", "what came of it"], [[t.reading, t.effect] for t in each.tried]) if each.tried else ""
        yield tag("details", tag("summary", tag("b", each.id), f" {each.what}"), table([], rows), tried)


def _provenance(outcome: Outcome) -> Html:
    """Environment, seeds and fingerprints."""
    facts = environment() | {
        "seeds": ", ".join(map(str, outcome.seeds)),
        "runs": str(sum(map(len, outcome.records.values()))),
        "fingerprint of all runs": outcome.fingerprint(),
    }
    prints = [
        [str(case), tag("code", " ".join(str(record.get("fingerprint")) for record in records))]
        for case, records in sorted(outcome.records.items())
    ]
    listed = tag("details", tag("summary", "fingerprint of every run"), table(["case", "seed by seed"], prints))
    return Html(table(["", ""], [[key, tag("code", value)] for key, value in facts.items()]) + listed)
