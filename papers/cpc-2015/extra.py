"""What only this paper needs: three ways to design a queue's controller, and the gains of the code that manages queues.

All take an operating point: `flows`, the `rate` of the link in packets/s, and the round-trip time `rtt` in seconds.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from sojourn.analysis import cascade
from sojourn.analysis.cascade import Cascade, OperatingPoint, Pid
from sojourn.analysis.feedback_loop import Loop
from sojourn.analysis.plant import Plant
from sojourn.analysis.transfer import rational, response
from sojourn.experiments.control_designs import Design

MARGIN = 60.0
"""Phase margin that the designs aim at, in degrees."""


def cpc(flows: float, rate: float, rtt: float, inner_gain: float | None = None) -> Design:
    """The paper's cascade; `inner_gain` in 1/s replaces that of the method."""
    return _design(cascade.cpc(OperatingPoint(flows, rate, rtt), inner_gain))


def autotune(flows: float, rate: float, rtt: float, crossover: float | None = None) -> Design:
    """A cascade with an inner gain by the phase margin and a tuned outer PID.

    With `crossover` in rad/s the outer PID has that crossover; without it the crossover is tuned by ITAE.
    """
    point = OperatingPoint(flows, rate, rtt)
    inner = cascade.integral_by_margin(point.window_plant(), MARGIN)
    plant = Cascade(point, inner, Pid(1.0, 1.0)).inner_closed() * point.queue_plant()
    if crossover is None:
        outer, _ = cascade.tune(plant, MARGIN)
    else:
        outer = cascade.pid_at(response(plant), crossover, MARGIN)
    return _design(Cascade(point, inner, outer))


def integral(flows: float, rate: float, rtt: float) -> Design:
    """RED seen as a single integrator, with its gain by the phase margin."""
    point = OperatingPoint(flows, rate, rtt)
    gain = cascade.integral_by_margin(point.plant(), MARGIN)
    loop = rational([gain], [1.0, 0.0]) * point.plant()
    return Design(loop, response(loop, rtt), {"gain": gain})


def _design(made: Cascade) -> Design:
    """A cascade as a design: its loop, and the parameters of its controllers."""
    pid = made.outer
    numbers = {
        "inner_gain": made.inner_gain,
        "outer_gain": pid.gain,
        "integral_time": pid.integral_time,
        "derivative_time": pid.derivative_time,
    }
    return Design(made.outer_loop(), made.outer_response(), numbers)


FLOWS, RATE, RTT, TARGET = 60, 3750.0, 0.246, 20
"""The paper's example: flows, packets/s, seconds, packets."""
SLOW, FAST = 0.02, 1.0
"""Frequencies in rad/s: the integral decides at one, the derivative counts at the other. Both are slow for the law."""


def as_run(name: str) -> float:
    """A gain or a time of the code that manages the queue, from its frequency response at the paper's example."""
    return measured({})[name]


def measured(other: dict[str, Any]) -> dict[str, float]:
    """All of them, with some parameters of the queue changed."""
    return dict(_measured(tuple(other.items())))


@functools.cache
def _measured(other: tuple[tuple[str, Any], ...]) -> dict[str, float]:
    delay = RTT - TARGET / RATE
    queue = {"aqm": "cpc", "flows": FLOWS, "rtt": f"{1e3 * delay:.9g} ms", "target": TARGET, **dict(other)}
    omega = np.array([SLOW, FAST])
    to_queue, to_load = Loop(queue, Plant.of(FLOWS, RATE, delay, packet=500)).law(omega)
    s, window = 1j * omega, RTT * RATE / FLOWS
    # The inner loop integrates the window: the load, averaged over a round trip, times the round trip over N. A packet
    # more in the queue is 1/N of window more at the same load, and moves the set point by the outer controller.
    inner = (to_load * s * (1 + s * RTT) / window).real[0]
    if inner == 0:
        return dict.fromkeys(("inner_gain", "outer_gain", "integral_time", "derivative_time"), 0.0)
    outer = to_queue * s / inner - 1 / FLOWS
    gain = outer.real[0]
    derivative, integral = np.linalg.solve(np.column_stack([omega, -1 / omega]), outer.imag / gain)
    return {
        "inner_gain": float(inner),
        "outer_gain": float(gain),
        "integral_time": float(1 / integral),
        "derivative_time": float(derivative),
    }


FUNCTIONS = {"as_run": as_run}
DESIGNS = {"cpc": cpc, "autotune": autotune, "integral": integral}
