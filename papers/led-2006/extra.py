"""What only this paper needs: poles, gains and delay margins of its loops, and the load of its on-off sources.

Symbols: `flows` sources, `capacity` in packets/s, `rtt` in seconds.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sojourn.analysis import hurst

Array = npt.NDArray[np.float64]
SOURCES = 50
SECONDS = 1000.0
SEEDS = 60
BIN = 0.01


def led_pole(weight: float, interval: float) -> float:
    """The pole of LED's average, in rad/s (led-2006#A.9)."""
    return -math.log1p(-weight) / interval


def red_pole(capacity: float, weight: float) -> float:
    """The pole of RED's average with one sample for each packet, in rad/s (led-2006#eq17)."""
    return -capacity * math.log1p(-weight)


def led_gain(flows: float, capacity: float, rtt: float, span: float) -> float:
    """Low-frequency gain of the loop of LED, without the queue (led-2006#A.18). `span` is that of the thresholds."""
    return (rtt * capacity) ** 2 / (4 * flows**2 * span)


def red_gain(flows: float, capacity: float, rtt: float, slope: float) -> float:
    """Low-frequency gain of the loop of RED, with the factor C that led-2006#eq15 lacks. `slope` is per packet."""
    return (rtt * capacity) ** 3 / (4 * flows**2) * slope


def led_delay_margin(flows: float, capacity: float, rtt: float, weight: float, span: float) -> float:
    """Delay margin of LED without the queue, updated once per round trip, in seconds: what Figs. 2 to 4 show.

    Infinite without a crossover.
    """
    return _lag_margin(led_gain(flows, capacity, rtt, span), led_pole(weight, interval=rtt), rtt)


def led_body_margin(flows: float, capacity: float, rtt: float, weight: float, span: float) -> float:
    """Delay margin of LED as led-2006#eq9 to led-2006#eq13 have it, in seconds; infinite without a crossover."""
    gain, pole = led_gain(flows, capacity, rtt, span) * rtt, led_pole(weight, interval=rtt)
    if gain * pole <= 1:
        return math.inf
    crossover = 1 / math.sqrt(gain**2 - 1 / pole**2)
    return (1.5 * math.pi - math.atan(crossover / pole)) / crossover - rtt


def red_delay_margin(flows: float, capacity: float, rtt: float, slope: float, weight: float) -> float:
    """Delay margin of RED where its average is the slowest part of the loop, in seconds."""
    return _lag_margin(red_gain(flows, capacity, rtt, slope), red_pole(capacity, weight), rtt)


def _lag_margin(gain: float, pole: float, rtt: float) -> float:
    """Delay margin in seconds of `gain / (1 + s/pole)` with dead time `rtt`; infinite without a crossover."""
    return lag_delay_margin(pole * math.sqrt(gain**2 - 1), pole, rtt) if gain > 1 else math.inf


def lag_delay_margin(crossover: float, pole: float, rtt: float) -> float:
    """The delay margin as a function of crossover and pole (led-2006#eq18, with its parenthesis closed)."""
    return (math.pi - math.atan(crossover / pole)) / crossover - rtt


def onoff_load(sources: int, mean: float, shape: float, seconds: float, rng: np.random.Generator) -> Array:
    """The time that all sources together are on, in every bin of 10 ms.

    Times on and off have the same mean, in seconds. They are Pareto with this shape if it is above 1, else exponential.
    """
    need = 2 * int(seconds / mean * 0.75) + 200
    switches = np.empty((sources, need))
    for row in switches:
        spans = mean * (shape - 1) / shape * (1 + rng.pareto(shape, need)) if shape > 1 else rng.exponential(mean, need)
        row[:] = np.cumsum(spans) - spans - rng.uniform(0, 2 * mean)
    order = np.argsort(switches, axis=None, kind="stable")
    times = switches.ravel()[order]
    sources_on = np.cumsum(np.where(order % need % 2 == 0, 1, -1))
    spent = np.concatenate([[0.0], np.cumsum(sources_on[:-1] * np.diff(times))])
    return np.diff(np.interp(np.arange(round(seconds / BIN) + 1) * BIN, times, spent))


def onoff_hurst(mean: float, shape: float, shortest: float, longest: float) -> Array:
    """Hurst exponents of 50 on-off sources over 1000 s, fitted from `shortest` to `longest` seconds, for 60 seeds."""
    loads = (onoff_load(SOURCES, mean, shape, SECONDS, np.random.default_rng(seed)) for seed in range(SEEDS))
    return np.array([hurst(load, BIN, (shortest, longest)).exponent for load in loads])


FUNCTIONS = {
    "led_pole": led_pole,
    "red_pole": red_pole,
    "led_gain": led_gain,
    "red_gain": red_gain,
    "led_delay_margin": led_delay_margin,
    "led_body_margin": led_body_margin,
    "red_delay_margin": red_delay_margin,
    "lag_delay_margin": lag_delay_margin,
    "onoff_hurst": onoff_hurst,
}
