"""Public names have docstrings with their errors and a working example."""

import dataclasses
import doctest
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import sojourn as sj
from sojourn import analysis, gym
from sojourn.analysis import laws
from tests.support.source_tree import ROOT

# An error is raised by what is shown elsewhere; the engine makes the samples that a law is given; and what a function
# gives is shown by the function.
WITHOUT_EXAMPLE = {
    "AckSample",
    "CongestionEvent",
    "Interrupted",
    "MissingExtraError",
    "Sample",
    "ScenarioError",
    "Hurst",
    "LimitCycle",
    "Managed",
    "Margins",
    "Point",
    "Step",
    "Textbook",
}


def defined_in(module: Any) -> list[str]:
    """The public classes and functions of a module without `__all__`."""
    found = {name: each for name, each in vars(module).items() if inspect.isclass(each) or inspect.isfunction(each)}
    return [name for name, each in found.items() if each.__module__ == module.__name__ and not name.startswith("_")]


def in_all(module: Any) -> list[str]:
    """The classes and functions that a module exports, without its constants."""
    return [
        name
        for name in module.__all__
        if inspect.isclass(getattr(module, name)) or inspect.isfunction(getattr(module, name))
    ]


PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module, names in (
        (sj, sj.__all__),
        (analysis, analysis.__all__),
        (laws, defined_in(laws)),
        (gym, in_all(gym)),
    )
    for name in names
}
MODULES = sorted({thing.__module__ for thing in PUBLIC.values()} & set(sys.modules) | {"sojourn.core.traces"})


def with_examples() -> Iterator[doctest.DocTest]:
    """The docstrings of the modules that have examples."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    for module in MODULES:
        known: dict[str, Any] = {"sj": sj}
        if module.startswith(("sojourn.analysis", "sojourn.gym")):
            known |= vars(sys.modules[module]) | vars(analysis)
        yield from (test for test in finder.find(sys.modules[module], globs=known) if test.examples)


@pytest.mark.parametrize("test", list(with_examples()), ids=lambda test: test.name)
def test_an_example_in_a_docstring_gives_what_it_shows(test, here):
    (here / "examples").symlink_to(ROOT / "examples")
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    said: list[str] = []
    runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)


def own(thing: type) -> dict[str, Callable[..., Any]]:
    """The public methods that a class defines itself, by name.

    A hand-written constructor is included.
    """
    found = {name: getattr(each, "__func__", each) for name, each in vars(thing).items()}
    written = {"__init__"} - ({"__init__"} if dataclasses.is_dataclass(thing) else set())
    return {
        name: each
        for name, each in found.items()
        if inspect.isfunction(each) and (name in written or not name.startswith("_"))
    }


@pytest.mark.parametrize("name", sorted(each for each in PUBLIC if each.split(".")[-1] not in WITHOUT_EXAMPLE))
def test_what_is_public_has_a_docstring_with_an_example(name):
    thing = PUBLIC[name]
    of = [thing, *(vars(thing).values() if inspect.isclass(thing) else ())]
    assert any(">>> " in (getattr(each, "__doc__", None) or "") for each in of), f"{name} has no example"


def calls() -> dict[str, tuple[Callable[..., Any], str]]:
    """Public callables, each with the text that explains its arguments."""
    found = {name: (thing, inspect.getdoc(thing) or "") for name, thing in PUBLIC.items() if inspect.isfunction(thing)}
    for name, thing in PUBLIC.items():
        for method, each in own(thing).items() if inspect.isclass(thing) else ():
            found[f"{name}.{method}"] = each, inspect.getdoc(thing if method == "__init__" else each) or ""
    return found


CALLS = calls()


@pytest.mark.parametrize("name", CALLS)
def test_each_argument_of_what_is_public_is_in_its_docstring(name):
    call, said = CALLS[name]
    arguments = [
        each.name
        for each in inspect.signature(call).parameters.values()
        if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD) and each.name != "self"
    ]
    named = {each for each in arguments if re.search(rf"`{each}`|^{each}( : .+)?$", said, re.MULTILINE)}
    assert [each for each in arguments if each not in named and each != "cls"] == []


def test_the_search_finds_what_is_public():
    assert {"sojourn.compare", "sojourn.Record.save", "sojourn.analysis.laws.red", "sojourn.gym.power"} <= set(CALLS)


# GL: names and order of sections. SS: the summary. PR: parameters. RT: returned values. YD: yielded values.
CHECKED = {
    "GL03",
    "GL06",
    "GL07",
    "GL08",
    "SS01",
    "SS02",
    "SS03",
    "SS06",
    "PR01",
    "PR02",
    "PR03",
    "PR04",
    "PR05",
    "PR07",
    "PR08",
    "PR09",
    "PR10",
    "RT01",
    "RT03",
    "RT04",
    "RT05",
    "YD01",
}
SUMMARY = 90
OTHERS = ("sojourn.analysis.", "sojourn.gym.")
NUMPY_STYLE = sorted({name.removesuffix(".__init__") for name in [*PUBLIC, *CALLS] if not name.startswith(OTHERS)})


def place(name: str) -> str:
    """Where a public name is defined. `sojourn.compare` is also a module."""
    thing = PUBLIC.get(name) or CALLS[name][0]
    return name if thing.__module__ in ("builtins", "sojourn") else f"{thing.__module__}.{thing.__qualname__}"


@pytest.mark.parametrize("name", NUMPY_STYLE)
def test_a_public_docstring_has_the_sections_of_the_numpy_style(name):
    validate = pytest.importorskip("numpydoc.validate")
    found = validate.validate(place(name))
    assert [f"{code} {said}" for code, said in found["errors"] if code in CHECKED] == []
    assert len(found["docstring"].strip().splitlines()[0]) <= SUMMARY


@pytest.mark.parametrize("name", [each for each in NUMPY_STYLE if inspect.isfunction(PUBLIC.get(each))])
def test_a_public_function_has_sections_for_its_result_its_example_and_its_errors(name):
    said = inspect.getdoc(PUBLIC[name])
    sections = re.findall(r"^(\w+)\n-+$", said, re.MULTILINE)
    assert sections[:2] == ["Parameters", "Returns"]
    assert sections[-1] == "Examples"
    assert "Raises" in sections or name == "sojourn.jain"  # which accepts any numbers
