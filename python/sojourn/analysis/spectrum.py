"""The spectrum of a measured queue."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.signal import welch

from sojourn.analysis import checks
from sojourn.core.errors import UserError

Array = npt.NDArray[np.float64]


def queue_spectrum(t: Array, packets: Array, warmup: float) -> tuple[Array, Array]:
    """Power spectral density of a queue by Welch's method, from `warmup` seconds on.

    `t` in seconds (evenly spaced) and `packets` have equal lengths. Returns frequencies in Hz without 0, and densities
    in packets² per Hz. Windows are 20 s long, or as long as the series if it is shorter. Raises `UserError` for arrays
    that differ in length, are out of order, or have fewer than two samples from `warmup` on.

    >>> t = np.arange(0, 60, 0.01)
    >>> f, power = queue_spectrum(t, 30 + 5 * np.sin(2 * np.pi * t), 10.0)
    >>> round(float(f[np.argmax(power)]), 3)  # Hz
    1.0
    """
    t, packets = checks.series("queue_spectrum", t, packets)
    warmup = checks.within("queue_spectrum: warmup", warmup, "a time in seconds", -checks.MOST, checks.MOST)
    kept = packets[t >= warmup]
    if len(kept) < 2:
        raise UserError(f"queue_spectrum: expected two samples or more from {warmup:g} s on, got {len(kept)}")
    step = float(np.median(np.diff(t)))
    f, power = welch(kept, fs=1 / step, nperseg=min(len(kept), max(256, int(20 / step))), detrend="linear")
    return np.asarray(f[1:]), np.asarray(power[1:])


BAND = 1.1
"""Ratio of the highest to the lowest frequency of a band.

A line that is narrower than a band counts by its area, not its height.
"""


def bands(f: Array, power: Array) -> tuple[Array, Array]:
    """A spectrum times frequency, averaged in bands: frequencies in rad/s, and packets².

    `f` (Hz) and `power` (packets² per Hz) are those of `queue_spectrum`. On a logarithmic axis of frequency, the area
    under the result is the variance.
    """
    number = np.floor(np.log(f / f[0]) / math.log(BAND)).astype(int)
    count = np.bincount(number)
    used = count > 0
    middle = np.bincount(number, weights=np.log(f))[used] / count[used]
    height = np.bincount(number, weights=f * power)[used] / count[used]
    return np.asarray(2 * math.pi * np.exp(middle)), np.asarray(height)


@dataclass(frozen=True)
class Peak:
    """The highest band of a measured queue in `bands`, `omega` in rad/s, `height` in packets²."""

    omega: float
    height: float

    def rounds(self, rtt: float) -> int | None:
        """The number of oscillations per round trip of `rtt` seconds.

        None unless it is within a fifth of a small whole number.
        """
        number = self.omega * rtt / (2 * math.pi)
        whole = max(1, round(number))
        return whole if whole < 5 and abs(number - whole) < 0.2 * whole else None


def strongest(f: Array, power: Array) -> Peak | None:
    """The peak of a spectrum from `queue_spectrum`; None for a constant queue."""
    omega, height = bands(f, power)
    at = int(np.argmax(height))
    return Peak(float(omega[at]), float(height[at])) if height[at] > 0 else None
