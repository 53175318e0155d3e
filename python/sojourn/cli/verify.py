"""The command `verify`: repeats somebody's results and states whether they are equal."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli.experiments import experiment_names
from sojourn.cli.options import takes
from sojourn.cli.output import check_file, out, progress
from sojourn.core.errors import RunError, one_line
from sojourn.core.extras import require
from sojourn.core.files import write_atomic
from sojourn.core.text_format import counted


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(verify)


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """What `verify` takes."""

    results: Annotated[Path, typer.Argument(help="The results.json of a report.")]
    experiment: Annotated[
        str | None,
        typer.Option(
            "--experiment", help="The folder of the experiment (default: by its name).", autocompletion=experiment_names
        ),
    ] = None
    out_file: Annotated[
        Path | None, typer.Option("--out", help="The statement's file (default: verification.json beside the results).")
    ] = None
    key: Annotated[
        Path | None, typer.Option("--sign", help="Sign the statement with this private SSH key (ssh-keygen -Y).")
    ] = None
    threads: Annotated[int, typer.Option("--threads", help="Cores to use; 0 means all.", min=0, max=1024)] = 0


@takes(VerifyOptions)
def verify(options: VerifyOptions) -> None:
    """Repeats a report's runs, and compares them.

    No cache is used. The statement has the digests of the results and of the experiment's files, the runs and verdicts
    that differ, and both machines. The exit code is 1 if anything differs.
    """
    require("pydantic", "pandas", "scipy", "control")
    from sojourn.experiments import RunOptions, find_experiment
    from sojourn.experiments.verification import read_results, sign
    from sojourn.experiments.verification import verify as compare

    path = options.out_file or options.results.parent / "verification.json"
    check_file(path, "--out")
    experiment = find_experiment(options.experiment or str(read_results(options.results)["experiment"]))
    with progress(experiment.id) as on_progress:
        found = compare(options.results, experiment, RunOptions(threads=options.threads, progress=on_progress))
    write_atomic(path, json.dumps(found, indent=1) + "\n")
    what = f"{counted(found['runs'], 'run')} and {counted(found['claims'], 'claim')} of {experiment.id}"
    out.print(one_line(f"{what}: {'equal' if found['equal'] else 'not equal'}"))
    out.print(one_line(f"statement: {path} (sha256 {found['sha256']})"))
    if options.key is not None:
        out.print(one_line(f"signature: {sign(path, options.key)}"))
    if not found["equal"]:
        said = [] if found["same_sources"] else ["other files of the experiment"]
        said += [*found["runs_that_differ"][:3], *(f"claim {each}" for each in found["claims_that_differ"][:3])]
        raise RunError(f"differs: {'; '.join(said)}")
