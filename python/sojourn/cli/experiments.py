"""The commands that run an experiment: `reproduce` and `study`."""

from __future__ import annotations

import math
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from sojourn.cli import values
from sojourn.cli.listing import names
from sojourn.cli.options import CacheOptions, takes
from sojourn.cli.output import RESULTS, check_file, check_folder, out, progress, results_folder
from sojourn.core.errors import RunError, UserError, one_line
from sojourn.core.extras import require
from sojourn.core.stats import MEAN, estimate_of
from sojourn.core.text_format import counted, elapsed, number
from sojourn.runs.hosts import Host
from sojourn.runs.runner import Progress
from sojourn.runs.workers import cpu_time

if TYPE_CHECKING:
    from sojourn.experiments import Outcome, RunOptions
    from sojourn.experiments.model import Experiment, Grid
    from sojourn.experiments.outcome import ClaimResult, PartResult
    from sojourn.experiments.schema.claims import Origin
    from sojourn.experiments.verdict import Verdict
    from sojourn.experiments.wording import Wording

STYLES = {"good": "green", "fit": "bright_green", "fair": "yellow", "bad": "red", "open": "cyan", "soft": "dim", "": ""}
"""The terminal color of each class of verdicts."""


ALL = "all"
"""The name that selects every paper, or every study."""
STUDY = "study"
"""The command for studies: as `reproduce`, but without `all`."""


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(reproduce)
    app.command(STUDY, help="Runs a study, or `all` studies, as `reproduce` does.")(reproduce)


def experiment_names() -> list[str]:
    """Papers and studies, for the completion of a command line."""
    return [*names("papers"), *names("studies")]


@dataclass(frozen=True, kw_only=True)
class ReproduceOptions(CacheOptions):
    """What `reproduce` and `study` take."""

    context: typer.Context
    experiment: Annotated[
        str,
        typer.Argument(
            help="A paper or study of `sojourn list`, a folder with an experiment.toml, or `all`.",
            autocompletion=experiment_names,
        ),
    ]
    grids: Annotated[
        list[str] | None, typer.Argument(help="Grids and claims of the experiment (default: all grids).")
    ] = None
    seeds: Annotated[int | None, typer.Option("--seeds", help="Number of seeds (default: the paper's).", min=1)] = None
    until_decided: Annotated[
        int | None,
        typer.Option("--until-decided", help="Double the seeds until no claim is undecided, up to this number.", min=1),
    ] = None
    quick: Annotated[bool, typer.Option("--quick", help="Use few seeds and shorter runs for a first look.")] = False
    full: Annotated[bool, typer.Option("--full", help="Run every seed at full length, optional grids too.")] = False
    out_dir: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for report, figures and tables (default: results/ID with the paper's ID)."),
    ] = None
    demand: Annotated[bool, typer.Option("--require", help="Exit with 1 unless every claim holds, and by no fit.")] = (
        False
    )
    archive: Annotated[
        Path | None,
        typer.Option("--zip", help="Write the experiment, report, figures, tables and a manifest to this zip file."),
    ] = None
    queues: Annotated[
        str | None,
        typer.Option(
            "--queues",
            help="Queues or controllers instead of the experiment's, such as 'codel,red(min=5)'.",
            autocompletion=values.queues,
        ),
    ] = None
    shard: Annotated[
        str | None, typer.Option("--shard", help="Run one part, such as 3/64, and store its results in the cache.")
    ] = None
    host: Annotated[Host, typer.Option("--host", help="The TCP stack: simulator or Linux kernel.")] = Host.SIMULATOR

    @property
    def names(self) -> tuple[str, ...]:
        """The named grids and claims; none for all."""
        return tuple(self.grids or ())


