"""What only this paper needs: the three ways in which it designs a queue's controller.

All take an operating point: `flows`, the `rate` of the link in packets/s, and the round-trip time `rtt` in seconds.
"""

from __future__ import annotations

from sojourn.analysis import cascade
from sojourn.analysis.cascade import Cascade, OperatingPoint, Pid
from sojourn.analysis.transfer import rational, response
from sojourn.papers.control_designs import Design

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
        "inner_gain": made.inner_gain, "outer_gain": pid.gain, "integral_time": pid.integral_time,
        "derivative_time": pid.derivative_time,
    }  # fmt: skip
    return Design(made.outer_loop(), made.outer_response(), numbers)


DESIGNS = {"cpc": cpc, "autotune": autotune, "integral": integral}
