"""Plots of means over seeds: of a comparison's cases, and over the axes of a sweep."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from sojourn.core import record_schema
from sojourn.core.field_labels import field_label, value_label, with_unit
from sojourn.core.quantities import axis_text, shown_scale
from sojourn.core.stats import SUMMARY, estimate_of
from sojourn.plots.style import (
    COLORS,
    FAR_APART,
    LINE,
    LINES,
    MARKERS,
    NARROW,
    PAGE,
    Look,
    drawn_on,
    figure,
    legend_beside,
    lines_of,
    style_of,
    wrapped,
)

if TYPE_CHECKING:
    import pandas as pd

Array = npt.NDArray[np.float64]
CASE, BEST = "case", "best"
DIRECTION = {"higher": ", higher is better", "lower": ", lower is better"}


def cases(rows: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """One measure of a comparison: a row per case, with mean and interval.

    A unique best case is filled and bold. `rows` are those of one measure in `Comparison.table`.
    """
    first, tested, winners = rows.iloc[0], bool((rows["n"] > 1).any()), _winners(rows)
    names = [str(case) for case in rows[CASE]]
    with drawn_on(ax, PAGE / 2, 0.75 + (0.07 + LINE * lines_of(names)) * len(rows)) as axes:
        for i, ((_, row), look, best) in enumerate(zip(rows.iterrows(), _looks(rows), winners, strict=True)):
            one = estimate_of(row)
            if math.isfinite(one.mean):
                error = None if math.isnan(one.half) else np.array(one.errors)[:, np.newaxis]
                axes.errorbar(
                    one.mean,
                    i,
                    xerr=error,
                    color=look.color,
                    marker=look.marker,
                    linestyle="none",
                    clip_on=False,
                    markerfacecolor=look.color if best or not tested else "white",
                )
            axes.annotate(
                str(one),
                (1.02, i),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize=6.5,
                fontweight="bold" if best else "normal",
            )
        axes.set_yticks(range(len(rows)), list(map(wrapped, names)))
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(ScalarFormatter(useOffset=False))
        axes.margins(x=0.08)
        _widen(axes, rows)
        unit = f" ({first['unit']})" if first["unit"] else ""
        axes.set_title(f"{first['measure']}{unit}{DIRECTION.get(str(first['better']), '')}", loc="left", fontsize=7.5)
        return axes


def _winners(rows: pd.DataFrame) -> list[bool]:
    """The winning cases: the unique best one, or several with equal means."""
    best = rows[BEST].astype(bool)
    alone = rows.loc[best, "mean"].nunique() == 1 and best.sum() < rows["mean"].notna().sum()
    return [bool(each) and alone for each in best]


def _looks(rows: pd.DataFrame) -> list[Look]:
    """A case's color shows its value on the first axis, its marker the values on the others.

    With more values than colors or markers, all cases look the same.
    """
    axes = [axis for axis in rows.columns if axis not in SUMMARY and rows[axis].nunique(dropna=False) > 1] or [CASE]
    colors, markers = ([str(each) for each in rows[part].to_numpy().tolist()] for part in (axes[:1], axes[1:]))
    places = [{each: i for i, each in enumerate(dict.fromkeys(values))} for values in (colors, markers)]
    if len(places[0]) > len(COLORS) or len(places[1]) > len(MARKERS):
        return [style_of(0)] * len(rows)
    return [
        Look(style_of(places[0][color]).color, MARKERS[places[1][marker]], LINES[0])
        for color, marker in zip(colors, markers, strict=True)
    ]


def _widen(axes: Axes, rows: pd.DataFrame) -> None:
    """Widens an axis whose values are equal, so that it does not show rounding noise."""
    values = rows[["mean", "low", "high"]].to_numpy(dtype=float)
    if np.isfinite(values).any():
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        middle = (low + high) / 2
        if high - low <= 1e-3 * abs(middle):
            width = 0.01 * abs(middle) or 1.0  # around 0 a share is 0
            axes.set_xlim(middle - width, middle + width)


def overview(summary: pd.DataFrame, title: str) -> list[Axes]:
    """A page with every measure of a comparison: one panel each, in order of `Comparison.table`.

    A measure that only one of several cases has, such as the delay in a queue of one discipline, has no panel.
    """
    names = [name for name in dict.fromkeys(summary["measure"]) if _seen(summary, name)]
    shown = [str(case) for case in summary[CASE].unique()]
    height = (0.04 + LINE * lines_of(shown)) * len(shown)
    with figure(PAGE) as made:
        across = 1 if made.get_figwidth() < NARROW else 2
        rows = -(-len(names) // across)
        made.set_figheight(0.7 + rows * (0.55 + height))
        grid = made.subplots(rows, across, squeeze=False, sharey=True).ravel()
        for axes, name in zip(grid, names, strict=False):
            cases(summary[summary["measure"] == name], axes)
        for axes in grid[len(names) :]:
            axes.remove()
        made.suptitle(title, x=0.01, ha="left", fontsize=9)
        if (summary["n"] > 1).any():
            made.supxlabel(
                BEST_MEANS if across > 1 else textwrap.fill(BEST_MEANS, 75),
                x=0.01,
                ha="left",
                fontsize=6.5,
                color="#555555",
            )
        return list(grid[: len(names)])


BEST_MEANS = (
    "Mean and 95 % interval. Filled and bold: better than every other case, as their differences, paired by seed, say"
    "\n(95 % for all cases of a measure together)."
)


def _seen(summary: pd.DataFrame, measure: str) -> bool:
    """Whether a measure can be compared: it has values of two cases, or of the only case."""
    means = summary.loc[summary["measure"] == measure, "mean"]
    return int(means.notna().sum()) >= min(2, len(means))


Swept: TypeAlias = Mapping[str, str | None]
"""The axes of a sweep, each with the unit of its numbers, if any."""


def means(summary: pd.DataFrame, by: Swept, measure: str, ax: Axes | None = None) -> Axes:
    """One measure of a sweep over its axes: a series for each value of all axes but one.

    `by` are the columns of the axes with their units. The last one with numbers is the horizontal axis.
    """
    known = record_schema.named([measure])[measure]
    rows = in_its_unit(summary, measure)
    numeric = [axis for axis in by if _numbers(rows[axis]) is not None]
    across = numeric[-1] if numeric else list(by)[-1]
    size, unit = shown_scale(by[across] or "", rows[across] if numeric else [])
    others = [axis for axis in by if axis != across]
    with drawn_on(ax, PAGE / 2 + 0.9, 2.8) as axes:
        groups: list[Any] = list(rows.groupby(others, sort=False, dropna=False)) if others else [((), rows)]
        for i, (where, group) in enumerate(groups):
            label = ", ".join(axis_text(value, by[axis]) for value, axis in zip(where, others, strict=True))
            shown = group.assign(**{across: group[across] / size}) if numeric else group
            _series(axes, shown, across, label, _Place(i, len(groups)))
        axes.set(xlabel=with_unit(field_label(across), unit), ylabel=known.title)
        axes.set_title(record_schema.place(measure), loc="left")
        _scale(axes, rows["mean"].to_numpy(dtype=float))
        if others:
            legend_beside(axes, ", ".join(map(field_label, others)))
        return axes


def in_its_unit(summary: pd.DataFrame, measure: str) -> pd.DataFrame:
    """The rows of a measure, with its values in the unit in which it is shown."""
    rows = summary[summary["measure"] == measure].copy()
    rows[["mean", "low", "high"]] *= record_schema.named([measure])[measure].scale
    return rows


def _numbers(column: Any) -> list[float] | None:
    """The numbers of a column; None for names."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return [float(value) for value in column] if is_numeric_dtype(column) and not is_bool_dtype(column) else None


