"""Commands that run no simulation: `check`, `schema`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from sojourn import _sojourn
from sojourn.cli.laws import Controller, Law, read_laws
from sojourn.cli.output import out
from sojourn.cli.runs import Set, with_laws
from sojourn.display import counted
from sojourn.errors import UserError, one_line
from sojourn.extras import require
from sojourn.notes import note_unmet
from sojourn.scenario import load, parse_assignment
from sojourn.sweep import read_plan


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(check)
    app.command()(schema)


def check(
    file: Annotated[Path, typer.Argument(help="A scenario or a sweep.")],
    resolved: Annotated[bool, typer.Option("--resolved", help="Print it with every default filled in.")] = False,
    change: Set = None,
    law: Law = None,
    controller: Controller = None,
) -> None:
    """Checks a scenario or a sweep without running it.

    Of a sweep it checks every point. What `run` refuses without an option `--law` is refused here without it.
    """
    laws, scenario = read_laws(law, controller), load(file)
    if _sojourn.is_sweep(scenario.to_toml()):
        if resolved:
            raise UserError(f"--resolved: expected a scenario, got the sweep {file}")
        plan = read_plan(file, dict(map(parse_assignment, change or [])))
        if any("external" in each.to_toml() for each in (scenario, plan.points[0].scenario)):
            for point in plan.points:
                point.scenario.canonical(laws.laws)
        laws.check_used(file, plan)
        out.print(one_line(f"{file}: a sweep of {plan.grid}: {counted(len(plan.jobs()), 'run')}, all can be run"))
        return
    changed = with_laws(scenario, laws, change)
    canonical = changed.canonical(laws.laws)
    note_unmet(changed)
    if resolved:
        out.print_json(canonical)
    else:
        out.print(one_line(f"{scenario.label}: can be run"))


def schema(
    file: Annotated[
        str, typer.Argument(help="scenario, or a paper's file: paper, claims, deviations or mutants.")
    ] = "scenario",
) -> None:
    """Prints the JSON Schema of a kind of file.

    With it an editor completes and checks names.
    """
    if file == "scenario":
        found = json.loads(_sojourn.schema())
    else:
        require("pydantic")
        from sojourn.experiments.schema import schema_of

        found = schema_of(file)
    typer.echo(json.dumps(found, indent=2))
