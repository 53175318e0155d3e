"""The command that runs a study of ours and writes its page: `study`."""

from __future__ import annotations

import json
import math
import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from sojourn import study_l4s
from sojourn.cli.output import CACHE, CacheDir, NoCache, Threads, check_folder, out, progress, say_written, show, store
from sojourn.display import counted
from sojourn.extras import require
from sojourn.files import together, write_atomic
from sojourn.study_l4s import Judged, Study

OUT = Path("results/study")


class Name(StrEnum):
    """The studies."""

    l4s = "l4s"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(study)


def study(
    name: Annotated[Name, typer.Argument(help="The study: l4s.")],
    out_dir: Annotated[Path, typer.Option("--out", help="Folder for the page and the numbers.")] = OUT,
    seeds: Annotated[int, typer.Option("--seeds", help="Replications of each cell.", min=1)] = 3,
    quick: Annotated[bool, typer.Option("--quick", help="A few cells with one seed: the page says so.")] = False,
    threads: Threads = 0,
    cache: CacheDir = CACHE,
    no_cache: NoCache = False,
) -> None:
    """Runs a study and writes a page with computed verdicts.

    `l4s`: who shares a link with Prague: CUBIC and Reno over DualPI2, PIE, FQ-CoDel, and dual queues with other laws.
    """
    require("jinja2", "pydantic")
    check_folder(out_dir)
    before = _spent()
    with progress(f"study {name}") as on_progress:
        chosen = range(1, 2 if quick else seeds + 1)
        measured = study_l4s.measure(
            chosen, quick=quick, threads=threads, cache=store(cache, no_cache), progress=on_progress
        )
    spent = _spent() - before
    judged = study_l4s.judge(measured)
    _show(judged)
    ran = f"{counted(len(measured.cells), 'cell')}, {counted(measured.seeds, 'seed')}"
    out.print(f"{ran}, {spent:.0f} s of processor time")
    say_written(_write(measured, judged, out_dir / name))


def _spent() -> float:
    """The processor time of this program and of those that it started and that have ended."""
    return sum(os.times()[:4])


def _show(judged: list[Judged]) -> None:
    table = Table(title="L4S", title_justify="left")
    for column in ("claim", "source", "verdict", "cells"):
        table.add_column(column, justify="right" if column == "cells" else "left")
    for each in judged:
        table.add_row(each.claim.says, each.claim.source, each.verdict, f"{each.hits} of {each.cells}")
    show(table)


def _write(measured: Study, judged: list[Judged], folder: Path) -> list[Path]:
    """Writes the numbers and, last, the page."""
    from sojourn.papers.pages import page  # here, because jinja2 is an extra

    suffix = "-quick" if measured.quick else ""
    text = page("study.html", study=measured, judged=judged, tables=_tables(measured), near=study_l4s.NEAR)
    numbers = json.dumps(_data(measured, judged), indent=1, allow_nan=False) + "\n"
    with together(folder):
        return [
            write_atomic(folder / f"l4s{suffix}.json", numbers),
            write_atomic(folder / f"l4s{suffix}.html", text),
        ]


def _tables(measured: Study) -> list[dict[str, Any]]:
    """A table for each queue and classic controller: rows are rates, columns round-trip times."""
    found = []
    for queue in study_l4s.QUEUES:
        for classic in dict.fromkeys(cell.classic for cell in measured.of(queue)):
            cells = measured.of(queue, classic)
            rates, rtts = (sorted({getattr(cell, of) for cell in cells}) for of in ("rate", "rtt"))
            by_place = {(cell.rate, cell.rtt): outcome for cell, outcome in cells.items()}
            title = f"dual queue over {queue}" if queue in study_l4s.BASES else queue
            rows = [(rate, [by_place[rate, rtt] for rtt in rtts]) for rate in rates]
            found.append({"title": f"{title}, Prague next to {classic}", "rtts": rtts, "rows": rows})
    return found


def _data(measured: Study, judged: list[Judged]) -> dict[str, Any]:
    """The cells and the verdicts; null for a number that is not finite."""
    cells = [
        {**vars(cell), **{key: value if math.isfinite(value) else None for key, value in vars(outcome).items()}}
        for cell, outcome in measured.cells.items()
    ]
    verdicts = [
        {"id": each.claim.id, "says": each.claim.says, "verdict": each.verdict, "hits": each.hits, "cells": each.cells}
        for each in judged
    ]
    return {"quick": measured.quick, "seeds": measured.seeds, "verdicts": verdicts, "cells": cells}
