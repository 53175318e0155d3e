"""Commands that run scenarios: `run`, `compare`, `sweep`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli import values
from sojourn.cli.compared import (
    ReportOptions,
    Vary,
    check_curves,
    check_unchanged,
    of_vary,
    save_comparison,
    traced_for,
    variations,
)
from sojourn.cli.laws import LawFiles
from sojourn.cli.options import (
    CacheOptions,
    Only,
    Out,
    PcapLinks,
    ScenarioOptions,
    StyleOptions,
    ThreadOptions,
    load_changed,
    takes,
    with_laws,
)
from sojourn.cli.output import check_file, check_folder, check_points, err, latex, progress, results_folder, say_written
from sojourn.cli.scenario_warnings import note_warnings, note_warnings_in
from sojourn.cli.sizes import save_sizes, show_sizes
from sojourn.cli.tables import (
    main_measures,
    say_missing,
    show_measures,
    show_record,
    show_replications,
    show_sweep,
)
from sojourn.compare.baseline import read_baseline
from sojourn.compare.comparison import compare as run_compare
from sojourn.compare.links import queued_link, queued_links
from sojourn.compare.sizes import size_classes, trace_completions
from sojourn.core.errors import UserError, note, one_line
from sojourn.core.extras import require
from sojourn.core.files import together, write_atomic
from sojourn.core.foreign_names import file_name, file_names
from sojourn.core.record import Record
from sojourn.core.record_files import frame_to_parquet, frames_to_csv, frames_to_parquet
from sojourn.core.record_schema import chosen
from sojourn.core.scenario import Scenario
from sojourn.core.scenario_files import load, parse_assignment
from sojourn.core.text_format import counted
from sojourn.exports.flent import check_flent, write_flent
from sojourn.exports.qlog import traced, write_qlog
from sojourn.runs.cluster import named_executor
from sojourn.runs.jobs import raise_failed
from sojourn.runs.runner import run as run_once
from sojourn.runs.runner import run_many
from sojourn.runs.seeds import LAST_SEED, first_seed, seeds_of
from sojourn.sweep.plan import read_plan
from sojourn.sweep.result import SweepResult
from sojourn.sweep.result import sweep as run_sweep

if TYPE_CHECKING:
    pass

# Number of runs of a sweep that are read and written at once.
PART = 5000
# Number of points of a sweep that are printed.
FIRST_POINTS = 500


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(run)
    app.command()(compare)
    app.command()(sweep)


@dataclass(frozen=True, kw_only=True)
class RunOptions(ScenarioOptions, ThreadOptions):
    """What `run` takes."""

    file: Annotated[Path, typer.Argument(help="A scenario file.")]
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="Seed of the first run (default: the scenario's).", min=0, max=LAST_SEED),
    ] = None
    seeds: Annotated[int, typer.Option("--seeds", help="Number of runs; each run uses the next seed.", min=1)] = 1
    threads: Annotated[
        int,
        typer.Option(
            "--threads",
            help="Runs at once; 0 means one per core. A number above 1 also divides a single run of a large network.",
            min=0,
            max=1024,
        ),
    ] = 0
    out_dir: Out = None
    as_json: Annotated[bool, typer.Option("--json", help="Print the records as JSON lines.")] = False
    flent: Annotated[
        Path | None, typer.Option("--flent", help="Write the time series of the first run to this .flent.gz file.")
    ] = None
    pcap: Annotated[
        Path | None, typer.Option("--pcap", help="Write the packets of the first run to this pcapng file.")
    ] = None
    pcap_links: PcapLinks = None
    pcap_hosts: Annotated[
        str | None,
        typer.Option("--pcap-hosts", help="Hosts for --pcap: ftp/0:sender, ftp/*:receiver, or ftp/0 for both ends."),
    ] = None
    qlog: Annotated[
        Path | None,
        typer.Option("--qlog", help="Write the windows, RTTs and losses of the first run to this .qlog file."),
    ] = None
    measure: Only = None


@takes(RunOptions)
def run(options: RunOptions) -> None:
    """Runs a scenario and prints its measures."""
    out_dir, as_json, seeds = options.out_dir, options.as_json, options.seeds
    require(*(["scipy"] if seeds > 1 and not as_json else []), *(["pandas", "pyarrow"] if out_dir else []))
    check_folder(out_dir)
    _check_files(options.file, **{"--flent": options.flent, "--pcap": options.pcap, "--qlog": options.qlog})
    check_points(options.pcap, **{"--pcap-links": options.pcap_links, "--pcap-hosts": options.pcap_hosts})
    laws = options.laws()
    scenario = with_laws(load(options.file), laws, options.changes)
    if options.seed is not None:
        scenario.set("seed", options.seed)
    _check_series(scenario, options.flent, options.qlog)
    wanted = values.rows(scenario, options.measure or [], _main_link(scenario), as_json)
    records, failed = _records(options, scenario, laws)
    note_warnings(scenario)
    if out_dir is not None:
        say_written(_save(records, out_dir), as_json)
    written = [write_flent(records[0], options.flent)] if options.flent is not None else []
    written += [options.pcap] if options.pcap is not None else []
    written += [write_qlog(scenario, options.qlog, laws=laws.laws)] if options.qlog is not None else []
    say_written(written, as_json)
    _print(records, as_json, wanted)
    _exit_failed(failed, f"{len(failed)} of {seeds} runs failed; the results have the others")


def _records(options: RunOptions, scenario: Scenario, laws: LawFiles) -> tuple[list[Record], list[str]]:
    """The records of the runs, and why others failed. Raises `RunError` if all did."""
    records, failed = list[Record](), list[str]()
    with progress("running") as on_progress, laws.one_line():
        if options.pcap is not None:
            links, hosts = values.names_of(options.pcap_links), values.names_of(options.pcap_hosts)
            records.append(run_once(scenario, None, laws.laws, pcap=options.pcap, pcap_links=links, pcap_hosts=hosts))
        left = seeds_of(options.seeds, first_seed(scenario))[len(records) :]
        if options.threads > 1 and options.seeds == 1 and left:
            records.append(run_once(scenario, None, laws.laws, threads=options.threads))
        elif left:
            done = run_many(
                scenario, left, threads=options.threads, progress=on_progress, laws=laws.laws, failed=failed
            )
            records += done[0]
    if not records:
        raise_failed(failed, options.seeds)
    for why in failed:
        note(f"a run failed: {why}")
    return records, failed


def _main_link(scenario: Scenario) -> str:
    """The link that a comparison would use; "" if the choice is ambiguous."""
    try:
        return queued_link(scenario)
    except UserError:
        return ""


def _check_files(scenario: Path, **options: Path | None) -> None:
    """Rejects a file that can't be written, and one file for two outputs."""
    taken: dict[Path, str] = {}
    for option, asked in options.items():
        check_file(asked, option, scenario)
        if asked is not None and (other := taken.setdefault(asked.resolve(), option)) != option:
            raise UserError(f'{option} "{asked}": expected another file than that of {other}')


