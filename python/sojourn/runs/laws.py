"""Checks of queue laws and congestion controllers in Python, and their error messages."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from sojourn.core.errors import ScenarioError, UserError, note
from sojourn.core.field_paths import below
from sojourn.core.scenario import ACCURATE, Scenario
from sojourn.core.text_format import counted
from sojourn.core.toml import plain
from sojourn.runs.watchdog import Alarm, Stopped, Watched, made_in_time

Laws: TypeAlias = Mapping[str, Callable[[], Any]]
FACTORY = "a class or a function without arguments that makes a law or a congestion controller"
LAW = "a law with a method step(sample)"
CONTROLLER = "a controller with on_ack(sample), and on_loss(event) and on_mark(event) if it has them"
STEP = "step"
"""The method that a queue law must have."""
ON_LOSS = "on_loss"
ON_MARK = "on_mark"
ANSWERS = ("on_ack", ON_LOSS, ON_MARK)
"""The methods that a congestion controller can have."""


def checked_laws(laws: Laws | None) -> dict[str, Callable[..., Any]]:
    """The laws as factories that check their product.

    A factory raises `UserError` if its product is no law. Raises `UserError` if `laws` is not a table of factories, for
    a factory with required arguments, and for a class whose objects are not laws.
    """
    if laws is None:
        return {}
    if not isinstance(laws, Mapping):
        raise UserError.expected("laws", "a table of laws by name", type(laws).__name__)
    for name in laws:
        if not isinstance(name, str):
            raise UserError.expected("laws", "names that are texts", name)
        plain(name, "laws")
    return {name: _factory(_place(name, factory), factory) for name, factory in laws.items()}


def _place(name: str, factory: Any) -> str:
    """The name of a law or a controller in messages.

    A function counts as a law, because its product is unknown before the first call.
    """
    of = "controllers" if inspect.isclass(factory) and hasattr(factory, ANSWERS[0]) else "laws"
    return f"{of}.{name}"


class _Controllers:
    """A factory of checked and watched congestion controllers.

    The engine recognizes it by `is_controller`.
    """

    is_controller = True

    def __init__(self, where: str, factory: Callable[[], Any], made: Any) -> None:
        """`made` is the class, or the product of the function."""
        self.where, self.factory = where, factory
        self._check(made)
        if inspect.isclass(factory) and not all(hasattr(made, name) for name in ANSWERS):
            made = next(_tried(where, factory), made)  # a constructor may add methods
            self._check(made)
        self.is_told_of_marks = hasattr(made, ON_MARK)
        if not hasattr(made, ON_LOSS):
            note(f"{where} has no {ON_LOSS}: it learns of losses only by sample.lost")

    def _check(self, made: Any) -> None:
        """Raises `UserError` for a method that is not callable, and for a missing `on_ack`."""
        for name in ANSWERS:
            method = getattr(made, name, None)
            if method is None and name != ANSWERS[0]:
                continue
            static = inspect.getattr_static(made, name, None) if inspect.isclass(made) else None
            if inspect.isfunction(static):
                method = static.__get__(made)  # bind the object as the first argument
            if wrong := misfit(method, None):
                of = made if inspect.isclass(made) else self.factory
                raise UserError(f"{self.where}: expected {CONTROLLER}, got {_name(of)}.{name}{wrong}")

    def __call__(self, alarm: Alarm) -> Watched:
        made = made_in_time(self.factory, alarm)
        self._check(made)
        return Watched(made, alarm)


def _tried(where: str, factory: Callable[[], Any]) -> Iterator[Any]:
    """The product of one call of a factory. None if it raises: a run reports the exception.

    Raises `UserError` if it hangs.
    """
    said: list[str] = []
    try:
        made = made_in_time(factory, said.append)
    except Stopped:
        raise UserError(f"{where}: {said[0]}") from None
    except Exception:
        return
    yield made


def is_controller(factory: Any, where: str = "laws") -> bool:
    """Whether a factory makes congestion controllers. A function is called once to find out.

    Raises `UserError` if it makes neither a controller nor a law; `where` names it in the message.
    """
    return hasattr(_seen(factory, where), ANSWERS[0])


def _seen(factory: Any, where: str) -> Any:
    """An object with the methods of the product.

    It is the class itself, or the product of one call; None if the call fails.
    """
    if inspect.isclass(factory):
        return factory
    for made in _tried(where, factory):
        if not hasattr(made, ANSWERS[0]) and not hasattr(made, STEP):
            raise UserError(f"{where}: expected {LAW}, or {CONTROLLER}, got {type(made).__name__} without one")
        return made
    return None


def _name(factory: Any) -> str:
    return str(getattr(factory, "__name__", type(factory).__name__))


def _factory(where: str, factory: Any) -> Callable[..., Any]:
    """A factory whose product is checked. A class is checked at once."""
    if not callable(factory):
        raise UserError(f"{where}: expected {FACTORY}, got an object of {type(factory).__name__}")
    if wrong := misfit(factory):
        raise UserError(f"{where}: expected {FACTORY}, got {_name(factory)}{wrong}")
    seen = _seen(factory, where)
    if hasattr(seen, ANSWERS[0]):
        return _Controllers(where.replace("laws.", "controllers.", 1), factory, seen)

    def made(alarm: Alarm) -> Any:
        law = made_in_time(factory, alarm)
        _check_step(where, getattr(law, STEP, None), type(law).__name__)
        return law

    if inspect.isclass(factory):
        step = inspect.getattr_static(factory, STEP, None)
        if inspect.isfunction(step):
            _check_step(where, step.__get__(factory), factory.__name__)
        elif step is None:
            for law in _tried(where, factory):
                _check_step(where, getattr(law, STEP, None), type(law).__name__)  # a constructor may add its `step`

    def make(alarm: Alarm) -> Watched:
        return Watched(made(alarm), alarm)

    return make


def _check_step(where: str, step: Any, of: str = "") -> None:
    """Raises `UserError` for a `step` that can't be called with a sample; `of` is its owner."""
    if not callable(step):
        raise UserError(f"{where}: expected {LAW}, got {of} without one")
    if wrong := misfit(step, None):
        raise UserError(f"{where}: expected {LAW}, got {_name(step)}{wrong}")


