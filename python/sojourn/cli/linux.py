"""Commands for the Linux kernel host: `linux build`, `linux status`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli.output import err, out, progress
from sojourn.linux.build import build as build_kernel
from sojourn.linux.kernel import Kernel, cache_folder, find_kernel


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    linux = typer.Typer(no_args_is_help=True, help="Builds the Linux kernel for `--host linux`, or shows it.")
    linux.command()(build)
    linux.command()(status)
    app.add_typer(linux, name="linux")


def build(
    source: Annotated[
        Path | None,
        typer.Option("--source", help="Kernel source: a folder, a Debian package or an archive."),
    ] = None,
) -> None:
    """Builds the kernel; takes about 5 minutes on 2 cores.

    By default it downloads the newest kernel source of Debian. The kernel is stored in the user's cache folder.
    """
    with progress("compiling") as on_progress:
        _show(build_kernel(source, lambda text: err.print(text), on_progress))


def status() -> None:
    """Shows the installed kernel.

    It also reports whether the kernel was built from the current sources of the network.
    """
    _show(find_kernel())


def _show(kernel: Kernel) -> None:
    state = "current" if kernel.is_current else "of other code than now: run `sojourn linux build`"
    out.print(f"Linux {kernel.version}, {state}")
    out.print(f"source  {kernel.source}")
    out.print(f"folder  {cache_folder()}")
    out.print(f"kernel  {kernel.kernel_sha256}")
