"""Queue laws and controllers in Python: `--law FILE.py:Class`, `--controller FILE.py:Class`."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from sojourn.compare.cases import Named, own_controllers, parse_named, queue_axis, table_at
from sojourn.compare.links import queued_link, queued_links
from sojourn.core import field_paths
from sojourn.core.errors import UserError
from sojourn.core.examples import located
from sojourn.core.scenario import Scenario, link_paths, tables_of
from sojourn.core.scenario_files import read_text
from sojourn.runs.law_modules import load_module
from sojourn.runs.laws import ANSWERS, external_controllers, external_laws, is_controller, named_by
from sojourn.runs.watchdog import Stopped


@dataclass(frozen=True)
class Option:
    """An option that names classes: the kind of class, its required method, and an example."""

    name: str
    kind: str
    method: str
    example: str

    @property
    def form(self) -> str:
        """The expected form, for error messages."""
        return f"FILE.py:Class such as {self.example}"


LAWS = Option("--law", "law", "step", "law.py:Proportional")
CONTROLLERS = Option("--controller", "controller", ANSWERS[0], "controller.py:Additive")


@dataclass(frozen=True)
class LawFiles:
    """The classes that `--law` and `--controller` name, by class name."""

    laws: dict[str, Callable[[], Any]]
    files: frozenset[str]

    @property
    def of_queues(self) -> list[str]:
        """The names of queue laws."""
        return [name for name, found in self.laws.items() if not is_controller(found)]

    @property
    def of_flows(self) -> list[str]:
        """The names of congestion controllers."""
        return [name for name, found in self.laws.items() if is_controller(found)]

    def put_into(self, scenario: Scenario, changed: Scenario, link: str | None = None) -> Scenario:
        """Assigns the law to `link` (default: the main link) and the controller to all flows.

        A law or controller that the scenario names itself is not assigned. The main link is the one that `compare`
        uses: the only link with a queue, else `bottleneck`. `changed` is the scenario after `--set`; laws that it names
        are not assigned either.

        Returns the scenario. Raises `UserError` if several laws are unnamed, and if no queue or flow can use one.
        """
        controllers, unused = self._left_by(changed)
        if len(controllers) > 1:
            expected = 'one, or flows with controller = "NAME" for the others'
            raise UserError.expected("--controller", expected, ", ".join(controllers))
        for name in controllers:
            _check_without_own(changed, name)
            scenario.set("tcp.control", {"cc": "external", "controller": name})
        if len(unused) > 1:
            raise UserError.expected("--law", 'one, or queues with law = "NAME" for the others', ", ".join(unused))
        for name in unused:
            chosen = link or _main_link(scenario, name)
            _check_one_queue(scenario, chosen, name)
            (change,) = queue_axis(scenario, [chosen], [name], self.laws).changes.values()
            scenario.set_all(change)
        return scenario

    def check_put(self, scenario: Scenario) -> None:
        """Raises `UserError` if a later change removed a law that `put_into` assigned."""
        controllers, laws = self._left_by(scenario)
        if controllers or laws:
            scenario.canonical(list(self.laws))  # reports any other error of the scenario first
        for name in controllers:
            raise UserError(
                f"--controller: expected flows that {name} controls, got none, since --set gives them another"
            )
        for name in laws:
            raise UserError(f"--law: expected a queue with the law {name}, got none, since --set replaces it")

    def _left_by(self, scenario: Scenario) -> tuple[list[str], list[str]]:
        """The controllers and the queue laws that the scenario does not name."""
        controllers = [each for each in self.of_flows if each not in external_controllers(scenario)]
        return controllers, [each for each in self.of_queues if each not in external_laws(scenario)]

    def unnamed(self, scenario: Scenario, varied: Mapping[str, Sequence[Any]]) -> LawFiles:
        """The laws that neither the scenario nor a varied value names.

        A comparison adds them as cases.
        """
        changed = (scenario.copy().set(path, value) for path, values in varied.items() for value in values)
        places = [scenario, *changed]
        named = {name for each in places for name in named_by(each)}
        return replace(self, laws={name: law for name, law in self.laws.items() if name not in named})

    def among(self, queues: str | None, scenario: Scenario, link: str | None) -> Named | None:
        """The compared queues: those of `--queues` (default: the scenario's), then the laws."""
        if not self.of_queues:
            return queues
        if queues:
            tables = parse_named(queues, "queues", "aqm")
        else:
            table = table_at(scenario, f"{link_paths(scenario)[queued_links(scenario, link)[0]]}.queue") or {}
            own = str(table.get("aqm") or "droptail")
            tables = {} if own == "external" else {own: {"aqm": own}}
        named = {table["aqm"] for table in tables.values()}
        return {**tables, **{name: {"aqm": name} for name in self.of_queues if name not in named}}

    def controls(self, cc: str | None, scenario: Scenario) -> Named | None:
        """The compared controllers: those of `--cc` (default: the scenario's), then those in Python."""
        if not self.of_flows:
            return cc
        own = str(field_paths.below(scenario.to_dict(), "tcp", "control", "cc") or "reno")
        tables = parse_named(cc, "cc", "cc") if cc else {} if own == "external" else {own: {"cc": own}}
        named = {table["cc"] for table in tables.values()}
        return {**tables, **{name: {"cc": name} for name in self.of_flows if name not in named}}

    def check_used(self, file: Path, scenarios: Iterable[Scenario], what: str = "point") -> None:
        """Raises `UserError` for a law that no scenario of a file uses.

        `what` is the file's word for one of its scenarios.
        """
        left = set(self.laws)
        for scenario in scenarios if left else ():
            left -= named_by(scenario)
            if not left:
                return
        for name in sorted(left):
            if is_controller(self.laws[name]):
                control = f'{{ cc = "external", controller = "{name}" }}'
                raise UserError(f"{file}: --controller: expected a {what} with the control {control}, got none")
            queue = f'{{ aqm = "external", law = "{name}" }}'
            raise UserError(f"{file}: --law: expected a {what} with the queue {queue}, got none")

    def used_by(self, scenario: Scenario) -> dict[str, Callable[[], Any]]:
        """The laws that a scenario names."""
        return {name: self.laws[name] for name in sorted(named_by(scenario) & set(self.laws))}

    @contextmanager
    def one_line(self) -> Iterator[None]:
        """Converts an exception that a law raises into a `UserError`."""
        try:
            yield
        except (KeyboardInterrupt, Stopped):
            raise
        except BaseException as error:
            said = self._line(error)
            if said is None:
                raise
            raise UserError(said) from error

    def _line(self, error: BaseException) -> str | None:
        """An exception of a law as one line with its place in the file.

        None for an error from elsewhere.
        """
        notes = [each for each in getattr(error, "__notes__", []) if ": raised " in each]
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in self.files]
        place = f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""
        if not isinstance(error, Exception):  # raised where the engine calls a law, for example while copying it
            return f"{place}raised {_shown(error)}"
        if not notes or (isinstance(error, UserError) and not frames):  # a complete message of our own
            return None
        return f"{place}{notes[-1].replace(': raised ', f': raised {_shown(error)} ')}"


