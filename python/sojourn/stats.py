"""Statistics over replications: Student confidence intervals, and paired differences under common random numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

Array = npt.NDArray[np.float64]
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over replications with its confidence interval.

    With a single replication the half width is NaN: nothing is known of the spread, and `low` and
    `high` are then the mean itself.
    """

    mean: float
    sd: float
    half: float
    n: int
    confidence: float = CONFIDENCE

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.mean if math.isnan(self.half) else self.mean - self.half

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.mean if math.isnan(self.half) else self.mean + self.half

    def text(self, unit: str = "", places: int = 6) -> str:
        """`32.4 ± 0.5 packets`, with as many digits as the interval deserves and at most so many decimal places."""
        tail = f" {unit}" if unit else ""
        if not math.isfinite(self.mean):
            return "–"
        if not math.isfinite(self.half):
            return f"{self.mean:.4g}{tail}"
        digits = min(places, decimals(self.half, self.mean))
        return f"{self.mean:,.{digits}f} ± {self.half:,.{digits}f}{tail}"

    def __str__(self) -> str:
        return self.text()


def decimals(half: float, mean: float) -> int:
    """Decimal places that show two digits of the half width; four digits of the mean where it is zero."""
    scale = half if half > 1e-9 * abs(mean) else abs(mean) / 100  # less is the noise of adding floats
    if scale <= 0 or not math.isfinite(scale):
        return 0
    return int(min(6, max(0, 1 - math.floor(math.log10(scale)))))


def estimate(values: Sequence[float] | Array, confidence: float = CONFIDENCE) -> Estimate:
    """Mean of independent replications and the half width of its Student interval."""
    data = np.asarray(values, dtype=np.float64)
    if data.size == 0:
        return Estimate(math.nan, math.nan, math.nan, 0, confidence)
    mean = float(data.mean())
    if data.size == 1:
        return Estimate(mean, math.nan, math.nan, 1, confidence)
    from scipy.special import stdtrit  # here, so that `import sojourn` need not load it

    sd = float(data.std(ddof=1))
    quantile = float(stdtrit(data.size - 1, 0.5 + confidence / 2))
    return Estimate(mean, sd, quantile * sd / math.sqrt(data.size), int(data.size), confidence)


def estimate_of(row: pd.Series[Any]) -> Estimate:
    """The estimate that a row of a table holds in its columns `mean`, `sd`, `high` and `n`."""
    half = float(row["high"]) - float(row["mean"]) if int(row["n"]) > 1 else math.nan
    return Estimate(float(row["mean"]), float(row["sd"]), half, int(row["n"]))


def paired(
    values: Sequence[float] | Array, baseline: Sequence[float] | Array, confidence: float = CONFIDENCE
) -> Estimate:
    """Mean difference of replications that share their random numbers, seed by seed."""
    one, other = np.asarray(values, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if one.shape != other.shape:
        raise ValueError(f"paired values must come from the same seeds: {one.size} against {other.size}")
    return estimate(one - other, confidence)


def jain(rates: Sequence[float] | Array) -> float:
    """Jain's fairness index: 1 when all are equal, 1/n when one has everything."""
    data = np.asarray(rates, dtype=np.float64)
    square = float((data**2).sum())
    return float(data.sum() ** 2 / (data.size * square)) if square > 0 else math.nan
