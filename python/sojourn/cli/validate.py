"""The command that compares the simulator with other implementations: `validate`."""

from __future__ import annotations

import subprocess
import sys
from enum import StrEnum
from typing import Annotated

import typer

from sojourn.core.errors import UserError
from sojourn.linux.kernel import HOSTS

ROOT = HOSTS.parents[1]
"""The repository.

The installed package does not contain comparisons with other implementations.
"""


class Reference(StrEnum):
    """The reference implementations."""

    linux = "linux"
    ns2 = "ns2"
    ns3 = "ns3"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})(validate)


def validate(
    context: typer.Context,
    reference: Annotated[Reference, typer.Argument(help="The reference: a Linux kernel, ns-2.35 or ns-3.")],
) -> None:
    """Compares results with Linux, ns-2 or ns-3.

    Further arguments are case names, `--seeds N` and `--list`. If the reference is not installed, its stored results
    are used. The exit code is 1 for an unexplained difference.
    """
    folder = ROOT / "conformance" / "oracles" / reference
    if not folder.is_dir():
        raise UserError.expected("validate", f"the repository's folder {folder}", "an installation without it")
    command = [sys.executable, "-m", f"conformance.oracles.{reference}.validate", *context.args]
    raise typer.Exit(subprocess.run(command, cwd=ROOT).returncode)
