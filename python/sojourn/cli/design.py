"""The command that designs queue controllers: `design`."""

from __future__ import annotations

import enum
import math
from typing import Annotated

import typer
from rich.table import Table

from sojourn import _sojourn
from sojourn.analysis import cascade
from sojourn.analysis.cascade import OperatingPoint, Pid
from sojourn.analysis.loops import Response, rational, response
from sojourn.analysis.margins import Margins, margins
from sojourn.cli.output import out
from sojourn.errors import UserError


class Controller(enum.StrEnum):
    """What can be designed."""

    CPC = "cpc"
    PI = "pi"
    RED = "red"
    PID = "pid"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(design)


def design(
    controller: Annotated[Controller, typer.Argument(help="What to design.")],
    flows: Annotated[float, typer.Option("--flows", help="Number of long TCP flows.")],
    rate: Annotated[str, typer.Option("--rate", help='Of the link: "3750pps" or "15 Mbit/s".')],
    rtt: Annotated[str, typer.Option("--rtt", help='Round trip with the queue at its target: "246ms".')],
    packet: Annotated[str, typer.Option("--packet", help="Mean packet size.")] = "1500 B",
    target: Annotated[float, typer.Option("--target", help="Queue to be held, in packets.")] = 20.0,
    margin: Annotated[float, typer.Option("--margin", help="pid: phase margin in degrees.")] = 60.0,
    crossover: Annotated[float | None, typer.Option("--crossover", help="pid: in rad/s (default: 1/(3 R)).")] = None,
    inner_gain: Annotated[float | None, typer.Option("--inner-gain", help="cpc: in place of the design's.")] = None,
) -> None:
    """Designs a controller for flows, rate and round trip, and shows its margins with the dead time."""
    point = OperatingPoint(flows, packets_a_second(rate, packet), _quantity("--rtt", "time", rtt))
    if point.probability > 1:
        raise UserError(
            f"{point.flows:g} flows: a window of {point.window:.3g} packets each, taken is {math.sqrt(2):.3g} or more: "
            "no probability keeps TCP below that"
        )
    out.print(
        f"N = {point.flows:g} flows, C = {point.rate:g} packets/s, R = {point.rtt:g} s: "
        f"window {point.window:.4g} packets, probability {point.probability:.4g}",
        markup=False,
    )
    if controller is Controller.CPC:
        _cpc(point, target, inner_gain)
    elif controller is Controller.PI:
        _pi(point, target)
    elif controller is Controller.RED:
        _red(point)
    else:
        _pid(point, margin, crossover)


def packets_a_second(text: str, packet: str) -> float:
    """A rate in packets a second, given so (`3750pps`) or in bits a second."""
    compact = text.replace(" ", "")
    if compact.endswith("pps"):
        try:
            return float(compact.removesuffix("pps"))
        except ValueError:
            raise UserError(f'--rate: given "{text}", taken is a rate such as "3750pps" or "15 Mbit/s"') from None
    size = _quantity("--packet", "size", packet)
    if size <= 0:
        raise UserError(f'--packet: given "{packet}", taken is a size above 0')
    return _quantity("--rate", "rate", text) / (8.0 * size)


def _quantity(option: str, kind: str, text: str) -> float:
    try:
        return _sojourn.quantity(kind, text)
    except ValueError as error:
        raise UserError(f"{option}: {error}") from None


def _loops(rows: list[tuple[str, Response]]) -> Table:
    """Crossover and margins of loops, a row each."""
    table = Table(title="loops", title_justify="left")
    for name in ("", "crossover (rad/s)", "phase margin (deg)", "gain margin (dB)", "delay margin (s)", ""):
        table.add_column(name, justify="right" if name else "left")
    for name, loop in rows:
        m = margins(loop)
        table.add_row(name, *_cells(m), "stable" if m.stable else "unstable")
    return table


def _cells(m: Margins) -> list[str]:
    gain = "none" if math.isinf(m.gain) else f"{20 * math.log10(m.gain):.1f}"
    return [f"{m.crossover:.4g}", f"{m.phase:.2f}", gain, f"{m.delay:.3g}"]


