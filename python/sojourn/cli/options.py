"""Options that several commands share, as dataclasses whose fields are options."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar, get_type_hints

import typer

from sojourn.cli import values
from sojourn.cli.laws import LawFiles, read_laws
from sojourn.cli.output import say_new
from sojourn.core.errors import UserError
from sojourn.core.extras import require
from sojourn.core.scenario import Scenario
from sojourn.core.scenario_files import load, parse_assignment
from sojourn.runs.store import DEFAULT, Store

Options = TypeVar("Options")

Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="Set a field: links.bottleneck.rate='5 Mbit/s'.", autocompletion=values.fields),
]
Law = Annotated[
    list[str] | None,
    typer.Option("--law", help="A queue law in Python: FILE.py:Class. A queue selects it by class name."),
]
Controller = Annotated[
    list[str] | None,
    typer.Option(
        "--controller", help="A congestion controller in Python: FILE.py:Class. Flows select it by class name."
    ),
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        help="Show only these measures, by path or label: links.bottleneck.wait_ms.p99 or 'wait p99'. Repeatable.",
        autocompletion=values.a_measure,
    ),
]
Style = Annotated[
    str | None,
    typer.Option("--style", help="A matplotlib style for the figures: a .mplstyle file, or a name such as ggplot."),
]
Width = Annotated[
    float | None,
    typer.Option("--width", help="Width of the figures in inches, such as 3.4 for a column.", min=2.0, max=20.0),
]
PcapLinks = Annotated[
    str | None,
    typer.Option(
        "--pcap-links",
        help="Links to capture with --pcap, separated by commas (default: all links with a rate).",
        autocompletion=values.links,
    ),
]
Out = Annotated[Path | None, typer.Option("--out", help="Folder for the results (default: nothing is written).")]


def takes(options: type[Options]) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """Makes a function of one dataclass a command.

    The fields of the dataclass are the arguments and options of the command. A help text lists the fields of a
    subclass before those of its base.
    """

    def decorate(command: Callable[[Options], None]) -> Callable[..., None]:
        @functools.wraps(command)
        def called(**given: object) -> None:
            command(options(**given))

        hints = get_type_hints(options, include_extras=True)
        names = dict.fromkeys(name for each in options.__mro__ for name in inspect.get_annotations(each))
        signature = inspect.signature(options)
        parameters = [signature.parameters[name].replace(annotation=hints[name]) for name in names]
        called.__signature__ = signature.replace(parameters=parameters, return_annotation=None)  # type: ignore[attr-defined]
        called.__annotations__ = hints
        return called

    return decorate


@dataclass(frozen=True, kw_only=True)
class ThreadOptions:
    """Options of commands that run several jobs at once."""

    threads: Annotated[int, typer.Option("--threads", help="Cores to use; 0 means all.", min=0, max=1024)] = 0


@dataclass(frozen=True, kw_only=True)
class CacheOptions(ThreadOptions):
    """Options of commands that keep finished runs."""

    cache: Annotated[Path, typer.Option("--cache", help="Folder of the cache of finished runs.")] = DEFAULT
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Run everything again and store nothing in the cache.")
    ] = False

    def store(self) -> Store | None:
        """The cache that the options select; None if they switch it off."""
        if self.no_cache:
            return None
        if self.cache.exists() and not self.cache.is_dir():
            raise UserError(f'--cache "{self.cache}": expected a folder, got a file')
        say_new(self.cache, f"cache: finished runs are kept in the new folder {self.cache}; --no-cache keeps none")
        return Store(self.cache)  # not checked here: it must be writable only if runs are missing


@dataclass(frozen=True, kw_only=True)
class StyleOptions:
    """How figures look."""

    style: Style = None
    width: Width = None

    def styled(self) -> AbstractContextManager[None]:
        """Draws the figures of a block as the options say. Raises `UserError` for an unknown style."""
        if self.style is None and self.width is None:
            return nullcontext()
        require("matplotlib")
        from sojourn.plots.style import styled

        return styled(self.style, self.width)


@dataclass(frozen=True, kw_only=True)
class ScenarioOptions:
    """Options of commands that run a scenario or a sweep."""

    change: Set = None
    host: Annotated[
        str | None,
        typer.Option("--host", help="The TCP stack of the flows: simulator, linux or live (default: the scenario's)."),
    ] = None
    law: Law = None
    controller: Controller = None

    @property
    def changes(self) -> list[str]:
        """The changes of `--host` and of `--set`, as assignments."""
        return [*([f"host={self.host}"] if self.host else []), *(self.change or [])]

    def laws(self) -> LawFiles:
        """The classes that `--law` and `--controller` name."""
        return read_laws(self.law, self.controller)


def load_changed(file: Path, changes: list[str] | None) -> Scenario:
    """The scenario of a file, changed as `--set` says."""
    return with_changes(load(file), changes)


def with_changes(scenario: Scenario, changes: list[str] | None) -> Scenario:
    """The same scenario, changed as `--set` says.

    Its label names the changes, for errors about the whole scenario.
    """
    for change in changes or []:
        scenario.set(*parse_assignment(change))
    if changes:
        scenario.label += f" with {', '.join(changes)}"
    return scenario


def with_laws(scenario: Scenario, laws: LawFiles, changes: list[str] | None, link: str | None = None) -> Scenario:
    """The scenario with the changes of `--set` and with unnamed laws and controllers assigned.

    An unnamed law is put on `link` (default: the main link). The changes are applied again after the assignment, so
    that they can tune the queue of a law.
    """
    changed = with_changes(scenario.copy(), changes)
    made = with_changes(laws.put_into(scenario, changed, link), changes)
    laws.check_put(made)
    return made
