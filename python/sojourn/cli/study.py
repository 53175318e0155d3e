"""The command that runs a study of ours and writes its page: `study`."""

from __future__ import annotations

import base64
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from sojourn import study_bbr, study_l4s, study_rfc7928
from sojourn.cli import values
from sojourn.cli.output import CACHE, CacheDir, NoCache, Threads, check_file, out, progress, say_written, show, store
from sojourn.display import counted
from sojourn.errors import UserError
from sojourn.extras import require
from sojourn.files import together, write_atomic
from sojourn.study_l4s import Judged, Study
from sojourn.study_rfc7928 import outcome, situations
from sojourn.study_rfc7928.outcome import columns

OUT = Path("results/study")
SEEDS = 3
"""Replications of each cell where runs are random."""


class Name(StrEnum):
    """The studies."""

    l4s = "l4s"
    bbr = "bbr"
    rfc7928 = "rfc7928"


@dataclass(frozen=True)
class Asked:
    """What the command line asks for."""

    quick: bool
    seeds: int | None
    queues: str | None
    threads: int
    cache: Path
    no_cache: bool
    out_dir: Path


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(study)


def study(
    name: Annotated[Name, typer.Argument(help="The study: l4s, bbr or rfc7928.")],
    out_dir: Annotated[Path, typer.Option("--out", help="Folder for the page and the numbers.")] = OUT,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", help=f"Replications of each cell of l4s and rfc7928; default {SEEDS}.", min=1),
    ] = None,
    queues: Annotated[
        str | None,
        typer.Option(
            "--queues", help=f"Queues of rfc7928; default '{study_rfc7928.QUEUES}'.", autocompletion=values.queues
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small part of it: the page says so.")] = False,
    threads: Threads = 0,
    cache: CacheDir = CACHE,
    no_cache: NoCache = False,
) -> None:
    """Runs a study and writes a page with computed verdicts.

    `l4s`: who shares a link with Prague: CUBIC and Reno over DualPI2, PIE, FQ-CoDel, and dual queues with other laws.

    `bbr`: the 22 test cases of the BBR draft in a network, for BBRv3, BBRv1 and CUBIC.

    `rfc7928`: queue disciplines in the situations of RFC 7928, the guidelines for their characterization.
    """
    require("jinja2", "pydantic")
    if queues is not None and name != Name.rfc7928:
        raise UserError(f'study {name}: --queues: expected none, because its queues are fixed, got "{queues}"')
    asked = Asked(quick, seeds, queues, threads, cache, no_cache, out_dir / name)
    for file in _files(name, asked):
        check_file(file)
    before = _spent()
    summary, written = STUDIES[name](asked)
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
        alone = {cc: "*" if measured.by_use_alone(case, cc) else " " for cc in study_bbr.CONTROLLERS}
        table.add_row(case.title, *(f"{measured.score(case, cc)}{alone[cc]}" for cc in study_bbr.CONTROLLERS))
    show(table)
    out.print("* judged by the use of the path alone: the controller has no state that the case is about")
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


def _rfc7928(asked: Asked) -> tuple[str, list[Path]]:
    """Runs the situations of RFC 7928; gives a line on what was done, and the files."""
    require("matplotlib", "scipy")
    queues = study_rfc7928.QUEUES if asked.queues is None else asked.queues
    chosen = range(1, (asked.seeds or (1 if asked.quick else SEEDS)) + 1)
    with progress("study rfc7928") as on_progress:
        measured = study_rfc7928.measure(
            queues, chosen, quick=asked.quick, threads=asked.threads, cache=store(asked.cache, asked.no_cache),
            progress=on_progress,
        )  # fmt: skip
    table = Table(title="RFC 7928: in how many situations, compared with DropTail", title_justify="left")
    for title in ("queue", "mean wait at most half", f"goodput at least {study_rfc7928.KEPT:.0%}", "both"):
        table.add_column(title, justify="left" if title == "queue" else "right")
    for each in measured.counts():
        table.add_row(each.queue, *(f"{count} of {each.of}" for count in (each.shorter, each.kept, each.both)))
    show(table)
    text = _page(
        "rfc7928.html",
        study=measured,
        columns=columns,
        figures=_figures(measured),
        reference=study_rfc7928.REFERENCE,
        kept=round(100 * study_rfc7928.KEPT),
        rate=situations.RATE,
        rtt=situations.RTT,
        seconds=situations.SECONDS,
        warmup=situations.WARMUP,
    )
    if measured.uncounted:
        out.print(
            "not counted, without one mean wait and one goodput: "
            + ", ".join(each.title for each in measured.uncounted)
        )
    summary = f"{counted(len(measured.situations), 'situation')}, {counted(measured.seeds, 'seed')}"
    return summary, _write("rfc7928", asked, measured.data(), text)


def _figures(measured: study_rfc7928.Study) -> dict[str, str]:
    """Figures as SVG in base64 by situation: the trade-off of delay and rate, or the delay over time with its phases.

    There is none for a situation of several round-trip times, and none that can't be drawn.
    """
    from sojourn.plots.style import drawn_or_noted  # here, because matplotlib is an extra

    found: dict[str, str] = {}
    for situation in measured.situations:
        if not situation.rtts:
            found |= drawn_or_noted(situation.id, partial(_figure, measured, situation))
    return found


def _figure(measured: study_rfc7928.Study, situation: situations.Situation) -> list[tuple[str, str]]:
    """The figure of one situation, with its name."""
    from sojourn.plots.style import render, settled
    from sojourn.plots.tradeoff import over_time, tradeoff

    cells = {queue: measured.cells.get((situation.id, queue)) for queue in measured.queues}
    there = {queue: cell for queue, cell in cells.items() if cell}
    if situation.phases:
        delays = {queue: cell.delays() for queue, cell in there.items()}
        seconds = len(next(iter(delays.values())))
        times = [situations.WARMUP + second * outcome.STEP for second in range(seconds)]
        made = over_time(delays, times, [phase.begin for phase in situation.phases[1:]])
    else:
        made = tradeoff({queue: cell.samples for queue, cell in there.items()})
    return [(situation.id, base64.b64encode(render(settled(made), "svg")).decode())]


STUDIES: dict[Name, Callable[[Asked], tuple[str, list[Path]]]] = {
    Name.l4s: _l4s, Name.bbr: _bbr, Name.rfc7928: _rfc7928,
}  # fmt: skip


def _page(template: str, **shown: Any) -> str:
    from sojourn.experiments.pages import page  # here, because jinja2 is an extra

    return page(template, **shown)


def _files(name: str, asked: Asked) -> list[Path]:
    """The files of a study: the numbers and the page."""
    stem = f"{name}-quick" if asked.quick else name
    return [asked.out_dir / f"{stem}.json", asked.out_dir / f"{stem}.html"]


def _write(name: str, asked: Asked, data: dict[str, Any], text: str) -> list[Path]:
    """Writes the numbers and, last, the page."""
    contents = json.dumps(data, indent=1, allow_nan=False) + "\n", text
    with together(asked.out_dir):
        return [write_atomic(file, content) for file, content in zip(_files(name, asked), contents, strict=True)]


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
            beside = study_l4s.CLASSICS[classic]
            found.append({"title": f"{title}, Prague next to {beside}", "rtts": rtts, "rows": rows})
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