def _check_series(scenario: Scenario, flent: Path | None, qlog: Path | None) -> None:
    """Rejects `--flent` or `--qlog` if the run lacks a series that the file needs."""
    if flent is not None:
        check_flent(scenario)
    if qlog is not None:
        traced(scenario.copy(), qlog)


def _print(records: list[Record], as_json: bool, wanted: list[str]) -> None:
    """Prints results: JSON lines, tables of one run, or means over the seeds.

    With `wanted` it prints only these measures.
    """
    if as_json:
        for record in records:
            typer.echo(" ".join(record.to_json().split("\n")))
    elif wanted:
        show_measures(records, chosen(wanted))
    elif len(records) == 1:
        show_record(records[0])
    else:
        show_replications(records)


def _exit_failed(failed: list[str], said: str) -> None:
    """Exits with code 1 and an error if runs failed."""
    if failed:
        err.print(f"error: {said}")
        raise typer.Exit(1)


def _save(records: list[Record], folder: Path) -> list[Path]:
    """Writes one record into the folder, or several into one folder each; returns the files."""
    if len(records) == 1:
        return records[0].save(folder)
    with together(folder):
        return [path for record in records for path in record.save(folder / f"seed-{record['seed']}")]


def _matrix(options: CompareOptions, controllers: str) -> None:
    """Runs and reports `compare --matrix`."""
    from sojourn.cli.matrix import run_matrix, save_matrix, show_matrix

    others = {
        "--queues": options.queues,
        "--cc": options.cc,
        "--law": options.law,
        "--link": options.link,
        "--group": options.group,
        "--cdf": options.cdf,
        "--sizes": options.sizes,
        "--measure": options.measure,
        "--baseline": options.baseline,
    }
    if given := [name for name, value in others.items() if value]:
        raise UserError.expected(
            "--matrix", "--vary, --set, --seeds, --controller, --json or --out beside it", given[0]
        )
    require("scipy", *(["pandas", "matplotlib"] if options.out_dir else []))
    check_folder(options.out_dir)
    how = options.seeds, options, options.laws()
    found = run_matrix(options.file, options.changes, controllers, variations(options.vary), how)
    show_matrix(found, options.as_json)
    if options.out_dir is not None:
        with options.styled():
            save_matrix(found, options.out_dir)


