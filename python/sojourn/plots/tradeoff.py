"""Delay and rate of queue disciplines: their trade-off, as rfc7928#2.7 suggests, and the delay over time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from sojourn.plots.style import PAGE, figure, legend_beside, style_of

Array = npt.NDArray[np.float64]
LEAST_SPAN = 0.2
"""The least part of the highest rate that the axis shows, so that no rounding noise fills it."""


def tradeoff(samples: Mapping[str, Array]) -> Figure:
    """Delay against rate: for each name a point at the mean and an ellipse of one standard deviation.

    `samples` has an array by name, its rows delay in ms and rate in Mbit/s. Up and to the left is better.
    """
    with figure(PAGE, 2.6) as made:
        axes = made.add_subplot()
        for index, (name, rows) in enumerate(samples.items()):
            look = style_of(index)
            mean = rows.mean(axis=0)
            axes.add_patch(_ellipse(rows, mean, look.color))
            axes.plot(*mean, color=look.color, marker=look.marker, linestyle="none", label=name)
        axes.set_xlabel("queuing delay (ms)")
        axes.set_ylabel("rate (Mbit/s)")
        axes.set_xlim(left=0)
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, (1 - LEAST_SPAN) * high), high)
        legend_beside(axes)
    return made


def over_time(delays: Mapping[str, Array], times: Sequence[float], changes: Sequence[float]) -> Figure:
    """The delay over time: a line for each name, and a dotted line at each change of load or rate.

    `delays` has an array of delays in ms by name, at `times` in s; `changes` are times in s. The axis of delays is
    logarithmic above 1 ms, since they differ by more than a power of ten.
    """
    with figure(PAGE, 2.6) as made:
        axes = made.add_subplot()
        for index, (name, values) in enumerate(delays.items()):
            axes.plot(times, values, color=style_of(index).color, linestyle=style_of(index).line, label=name)
        for time in changes:
            axes.axvline(time, color="#555555", linestyle=":", linewidth=0.9)
        axes.set(xlabel="time (s)", ylabel="queuing delay (ms)")
        axes.set_yscale("symlog", linthresh=1.0)
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter("{x:g}")
        legend_beside(axes)
    return made


def _ellipse(rows: Array, mean: Array, color: str) -> Ellipse:
    """The ellipse of one standard deviation of the normal distribution with the samples' mean and covariance."""
    lengths, axes = np.linalg.eigh(np.cov(rows, rowvar=False) if len(rows) > 1 else np.zeros((2, 2)))
    width, height = 2 * np.sqrt(np.maximum(lengths, 0.0))
    angle = math.degrees(math.atan2(axes[1, 0], axes[0, 0]))
    return Ellipse((mean[0], mean[1]), width, height, angle=angle, facecolor=color, edgecolor=color, alpha=0.25)
