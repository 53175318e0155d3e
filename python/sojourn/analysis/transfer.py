"""Transfer functions with an exact dead time: frequency response and poles.

A loop is a rational transfer function of python-control times exp(-s dead_time). The dead time is not approximated:
margins (`margins.py`) and step responses (`step_response.py`) are found on the frequency response.
"""

from __future__ import annotations

from collections.abc import Callable

import control
import numpy as np
import numpy.typing as npt

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