def _check_without_own(scenario: Scenario, name: str) -> None:
    """Raises `UserError` if no group of flows can get this controller.

    That is so if every group has a controller of its own.
    """
    controlled = own_controllers(scenario)
    if controlled and all(controlled.values()):
        names = list(controlled)
        way = f'flows.{field_paths.element(names[0])}.tcp.control={{cc="external",controller="{name}"}}'
        own = f"{', '.join(names)} with their own" if len(names) > 1 else f"{names[0]} with its own"
        raise UserError(f"--controller: expected flows without a controller, got {own}; to replace it: --set '{way}'")


def _main_link(scenario: Scenario, name: str) -> str:
    """The link whose queue gets the law.

    Raises `UserError`, which names the needed option, if the choice is ambiguous.
    """
    try:
        return queued_link(scenario)
    except UserError:
        links = [str(field_paths.name_of(link)) for link in tables_of(scenario, "links")]
        if not links:
            raise
        way = f'links.{field_paths.element(links[0])}.queue={{aqm="external",law="{name}"}}'
        raise UserError(f"--law: expected the link that gets it, one of {', '.join(links)}: --set '{way}'") from None


def _check_one_queue(scenario: Scenario, link: str, name: str) -> None:
    """Raises `UserError` for a link with classes.

    The error names the option that assigns the law to one class.
    """
    links = tables_of(scenario, "links")
    queue = next((each.get("queue") for each in links if str(field_paths.name_of(each)) == link), None) or {}
    if not isinstance(queue, Mapping):
        scenario.canonical()  # reports why `classes` is invalid
    elif "classes" in queue:
        at = f"links.{field_paths.element(link)}.queue"
        way = f"--set '{at}.classes[0].aqm=external' --set '{at}.classes[0].law={name}'"
        raise UserError(f"--law: expected one queue, got a scheduler with classes at {at}; for one of them: {way}")


