"""The plot of a link's trace."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from sojourn.core.errors import one_line
from sojourn.plots.style import PAGE, figure, save_figure


def plot_trace(file: Path, period_s: float, means: npt.NDArray[np.float64], folder: Path) -> list[Path]:
    """Writes a plot of a trace and returns the files.

    `means` are the mean rates of equal parts of the trace, in bit/s.
    """
    with figure(PAGE, 2.2) as made:
        axes = made.subplots()
        axes.stairs(means / 1e6, np.linspace(0, period_s, len(means) + 1), fill=False)
        axes.set_xlabel("time (s)")
        axes.set_ylabel("rate (Mbit/s)")
        axes.set_ylim(bottom=0)
        axes.set_xlim(0, period_s)
        axes.set_title(one_line(file.name), loc="left")
        return save_figure(made, folder, file.name.replace(".", "-"))
