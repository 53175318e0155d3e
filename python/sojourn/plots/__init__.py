"""Plots for publication, in one style: `results` of runs, `loops` of control theory. Needs the extra `plots`."""

from sojourn.extras import require

require("matplotlib")

from sojourn.plots.results import plot_record, plot_table
from sojourn.plots.style import COLORS, figure, save_figure, style_of

__all__ = ["COLORS", "figure", "plot_record", "plot_table", "save_figure", "style_of"]
