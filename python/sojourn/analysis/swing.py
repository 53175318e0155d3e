"""Swings that sustain themselves, foretold by describing functions: mean and first harmonic balanced together."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.optimize import root

from sojourn.analysis.plant import linear_plant

if TYPE_CHECKING:
    from sojourn.analysis.loop import Loop

Array = npt.NDArray[np.float64]

GROWTH = 1.35  # from one amplitude that is looked at to the next
LEAST = 0.01  # the first, over the queue at rest


@dataclass(frozen=True)
class LimitCycle:
    """A swing that sustains itself: the queue's mean and amplitude in packets, its frequency in rad/s."""

    amplitude: float
    omega: float
    mean: float

    @property
    def hertz(self) -> float:
        """Its frequency in Hz."""
        return self.omega / (2 * math.pi)


def balance(loop: Loop, start: float) -> LimitCycle | None:
    """The least stable swing at which the loop balances, searched upwards from frequency `start` in rad/s.

    The law's part is its dual-input describing function N (Gelb and Vander Velde 1968, chapter 6), measured on its
    code; the flows' part G is linear around the swing's own mean, with exact dead time. Balanced are the phase of G N,
    its size, and the mean probability with the one that the flows need there. None where no swing balances before it
    runs the queue empty or full: from there on the flows' part is no longer linear.
    """
    rest = loop.point()
    if rest.queue <= 0:
        return None
    amplitude, at, last = LEAST * rest.queue, np.array([rest.queue, math.log(start)]), -math.inf
    while True:
        found = _solved(partial(_held, loop, amplitude), at)
        if found is None or not amplitude <= found[0] <= loop.plant.limit - amplitude:
            return None
        size = float(_residual(loop, amplitude, found)[2])
        if last > 0 >= size:  # stable: a larger swing fades, a smaller one grows
            guess = np.array([*found, math.log(amplitude) - math.log(GROWTH) * size / (size - last)])
            ends = _solved(lambda x: _residual(loop, math.exp(x[2]), x), guess)
            return None if ends is None else LimitCycle(math.exp(ends[2]), math.exp(ends[1]), float(ends[0]))
        amplitude, at, last = amplitude * GROWTH, found, size


def _residual(loop: Loop, amplitude: float, at: Array) -> Array:
    """What is left of the balance at a mean and the logarithm of a frequency: of phase, mean probability and size."""
    mean, omega = float(at[0]), np.array([math.exp(at[1])])
    gain, probability = loop.describing(np.array([amplitude]), omega, np.array([mean]))
    point = loop.plant.resting_with(max(mean, 0.0))
    around = linear_plant(loop.plant, point, omega)[0] * gain
    return np.array([
        np.angle(around[0]), probability[0] / point.probability - 1.0, np.log(max(abs(around[0]), 1e-300)),
    ])  # fmt: skip


def _held(loop: Loop, amplitude: float, at: Array) -> Array:
    return _residual(loop, amplitude, at)[:2]


def _solved(residual: Callable[[Array], Array], guess: Array) -> Array | None:
    # The describing function is averaged over whole steps of the law, so it is smooth to about 1e-6.
    found = root(residual, guess, options={"xtol": 1e-6, "eps": 1e-4})
    return np.asarray(found.x) if found.success else None
