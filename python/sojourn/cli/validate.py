"""The command `validate`: compares the laboratory with another implementation."""

from __future__ import annotations

import subprocess
import sys
from enum import StrEnum
from typing import Annotated

import typer

from sojourn.errors import UserError
from sojourn.linux.kernel import HOSTS

ROOT = HOSTS.parents[1]
"""The repository: what compares with other implementations is no part of the installed package."""


class Reference(StrEnum):
    """With what the laboratory is compared."""

    linux = "linux"
    ns2 = "ns2"
    ns3 = "ns3"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})(validate)


def validate(
    context: typer.Context,
    reference: Annotated[Reference, typer.Argument(help="A Linux kernel, ns-2.35 or ns-3.")],
) -> None:
    """Compares results with Linux, ns-2 or ns-3.

    What follows is given on: names of cases, `--seeds N`, `--list`. Where the other is not installed, its stored
    results are taken. Exit code 1 for a difference that is not explained.
    """
    folder = ROOT / "conformance" / "oracles" / reference
    if not folder.is_dir():
        raise UserError.expected("validate", f"the repository's folder {folder}", "an installation without it")
    command = [sys.executable, "-m", f"conformance.oracles.{reference}.validate", *context.args]
    raise typer.Exit(subprocess.run(command, cwd=ROOT).returncode)
