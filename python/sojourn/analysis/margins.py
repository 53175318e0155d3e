"""Margins of a loop given by its frequency response, with its dead time as it is and not as a Padé approximation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from sojourn.analysis.loops import Array, Complexes, Response


@dataclass(frozen=True)
class Margins:
    """Gain margin (a factor), phase margin (degrees), delay margin (s) and where they are taken (rad/s).

    Infinite where the loop never reaches the gain or the phase in question; `stable` is Nyquist's verdict.
    """

    gain: float
    phase: float
    delay: float
    gain_crossover: float
    phase_crossover: float
    stable: bool

    def describe(self) -> str:
        """In words."""
        if not self.stable:
            return "unstable: small swings grow"
        gain = "no limit" if math.isinf(self.gain) else f"a factor {self.gain:.3g} at {self.phase_crossover:.3g} rad/s"
        if math.isinf(self.delay):
            return f"stable; gain margin {gain}; the loop gain stays below 1, so any delay is borne"
        phase = f"{self.phase:.3g}° and {self.delay * 1e3:.4g} ms at {self.gain_crossover:.3g} rad/s"
        return f"stable; gain margin {gain}; phase and delay margin {phase}"


def margins(
    loop: Response, *, low: float = 1e-4, high: float = 1e4, integrators: int = 0, points: int = 4000
) -> Margins:
    """Margins of negative feedback around `loop`, whose own poles must be stable but for `integrators` at 0."""
    omega = np.geomspace(low, high, points)
    value = loop(omega)
    size = np.log(np.maximum(np.abs(value), 1e-300))
    stable = _encloses_nothing(value, integrators)
    unwrapped = np.unwrap(np.angle(value))
    delays = []
    for i in map(int, np.flatnonzero(np.diff(np.sign(size)) != 0)):
        crossing = _root(lambda w: math.log(abs(_one(loop, w))), omega, i)
        # How far the phase may still turn until it reaches -180 degrees, or by how much it is past that.
        turn = float(unwrapped[i]) + math.pi + float(np.angle(_one(loop, crossing) / value[i]))
        turn = turn % (2 * math.pi) if stable else turn
        delays.append((turn / crossing, math.degrees(turn), crossing))
    turns = np.flatnonzero((np.diff(np.sign(value.imag)) != 0) & (value.real[:-1] < 0))
    gains = []
    for i in map(int, turns):
        at = _root(lambda w: _one(loop, w).imag, omega, i)
        if _one(loop, at).real < 0:
            gains.append((1 / abs(_one(loop, at)), at))
    none = (math.inf, math.nan)
    gain, phase_crossover = min((g for g in gains if g[0] > 1 or not stable), default=none)
    delay, phase, gain_crossover = min(delays, default=(math.inf, math.inf, math.nan))
    return Margins(gain, phase, delay, gain_crossover, phase_crossover, stable)


def _one(loop: Response, omega: float) -> complex:
    return complex(loop(np.array([omega]))[0])


def _root(f: Callable[[float], float], omega: Array, i: int) -> float:
    a, b = float(omega[i]), float(omega[i + 1])
    return a if f(a) * f(b) > 0 else float(brentq(f, a, b, rtol=1e-12))


def _encloses_nothing(value: Complexes, integrators: int) -> bool:
    """Nyquist: 1 + L turns by a quarter for each integrator and by nothing else."""
    turned = float(np.sum(np.angle((1 + value[1:]) / (1 + value[:-1]))))
    return abs(turned - integrators * math.pi / 2) < math.pi / 2
