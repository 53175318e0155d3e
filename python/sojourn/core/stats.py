"""Statistics over replications: confidence intervals and paired differences.

Intervals are Student's. Differences are paired under common random numbers. Intervals need SciPy (`pip install
'sojourn[analysis]'`); the mean of a single replication does not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sojourn.core.errors import UserError
from sojourn.core.extras import require
from sojourn.core.ranges import Range
from sojourn.core.text_format import number

if TYPE_CHECKING:
    import pandas as pd

Array = npt.NDArray[np.float64]
CONFIDENCE = 0.95
MEAN = "mean ± 95 % CI"
"""The heading of means with half the width of their intervals."""
ANY = Range()
# The columns that a summary of a comparison or a sweep has in addition to its axes.
SUMMARY = {
    "case",
    "measure",
    "path",
    "unit",
    "better",
    "mean",
    "sd",
    "low",
    "high",
    "n",
    "best",
    "difference",
    "difference_low",
    "difference_high",
}


@dataclass(frozen=True)
class Estimate:
    """A mean over replications with its standard deviation and confidence interval.

    With a single replication, `low` and `high` are the mean.

    Parameters
    ----------
    mean : float
        The mean.
    sd : float
        The standard deviation.
    half : float
        Half the width of Student's interval; NaN for a single replication, whose spread is unknown.
    n : int
        The number of replications.
    confidence : float, default 0.95
        Coverage of the interval, above 0 and below 1.
    within : Range, optional
        The range of possible values. The interval is limited to it.

    Examples
    --------
    >>> str(sj.Estimate(mean=32.41, sd=1.2, half=0.87, n=10))
    '32.41 ± 0.87'
    >>> str(sj.Estimate(mean=0.9, sd=0.1, half=0.22, n=3, within=sj.Range(0, 1)))
    '0.90 (0.68 to 1.00)'
    """

    mean: float
    sd: float
    half: float
    n: int
    confidence: float = CONFIDENCE
    within: Range = ANY

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.mean if math.isnan(self.half) else min(self.mean, max(self.mean - self.half, self.within.low))

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.mean if math.isnan(self.half) else max(self.mean, min(self.mean + self.half, self.within.high))

    @property
    def errors(self) -> tuple[float, float]:
        """Distances from the mean to both ends of the interval; 0 without an interval."""
        return self.mean - self.low, self.high - self.mean

    def exact(self) -> Estimate:
        """The estimate without an interval, for runs without randomness.

        Returns
        -------
        Estimate
            The same mean; the half-width is NaN.
        """
        return replace(self, half=math.nan)

    def scaled(self, factor: float) -> Estimate:
        """The same estimate in another unit.

        Parameters
        ----------
        factor : float
            The number, above 0, by which all numbers are multiplied.

        Returns
        -------
        Estimate
            The scaled estimate.
        """
        return replace(
            self, mean=self.mean * factor, sd=self.sd * factor, half=self.half * factor, within=self.within * factor
        )

    def text(self, unit: str = "", places: int = 6) -> str:
        """The estimate with its unit, such as `32.4 ± 0.5 packets`; a dash for NaN.

        It shows two digits of the interval. Numbers that would have no digit left are written as `2.5e-07 ± 1e-08`.

        Parameters
        ----------
        unit : str, default ""
            The unit to append.
        places : int, default 6
            The maximum number of decimals.

        Returns
        -------
        str
            The text.
        """
        tail = f" {unit}" if unit else ""
        if not math.isfinite(self.mean):
            return "–"
        if not math.isfinite(self.half):
            return f"{number(self.mean)}{tail}"
        if 0 < max(abs(self.mean), *self.errors) < 10.0 ** (1 - places):
            return f"{self._shown('.2g')}{tail}"
        return f"{self.fixed(min(places, decimals(max(self.errors), self.mean)))}{tail}"

    def fixed(self, places: int) -> str:
        """The estimate with a fixed number of decimals, such as `32.4 ± 0.5`.

        An interval limited by the possible range is written as `0.5 (0.0 to 1.1)`. A missing interval is omitted. NaN
        becomes a dash.

        Parameters
        ----------
        places : int
            The number of decimals.

        Returns
        -------
        str
            The text.
        """
        return self._shown(f"z,.{places}f") if math.isfinite(self.mean) else "–"

    def _shown(self, spec: str) -> str:
        """Mean and interval, with numbers in the given format."""
        mean, low, high = (format(value, spec) for value in (self.mean, self.low, self.high))
        if not math.isfinite(self.half):
            return mean
        whole = [format(value, spec) for value in (self.mean - self.half, self.mean + self.half)]
        return f"{mean} ± {format(self.half, spec)}" if [low, high] == whole else f"{mean} ({low} to {high})"

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True)
class Share(Estimate):
    """The share of replications in which something holds, with Wilson's interval."""

    hits: int = field(kw_only=True)
    """Number of the `n` replications in which it holds."""

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
        """Wilson's interval: the shares that a score test at this confidence does not reject."""
        z = NormalDist().inv_cdf(0.5 + self.confidence / 2)
        scale = 1 / (1 + z**2 / self.n)
        middle = scale * (self.mean + z**2 / (2 * self.n))
        half = scale * z * math.sqrt(self.mean * (1 - self.mean) / self.n + z**2 / (4 * self.n**2))
        low = 0.0 if self.hits == 0 else middle - half
        return low, 1.0 if self.hits == self.n else middle + half

    def __str__(self) -> str:
        return f"{self.hits} of {self.n} ({self.low:.2f} to {self.high:.2f})"


