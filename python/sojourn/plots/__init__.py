"""Publication-ready plots: one style, one module a kind of result."""

from sojourn.plots.results import plot_record, plot_table
from sojourn.plots.style import COLORS, figure, save_figure, style_of

__all__ = ["COLORS", "figure", "plot_record", "plot_table", "save_figure", "style_of"]
