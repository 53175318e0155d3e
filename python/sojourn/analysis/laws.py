"""Queue laws as transfer functions of python-control, from the parameters of the algorithms.

The input is the queue in packets (RED, PI) or the load (LED), the output the probability. Times are in seconds,
capacities in packets per second.
"""

from __future__ import annotations

import math

import control

from sojourn.analysis import checks
from sojourn.core.errors import UserError


def led(interval: float, weight: float = 0.05, low: float = 0.8, high: float = 1.2) -> control.TransferFunction:
    """LED: a low pass with the pole -ln(1 - weight)/interval (led-2006#A.9).

    `interval` is the time between two updates in seconds. `weight` is the weight of a new sample of the load, above 0
    and below 1. The probability increases from 0 at the load `low` to 1 at `high`. Raises `UserError` for values out of
    range.

    >>> round(float(led(0.06, 0.05).poles()[0].real), 3)  # rad/s
    -0.855
    """
    interval = checks.seconds("laws.led: interval", interval, "an interval")
    weight = _weight("laws.led", weight)
    span = _span("laws.led", low, high, "loads")
    return control.tf([1 / span], [-interval / math.log1p(-weight), 1])


def red(capacity: float, weight: float, max_p: float, low: float, high: float) -> control.TransferFunction:
    """RED: a low pass with the pole -C ln(1 - weight); every packet updates the average.

    `capacity` C is in packets per second. `weight` is the weight of a new sample of the queue, above 0 and below 1. The
    probability increases from 0 at an average of `low` packets to `max_p` at `high` packets (hollot-2001); `max_p` is
    above 0 and at most 1. Raises `UserError` for values out of range.

    >>> round(float(red(1250.0, 0.002, 0.1, 15, 45).dcgain()), 5)  # probability per packet
    0.00333
    """
    capacity = checks.positive("laws.red: capacity", capacity, "packets per second")
    weight = _weight("laws.red", weight)
    top = checks.within("laws.red: max_p", max_p, "a probability of 1e-9 to 1", checks.LEAST, 1.0)
    return control.tf([top / _span("laws.red", low, high, "packets")], [-1 / (capacity * math.log1p(-weight)), 1])


def _weight(where: str, weight: object) -> float:
    return checks.within(f"{where}: weight", weight, "a weight above 0 and below 1", 1e-12, 1 - 1e-12)


def _span(where: str, low: object, high: object, unit: str) -> float:
    """The distance between two thresholds. Raises `UserError` unless `high` exceeds `low`."""
    expected = f"a number of {unit}, 0 to {checks.MOST:g}"
    least = checks.within(f"{where}: low", low, expected, 0.0, checks.MOST)
    span = checks.within(f"{where}: high", high, expected, 0.0, checks.MOST) - least
    if span < checks.LEAST:
        raise UserError.expected(f"{where}: high", f"more {unit} than low, {low}", high)
    return span


def pi(a: float, b: float, interval: float) -> control.TransferFunction:
    """PI as K (s/z + 1)/s, from the gains of the sampled law.

    K = (a - b)/interval and z = 2 K/(a + b). `a` and `b` are probabilities per packet: `a` is above `b`, and their sum
    is above 0 (hollot-2001). `interval` is the sampling interval in seconds. Raises `UserError` for values out of
    range.

    >>> a, b = design_pi(60, 3750, 0.246, 1 / 160)
    >>> round(float(pi(a, b, 1 / 160).zeros()[0].real), 3)  # rad/s: at the pole of the windows
    -0.529
    """
    interval = checks.seconds("laws.pi: interval", interval, "an interval")
    gains = [
        checks.within(f"laws.pi: {name}", value, "a gain of -1e12 to 1e12", -checks.MOST, checks.MOST)
        for name, value in (("a", a), ("b", b))
    ]
    if not gains[0] > abs(gains[1]):
        raise UserError(f"laws.pi: expected a gain a above b and above -b, got a {gains[0]:g} and b {gains[1]:g}")
    return control.tf([sum(gains) / 2, (gains[0] - gains[1]) / interval], [1, 0])


def design_pi(flows: float, capacity: float, rtt: float, interval: float, beta: float = 0.5) -> tuple[float, float]:
    """PI's gains a and b for at least `flows` flows and at most `rtt` seconds (hollot-2001).

    `capacity` is in packets per second, and `interval` is the sampling interval in seconds. `beta` is the crossover in
    rad/s times `rtt`, above 0. Raises `UserError` for values out of range.

    >>> a, b = design_pi(60, 3750, 0.246, 1 / 160)
    >>> 0 < b < a
    True
    """
    flows, capacity, rtt = checks.operating("laws.design_pi: ", flows, capacity, rtt)
    interval = checks.seconds("laws.design_pi: interval", interval, "an interval")
    beta = checks.within("laws.design_pi: beta", beta, "a number of 1e-9 to 1e6", checks.LEAST, 1e6)
    zero = 2 * flows / (rtt**2 * capacity)
    gain = beta / rtt * math.hypot(1, beta) * 4 * flows**2 / (rtt * capacity) ** 3
    return gain * (1 / zero + interval / 2), gain * (1 / zero - interval / 2)