def misfit(what: Any, *arguments: Any) -> str:
    """The reason why `what` can't be called with these arguments, as the end of a message.

    Empty if it can be called, as far as its signature is known.
    """
    if not callable(what):
        return f" that is an object of {type(what).__name__}"
    if inspect.iscoroutinefunction(what) or inspect.iscoroutinefunction(type(what).__call__):
        return " that is a coroutine function (async def)"
    try:
        signature = inspect.signature(what)
        signature.bind(*arguments)
    except TypeError:
        return _arity(signature, len(arguments))
    except ValueError:  # some functions in C have no signature
        return ""
    return ""


def _arity(signature: inspect.Signature, wanted: int) -> str:
    """The arguments of a function. Includes their number, unless only a name is missing."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    found = [each for each in signature.parameters.values() if each.kind in kinds]
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
    shown = str(inspect.Signature(bare))
    return shown + ("" if len(found) == wanted else f", which takes {counted(len(found), 'argument')}")


def external_controllers(scenario: Scenario) -> list[str]:
    """The names of the external congestion controllers of a scenario.

    That of `tcp.control` counts unless each group of flows has its own control.
    """
    tree = scenario.to_dict()
    own = [below(group, "tcp", "control") for group in _tables(tree.get("flows"))]
    controls = own if own and None not in own else [below(tree, "tcp", "control"), *own]
    return [str(control.get("controller", "")) for control in _tables(controls) if control.get("cc") == "external"]


def _tables(items: Any) -> list[Mapping[str, Any]]:
    """The tables of a list in a scenario that may be invalid."""
    return [each for each in items if isinstance(each, Mapping)] if isinstance(items, list) else []


def external_laws(scenario: Scenario) -> list[str]:
    """The names of the external laws of all queues of a scenario."""
    return list(_external(scenario.to_dict().get("links")))


def named_by(scenario: Scenario) -> set[str]:
    """The names of all external laws and controllers of a scenario."""
    return {*external_laws(scenario), *external_controllers(scenario)}


def check_named(laws: Mapping[str, Any], named: Collection[str], scenarios: Iterable[Scenario]) -> None:
    """Raises `UserError` for a law or controller that none of these valid scenarios names.

    Issues a note on controllers that ignore marks of their packets.
    """
    for name in laws:
        if name not in named:
            field = f'controller = "{name}"' if isinstance(laws[name], _Controllers) else f'law = "{name}"'
            whose = "flows" if isinstance(laws[name], _Controllers) else "a queue"
            raise UserError(f"laws.{name}: expected {whose} with {field}, got none")
    each_once = {id(scenario): scenario for scenario in scenarios}.values() if laws else ()
    for said in dict.fromkeys(said for scenario in each_once for said in _untold_marks(scenario, laws)):
        note(said)


def check_laws_of(scenario: Scenario, laws: Mapping[str, Any]) -> None:
    """Raises `UserError` for a law that the scenario does not name.

    Raises `ScenarioError` for an invalid scenario.
    """
    if laws:
        scenario.canonical(laws)
        check_named(laws, named_by(scenario), [scenario])


def _untold_marks(scenario: Scenario, laws: Mapping[str, Any]) -> list[str]:
    """Warnings about controllers without `on_mark` whose packets may be marked."""
    without = {name for name, law in laws.items() if isinstance(law, _Controllers) and not law.is_told_of_marks}
    if not without:
        return []
    stacks = [group["tcp"] for group in scenario.resolved()["groups"] if group.get("tcp")]
    ecn = {stack["control"].get("controller"): stack["ecn"] for stack in stacks if stack["ecn"]}
    return [
        f"controllers.{name} has no {ON_MARK}: it is not told of marks"
        + (", but by sample.marked" if ecn[name] in ACCURATE else "")
        for name in sorted(without & ecn.keys())
    ]


def _external(node: Any) -> Iterator[str]:
    """The names of laws of all queues below a value: of links, reverse directions and classes."""
    if isinstance(node, Mapping):
        if node.get("aqm") == "external":
            yield str(node.get("law", ""))
        for each in node.values():
            yield from _external(each)
    elif isinstance(node, list):
        for each in node:
            yield from _external(each)


def of_run(error: Exception, scenario: Scenario, seed: int) -> Exception:
    """Adds the scenario's label and the seed to an error of a run.

    An exception of a law is returned unchanged. Its note gets them instead.
    """
    notes = getattr(error, "__notes__", [])
    if notes:
        notes[-1] = _with_seed(scenario.clean_error(notes[-1]), seed)
        return error
    if type(error) in (ScenarioError, RuntimeError):
        return type(error)(_with_seed(scenario.clean_error(str(error)), seed))
    return error


def _with_seed(text: str, seed: int) -> str:
    return f"{text} (seed {seed})"
