"""The command `audit-claims`: runs a paper's claims against wrong versions of its algorithm."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from sojourn.cli.experiments import experiment_names
from sojourn.cli.options import CacheOptions, takes
from sojourn.cli.output import check_folder, out, progress, results_folder
from sojourn.core.errors import one_line
from sojourn.core.extras import require
from sojourn.core.files import write_atomic
from sojourn.core.text_format import counted

if TYPE_CHECKING:
    from sojourn.experiments.audit import Audit, Observed
    from sojourn.experiments.schema.mutants import MutantTable


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("audit-claims")(audit_claims)


@dataclass(frozen=True, kw_only=True)
class AuditOptions(CacheOptions):
    """What `audit-claims` takes."""

    experiment: Annotated[
        str,
        typer.Argument(help="A paper, a study, or a folder with an experiment.toml.", autocompletion=experiment_names),
    ]
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Run only this mutant (default: all). Repeatable.")
    ] = None
    no_patches: Annotated[
        bool, typer.Option("--no-patches", help="Skip mutants that patch and rebuild the engine.")
    ] = False
    out_dir: Annotated[
        Path | None, typer.Option("--out", help="Folder for audit.json (default: results/ID with the paper's ID).")
    ] = None


@takes(AuditOptions)
def audit_claims(options: AuditOptions) -> None:
    """Tests by mutation whether claims detect wrong code.

    The experiment's `mutants.toml` declares the mutants: changed parameters or patches of the engine's source. The exit
    code is 1 if a claim still holds for a mutant that it should reject.
    """
    require("pydantic", "scipy", "control")
    from sojourn.experiments import RunOptions, find_experiment  # here: the papers take time to load
    from sojourn.experiments.audit import FILE, audit, chosen_mutants, observe, plan_of, with_parameters
    from sojourn.experiments.mutate import shared_workspace

    chosen = find_experiment(options.experiment)
    folder = options.out_dir or results_folder(chosen.id)
    check_folder(folder)
    plan = plan_of(chosen)
    mutants = chosen_mutants(plan, options.only or [], not options.no_patches)
    with ExitStack() as stack:
        on_progress = stack.enter_context(progress(chosen.id))
        patched = any(mutant.patch for mutant in mutants)
        workspace = stack.enter_context(shared_workspace(plan, options.threads)) if patched else None
        runs = RunOptions(quick=True, threads=options.threads, cache=options.store(), progress=on_progress)
        base = observe(plan, runs)

        def measure(mutant: MutantTable) -> Observed:
            return workspace.measure(mutant) if workspace and mutant.patch else with_parameters(plan, mutant, runs)

        found = audit(plan, mutants, base, measure)
    _print(found)
    write_atomic(folder / FILE, found.as_json())
    out.print(one_line(f"table: {folder / 'audit.json'}"))
    if any(row.missed for row in found.rows):
        raise typer.Exit(1)


def _print(found: Audit) -> None:
    """Prints the table of mutants, and those that no claim detects."""
    table = Table(
        title=f"{found.experiment}: {counted(len(found.claims), 'claim')}, {counted(found.seeds, 'seed')}",
        title_justify="left",
    )
    for name in ("mutant", "what is wrong", "noticed by", "moved, but still held"):
        table.add_column(name, overflow="fold")
    for row in found.rows:
        moved = found.moved(row)
        noticed = f"did not run: {row.stopped}" if row.stopped else " ".join(row.noticed) or "none"
        table.add_row(row.id, row.text, noticed, "" if row.stopped else " ".join(moved))
    out.print(table)
    for row in found.rows:
        if row.missed:
            out.print(f"{row.id}: not noticed by {', '.join(row.missed)}, which should", style="bold")
    open_claims = {
        "claims that notice none": found.blind,
        "claims that can't, because nothing of them holds": found.failed_before,
        "mutants that no claim notices": [row.excused for row in found.unnoticed],
    }
    for what, names in open_claims.items():
        if names:
            out.print(f"{what}: {', '.join(names)}")
    if not any(open_claims.values()):
        out.print("every claim notices a mutant, and every mutant is noticed")
