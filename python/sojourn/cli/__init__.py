"""The command line: `sojourn list | check | schema | run | compare | sweep | plot | analyze | reproduce | design`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer
from typer.exceptions import TyperException

import sojourn.cli.design as design_command
import sojourn.cli.papers as papers_command
from sojourn.cli import analyze, inspect, runs
from sojourn.cli import bench as bench_command
from sojourn.cli.output import StoppedError
from sojourn.errors import ScenarioError, UserError
from sojourn.extras import missing_extra
from sojourn.files import DiskError

app = typer.Typer(
    name="sojourn",
    help="A congestion-control laboratory: run, compare, sweep and reproduce experiments on queues and transports.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def _start(context: typer.Context) -> None:
    """Lists the commands where none is named."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)


inspect.register(app)
runs.register(app)
analyze.register(app)
papers_command.register(app)
design_command.register(app)
bench_command.register(app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code: 0 done, 1 failed, 2 wrong input, 130 interrupted."""
    try:
        code = app(list(arguments) if arguments is not None else None, standalone_mode=False)
    except (UserError, ScenarioError) as error:
        return _fail(str(error), 2)
    except TyperException as error:
        return _fail(error.format_message(), 2)
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        return _fail(str(missing), 2)
    except typer.Abort:
        return _fail("interrupted", 130)
    except StoppedError as error:
        return _fail(str(error), 130)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except OSError as error:
        return _fail(error.strerror or str(error) if isinstance(error, DiskError) else str(error), 1)
    except RuntimeError as error:
        return _fail(str(error), 1)
    return code if isinstance(code, int) else 0


def _fail(message: str, code: int) -> int:
    """Prints one line on stderr and returns the code."""
    print("error: " + " ".join(message.split()), file=sys.stderr)
    return code
