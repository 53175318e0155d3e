"""Maps of a measure over two axes of a sweep: colored cells, or contour lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from sojourn.core import record_schema
from sojourn.core.errors import UserError
from sojourn.core.field_labels import field_label, with_unit
from sojourn.core.quantities import axis_text, shown_scale
from sojourn.core.text_format import number
from sojourn.plots.style import COLUMN, FAR_APART, NARROW, figure
from sojourn.plots.summaries import Swept, in_its_unit

if TYPE_CHECKING:
    import pandas as pd

HEAT, CONTOUR = "heat", "contour"
NONE = (math.inf, -math.inf)
LEVELS = 7
"""Contour lines, at most, on a linear scale."""
SHADES = 25


@dataclass(frozen=True)
class _Map:
    """The two axes of a map, the units of all axes, and how it is drawn."""

    x: str
    y: str
    by: Swept
    kind: str

    def values(self, rows: pd.DataFrame, axis: str) -> list[Any]:
        """The values of an axis in ascending order if they are numbers, else in order of the sweep."""
        found = list(dict.fromkeys(rows[axis].tolist()))
        return sorted(found) if _are_numbers(found) else found

    def table(self, rows: pd.DataFrame) -> npt.NDArray[np.float64]:
        """The means: a row for each value of `y`, a column for each of `x`."""
        means = rows.set_index([self.y, self.x])["mean"]
        columns, lines = self.values(rows, self.x), self.values(rows, self.y)
        return np.array([[float(means.get((line, column), math.nan)) for column in columns] for line in lines])


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)


def draw_map(summary: pd.DataFrame, by: Swept, measure: str, kind: str, axes: Sequence[str] = ()) -> Figure:
    """A map of a measure's mean over two axes of a sweep, `kind` "heat" or "contour".

    `axes` are the horizontal and the vertical axis (default: the last axis of the sweep, and the one before it). There
    is a panel for each combination of the other axes' values. Raises `UserError` for fewer axes, and for contour lines
    over an axis without three numbers or more.
    """
    if len(by) < 2:
        raise UserError.expected(kind, "a sweep over two axes or more", ", ".join(by))
    x, y = axes or list(by)[:-3:-1]
    rows, known = in_its_unit(summary, measure), record_schema.named([measure])[measure]
    found = _Map(x, y, by, kind)
    for axis in (x, y) if kind == CONTOUR else ():
        values = found.values(rows, axis)
        if len(values) < 3 or not _are_numbers(values):
            got = ", ".join(axis_text(value, by[axis]) for value in values)
            raise UserError.expected(f"{kind}: {axis}", "three numbers or more", got)
    others = [axis for axis in by if axis not in (x, y)]
    panels: list[Any] = list(rows.groupby(others, sort=False, dropna=False)) if others else [((), rows)]
    norm = _colors(rows["mean"].to_numpy(dtype=float))
    with figure(COLUMN if len(panels) == 1 else 2 * COLUMN) as made:
        across = 1 if len(panels) == 1 or made.get_figwidth() < NARROW else 2
        down = math.ceil(len(panels) / across)
        made.set_figheight(0.2 + down * (2.4 if kind == CONTOUR else 0.9 + 0.22 * len(found.values(rows, y))))
        drawn = made.subplots(down, across, squeeze=False)
        for (where, panel), ax in zip(panels, drawn.flat, strict=False):
            shown = (_contours if kind == CONTOUR else _cells)(ax, found, panel, norm)
            title = ", ".join(axis_text(value, by[axis]) for value, axis in zip(where, others, strict=True))
            ax.set_title(title or record_schema.place(measure), loc="left", fontsize=8)
        for ax in drawn.flat[len(panels) :]:
            ax.remove()
        bar = made.colorbar(shown, ax=made.axes, label=known.title)
        if isinstance(norm, LogNorm):
            low, high = _ends(norm)
            bar.set_ticks([tick for tick in LogLocator().tick_values(low, high) if low <= tick <= high])
            bar.ax.yaxis.set_major_formatter("{x:g}")
        return made


def _colors(values: npt.NDArray[np.float64]) -> Normalize:
    """The scale of colors of all panels: logarithmic for positive values far apart."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return Normalize(0, 1)
    low, high = float(finite.min()), float(finite.max())
    return LogNorm(low, high) if 0 < low * FAR_APART < high else Normalize(low, high if high > low else low + 1)