@dataclass(frozen=True, kw_only=True)
class CompareOptions(ScenarioOptions, ReportOptions, CacheOptions, StyleOptions):
    """What `compare` takes."""

    file: Annotated[Path | None, typer.Argument(help="A scenario file; with --matrix optional.")] = None
    queues: Annotated[
        str | None,
        typer.Option(
            "--queues", help="Queue disciplines, such as 'droptail,red(min=5,max=15),pd'.", autocompletion=values.queues
        ),
    ] = None
    cc: Annotated[
        str | None,
        typer.Option(
            "--cc", help="Congestion controllers, such as 'reno,cubic,flower+'.", autocompletion=values.controllers
        ),
    ] = None
    matrix: Annotated[
        str | None,
        typer.Option(
            "--matrix",
            help="Congestion controllers, such as 'reno,cubic,bbr3': each is run next to each other one.",
            autocompletion=values.controllers,
        ),
    ] = None
    vary: Vary = None
    seeds: Annotated[int, typer.Option("--seeds", help="Number of seeds; every case uses the same seeds.", min=1)] = 5
    link: Annotated[
        str | None,
        typer.Option(
            "--link",
            "--links",
            help="The links whose queues are varied and reported: names such as 'up,down', patterns such as 'core*', "
            "or all (default: the only link with a queue, else bottleneck).",
            autocompletion=values.links,
        ),
    ] = None
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            help="The group of flows that gets the controllers "
            "(default: all groups without a controller of their own).",
        ),
    ] = None
    cdf: Annotated[
        str | None,
        typer.Option(
            "--cdf",
            help=f"Distributions to plot with --out: {', '.join(values.DISTRIBUTIONS)}.",
            autocompletion=values.distributions,
        ),
    ] = None
    sizes: Annotated[
        str | None,
        typer.Option(
            "--sizes", help="Show completion times by size of transfer, in classes that end at '10 kB,100 kB,1 MB'."
        ),
    ] = None
    measure: Only = None
    out_dir: Out = None


@takes(CompareOptions)
def compare(options: CompareOptions) -> None:
    """Compares queues, controllers or values of a field.

    Every case runs the same scenario with the same seeds. Several options are combined: each queue with each
    controller.
    """
    if options.matrix is not None:
        _matrix(options, options.matrix)
        return
    if options.file is None:
        raise UserError.expected("compare", "a scenario file, or --matrix", "none")
    out_dir, link = options.out_dir, options.link
    if options.baseline is not None:
        read_baseline(options.baseline)  # before the runs
    require("scipy", *(["pandas", "pyarrow", "matplotlib"] if out_dir else []))
    check_folder(out_dir)
    if not (options.queues or options.cc or options.vary or options.law or options.controller):
        raise UserError("compare: expected --queues, --law, --cc, --controller or --vary, got none")
    laws, scenario = options.laws(), load_changed(options.file, options.changes)
    scenario.canonical()  # validates the scenario before its parts are used
    varied = variations(options.vary)
    check_unchanged(scenario, varied, options.changes)
    added = laws.unnamed(scenario, varied)
    compared, controls = added.among(options.queues, scenario, link), added.controls(options.cc, scenario)
    if not (compared or controls or varied):
        raise UserError(f"compare: expected --queues, --cc or --vary, since the scenario has {', '.join(laws.laws)}")
    classes = size_classes(options.sizes) if options.sizes else []
    curves = traced_for(scenario, options.cdf, out_dir, link)
    if classes:
        trace_completions(scenario)
    check_curves(scenario, varied, [*curves, *(["completion"] if classes else [])])
    rows = None
    if options.measure:
        links = queued_links(scenario, link)
        paths = dict.fromkeys(path for each in links for path in values.rows(scenario, options.measure, each))
        rows = chosen(list(paths), links[0] if len(links) == 1 else "")
    kept = options.store()
    with progress("comparing") as on_progress, laws.one_line(), of_vary(varied):
        found = run_compare(
            scenario,
            compared,
            options.seeds,
            cc=controls,
            vary=varied,
            link=link,
            group=options.group,
            measures=rows,
            threads=options.threads,
            cache=kept,
            progress=on_progress,
            laws=laws.laws,
        )
    note_warnings_in(found.cases)
    options.report(found)
    say_missing(rows or [], [record for each in found.records.values() for record in each])
    if classes and not options.as_json:
        show_sizes(found, classes)
    if out_dir is not None:
        with options.styled():
            written = save_comparison(found, curves, out_dir)
            written += save_sizes(found, classes, out_dir) if classes else []
        say_written(written, options.as_json)
    _exit_failed(found.failed, f"{counted(len(found.failed), 'run')} failed; the results have the other cases")


