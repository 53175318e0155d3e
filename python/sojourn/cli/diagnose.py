"""The command that recommends a setting for an access line: `diagnose`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from sojourn.cli import values
from sojourn.cli.options import CacheOptions, load_changed, takes, with_changes
from sojourn.cli.output import check_file, out, progress, show
from sojourn.core.errors import UserError, one_line
from sojourn.core.extras import require
from sojourn.core.field_labels import with_unit
from sojourn.core.files import write_atomic
from sojourn.core.foreign_names import file_name
from sojourn.core.quantities import short_time
from sojourn.core.scenario import Scenario
from sojourn.core.text_format import counted
from sojourn.diagnose.cases import IDLE, load_text
from sojourn.diagnose.diagnosis import NEITHER, Diagnosis, diagnose, measures
from sojourn.diagnose.tc import REDIRECT, WAN, tc_lines
from sojourn.imports.measurements import imported

SCENARIO = ".toml"
EXAMPLE = "100 Mbit/s, 20 Mbit/s"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("diagnose")(diagnose_)


@dataclass(frozen=True, kw_only=True)
class DiagnoseOptions(CacheOptions):
    """What `diagnose` takes."""

    file: Annotated[Path, typer.Argument(help="A scenario (.toml), a packet capture or a Flent result (.flent.gz).")]
    page: Annotated[
        Path | None, typer.Option("--out", help="The page to write or replace (default: NAME-diagnosis.html here).")
    ] = None
    seeds: Annotated[int, typer.Option("--seeds", help="Number of seeds of each case.", min=2)] = 5
    link: Annotated[
        str | None,
        typer.Option(
            "--link", help="One direction of the line (default: the slowest link).", autocompletion=values.links
        ),
    ] = None
    home: Annotated[
        str | None,
        typer.Option("--home", help="The node at the user's side (default: the end of the faster direction)."),
    ] = None
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate",
            help="For a capture or a Flent result: the link's rate, or with a comma that of its reverse link too.",
        ),
    ] = None
    rtt: Annotated[
        str | None, typer.Option("--rtt", help="RTT of flows whose RTT a capture or a Flent result does not show.")
    ] = None
    change: Annotated[list[str] | None, typer.Option("--set", help="Set a field: links.line.rate='50 Mbit/s'.")] = None


@takes(DiagnoseOptions)
def diagnose_(options: DiagnoseOptions) -> None:
    """Recommends a queue setting for an access line.

    It runs the line idle, under load, and with other queues, a policer and CAKE in the router, and writes a page.
    """
    require("scipy", "matplotlib", "jinja2")
    check_file(options.page, read=options.file)
    if options.page is not None and options.page.suffix not in (".html", ".htm"):
        raise UserError.expected("--out", "a file that ends with .html", str(options.page))
    scenario, remarks = _scenario(options)
    page = options.page or Path(f"{file_name(str(scenario.get('name', options.file.stem)))}-diagnosis.html")
    check_file(page, read=options.file)
    with progress("diagnosing") as on_progress:
        found = diagnose(
            scenario,
            options.seeds,
            link=options.link,
            home=options.home,
            threads=options.threads,
            cache=options.store(),
            progress=on_progress,
        )
    line = found.line
    if line.down.rate == line.up.rate and options.home is None:
        same = f"Both directions have the same rate: --home {line.net} makes the other one the download."
        remarks = [*remarks, same if options.rate is None else f"{same} --rate takes two rates, such as '{EXAMPLE}'."]
    for remark in remarks:
        out.print(one_line(remark))
    _show(found)
    from sojourn.diagnose.page import page_of

    write_atomic(page, page_of(found, remarks))
    out.print(one_line(f"wrote {page}: open it in a browser"))


def _scenario(options: DiagnoseOptions) -> tuple[Scenario, list[str]]:
    """The scenario of a file, and what is uncertain about it."""
    if options.file.suffix not in ("", SCENARIO) and not options.file.exists():
        raise UserError(f"{options.file}: expected a scenario, a capture or a Flent result, got no file")
    if not options.file.is_file() or options.file.suffix == SCENARIO:
        for option, given in (("--rate", options.rate), ("--rtt", options.rtt)):
            if given is not None:
                raise UserError(
                    f"{option}: expected a capture or a Flent result, got the scenario {options.file}; "
                    "--set changes its links: --set links.NAME.rate='50 Mbit/s'"
                )
        return load_changed(options.file, options.change), []
    found = imported(options.file, options.rate, options.rtt)
    return with_changes(found.scenario, options.change), found.remarks


def _show(found: Diagnosis) -> None:
    """Prints the line, a table of all cases, and the recommended commands."""
    line = found.line
    out.print(one_line(f"{found.name}: down {line.down}; up {line.up}; round trip {short_time(line.rtt)}"))
    columns = measures(line)
    title = f"under load ({load_text()}), {counted(len(found.seeds), 'seed')}, mean ± 95 % CI"
    table = Table(title=title, title_justify="left")
    table.add_column("", no_wrap=True)
    for name, each in columns.items():
        table.add_column(with_unit(name, "" if each.unit in name else each.unit), justify="right")
    for case in (IDLE, *found.rows):
        cells = [found.of(case, each).text(places=2) if _has(case, name) else "–" for name, each in columns.items()]
        table.add_row(case, *cells)
    show(table)
    _recommend(found)


def _has(case: str, column: str) -> bool:
    """Whether a case has a column. An idle line has only its ping."""
    return case != IDLE or column.startswith("ping")


def _recommend(found: Diagnosis) -> None:
    """Prints the recommended setting as commands."""
    if found.choice is None:
        out.print(f"recommended: {NEITHER[found.decided]}")
        return
    lines = tc_lines(found.choice)
    out.print(f"recommended: {found.choice.label}: the fastest that also keeps the latency low on a line 5 % slower")
    out.print(f"  upload, leaves by {WAN}:   {lines['up']}")
    out.print(f"  download, once redirected: {lines['down']}")
    for each in REDIRECT:
        out.print(f"    redirect: {each}")
