"""The page of a judgement: both windows over time, and the first divergence of each cause."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sojourn.judge.judgement import Divergence, Judgement
from sojourn.plots.page import render, svg
from sojourn.plots.style import BAD, COLORS, drawing, rc_context

MOST_POINTS = 4000  # of a curve in a picture
AROUND = 0.04  # of the log, on each side of the divergence in the second picture
KILO = 1e3

METHOD = (
    "The sender's ACKs, losses and marks are replayed through our controller, which starts each time between two "
    "reductions from the sender's window. Windows are apart if they differ by more than one packet and a byte for "
    "each ACK that may be rounded; if the sender's are estimated from a capture, by 2 packets, 3 % and a round trip's "
    "growth besides. A cause is likely if our controller with that fault follows the sender's window at "
    "half the distance or less. If causes overlap, a window by the rule has all of them but the one that is named."
)


def page_of(found: Judgement) -> str:
    """The page as HTML without any other file."""
    times = found.windows["t"]
    with drawing("judgement"), rc_context():
        whole = svg(_windows(found, float(times[0]), float(times[-1])))
        close = [_close(found, each) for each in found.divergences]
    return render(
        "sojourn.judge",
        title=f"{found.log.name}: the window by {found.controller}",
        answer=found.answer(),
        whole=whole,
        divergences=list(zip(found.divergences, close, strict=True)),
        method=METHOD,
    )


def _close(found: Judgement, divergence: Divergence) -> Any:
    """The picture of the time around a divergence."""
    times = found.windows["t"]
    margin = AROUND * float(times[-1] - times[0])
    return svg(_windows(found, divergence.at_s - margin, divergence.at_s + margin, divergence))


def _windows(found: Judgement, start: float, end: float, only: Divergence | None = None) -> Figure:
    """Both windows and the sender's threshold in kB, from `start` to `end` in seconds.

    All divergences are marked, or only one.
    """
    figure = Figure(figsize=(7.2, 2.8), layout="constrained")
    axes = figure.subplots()
    times = found.windows["t"]
    inside = np.flatnonzero((times >= start) & (times <= end))
    shown = inside[:: max(len(inside) // MOST_POINTS, 1)]
    axes.plot(times[shown], _kilobytes(found, "theirs")[shown], color=BAD, drawstyle="steps-post", label="sender")
    axes.plot(times[shown], _kilobytes(found, "ours")[shown], color=COLORS[0], linestyle="--", label=found.controller)
    threshold = _kilobytes(found, "their_ssthresh")
    limits = np.where(np.isfinite(threshold), threshold, np.nan)
    if np.isfinite(limits[shown]).any():
        axes.plot(times[shown], limits[shown], color="0.6", linewidth=0.8, label="ssthresh of the sender")
    for number, divergence in enumerate(found.divergences, start=1):
        if only in (None, divergence):
            axes.axvline(divergence.at_s, color="black", linestyle=":", linewidth=0.8)
            place = (divergence.at_s, 1 - 0.07 * (number - 1))
            axes.annotate(f" {number}", place, xycoords=("data", "axes fraction"), va="top", fontsize=7.5)
            ours = divergence.ours.get("cwnd")
            if divergence.before and ours:
                axes.plot(divergence.at_s, ours / KILO, "o", color=COLORS[0], markersize=4)
    if only is not None:
        _zoom(axes, found, shown)
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("window (kB)")
    axes.legend(loc="lower right")
    return figure


def _zoom(axes: Axes, found: Judgement, shown: NDArray[np.intp]) -> None:
    """Limits the vertical axis to the windows that are shown, with a margin."""
    values = np.concatenate([_kilobytes(found, column)[shown] for column in ("theirs", "ours")])
    margin = 0.08 * float(values.max() - values.min())
    axes.set_ylim(max(float(values.min()) - margin, 0.0), float(values.max()) + margin)


def _kilobytes(found: Judgement, column: str) -> NDArray[np.float64]:
    return found.windows[column] / KILO
