"""Commands for algorithms in the running kernel: `attach`, `detach`."""

from __future__ import annotations

from typing import Annotated

import typer

from sojourn.bpf import fields, owner
from sojourn.bpf.attach import attach_controller
from sojourn.cli.output import out
from sojourn.core.errors import UserError
from sojourn.core.scenario_files import parse_assignment

Controller = Annotated[
    str | None,
    typer.Option("--cc", help="A congestion controller.", autocompletion=lambda: list(fields.CONTROLLERS)),
]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(attach)
    app.command()(detach)


def attach(
    cc: Controller = None,
    change: Annotated[list[str] | None, typer.Option("--set", help="Set a parameter: target='60 ms'.")] = None,
    foreground: Annotated[bool, typer.Option("--foreground", help="Stay until Ctrl-C, then detach.")] = False,
) -> None:
    """Attaches an algorithm to the running kernel.

    It is a BPF program. A process in the background holds it. When that process ends, the kernel detaches the program.
    """
    if cc is None:
        raise UserError("attach: expected --cc NAME, got none")
    holder = attach_controller(cc, [parse_assignment(text) for text in change or []])
    name = holder.name.removeprefix("cc-")
    out.print(f"{cc}: attached as congestion control {name}; `sojourn detach --cc {cc}` detaches it")
    if foreground:
        holder.hold()
    else:
        out.print(f"process {holder.hold_in_background()} holds it")


def detach(cc: Controller = None) -> None:
    """Detaches what `sojourn attach` attached.

    Without options it detaches all. Connections that use a controller keep it until they end.
    """
    if cc is not None and cc not in fields.CONTROLLERS:
        raise UserError.unknown("--cc", cc, fields.CONTROLLERS)
    names = owner.attached()
    if cc is not None:
        names = [name for name in names if name == f"cc-{fields.CONTROLLERS[cc][0]}"]
    if not names:
        raise UserError(f"detach: expected an attached algorithm, got none{f' called {cc}' if cc else ''}")
    for name in names:
        owner.end(name)
        out.print(f"{name}: detached")
