"""Traces with the statistics of a path.

A sum of Gaussian processes gives each window a normal score: Ornstein-Uhlenbeck processes of several time constants,
a level that changes at handovers, and white noise. The score's quantile is the rate (a Gaussian copula). A Markov chain
of two states adds outages.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from sojourn.imports.link_traces import Step
from sojourn.paths import Array, Outages, Path, Quantity

Flags = npt.NDArray[np.bool_]

# Step of the table that turns normal scores into quantiles. Interpolation is then exact to 1e-6.
SCORES = np.linspace(-6, 6, 4801)
LEVELS = np.array([NormalDist().cdf(score) for score in SCORES])


def trace(path: Path, duration_ms: int, seed: int) -> Iterator[Step]:
    """A trace of a path, the same for the same seed.

    A longer trace begins with the shorter one.
    """
    count = -(-duration_ms // path.every_ms)
    seeds = np.random.SeedSequence([seed, *path.name.encode()])
    slot = _slots(path, count, _stream(seeds))
    rates = _draw(path.rate_mbps, path, slot, seeds) * 1e6
    if path.outages:
        rates[_outages(path.outages, path.every_ms, count, _stream(seeds))] = 0.0
    delays = _draw(path.delay_ms, path, slot, seeds) * 1e3 if path.delay_ms else np.zeros(count)
    changes = np.diff(slot, prepend=slot[0]) != 0
    left = 0  # ms of a handover's outage that remain
    for index in range(count):
        span = min(path.every_ms, duration_ms - index * path.every_ms)
        delay = round(float(delays[index]))
        if path.handover and changes[index]:
            left = path.handover.outage_ms
        if outage := min(left, span):
            yield Step(outage, 0, delay)
        if outage < span:
            yield Step(span - outage, round(float(rates[index])), delay)
        left -= outage


def _stream(seeds: np.random.SeedSequence) -> np.random.Generator:
    """The next stream of random numbers.

    Each process has its own, so that its start does not depend on the duration.
    """
    return np.random.default_rng(seeds.spawn(1)[0])


def _slots(path: Path, count: int, random: np.random.Generator) -> Array:
    """The number of the satellite in each window. The first handover is at a random time."""
    if path.handover is None:
        return np.zeros(count)
    windows = path.handover.period_ms // path.every_ms
    return np.floor((np.arange(count) + random.integers(windows)) / windows)


def _draw(quantity: Quantity, path: Path, slot: Array, seeds: np.random.SeedSequence) -> Array:
    """One value of a quantity in each window."""
    count, white = len(slot), 1.0
    scores = np.zeros(count)
    for part in quantity.memory:
        keep = math.exp(-path.every_ms / 1e3 / part.seconds)
        scores += math.sqrt(part.share) * _ornstein_uhlenbeck(keep, _stream(seeds).standard_normal(count))
        white -= part.share
    if quantity.slot_share:
        levels = _stream(seeds).standard_normal(int(slot[-1]) + 1)
        scores += math.sqrt(quantity.slot_share) * levels[slot.astype(int)]
        white -= quantity.slot_share
    scores += math.sqrt(max(white, 0.0)) * _stream(seeds).standard_normal(count)
    return quantity.values(np.interp(scores, SCORES, LEVELS))


def _ornstein_uhlenbeck(keep: float, noise: Array) -> Array:
    """A stationary Gaussian process of variance 1: the autocorrelation falls by `keep` a step."""
    fresh = math.sqrt(1 - keep**2)
    return np.array(list(accumulate(noise.tolist(), lambda before, new: keep * before + fresh * new)))


def _outages(outages: Outages, every_ms: int, count: int, random: np.random.Generator) -> Flags:
    """Which windows are without service."""
    end, start = outage_rates(outages, every_ms)
    draws = random.random(count + 1).tolist()
    down = draws[0] < outages.share
    found = []
    for draw in draws[1:]:
        found.append(down)
        down = draw >= end if down else draw < start
    return np.array(found, dtype=bool)


def outage_rates(outages: Outages, every_ms: int) -> tuple[float, float]:
    """The probabilities per window that an outage ends, and that one starts."""
    end = min(1.0, every_ms / 1e3 / outages.seconds)
    return end, end * outages.share / (1 - outages.share)
