"""Queue laws as transfer functions of python-control, from the parameters of the algorithms.

The input is the queue in packets (RED, PI) or the load (LED), the output the probability. Times are in seconds,
capacities in packets per second.
"""

from __future__ import annotations

import math

import control

from sojourn.errors import UserError


def led(interval: float, weight: float = 0.05, low: float = 0.8, high: float = 1.2) -> control.TransferFunction:
    """LED: a low pass with the pole -ln(1 - weight)/interval. Raises `UserError` for values out of range."""
    if not (0 < weight < 1 and interval > 0 and high > low):
        got = f"weight {weight}, interval {interval}, {low} to {high}"
        raise UserError(f"led: expected 0 < weight < 1, interval > 0 and low < high, got {got}")
    return control.tf([1 / (high - low)], [-interval / math.log1p(-weight), 1])


def red(capacity: float, weight: float, max_p: float, low: float, high: float) -> control.TransferFunction:
    """RED: a low pass with the pole -C ln(1 - weight), for an average that is updated with every packet."""
    return control.tf([max_p / (high - low)], [-1 / (capacity * math.log1p(-weight)), 1])


def pi(a: float, b: float, interval: float) -> control.TransferFunction:
    """PI as K (s/z + 1)/s, from the gains a and b of the sampled law."""
    gain, zero = (a - b) / interval, 2 * (a - b) / ((a + b) * interval)
    return control.tf([gain / zero, gain], [1, 0])


def design_pi(flows: float, capacity: float, rtt: float, interval: float, beta: float = 0.5) -> tuple[float, float]:
    """PI's gains a and b for at least `flows` flows and at most `rtt` seconds (hollot-2001).

    `beta` is the crossover in rad/s times `rtt`; `interval` is the sampling interval in seconds.
    """
    zero = 2 * flows / (rtt**2 * capacity)
    gain = beta / rtt * math.hypot(1, beta) * 4 * flows**2 / (rtt * capacity) ** 3
    return gain * (1 / zero + interval / 2), gain * (1 / zero - interval / 2)
