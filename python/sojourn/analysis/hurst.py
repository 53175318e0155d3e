"""Long-range dependence of traffic: the Hurst exponent, estimated by the variance-time method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sojourn.errors import UserError

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Hurst:
    """The exponent, and the variance-time plot: aggregation times in seconds, variances of the means."""

    exponent: float
    times: Array
    variances: Array


def hurst(counts: npt.ArrayLike, bin_s: float, fit: tuple[float, float] = (0.1, 10.0), points: int = 20) -> Hurst:
    """The Hurst exponent of counts in bins of `bin_s` seconds.

    The slope b of log variance against log aggregation time, fitted at `points` times in the range `fit` (seconds),
    gives H = 1 + b/2. Traffic without long-range dependence has 0.5 over long times; over a limited range the estimate
    may be higher, so always state the range. Raises `UserError` for a series that is shorter than ten times the longest
    aggregation or does not vary.

    ```python
    hurst(np.random.default_rng(1).poisson(10, 200_000), 0.01).exponent  # about 0.5
    ```
    """
    x = np.asarray(counts, dtype=np.float64)
    sizes = np.unique(np.round(np.geomspace(fit[0] / bin_s, fit[1] / bin_s, points)).astype(int))
    sizes = sizes[sizes >= 1]
    if len(sizes) < 3 or len(x) < 10 * sizes[-1]:
        least = f"expected at least 10 times the longest aggregation of {fit[1]} s"
        raise UserError(f"hurst: {least}, got {len(x)} bins of {bin_s} s")
    variances = np.array([np.var(x[: len(x) // m * m].reshape(-1, m).mean(axis=1)) for m in sizes])
    if not np.all(variances > 0):
        raise UserError("hurst: expected traffic that varies, got a constant")
    slope = np.polyfit(np.log(sizes), np.log(variances), 1)[0]
    return Hurst(float(1 + slope / 2), sizes * bin_s, variances)
