"""Transfer functions with an exact dead time: frequency response, poles, step response.

A loop is a rational transfer function of python-control times exp(-s dead_time). The dead time is not approximated:
margins (`margins.py`) are found on the frequency response, and step responses are integrated with the delayed signal.
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
    """A transfer function from its coefficients, highest power first."""
    return control.TransferFunction(numerator, denominator)


def response(loop: control.TransferFunction, dead_time: float = 0.0) -> Response:
    """The frequency response of a rational loop with a dead time in seconds: a function of frequencies in rad/s."""
    return lambda w: np.asarray(loop(1j * w, warn_infinite=False), dtype=np.complex128) * np.exp(-1j * w * dead_time)


def poles_of_closed(loop: control.TransferFunction) -> Complexes:
    """The poles of a rational loop closed by unit feedback. Common factors are not canceled."""
    numerator, denominator = loop.num[0][0], loop.den[0][0]
    return np.asarray(np.roots(np.polyadd(denominator, numerator)), dtype=np.complex128)


def step(loop: control.TransferFunction, dead_time: float, until: float, size: float = 1.0) -> tuple[Array, Array]:
    """The closed loop's response to a step of height `size` in its reference: times in seconds, and values.

    `dead_time` and `until` are in seconds. With a dead time the rational part is exact for an input that is linear
    between samples; there are at least 100 samples in a dead time and 4000 in the run. Raises `UserError` where that
    would be more than two million.
    """
    if dead_time <= 0:
        t = np.linspace(0.0, until, 4001)
        answer = control.step_response(control.feedback(loop, 1), t)
        return t, size * np.asarray(answer.outputs, dtype=np.float64)
    return _march(loop, dead_time, until, size)


def _march(loop: control.TransferFunction, dead_time: float, until: float, size: float) -> tuple[Array, Array]:
    """Integrates the rational part with an input that is linear between samples, feeding the delayed output back."""
    steps_back = max(100, math.ceil(dead_time / until * 4000))
    dt = dead_time / steps_back
    count = math.ceil(until / dt) + 1
    if count > 2_000_000:
        raise UserError(f"step: expected a dead time above {until / 2e6:g} s for {until:g} s, got {dead_time:g} s")
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
