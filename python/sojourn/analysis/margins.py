"""Stability margins of a loop from its frequency response.

Dead time is exact: there is no Padé approximation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from sojourn.analysis import checks
from sojourn.analysis.text import decibels, frequency, span
from sojourn.analysis.transfer import Array, Complexes, Response
from sojourn.core.errors import UserError

GRID = np.logspace(-6, 5, 22_001)
NEGLIGIBLE_GAIN = 1e-3  # below it the phase is ignored, because a dead time turns it without limit


@dataclass(frozen=True, kw_only=True)
class Margins:
    """Whether a loop is stable (Nyquist's criterion), and how far from the stability limit.

    A loop may have several crossovers. The margins of a stable loop are the smallest over all of them. The margins of
    an unstable loop are negative: a gain factor below 1, a negative phase, a negative delay.
    """

    stable: bool
    gain: float
    """Gain margin as a factor.

    Stable loop: the smallest factor above 1 that makes it unstable, or infinity. Unstable loop: the factor below 1 that
    makes it stable, or NaN.
    """
    phase: float
    """Phase margin in degrees.

    Stable loop: the smallest additional lag that makes it unstable, or infinity without a crossover. Unstable loop:
    negative, the largest amount by which the phase at a crossover is below -180 degrees, or NaN if it never is.
    """
    delay: float
    """Delay margin in seconds: `phase` as a dead time."""
    crossover: float
    """Highest frequency with a gain of 1, in rad/s; NaN without one."""
    turn: float
    """The frequency in rad/s at which the phase is -180 degrees and `gain` is measured.

    NaN if the phase never is.
    """

    tight: float
    """The crossover in rad/s at which `phase` is measured; NaN without one."""

    def describe(self) -> str:
        """The margins in one line of text, with units."""
        turn, crossover = frequency(self.turn), frequency(self.crossover)
        if not self.stable:
            much = "" if math.isnan(self.gain) else f"; the gain is {decibels(1 / self.gain)} above the limit at {turn}"
            late = "" if math.isnan(self.delay) else f"; the delay is {span(-self.delay)} too long"
            return f"unstable: small deviations grow{much}{late}"
        gain = "no limit" if math.isinf(self.gain) else f"{decibels(self.gain)} at {turn}"
        if math.isinf(self.delay):
            return f"stable; gain margin {gain}; the loop gain stays below 0 dB, so no delay makes it unstable"
        phase = f"{self.phase:.3g}°, delay margin {span(self.delay)}, crossover {crossover}"
        return f"stable; gain margin {gain}; phase margin {phase}"


def margins(loop: Response, omega: Array = GRID) -> Margins:
    """Margins of a loop with negative feedback.

    `loop` maps frequencies in rad/s to the response of the open loop. `omega` must be fine enough to unwrap the phase,
    and must start far below every crossover: the slope at its low end determines the number of integrators. All other
    poles of the open loop must be in the left half plane. Raises `UserError` unless frequencies are positive and
    increasing, and the response is finite.

    >>> round(margins(lambda w: 2 / (1j * w) * np.exp(-0.3j * w)).phase, 1)  # degrees: an integrator with a dead time
    55.6
    """
    value = _values(loop, omega)
    size = np.log(np.maximum(np.abs(value), 1e-300))
    integrators = max(0, round(-float(size[1] - size[0]) / math.log(omega[1] / omega[0])))
    stable = _encloses_nothing(value, integrators)
    phase = np.unwrap(np.angle(value))
    phase += 2 * math.pi * round((-integrators * math.pi / 2 - phase[0]) / (2 * math.pi))
    crossovers = [_root(lambda w: math.log(abs(_one(loop, w))), omega, i) for i in _changes(size)]
    lags = [_lag(loop, w, omega, value, phase) for w in crossovers]
    if stable:  # more lag leads to the next odd multiple of 180 degrees, whatever the phase has turned before
        lags = [lag % (2 * math.pi) for lag in lags]
    none = math.inf if stable else math.nan
    wanted = [(lag, w) for lag, w in zip(lags, crossovers, strict=True) if stable or lag < 0]
    gain, turn = _gain(loop, omega, value, size, stable)
    least, tight = min(wanted, default=(none, math.nan))
    delay, most = min((lag / w for lag, w in wanted), default=none), max(crossovers, default=math.nan)
    return Margins(
        stable=stable,
        gain=gain,
        phase=math.degrees(least),
        delay=delay,
        crossover=most,
        turn=turn,
        tight=tight,
    )


def _values(loop: Response, omega: Array) -> Complexes:
    """The response at `omega`.

    Raises `UserError` if frequencies do not increase, or if the response is not a number.
    """
    frequencies = checks.row("margins: omega", omega)
    if len(frequencies) < 2 or frequencies[0] <= 0 or not np.all(np.diff(frequencies) > 0):
        raise UserError("margins: omega: expected two frequencies or more that increase from above 0, got others")
    if not callable(loop):
        raise UserError.expected("margins: loop", "a function of frequencies in rad/s", loop)
    value = np.asarray(loop(omega))
    if value.shape != frequencies.shape or value.dtype.kind not in "biufc" or not np.all(np.isfinite(value)):
        raise UserError("margins: loop: expected a finite response to each frequency, got others")
    return value.astype(np.complex128)


def _lag(loop: Response, w: float, omega: Array, value: Complexes, phase: Array) -> float:
    """How far the phase at a frequency is above -180 degrees, in radians.

    The phase is unwrapped from the low end.
    """
    i = int(np.searchsorted(omega, w, side="right")) - 1
    return float(phase[i] + np.angle(_one(loop, w) / value[i]) + math.pi)


def _gain(loop: Response, omega: Array, value: Complexes, size: Array, stable: bool) -> tuple[float, float]:
    """The gain margin, and the frequency at which it is measured."""
    strong = np.flatnonzero(size > math.log(NEGLIGIBLE_GAIN))
    end = int(strong[-1]) + 2 if len(strong) else 0
    turns = [_root(lambda w: _one(loop, w).imag, omega, i) for i in _changes(value.imag[:end])]
    factors = [(1 / abs(at), w) for w in turns if (at := _one(loop, w)).real < 0]
    wanted = [(factor, w) for factor, w in factors if (factor > 1) == stable]
    return min(wanted, default=(math.inf if stable else math.nan, math.nan))


def _one(loop: Response, omega: float) -> complex:
    return complex(loop(np.array([omega]))[0])


def _changes(values: Array) -> list[int]:
    """The indices of samples after which a function changes its sign."""
    signs = np.signbit(values)
    return [int(i) for i in np.flatnonzero(signs[1:] != signs[:-1])]


def _root(f: Callable[[float], float], omega: Array, i: int) -> float:
    a, b = float(omega[i]), float(omega[i + 1])
    return a if f(a) * f(b) > 0 else float(brentq(f, a, b, xtol=1e-14, rtol=1e-12))


def _encloses_nothing(value: Complexes, integrators: int) -> bool:
    """Nyquist's criterion: 1 + L turns by 90 degrees per integrator and no further."""
    turned = float(np.sum(np.angle((1 + value[1:]) / (1 + value[:-1]))))
    return abs(turned - integrators * math.pi / 2) < math.pi / 2
