"""Commands for a first file: `examples` copies a shipped one, `new` writes a commented one."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from sojourn.cli.output import check_folder, out, say_written
from sojourn.core import examples as shipped
from sojourn.core.errors import UserError, one_line
from sojourn.core.extras import require
from sojourn.core.files import write_atomic
from sojourn.core.foreign_names import shell_word

STARTERS = Path(__file__).resolve().parent / "starter_files"


class Kind(StrEnum):
    """What `new` writes."""

    scenario = "scenario"
    sweep = "sweep"
    law = "law"
    controller = "controller"
    gate = "gate"
    experiment = "experiment"


NEXT = {
    Kind.scenario: "sojourn run {file}; sojourn compare {file} --queues droptail,codel",
    Kind.sweep: "sojourn sweep {file}",
    Kind.law: "sojourn compare dumbbell --queues droptail --law {file}:Mine",
    Kind.controller: "sojourn compare dumbbell --cc cubic --controller {file}:Mine",
    Kind.gate: "sojourn gate {file}",
    Kind.experiment: "sojourn check {file}; sojourn reproduce {file} --quick",
}
"""The commands that use a new file. `dumbbell` is a shipped example."""


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(new)
    app.command()(examples)


def new(
    kind: Annotated[Kind, typer.Argument(help="What to write.")],
    file: Annotated[Path, typer.Argument(help="The file to write; for an experiment, a new or an empty folder.")],
) -> None:
    """Writes a small, commented file or experiment to change."""
    if kind is Kind.experiment:
        require("pydantic", "scipy", "control")
        from sojourn.experiments.new import new_experiment

        written = new_experiment(file)
    else:
        written = _write(_starter(kind, file))
    say_written(written)
    out.print(one_line(f"next: {NEXT[kind].format(file=shell_word(file))}"))


def _starter(kind: Kind, file: Path) -> dict[Path, bytes]:
    """The starter of a kind, by file. A sweep or a gate has a scenario next to it."""
    ending = ".py" if kind in (Kind.law, Kind.controller) else ".toml"
    if file.suffix != ending:
        raise UserError.expected(f"new {kind}", f"the name of a file that ends in {ending}", str(file))
    content = (STARTERS / f"{kind}{ending}").read_bytes()
    if kind not in (Kind.sweep, Kind.gate):
        return {file: content.replace(b"FILE", shell_word(file).encode())}
    scenario = file.with_name(f"{file.stem}-scenario.toml")
    return {file: content.replace(b"SCENARIO", scenario.name.encode()), **_starter(Kind.scenario, scenario)}


def examples(
    name: Annotated[
        str | None,
        typer.Argument(help="An example to copy, or `all`.", autocompletion=lambda: [*shipped.names(), "all"]),
    ] = None,
    out_dir: Annotated[Path, typer.Option("--out", help="The folder to copy to.")] = Path("examples"),
) -> None:
    """Lists the shipped examples, or copies one.

    The files that it names are copied, too.

    Commands accept the name of an example instead of a file: `sojourn run dumbbell`.
    """
    if name is None:
        table = Table(box=None, pad_edge=False, show_header=False)
        for each in shipped.names():
            table.add_row(each, shipped.summary(each))
        out.print(table)
        return
    check_folder(out_dir)
    contents = dict[Path, bytes]()
    for each in shipped.names() if name == "all" else [name]:
        contents |= shipped.copied(each)
    say_written(_write({out_dir / path: content for path, content in contents.items()}))


def _write(contents: dict[Path, bytes]) -> list[Path]:
    """Writes new files and returns their paths.

    Raises `UserError` before the first one if a file exists with other content.
    """
    for path, content in contents.items():
        if path.is_dir() or (path.exists() and path.read_bytes() != content):
            raise UserError(f"{path}: expected a new file, got one that exists; name another or remove it")
    return [write_atomic(path, content) for path, content in contents.items()]
