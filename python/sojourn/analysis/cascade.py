"""Designs queue controllers: CPC's cascade and single loops, for flows, rate and round trip.

There are N flows, the rate is C and the round trip is R. The plants are those of the fluid model of TCP, linearized at
its operating point (hollot-2001). From probability to window: A e^(-sR) / (s + B). From window to queue: C / (s + D).
Here A = R C^2 / (2 N^2), B = 2 N / (R^2 C), C = N / R, D = 1 / R. Signs are chosen so that the controller's output
increases the window.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import control
import numpy as np
from scipy.optimize import brentq, minimize_scalar

from sojourn.analysis import checks
from sojourn.analysis.margins import margins
from sojourn.analysis.transfer import Response, rational, response
from sojourn.core.errors import UserError

LEAST_WINDOW = 2.0
"""The smallest window, in packets, for which the AQM `cpc` computes its gains.

Below about 0.8 packets its inner loop is unstable.
"""


@dataclass(frozen=True)
class OperatingPoint:
    """N flows through C packets per second, with a round trip of R seconds including the queue.

    Raises `UserError` for values out of range: `flows` of 1 to 1e12, `rate` of 1e-9 to 1e12, `rtt` of 1e-9 to 1e6 s.
    """

    flows: float
    rate: float
    rtt: float

    def __post_init__(self) -> None:
        checks.within("flows", self.flows, "a number of flows, 1 to 1e12", 1, checks.MOST)
        checks.positive("rate", self.rate, "packets per second")
        checks.seconds("rtt", self.rtt, "a round trip")

    @property
    def window(self) -> float:
        """Packets in flight per flow: R C / N."""
        return self.rtt * self.rate / self.flows

    @property
    def probability(self) -> float:
        """The drop or mark probability that keeps flows at that window: 2 / w^2."""
        return 2.0 / self.window**2

    def check_target(self, target: float) -> None:
        """Raises `UserError` if the queue target, in packets, exceeds what the round trip can hold."""
        most = self.rtt * self.rate
        if not 0 <= target <= most:
            raise UserError(f"--target: expected 0 to {most:.4g} packets, what a round trip holds, got {target:g}")

    @property
    def corner(self) -> float:
        """The window's slow pole B = 2 N / (R^2 C), in rad/s."""
        return 2.0 * self.flows / (self.rtt**2 * self.rate)

    def window_plant(self) -> control.TransferFunction:
        """The transfer function from probability to window, without its dead time."""
        return rational([self.rtt * self.rate**2 / (2.0 * self.flows**2)], [1.0, self.corner])

    def queue_plant(self) -> control.TransferFunction:
        """The transfer function from window to queue."""
        return rational([self.flows / self.rtt], [1.0, 1.0 / self.rtt])

    def plant(self) -> control.TransferFunction:
        """The transfer function from probability to queue, without its dead time."""
        return self.window_plant() * self.queue_plant()


@dataclass(frozen=True)
class Pid:
    """A controller k (1 + 1/(T_i s) + T_d s), times in seconds.

    With an infinite T_i and a zero T_d it is a pure gain.
    """

    gain: float
    integral_time: float
    derivative_time: float = 0.0

    def transfer(self) -> control.TransferFunction:
        """Its transfer function, which is improper if it has a derivative part."""
        k, ti, td = self.gain, self.integral_time, self.derivative_time
        return rational([k * td, k, k / ti] if td else [k, k / ti], [1.0, 0.0])