def share_of(holds: Sequence[bool], confidence: float = CONFIDENCE) -> Share:
    """The share of replications in which something holds.

    `holds` has one value per replication, and at least one.

    >>> from sojourn.core.stats import share_of
    >>> str(share_of([True] * 9 + [False]))
    '9 of 10 (0.60 to 0.98)'
    """
    if not len(holds):
        raise UserError("share_of: expected one value or more, got none")
    hits, n = sum(map(bool, holds)), len(holds)
    return Share(hits / n, math.nan, math.nan, n, confidence, hits=hits)


def decimals(half: float, mean: float) -> int:
    """The decimal places that show two digits of the half width.

    If the half width is 0, they show four digits of the mean.
    """
    scale = half if half > 1e-9 * abs(mean) else abs(mean) / 100  # a smaller half width is rounding noise
    if scale <= 0 or not math.isfinite(scale):
        return 0
    return int(min(6, max(0, 1 - math.floor(math.log10(scale)))))


def _numbers(where: str, values: Any) -> Array:
    """Numbers as an array. Raises `UserError` for other values."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise UserError.expected(where, "numbers", values) from None


def estimate(values: Sequence[float] | Array, confidence: float = CONFIDENCE, within: Range = ANY) -> Estimate:
    """The mean of independent replications with Student's confidence interval.

    Parameters
    ----------
    values : sequence of float or array of shape (n,)
        One number per replication. Without values the result is NaN.
    confidence : float, default 0.95
        Coverage of the interval, above 0 and below 1.
    within : Range, optional
        The range of possible values. The interval is limited to it, which does not change its coverage.

    Returns
    -------
    Estimate
        Mean, standard deviation and interval, in the unit of the values.

    Raises
    ------
    MissingExtraError
        There are two or more values, and SciPy is not installed.

    Examples
    --------
    >>> str(sj.estimate([31.0, 33.0, 32.0]))
    '32.0 ± 2.5'
    >>> str(sj.estimate([0.7, 0.9, 0.8], within=sj.Range(0, 1)))
    '0.80 (0.55 to 1.00)'
    """
    data = _numbers("estimate", values)
    if data.size == 0:
        return Estimate(math.nan, math.nan, math.nan, 0, confidence, within)
    mean = float(data.mean())
    if data.size == 1:
        return Estimate(mean, math.nan, math.nan, 1, confidence, within)
    sd = float(data.std(ddof=1))
    half = _quantile(data.size, confidence) * sd / math.sqrt(data.size)
    return Estimate(mean, sd, half, int(data.size), confidence, within)


def summarize(runs: pd.DataFrame, by: list[str], measures: Mapping[str, Range]) -> pd.DataFrame:
    """Summarizes each measure over groups of runs that agree in the columns `by`.

    Each row has the fields of `estimate`. `measures` maps each measure to its range. Groups are in the order of their
    first run. Columns: `by`, `measure`, `mean`, `sd`, `low`, `high`, `n`.
    """
    require("pandas")
    group = runs.groupby(by, sort=False, dropna=False).ngroup().to_numpy()
    order = np.argsort(group, kind="stable")
    firsts, sizes = np.unique(group[order], return_index=True)[1], np.bincount(group)
    values = runs[list(measures)].to_numpy(dtype=np.float64)
    mean, sd, half = (np.full((len(sizes), len(measures)), np.nan) for _ in range(3))
    for n in np.unique(sizes):
        chosen = np.flatnonzero(sizes == n)
        each = values[order[firsts[chosen][:, None] + np.arange(n)]]
        mean[chosen] = each.mean(axis=1)
        if n > 1:
            sd[chosen] = each.std(axis=1, ddof=1)
            half[chosen] = _quantile(int(n), CONFIDENCE) * sd[chosen] / math.sqrt(n)
    width = np.where(np.isnan(half), 0.0, half)
    least, most = (np.array([getattr(each, end) for each in measures.values()]) for end in ("low", "high"))
    low, high = np.fmin(mean, np.fmax(mean - width, least)), np.fmax(mean, np.fmin(mean + width, most))
    table = runs[by].iloc[np.repeat(order[firsts], len(measures))].reset_index(drop=True)
    columns = {"mean": mean, "sd": sd, "low": low, "high": high}
    table["measure"] = np.tile(np.array(list(measures), dtype=object), len(sizes))
    return table.assign(**{name: each.ravel() for name, each in columns.items()}, n=np.repeat(sizes, len(measures)))


def _quantile(n: int, confidence: float) -> float:
    """The quantile of Student's distribution for the mean of `n` values."""
    require("scipy")
    from scipy.special import stdtrit  # an extra, imported late because it takes time to load

    return float(stdtrit(n - 1, 0.5 + confidence / 2))


