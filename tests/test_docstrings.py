"""What is public has a docstring that says what can be raised, with an example that gives what it shows."""

import doctest
import inspect
import sys

import pytest

import sojourn as sj
from source_tree import ROOT

# An error is raised by what is shown elsewhere; the engine makes the samples that a law is given.
WITHOUT_EXAMPLE = {"AckSample", "CongestionEvent", "Interrupted", "MissingExtraError", "Sample", "ScenarioError"}
MODULES = sorted({getattr(sj, name).__module__ for name in sj.__all__} & set(sys.modules) | {"sojourn.traces"})


def examples() -> list[doctest.DocTest]:
    """The docstrings of the modules that have examples."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [test for module in MODULES for test in finder.find(sys.modules[module], globs={"sj": sj})]
    return [test for test in found if test.examples]


@pytest.mark.parametrize("test", examples(), ids=lambda test: test.name)
def test_an_example_in_a_docstring_gives_what_it_shows(test, here):
    (here / "examples").symlink_to(ROOT / "examples")
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    said: list[str] = []
    runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)


@pytest.mark.parametrize("name", sorted(set(sj.__all__) - WITHOUT_EXAMPLE))
def test_what_is_public_has_a_docstring_with_an_example(name):
    thing = getattr(sj, name)
    of = [thing, *(vars(thing).values() if inspect.isclass(thing) else ())]
    assert any(">>> " in (getattr(each, "__doc__", None) or "") for each in of), f"sojourn.{name} has no example"


@pytest.mark.parametrize("name", ["run", "run_many", "compare", "sweep", "make_plan", "load", "congest"])
def test_what_a_call_can_raise_and_each_of_its_arguments_is_said(name):
    call = getattr(sj, name)
    said = inspect.getdoc(call)
    assert "Raises `" in said or "raised see" in said
    unsaid = [each for each in inspect.signature(call).parameters if f"`{each}`" not in said]
    assert unsaid in ([], ["source"], ["scenario"], ["plan"], ["scenario", "name"]), f"sojourn.{name}: {unsaid}"