@dataclass(frozen=True)
class Cascade:
    """An inner integrator on the window and an outer PID on the queue."""

    point: OperatingPoint
    inner_gain: float
    outer: Pid

    def inner_loop(self) -> control.TransferFunction:
        """The open inner loop, without its dead time."""
        return rational([self.inner_gain], [1.0, 0.0]) * self.point.window_plant()

    def inner_closed(self) -> control.TransferFunction:
        """The transfer function from the window's set point to the window, without dead time."""
        return control.feedback(self.inner_loop(), 1)

    def outer_loop(self) -> control.TransferFunction:
        """The open outer loop around the closed inner loop, without dead time."""
        return self.outer.transfer() * self.inner_closed() * self.point.queue_plant()

    def outer_response(self) -> Response:
        """The frequency response of the outer loop.

        The inner loop contains a dead time of one round trip.
        """
        inner, rest = response(self.inner_loop(), self.point.rtt), response(self.outer.transfer())
        queue = response(self.point.queue_plant())
        return lambda w: rest(w) * inner(w) / (1.0 + inner(w)) * queue(w)

    def check(self) -> Cascade:
        """Returns the cascade. Raises `UserError` if one of its loops is unstable."""
        window = f"with a window of {self.point.window:.3g} packets"
        inner = margins(response(self.inner_loop(), self.point.rtt))
        if not inner.stable:
            raise UserError(
                f"the inner loop is unstable {window} and a gain of {self.inner_gain:.4g}/s: its phase margin is "
                f"{inner.phase:.1f} degrees; a smaller gain, fewer flows or more rate help"
            )
        outer = margins(self.outer_response())
        if not outer.stable:
            raise UserError(
                f"the outer loop is unstable {window} and a gain of {self.outer.gain:.4g}: its phase margin is "
                f"{outer.phase:.1f} degrees"
            )
        return self


def cpc(point: OperatingPoint, inner_gain: float | None = None, least_window: float = LEAST_WINDOW) -> Cascade:
    """The margin-optimal design of cpc-2015#eq8 to cpc-2015#eq11 in closed form.

    It keeps |I(jw)| and |O(jw)| near 1. With w = R C / N, at least `least_window`, it is 1/T_C = 4 / (R w^4), k = w /
    (2 N), T_i = R w, T_d = R w / 2.
    """
    if inner_gain is not None and not (math.isfinite(inner_gain) and inner_gain > 0):
        raise UserError(f"inner gain: expected a number per packet and second above 0, got {inner_gain:g}")
    w = max(point.window, least_window)
    gain = 4.0 / (point.rtt * w**4) if inner_gain is None else inner_gain
    return Cascade(point, gain, Pid(w / (2.0 * point.flows), point.rtt * w, point.rtt * w / 2.0))


def integral_by_margin(plant: control.TransferFunction, margin: float = 60.0, dead_time: float = 0.0) -> float:
    """The gain k for which an integrator k/s has a phase margin of `margin` degrees."""
    at = response(plant, dead_time)
    crossover = _phase_at(lambda w: complex(at(np.array([w]))[0] / (1j * w)), margin - 180.0)
    return float(crossover / abs(at(np.array([crossover]))[0]))


def _phase_at(value: Callable[[float], complex], degrees: float) -> float:
    """The lowest frequency in rad/s at which a falling phase reaches `degrees`.

    Raises `UserError` if no frequency does.
    """
    grid = np.logspace(-6, 6, 12_001)
    samples = np.array([value(w) for w in grid])
    phase = np.degrees(np.unwrap(np.angle(samples)))
    # Shifts the phase so that it starts within 180 degrees of -90, the phase of an integrator.
    phase -= 360.0 * round((phase[0] + 90.0) / 360.0)
    below = np.flatnonzero(phase < degrees)
    if not len(below) or below[0] == 0:
        raise UserError(
            f"phase margin: expected one that the loop can have, but its phase is never {degrees:g} degrees"
        )
    i = int(below[0])
    base = phase[i - 1]

    def beyond(w: float) -> float:
        turn = np.angle(value(w) / samples[i - 1])
        return float(base + np.degrees(turn) - degrees)

    return float(brentq(beyond, grid[i - 1], grid[i], rtol=1e-13))


