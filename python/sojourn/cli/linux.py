"""Commands for the Linux kernel as host: `linux build`, `linux status`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli.output import err, out, progress
from sojourn.linux.build import build as build_kernel
from sojourn.linux.kernel import Kernel, cache_folder, find_kernel


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    linux = typer.Typer(no_args_is_help=True, help="A Linux kernel in virtual time as host.")
    linux.command()(build)
    linux.command()(status)
    app.add_typer(linux, name="linux")


def build(
    source: Annotated[
        Path | None,
        typer.Option("--source", help="A kernel's source: a folder, a Debian package or an archive."),
    ] = None,
) -> None:
    """Makes the kernel, once: about 5 minutes on 2 cores.

    Without `--source` it takes the newest source that Debian has. It is kept in the user's cache folder.
    """
    with progress("compiling") as on_progress:
        _show(build_kernel(source, lambda text: err.print(text), on_progress))


def status() -> None:
    """Says which kernel there is.

    Also whether it has the network's code as it is now.
    """
    _show(find_kernel())


def _show(kernel: Kernel) -> None:
    state = "current" if kernel.is_current else "of other code than now: run `sojourn linux build`"
    out.print(f"Linux {kernel.version}, {state}")
    out.print(f"source  {kernel.source}")
    out.print(f"folder  {cache_folder()}")
    out.print(f"kernel  {kernel.kernel_sha256}")
