"""How far back traffic remembers: Hurst's exponent by the variance of means over longer and longer times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sojourn.errors import UserError

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Hurst:
    """The exponent, and the plot it comes from: aggregation times in seconds, variances of the means."""

    exponent: float
    times: Array
    variances: Array


def hurst(counts: npt.ArrayLike, bin_s: float, fit: tuple[float, float] = (0.1, 10.0), points: int = 20) -> Hurst:
    """Variance-time estimate for counts in bins of `bin_s` seconds, fitted over aggregations `fit` in seconds.

    The slope b of log variance against log time gives H = 1 + b/2. Traffic with short memory has 0.5 over long
    times; over a limited range it may look like more, so the range belongs to the number.
    """
    x = np.asarray(counts, dtype=np.float64)
    sizes = np.unique(np.round(np.geomspace(fit[0] / bin_s, fit[1] / bin_s, points)).astype(int))
    sizes = sizes[sizes >= 1]
    if len(sizes) < 3 or len(x) < 10 * sizes[-1]:
        least = f"taken are at least 10 times the longest aggregation, {fit[1]} s"
        raise UserError(f"hurst: given {len(x)} bins of {bin_s} s: {least}")
    variances = np.array([np.var(x[: len(x) // m * m].reshape(-1, m).mean(axis=1)) for m in sizes])
    if not np.all(variances > 0):
        raise UserError("hurst: the traffic does not vary")
    slope = np.polyfit(np.log(sizes), np.log(variances), 1)[0]
    return Hurst(float(1 + slope / 2), sizes * bin_s, variances)
