"""The stories of the playground tell what the engine computes."""

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import sojourn as sj
from tests.support.source_tree import ROOT

STORIES = ROOT / "playground" / "stories"


def script() -> ModuleType:
    """scripts/playground.py, which reads the stories."""
    specification = importlib.util.spec_from_file_location("playground_script", ROOT / "scripts" / "playground.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


SCRIPT = script()
NAMES = SCRIPT.stories()


def measured(record: Any, path: str) -> float:
    """The value at a path of a record; list entries are selected by name."""
    here = record.to_dict()
    for key in path.split("."):
        here = next(each for each in here if each["name"] == key) if isinstance(here, list) else here[key]
    return float(here)


def test_each_file_of_a_story_is_listed_once():
    assert sorted(NAMES) == sorted(path.stem for path in Path(STORIES).glob("*.toml"))
    listed = tomllib.loads(SCRIPT.PRESETS.read_text(encoding="utf-8"))["presets"]
    assert not {each["id"] for each in listed} & set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_run_shows_what_the_story_tells(name: str):
    story = SCRIPT.read_story(name)
    a, b = (sj.run(SCRIPT.story_side(story, side), seed=1) for side in "ab")
    assert story["holds"]
    for claim in story["holds"]:
        path = story["figures"][claim["figure"]]["path"]
        over, under = (a, b) if claim["ratio"] == "a/b" else (b, a)
        ratio = measured(over, path) / measured(under, path)
        assert claim["from"] <= ratio <= claim.get("to", float("inf")), f"{path}: {claim['ratio']} is {ratio:.3g}"


@pytest.mark.parametrize("name", NAMES)
def test_one_prediction_is_right_and_the_answer_mentions_measured_numbers(name: str):
    story = SCRIPT.of_story(name)["story"]
    assert [choice.get("right", False) for choice in story["choices"]].count(True) == 1
    mentioned = [int(figure) for figure in re.findall(r"\{[ab]\.([0-9])\}", story["answer"])]
    assert mentioned
    assert max(mentioned) < len(story["figures"])


@pytest.mark.no_libraries
@pytest.mark.parametrize("name", [name for name in NAMES if "stable" in SCRIPT.read_story(name)])
def test_the_margins_are_those_that_the_story_tells(name: str):
    from sojourn.analysis import Loop, managed

    story = SCRIPT.read_story(name)
    for side in "ab":
        chosen = managed(SCRIPT.story_side(story, side))
        assert Loop(chosen.queue, chosen.plant).margins().stable is story["stable"][side]
