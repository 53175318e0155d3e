"""Statistics over replications: Student confidence intervals, and paired differences under common random numbers.

Intervals need SciPy (`pip install 'sojourn[analysis]'`); the mean of a single replication does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sojourn.display import number
from sojourn.errors import UserError
from sojourn.extras import require

if TYPE_CHECKING:
    import pandas as pd

Array = npt.NDArray[np.float64]
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over `n` replications with its standard deviation and confidence interval.

    `half` is half of the interval's width. With a single replication it is NaN, since nothing is known about the
    spread; `low` and `high` are then the mean itself.

    >>> str(sj.Estimate(mean=32.41, sd=1.2, half=0.87, n=10))
    '32.41 ± 0.87'
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
        """`32.4 ± 0.5 packets`: two digits of the half width, at most `places` decimal places, a dash for NaN."""
        tail = f" {unit}" if unit else ""
        if not math.isfinite(self.mean):
            return "–"
        if not math.isfinite(self.half):
            return f"{number(self.mean)}{tail}"
        return f"{self.fixed(min(places, decimals(self.half, self.mean)))}{tail}"

    def fixed(self, places: int) -> str:
        """`32.4 ± 0.5` with this many decimal places; without the interval where there is none, a dash for NaN."""
        if not math.isfinite(self.mean):
            return "–"
        half = f" ± {self.half:,.{places}f}" if math.isfinite(self.half) else ""
        return f"{self.mean:,.{places}f}{half}"

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True)
class Share(Estimate):
    """The share of replications in which something holds, with Wilson's interval."""

    hits: int = 0
    """In how many of the `n` replications it holds."""

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self._ends[0]

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self._ends[1]

    @property
    def _ends(self) -> tuple[float, float]:
        """Wilson's interval: the shares that a score test at this confidence does not refuse."""
        z = NormalDist().inv_cdf(0.5 + self.confidence / 2)
        scale = 1 / (1 + z**2 / self.n)
        middle = scale * (self.mean + z**2 / (2 * self.n))
        half = scale * z * math.sqrt(self.mean * (1 - self.mean) / self.n + z**2 / (4 * self.n**2))
        low = 0.0 if self.hits == 0 else middle - half
        return low, 1.0 if self.hits == self.n else middle + half

    def __str__(self) -> str:
        return f"{self.hits} of {self.n} ({self.low:.2f} … {self.high:.2f})"


def share_of(holds: Sequence[bool], confidence: float = CONFIDENCE) -> Share:
    """The share of replications in which something holds. `holds` has one value for each, and at least one.

    >>> str(sj.stats.share_of([True] * 9 + [False]))
    '9 of 10 (0.60 … 0.98)'
    """
    if not len(holds):
        raise UserError("share_of: expected one value or more, got none")
    hits, n = sum(map(bool, holds)), len(holds)
    return Share(hits / n, math.nan, math.nan, n, confidence, hits)


def decimals(half: float, mean: float) -> int:
    """Decimal places that show two digits of the half width, or four digits of the mean where the half width is 0."""
    scale = half if half > 1e-9 * abs(mean) else abs(mean) / 100  # less is rounding noise
    if scale <= 0 or not math.isfinite(scale):
        return 0
    return int(min(6, max(0, 1 - math.floor(math.log10(scale)))))


def estimate(values: Sequence[float] | Array, confidence: float = CONFIDENCE) -> Estimate:
    """The mean of independent replications with Student's confidence interval.

    `values` is one number for each replication; none gives NaN throughout. Raises `MissingExtraError` for two or more
    values where SciPy is missing.

    >>> str(sj.estimate([31.0, 33.0, 32.0]))
    '32.0 ± 2.5'
    """
    data = np.asarray(values, dtype=np.float64)
    if data.size == 0:
        return Estimate(math.nan, math.nan, math.nan, 0, confidence)
    mean = float(data.mean())
    if data.size == 1:
        return Estimate(mean, math.nan, math.nan, 1, confidence)
    sd = float(data.std(ddof=1))
    half = _quantile(data.size, confidence) * sd / math.sqrt(data.size)
    return Estimate(mean, sd, half, int(data.size), confidence)


def summarize(runs: pd.DataFrame, by: list[str], measures: list[str]) -> pd.DataFrame:
    """A row for each group of runs that agree in the columns `by` and for each measure, with the fields of `estimate`.

    Groups are in the order of their first run. Columns: `by`, `measure`, `mean`, `sd`, `low`, `high`, `n`.
    """
    require("pandas")
    group = runs.groupby(by, sort=False, dropna=False).ngroup().to_numpy()
    order = np.argsort(group, kind="stable")
    firsts, sizes = np.unique(group[order], return_index=True)[1], np.bincount(group)
    values = runs[measures].to_numpy(dtype=np.float64)
    mean, sd, half = (np.full((len(sizes), len(measures)), np.nan) for _ in range(3))
    for n in np.unique(sizes):
        chosen = np.flatnonzero(sizes == n)
        each = values[order[firsts[chosen][:, None] + np.arange(n)]]
        mean[chosen] = each.mean(axis=1)
        if n > 1:
            sd[chosen] = each.std(axis=1, ddof=1)
            half[chosen] = _quantile(int(n), CONFIDENCE) * sd[chosen] / math.sqrt(n)
    width = np.where(np.isnan(half), 0.0, half)
    table = runs[by].iloc[order[firsts]].loc[lambda frame: frame.index.repeat(len(measures))].reset_index(drop=True)
    columns = {"mean": mean, "sd": sd, "low": mean - width, "high": mean + width}
    table["measure"] = np.tile(np.array(measures, dtype=object), len(sizes))
    return table.assign(**{name: each.ravel() for name, each in columns.items()}, n=np.repeat(sizes, len(measures)))


def _quantile(n: int, confidence: float) -> float:
    """The quantile of Student's distribution for the mean of `n` values."""
    require("scipy")
    from scipy.special import stdtrit  # here, because it is an extra and takes time to load

    return float(stdtrit(n - 1, 0.5 + confidence / 2))


def estimate_of(row: pd.Series[Any]) -> Estimate:
    """The estimate in a row of a table with the columns `mean`, `sd`, `high` and `n`."""
    half = float(row["high"]) - float(row["mean"]) if int(row["n"]) > 1 else math.nan
    return Estimate(float(row["mean"]), float(row["sd"]), half, int(row["n"]))


def paired(
    values: Sequence[float] | Array, baseline: Sequence[float] | Array, confidence: float = CONFIDENCE
) -> Estimate:
    """The mean of `values - baseline`, where both used the same seeds in the same order.

    Raises `UserError` where there are not as many values as baselines.

    >>> str(sj.paired([31.0, 33.0, 32.0], [21.0, 23.0, 22.5]))
    '9.83 ± 0.72'
    """
    one, other = np.asarray(values, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if one.shape != other.shape:
        raise UserError(f"paired: expected values of the same seeds, got {one.size} and {other.size}")
    return estimate(one - other, confidence)


def jain(rates: Sequence[float] | Array) -> float:
    """Jain's fairness index of rates: 1 if all are equal, 1/n if one has everything, NaN if all are 0.

    >>> sj.jain([1.0, 1.0, 2.0, 0.0])
    0.6666666666666666
    """
    data = np.asarray(rates, dtype=np.float64)
    square = float((data**2).sum())
    return float(data.sum() ** 2 / (data.size * square)) if square > 0 else math.nan
