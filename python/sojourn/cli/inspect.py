"""Commands that run no simulation: `check`, `schema`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from sojourn import _sojourn
from sojourn.cli.laws import read_laws
from sojourn.cli.options import Controller, Law, Set, with_laws
from sojourn.cli.output import out
from sojourn.cli.scenario_warnings import note_warnings
from sojourn.core.errors import UserError, one_line
from sojourn.core.extras import require
from sojourn.core.scenario_files import load, parse_assignment
from sojourn.core.text_format import counted
from sojourn.runs.stacks import check_hosts
from sojourn.sweep.plan import read_plan


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(check)
    app.command()(schema)


def check(
    file: Annotated[Path, typer.Argument(help="A scenario, a sweep, or the folder of an experiment.")],
    resolved: Annotated[
        bool, typer.Option("--resolved", help="Print the scenario as JSON with every default filled in.")
    ] = False,
    change: Set = None,
    law: Law = None,
    controller: Controller = None,
) -> None:
    """Checks a scenario, sweep or experiment without running it.

    For a sweep, every point is checked. A queue law in Python must be passed with `--law`, as for `run`.
    """
    if file.is_dir():
        _check_folder(file)
        return
    laws, scenario = read_laws(law, controller), load(file)
    if _sojourn.is_sweep(scenario.for_engine()):
        if resolved:
            raise UserError(f"--resolved: expected a scenario, got the sweep {file}")
        plan = read_plan(file, dict(map(parse_assignment, change or [])))
        if any("external" in each.for_engine() for each in (scenario, plan.points[0].scenario)):
            for point in plan.points:
                point.scenario.canonical(laws.laws)
        if any("host" in each.for_engine() for each in (scenario, plan.points[0].scenario)):
            for point in plan.points:
                check_hosts(point.scenario)
        laws.check_used(file, (point.scenario for point in plan.points))
        out.print(one_line(f"{file}: a sweep of {plan.grid}: {counted(len(plan.jobs()), 'run')}, all can be run"))
        return
    changed = with_laws(scenario, laws, change)
    canonical = changed.canonical(laws.laws)
    check_hosts(changed)
    note_warnings(changed)
    if resolved:
        out.print_json(canonical)
    else:
        out.print(one_line(f"{scenario.label}: can be run"))


def _check_folder(folder: Path) -> None:
    """Checks every file of an experiment, and every scenario that the experiment runs."""
    require("pydantic", "scipy", "control")
    from sojourn.experiments.dry_check import check_folder

    experiment, cases = check_folder(folder)
    said = f"{counted(cases, 'case')}, {counted(len(experiment.claims), 'claim')}, all can be run"
    out.print(one_line(f"{folder}: {said}"))


def schema(
    file: Annotated[
        str,
        typer.Argument(
            help="scenario, or a file of an experiment: experiment, claims, clause, coverage, deviations, mutants."
        ),
    ] = "scenario",
) -> None:
    """Prints the JSON Schema of a scenario or an experiment file.

    Editors use the schema for completion and validation.
    """
    if file == "scenario":
        found = json.loads(_sojourn.schema())
    else:
        require("pydantic")
        from sojourn.experiments.schema import schema_of

        found = schema_of(file)
    typer.echo(json.dumps(found, indent=2))
