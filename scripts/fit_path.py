"""Fits a path of `crates/scenario/library/` to traces of a link.

Usage: `python scripts/fit_path.py --every 100 FILE...` prints the tables `statistics` and `rate` of the path's file.
The files are pieces of one measurement, in a format of the link key `trace`. `--handover 15000` fits a link whose
satellite changes with this period, in ms; all pieces then begin at the same time within the period.

The figures of the library come from this program; `sojourn list paths NAME` names the measurements.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from numpy.polynomial.hermite_e import hermegauss, hermeval
from scipy.optimize import nnls
from scipy.stats import norm

from sojourn.imports.link_traces import summary
from sojourn.paths import Quantity

Array = npt.NDArray[np.float64]
PERCENTAGES = [0.0, 1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99, 100]
TIMES = [0.3, 1.0, 3.0, 10.0, 30.0, 100.0]  # s; time constants that a memory is made of
LEAST_SHARE = 0.02
NO_SERVICE = 1e-3  # of the mean; a window below this is an outage


@dataclass(frozen=True)
class Slots:
    """The windows of one satellite: their number, and the first one in a piece that begins with a handover."""

    count: int
    first: int

    def same(self, lag: int, pairs: int) -> npt.NDArray[np.bool_]:
        """Which of the first `pairs` windows have the same satellite as the window `lag` later."""
        at = np.arange(pairs) - self.first
        return np.asarray(at // self.count == (at + lag) // self.count)


def windows(file: Path, every_ms: int) -> Array:
    """The mean rate in Mbit/s in each window of a trace."""
    period_ms = summary(file)[0]["period_s"] * 1e3
    return np.asarray(summary(file, steps=max(1, round(period_ms / every_ms)))[1]) / 1e6


def autocorrelation(pieces: list[Array], longest: int, slots: Slots | None = None) -> list[Array]:
    """The autocorrelation at lags 0 to `longest`, over the pairs of all pieces; NaN is left out.

    With `slots` there are two: over the pairs with the same satellite, and over the others.
    """
    whole = np.concatenate(pieces)
    mean, variance = np.nanmean(whole), np.nanvar(whole)
    found = np.full((2 if slots else 1, longest + 1), np.nan)
    for lag in range(longest + 1):
        pairs = [(p[lag:] - mean) * (p[: max(0, len(p) - lag)] - mean) for p in pieces]
        same = np.concatenate([slots.same(lag, len(p)) if slots else np.ones(len(p), dtype=bool) for p in pairs])
        products = np.concatenate(pairs)
        for curve, chosen in zip(found, (same, ~same), strict=False):
            kept = products[chosen & ~np.isnan(products)]
            curve[lag] = kept.mean() / variance if len(kept) else np.nan
    return list(found)


def rate_correlation(quantity: Quantity, score_correlation: Array) -> Array:
    """The autocorrelation of the rates whose normal scores have the given autocorrelation, by a Hermite series.

    A function of correlated Gaussian scores has the autocorrelation sum of c_k^2 rho^k, where c_k are its coefficients.
    """
    points, weights = hermegauss(120)
    rates = quantity.values(norm.cdf(points))
    orders = range(1, 25)
    terms = [(weights * rates * hermeval(points, [0] * k + [1])).sum() ** 2 / math.factorial(k) for k in orders]
    powers = np.asarray(score_correlation)[:, None] ** np.array(orders)
    return np.asarray(powers @ (np.array(terms) / sum(terms)))


def memory(curves: list[Array], every_s: float) -> tuple[list[tuple[float, float]], float]:
    """Shares and time constants whose sum fits autocorrelations, and the share that a handover changes."""
    lags = np.arange(1, len(curves[0])) * every_s
    times = [time for time in TIMES if every_s <= time <= lags[-1]]
    decays = np.exp(-lags[:, None] / np.array(times))
    columns = np.vstack([np.column_stack([decays, np.full(len(lags), flag)]) for flag in (1.0, 0.0)[-len(curves) :]])
    wanted = np.concatenate([curve[1:] for curve in curves])
    weights = np.tile(1 / np.sqrt(lags), len(curves))  # short lags have more pairs, and matter more
    known = ~np.isnan(wanted)
    shares = nnls((columns * weights[:, None])[known], (wanted * weights)[known])[0]
    shares *= min(1.0, 0.999 / shares.sum())
    kept = [(round(float(s), 3), t) for s, t in zip(shares, times, strict=False) if s >= LEAST_SHARE]
    return kept, round(float(shares[-1]), 3)


def handover(pieces: list[Array], every_ms: int, period_ms: int) -> tuple[list[Array], int, Slots]:
    """The pieces without the windows around handovers, the service that one handover takes in ms, and its time."""
    count = period_ms // every_ms
    phases = np.concatenate([np.arange(len(piece)) % count for piece in pieces])
    whole = np.concatenate(pieces)
    profile = np.array([whole[phases == phase].mean() for phase in range(count)])
    first = int(profile.argmin())
    around = (first + np.arange(-1, 3)) % count
    lost = (1 - profile[around] / np.median(profile)).sum() * every_ms
    kept = [np.where(np.isin(np.arange(len(piece)) % count, around), np.nan, piece) for piece in pieces]
    return kept, round(lost), Slots(count, first)


def outages(pieces: list[Array], least: float, every_s: float) -> tuple[float, float]:
    """The share of windows without service, and the mean length of an outage in s."""
    out = [piece < least for piece in pieces]
    total = sum(int(each.sum()) for each in out)
    starts = sum(int((np.diff(each.astype(int), prepend=0) == 1).sum()) for each in out)
    return total / sum(len(each) for each in out), total * every_s / max(1, starts)


def crossing(found: Array, every_s: float) -> float:
    """The lag at which an autocorrelation falls below 1/e, interpolated."""
    below = int(np.argmax(found < np.exp(-1)))
    return float(np.interp(-np.exp(-1), -found[below - 1 : below + 1], np.array([below - 1, below]) * every_s))


def listed(values: Array) -> str:
    """Percentiles as a table of TOML, to four digits."""
    return ", ".join(f"p{p:g} = {float(f'{v:.4g}'):g}" for p, v in zip(PERCENTAGES, values, strict=True))


def fit(pieces: list[Array], every_ms: int, period_ms: int | None) -> str:
    """The tables `statistics` and `rate`."""
    every_s, whole = every_ms / 1e3, np.concatenate(pieces)
    least = NO_SERVICE * whole.mean()
    share, length = outages(pieces, least, every_s)
    lines = [f"mean_mbps = {whole.mean():.4g}", f"cv = {whole.std() / whole.mean():.3g}"]
    slots = None
    if period_ms:
        pieces, lost, slots = handover(pieces, every_ms, period_ms)
        lines.append(f"handover = {{ period_ms = {period_ms}, outage_ms = {lost} }}")
    if share >= NO_SERVICE:
        lines.append(f"outages = {{ share = {share:.3g}, seconds = {length:.3g} }}")
    pieces = [np.where(piece < least, np.nan, piece) for piece in pieces]
    longest = min(max(len(piece) for piece in pieces) // 4, round(120 / every_s))
    kept = np.concatenate(pieces)
    values = np.percentile(kept[~np.isnan(kept)], PERCENTAGES)
    grid = np.linspace(0, 1, 1001)
    known = rate_correlation(Quantity(dict(zip(PERCENTAGES, values, strict=True))), grid)
    curves = autocorrelation(pieces, longest, slots)
    parts, slot = memory([np.where(np.isnan(c), c, np.interp(c, known, grid)) for c in curves], every_s)
    found = autocorrelation(pieces, longest)[0]
    lines.append(f"rate_mbps = {{ {listed(values)} }}")
    lines.insert(2, f"correlation_s = {crossing(found, every_s):.3g}")
    shares = ", ".join(f"{{ share = {s:g}, seconds = {t:g} }}" for s, t in parts)
    model = [f"memory = [{shares}]", *([f"slot_share = {slot:g}"] if slot else [])]
    return "\n".join(["[statistics]", f"every_ms = {every_ms}", *lines, "", "[rate]", *model])


def main() -> None:
    """Prints the fitted tables."""
    parser = argparse.ArgumentParser(description="Fits a path to traces.")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--every", type=int, required=True, help="length of a window in ms")
    parser.add_argument("--handover", type=int, help="time between two satellites in ms")
    options = parser.parse_args()
    pieces = [windows(file, options.every) for file in options.files]
    print(f"# {sum(len(piece) for piece in pieces) * options.every / 1e3:g} s in {len(pieces)} pieces")
    print(fit(pieces, options.every, options.handover))


if __name__ == "__main__":
    main()