def interval_reach(n: int, confidence: float = CONFIDENCE) -> float:
    """The half-width of the interval of a mean of `n` values, in their standard deviations.

    >>> from sojourn.core.stats import interval_reach
    >>> [round(interval_reach(n), 1) for n in (2, 3, 5, 10)]
    [9.0, 2.5, 1.2, 0.7]
    """
    return _quantile(n, confidence) / math.sqrt(n)


def estimate_of(row: pd.Series[Any]) -> Estimate:
    """The estimate in a row of a table with the columns `mean`, `sd`, `low`, `high` and `n`."""
    mean, sd, low, high = (float(row[name]) for name in ("mean", "sd", "low", "high"))
    half = max(mean - low, high - mean) if int(row["n"]) > 1 else math.nan
    return Estimate(mean, sd, half, int(row["n"]), within=Range(low, high))


ROUNDING = 1e-12  # of sums of the same numbers in another order


def paired(
    values: Sequence[float] | Array,
    baseline: Sequence[float] | Array,
    confidence: float = CONFIDENCE,
    within: Range = ANY,
) -> Estimate:
    """The mean of `values - baseline`, paired by seed.

    Values that differ only by rounding count as equal.

    Parameters
    ----------
    values : sequence of float or array of shape (n,)
        One number per seed.
    baseline : sequence of float or array of shape (n,)
        One number per seed, in the same order and unit.
    confidence : float, default 0.95
        Coverage of the interval, above 0 and below 1.
    within : Range, optional
        The range of possible values of both, which bounds their difference.

    Returns
    -------
    Estimate
        Mean difference, standard deviation and interval.

    Raises
    ------
    UserError
        The lengths differ.
    MissingExtraError
        There are two or more values, and SciPy is not installed.

    Examples
    --------
    >>> str(sj.paired([31.0, 33.0, 32.0], [21.0, 23.0, 22.5]))
    '9.83 ± 0.72'
    """
    one, other = _numbers("paired", values), _numbers("paired", baseline)
    if one.shape != other.shape:
        raise UserError(f"paired: expected values of the same seeds, got {one.size} and {other.size}")
    apart = np.where(np.isclose(one, other, rtol=ROUNDING, atol=0), 0.0, one - other)
    return estimate(apart, confidence, within - within)


def jain(rates: Sequence[float] | Array) -> float:
    """Jain's fairness index of rates.

    The index of n rates x is (sum of x)^2 / (n * sum of x^2). It is 1 if all are equal and 1/n if one has everything.

    Parameters
    ----------
    rates : sequence of float or array of shape (n,)
        Rates in one unit.

    Returns
    -------
    float
        The index; NaN if all rates are 0.

    Examples
    --------
    >>> sj.jain([1.0, 1.0, 2.0, 0.0])
    0.6666666666666666
    """
    data = _numbers("jain", rates)
    square = float((data**2).sum())
    return float(data.sum() ** 2 / (data.size * square)) if square > 0 else math.nan
