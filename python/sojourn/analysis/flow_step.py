"""The step response of a loop: the queue after the number of flows has risen.

It is integrated from the nonlinear equations with the code of the law, so it exists for laws in Python too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sojourn.analysis.feedback_loop import Loop
from sojourn.analysis.margins import Margins
from sojourn.analysis.plant import Point
from sojourn.analysis.transfer import Array
from sojourn.analysis.transient import settles
from sojourn.core.errors import ScenarioError

MORE = 0.1
"""The step: the added share of the flows of each class."""
BAND = 0.05
"""The queue has settled within this share of its largest deviation."""
SHORTEST, LONGEST = 20.0, 400.0
"""Bounds of the time before the step, and of the time after it, in seconds."""
TURNS = 60.0
"""That time in radians of the loop's crossover."""


@dataclass(frozen=True)
class FlowStep:
    """The queue after a step of the flows.

    Times are in seconds after the step, queues in packets.
    """

    t: Array
    queue: Array
    before: float
    """The queue at rest before the step."""
    end: float
    """The queue at rest after the step."""
    peak: float
    """The queue at its largest deviation from `end`."""
    settling: float
    """The time until the queue stays near `end`: within 5 % of its largest deviation."""

    def describe(self) -> str:
        """The step response in one line of text."""
        moved = f"from {self.before:.3g} to {self.end:.3g} packets"
        peak = f"peaks at {self.peak:.3g}, and settles in {self.settling:.3g} s"
        return f"after {100 * MORE:.0f} % more flows the queue moves {moved}, {peak}"


def flow_step(loop: Loop, point: Point, found: Margins) -> FlowStep | str:
    """The step response at an operating point; the reason if the loop has none."""
    if not found.stable:
        return "no step response: the loop is unstable"
    turns = TURNS / found.crossover if math.isfinite(found.crossover) else SHORTEST
    length = min(max(turns, SHORTEST), LONGEST)
    changes = [
        {"at": length, "class": i, "flows": (1.0 + MORE) * each.flows} for i, each in enumerate(loop.plant.classes)
    ]
    try:
        trace = loop.simulate(2.0 * length, window=point.window, queue=point.queue, changes=changes)
    except ScenarioError as error:
        return f"no step response: {error}"
    t, queue = trace["t"], trace["queue"]
    rest = (queue[(t > 0.8 * length) & (t < length)], queue[t > 1.8 * length])
    before, end = (float(np.mean(part)) for part in rest)
    after = t >= length
    t, queue = t[after] - length, queue[after]
    off = np.abs(queue - end)
    most = max(float(np.max(off)), 1e-9)
    if max(float(np.ptp(part)) for part in rest) > BAND * max(most, 1.0):
        return f"no step response: the model does not come to rest within {length:.3g} s"
    return FlowStep(t, queue, before, end, float(queue[int(np.argmax(off))]), settles(t, off, BAND * most))
