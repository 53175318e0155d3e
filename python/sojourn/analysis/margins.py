"""Margins of a loop given by its frequency response, with its dead time as it is and not as a Padé approximation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from sojourn.analysis.transfer import Array, Complexes, Response

GRID = np.logspace(-6, 5, 22_001)
FAINT = 1e-3  # a loop this weak is not looked at: a dead time turns it for ever


@dataclass(frozen=True)
class Margins:
    """How far a loop is from the edge of stability, and on which side: `stable` is Nyquist's verdict.

    A stable loop may cross a gain of one often: its margins are the least over all crossings. Those of an unstable one
    say what it lacks: a gain factor below one, a phase and a delay below zero.
    """

    stable: bool
    gain: float
    """Stable: the least factor above one that makes it unstable, infinite without one. Unstable: the factor below one
    that its gain has to come down to, NaN where that would not do."""
    phase: float
    """In degrees. Stable: the least further lag that makes it unstable, infinite without a crossover. Unstable: the
    farthest that its phase is past -180 degrees at a crossover, below zero; NaN where it is not."""
    delay: float
    """The same as a dead time, in seconds."""
    crossover: float
    """Highest frequency at which the gain is one, in rad/s; NaN without one."""
    turn: float
    """Where the phase is -180 degrees and `gain` is taken, in rad/s; NaN without one."""

    def describe(self) -> str:
        """In words."""
        if not self.stable:
            much = (
                ""
                if math.isnan(self.gain)
                else f"; the gain is {1 / self.gain:.3g} times what {self.turn:.3g} rad/s bears"
            )
            late = "" if math.isnan(self.delay) else f"; the delay is {-self.delay * 1e3:.4g} ms too long"
            return f"unstable: small swings grow{much}{late}"
        gain = "no limit" if math.isinf(self.gain) else f"a factor {self.gain:.3g} at {self.turn:.3g} rad/s"
        if math.isinf(self.delay):
            return f"stable; gain margin {gain}; the loop gain stays below 1, so any delay is borne"
        phase = f"{self.phase:.3g}°, delay margin {self.delay * 1e3:.4g} ms, crossover {self.crossover:.3g} rad/s"
        return f"stable; gain margin {gain}; phase margin {phase}"


def margins(loop: Response, omega: Array = GRID) -> Margins:
    """Margins of negative feedback around `loop`, sampled at `omega` rad/s so finely that its phase can be followed.

    The loop's own poles must be in the left half plane, but for integrators: their number is read off the slope at the
    low end, which has to be far below every crossover.
    """
    value = loop(omega)
    size = np.log(np.maximum(np.abs(value), 1e-300))
    integrators = max(0, round(-float(size[1] - size[0]) / math.log(omega[1] / omega[0])))
    stable = _encloses_nothing(value, integrators)
    phase = np.unwrap(np.angle(value))
    phase += 2 * math.pi * round((-integrators * math.pi / 2 - phase[0]) / (2 * math.pi))
    crossovers = [_root(lambda w: math.log(abs(_one(loop, w))), omega, i) for i in _changes(size)]
    lags = [_lag(loop, w, omega, value, phase) for w in crossovers]
    if stable:  # further lag leads to the next odd multiple of 180 degrees, wherever the loop has turned before
        lags = [lag % (2 * math.pi) for lag in lags]
    none = math.inf if stable else math.nan
    lags, delays = _lacking(lags, stable), _lacking([lag / w for lag, w in zip(lags, crossovers, strict=True)], stable)
    gain, turn = _gain(loop, omega, value, size, stable)
    least, most = min(lags, default=none), max(crossovers, default=math.nan)
    return Margins(stable, gain, math.degrees(least), min(delays, default=none), most, turn)


def _lacking(values: list[float], stable: bool) -> list[float]:
    return [each for each in values if stable or each < 0]


def _lag(loop: Response, w: float, omega: Array, value: Complexes, phase: Array) -> float:
    """How far the phase at a frequency is above -180 degrees, in radians, followed from the low end."""
    i = int(np.searchsorted(omega, w, side="right")) - 1
    return float(phase[i] + np.angle(_one(loop, w) / value[i]) + math.pi)


def _gain(loop: Response, omega: Array, value: Complexes, size: Array, stable: bool) -> tuple[float, float]:
    """The gain margin and where it is taken."""
    heard = np.flatnonzero(size > math.log(FAINT))
    end = int(heard[-1]) + 2 if len(heard) else 0
    turns = [_root(lambda w: _one(loop, w).imag, omega, i) for i in _changes(value.imag[:end])]
    factors = [(1 / abs(at), w) for w in turns if (at := _one(loop, w)).real < 0]
    wanted = [(factor, w) for factor, w in factors if (factor > 1) == stable]
    return min(wanted, default=(math.inf if stable else math.nan, math.nan))


def _one(loop: Response, omega: float) -> complex:
    return complex(loop(np.array([omega]))[0])


def _changes(values: Array) -> list[int]:
    """Between which samples a function changes its sign."""
    signs = np.signbit(values)
    return [int(i) for i in np.flatnonzero(signs[1:] != signs[:-1])]


def _root(f: Callable[[float], float], omega: Array, i: int) -> float:
    a, b = float(omega[i]), float(omega[i + 1])
    return a if f(a) * f(b) > 0 else float(brentq(f, a, b, xtol=1e-14, rtol=1e-12))


def _encloses_nothing(value: Complexes, integrators: int) -> bool:
    """Nyquist: 1 + L turns by a quarter for each integrator and by nothing else."""
    turned = float(np.sum(np.angle((1 + value[1:]) / (1 + value[:-1]))))
    return abs(turned - integrators * math.pi / 2) < math.pi / 2