@takes(ReproduceOptions)
def reproduce(options: ReproduceOptions) -> None:
    """Reruns a paper's experiments and checks its claims.

    It prints published and measured values with a verdict on every claim, and writes a report. An interrupted rerun
    continues where it stopped. To use several machines, run one `--shard` on each with a shared cache, then run the
    command without `--shard` to collect all results. With `all`, each report is written as soon as its paper is done.
    """
    require("pydantic", "jinja2", "pandas", "pyarrow", "matplotlib", "scipy", "control")
    from sojourn.experiments.dry_check import check_results
    from sojourn.experiments.own_queues import with_queues
    from sojourn.experiments.selection import choose

    if options.quick and options.full:
        raise UserError("--quick --full: expected one of them, got both")
    check_file(options.archive, "--zip")
    if options.experiment == ALL:
        _check_alone(options)
    chosen = _chosen(options)
    for each in chosen:
        check_results(each, choose(each, options.names, options.full).grids)
    if options.queues is not None:
        chosen = [with_queues(each, options.queues) for each in chosen]
    if options.shard is not None:
        _run_shard(chosen, options, options.shard)
        return
    folders = [options.out_dir or _results(each, options.quick, options.host) for each in chosen]
    for folder in folders:
        check_folder(folder)
    wall, cpu = time.perf_counter(), cpu_time()
    ends = _rerun(list(zip(chosen, folders, strict=True)), options)
    if options.out_dir is None:
        from sojourn.experiments.index import write_index

        out.print(f"all:     {write_index(RESULTS)}")
    if options.experiment == ALL:
        spent = f"{elapsed(time.perf_counter() - wall)} ({elapsed(cpu_time() - cpu)} of CPU time)"
        out.print(f"{counted(len(chosen), 'experiment')} in {spent}")
    if options.archive is not None:
        from sojourn.experiments.artifact import write_zip

        out.print(one_line(f"zip:     {write_zip(options.archive, chosen[0], folders[0])}"))
    ends.exit(options.demand)


@dataclass
class _Ends:
    """What decides the exit code of a command: claims that do not simply hold, and errors."""

    failed: list[str] = field(default_factory=list)
    fitted: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    mistakes: list[str] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        """Adds an outcome whose report is written."""
        from sojourn.experiments.verdict import Verdict

        self.mistakes += outcome.mistakes or []
        kinds = {Verdict.REPRODUCED: [], Verdict.BY_FIT: self.fitted, Verdict.UNDECIDED: self.undecided}
        for result in outcome.results:
            kinds.get(result.verdict, self.failed).append(result.claim.id)

    def exit(self, demand: bool) -> None:
        """Raises `UserError` for a mistake; with `demand`, `RunError` unless all claims hold."""
        if self.mistakes:
            raise UserError(self.mistakes[0])
        said = [f"claims that do not hold: {', '.join(self.failed)}"] if self.failed else []
        if self.fitted:
            said.append(f"claims that hold by a fit: {', '.join(self.fitted)}")
        if self.undecided:
            said.append(f"undecided claims: {', '.join(self.undecided)} (more --seeds narrow their intervals)")
        if demand and said:
            raise RunError("; ".join(said))


def _chosen(options: ReproduceOptions) -> list[Experiment]:
    """The named experiment, or all papers or studies."""
    from sojourn.experiments import find_experiment, find_experiments

    if options.experiment == ALL:
        return find_experiments("studies" if options.context.info_name == STUDY else "papers")
    return [find_experiment(options.experiment)]


def _run_options(options: ReproduceOptions, on_progress: Progress) -> RunOptions:
    """How the runs are done."""
    from sojourn.experiments import RunOptions  # here: it takes seconds to load

    return RunOptions(
        quick=options.quick,
        threads=options.threads,
        cache=options.store(),
        progress=on_progress,
        host=options.host,
        full=options.full,
        keep_mistakes=True,
    )


def _rerun(chosen: list[tuple[Experiment, Path]], options: ReproduceOptions) -> _Ends:
    """Runs experiments and writes their reports; returns what decides the exit code."""
    from sojourn.experiments.report import write_report
    from sojourn.experiments.reproduce import until_decided

    ends = _Ends()
    with ThreadPoolExecutor(1) as writer:
        report: _Report | None = None
        for each, folder in chosen:
            with progress(each.id) as on_progress:
                how = _run_options(options, on_progress)
                outcome = until_decided(each, options.names, options.seeds, how, options.until_decided or 0)
            if report:
                ends.add(report.print())
            _print_outcome(outcome, bool(options.names))
            report = _Report(outcome, folder, writer.submit(write_report, outcome, folder))
        if report:
            ends.add(report.print())
    return ends


def _run_shard(chosen: list[Experiment], options: ReproduceOptions, shard: str) -> None:
    """Executes one part of the runs. The results are written to the cache only."""
    from sojourn.experiments.reproduce import run_shard

    for each in chosen:
        with progress(each.id) as on_progress:
            done = run_shard(each, options.names, options.seeds, _run_options(options, on_progress), shard)
        out.print(f"{each.id}, shard {shard}: {counted(done, 'run')} in the cache")


