"""`sojourn compare --matrix`: each controller next to each other one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from sojourn.cli.laws import LawFiles
from sojourn.cli.options import CacheOptions, with_changes
from sojourn.cli.output import latex, out, progress, say_written, show
from sojourn.compare.matrix import MEASURES, PLACES, Matrix, compare_matrix, pair_scenario
from sojourn.core.errors import one_line
from sojourn.core.files import together, write_atomic
from sojourn.core.scenario_files import load
from sojourn.core.text_format import counted


def run_matrix(
    file: Path | None,
    changes: list[str],
    controllers: str,
    varied: Mapping[str, Sequence[Any]],
    how: tuple[int, CacheOptions, LawFiles],
) -> Matrix:
    """Runs a matrix of some controllers and of those in Python.

    `how` has seeds, options and laws. Without a file the network is two flows over one link, and the
    fields of `PLACES` are varied by default.
    """
    seeds, options, laws = how
    scenario = with_changes(pair_scenario() if file is None else load(file), changes)
    with progress("comparing") as on_progress, laws.one_line():
        return compare_matrix(
            ",".join(filter(None, [controllers, *laws.of_flows])),
            scenario,
            varied or (PLACES if file is None else {}),
            seeds,
            threads=options.threads,
            cache=options.store(),
            progress=on_progress,
            laws=laws.laws or None,
        )


def show_matrix(found: Matrix, as_json: bool) -> None:
    """Prints a table for each place, or all cells as JSON."""
    if as_json:
        typer.echo(json.dumps(found.rows(), indent=1))
        return
    for place in found.places:
        show(table_of(found, place, "share"))
    out.print(one_line(f"{MEASURES['share']}: the row's flow next to the column's; {counted(found.seeds, 'seed')}"))


def table_of(found: Matrix, place: str, measure: str) -> Table:
    """One measure at one place: a row and a column for each controller."""
    table = Table(title=one_line(place), title_justify="left")
    table.add_column("")
    for name in found.controllers:
        table.add_column(f"next to {name}", justify="right")
    for row in found.controllers:
        cells = (str(found.cells[place, row, column][measure]) for column in found.controllers)
        table.add_row(row, *cells)
    return table


def save_matrix(found: Matrix, folder: Path) -> None:
    """Writes pictures, tables in LaTeX, and all cells as CSV."""
    import pandas as pd

    from sojourn.compare.matrix_figure import draw_matrix
    from sojourn.plots.style import save_figure

    tables = [
        f"% {MEASURES[name]}\n{latex(table_of(found, place, name))}" for name in MEASURES for place in found.places
    ]
    with together(folder):
        written = [path for name in MEASURES for path in save_figure(draw_matrix(found, name), folder, name)]
        written.append(write_atomic(folder / "matrix.tex", "\n".join(tables)))
        written.append(write_atomic(folder / "matrix.csv", pd.DataFrame(found.rows()).to_csv(index=False)))
    say_written(written)
