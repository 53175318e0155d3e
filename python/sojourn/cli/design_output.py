"""The output of `design`: one function per controller."""

from __future__ import annotations

import math

from rich.table import Table

from sojourn.analysis import cascade
from sojourn.analysis.cascade import OperatingPoint, Pid
from sojourn.analysis.feedback_loop import no_margins
from sojourn.analysis.margins import Margins, margins
from sojourn.analysis.transfer import Response, rational, response
from sojourn.cli.output import out, show
from sojourn.core.errors import UserError


def _show_point(point: OperatingPoint) -> None:
    """Prints the operating point. Called after all checks."""
    out.print(
        f"N = {point.flows:g} flows, C = {point.rate:g} packets/s, R = {point.rtt:g} s: "
        f"window {point.window:.4g} packets, probability {point.probability:.4g}"
    )


def _show_loops(point: OperatingPoint, rows: list[tuple[str, Response]]) -> None:
    """Prints crossover and margins, one row per loop, or the reason why they are unavailable."""
    why = no_margins(point.window)
    if why:
        out.print(f"note: {why}")
        return
    table = Table(title="loops", title_justify="left")
    for name in ("", "crossover (rad/s)", "phase margin (deg)", "gain margin (dB)", "delay margin (s)", ""):
        table.add_column(name, justify="right" if name else "left")
    for name, loop in rows:
        m = margins(loop)
        table.add_row(name, *_cells(m), "stable" if m.stable else "unstable")
    show(table)


def _cells(m: Margins) -> list[str]:
    gain = "none" if math.isinf(m.gain) else f"{20 * math.log10(m.gain):.1f}"
    return [f"{m.crossover:.4g}", f"{m.phase:.2f}", gain, f"{m.delay:.3g}"]


def cpc(point: OperatingPoint, target: float, inner_gain: float | None) -> None:
    """Prints CPC's cascade: gains, margins, and the queue table for a scenario."""
    propagation = point.rtt - target / point.rate
    made = cascade.cpc(point, inner_gain).check()
    _show_point(point)
    if point.window < cascade.LEAST_WINDOW:
        out.print(f"window below {cascade.LEAST_WINDOW:g} packets: the gains are those of {cascade.LEAST_WINDOW:g}")
    outer = made.outer
    out.print(f"inner, of the window: {made.inner_gain:.6g} / s")
    out.print(
        f"outer, of the queue:  {outer.gain:.4g} (1 + 1/({outer.integral_time:.4g} s) + {outer.derivative_time:.4g} s)"
    )
    _show_loops(
        point,
        [
            ("inner, without dead time", response(made.inner_loop())),
            ("inner", response(made.inner_loop(), point.rtt)),
            ("outer, without dead time", response(made.outer_loop())),
            ("outer", made.outer_response()),
        ],
    )
    own = "" if inner_gain is None else f", inner_gain = {inner_gain:g}"
    design = f'flows = {point.flows:g}, rtt = "{propagation * 1e3:.4g} ms", target = {target:g}{own}'
    out.print(f'queue = {{ aqm = "cpc", {design} }}')


def pi(point: OperatingPoint, target: float) -> None:
    """Prints PI by the rule of hollot-2001, and its two gains at a sampling rate of 170 Hz."""
    made = cascade.pi_by_corner(point)
    _show(point, made)
    integral, half = made.gain / made.integral_time, 0.5 / 170.0
    a, b = made.gain + integral * half, made.gain - integral * half
    out.print(f'queue = {{ aqm = "pi", a = {a:.6g}, b = {b:.6g}, interval = "5.882 ms", target = {target:g} }}')


def pid(point: OperatingPoint, target: float, margin: float, crossover: float | None) -> None:
    """Prints a single PID for the whole plant, dead time included, and its queue table."""
    at = 1.0 / (3.0 * point.rtt) if crossover is None else crossover
    if not (math.isfinite(at) and at > 0):
        raise UserError.expected("--crossover", "a frequency above 0", at)
    if target <= 0:
        raise UserError.expected("--target", "a number of packets above 0", target)
    try:
        made = cascade.pid_at(response(point.plant(), point.rtt), at, margin)
    except UserError as error:  # the error begins with the name of the option
        raise UserError(f"--{error}") from None
    _show(point, made, crossover)
    gains = (made.gain, made.gain / made.integral_time, made.gain * made.derivative_time)
    named = zip(("proportional", "integral", "derivative"), gains, strict=True)
    table = ", ".join(f"{name} = {gain:.6g}" for name, gain in named)
    wait = f'target = "{target / point.rate * 1e3:.6g} ms"'
    out.print(f'queue = {{ aqm = "pid", {wait}, gains = {{ {table} }} }}')


def _show(point: OperatingPoint, made: Pid, crossover: float | None = None) -> None:
    """Prints a single loop and its margins.

    Raises `UserError` for an unstable loop. The error names `crossover` if it was given.
    """
    loop = response(made.transfer() * point.plant(), point.rtt)
    found = margins(loop)
    if not found.stable and crossover is not None:
        lower = f"a frequency in rad/s where the loop is stable, such as 1/(3 R) = {1 / (3 * point.rtt):.3g}"
        raise UserError.expected("--crossover", lower, crossover)
    if not found.stable:
        small = f"; windows of {point.window:.2f} packets are small: with fewer flows or a higher rate they are larger"
        said = f"the loop is unstable: its phase margin is {found.phase:.1f} degrees"
        raise UserError(said + small if no_margins(point.window) else said)
    _show_point(point)
    derivative = f" + {made.derivative_time:.4g} s" if made.derivative_time else ""
    out.print(f"{made.gain:.6g} (1 + 1/({made.integral_time:.4g} s){derivative})")
    _show_loops(point, [("without dead time", response(made.transfer() * point.plant())), ("with it", loop)])


def red(point: OperatingPoint, target: float | None) -> None:
    """Prints RED as a low pass (hollot-2001), the integrator of cpc-2015, and a queue table.

    RED's operating point is where its line reaches the probability that the flows need, above `min`. With the default
    target, `min` is a quarter of it.
    """
    made = cascade.red_by_crossover(point)
    above = point.probability / made.slope
    rest = 4.0 / 3.0 * above if target is None else target
    point.check_target(rest)
    if rest <= above:
        raise UserError.expected(
            "--target", f"more than {above:.4g} packets, where this slope rests above `min`", target
        )
    gain = cascade.integral_by_margin(point.plant(), 60.0, point.rtt)
    _show_point(point)
    out.print(f"slope max_p / (max - min) = {made.slope:.4g} per packet, weight {made.weight(point.rate):.4g}")
    out.print(f"as an integrator with 60 degrees: {gain:.4g} / s")
    integrator = rational([gain], [1.0, 0.0]) * point.plant()
    _show_loops(
        point,
        [
            ("low pass", response(made.transfer() * point.plant(), point.rtt)),
            ("integrator", response(integrator, point.rtt)),
        ],
    )
    low, most = rest - above, min(1.0, 2.0 * point.probability)
    high = low + most / made.slope
    out.print(f"rests at {rest:.4g} packets; with `wait`, RED drops 2/3 as often as its line says and rests higher")
    line = f"min = {low:.6g}, max = {high:.6g}, max_p = {most:.6g}, weight = {made.weight(point.rate):.6g}"
    out.print(f'queue = {{ aqm = "red", {line}, limit = "{math.ceil(3 * high)} packets" }}')
