"""The command that evaluates a controller or queue by a specification: `evaluate`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table
from rich.text import Text

from sojourn.cli import values
from sojourn.cli.laws import LawFiles, read_laws
from sojourn.cli.options import CacheOptions, takes
from sojourn.cli.output import check_folder, out, progress, results_folder
from sojourn.core.errors import RunError, UserError, one_line
from sojourn.core.extras import require
from sojourn.core.files import write_atomic
from sojourn.core.foreign_names import file_name
from sojourn.core.text_format import counted, number
from sojourn.runs.hosts import Host
from sojourn.runs.stacks import STACKS, check_stack

if TYPE_CHECKING:
    from sojourn.experiments.evaluation import ClauseResult
    from sojourn.experiments.model import Experiment

STYLES = {"passes": "green", "fails": "red", "undecided": "cyan"}
"""The terminal color of each verdict on a clause."""
SUBJECTS = {
    "queue": ["--aqm", "--law"],
    "controller": ["--cc", "--controller", "--stack"],
    "start-up": ["--start-up"],
}
"""The options that name a subject, by what an evaluation compares."""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(evaluate)


def evaluation_names() -> list[str]:
    """The evaluations, for the completion of a command line."""
    from sojourn.experiments.evaluation import evaluations

    return [each.id for each in evaluations()]


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(CacheOptions):
    """What `evaluate` takes."""

    name: Annotated[
        str,
        typer.Argument(
            help="An evaluation such as rfc9743, or a folder with one.",
            metavar="EVALUATION",
            autocompletion=evaluation_names,
        ),
    ]
    clauses: Annotated[list[str] | None, typer.Argument(help="Clauses, such as standard (default: all).")] = None
    cc: Annotated[
        str | None,
        typer.Option(
            "--cc",
            help="The congestion controller to evaluate, such as 'cubic(beta=0.5)'.",
            autocompletion=values.controllers,
        ),
    ] = None
    aqm: Annotated[
        str | None,
        typer.Option("--aqm", help="The queue discipline to evaluate, such as codel.", autocompletion=values.queues),
    ] = None
    start_up: Annotated[
        str | None,
        typer.Option(
            "--start-up",
            help="The start-up to evaluate, such as search.",
            autocompletion=values.start_ups,
        ),
    ] = None
    controller: Annotated[
        str | None, typer.Option("--controller", help="A controller in Python to evaluate: FILE.py:Class.")
    ] = None
    law: Annotated[str | None, typer.Option("--law", help="A queue law in Python to evaluate: FILE.py:Class.")] = None
    stack: Annotated[
        str | None,
        typer.Option(
            "--stack",
            help="A transport of others to evaluate, such as quinn or noq:bbr3 (make hosts).",
            autocompletion=lambda: list(STACKS),
        ),
    ] = None
    seeds: Annotated[
        int | None, typer.Option("--seeds", help="Number of seeds (default: the evaluation's).", min=1)
    ] = None
    quick: Annotated[bool, typer.Option("--quick", help="Run few seeds and a part of the scenarios: a first look.")] = (
        False
    )
    demand: Annotated[
        Literal["must", "should", "may"] | None,
        typer.Option("--require", help="Exit with 1 unless all clauses of this level and stronger ones pass."),
    ] = None
    baseline: Annotated[
        Path | None,
        typer.Option("--baseline", help="An evaluation.json to compare with: prints what became better or worse."),
    ] = None
    out_dir: Annotated[
        Path | None, typer.Option("--out", help="Folder of the page and its files (default: results/EVALUATION-NAME).")
    ] = None
    shard: Annotated[
        str | None, typer.Option("--shard", help="Run one part, such as 3/64, and store its results in the cache.")
    ] = None
    host: Annotated[Host, typer.Option("--host", help="The TCP stack: simulator or Linux kernel.")] = Host.SIMULATOR


@takes(EvaluateOptions)
def evaluate(options: EvaluateOptions) -> None:
    """Evaluates a controller or queue by a specification.

    It runs every clause, prints a verdict on each, and writes a page with their requirements, readings, measured values
    and intervals. An interrupted evaluation continues where it stopped.
    """
    require("pydantic", "jinja2", "pandas", "pyarrow", "matplotlib", "scipy")
    from sojourn.experiments import find_experiment
    from sojourn.experiments.dry_check import check_results
    from sojourn.experiments.evaluation import (
        FILE,
        clause_results,
        evaluation,
        nothing_of_subject,
        read_evaluation,
        unmet,
    )
    from sojourn.experiments.own_queues import note_refused
    from sojourn.experiments.report import write_report
    from sojourn.experiments.reproduce import RunOptions, reproduce, run_shard
    from sojourn.experiments.selection import choose

    laws = read_laws([options.law] if options.law else None, [options.controller] if options.controller else None)
    before = None if options.baseline is None else read_evaluation(options.baseline)
    experiment = find_experiment(options.name, with_clauses=True)
    names = _runnable(experiment, options.clauses or [])
    check_results(experiment, choose(experiment, names).grids)
    experiment = _evaluated(experiment, options, laws)
    note_refused(experiment, choose(experiment, names).grids)
    folder = options.out_dir or _folder(experiment, options.quick)
    check_folder(folder)
    with laws.one_line(), progress(experiment.id) as on_progress:
        how = RunOptions(
            quick=options.quick,
            threads=options.threads,
            cache=options.store(),
            progress=on_progress,
            host=options.host,
            laws=laws.laws or None,
            keep_failed=True,
        )
        if options.shard is not None:
            done = run_shard(experiment, names, options.seeds, how, options.shard)
            out.print(f"{experiment.id}, shard {options.shard}: {counted(done, 'run')} in the cache")
            return
        outcome = reproduce(experiment, names, options.seeds, how)
    if reason := nothing_of_subject(outcome):
        raise UserError(reason)
    found = [each for each in clause_results(outcome) if each.results or not names or each.name in names]
    _print(found, experiment.title)
    written = write_report(outcome, folder)
    made = evaluation(outcome, found)
    write_atomic(folder / FILE, json.dumps(made, indent=1))
    if before is not None:
        _print_changes(before, made)
    out.print(one_line(f"page:    {written[-1]}"))
    out.print(one_line(f"values:  {folder / FILE}"))
    if outcome.effort:
        out.print(f"runs:    {outcome.effort}")
    if options.demand and (left := unmet(found, options.demand)):
        said = ", ".join(f"§{each.clause.where} {each.name} ({each.passed})" for each in left)
        raise RunError(f"clauses that do not pass: {said}")


def _evaluated(experiment: Experiment, options: EvaluateOptions, laws: LawFiles) -> Experiment:
    """The evaluation with its subject.

    Raises `UserError` unless exactly one subject of its kind is given.
    """
    from sojourn.experiments.evaluation import with_subject
    from sojourn.experiments.own_queues import asked_tables

    kind = experiment.file.compares
    named = {"--cc": options.cc, "--aqm": options.aqm, "--start-up": options.start_up}
    given = named | {"--controller": options.controller, "--law": options.law, "--stack": options.stack}
    asked = [name for name, value in given.items() if value is not None]
    fitting = SUBJECTS[kind]
    if len(asked) != 1 or asked[0] not in fitting:
        raise UserError.expected(
            f"evaluate {experiment.id}", f"a {kind}: {' or '.join(fitting)}", ", ".join(asked) or "none"
        )
    if laws.laws:
        (name,) = laws.laws
        table = {"cc": "external", "controller": name} if laws.of_flows else {"aqm": "external", "law": name}
        return with_subject(experiment, name, table, [name])
    if options.stack is not None:
        check_stack("--stack", options.stack)
        return with_subject(experiment, options.stack, {}, host=options.stack)
    tables = asked_tables(experiment, given[asked[0]] or "")
    if len(tables) != 1:
        raise UserError.expected(asked[0], f"one {kind}", ", ".join(tables) or "none")
    ((label, table),) = tables.items()
    return with_subject(experiment, label, table)


def _runnable(experiment: Experiment, names: list[str]) -> tuple[str, ...]:
    """The named clauses. Raises `UserError` for one that does not exist or that no run decides."""
    for name in names:
        if name not in experiment.clauses:
            raise UserError.unknown("clause", name, experiment.clauses)
        if reason := experiment.clauses[name].undecidable:
            raise UserError.expected("clause", "one that runs can decide", f"{name}: {reason}")
    return tuple(names)


def _folder(experiment: Experiment, quick: bool) -> Path:
    """The default folder of the page."""
    name = "-".join([experiment.id, file_name(experiment.subject), *(["quick"] if quick else [])])
    return results_folder(name, Path.cwd().is_relative_to(experiment.root.resolve()))


def _print(found: list[ClauseResult], title: str) -> None:
    """Prints the verdict on each clause, with the first parts that decide it."""
    table = Table(title=title, title_justify="left")
    for name in ("", "clause", "level", "verdict", "because"):
        table.add_column(name)
    for each in found:
        style = STYLES.get(str(each.passed), "dim")
        table.add_row(
            each.clause.where, each.clause.title, each.clause.level, Text(str(each.passed), style=style), each.why
        )
    out.print(table)
    verdicts = [str(each.passed) for each in found]
    out.print(", ".join(f"{verdict}: {verdicts.count(verdict)}" for verdict in dict.fromkeys(sorted(verdicts))))


def _print_changes(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Prints what became better or worse."""
    from sojourn.experiments.evaluation import changes

    found = changes(before, after)
    table = Table(title=f"changes against {before['subject']}, paired by seed, jointly 95 %", title_justify="left")
    for name in ("clause", "measure", "before", "after", "difference", ""):
        table.add_column(name)
    words = {True: "better", False: "worse", None: "inside the target"}
    for each in found:
        unit = f" {each.unit}" if each.unit else ""
        shown = (number(each.before), number(each.after), f"{each.difference}{unit}")
        table.add_row(each.clause, each.measure, *shown, words[each.better])
    out.print(table if found else "no significant change against the baseline")
