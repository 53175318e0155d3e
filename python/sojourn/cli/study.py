"""The command that runs a study of ours and writes its page: `study`."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from sojourn import study_bbr, study_l4s
from sojourn.cli.output import CACHE, CacheDir, NoCache, Threads, check_folder, out, progress, say_written, show, store
from sojourn.display import counted
from sojourn.errors import UserError
from sojourn.extras import require
from sojourn.files import together, write_atomic
from sojourn.study_l4s import Judged, Study

OUT = Path("results/study")
SEEDS = 3
"""Replications of each cell where runs are random."""


class Name(StrEnum):
    """The studies."""

    l4s = "l4s"
    bbr = "bbr"


@dataclass(frozen=True)
class Asked:
    """What the command line asks for."""

    quick: bool
    seeds: int | None
    threads: int
    cache: Path
    no_cache: bool
    out_dir: Path


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(study)


def study(
    name: Annotated[Name, typer.Argument(help="The study: l4s or bbr.")],
    out_dir: Annotated[Path, typer.Option("--out", help="Folder for the page and the numbers.")] = OUT,
    seeds: Annotated[
        int | None, typer.Option("--seeds", help=f"Replications of each cell of l4s; default {SEEDS}.", min=1)
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small part of it: the page says so.")] = False,
    threads: Threads = 0,
    cache: CacheDir = CACHE,
    no_cache: NoCache = False,
) -> None:
    """Runs a study and writes a page with computed verdicts.

    `l4s`: who shares a link with Prague: CUBIC and Reno over DualPI2, PIE, FQ-CoDel, and dual queues with other laws.

    `bbr`: the 22 test cases of the BBR draft in a network, for BBRv3, BBRv1 and CUBIC.
    """
    require("jinja2", "pydantic")
    check_folder(out_dir)
    before = _spent()
    summary, written = STUDIES[name](Asked(quick, seeds, threads, cache, no_cache, out_dir / name))
    out.print(f"{summary}, {_spent() - before:.0f} s of processor time")
    say_written(written)


def _spent() -> float:
    """The processor time of this program and of those that it started and that have ended."""
    return sum(os.times()[:4])


def _bbr(asked: Asked) -> tuple[str, list[Path]]:
    """Runs the test cases of the BBR draft; gives a line on what was done, and the files."""
    if asked.seeds is not None:
        raise UserError(f"study bbr: --seeds: expected none, because nothing is random there, got {asked.seeds}")
    with progress("study bbr") as on_progress:
        measured = study_bbr.measure(quick=asked.quick, threads=asked.threads, progress=on_progress)
    table = Table(title="BBR's test cases: on how many paths each holds", title_justify="left")
    table.add_column("case")
    for title in study_bbr.CONTROLLERS.values():
        table.add_column(title, justify="right")
    for case in measured.cases:
        table.add_row(case.title, *(measured.score(case, cc) for cc in study_bbr.CONTROLLERS))
    show(table)
    text = _page("bbr.html", study=measured, controllers=study_bbr.CONTROLLERS)
    summary = f"{counted(len(measured.cases), 'case')}, {counted(len(measured.judged), 'run')} judged"
    return summary, _write("bbr", asked, measured.data(), text)


def _l4s(asked: Asked) -> tuple[str, list[Path]]:
    """Runs the study of L4S; gives a line on what was done, and the files."""
    chosen = range(1, 2 if asked.quick else (asked.seeds or SEEDS) + 1)
    with progress("study l4s") as on_progress:
        measured = study_l4s.measure(
            chosen, quick=asked.quick, threads=asked.threads, cache=store(asked.cache, asked.no_cache),
            progress=on_progress,
        )  # fmt: skip
    judged = study_l4s.judge(measured)
    _show(judged)
    text = _page("study.html", study=measured, judged=judged, tables=_tables(measured), near=study_l4s.NEAR)
    summary = f"{counted(len(measured.cells), 'cell')}, {counted(measured.seeds, 'seed')}"
    return summary, _write("l4s", asked, _data(measured, judged), text)


STUDIES: dict[Name, Callable[[Asked], tuple[str, list[Path]]]] = {Name.l4s: _l4s, Name.bbr: _bbr}


def _page(template: str, **shown: Any) -> str:
    from sojourn.papers.pages import page  # here, because jinja2 is an extra

    return page(template, **shown)


def _write(name: str, asked: Asked, data: dict[str, Any], text: str) -> list[Path]:
    """Writes the numbers and, last, the page."""
    suffix = "-quick" if asked.quick else ""
    numbers = json.dumps(data, indent=1, allow_nan=False) + "\n"
    with together(asked.out_dir):
        return [
            write_atomic(asked.out_dir / f"{name}{suffix}.json", numbers),
            write_atomic(asked.out_dir / f"{name}{suffix}.html", text),
        ]


def _show(judged: list[Judged]) -> None:
    table = Table(title="L4S", title_justify="left")
    for column in ("claim", "source", "verdict", "cells"):
        table.add_column(column, justify="right" if column == "cells" else "left")
    for each in judged:
        table.add_row(each.claim.says, each.claim.source, each.verdict, f"{each.hits} of {each.cells}")
    show(table)


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
