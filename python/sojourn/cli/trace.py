"""Commands for traces of links: `trace show`, `trace make`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from sojourn import paths as library
from sojourn.cli.output import check_file, out
from sojourn.cli.values import quantity
from sojourn.core.errors import UserError, one_line
from sojourn.core.extras import require
from sojourn.core.text_format import counted
from sojourn.imports.link_traces import FORMATS, PROCESSES, Process, Step, summary, write
from sojourn.paths.generator import trace

Format = Annotated[str | None, typer.Option("--format", help=f"{', '.join(FORMATS)}; default: by the file name.")]
MOST_VALUES = 10_000_000
BARS = " ▁▂▃▄▅▆▇█"


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    commands = typer.Typer(no_args_is_help=True, help="Shows and generates link traces (capacity over time).")
    commands.command()(show)
    commands.command()(make)
    app.add_typer(commands, name="trace")


def show(
    file: Annotated[Path, typer.Argument(help="A file with a trace.")],
    form: Format = None,
    folder: Annotated[Path | None, typer.Option("--out", help="Folder for a plot of the rate, as PNG and PDF.")] = None,
) -> None:
    """Summarizes a trace and draws its rate."""
    if folder is not None:
        require("matplotlib")
    width = max(10, min(out.width, 80))
    found, means = summary(file, form, 1000 if folder is not None else width)
    rows = counted(found["rows"], "row")
    out.print(one_line(f"{file}: {found['format']}, {rows}, {found['period_s']:g} s, {_rates(found)}"))
    if found["most_delay_s"] > 0:
        out.print(f"delay {found['least_delay_s'] * 1e3:g} to {found['most_delay_s'] * 1e3:g} ms on top of the link's")
    if found["most_loss"] > 0:
        out.print(f"loss up to {found['most_loss'] * 100:g} %")
    if folder is not None:
        from sojourn.plots.link_traces import plot_trace

        for path in plot_trace(file, found["period_s"], means, folder):
            out.print(one_line(str(path)))
        return
    highest = float(means.max())
    out.print("".join(BARS[round(float(mean) / highest * (len(BARS) - 1))] for mean in means))
    out.print(f"0 to {found['period_s']:g} s, highest {highest / 1e6:.4g} Mbit/s (means of {width} parts)")


def _rates(found: dict[str, Any]) -> str:
    mean = f"mean {found['mean_bps'] / 1e6:.4g} Mbit/s"
    if found["opportunities"] is not None:
        return f"{found['opportunities']:,} opportunities, {mean}"
    return f"{found['least_bps'] / 1e6:.4g} to {found['most_bps'] / 1e6:.4g} Mbit/s, {mean}"


def make(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    kind: Annotated[str, typer.Option("--kind", help=f"The process: {', '.join(PROCESSES)}.")] = "markov",
    duration: Annotated[str, typer.Option("--duration", help="Duration of the trace.")] = "60 s",
    every: Annotated[str, typer.Option("--every", help="Time between two values.")] = "100 ms",
    low: Annotated[
        str, typer.Option("--low", help="The lowest rate. During the 100 ms of a handover of leo the rate is 0.")
    ] = "1 Mbit/s",
    high: Annotated[str, typer.Option("--high", help="The highest rate.")] = "20 Mbit/s",
    seed: Annotated[int, typer.Option("--seed", help="The seed of the random numbers.", min=0)] = 1,
    form: Format = None,
    path: Annotated[
        str | None,
        typer.Option(
            "--path",
            help="A path of the library instead of --kind, --every, --low and --high: sojourn list paths.",
            autocompletion=lambda: list(library.names()),
        ),
    ] = None,
) -> None:
    """Generates a trace of random rates.

    The rates follow a Markov chain, a random walk, a model of satellites in low orbit, or a path of the library.
    """
    check_file(file, "file")
    if path is not None:
        made = _trace_of_path(ctx, path, duration, seed)
        out.print(one_line(str(write(file, made, form))))
        return
    if kind not in PROCESSES:
        raise UserError.unknown("--kind", kind, PROCESSES)
    total, each = _milliseconds("--duration", duration), _milliseconds("--every", every)
    rates = [quantity(option, "rate", text) for option, text in (("--low", low), ("--high", high))]
    if not 1 <= rates[0] <= rates[1] <= 1e13:
        raise UserError.expected("--low", f"a rate of at most --high {high}, itself at most 10000 Gbit/s", low)
    if total // each > MOST_VALUES:
        raise UserError.expected("--every", f"at most {MOST_VALUES:,} values in {duration}", every)
    process = Process(total, each, rates[0], rates[1], seed)
    out.print(one_line(str(write(file, PROCESSES[kind](process), form))))


def _trace_of_path(ctx: typer.Context, name: str, duration: str, seed: int) -> Iterator[Step]:
    """A trace of a path of the library.

    Raises `UserError` for options that the path itself sets.
    """
    found = library.find(name)
    for key in ("kind", "every", "low", "high"):
        given = ctx.get_parameter_source(key)
        if given is not None and given.name == "COMMANDLINE":
            raise UserError.expected(f"--{key}", "no such option beside --path", ctx.params[key])
    total = _milliseconds("--duration", duration)
    every_ms = found.varying.every_ms if found.varying else total
    if total // every_ms > MOST_VALUES:
        raise UserError.expected("--duration", f"at most {MOST_VALUES:,} values of {every_ms} ms", duration)
    return trace(found, total, seed)


def _milliseconds(option: str, text: str) -> int:
    """Parses a time in whole milliseconds. Raises `UserError` for other texts."""
    ms = quantity(option, "time", text) * 1e3
    if not (1 <= round(ms) <= 10**9 and abs(ms - round(ms)) < 1e-6):
        raise UserError.expected(option, "a time in whole ms, 1 ms to 1000000 s", text)
    return round(ms)