def _print_scores(outcome: Outcome) -> None:
    """Prints the score card, if the outcome has one."""
    from sojourn.experiments.scores import score_card

    if card := score_card(outcome):
        table = Table(title=f"in how many scenarios, compared with {card.reference}", title_justify="left")
        table.add_column("queue")
        for score in card.scores:
            table.add_column(score, justify="right")
        for row in card.rows:
            table.add_row(row.queue, *row.texts)
        out.print(table)
        if card.uncounted:
            out.print(f"left out, for lack of a counted measure: {', '.join(each.title for each in card.uncounted)}")


def _check_alone(options: ReproduceOptions) -> None:
    """Rejects a grid, `--out` and `--zip` together with `all`."""
    asked = {"--out": options.out_dir, "--zip": options.archive}
    given = [f'the grid "{options.names[0]}"'] if options.names else []
    given += [f'{option} "{value}"' for option, value in asked.items() if value is not None]
    if given:
        raise UserError(f'paper: expected one paper beside {given[0]}, got "{ALL}"')


@dataclass(frozen=True)
class _Report:
    """A report that another thread writes while the next paper runs."""

    outcome: Outcome
    folder: Path
    written: Future[list[Path]]

    def print(self) -> Outcome:
        """Waits for the report, prints where its files are, and returns the outcome."""
        written = self.written.result()
        figures = sum(path.suffix == ".pdf" for path in written)
        ends = {path.suffix for path in written}
        out.print(one_line(f"report:  {written[-1]}"))
        if figures:
            out.print(one_line(f"figures: {self.folder / 'figures'} ({figures}, each as PNG and PDF)"))
        out.print(
            one_line(
                f"tables:  {self.folder / 'tables'} ({', '.join(name for end, name in FORMATS.items() if end in ends)})"
            )
        )
        if self.outcome.effort:
            out.print(f"runs:    {self.outcome.effort}")
        return self.outcome


def _print_outcome(outcome: Outcome, every_table: bool) -> None:
    """Prints the outcome of one paper.

    Tables of grids without published values are shown with `every_table` only.
    """
    from sojourn.experiments.needs import left_out
    from sojourn.experiments.wording import ORIGINS

    experiment = outcome.experiment
    out.print(experiment.citation)
    if outcome.caution:
        out.print(outcome.caution, style="bold")
    tables = {each.grid for each in experiment.tables}
    for each in outcome.grids:
        if each.cases() and (each.id in tables or every_table):
            out.print(_cells(outcome, each))
    _print_scores(outcome)
    for origin in ORIGINS:
        if results := outcome.of_origin(origin):
            out.print(_claims(outcome, origin, results))
    words = experiment.words
    if experiment.claims:
        out.print(f"{words.claims}: {outcome.counts_text(experiment.origin, every=True)}")
    for origin in ORIGINS:
        if origin != experiment.origin and outcome.of_origin(origin):
            out.print(f"{words.others.lower()} ({origin}): {outcome.counts_text(origin)}")
    if advice := outcome.advice:
        out.print(advice, style="bold")
    if missing := left_out(outcome):
        claims = list(dict.fromkeys(claim.id for each in missing for claim in each.claims))
        rest = f" (claims {', '.join(claims)})" if claims else ""
        names = ", ".join(each.grid.id for each in missing)
        out.print(f"left out: {names}{rest}; `sojourn reproduce {experiment.id} --full` runs all")


def _results(experiment: Experiment, quick: bool, host: Host = Host.SIMULATOR) -> Path:
    """The default folder of the report, inside `results`.

    This holds even if the experiment's folder contains symbolic links.
    """
    suffixes = ["quick"] * quick + [str(host)] * (host is Host.LINUX)
    return results_folder("-".join([experiment.id, *suffixes]), Path.cwd().is_relative_to(experiment.root.resolve()))