def _ends(norm: Normalize) -> tuple[float, float]:
    """The smallest and the largest value of a scale of colors."""
    return float(norm.vmin or 0.0), float(norm.vmax or 0.0)


def _cells(ax: Axes, found: _Map, rows: pd.DataFrame, norm: Normalize) -> Any:
    """One panel of colored cells with their values."""
    image = draw_cells(ax, found.table(rows), norm, "viridis")
    for axis, ticks in ((found.x, ax.set_xticks), (found.y, ax.set_yticks)):
        values, unit = found.values(rows, axis), found.by[axis]
        size, shown = shown_scale(unit or "", values if unit else [])
        ticks(range(len(values)), [f"{value / size:.6g}" if unit else axis_text(value, None) for value in values])
        _label(ax, found, axis, shown)
    ax.invert_yaxis()
    return image


def draw_cells(
    ax: Axes,
    table: npt.NDArray[np.float64],
    norm: Normalize,
    colors: str,
    *,
    alpha: float = 1.0,
    bold: tuple[float, float] = NONE,
) -> Any:
    """Draws a table as colored cells with their values, bold if within `bold`."""
    image = ax.imshow(table, cmap=colors, norm=norm, alpha=alpha, aspect="auto")
    for (i, j), value in np.ndenumerate(table):
        if math.isfinite(value):
            light = alpha < 1 or float(np.dot(image.cmap(norm(value))[:3], (0.299, 0.587, 0.114))) > 0.5
            text, color = number(float(f"{value:.2g}")), "black" if light else "white"
            weight = "bold" if bold[0] <= value <= bold[1] else "normal"
            ax.text(j, i, text, ha="center", va="center", fontsize=6, color=color, fontweight=weight)
    ax.grid(visible=False)
    return image


def _label(ax: Axes, found: _Map, axis: str, unit: str) -> None:
    (ax.set_xlabel if axis == found.x else ax.set_ylabel)(with_unit(field_label(axis), unit))


def _contours(ax: Axes, found: _Map, rows: pd.DataFrame, norm: Normalize) -> Any:
    """One panel of filled contours with labelled lines, on axes of numbers.

    Dots are the points of the sweep.
    """
    table, points = found.table(rows), []
    for axis, drawn, scale in ((found.x, ax.xaxis, ax.set_xscale), (found.y, ax.yaxis, ax.set_yscale)):
        values = found.values(rows, axis)
        size, unit = shown_scale(found.by[axis] or "", values)
        points.append(np.array(values, dtype=np.float64) / size)
        _label(ax, found, axis, unit)
        if min(values) > 0 and max(values) >= 10 * min(values):
            scale("log")
            drawn.set_minor_locator(NullLocator())
            drawn.set_ticks(points[-1], [f"{value:.6g}" for value in points[-1]])
    low, high = _ends(norm)
    logarithmic = isinstance(norm, LogNorm)
    shades = np.geomspace(low, high, SHADES) if logarithmic else np.linspace(low, high, SHADES)
    lines = LogLocator(subs=(1.0, 2.0, 5.0)) if logarithmic else MaxNLocator(LEVELS)
    filled = ax.contourf(*points, table, levels=shades, norm=norm, cmap="viridis")
    contours = ax.contour(*points, table, levels=lines.tick_values(low, high), colors="white", linewidths=0.7)
    ax.clabel(contours, fmt=lambda value: number(float(f"{value:.3g}")), fontsize=6)
    ax.plot(*np.array(np.meshgrid(*points)).reshape(2, -1), ".", color="white", markersize=2)
    ax.grid(visible=False)
    return filled
