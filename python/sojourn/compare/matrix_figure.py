"""The picture of a matrix: a panel for each place, a row and a column for each controller."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from sojourn.compare.matrix import MEASURES, Matrix
from sojourn.plots.maps import draw_cells
from sojourn.plots.style import PAGE, figure

COLORS = {"share": ("RdBu_r", 0.0, 100.0), "harm": ("RdBu_r", -100.0, 100.0), "delay": ("PuOr_r", None, None)}
"""Color map and ends of each measure. `None`: symmetric around 0.

The middle means that nobody gains.
"""
ACROSS = 3
"""The most panels beside each other."""


def draw_matrix(found: Matrix, measure: str) -> Figure:
    """A measure of `MEASURES` in colored cells with their means."""
    names, count = found.controllers, len(found.places)
    across = min(ACROSS, count)
    down = math.ceil(count / across)
    tables = [
        np.array([[found.cells[place, row, column][measure].mean for column in names] for row in names])
        for place in found.places
    ]
    colors, low, high = COLORS[measure]
    reach = max(1e-9, *(float(np.nanmax(np.abs(table))) for table in tables))
    norm = Normalize(-reach if low is None else low, reach if high is None else high)
    with figure(PAGE * across / ACROSS if across > 1 else PAGE / 2) as made:
        made.set_figheight(0.5 + down * (0.7 + 0.26 * len(names)))
        drawn = made.subplots(down, across, squeeze=False, sharex=True, sharey=True)
        for index, (place, table) in enumerate(zip(found.places, tables, strict=True)):
            ax = drawn.flat[index]
            draw_cells(ax, table, norm, colors, alpha=0.8)
            ax.set_title(place, loc="left", fontsize=8)
            ax.set_xticks(range(len(names)), names, rotation=45, ha="right")
            ax.set_yticks(range(len(names)), names)
        for ax in drawn.flat[count:]:
            ax.remove()
        made.supxlabel("next to", fontsize=8)
        made.suptitle(MEASURES[measure], fontsize=8, x=0.01, ha="left")
        return made
