"""The spectrum of a measured queue."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.signal import welch

Array = npt.NDArray[np.float64]


def queue_spectrum(t: Array, packets: Array, warmup: float) -> tuple[Array, Array]:
    """Power spectral density of a queue by Welch's method, from `warmup` seconds on.

    `t` in seconds (evenly spaced) and `packets` are of one length. Returns frequencies in Hz without 0, and densities
    in packets² per Hz. Windows are 20 s long, or as long as the series.
    """
    kept = packets[t >= warmup]
    step = float(np.median(np.diff(t)))
    f, power = welch(kept, fs=1 / step, nperseg=min(len(kept), max(256, int(20 / step))), detrend="linear")
    return np.asarray(f[1:]), np.asarray(power[1:])
