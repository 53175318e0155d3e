"""Shared output of commands: consoles, progress bars, tables of estimates."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table

from sojourn.core.errors import RunError, UserError, one_line
from sojourn.core.files import locked
from sojourn.core.latex import escaped, tabular
from sojourn.core.stats import Estimate
from sojourn.runs.runner import Progress as OnProgress


class StoppedError(Exception):
    """A run was interrupted by the user. The message says which runs were saved."""


PIPE = 120  # width in columns for a file or a pipe, unless the variable COLUMNS sets another


def console(stderr: bool) -> Console:
    """A console as wide as the terminal. Other outputs are as wide as `COLUMNS`, else `PIPE`."""
    plain: Any = {"stderr": stderr, "highlight": False, "soft_wrap": True, "markup": False, "emoji": False}
    made = Console(**plain)  # no markup, because a link may be named `link:back`
    return made if made.is_terminal or os.environ.get("COLUMNS", "").isdigit() else Console(**plain, width=PIPE)


out = console(stderr=False)
err = console(stderr=True)

RESULTS = Path("results")
"""The default folder of results."""


def results_folder(name: str, refuse_links: bool = False) -> Path:
    """The folder of that name in `results`.

    Raises `UserError` if a symbolic link leads out of `results`; with `refuse_links` also if `results` is one.
    """
    folder = RESULTS / name
    if (refuse_links and RESULTS.is_symlink()) or not folder.resolve().is_relative_to(RESULTS.resolve()):
        raise UserError(
            f"{folder}: expected a folder in {RESULTS}, got a link to {folder.resolve()}: name one with --out"
        )
    return folder


def check_folder(folder: Path | None, option: str = "--out") -> None:
    """Checks a folder for results before the first run, and reserves it for this command.

    Raises `UserError` if it can't be written, `RunError` if another command writes into it.
    """
    if folder is None:
        return
    _check_writable(folder, option)
    _hold(folder, option)


def _check_writable(folder: Path, option: str) -> None:
    """Raises `UserError` unless the folder or the nearest one above it can be written."""
    there = folder
    while not os.path.lexists(there):
        there = there.parent
    if not there.is_dir():
        raise UserError(f'{option} "{folder}": expected a folder, got the file "{there}"')
    try:
        os.rmdir(tempfile.mkdtemp(prefix=".sojourn-", dir=there))
    except OSError as error:
        wanted = "expected a folder that can be written to"
        raise UserError(f'{option} "{folder}": {wanted}, got "{there}": {error.strerror or error}') from None


_held: ContextVar[tuple[ExitStack, set[Path]] | None] = ContextVar("held", default=None)
"""The locks that the running command holds, and their folders."""


_new: dict[Path, str] = {}
"""Folders that the running command did not find, and the line about each."""


def say_all_new() -> None:
    """Prints the lines of `say_new` for folders that exist now."""
    for folder, what in _new.items():
        if folder.exists():
            err.print(one_line(what))


@contextmanager
def held_folders() -> Iterator[None]:
    """Releases at the end of the block what `check_folder` reserved in it."""
    with ExitStack() as locks:
        token = _held.set((locks, set()))
        try:
            yield
        finally:
            _held.reset(token)
            _new.clear()


def say_new(folder: Path, what: str) -> None:
    """Prints a line at the end of a successful command if the command has made this folder."""
    if not folder.exists():
        _new[folder] = what


def _hold(folder: Path, option: str) -> None:
    """Reserves a folder for the running command by a lock in the user's temporary folder."""
    held, real = _held.get(), folder.resolve()
    if held is None or real in held[1]:
        return
    name = hashlib.sha256(os.fsencode(real)).hexdigest()[:32]
    user = getattr(os, "getuid", lambda: "user")()
    lock = Path(tempfile.gettempdir()) / f"sojourn-{user}" / f"{name}.lock"
    if not held[0].enter_context(locked(lock)):
        raise RunError(f'{option} "{folder}": another command is writing there: wait for it, or name another folder')
    held[1].add(real)


def check_file(file: Path | None, option: str = "--out", read: str | Path | None = None) -> None:
    """Raises `UserError` if the file can't be written, or is also `read`.

    Called before there are results.
    """
    if file is None:
        return
    if file.is_dir():
        raise UserError(f'{option} "{file}": expected a file, got a folder')
    if file.is_file() or not os.path.lexists(file):  # not a pipe or a terminal
        _check_writable(file.parent, option)
    if read and file.exists() and Path(read).exists() and file.samefile(read):
        raise UserError(f'{option} "{file}": expected another file than the one that is read')


def check_points(pcap: Path | None, **options: str | None) -> None:
    """Rejects capture points if no capture file is given."""
    for option, asked in options.items():
        if pcap is None and asked is not None:
            raise UserError(f"{option}: expected --pcap, the file of the capture, got none")


