"""Commands that run scenarios (`run`, `compare`, `sweep`), and `plot` for their results."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from sojourn.cli.output import (
    CACHE,
    CacheDir,
    NoCache,
    Threads,
    check_folder,
    err,
    estimates_table,
    out,
    progress,
    say_written,
    store,
)
from sojourn.compare import compare as run_compare
from sojourn.compare import parse_queues
from sojourn.errors import UserError
from sojourn.extras import require
from sojourn.files import read_result, together, write_atomic
from sojourn.flent import write_flent
from sojourn.measures import link_measures
from sojourn.record import Record, file_name, frame_to_parquet
from sojourn.running import LAST_SEED, run_many
from sojourn.scenario import Scenario, load, parse_assignment
from sojourn.stats import estimate, estimate_of
from sojourn.sweep import read_plan
from sojourn.sweep import sweep as run_sweep

if TYPE_CHECKING:
    import pandas as pd

Set = Annotated[list[str] | None, typer.Option("--set", help="Change a field: links.bottleneck.rate='5 Mbit/s'.")]
Out = Annotated[Path | None, typer.Option("--out", help="Folder for the results.")]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(run)
    app.command()(compare)
    app.command()(sweep)
    app.command()(plot)


def load_changed(file: Path, changes: list[str] | None) -> Scenario:
    """The scenario of a file, with the changes of `--set`."""
    scenario = load(file)
    for change in changes or []:
        scenario.set(*parse_assignment(change))
        scenario.label = f"{file} with {change}"
    return scenario


def run(
    file: Annotated[Path, typer.Argument(help="A scenario file.")],
    change: Set = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="Seed of the first run (default: the scenario's).", min=0, max=LAST_SEED),
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", help="How many runs, each with the next seed.", min=1)] = 1,
    out_dir: Out = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the records as JSON lines.")] = False,
    flent: Annotated[
        Path | None, typer.Option("--flent", help="Write series of the first run to this .flent.gz.")
    ] = None,
    threads: Threads = 0,
) -> None:
    """Runs a scenario and prints what was measured."""
    require(*(["scipy"] if seeds > 1 and not as_json else []), *(["pandas", "pyarrow"] if out_dir else []))
    check_folder(out_dir)
    check_folder(flent and flent.parent, "--flent")
    scenario = load_changed(file, change)
    if seed is not None:
        scenario.set("seed", seed)
    with progress("running") as on_progress:
        records = run_many(scenario, seeds, threads=threads, progress=on_progress)[0]
    if out_dir is not None:
        for record in records:
            folder = out_dir if seeds == 1 else out_dir / f"seed-{record['seed']}"
            say_written(record.save(folder))
    if flent is not None:
        say_written([write_flent(records[0], flent)])
    if as_json:
        for record in records:
            typer.echo(" ".join(record.to_json().split("\n")))
    elif len(records) == 1:
        _show_record(records[0])
    else:
        _show_replications(records)


def _show_record(record: Record) -> None:
    """Prints what one run measured: a table of links, a table of groups."""
    fingerprint = record.get("fingerprint", "")
    out.print(f"{record.get('scenario')}, seed {record.get('seed')}, fingerprint {fingerprint}")
    links = Table(title="links", title_justify="left")
    links.add_column("", no_wrap=True)
    wide = out.width >= 100  # narrow terminals show fewer columns; the record has all
    for name in (
        "utilization",
        *(("throughput", "arrived") if wide else ()),
        "dropped",
        "loss",
        "queue mean ± sd",
        "wait p95",
    ):
        links.add_column(name, justify="right")
    for link in record.get("links", []):
        queue, wait = link.get("queue") or {}, link.get("wait_ms") or {}
        links.add_row(
            link["name"],
            _number(link.get("utilization"), "%", 100),
            *((_number(link.get("throughput_bps"), "Mbit/s", 1e-6), _number(link.get("arrived"))) if wide else ()),
            _number(link.get("dropped_total")),
            _number(link.get("loss_ratio"), "%", 100),
            f"{_number(queue.get('mean'))} ± {_number(queue.get('sd'))}",
            _number(wait.get("p95"), "ms"),
        )
    out.print(links)
    groups = Table(title="groups of flows", title_justify="left")
    for name in ("", "flows", "throughput", "goodput", "Jain's index", "RTT mean"):
        groups.add_column(name, justify="left" if not name else "right")
    for group in record.get("groups", []):
        groups.add_row(
            group["name"],
            _number(group.get("flows")),
            _number(group.get("throughput_bps"), "Mbit/s", 1e-6),
            _number(group.get("goodput_bps"), "Mbit/s", 1e-6),
            _number(group.get("jain")),
            _number((group.get("rtt_ms") or {}).get("mean"), "ms"),
        )
    out.print(groups)


def _number(value: object, unit: str = "", scale: float = 1.0) -> str:
    """A number with its unit, or a dash where there is none."""
    if not isinstance(value, (int, float)):
        return "–"
    text = f"{value:,}" if isinstance(value, int) and scale == 1.0 else f"{value * scale:.4g}"
    return f"{text} {unit}".strip()


def _show_replications(records: list[Record]) -> None:
    """Prints means and confidence intervals over the seeds, for each link with traffic."""
    for link in records[0].get("links", []):
        if not link.get("arrived"):
            continue
        measures = link_measures(str(link["name"]))
        rows = {m.label: {"mean ± 95 %": estimate([m.of(record) for record in records])} for m in measures}
        title = f"{link['name']}: {len(records)} seeds"
        out.print(estimates_table(title, rows, {m.label: m.unit for m in measures}))


def compare(
    file: Annotated[Path, typer.Argument(help="A scenario file.")],
    queues: Annotated[str, typer.Option("--queues", help="Queues, such as 'droptail,red(min=5,max=15),pd'.")],
    seeds: Annotated[int, typer.Option("--seeds", help="Replications; all queues get the same seeds.", min=1)] = 5,
    link: Annotated[str | None, typer.Option("--link", help="The link that gets the queues.")] = None,
    change: Set = None,
    out_dir: Out = None,
    threads: Threads = 0,
    cache: CacheDir = CACHE,
    no_cache: NoCache = False,
) -> None:
    """Runs one scenario under several queue disciplines, with identical traffic."""
    require("scipy", *(["pandas", "pyarrow", "matplotlib"] if out_dir else []))
    check_folder(out_dir)
    scenario = load_changed(file, change)
    with progress("comparing") as on_progress:
        found = run_compare(
            scenario, parse_queues(queues), seeds, link=link, threads=threads, cache=store(cache, no_cache),
            progress=on_progress,
        )  # fmt: skip
    units = {measure.label: measure.unit for measure in found.measures}
    count = f"{len(found.seeds)} seed{'s' if len(found.seeds) > 1 else ''}"
    out.print(estimates_table(f"{found.scenario}, link {found.link}, {count}, mean ± 95 %", found.estimates(), units))
    if len(found.records) > 1 and len(found.seeds) > 1:
        first = next(iter(found.records))
        out.print(estimates_table(f"difference from {first}, paired by seed", found.differences(), units))
    if out_dir is not None:
        from sojourn.plots import plot_table

        table = found.table()
        with together(out_dir):
            written = [frame_to_parquet(found.runs(), out_dir / "runs.parquet")]
            written.append(write_atomic(out_dir / "summary.csv", table.to_csv(index=False)))
            written += plot_table(table, ["queue"], [m.label for m in found.measures], out_dir)
        say_written(written)


def sweep(
    file: Annotated[Path, typer.Argument(help="A sweep file.")],
    out_dir: Out = None,
    plots: Annotated[str | None, typer.Option("--plot", help="Measures to plot, separated by commas.")] = None,
    threads: Threads = 0,
    cache: CacheDir = CACHE,
    no_cache: NoCache = False,
    cluster: Annotated[
        bool, typer.Option("--cluster", help="Run on a Ray cluster: pip install 'sojourn[ray]'.")
    ] = False,
) -> None:
    """Runs a grid over any fields of a scenario; goes on where an interrupted sweep stopped."""
    require("scipy", "pandas", "pyarrow", *(["matplotlib"] if plots else []))
    plan = read_plan(file)
    folder = out_dir or Path("results") / file_name(plan.name)
    check_folder(folder)
    with progress(plan.name) as on_progress:
        kept = store(cache, no_cache)
        found = run_sweep(plan, threads=threads, cache=kept, progress=on_progress, cluster=cluster)
    wanted = [name.strip() for name in plots.split(",")] if plots else []
    unknown = [name for name in wanted if name not in found.measures]
    if unknown:
        raise UserError.unknown("--plot", unknown[0], found.measures)
    summary = found.summary()
    with together(folder):
        written = [
            frame_to_parquet(found.runs, folder / "runs.parquet"),
            frame_to_parquet(summary, folder / "summary.parquet"),
        ]
        written.append(write_atomic(folder / "summary.csv", summary.to_csv(index=False)))
        if wanted:
            from sojourn.plots import plot_table

            written += plot_table(summary, found.axes, wanted, folder)
    _show_sweep(found.axes, summary)
    say_written(written)
    if found.failed:
        err.print(f"error: {len(found.failed)} of {len(plan.jobs())} runs failed; the results have the others")
        raise typer.Exit(1)


def _show_sweep(axes: list[str], summary: pd.DataFrame) -> None:
    """Prints the most important measures, a row for each point."""
    shown = [m for m in dict.fromkeys(summary["measure"]) if m.endswith((".utilization", "queue.mean", ".loss_ratio"))]
    if not shown:
        return
    table = Table(title="mean ± 95 %", title_justify="left")
    for column in [*axes, *shown[:4]]:
        table.add_column(column)
    chosen = summary[summary["measure"].isin(shown[:4])]
    for where, group in chosen.groupby(axes, sort=False, dropna=False):
        by_measure = group.set_index("measure")
        cells = [str(estimate_of(by_measure.loc[m])) for m in shown[:4]]
        table.add_row(*[str(v) for v in (where if isinstance(where, tuple) else (where,))], *cells)
    out.print(table)


def plot(
    result: Annotated[Path, typer.Argument(help="A folder that `run --out`, compare or sweep wrote.")],
    measure: Annotated[list[str] | None, typer.Option("--measure", help="Only these measures (of a sweep).")] = None,
    out_dir: Out = None,
) -> None:
    """Plots a result: the traces of a run, or the means of a comparison or sweep."""
    from sojourn.plots import plot_record, plot_table

    folder = result if result.is_dir() else result.parent
    target = out_dir or folder
    check_folder(target)
    if (folder / "record.json").exists():
        if measure:
            raise UserError(f'--measure "{measure[0]}": expected a sweep or comparison, got the run {result}')
        say_written(plot_record(Record.read(folder), target))
        return
    file = folder / "summary.csv"
    if not file.exists():
        raise UserError(f"{result}: expected a folder with record.json (run --out) or summary.csv (compare, sweep)")
    summary = _read_summary(file)
    fixed = {"measure", "unit", "mean", "sd", "low", "high", "n", "difference", "difference_low", "difference_high"}
    axes = [column for column in summary.columns if column not in fixed]
    there = list(dict.fromkeys(summary["measure"]))
    unknown = [name for name in measure or [] if name not in there]
    if unknown:
        raise UserError.unknown("--measure", unknown[0], there)
    written = plot_table(summary, axes, measure or there[:24], target)
    if not measure and len(there) > 24:
        err.print(f"plotted the first 24 of {len(there)} measures; name others with --measure")
    say_written(written)


def _read_summary(file: Path) -> pd.DataFrame:
    """The summary that `compare` or `sweep` wrote. Raises `UserError` for another file."""
    require("pandas")
    import pandas as pd

    content = read_result(file.parent, file.name)
    try:
        summary = pd.read_csv(io.BytesIO(content))
    except ValueError as error:
        raise UserError(f"{file}: expected a summary of compare or sweep: {error}") from None
    missing = {"measure", "mean", "low", "high"} - set(summary.columns)
    if missing:
        raise UserError(f"{file}: expected a summary of compare or sweep, got no column {', '.join(sorted(missing))}")
    return summary
