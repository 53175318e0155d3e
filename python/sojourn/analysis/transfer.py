"""Transfer functions with an exact dead time: frequency response and poles.

A loop is a rational transfer function of python-control times exp(-s dead_time). The dead time is not approximated:
margins (`margins.py`) and step responses (`step_response.py`) are computed from the frequency response.
"""

from __future__ import annotations

from collections.abc import Callable

import control
import numpy as np
import numpy.typing as npt

from sojourn.analysis import checks

Array = npt.NDArray[np.float64]
Complexes = npt.NDArray[np.complex128]
Response = Callable[[Array], Complexes]


def rational(numerator: list[float], denominator: list[float]) -> control.TransferFunction:
    """A transfer function from its coefficients, highest power first."""
    return control.TransferFunction(numerator, denominator)


def response(loop: control.TransferFunction, dead_time: float = 0.0) -> Response:
    """The frequency response of a rational loop with a dead time, as a function of rad/s.

    `loop` is a transfer function of python-control, `dead_time` is 0 to 1e6 s. The function maps an array to a complex
    array of its shape. Raises `UserError` for a dead time out of range.

    >>> abs(response(control.tf([1], [1, 0]), dead_time=0.1)(np.array([2.0])))
    array([0.5])
    """
    dead_time = checks.within("response: dead_time", dead_time, "a time of 0 to 1e6 s", 0.0, checks.LONGEST)
    return lambda w: np.asarray(loop(1j * w, warn_infinite=False), dtype=np.complex128) * np.exp(-1j * w * dead_time)


def poles_of_closed(loop: control.TransferFunction) -> Complexes:
    """The poles of a rational loop closed by unit feedback. Common factors are not canceled."""
    numerator, denominator = loop.num[0][0], loop.den[0][0]
    return np.asarray(np.roots(np.polyadd(denominator, numerator)), dtype=np.complex128)