@dataclass(frozen=True, kw_only=True)
class SweepOptions(ScenarioOptions, CacheOptions, StyleOptions):
    """What `sweep` takes."""

    file: Annotated[Path, typer.Argument(help="A sweep file.")]
    out_dir: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for the results (default: results/NAME, the name of the sweep)."),
    ] = None
    plots: Annotated[str | None, typer.Option("--plot", help="Measures to show and plot, separated by commas.")] = None
    shard: Annotated[
        str | None,
        typer.Option("--shard", help="Run one part of the sweep, such as 3/64, and store its results in the cache."),
    ] = None
    executor: Annotated[
        str | None, typer.Option("--executor", help="Run on a cluster: dask=ADDRESS or ray=ADDRESS.")
    ] = None
    series: Annotated[
        bool, typer.Option("--series", help="Write the traces of all runs, one table per traced series.")
    ] = False


@takes(SweepOptions)
def sweep(options: SweepOptions) -> None:
    """Runs a grid over any fields of a scenario.

    An interrupted sweep continues where it stopped. To use several machines, run one `--shard` on each with a shared
    cache, then run the command without `--shard` to collect all results.
    """
    shard = options.shard
    if not shard:
        require("scipy", "pandas", "pyarrow", *(["matplotlib"] if options.plots else []))
    laws, plan = options.laws(), read_plan(options.file, dict(map(parse_assignment, options.changes)))
    laws.check_used(options.file, (point.scenario for point in plan.points))
    folder = options.out_dir or results_folder(file_name(plan.name))
    check_folder(folder)
    wanted = values.names_of(options.plots)
    values.check_measures(next(iter(plan.points)).scenario, wanted, "--plot")
    kept = options.store()
    others = named_executor(options.executor) if options.executor else None
    with progress(plan.name) as on_progress, laws.one_line():
        found = run_sweep(
            plan,
            threads=options.threads,
            cache=kept,
            progress=on_progress,
            executor=others,
            shard=shard,
            laws=laws.laws,
            series=options.series and not shard,
        )
    if shard:
        _say_shard(shard, found, options.cache)
        return
    there = [name for name in wanted if name in found.rows.names]
    shown = there or main_measures(found.rows.means())
    with options.styled():
        written = _save_sweep(found, there, folder)
    for name in wanted:
        if name not in there:
            err.print(f"{name}: null in every run")
    first = next(found.rows.tables(FIRST_POINTS * plan.replications))
    axes = {axis: found.units.get(axis) for axis in found.axes}
    table = show_sweep(axes, next(found.summaries(shown, FIRST_POINTS)), shown, first, len(plan.points))
    with together(folder, add=True):
        written.append(write_atomic(folder / "table.tex", latex(table)))
    say_written(written)
    _exit_failed(found.failed, f"{len(found.failed)} of {len(plan.jobs())} runs failed; the results have the others")


def _save_sweep(found: SweepResult, plotted: list[str], folder: Path) -> list[Path]:
    """Writes the tables of a sweep and plots some measures; returns the files."""
    with together(folder):
        written = [
            frames_to_parquet(found.rows.tables(PART), folder / "runs.parquet", found.units),
            frames_to_parquet(found.summaries(), folder / "summary.parquet", found.units),
            frames_to_csv(found.summaries(), folder / "summary.csv", found.units),
        ]
        for name, stem in file_names(found.series_names()).items():
            written.append(frame_to_parquet(found.series_table(name), folder / "series" / f"{stem}.parquet"))
    if plotted:
        import pandas as pd

        from sojourn.plots.results import plot_means

        by = {axis: found.units.get(axis) for axis in found.axes}
        with together(folder, add=True):
            written += plot_means(pd.concat(found.summaries(plotted)), by, plotted, folder)
    return written


def _say_shard(shard: str, found: SweepResult, cache: Path) -> None:
    """Reports on a shard, whose results are stored in the cache only."""
    runs = counted(len(found.rows), "run")
    said = f"shard {shard}: {runs} in {cache}; the same command without --shard has the results of all shards"
    err.print(one_line(said))
    _exit_failed(found.failed, f"{len(found.failed)} runs of shard {shard} failed; the cache has the others")