def _cpc(point: OperatingPoint, target: float, inner_gain: float | None) -> None:
    """The cascade."""
    propagation = point.rtt - target / point.rate
    if not (target >= 0 and propagation >= 0):
        raise UserError(
            f"--target: given {target:g} packets, taken is 0 to {point.rtt * point.rate:.4g}: a round trip's worth"
        )
    made = cascade.cpc(point, inner_gain).check()
    if point.window < cascade.LEAST_WINDOW:
        out.print(
            f"window below {cascade.LEAST_WINDOW:g} packets: the gains are those of {cascade.LEAST_WINDOW:g}",
            markup=False,
        )
    pid = made.outer
    out.print(f"inner, of the window: {made.inner_gain:.6g} / s", markup=False)
    out.print(
        f"outer, of the queue:  {pid.gain:.4g} (1 + 1/({pid.integral_time:.4g} s) + {pid.derivative_time:.4g} s)",
        markup=False,
    )
    out.print(
        _loops([
            ("inner, without dead time", response(made.inner_loop())),
            ("inner", response(made.inner_loop(), point.rtt)),
            ("outer, without dead time", response(made.outer_loop())),
            ("outer", made.outer_response()),
        ])
    )  # fmt: skip
    own = "" if inner_gain is None else f", inner_gain = {inner_gain:g}"
    design = f'flows = {point.flows:g}, rtt = "{propagation * 1e3:.4g} ms", target = {target:g}{own}'
    out.print(f'queue = {{ aqm = "cpc", {design} }}', markup=False)


def _pi(point: OperatingPoint, target: float) -> None:
    """PI by Hollot's rule, and its two gains at 170 Hz."""
    made = cascade.pi_by_corner(point)
    _show(point, made)
    integral, half = made.gain / made.integral_time, 0.5 / 170.0
    a, b = made.gain + integral * half, made.gain - integral * half
    out.print(
        f'queue = {{ aqm = "pi", a = {a:.6g}, b = {b:.6g}, interval = "5.882 ms", target = {target:g} }}', markup=False
    )


def _pid(point: OperatingPoint, margin: float, crossover: float | None) -> None:
    """A single PID on the whole plant with its dead time."""
    at = 1.0 / (3.0 * point.rtt) if crossover is None else crossover
    if not (math.isfinite(at) and at > 0):
        raise UserError(f"--crossover: given {at:g}, taken is a frequency above 0")
    if not 0 < margin < 180:
        raise UserError(f"--margin: given {margin:g} degrees, taken is between 0 and 180")
    _show(point, cascade.pid_at(response(point.plant(), point.rtt), at, margin))


def _show(point: OperatingPoint, made: Pid) -> None:
    """A single loop and its margins."""
    loop = response(made.transfer() * point.plant(), point.rtt)
    found = margins(loop)
    if not found.stable:
        raise UserError(f"the loop is unstable: its phase margin is {found.phase:.1f} degrees")
    derivative = f" + {made.derivative_time:.4g} s" if made.derivative_time else ""
    out.print(f"{made.gain:.6g} (1 + 1/({made.integral_time:.4g} s){derivative})", markup=False)
    out.print(_loops([("without dead time", response(made.transfer() * point.plant())), ("with it", loop)]))


def _red(point: OperatingPoint) -> None:
    """RED as a low pass by Hollot's rule, and as the integrator that cpc-2015 compares with."""
    made = cascade.red_by_crossover(point)
    gain = cascade.integral_by_margin(point.plant(), 60.0, point.rtt)
    out.print(
        f"slope max_p / (max - min) = {made.slope:.4g} a packet, weight {made.weight(point.rate):.4g}", markup=False
    )
    out.print(f"as an integrator with 60 degrees: {gain:.4g} / s", markup=False)
    integrator = rational([gain], [1.0, 0.0]) * point.plant()
    out.print(
        _loops([
            ("low pass", response(made.transfer() * point.plant(), point.rtt)),
            ("integrator", response(integrator, point.rtt)),
        ])
    )  # fmt: skip
