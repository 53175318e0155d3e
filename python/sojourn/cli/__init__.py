"""The command line `sojourn`: each module of this folder registers its commands.

A user error is printed as one line.
"""

from __future__ import annotations

import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from io import TextIOWrapper
from types import FrameType
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

import sojourn.cli.design as design_command
import sojourn.cli.experiments as experiments_command
from sojourn import __version__
from sojourn.cli import (
    analyze,
    attach,
    audit,
    completion,
    doctor,
    evaluate,
    gate,
    infer,
    inspect,
    judge,
    listing,
    plot,
    runs,
    starters,
    usage,
    validate,
    verify,
)
from sojourn.cli import diagnose as diagnose_command
from sojourn.cli import imports as import_command
from sojourn.cli import linux as linux_command
from sojourn.cli import live as live_command
from sojourn.cli import trace as trace_command
from sojourn.cli.output import StoppedError, held_folders, say_all_new
from sojourn.core.errors import Note, ScenarioError, UserError, one_line
from sojourn.core.extras import missing_extra
from sojourn.core.files import DiskError

INTERRUPTED = 130
"""The exit code after Ctrl-C."""

app = typer.Typer(
    name="sojourn",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog="Exit codes: 0 done, 1 failed (disk, a gate, a run), 2 wrong input, 130 interrupted.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """A congestion-control laboratory: runs, compares and reproduces network experiments."""
    if version:
        typer.echo(f"sojourn {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)


listing.register(app)
inspect.register(app)
starters.register(app)
runs.register(app)
plot.register(app)
gate.register(app)
analyze.register(app)
experiments_command.register(app)
evaluate.register(app)
audit.register(app)
infer.register(app)
design_command.register(app)
linux_command.register(app)
attach.register(app)
live_command.register(app)
trace_command.register(app)
import_command.register(app)
diagnose_command.register(app)
judge.register(app)
validate.register(app)
verify.register(app)
completion.register(app)
doctor.register(app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code.

    0: done. 1: failed. 2: wrong input. 130: interrupted.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for names that the encoding lacks
    with warnings.catch_warnings(), _ctrl_c() as interrupted:
        warnings.simplefilter("always", Note)
        warnings.showwarning = _show_warning  # type: ignore[assignment]
        with held_folders():
            code = _run(arguments, interrupted)
            if code == 0:
                say_all_new()
            return code


@cache
def _commands() -> Any:
    """All commands, derived by typer from functions. This takes longer than many commands."""
    return typer.main.get_command(app)


def _command(arguments: Sequence[str] | None, interrupted: Callable[[], bool]) -> Any:
    """Runs a command.

    A library that is interrupted while loading may turn Ctrl-C into another error. It still counts as Ctrl-C.
    """
    usage.check_once(_commands(), sys.argv[1:] if arguments is None else arguments)
    try:
        return _commands()(list(arguments) if arguments is not None else None, standalone_mode=False)
    except StoppedError:
        raise
    except Exception as error:
        if interrupted():
            raise KeyboardInterrupt from error
        raise


def _run(arguments: Sequence[str] | None, interrupted: Callable[[], bool]) -> int:
    """Runs the command line; user errors become a line and an exit code."""
    try:
        code = _command(arguments, interrupted)
    except (UserError, ScenarioError) as error:
        return _fail(usage.dashed(str(error), _commands(), sys.argv[1:] if arguments is None else arguments), 2)
    except TyperException as error:
        return _fail(usage.message(error), 2)
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        return _fail(str(missing), 2)
    except typer.Abort:
        return _fail("interrupted", INTERRUPTED)
    except StoppedError as error:
        return _fail(str(error), INTERRUPTED)
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except OSError as error:
        return _fail(_of_disk(error), 1)
    except UnicodeEncodeError as error:
        return _fail(str(UserError.expected("sojourn", "arguments in UTF-8", error.object)), 2)
    except MemoryError:
        return _fail("out of memory", 1)
    except RuntimeError as error:
        return _fail(str(error), 1)
    if code == INTERRUPTED:  # typer turns Ctrl-C in a command into this code
        return _fail("interrupted", INTERRUPTED)
    return code if isinstance(code, int) else 0


def _of_disk(error: OSError) -> str:
    """What happened, and to which file."""
    if isinstance(error, DiskError) or error.strerror is None:
        return error.strerror or str(error)
    return f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror


@contextmanager
def _ctrl_c() -> Iterator[Callable[[], bool]]:
    """Yields a function that returns whether Ctrl-C was pressed in the block."""
    pressed = False

    def on_signal(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        signal.default_int_handler(number, frame)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: pressed
        return
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, on_signal)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)


def _show_warning(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any) -> None:
    """Prints a note or any other warning as one line on stderr."""
    kind = "note" if issubclass(category, Note) else f"{category.__name__} in {filename}:{lineno}"
    print(f"{kind}: " + one_line(" ".join(str(message).split())), file=sys.stderr)


def _fail(message: str, code: int) -> int:
    """Prints one line on stderr and returns `code`."""
    print("error: " + one_line(" ".join(message.split())), file=sys.stderr)
    return code
