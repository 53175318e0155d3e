"""The command that compares congestion controllers as background transport: `bench-lbe`."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from sojourn.bench_lbe import ROWS, controllers, score
from sojourn.cli.output import CACHE, CacheDir, NoCache, Threads, check_folder, out, progress, store
from sojourn.errors import UserError
from sojourn.extras import require
from sojourn.files import write_atomic
from sojourn.stats import Estimate


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="bench-lbe")(bench_lbe)


def bench_lbe(
    names: Annotated[list[str] | None, typer.Argument(help="Controllers (default: all of `sojourn list cc`).")] = None,
    seeds: Annotated[int, typer.Option("--seeds", help="Replications.", min=1)] = 3,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the numbers to this file as well.")] = None,
    threads: Threads = 0,
    cache: CacheDir = CACHE,
    no_cache: NoCache = False,
) -> None:
    """Compares congestion controllers as background transport next to CUBIC, on 10 Mbit/s and 40 ms."""
    require("scipy")
    check_folder(json_file and json_file.parent, "--json")
    if json_file and json_file.is_dir():
        raise UserError(f'--json "{json_file}": expected a file, got a folder')
    known = controllers()
    chosen = names or known
    for name in chosen:
        if name not in known:
            raise UserError.expected("controller", f"one of {', '.join(known)}", name)
    controls = [{"cc": name} for name in chosen]
    with progress("bench-lbe") as on_progress:
        cards = score(
            controls, range(1, seeds + 1), threads=threads, cache=store(cache, no_cache), progress=on_progress
        )
    table = Table(
        title=f"background transport on 10 Mbit/s, 40 ms, 100 packets; mean over {seeds} seeds", title_justify="left"
    )
    table.add_column("")
    table.add_column("better")
    for name in chosen:
        table.add_column(name, justify="right")
    section = ""
    for i, row in enumerate(ROWS):
        if row.section != section:
            section = row.section
            table.add_section()
            table.add_row(section, style="bold")
        cells = ["never" if math.isnan(card[i].mean) else f"{card[i].mean:.3g}" for card in cards]
        label = f"{row.label} ({row.unit})" if row.unit else row.label
        table.add_row(f"  {label}", "less" if row.less else "more", *cells)
    out.print(table)
    if json_file:
        data = {
            name: {f"{row.section}: {row.label}": _pair(card[i]) for i, row in enumerate(ROWS)}
            for name, card in zip(chosen, cards, strict=True)
        }
        write_atomic(json_file, json.dumps(data, indent=1, allow_nan=False) + "\n")


def _pair(found: Estimate) -> list[float | None]:
    """Mean and half width of the interval; null where it never happened or is not known."""
    return [value if math.isfinite(value) else None for value in (found.mean, found.half)]
