"""Limit cycles of a loop: self-sustained oscillations of the queue, predicted and simulated.

The prediction balances mean and first harmonic of the law (its describing function) with the linearized flows. The
simulation integrates the nonlinear equations until they settle.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.optimize import root

from sojourn.analysis import checks
from sojourn.analysis.feedback_loop import Loop
from sojourn.analysis.plant import linear_plant

Array = npt.NDArray[np.float64]

AMPLITUDE_STEP = 1.35  # ratio of successive trial amplitudes
FIRST_AMPLITUDE = 0.01  # fraction of the queue at the operating point


@dataclass(frozen=True)
class LimitCycle:
    """A self-sustained oscillation of the queue.

    `amplitude` is half of its peak-to-peak value in packets, `omega` its frequency in rad/s, `mean` in packets.
    """

    amplitude: float
    omega: float
    mean: float

    @property
    def hertz(self) -> float:
        """Its frequency in Hz."""
        return self.omega / (2 * math.pi)


def predicted_limit_cycle(loop: Loop) -> LimitCycle | None:
    """The limit cycle that the describing function of the law of `loop` predicts, or None.

    The law is represented by its dual-input describing function N (Gelb and Vander Velde 1968, chapter 6), measured on
    its code. The flows are represented by G, linear around the oscillation's own mean, with exact dead time. Three
    balances must hold: the phase of G N, its magnitude, and the mean probability, which must be the one that the flows
    need at that mean.

    Returns the stable solution with the smallest amplitude. Returns None if no oscillation balances before it empties
    or fills the queue, where the flows are no longer linear.

    Raises `ScenarioError` if the loop has no operating point, and `UserError` for a plant out of range.

    >>> plant = Plant.of(20, 1250.0, 0.1)
    >>> print(predicted_limit_cycle(Loop({"aqm": "pi", "target": 60}, plant)))  # it rests
    None
    """
    found = loop.margins()
    return None if math.isnan(found.turn) else _balanced(loop, found.turn)


def _balanced(loop: Loop, start: float) -> LimitCycle | None:
    """Tries increasing amplitudes until the loop gain falls through 1.

    The search starts at frequency `start` in rad/s.
    """
    rest = loop.point()
    if rest.queue <= 0:
        return None
    amplitude, at, last = FIRST_AMPLITUDE * rest.queue, np.array([rest.queue, math.log(start)]), -math.inf
    while True:
        found = _solved(partial(_residual_at_amplitude, loop, amplitude), at)
        if found is None or not amplitude <= found[0] <= loop.plant.limit - amplitude:
            return None
        size = float(_residual(loop, amplitude, found)[2])
        if last > 0 >= size:  # stable: a larger oscillation decays, a smaller one grows
            guess = np.array([*found, math.log(amplitude) - math.log(AMPLITUDE_STEP) * size / (size - last)])
            ends = _solved(lambda x: _residual(loop, math.exp(x[2]), x), guess)
            return None if ends is None else LimitCycle(math.exp(ends[2]), math.exp(ends[1]), float(ends[0]))
        amplitude, at, last = amplitude * AMPLITUDE_STEP, found, size


def _residual(loop: Loop, amplitude: float, at: Array) -> Array:
    """Errors of phase, mean probability and log magnitude.

    `at` contains the mean queue and the logarithm of omega.
    """
    mean, omega = float(at[0]), np.array([math.exp(at[1])])
    gain, probability = loop.describing(np.array([amplitude]), omega, np.array([mean]))
    point = loop.plant.point_at(max(mean, 0.0))
    around = linear_plant(loop.plant, point, omega)[0] * gain
    return np.array(
        [
            np.angle(around[0]),
            probability[0] / point.probability - 1.0,
            np.log(max(abs(around[0]), 1e-300)),
        ]
    )


def _residual_at_amplitude(loop: Loop, amplitude: float, at: Array) -> Array:
    """The two residuals at a fixed amplitude."""
    return _residual(loop, amplitude, at)[:2]


def _solved(residual: Callable[[Array], Array], guess: Array) -> Array | None:
    # The describing function is averaged over whole steps of the law. It is smooth to about 1e-6 and has small jumps.
    # If a difference quotient spans a jump, one with another step may not.
    for difference in (1e-4, 1e-3, 1e-5):
        found = root(residual, guess, options={"xtol": 1e-6, "eps": difference})
        if found.success:
            return np.asarray(found.x)
    return None


def simulated_limit_cycle(loop: Loop, duration: float | None = None) -> LimitCycle | None:
    """The final oscillation of the nonlinear equations of `loop` from an empty queue.

    None if they converge. `duration` is in seconds (default: 120 s, or 400 of the longest round trips if that is more).
    The second half is measured. The simulation includes an empty or full queue, a probability limited to 0..1, and the
    shift of the mean. A loop with good margins may still end in a limit cycle, because margins hold for small
    deviations.

    Raises `UserError` for a duration out of range, and `ScenarioError` for too many steps and for a loop that can't be
    simulated.

    >>> plant = Plant.of(20, 1250.0, 0.1)
    >>> print(simulated_limit_cycle(Loop({"aqm": "pi", "target": 60}, plant)))  # it comes to rest
    None
    """
    if duration is not None:
        duration = checks.seconds("simulated_limit_cycle: duration", duration, "a time")
    loop.plant.to_json()  # rejects invalid numbers
    longest = max((each.delay for each in loop.plant.classes), default=0.0)
    total = duration or max(120.0, 400 * longest)
    trace = loop.simulate(total, every=1)
    kept = trace["t"] > total / 2
    t, queue = trace["t"][kept], trace["queue"][kept]
    amplitude = float(np.ptp(queue)) / 2
    quarter = len(queue) // 2
    decaying = float(np.ptp(queue[quarter:])) < 0.9 * float(np.ptp(queue[:quarter]))
    if amplitude < 0.02 * max(float(np.mean(queue)), 1.0) or decaying:
        return None
    above = queue > (queue.max() + queue.min()) / 2
    rises = t[1:][above[1:] & ~above[:-1]]
    if len(rises) < 3:
        return None
    omega = float(2 * math.pi * (len(rises) - 1) / (rises[-1] - rises[0]))
    return LimitCycle(amplitude, omega, float(np.mean(queue)))
