"""What expressions may ask of theory, apart from any run: margins, fluid equilibria, models of traffic."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from sojourn.analysis import laws
from sojourn.analysis.hurst import hurst
from sojourn.papers.expression import Functions, Value

Array = npt.NDArray[np.float64]
BIN = 0.01


def _plain(function: Callable[..., float]) -> Callable[..., Value]:
    """A function of numbers, for arguments that come as arrays of one."""
    return lambda *values: float(function(*(float(np.ravel(v)[0]) for v in values)))


def _led(n: float, c: float, r: float, weight: float, span: float, interval: float) -> float:
    return laws.led_margin(n, c, r, weight=weight, span=span, interval=interval)


def _red(n: float, c: float, r: float, slope: float, weight: float) -> float:
    return laws.red_margin(n, c, r, slope=slope, weight=weight)


def _lag(crossover: float, pole: float, r: float) -> float:
    """The delay margin as a function of crossover and pole, as the paper argues with it."""
    return float((np.pi - np.arctan(crossover / pole)) / crossover - r)


def onoff_load(sources: int, mean: float, shape: float, seconds: float, rng: np.random.Generator) -> Array:
    """How long sources are on in every bin of 10 ms, together.

    Times on and off have the same mean: exponential, or Pareto with the shape if that is above 1.
    """
    edges = np.arange(round(seconds / BIN) + 1) * BIN
    spent = np.zeros_like(edges)
    for _ in range(sources):
        need = int(seconds / mean * 1.5) + 200
        spans = mean * (shape - 1) / shape * (1 + rng.pareto(shape, need)) if shape > 1 else rng.exponential(mean, need)
        ends = np.concatenate([[0.0], np.cumsum(spans)]) - rng.uniform(0, 2 * mean)
        on = np.concatenate([[0.0], np.cumsum(np.where(np.arange(need) % 2 == 0, spans, 0.0))])
        spent += np.interp(edges, ends, on)
    return np.diff(spent)


def _onoff_hurst(mean: Value, shape: Value, low: Value, high: Value) -> Value:
    """Hurst exponents of 50 on-off sources over 1000 s, five times over with seeds of its own."""
    numbers = [float(np.ravel(v)[0]) for v in (mean, shape, low, high)]
    loads = (onoff_load(50, numbers[0], numbers[1], 1000.0, np.random.default_rng(seed)) for seed in range(5))
    return np.array([hurst(each, BIN, (numbers[2], numbers[3])).exponent for each in loads])


THEORY: Functions = {
    "led_delay_margin": _plain(_led),
    "red_delay_margin": _plain(_red),
    "lag_delay_margin": _plain(_lag),
    "led_pole": _plain(laws.led_pole),
    "red_pole": _plain(laws.red_pole),
    "led_gain": _plain(laws.led_gain),
    "red_gain": _plain(laws.red_gain),
    "exp": _plain(np.exp),
    "onoff_hurst": _onoff_hurst,
}
