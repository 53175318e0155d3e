"""The command that compares a sender's window with a controller: `judge`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sojourn import _sojourn
from sojourn.cli.output import check_file, out
from sojourn.core.errors import one_line
from sojourn.core.extras import require
from sojourn.core.files import write_atomic
from sojourn.core.foreign_names import file_name


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("judge")(judge_)


def _controllers() -> list[str]:
    """The controllers through which a log can be replayed."""
    return _sojourn.judged_controllers()


def judge_(
    file: Annotated[
        Path, typer.Argument(help="A qlog file, a capture at a TCP sender, or a scenario with a Linux host.")
    ],
    controller: Annotated[
        str,
        typer.Option(
            "--controller",
            help="The controller that the sender claims to have, such as reno or cubic.",
            autocompletion=_controllers,
        ),
    ],
    page: Annotated[
        Path | None, typer.Option("--out", help="The page to write or replace (default: NAME-judgement.html here).")
    ] = None,
    flow: Annotated[
        str | None, typer.Option("--flow", help="The trace, flow or sender (default: the one that sent most).")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 if the windows part.")] = False,
) -> None:
    """Finds where a sender's window leaves its controller.

    It replays the log of a sender through the controller of that name, and writes a page with both windows.
    """
    require("matplotlib", "jinja2")
    page = page or Path(f"{file_name(file.stem)}-judgement.html")
    check_file(page, read=file)
    from sojourn.judge.judgement import judge
    from sojourn.judge.page import page_of

    found = judge(file, controller, flow)
    out.print(one_line(found.answer()))
    for each in found.divergences:
        times = f", {each.count} times" if each.count > 1 else ""
        out.print(one_line(f"{each.at_s:.6f} s, {each.event}: {each.cause}{times}: {each.figures()} ({each.rule})"))
    write_atomic(page, page_of(found))
    out.print(one_line(f"wrote {page}: open it in a browser"))
    if check and found.divergences:
        raise typer.Exit(1)
