"""The command that compares congestion controllers as background transport: `bench-lbe`."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from sojourn.bench_gains import GAINS, RATE, Gains, measure_gains, places
from sojourn.bench_grid import CHANCE, Grid, cells, levels, measure_grid, with_target
from sojourn.bench_grid import ROWS as GRID_ROWS
from sojourn.bench_l4s import MEASURES, RATES, RTTS, WAYS, Cells, measure_l4s, with_mark_gain
from sojourn.bench_lbe import LEAST, ROWS, Row, ScoreCards, controllers, score
from sojourn.cli.output import CACHE, CacheDir, NoCache, Threads, check_file, out, progress, show, store
from sojourn.display import counted
from sojourn.errors import UserError, meant
from sojourn.extras import require
from sojourn.files import write_atomic


@dataclass
class Printed:
    """A table to print: its title, its columns, and rows of cells by section; a star stands before the best."""

    title: str
    columns: list[str]
    labels: int
    """How many columns say what a row is; they begin every table."""
    sections: dict[str, list[list[str]]] = field(default_factory=dict)
    note: str = ""

    def row(self, section: str, *cells: str) -> None:
        """Adds a row to a section."""
        self.sections.setdefault(section, []).append(list(cells))

    def show(self) -> None:
        """Prints the table; what does not fit into the width goes into further ones."""
        rows = [row for rows in self.sections.values() for row in rows]
        widths = [max(len(self.columns[i]), *(len(row[i]) for row in rows)) + 3 for i in range(len(self.columns))]
        room = out.width - sum(widths[: self.labels]) - 4
        parts: list[list[int]] = [[]]
        for i in range(self.labels, len(self.columns)):
            if parts[-1] and sum(widths[k] for k in parts[-1]) + widths[i] > room:
                parts.append([])
            parts[-1].append(i)
        for part in parts:
            self._print([*range(self.labels), *part])
        if self.note:
            out.print(self.note)

    def _print(self, columns: Sequence[int]) -> None:
        table = Table(title=self.title, title_justify="left")
        for i in columns:
            table.add_column(self.columns[i], justify="left" if i == 0 else "right", no_wrap=True)
        for section, rows in self.sections.items():
            table.add_section()
            if section:
                table.add_row(section, style="bold")
            for row in rows:
                table.add_row(*(("  " if section and i == 0 else "") + row[i] for i in columns))
        show(table)

    def markdown(self) -> str:
        """The table in Markdown, for a document."""
        lines = [f"{self.title}.", "", f"| {' | '.join(self.columns)} |", "|" + "---|" * len(self.columns)]
        for section, rows in self.sections.items():
            if section:
                lines.append(f"| *{section}* |" + " |" * (len(self.columns) - 1))
            for row in rows:
                shown = [f"**{cell.removeprefix('* ')}**" if cell.startswith("* ") else cell.strip() for cell in row]
                lines.append(f"| {' | '.join(shown)} |")
        note = self.note.replace("*: ", "Bold: ", 1).split("\n")
        return "\n".join([*lines, "", note[0], "", *(f"- {line}" for line in note[1:])]).strip()


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="bench-lbe")(bench_lbe)


def bench_lbe(
    names: Annotated[list[str] | None, typer.Argument(help="Controllers (default: all of `sojourn list cc`).")] = None,
    seeds: Annotated[int, typer.Option("--seeds", help="Replications; an interval needs two or more.", min=1)] = 5,
    grid: Annotated[bool, typer.Option("--grid", help="Compare over targets, buffers, rates and RTTs.")] = False,
    l4s: Annotated[bool, typer.Option("--l4s", help="In a dual queue that marks, next to Prague and CUBIC.")] = False,
    gains: Annotated[
        bool, typer.Option("--gains", help="In two queues that mark, with gains for marks of 1 to 16.")
    ] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables in Markdown.")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the numbers to this file as well.")] = None,
    threads: Threads = 0,
    cache: CacheDir = CACHE,
    no_cache: NoCache = False,
) -> None:
    """Compares background transports next to CUBIC.

    Prints means with 95 % intervals over the seeds. One card is for 10 Mbit/s and 40 ms. With `--grid` each pair of
    controllers is compared in 81 cells of target, buffer, rate and round-trip time. With `--l4s` the bottleneck is a
    DualPI2, and each controller that counts marks is measured in three ways in 16 cells of rate and round-trip time:
    it takes about 20 s of processor time for each controller and seed; with `--gains` each of them with five values of
    `mark_gain` over DualPI2 and over a step, in about as much.
    """
    require("scipy")
    check_file(json_file, "--json")
    known, what = _known({"--grid": grid, "--l4s": l4s, "--gains": gains})
    chosen = list(dict.fromkeys(names or known))
    for name in chosen:
        if name not in known:
            wrong = UserError.expected("controller", f"{what}: one of {', '.join(known)}", name)
            raise UserError(f"{wrong}{meant(name, known)}")
    if grid and len(chosen) < 2:
        raise UserError.expected("--grid", "two controllers or more", ", ".join(chosen))
    with progress("bench-lbe") as on_progress:
        how: Any = {"threads": threads, "cache": store(cache, no_cache), "progress": on_progress}
        if grid:
            compared = measure_grid(chosen, range(1, seeds + 1), **how)
            printed: list[Printed] = _compared(compared)
            data: Any = _grid_data(compared)
        elif l4s:
            cells_of = measure_l4s(chosen, range(1, seeds + 1), **how)
            printed, data = [_marked(cells_of, seeds)], _l4s_data(cells_of)
        elif gains:
            gains_of = measure_gains(chosen, range(1, seeds + 1), **how)
            printed, data = [_by_gain(gains_of)], _gains_data(gains_of)
        else:
            measured = score([{"cc": name} for name in chosen], range(1, seeds + 1), **how)
            printed, data = [_card(chosen, measured)], _card_data(chosen, measured)
    for each in printed:
        if markdown:
            typer.echo(each.markdown() + "\n")
        else:
            each.show()
    if json_file:
        write_atomic(json_file, json.dumps(data, indent=1, allow_nan=False) + "\n")


def _known(options: Mapping[str, bool]) -> tuple[list[str], str]:
    """The controllers that can be measured with the option that is given, and what they are."""
    given = [option for option, asked in options.items() if asked]
    if len(given) > 1:
        raise UserError(f"{', '.join(given)}: expected one of them, got {len(given)}")
    if given == ["--grid"]:
        return with_target(), "a controller with a target"
    return (with_mark_gain(), "a controller that counts marks") if given else (controllers(), "a controller")


def _card(names: list[str], measured: ScoreCards) -> Printed:
    """The score card: means with intervals, the significantly best with a star."""
    seeds = measured.values.shape[-1]
    title = f"Background transport on 10 Mbit/s, 40 ms, 100 packets: mean of {seeds} seeds, 95 % interval"
    if seeds == 1:
        title = "Background transport on 10 Mbit/s, 40 ms, 100 packets: 1 seed, so no intervals"
    table = Printed(title, ["", "better", *names], 2)
    for i, row in enumerate(ROWS):
        best = measured.best(i)
        texts = [("* " if j in best else "") + measured.text(j, i) for j in range(len(names))]
        table.row(row.section, row.title, "less" if row.less else "more", *texts)
    if seeds > 1 and len(names) > 1:
        table.note = (
            f"*: better than every other by more than {_least(ROWS)}, and the 95 % interval of each difference "
            "(same seeds) excludes 0"
        )
        for one, other in itertools.combinations(range(len(names)), 2):
            better, worse = measured.counts(one, other)
            table.note += f"\n{names[one]}: significantly better than {names[other]} in {better} of {len(ROWS)} lines, "
            table.note += f"worse in {worse}"
    return table


def _compared(grid: Grid) -> list[Printed]:
    """The comparison of each pair of controllers over the grid; for one pair also by target, buffer, rate and RTT."""
    seeds, every = grid.values.shape[-1], range(len(GRID_ROWS))
    measures = [row.title for row in GRID_ROWS]
    head = f"Cells of {len(cells())} where the first is significantly better / worse ({counted(seeds, 'seed')})"
    table = Printed(head, ["", *measures], 1)
    pairs = list(itertools.combinations(range(len(grid.names)), 2))
    for one, other in pairs:
        pair = f"{grid.names[one]} against {grid.names[other]}"
        counts = [f"{np.sum(grid.better(one, other, i))} / {np.sum(grid.better(other, one, i))}" for i in every]
        table.row("", pair, *counts)
        table.row("", "  mean advantage", *(f"{np.mean(grid.advantage(one, other, i)):+.3g}" for i in every))
        table.row("", "  verdict", *(grid.verdict(one, other, i) for i in every))
    table.note = (
        f"A cell counts where the difference is above {_least(GRID_ROWS)} and its 95 % interval (same seeds) "
        f"excludes 0. Chance alone gives about {len(cells()) * CHANCE / 2:.0f} of {len(cells())} cells to each side."
    )
    if len(pairs) > 1:
        return [table]
    by_level = Printed(f"{grid.names[0]} against {grid.names[1]}, better / worse", ["", "cells", *measures], 2)
    for level, here in levels():
        wins = [(np.sum(grid.better(0, 1, i)[here]), np.sum(grid.better(1, 0, i)[here])) for i in every]
        by_level.row("", level, str(np.sum(here)), *(f"{more} / {less}" for more, less in wins))
    return [table, by_level]


def _least(rows: list[Row]) -> str:
    """The least differences that count."""
    units = dict.fromkeys(row.unit for row in rows)
    return " or ".join(f"{LEAST[unit]:g} {unit or 'of the index'}" for unit in units)


def _marked(measured: Cells, seeds: int) -> Printed:
    """The cells of the dual queue: a row for each controller and way, the values by round-trip time."""
    rtts = " / ".join(f"{rtt:g}" for rtt in RTTS)
    of = f"medians of {seeds} seeds" if seeds > 1 else "1 seed"
    title = f"Background transport over DualPI2, round trips of {rtts} ms: {of}"
    table = Printed(title, ["", "marks", *MEASURES], 2)
    for k, rate in enumerate(RATES):
        for i, name in enumerate(measured.names):
            for j, way in enumerate(WAYS):
                of_rate = measured.values[i, j, k]
                texts = (
                    " / ".join("never" if math.isnan(v) else f"{v:.3g}" for v in of_rate[:, m])
                    for m in range(len(MEASURES))
                )
                table.row(f"{rate:g} Mbit/s", name, way, *texts)
    return table


def _by_gain(measured: Gains) -> Printed:
    """A row for each controller and gain: what it uses alone and its share, for each queue and round-trip time."""
    seeds = measured.values.shape[-1]
    of = f"mean of {seeds} seeds, 95 % interval" if seeds > 1 else "1 seed, so no intervals"
    heads = [
        f"{queue.label}, {rtt:g} ms: {what} (%)"
        for rtt, queue in places()
        for what in ("alone", f"next to {queue.other}")
    ]
    table = Printed(f"Background transport over {RATE:g} Mbit/s by the gain for marks: {of}", ["mark_gain", *heads], 1)
    for i, name in enumerate(measured.names):
        for j, gain in enumerate(GAINS):
            cells_of = [
                measured.estimate(i, j, place, which).text(places=1)
                for place in range(len(places()))
                for which in (0, 1)
            ]
            table.row(name, f"{gain:g}", *cells_of)
    return table


def _gains_data(measured: Gains) -> list[dict[str, Any]]:
    """A table for each controller, gain and place, with the values of the seeds."""
    cases = itertools.product(enumerate(measured.names), enumerate(GAINS), enumerate(places()))
    return [
        {
            "controller": name, "mark_gain": gain, "queue": queue.label, "other": queue.other, "rtt_ms": rtt,
            "alone_percent": measured.values[i, j, k, 0].tolist(),
            "share_percent": measured.values[i, j, k, 1].tolist(),
        }
        for (i, name), (j, gain), (k, (rtt, queue)) in cases
    ]  # fmt: skip


def _l4s_data(measured: Cells) -> list[dict[str, Any]]:
    """A table for each cell: null for what was not reached."""
    places = itertools.product(enumerate(measured.names), enumerate(WAYS), enumerate(RATES), enumerate(RTTS))
    return [
        {
            "controller": name, "marks": way, "rate_mbps": rate, "rtt_ms": rtt,
            **{of: _finite(value) for of, value in zip(MEASURES, measured.values[i, j, k, m], strict=True)},
        }
        for (i, name), (j, way), (k, rate), (m, rtt) in places
    ]  # fmt: skip


def _card_data(names: list[str], measured: ScoreCards) -> dict[str, Any]:
    """Mean and ends of the interval, and the values of the seeds; null where it never happened."""
    return {
        name: {
            f"{row.section}: {row.label}": {
                **{end: _finite(getattr(measured.estimate(j, i), end)) for end in ("mean", "low", "high")},
                "values": [_finite(value) for value in measured.values[j, i]], "best": j in measured.best(i),
            }
            for i, row in enumerate(ROWS)
        }
        for j, name in enumerate(names)
    }  # fmt: skip


def _grid_data(grid: Grid) -> list[dict[str, Any]]:
    """A table for each cell: target, buffer, rate, round-trip time, and the values of the seeds by controller."""
    return [
        {
            "target_ms": cell.target, "buffer_ms": cell.path.buffer,
            "rate_mbps": cell.path.rate, "rtt_ms": cell.path.rtt,
            **{
                name: {row.label: [_finite(value) for value in grid.values[i, j, k]] for k, row in enumerate(GRID_ROWS)}
                for j, name in enumerate(grid.names)
            },
        }
        for i, cell in enumerate(cells())
    ]  # fmt: skip


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
