"""The command that designs queue controllers: `design`."""

from __future__ import annotations

import enum
import math
from typing import Annotated

import typer

from sojourn import _sojourn
from sojourn.cli.values import quantity
from sojourn.core.errors import UserError

TARGET = 20.0  # packets
RATES = '"15 Mbit/s", or in packets a second "3750pps"'


class Controller(enum.StrEnum):
    """The controllers that `design` can compute."""

    CPC = "cpc"
    PI = "pi"
    RED = "red"
    PID = "pid"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(design)


def design(
    controller: Annotated[Controller, typer.Argument(help="The controller to design.")],
    flows: Annotated[float, typer.Option("--flows", help="Number of long TCP flows.")],
    rate: Annotated[str, typer.Option("--rate", help=f"Rate of the link: {RATES}.")],
    rtt: Annotated[str, typer.Option("--rtt", help='RTT including the queue at its target: "246ms".')],
    packet: Annotated[str, typer.Option("--packet", help="Mean packet size.")] = "1500 B",
    target: Annotated[
        float | None,
        typer.Option("--target", help="Target queue length in packets (default: 20; red: from its thresholds)."),
    ] = None,
    margin: Annotated[
        float | None, typer.Option("--margin", help="pid: phase margin in degrees (default: 60).")
    ] = None,
    crossover: Annotated[
        float | None, typer.Option("--crossover", help="pid: crossover frequency in rad/s (default: 1/(3 RTT)).")
    ] = None,
    inner_gain: Annotated[
        float | None, typer.Option("--inner-gain", help="cpc: the inner gain, instead of the computed one.")
    ] = None,
) -> None:
    """Designs a queue controller for given flows.

    The design depends on the number of flows, the link rate and the RTT. The command prints the parameters, and
    stability margins that include the dead time.
    """
    from sojourn.analysis.cascade import OperatingPoint  # here: python-control takes a second to load
    from sojourn.cli import design_output

    for option, value, of in (
        ("--margin", margin, Controller.PID),
        ("--crossover", crossover, Controller.PID),
        ("--inner-gain", inner_gain, Controller.CPC),
    ):
        if value is not None and controller is not of:
            raise UserError.expected(option, f"the controller {of}, which alone has this option", str(controller))
    if target is not None and not (math.isfinite(target) and target >= 0):
        raise UserError.expected("--target", "a number of packets, 0 or more", target)
    if margin is not None and not 0 < margin < 180:
        raise UserError.expected("--margin", "a phase margin above 0 and below 180 degrees", margin)
    asked = flows, packets_a_second(rate, packet), quantity("--rtt", "time", rtt)
    try:
        point = OperatingPoint(*asked)
    except UserError as error:  # the error names a field, and options have the names of fields
        raise UserError(f"--{error}") from None
    if point.probability > 1:
        raise UserError(
            f"{point.flows:g} flows: expected windows of {math.sqrt(2):.3g} packets or more, got {point.window:.3g}: "
            "no probability keeps TCP below that"
        )
    queue = TARGET if target is None else target
    if controller is not Controller.RED:
        point.check_target(queue)
    if controller is Controller.CPC:
        design_output.cpc(point, queue, inner_gain)
    elif controller is Controller.PI:
        design_output.pi(point, queue)
    elif controller is Controller.RED:
        design_output.red(point, target)
    else:
        design_output.pid(point, queue, 60.0 if margin is None else margin, crossover)


def packets_a_second(text: str, packet: str) -> float:
    """Converts a rate such as `3750pps` or `15 Mbit/s` to packets per second.

    Raises `UserError` for other texts.
    """
    size = quantity("--packet", "size", packet)
    if size <= 0:
        raise UserError.expected("--packet", "a size above 0", packet)
    compact = text.replace(" ", "")
    try:
        if compact.endswith("pps"):
            return float(compact.removesuffix("pps"))
        return _sojourn.quantity("rate", text) / (8.0 * size)
    except ValueError:
        raise UserError.expected("--rate", f"a rate such as {RATES}", text) from None
