"""Open loops with an exact dead time: frequency response, poles, step response.

A loop is a rational transfer function (python-control's) times exp(-s dead_time). Nothing approximates
the dead time: margins (`margins.py`) are found on the response itself, and step responses march in time with the
delayed signal kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import control
import numpy as np
import numpy.typing as npt
from scipy.linalg import expm

from sojourn.errors import UserError

Array = npt.NDArray[np.float64]
Complexes = npt.NDArray[np.complex128]
Response = Callable[[Array], Complexes]


def rational(numerator: list[float], denominator: list[float]) -> control.TransferFunction:
    """A transfer function from coefficients, highest power first."""
    return control.TransferFunction(numerator, denominator)


def response(loop: control.TransferFunction, dead_time: float = 0.0) -> Response:
    """The frequency response of a rational loop with a dead time."""
    return lambda w: np.asarray(loop(1j * w, warn_infinite=False), dtype=np.complex128) * np.exp(-1j * w * dead_time)


def poles_of_closed(loop: control.TransferFunction) -> Complexes:
    """The poles of a rational loop closed by unit feedback, numerator and denominator as they are."""
    numerator, denominator = loop.num[0][0], loop.den[0][0]
    return np.asarray(np.roots(np.polyadd(denominator, numerator)), dtype=np.complex128)


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
