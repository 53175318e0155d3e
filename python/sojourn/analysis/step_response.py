"""Step responses of closed loops, with exact dead times anywhere in the loop."""

from __future__ import annotations

import math

import control
import numpy as np

from sojourn.analysis.margins import margins
from sojourn.analysis.transfer import Array, Response
from sojourn.core.errors import UserError

SAMPLES = 4000
DOUBLINGS = 9  # of the square wave's period, at most


def step(
    loop: control.TransferFunction, until: float, size: float = 1.0, *, delayed: Response | None = None
) -> tuple[Array, Array]:
    """The closed loop's response to a step of height `size` in its reference.

    Returns times in seconds up to `until`, and values. `loop` is the open loop without dead time. `delayed` is its
    frequency response with dead times, anywhere in the loop (default: none). With `delayed`, the response is that to a
    square wave, computed from its Fourier series. Half of its period is long enough for the loop to settle. Raises
    `UserError` if the loop with dead times is unstable, or settles too late.
    """
    if delayed is None:
        t = np.linspace(0.0, until, 4001)
        answer = control.step_response(control.feedback(loop, 1), t)
        return t, size * np.asarray(answer.outputs, dtype=np.float64)
    if not margins(delayed).stable:
        raise UserError("step: expected a loop that is stable with its dead time, got an unstable one")
    half = until
    before: Array = np.full(SAMPLES + 1, math.inf)
    for _ in range(DOUBLINGS):
        t, values = _of_square_wave(delayed, half, until)
        if np.max(np.abs(values - before)) < 1e-6:
            return t, size * values
        half, before = 2.0 * half, values
    raise UserError(f"step: expected a loop that comes to rest within {half / 2.0:g} s, got a slower one")


def _of_square_wave(loop: Response, half: float, until: float) -> tuple[Array, Array]:
    """The first `until` seconds after a rise of a square wave from 0 to 1.

    Half of its period is `half` seconds. Its Fourier series has 1/2 and 2 / (pi k) sin(k w t) for odd k. The closed
    loop is assumed to fall off at high frequencies, as a loop without a direct path does.
    """
    each = 4 * SAMPLES * round(half / until)  # samples in half a period
    k = np.arange(1, each, 2)
    around = loop(np.asarray(k * math.pi / half, dtype=np.float64))
    terms = np.zeros(each + 1, dtype=np.complex128)
    terms[k] = around / (1.0 + around) * (-2j / (math.pi * k)) * each
    lowest = loop(np.array([1e-3 * math.pi / half]))[0]
    values = np.fft.irfft(terms, 2 * each) + 0.5 * (lowest / (1.0 + lowest)).real
    t = np.linspace(0.0, until, SAMPLES + 1)
    return t, np.asarray(values[: 4 * SAMPLES + 1 : 4], dtype=np.float64)
