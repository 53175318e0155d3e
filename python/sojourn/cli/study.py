"""The command `study bbr`: test cases of BBR whose steps depend on the run's results."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from sojourn import study_bbr
from sojourn.cli.output import check_file, out, progress, say_written, show
from sojourn.display import counted
from sojourn.errors import UserError
from sojourn.extras import require
from sojourn.files import together, write_atomic

OUT = Path("results/bbr")


@dataclass(frozen=True)
class StudyOptions:
    """The options of the command line."""

    quick: bool
    seeds: int | None
    threads: int
    out_dir: Path | None


def study_bbr_command(asked: StudyOptions) -> None:
    """Runs the test cases of the BBR draft and writes the report page.

    Prints for each case the number of paths on which it holds.
    """
    require("jinja2", "pydantic")
    from sojourn.experiments.pages import page  # here, because jinja2 is an extra

    if asked.seeds is not None:
        raise UserError(f"study bbr: --seeds: expected no option, since nothing is random, got {asked.seeds}")
    folder, stem = asked.out_dir or OUT, "bbr-quick" if asked.quick else "bbr"
    files = folder / f"{stem}.json", folder / f"{stem}.html"
    for file in files:
        check_file(file)
    with progress("study bbr") as on_progress:
        measured = study_bbr.measure(quick=asked.quick, threads=asked.threads, progress=on_progress)
    table = Table(title="BBR's test cases: number of paths on which each holds", title_justify="left")
    table.add_column("case")
    for title in study_bbr.CONTROLLERS.values():
        table.add_column(title, justify="right")
    for case in measured.cases:
        alone = {cc: "*" if measured.by_use_alone(case, cc) else " " for cc in study_bbr.CONTROLLERS}
        table.add_row(case.title, *(f"{measured.score(case, cc)}{alone[cc]}" for cc in study_bbr.CONTROLLERS))
    show(table)
    out.print("* judged only by utilization: the controller lacks the state that the case is about")
    out.print(f"{counted(len(measured.cases), 'case')}, {counted(len(measured.judged), 'run')} judged")
    numbers = json.dumps(measured.data(), indent=1, allow_nan=False) + "\n"
    text = page("bbr.html", study=measured, controllers=study_bbr.CONTROLLERS)
    with together(folder):
        say_written([write_atomic(file, content) for file, content in zip(files, (numbers, text), strict=True)])