@dataclass(frozen=True)
class _Place:
    """The position of a series among all series of a plot."""

    index: int
    count: int

    def shifted(self, x: Array) -> Array:
        """Horizontal positions of its points around `x`, shifted so that intervals do not overlap."""
        return x + 0.08 * (self.index - (self.count - 1) / 2)


def _series(axes: Axes, group: pd.DataFrame, across: str, label: str, place: _Place) -> None:
    """Draws one series: a line if the axis has numbers, separate points if it has names."""
    look = style_of(place.index)
    found = _numbers(group[across])
    center = group["mean"].to_numpy(dtype=float)
    errors = np.nan_to_num(np.vstack([group["mean"] - group["low"], group["high"] - group["mean"]]))
    if found is not None:
        order = np.argsort(found, kind="stable")
        x, center, errors, line = np.array(found)[order], center[order], errors[:, order], "-"
    else:
        x, line = place.shifted(np.arange(len(group), dtype=np.float64)), "none"
        axes.set_xticks(np.arange(len(group)), [value_label(v) for v in group[across]], rotation=15, ha="right")
    axes.errorbar(
        x, center, yerr=errors, color=look.color, marker=look.marker, linestyle=line, label=label, clip_on=False
    )


def _scale(axes: Axes, values: Array) -> None:
    """Selects a logarithmic axis for positive values far apart.

    Otherwise the axis starts at 0 if that wastes little space.
    """
    known = values[np.isfinite(values)]
    if len(known) and known.min() > 0 and known.max() > FAR_APART * known.min():
        axes.set_yscale("log", nonpositive="clip")
        axes.yaxis.set_major_formatter("{x:g}")
        for drawn in axes.get_children():
            drawn.set_clip_on(True)  # an interval may reach 0, which a logarithmic axis lacks
        return
    low, high = axes.get_ylim()
    if 0 <= low < 0.6 * high or (low < 0 <= axes.dataLim.y0):
        axes.set_ylim(bottom=0)