def pid_at(plant: Response, crossover: float, margin: float = 60.0) -> Pid:
    """A PID with T_i = 4 T_d for the given crossover in rad/s and phase margin in degrees.

    The arguments are `crossover` and `margin`. This is the published part of the autotuning of cpc-2015: Matlab's
    pidtune aims at 60 degrees by default and chooses the crossover by an unpublished rule. Raises `UserError` if a PID
    can't turn the phase that far.
    """
    here = plant(np.array([crossover]))[0]
    phase = math.degrees(math.atan2(here.imag, here.real))
    lead = (margin - 180.0 - phase + 180.0) % 360.0 - 180.0
    if not -90.0 < lead < 90.0:
        what = "a frequency where a PID has to turn the phase by less than 90 degrees"
        raise UserError(f"crossover: expected {what}, got {crossover:g} rad/s, where it is {abs(lead):.0f}")
    tangent = math.tan(math.radians(lead))
    x = (tangent + math.hypot(tangent, 1.0)) / 2.0  # of 4 x^2 - 4 tan x - 1 = 0, with x = crossover T_d
    gain = float(1.0 / (abs(here) * math.hypot(1.0, tangent)))
    return Pid(gain, 4.0 * x / crossover, x / crossover)


def tune(loop: control.TransferFunction, margin: float = 60.0) -> tuple[Pid, float]:
    """The PID with T_i = 4 T_d and this phase margin that has the best step response.

    Also returns its crossover in rad/s. The best crossover has the smallest integral of time-weighted absolute error
    (ITAE) after a step of the set point. This rule replaces pidtune if the crossover is not published. The plant has no
    dead time, as in the paper. Raises `UserError` if no such PID is stable.
    """
    plant = response(loop)
    slowest = float(np.min(np.abs(loop.poles())))
    until = 40.0 / slowest
    t = np.linspace(0.0, until, 4001)

    def cost(crossover: float) -> float:
        try:
            pid = pid_at(plant, crossover, margin)
        except UserError:
            return math.inf
        closed = control.feedback(pid.transfer() * loop, 1)
        if not np.all(closed.poles().real < 0):
            return math.inf
        error = np.abs(1.0 - np.asarray(control.step_response(closed, t).outputs))
        return float(np.sum(t * error))

    grid = slowest * np.logspace(-1, 2, 61)
    costs = [cost(float(crossover)) for crossover in grid]
    best = int(np.argmin(costs))
    if not math.isfinite(costs[best]):
        raise UserError(f"no stable PID with a phase margin of {margin:g} degrees")
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(cost, bounds=(low, high), method="bounded", options={"xatol": 1e-4 * slowest})
    crossover = float(found.x) if found.fun < costs[best] else float(grid[best])
    return pid_at(plant, crossover, margin), crossover


def pi_by_corner(point: OperatingPoint) -> Pid:
    """PI by hollot-2001: its zero and the crossover are at the slow pole of the window."""
    zero = point.corner
    at = response(point.plant() * rational([1.0 / zero, 1.0], [1.0, 0.0]))
    return Pid(float(1.0 / abs(at(np.array([zero]))[0])) / zero, 1.0 / zero)


@dataclass(frozen=True)
class LowPass:
    """RED near its operating point: a gain on the averaged queue, K / (1 + s / k)."""

    slope: float
    """The slope K, in probability per packet."""
    corner: float
    """The corner frequency k, in rad/s."""

    def transfer(self) -> control.TransferFunction:
        """Its transfer function."""
        return rational([self.slope], [1.0 / self.corner, 1.0])

    def weight(self, rate: float) -> float:
        """RED's averaging weight at `rate` packets per second: 1 - exp(-k / C)."""
        return -math.expm1(-self.corner / rate)


def red_by_crossover(point: OperatingPoint, part: float = 0.1) -> LowPass:
    """RED by hollot-2001, with a crossover at `part` of the plant's slower pole.

    The corner of the averaging filter is a tenth of the crossover.
    """
    crossover = part * min(point.corner, 1.0 / point.rtt)
    corner = crossover / 10.0
    at = abs(response(point.plant())(np.array([crossover]))[0])
    return LowPass(float(math.hypot(1.0, crossover / corner) / at), corner)