@contextmanager
def progress(what: str) -> Iterator[OnProgress]:
    """Shows a progress bar on stderr during the block, if stderr is a terminal."""
    try:
        if not err.is_terminal:
            yield lambda _done, _total: None
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=err, transient=True) as bars:
            task = bars.add_task(what, total=None)
            yield lambda done, total: bars.update(task, completed=done, total=total)
    except KeyboardInterrupt as error:
        raise StoppedError(str(error) or "interrupted") from None


def show(table: Table, turned: Table | None = None) -> None:
    """Prints a table.

    A wide table gets multi-line headers, or is split into several tables. Right-aligned columns are numbers; the
    columns before and after them are repeated in each table. `turned` is the transposed table. It is printed instead if
    it needs fewer lines.
    """
    parts = _parts(table)
    if turned and len(parts) > 1:
        parts = min(parts, _parts(turned), key=_lines)
    for each in parts:
        out.print(each)


def _lines(tables: Sequence[Table]) -> int:
    """The number of lines that the tables need."""
    return sum(len(out.render_lines(each)) for each in tables)


def _parts(table: Table) -> list[Table]:
    """Splits a table into tables that fit the console."""
    columns = table.columns
    numbers = [i for i, each in enumerate(columns) if each.justify == "right"]
    if _wide(table) > out.width:
        table = _part(table, columns)
    if _wide(table) <= out.width or not numbers or not numbers[0]:
        return [table]
    before, after = columns[: numbers[0]], columns[numbers[-1] + 1 :]
    found, chosen = list[Table](), list[Column]()
    for column in columns[numbers[0] : numbers[-1] + 1]:
        if chosen and _wide(_part(table, [*before, *chosen, column, *after])) > out.width:
            found.append(_part(table, [*before, *chosen, *after]))
            chosen = []
        chosen.append(column)
    return [*found, _part(table, [*before, *chosen, *after])]


def _wide(table: Table) -> int:
    """The width of the table without wrapping."""
    return out.measure(table, options=out.options.update(width=10_000)).maximum


def _part(table: Table, columns: Sequence[Column]) -> Table:
    """Some columns of a table. Headers are broken after each word."""
    made = Table(title=table.title, title_justify="left")
    for each in columns:
        header = re.sub(r"(?<!\d) | (?=with )", "\n", str(each.header))  # a number stays with its unit
        made.add_column(header, justify=each.justify, no_wrap=each.no_wrap, overflow=each.overflow)
    for row in zip(*(each.cells for each in columns), strict=True):
        made.add_row(*row)
    return made


def estimates_table(title: str, rows: Mapping[str, Mapping[str, Estimate | str]], units: Mapping[str, str]) -> Table:
    """A table with one row per measure and one column per case."""
    table = Table(title=title, title_justify="left")
    table.add_column("")
    columns = list(next(iter(rows.values()), {}))
    for column in columns:
        table.add_column(column, justify="right")
    table.add_column("unit")
    for label, cells in rows.items():
        table.add_row(label, *[str(cells[column]) for column in columns], units.get(label, ""))
    return table


def latex(table: Table) -> str:
    """A table in LaTeX."""
    columns = table.columns
    names = next((i for i, each in enumerate(columns) if each.justify == "right"), len(columns))
    rows = ([escaped(str(cell)) for cell in row] for row in zip(*(each.cells for each in columns), strict=True))
    return tabular([str(each.header) for each in columns], rows, names)


def cases_table(
    title: str,
    rows: Mapping[str, Mapping[str, Estimate | str]],
    units: Mapping[str, str],
    cases: Mapping[str, Mapping[str, str]],
) -> Table:
    """The transposed table: one row per case, one column per measure.

    Each row begins with the case's value on each axis.
    """
    table = Table(title=title, title_justify="left")
    for axis in next(iter(cases.values()), {}):
        table.add_column(axis, no_wrap=True)
    for label in rows:
        table.add_column(f"{label} ({units[label]})" if units.get(label) else label, justify="right")
    for case, at in cases.items():
        table.add_row(*at.values(), *[str(cells[case]) for cells in rows.values()])
    return table


def _with_endings(files: list[Path]) -> list[str]:
    """The names of files. Several formats of one file are joined: `overview.pdf, .png`."""
    endings: dict[str, list[str]] = {}
    for file in files:
        endings.setdefault(file.stem, []).append(file.suffix)
    return [stem + ", ".join(found) for stem, found in endings.items()]


def say_written(paths: list[Path], as_json: bool = False) -> None:
    """Prints which files were written, one line per folder.

    With `as_json` it prints on stderr, because stdout carries the JSON.
    """
    folders: dict[Path, list[Path]] = {}
    for path in paths:
        folders.setdefault(path.parent, []).append(path)
    for folder, files in folders.items():
        names = _with_endings(files)
        shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
        (err if as_json else out).print(one_line(f"wrote {folder}/: {shown}"))
