"""The command that prints a completion script for a shell: `completion`."""

from __future__ import annotations

import enum
import os
from typing import Annotated

import typer
from typer.completion import completion_init, get_completion_script  # type: ignore[attr-defined]  # not in its __all__

PROGRAM = "sojourn"
VARIABLE = f"_{PROGRAM.upper()}_COMPLETE"  # the shell sets it to request completions


class Shell(enum.StrEnum):
    """The supported shells."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def register(app: typer.Typer) -> None:
    """Adds the command, and answers a shell's completion requests."""
    app.command()(completion)
    if VARIABLE in os.environ:
        completion_init()


def completion(shell: Annotated[Shell, typer.Argument(help="The shell.")]) -> None:
    """Prints a completion script.

    Add to ~/.bashrc or ~/.zshrc: eval "$(sojourn completion bash)" (or zsh). For fish: sojourn completion fish | source
    """
    typer.echo(get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell.value))
