"""The command `plot`: figures of the results of runs, comparisons and sweeps."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli.options import StyleOptions, takes
from sojourn.cli.output import check_folder, say_written
from sojourn.cli.plot_kinds import CONTOUR, HEAT, MEANS, OVERVIEW
from sojourn.cli.tables import main_measures
from sojourn.core.errors import UserError, one_line
from sojourn.core.extras import require
from sojourn.core.files import read_result, together
from sojourn.core.measure_lookup import labelled
from sojourn.core.quantities import SCALES
from sojourn.core.record import Record
from sojourn.core.stats import SUMMARY
from sojourn.core.text_format import counted

if TYPE_CHECKING:
    import pandas as pd


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(plot)


@dataclass(frozen=True, kw_only=True)
class PlotOptions(StyleOptions):
    """What `plot` takes."""

    result: Annotated[Path, typer.Argument(help="A folder written by `run --out`, compare or sweep.")]
    measure: Annotated[
        list[str] | None, typer.Option("--measure", help="Plot only these measures (comparisons and sweeps only).")
    ] = None
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            help="means, heat or contour of a sweep (default: means); means or overview of a comparison "
            "(default: overview without --measure). `sojourn list plots` describes them.",
        ),
    ] = None
    x: Annotated[
        str | None, typer.Option("--x", help="heat, contour: the horizontal axis (default: the sweep's last axis).")
    ] = None
    y: Annotated[
        str | None, typer.Option("--y", help="heat, contour: the vertical axis (default: the axis before the last).")
    ] = None
    out_dir: Annotated[
        Path | None, typer.Option("--out", help="Folder for the plots (default: the folder of the result).")
    ] = None


@takes(PlotOptions)
def plot(options: PlotOptions) -> None:
    """Plots the result of a run, comparison or sweep.

    It draws the traces of a run, all measures of a comparison, or the means along the axes of a sweep.
    """
    require("matplotlib")
    from sojourn.plots.results import plot_record

    result, measure = options.result, options.measure
    folder = result if result.is_dir() else result.parent
    target = options.out_dir or folder
    check_folder(target)
    with options.styled():
        if not (folder / "record.json").exists():
            written = _plot_summary(options, folder, target)
        else:
            for option, given in (("--measure", measure and measure[0]), ("--kind", options.kind)):
                if given:
                    raise UserError(f'{option} "{given}": expected a sweep or comparison, got the run {result}')
            record = Record.read(folder)
            with together(target, add=True):
                written = plot_record(record, target)
    say_written(written)


def _plot_summary(options: PlotOptions, folder: Path, target: Path) -> list[Path]:
    """Plots the summary of a comparison or a sweep; returns the files."""
    from sojourn.plots.results import plot_maps, plot_means, plot_overview
    from sojourn.plots.style import save_figure

    file = folder / "summary.csv"
    if not file.exists():
        what = "a folder with record.json (run --out) or summary.csv (compare, sweep)"
        raise UserError(f"{options.result}: expected {what}")
    summary, units = _read_summary(file)
    there = dict(zip(summary["measure"], summary["path"] if "path" in summary else summary["measure"], strict=True))
    measure = labelled(options.measure or [], there)
    for name in measure:
        if name not in there:
            raise UserError.unknown("--measure", name, there)
    kind = _kind(options, compared="case" in summary)
    axes = {column: units.get(column) for column in summary.columns if column not in SUMMARY}
    for option, axis in (("--x", options.x), ("--y", options.y)):
        if axis is not None and axis not in axes:
            raise UserError.unknown(option, axis, axes)
    if (options.x is None) != (options.y is None):
        raise UserError("--x, --y: expected both axes or none, got one")
    shown = measure or main_measures(summary.groupby("measure")["mean"].mean())
    with together(target, add=True):
        if kind == OVERVIEW:
            title = f"{one_line(folder.resolve().name)}, {counted(int(summary['n'].max()), 'seed')}"
            return plot_overview(summary, title, target)
        if kind == MEANS:
            return plot_means(summary, axes, shown, target)
        chosen = [axis for axis in (options.x, options.y) if axis is not None]
        drawn = plot_maps(summary, axes, shown, kind, chosen)
        return [path for stem, made in drawn.items() for path in save_figure(made, target, stem)]


def _kind(options: PlotOptions, compared: bool) -> str:
    """The kind of plot. Raises `UserError` for one that the result does not have."""
    kinds = [MEANS, OVERVIEW] if compared else [MEANS, HEAT, CONTOUR]
    kind = options.kind or (OVERVIEW if compared and not options.measure else MEANS)
    if kind not in kinds:
        raise UserError.unknown(f"{options.result}: --kind", kind, kinds)
    if options.x is not None and kind not in (HEAT, CONTOUR):
        raise UserError(f"--x: expected --kind heat or contour, got {kind}")
    return kind


def _read_summary(file: Path) -> tuple[pd.DataFrame, dict[str, str]]:
    """Reads the summary that `compare` or `sweep` wrote, and the units in the heads of its axes.

    Raises `UserError` for another file.
    """
    require("pandas")
    import pandas as pd

    content = read_result(file.parent, file.name)
    try:
        summary = pd.read_csv(io.BytesIO(content))
    except ValueError as error:
        raise UserError(f"{file}: expected a summary of compare or sweep: {error}") from None
    texts = [column for column in ("path", "unit", "better") if column in summary]
    summary[texts] = summary[texts].fillna("")  # pandas reads an empty cell as NaN
    missing = {"measure", "mean", "low", "high", "n"} - set(summary.columns)
    if missing:
        raise UserError(f"{file}: expected a summary of compare or sweep, got no column {', '.join(sorted(missing))}")
    heads = {column: re.fullmatch(r"(.+) \((.+)\)", str(column)) for column in summary.columns}
    units = {column: (head[1], head[2]) for column, head in heads.items() if head and head[2] in SCALES}
    return summary.rename(columns={column: name for column, (name, _) in units.items()}), dict(units.values())
