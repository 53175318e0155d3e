"""Commands for algorithms in the running kernel: `attach`, `detach`."""

from __future__ import annotations

from typing import Annotated

import typer

from sojourn.bpf import fields, owner, queues
from sojourn.bpf.attach import attach_controller, attach_queue, queue_name
from sojourn.cli.output import out
from sojourn.cli.values import quantity
from sojourn.core.errors import UserError
from sojourn.core.scenario_files import parse_assignment

Controller = Annotated[
    str | None,
    typer.Option("--cc", help="A congestion controller.", autocompletion=lambda: list(fields.CONTROLLERS)),
]
Device = Annotated[str | None, typer.Option("--dev", help="The network device of the queue, such as eth0.")]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(attach)
    app.command()(detach)


def attach(
    cc: Controller = None,
    aqm: Annotated[
        str | None, typer.Option("--aqm", help="A queue law.", autocompletion=lambda: list(queues.LAWS))
    ] = None,
    dev: Device = None,
    rate: Annotated[
        str | None, typer.Option("--rate", help='Rate at which the device sends, for led and cpc: "20 Mbit/s".')
    ] = None,
    change: Annotated[list[str] | None, typer.Option("--set", help="Set a parameter: target='60 ms'.")] = None,
    foreground: Annotated[bool, typer.Option("--foreground", help="Stay until Ctrl-C, then detach.")] = False,
) -> None:
    """Attaches an algorithm to the running kernel.

    It is a BPF program. A process in the background holds it. When that process ends, the kernel detaches the program.
    """
    if (cc is None) == (aqm is None):
        raise UserError(f"attach: expected --cc or --aqm, got {'both' if cc else 'neither'}")
    if (aqm is None) != (dev is None):
        raise UserError("--aqm: expected --dev with it" if aqm else "--dev: expected --aqm with it")
    settings = [parse_assignment(text) for text in change or []]
    if cc is not None:
        holder = attach_controller(cc, settings)
        out.print(f"{cc}: attached as congestion control {holder.name.removeprefix('cc-')}")
    elif aqm is not None and dev is not None:
        holder = attach_queue(aqm, dev, settings, None if rate is None else quantity("--rate", "rate", rate))
        out.print(f"{aqm}: attached to {dev}")
    if foreground:
        holder.hold()
    else:
        out.print(f"process {holder.hold_in_background()} holds it until `sojourn detach`")


def detach(cc: Controller = None, dev: Device = None) -> None:
    """Detaches what `sojourn attach` attached.

    Without options it detaches all. Connections that use a controller keep it until they end.
    """
    if cc is not None and cc not in fields.CONTROLLERS:
        raise UserError.unknown("--cc", cc, fields.CONTROLLERS)
    wanted = [f"cc-{fields.CONTROLLERS[cc].kernel_name}"] if cc else []
    wanted += [queue_name(dev)] if dev else []
    names = [name for name in owner.attached() if name in wanted or not wanted]
    if not names:
        raise UserError(f"detach: expected an attached algorithm, got none{f' of {cc or dev}' if wanted else ''}")
    for name in names:
        owner.end(name)
        out.print(f"{name}: detached")
