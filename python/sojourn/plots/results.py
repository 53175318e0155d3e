"""The plots of commands: runs, comparisons and sweeps, each as PNG and PDF."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn.core.errors import UserError
from sojourn.core.foreign_names import file_names
from sojourn.core.record import Record
from sojourn.plots import distributions, summaries
from sojourn.plots.comparisons import Compared, ComparisonPlots
from sojourn.plots.maps import draw_map
from sojourn.plots.records import RecordPlots, height_of, one_below_the_other
from sojourn.plots.style import (
    COLUMN,
    NARROW,
    PAGE,
    drawn_or_noted,
    figure,
    fits_inside,
    legend_below,
    save_figure,
    style_of,
)
from sojourn.plots.summaries import Swept

if TYPE_CHECKING:
    import pandas as pd


Maps: TypeAlias = dict[str, Figure]
# The maximum number of lines with a legend inside the axes.
INSIDE = 4


def plot_record(record: Record, folder: Path) -> list[Path]:
    """Writes the plots of a run and returns the files.

    They show its traces over time, and the distributions of what was traced. Raises `UserError` for a record without
    series.
    """
    if not record.series:
        raise UserError(f"{folder}: expected a record with series, got none: add a [trace] table to the scenario")
    plots = RecordPlots(record)
    written: list[Path] = []
    for kind, panels in plots.panels().items():
        with figure(PAGE, height_of(panels)) as made:
            one_below_the_other(made, panels)
            written += save_figure(made, folder, kind)
    for of in distributions.QUANTITIES:
        found = [distributions.distribution(record, of, place) for place in distributions.sources(record, of)]
        if any(each is not None and each.exact for each in found):
            with figure(2 * COLUMN, 2.6) as made:
                left, right = _in_pairs(made, 1, 2.6)[0]
                plots.cdf(of, left)
                plots.cdf(of, right, complement=True).set_title("", loc="left")
                if left.get_legend():
                    for each in (left, right):
                        _without_legend(each)
                    legend_below(made)
                written += save_figure(made, folder, f"cdf-{of}")
    return written


def _in_pairs(made: Figure, count: int, height: float) -> list[tuple[Axes, Axes]]:
    """Pairs of panels of `height` inches, below each other in a narrow figure."""
    across = 1 if made.get_figwidth() < NARROW else 2
    made.set_figheight(made.get_figheight() + (2 - across) * count * height)
    drawn = list(made.subplots(2 * count // across, across, squeeze=False).flat)
    return list(zip(drawn[::2], drawn[1::2], strict=True))


def _without_legend(axes: Axes) -> None:
    """Removes the legend of axes, if any."""
    if legend := axes.get_legend():
        legend.remove()


def plot_cdf(comparison: Compared, of: str, folder: Path) -> list[Path]:
    """Writes the distributions of `wait`, `rtt` or `completion` by case; returns the files.

    There is a row for each group of flows with such times. Raises `UserError` without data.
    """
    plots = ComparisonPlots(comparison)
    there = plots.sources(of)
    if not there:
        raise distributions.nothing(comparison.scenario, of)
    with figure(2 * COLUMN, 0.3 + 2.5 * len(there)) as made:
        panels = _in_pairs(made, len(there), 2.5)
        for place, (left, right) in zip(there, panels, strict=True):
            plots.cdf(of, left, [place])
            plots.cdf(of, right, [place], complement=True)
            _without_legend(right)
        labels = made.axes[0].get_legend_handles_labels()[1]
        if (
            made.get_figwidth() < NARROW
            or len(labels) > min(len(comparison.records), INSIDE)
            or not fits_inside(labels)
        ):
            for left, _ in panels:
                _without_legend(left)
            legend_below(made)
        made.axes[0].set_title(comparison.title, loc="left")
        return save_figure(made, folder, f"cdf-{of}")


Samples: TypeAlias = Mapping[str, Mapping[str, distributions.Array]]
"""Samples by panel and case."""


def plot_sizes(panels: Samples, group: str, stem: str, folder: Path) -> list[Path]:
    """Writes the distributions of a group's completion times in seconds; returns the files.

    There is a panel for each size class.
    """
    cases = list(dict.fromkeys(case for panel in panels.values() for case in panel))
    with figure(PAGE) as made:
        across = 1 if made.get_figwidth() < NARROW else min(3, len(panels))
        down = -(-len(panels) // across)
        made.set_figheight(0.3 + 2.1 * down)
        drawn = made.subplots(down, across, squeeze=False)
        for (label, samples), axes in zip(panels.items(), drawn.flat, strict=False):
            for case, times in samples.items():
                look = style_of(cases.index(case))
                distributions.draw(axes, distributions.of_samples(times), look, case, complement=False)
            axes.set(xlabel="completion time (s)", ylabel="share at or below", ylim=(0, 1.02))
            ends = [value for times in samples.values() for value in (times.min(), times.max())]
            if max(ends) > 10 * min(ends):
                axes.set_xscale("log")
                axes.xaxis.set_major_formatter("{x:g}")
                axes.xaxis.set_minor_formatter("")
            axes.set_title(f"{group}: {label}", loc="left", fontsize=8)
        for axes in drawn.flat[len(panels) :]:
            axes.remove()
        legend_below(made)
        return save_figure(made, folder, stem)


def plot_overview(summary: pd.DataFrame, title: str, folder: Path) -> list[Path]:
    """Writes the page with all measures of a comparison and returns the files.

    `summary` contains the rows of `Comparison.table`.
    """
    return save_figure(_figure_of(summaries.overview(summary, title)), folder, "overview")


def plot_means(summary: pd.DataFrame, by: Swept, measures: Iterable[str], folder: Path) -> list[Path]:
    """Writes a figure per measure of a summary that has values, and returns the files.

    A figure that fails becomes a note. `by` are the columns of the axes with their units; a comparison has a column
    `case` instead.
    """
    written: list[Path] = []
    for measure, stem in file_names(measures).items():
        rows = summary[summary["measure"] == measure]
        if rows["mean"].notna().any():
            written += drawn_or_noted(stem, partial(_plot_mean, rows, by, measure, folder, stem=stem))
    return written


def plot_maps(summary: pd.DataFrame, by: Swept, measures: Iterable[str], kind: str, axes: Sequence[str]) -> Maps:
    """A map per measure of a sweep that has values, by the name of its file.

    `kind` and `axes` are those of `draw_map`.
    """
    drawn = {}
    for measure, stem in file_names(measures).items():
        rows = summary[summary["measure"] == measure]
        if rows["mean"].notna().any():
            drawn[f"{stem}-{kind}"] = draw_map(rows, by, measure, kind, axes)
    return drawn


def _plot_mean(rows: pd.DataFrame, by: Swept, measure: str, folder: Path, *, stem: str = "") -> list[Path]:
    """Writes the figure of one measure, and returns the files."""
    height = 0.75 + 0.2 * len(rows) if summaries.CASE in rows else 2.8
    with figure(PAGE / 2 + 0.9, height) as made:
        axes = made.add_subplot()
        if summaries.CASE in rows:
            summaries.cases(rows, axes)
        else:
            summaries.means(rows, by, measure, axes)
        return save_figure(made, folder, stem)


def _figure_of(axes: Sequence[object]) -> Figure:
    made = getattr(axes[0], "figure", None) if axes else None
    if not isinstance(made, Figure):
        raise UserError("overview: expected a measure with values, got none")
    return made