def read_laws(options: Iterable[str] | None, controllers: Iterable[str] | None = None) -> LawFiles:
    """The laws and controllers that the options name.

    Raises `UserError` if a file can't be loaded.
    """
    laws: dict[str, Callable[[], Any]] = {}
    files: set[str] = set()
    chosen = [(LAWS, each) for each in options or []] + [(CONTROLLERS, each) for each in controllers or []]
    for of, option in chosen:
        file, sign, name = option.rpartition(":")
        if not (sign and file.endswith(".py")):
            file, name = option, ""
        if not file.endswith(".py"):
            raise UserError.expected(of.name, of.form, option)
        path = located(Path(file))
        found = _class_of(_loaded(path, of.kind), str(path), name, of)
        if found.__name__ in laws:
            raise UserError.expected(of.name, "classes of different names", f"{found.__name__} twice")
        laws[found.__name__] = found
        files.add(str(path))
    return LawFiles(laws, frozenset(files))


def _loaded(file: Path, kind: str) -> ModuleType:
    """Loads a Python file as a module, with its folder on the import path.

    Raises `UserError` with the line that fails.
    """
    text = read_text(file, kind)
    try:
        return load_module(str(file), str(file.resolve().parent), text)
    except SyntaxError as error:
        raise UserError(
            f"{error.filename}:{error.lineno}:{error.offset}: expected Python, got a syntax error: {error.msg}"
        ) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == str(file)]
        raise UserError(f"{file}:{lines[-1]}: raised {_shown(error)}") from None


def _class_of(module: ModuleType, file: str, name: str, of: Option) -> type:
    """The named class of a file. Without a name, the only class with the option's method."""
    own = [each for each in vars(module).values() if inspect.isclass(each) and each.__module__ == module.__name__]
    known = {each.__name__: each for each in own if hasattr(each, of.method)}
    if not name and len(known) == 1:
        return next(iter(known.values()))
    where, classes = (
        f"{of.name} {file}",
        f"one of the classes with `{of.method}`: {', '.join(known) or '(none is there)'}",
    )
    if not name:
        raise UserError(f"{where}: expected {of.form}, with {classes}")
    if name not in known:
        raise UserError.expected(where, classes, name)
    return known[name]


def _shown(error: BaseException) -> str:
    """An error as Python prints it, without its notes.

    `SystemExit` and similar exceptions are shown as they were raised.
    """
    cause = error.__cause__
    error = error if cause is None or isinstance(cause, Exception) else cause
    return "".join(traceback.format_exception_only(type(error), error)).splitlines()[0]
