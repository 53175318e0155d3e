"""Long-range dependence of traffic: the Hurst exponent by the variance-time method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sojourn.analysis import checks
from sojourn.core.errors import UserError

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Hurst:
    """The Hurst exponent and its variance-time plot.

    The plot has aggregation times in seconds, and variances of the means.
    """

    exponent: float
    times: Array
    variances: Array


def _range(fit: object) -> tuple[float, float]:
    """The shortest and the longest aggregation. Raises `UserError` for other values."""
    found = checks.numbers("hurst: fit", fit, checks.LEAST, checks.LONGEST)
    if found.shape != (2,) or not found[0] < found[1]:
        raise UserError.expected("hurst: fit", "two times in seconds, the shorter one first", fit)
    return float(found[0]), float(found[1])


def hurst(counts: npt.ArrayLike, bin_s: float, fit: tuple[float, float] = (0.1, 10.0), points: int = 20) -> Hurst:
    """The Hurst exponent of `counts`, such as packets, in bins of `bin_s` seconds.

    The slope b of log variance against log aggregation time is fitted at `points` times in the range `fit` (seconds).
    It determines H = 1 + b/2. Traffic without long-range dependence has 0.5 over long times. Over a limited range the
    estimate may be higher, so always state the range. Raises `UserError` for values out of range, a constant series,
    and a series shorter than ten times the longest aggregation.

    >>> round(hurst(np.random.default_rng(1).poisson(10, 200_000), 0.01).exponent, 1)
    0.5
    """
    x = checks.numbers("hurst: counts", counts).ravel()
    bin_s = checks.seconds("hurst: bin_s", bin_s, "a bin")
    low, high = _range(fit)
    points = checks.whole("hurst: points", points, 3, 10_000)
    sizes = np.unique(np.round(np.geomspace(low / bin_s, high / bin_s, points)).astype(int))
    sizes = sizes[sizes >= 1]
    if len(sizes) < 3 or len(x) < 10 * sizes[-1]:
        least = f"expected at least 10 times the longest aggregation of {high:g} s"
        raise UserError(f"hurst: {least}, got {len(x)} bins of {bin_s:g} s")
    variances = np.array([np.var(x[: len(x) // m * m].reshape(-1, m).mean(axis=1)) for m in sizes])
    if not np.all(variances > 0):
        raise UserError("hurst: expected traffic that varies, got a constant")
    slope = np.polyfit(np.log(sizes), np.log(variances), 1)[0]
    return Hurst(float(1 + slope / 2), sizes * bin_s, variances)
