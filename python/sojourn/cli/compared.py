"""Options and output of `sojourn compare`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from sojourn.cli.output import latex, out, show
from sojourn.cli.tables import means_table, show_comparison
from sojourn.cli.values import names_of
from sojourn.compare.baseline import Change, changes, measured, read_baseline
from sojourn.compare.cases import cases_of, field_axis, parse_variation
from sojourn.compare.comparison import Comparison
from sojourn.compare.links import queued_links
from sojourn.core import field_paths
from sojourn.core.errors import UserError, note, one_line
from sojourn.core.files import together, write_atomic
from sojourn.core.record_files import frame_to_parquet, frames_to_csv
from sojourn.core.scenario import Scenario
from sojourn.core.scenario_files import parse_assignment

Vary = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        help="Values of any field: 'flows.ftp.count=5,20,80'. A value may be a table, for example if each controller "
        """needs its own ECN: 'flows.ftp.tcp={control={cc="cubic"}},{control={cc="prague"},ecn="l4s"}'.""",
    ),
]


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """How `compare` reports."""

    as_json: Annotated[bool, typer.Option("--json", help="Print every value, mean and interval as JSON.")] = False
    baseline: Annotated[
        Path | None,
        typer.Option("--baseline", help="A file of an earlier --json: prints what became better or worse."),
    ] = None

    def report(self, found: Comparison) -> None:
        """Prints the comparison, and what differs from the baseline."""
        moved = changes(found, read_baseline(self.baseline)) if self.baseline else []
        if self.as_json:
            data = measured(found.scenario, found.seeds, found.records, found.measures)
            typer.echo(json.dumps(data | {"changes": [each.row() for each in moved]}, indent=1))
            return
        show_comparison(found)
        if moved:
            _show_changes(moved, str(self.baseline))


def _show_changes(moved: list[Change], file: str) -> None:
    """Prints the measures that differ from a baseline, and how many do not."""
    table = Table(title=one_line(f"changes since {file}, paired by seed, jointly 95 %"), title_justify="left")
    for head in ("case", "measure"):
        table.add_column(head)
    for head in ("before", "now", "difference"):
        table.add_column(head, justify="right")
    for head in ("unit", ""):
        table.add_column(head)
    shown = [each for each in moved if each.word]
    for each in shown:
        numbers = map(str, (each.before, each.now, each.difference))
        table.add_row(each.case, each.measure.label, *numbers, each.measure.unit, each.word)
    if shown:
        show(table)
    out.print(one_line(f"{len(moved) - len(shown)} of {len(moved)} measures do not differ significantly from {file}"))


def variations(texts: list[str] | None) -> dict[str, list[Any]]:
    """The fields and values of `--vary`. Raises `UserError` for a duplicate field."""
    found: dict[str, list[Any]] = {}
    for path, choices in map(parse_variation, texts or []):
        if path in found:
            raise UserError(f'--vary: expected each field once, got "{path}" twice')
        found[path] = choices
    with of_vary(found):
        for path, choices in found.items():
            field_axis(path, choices)
    return found


def check_unchanged(scenario: Scenario, varied: Iterable[str], changes: Iterable[str]) -> None:
    """Raises `UserError` if `--vary` overwrites a field that `--set` changes."""
    for change, _ in map(parse_assignment, changes):
        for path in varied:
            if field_paths.replaces(scenario.to_dict(), path, change):
                raise UserError(f'--set: expected a field that --vary does not set, got "{change}" (--vary {path})')


@contextmanager
def of_vary(fields: Iterable[str]) -> Iterator[None]:
    """Prefixes errors about these paths with `--vary`."""
    try:
        yield
    except UserError as error:
        if any(str(error).startswith(f"{path}: ") for path in fields):
            raise UserError(f"--vary {error}") from None
        raise


def traced_for(scenario: Scenario, cdf: str | None, out_dir: Path | None, link: str | None) -> list[str]:
    """The quantities of `--cdf`.

    Adds the traces that make their distributions exact to the scenario.
    """
    wanted = names_of(cdf)
    if not wanted:
        return []
    if out_dir is None:
        raise UserError("--cdf: expected --out, the folder for the plots, got none")
    from sojourn.plots.distributions import QUANTITIES

    for of in wanted:
        if of not in QUANTITIES:
            raise UserError.unknown("--cdf", of, QUANTITIES)
        scenario.set(*QUANTITIES[of].trace_of(queued_links(scenario, link)))
    return wanted


def check_curves(scenario: Scenario, varied: dict[str, list[Any]], curves: list[str]) -> None:
    """Raises `UserError` if no case can have the distribution. Called before the first run."""
    if not curves:
        return
    from sojourn.plots.distributions import QUANTITIES, nothing

    with of_vary(varied):
        cases = cases_of(scenario, [field_axis(path, values) for path, values in varied.items()])
    traced = [case.scenario.resolved()["trace"] for case in cases]
    for of in curves:
        if not any(each[QUANTITIES[of].trace] for each in traced):
            raise nothing(f"{scenario.label}: --cdf", of)


def _plotted(found: Comparison, of: str, folder: Path) -> list[Path]:
    """Plots one distribution and returns its files. If no run measured it: a note, no file."""
    from sojourn.plots.results import plot_cdf

    try:
        return plot_cdf(found, of, folder)
    except UserError as error:
        note(str(error))
        return []


def save_comparison(found: Comparison, curves: list[str], folder: Path) -> list[Path]:
    """Writes the runs, the summary, the overview and these distributions; returns the files.

    A plot that fails becomes a note.
    """
    from sojourn.plots.results import plot_overview
    from sojourn.plots.style import drawn_or_noted

    table = found.table()
    with together(folder):
        written = [frame_to_parquet(found.runs(), folder / "runs.parquet", found.units)]
        written.append(frames_to_csv([table], folder / "summary.csv", found.units))
        written.append(write_atomic(folder / "table.tex", latex(means_table(found))))
    with together(folder, add=True):
        written += drawn_or_noted("overview", lambda: plot_overview(table, found.title, folder))
        for of in curves:
            written += drawn_or_noted(f"cdf-{of}", partial(_plotted, found, of, folder))
    return written
