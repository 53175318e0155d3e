"""Two series against each other, such as delay and rate.

The ellipses show their trade-off, as rfc7928#2.7 suggests.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from sojourn.core.record import Record
from sojourn.experiments.figures.looks import looks_of
from sojourn.experiments.figures.parts import queue_label
from sojourn.experiments.model import Case
from sojourn.experiments.outcome import Outcome
from sojourn.experiments.readings import Reading
from sojourn.experiments.schema import figures as spec
from sojourn.plots.style import PAGE, figure, legend_beside

Array = npt.NDArray[np.float64]
LEAST_SPAN = 0.2
"""The smallest visible range of the y axis, as a share of the highest value.

Rounding noise does not fill it.
"""


def ellipses(outcome: Outcome, chosen: spec.Ellipses) -> Figure:
    """For each queue a point at the mean and an ellipse of one standard deviation."""
    with figure(PAGE, 2.6) as made:
        axes = made.add_subplot()
        looks = looks_of(outcome)
        for queue in outcome.grid(chosen.grid).queues:
            records = outcome.records.get(Case(chosen.scenario, queue), [])
            if not records:
                continue
            look, rows = looks[queue], np.concatenate([_samples(record, chosen) for record in records])
            axes.add_patch(ellipse(rows, look.color))
            mean = rows.mean(axis=0)
            axes.plot(*mean, color=look.color, marker=look.marker, linestyle="none", label=queue_label(outcome, queue))
        axes.set(xlabel=chosen.xlabel, ylabel=chosen.ylabel)
        axes.set_xlim(left=0)
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, (1 - LEAST_SPAN) * high), high)
        legend_beside(axes)
    return made


def _samples(record: Record, chosen: spec.Ellipses) -> Array:
    """The two values, second by second after the warm-up: shape (n, 2)."""
    span = float(record["warmup_s"]), float(record["duration_s"])
    pairs = ((chosen.x, chosen.xscale), (chosen.y, chosen.yscale))
    found = [(Reading(*series, "mean", span, bin=1.0).pooled(record), scale) for series, scale in pairs]
    columns = [pooled[1] * scale for pooled, scale in found if pooled]
    return np.column_stack([column[: min(map(len, columns))] for column in columns])


def ellipse(rows: Array, color: str) -> Ellipse:
    """The ellipse of one standard deviation of a normal distribution.

    It has the mean and the covariance of the rows.
    """
    lengths, axes = np.linalg.eigh(np.cov(rows, rowvar=False) if len(rows) > 1 else np.zeros((2, 2)))
    width, height = 2 * np.sqrt(np.maximum(lengths, 0.0))
    angle = math.degrees(math.atan2(axes[1, 0], axes[0, 0]))
    mean = rows.mean(axis=0)
    return Ellipse((mean[0], mean[1]), width, height, angle=angle, facecolor=color, edgecolor=color, alpha=0.25)