def _cells(outcome: Outcome, grid: Grid) -> Table:
    """A table of published and measured values, one row per case of the grid."""
    cells = outcome.cells(grid)
    measures = list(dict.fromkeys(cells["measure"]))
    given = "published/measured, " if cells[["published", "reference"]].notna().any(axis=None) else ""
    title = f"{grid.title}: {given}{MEAN} over {counted(outcome.replications(grid), 'seed')}"
    table = Table(title=title, title_justify="left")
    settings = any(grid.settings)
    for name in ["scenario", "queue", *(["setting"] if settings else [])]:
        table.add_column(name)
    for name in measures:
        table.add_column(outcome.experiment.measures[name].title, justify="right")
    for case in grid.cases():
        at = cells[(cells["scenario"] == case.scenario) & (cells["queue"] == case.queue)]
        at = at[at["setting"] == case.setting].set_index("measure")
        labels = [outcome.experiment.scenarios[case.scenario].label, outcome.experiment.queues[case.queue].label]
        if settings:
            labels.append(outcome.experiment.settings[case.setting].label if case.setting else "as chosen")
        table.add_row(*labels, *[_cell(at.loc[name], outcome.experiment.measures[name].unit) for name in measures])
    return table


def _cell(row: Any, unit: str) -> Text:
    """One cell: published / measured, and the mark of its verdict."""
    from sojourn.experiments.pages import CLASSES, MARKS

    digits, verdict = int(row["decimals"]), str(row["verdict"])
    given = row["reference"] if math.isnan(row["published"]) else row["published"]
    published = "" if math.isnan(given) else f"{given:.{digits}f}/"
    own_unit = f" {row['unit']}" if row["unit"] != unit else ""
    text = Text(f"{published}{estimate_of(row).text(places=digits + 1)}{own_unit}")
    if verdict:
        text.append(f" {MARKS[verdict]}", style=STYLES[CLASSES[verdict]])
    return text


def _claims(outcome: Outcome, origin: Origin, results: list[ClaimResult]) -> Table:
    """A table with one row per claim of this origin.

    For a claim with several parts, the row shows how many of them hold. The parts that do not hold follow.
    """
    words = outcome.experiment.words
    title = "claims" if origin == outcome.experiment.origin else f"{words.others.lower()} ({origin})"
    table = Table(title=title, title_justify="left")
    judged = [result for result in results if not result.claim.table]
    published = any(part.published is not None for result in judged for part in result.parts)
    heads = ("", words.origins[origin].says, "target", *(["published"] if published else []), "measured", "verdict")
    for name in heads:
        table.add_column(name)
    for each in outcome.experiment.tables:
        rows = [result for result in results if result.claim.table == each.id]
        if rows:
            text = f"{each.title}: {counted(len(rows), 'row')} of {counted(len(each.measures), 'value')}"
            counts = words.counts_text([result.verdict for result in rows])
            table.add_row(each.id, text, *[""] * (len(heads) - 3), counts)
    for result in judged:
        one = len(result.parts) == 1 and not result.readings
        numbers = _one_part(result.parts[0]) if one else _many_parts(result)
        rows_of_claim = [(result.claim.id, result.claim.text, numbers, result.verdict)]
        open_parts = [] if one else _open_parts(result)
        rows_of_claim += [("", f"  {part.name}", _one_part(part), part.verdict) for part in open_parts]
        for name, text, (target, given, measured), verdict in rows_of_claim:
            table.add_row(name, text, target, *([given] if published else []), measured, _verdict(verdict, words))
    return table


FORMATS = {".csv": "CSV", ".parquet": "Parquet", ".tex": "LaTeX", ".md": "Markdown"}
"""The formats of tables by the ends of their names."""
MOST_PARTS = 6
"""The most parts of a claim that the terminal shows. The page and `claims.csv` have all."""


def _open_parts(result: ClaimResult) -> list[PartResult]:
    """The first parts of a claim that do not hold."""
    return [part for part in result.parts if not part.verdict.holds][:MOST_PARTS]


def _verdict(verdict: Verdict, words: Wording) -> Text:
    """A verdict with its mark."""
    from sojourn.experiments.pages import CLASSES, MARKS

    return Text(f"{MARKS[str(verdict)]} {words.word(verdict)}", style=STYLES[CLASSES[str(verdict)]])


def _one_part(part: PartResult) -> tuple[str, str, str]:
    """Target, published and measured value of a part."""
    published = "" if part.published is None else number(part.published)
    return part.target_text, published, part.measured_with_unit


def _many_parts(result: ClaimResult) -> tuple[str, str, str]:
    """The same columns for a claim with several parts: the number of parts that hold."""
    said = [part.published_holds for part in result.parts if part.published_holds is not None]
    return "", f"{sum(said)} of {len(said)}" if said else "", result.held
