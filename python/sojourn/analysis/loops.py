"""Open loops with an exact dead time: frequency response, crossover, margins, step response.

A loop is a rational transfer function (python-control's) times exp(-s dead_time). Margins are found on the response
itself, so the dead time is not approximated; step responses march in time with the delayed signal kept, for the same
reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import control
import numpy as np
import numpy.typing as npt
from scipy.linalg import expm
from scipy.optimize import brentq

from sojourn.errors import UserError

Array = npt.NDArray[np.float64]
Complexes = npt.NDArray[np.complex128]
Response = Callable[[Array], Complexes]
GRID = np.logspace(-6, 5, 22_001)
FAINT = 1e-3  # loops this weak are not looked at for gain margins


@dataclass(frozen=True)
class Margins:
    """How far a loop is from instability; NaN where it has no such crossover."""

    crossover: float
    """Highest frequency at which the gain is one, in rad/s."""
    phase: float
    """Least phase margin over all crossovers of gain one, in degrees."""
    gain: float
    """Least factor above one that the gain can grow by (infinite where none makes the loop unstable)."""
    delay: float
    """Least further dead time that makes the loop unstable, in seconds."""
    sensitivity: float
    """Largest |1 / (1 + L)|: how near the loop comes to -1."""


def rational(numerator: list[float], denominator: list[float]) -> control.TransferFunction:
    """A transfer function from coefficients, highest power first."""
    return control.TransferFunction(numerator, denominator)


def response(loop: control.TransferFunction, dead_time: float = 0.0) -> Response:
    """The frequency response of a rational loop with a dead time."""
    return lambda w: np.asarray(loop(1j * w, warn_infinite=False), dtype=np.complex128) * np.exp(-1j * w * dead_time)


def crossings(values: Array, w: Array, at: Callable[[float], float]) -> list[float]:
    """Where a function changes its sign on a grid, each sharpened to its root."""
    signs = np.signbit(values)
    return [float(brentq(at, w[i], w[i + 1], xtol=1e-14, rtol=1e-13)) for i in np.flatnonzero(signs[1:] != signs[:-1])]


def margins(loop: Response, w: Array = GRID) -> Margins:
    """The margins of an open loop under negative feedback."""
    values = loop(w)
    size = np.log(np.abs(values))
    gains = crossings(size, w, lambda x: float(np.log(np.abs(loop(np.array([x]))[0]))))
    phases = [180.0 + math.degrees(float(np.angle(loop(np.array([x]))[0]))) for x in gains]
    phases = [(p + 180.0) % 360.0 - 180.0 for p in phases]
    delays = [max(0.0, math.radians(p) / x) for p, x in zip(phases, gains, strict=True)]
    heard = (
        slice(0, int(np.flatnonzero(size > math.log(FAINT))[-1]) + 1) if np.any(size > math.log(FAINT)) else slice(0)
    )
    turns = crossings(values.imag[heard], w[heard], lambda x: float(loop(np.array([x]))[0].imag))
    at_turns = [complex(loop(np.array([x]))[0]) for x in turns]
    grow = [1.0 / abs(value) for value in at_turns if value.real < 0 and abs(value) < 1.0]
    return Margins(
        crossover=max(gains, default=math.nan),
        phase=min(phases, default=math.nan),
        gain=min(grow, default=math.inf),
        delay=min(delays, default=math.inf),
        sensitivity=float(np.max(1.0 / np.abs(1.0 + values))),
    )


def poles_of_closed(loop: control.TransferFunction) -> Complexes:
    """The poles of a rational loop closed by unit feedback, numerator and denominator as they are."""
    numerator, denominator = loop.num[0][0], loop.den[0][0]
    return np.asarray(np.roots(np.polyadd(denominator, numerator)), dtype=np.complex128)


def is_stable(loop: Response, w: Array = GRID) -> bool:
    """Whether the closed loop is stable, by Nyquist, for an open loop without poles in the right half plane.

    Integrators are allowed: the order k is read off the response's slope at the low end, where 1 + L comes in at an
    angle of -90 k degrees. Stable is what then turns to 0 without a full turn around the origin.
    """
    values = loop(w)
    slope = math.log(abs(values[1]) / abs(values[0])) / math.log(w[1] / w[0])
    start = -max(0, round(-slope)) * math.pi / 2
    path = 1.0 + values
    turned = float(np.sum(np.angle(path[1:] / path[:-1])))
    return abs(start + turned) < math.pi / 2


def step(loop: control.TransferFunction, dead_time: float, until: float, size: float = 1.0) -> tuple[Array, Array]:
    """The closed loop's answer to a step of its reference.

    With a dead time the rational part is exact for an input that is linear between samples; there are at least 100 of
    them in a dead time and 4000 in the run.
    """
    if dead_time <= 0:
        t = np.linspace(0.0, until, 4001)
        answer = control.step_response(control.feedback(loop, 1), t)
        return t, size * np.asarray(answer.outputs, dtype=np.float64)
    return _march(loop, dead_time, until, size)


def _march(loop: control.TransferFunction, dead_time: float, until: float, size: float) -> tuple[Array, Array]:
    """Samples the rational part with its input linear between samples, and feeds the delayed output back."""
    steps_back = max(100, math.ceil(dead_time / until * 4000))
    dt = dead_time / steps_back
    count = math.ceil(until / dt) + 1
    if count > 2_000_000:
        raise UserError(f"step of {until:g} s: the dead time of {dead_time:g} s is too short for it")
    system = control.ss(loop)
    a, b, c, d = (np.asarray(m, dtype=np.float64) for m in (system.A, system.B, system.C, system.D))
    order = a.shape[0]
    # First-order hold by the exponential of the augmented matrix (Van Loan).
    block = np.zeros((order + 2, order + 2))
    block[:order, :order], block[:order, order : order + 1], block[order, order + 1] = a * dt, b * dt, 1.0
    whole = expm(block)
    phi, g1 = whole[:order, :order], whole[:order, order + 1]
    g0 = whole[:order, order] - g1
    x, y = np.zeros(order), np.zeros(count)
    errors = np.zeros(count)
    for k in range(count):
        undelayed = y[k - steps_back] if k >= steps_back else 0.0
        errors[k] = size - undelayed
        if k:
            x = phi @ x + g0 * errors[k - 1] + g1 * errors[k]
        y[k] = float(c[0] @ x) + float(d[0, 0]) * errors[k]
    t = np.arange(count) * dt
    return np.asarray(t, dtype=np.float64), np.asarray(
        np.where(t >= dead_time, np.interp(t - dead_time, t, y), 0.0), dtype=np.float64
    )
