"""The command that infers a paper's omitted parameters: `infer`."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from sojourn.cli.experiments import experiment_names
from sojourn.cli.options import CacheOptions, takes
from sojourn.cli.output import check_folder, out, progress, results_folder
from sojourn.core.errors import one_line
from sojourn.core.extras import require
from sojourn.core.files import write_atomic
from sojourn.core.text_format import counted, number

if TYPE_CHECKING:
    from sojourn.experiments.infer import Inference

SHARES = (0.05, 0.5, 0.95)
"""The posterior quantiles that are printed."""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(infer)


@dataclass(frozen=True, kw_only=True)
class InferOptions(CacheOptions):
    """What `infer` takes."""

    experiment: Annotated[
        str,
        typer.Argument(help="A paper, a study, or a folder with an experiment.toml.", autocompletion=experiment_names),
    ]
    grid: Annotated[str, typer.Argument(help="The grid whose runs depend on the omitted parameters.")]
    claim: Annotated[
        list[str] | None,
        typer.Option(
            "--claim", help="A claim to fit (default: the paper's claims that the parameters can change). Repeatable."
        ),
    ] = None
    points: Annotated[
        int, typer.Option("--points", help="Number of points to evaluate. A higher number continues an earlier search.")
    ] = 64
    seeds: Annotated[
        int | None, typer.Option("--seeds", help="Seeds per point (default: the paper's quick seeds).", min=1)
    ] = None
    quick: Annotated[bool, typer.Option("--quick", help="Shorter runs, as `sojourn reproduce --quick`.")] = False
    out_dir: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for the table of all points (default: results/ID with the paper's ID)."),
    ] = None


@takes(InferOptions)
def infer(options: InferOptions) -> None:
    """Searches for values of parameters that a paper omits.

    The section `omitted` of experiment.toml declares the parameters and their ranges. The command prints the values
    that fit the paper's figures, how well they fit, and which claims they change.
    """
    require("pydantic", "scipy", "control")
    from sojourn.experiments import RunOptions, find_experiment  # here: the papers take time to load
    from sojourn.experiments.infer import infer as search_points
    from sojourn.experiments.infer import search_of

    chosen = find_experiment(options.experiment)
    folder = options.out_dir or results_folder(chosen.id)
    check_folder(folder)
    search = search_of(chosen, options.grid, options.claim or (), options.quick, options.seeds)
    runs = len(search.moved) * len(search.seeds)
    out.print(f"{chosen.id} {options.grid}: {counted(options.points, 'point')} of {counted(runs, 'run')} each")
    with progress(chosen.id) as on_progress:
        run_options = RunOptions(quick=options.quick, threads=options.threads, cache=options.store())
        found = search_points(search, options.points, run_options, on_progress)
    _print_values(found)
    _print_parts(found)
    _print_claims(found)
    path = folder / f"infer-{options.grid}.csv"
    write_atomic(path, _csv(found))
    out.print(one_line(f"points: {path}"))


def _print_values(found: Inference) -> None:
    """Prints the fitting values of each omitted parameter."""
    fitting, parts, best = found.fitting, counted(len(found.parts), "part"), found.best
    if fitting:
        out.print(f"{len(fitting)} of {counted(len(found.points), 'point')} meet all {parts}")
        region = fitting
    else:
        out.print(f"no point meets all {parts}; the best meets {sum(best.holds)}, as chosen {sum(found.chosen.holds)}")
        region = [point for point in found.points if sum(point.holds) == sum(best.holds)]
    meets = "all" if fitting else str(sum(best.holds))
    table = Table(title="values (a fit, not a finding about the paper)", title_justify="left")
    for name in ("omitted", "searched", f"meet {meets} parts", "posterior 5, 50, 95 %", "best"):
        table.add_column(name, overflow="fold")
    for i, variable in enumerate(found.search.variables):
        values = [point.values[i] for point in region]
        if variable.between is None:
            searched = ", ".join(map(_shown, variable.among))
            kept = ", ".join(_shown(each) for each in variable.among if each in values)
            posterior = ", ".join(f"{_shown(value)} {100 * share:.0f} %" for value, share in found.shares(i))
        else:
            searched = " … ".join(map(number, variable.between))
            kept = " … ".join(map(number, (min(values), max(values))))
            posterior = ", ".join(map(number, found.quantiles(i, SHARES)))
        table.add_row(variable.label, searched, kept, posterior, _shown(best.values[i]))
    out.print(table)
    out.print(f"the posterior rests on {number(found.effective)} of {counted(len(found.points), 'point')}")


def _print_parts(found: Inference) -> None:
    """Prints each part of a claim: as chosen, at the best point, and over all points."""
    table = Table(title="parts", title_justify="left")
    for name in ("claim", "measure", "target", "as chosen", "best", "all points"):
        table.add_column(name, overflow="fold")
    for i, (claim, part) in enumerate(found.parts):
        low, high = found.value_range(i)
        cells = [f"{number(point.means[i])}{'' if point.holds[i] else ' ✗'}" for point in (found.chosen, found.best)]
        reach = f"{number(low)} … {number(high)}"
        out_of_reach = not part.judged.meets(low, high)
        table.add_row(
            claim, part.label or part.measure, part.target_text, *cells, reach + (" (never)" if out_of_reach else "")
        )
    out.print(table)


def _print_claims(found: Inference) -> None:
    """Prints the claims whose verdict changes at the best point.

    For each claim it prints how many points reproduce it.
    """
    table = Table(title="claims", title_justify="left")
    for name in ("claim", "as chosen", "best", "points that reproduce it"):
        table.add_column(name, overflow="fold")
    for i, claim in enumerate(found.search.claims):
        before, after = found.chosen.verdicts[i], found.best.verdicts[i]
        table.add_row(
            claim.id,
            str(before),
            "the same" if before is after else str(after),
            f"{100 * found.reproduced_share(i):.0f} %",
        )
    out.print(table)


def _shown(value: Any) -> str:
    """A value in the syntax of a file."""
    return number(value) if isinstance(value, float) else value if isinstance(value, str) else json.dumps(value)


def _csv(found: Inference) -> str:
    """CSV with one row per point: its parameter values, the mean of each part, its weight."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    parts = [f"{claim}: {part.label or part.measure}" for claim, part in found.parts]
    writer.writerow([*(each.id for each in found.search.variables), *parts, "parts met", "weight"])
    for point, weight in zip(found.points, found.weights, strict=True):
        writer.writerow([*map(_shown, point.values), *point.means, sum(point.holds), float(weight)])
    return text.getvalue()
