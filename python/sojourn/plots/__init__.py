"""Plots for publication in one style: runs, comparisons, sweeps, feedback loops (`loops`).

`record.plot`, `comparison.plot` and `sweep.plot` draw on Matplotlib axes; `results` writes files. Needs the
extra `plots`.
"""

from sojourn.core.extras import require

require("matplotlib")

from sojourn.plots.style import COLORS, figure, save_figure, style_of

__all__ = ["COLORS", "figure", "save_figure", "style_of"]
