"""Runs with laws and controllers in Python: their keys, the cache, and worker processes."""

from __future__ import annotations

import os
import random
import threading
from functools import partial
from types import ModuleType

import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.core.errors import Note
from sojourn.runs import workers
from sojourn.runs.law_digest import UnknownCodeError, law_digest

LAW = """
import os

GAIN = 0.1


def share(sample):
    return GAIN


class Noted:
    least = 0.0

    def __init__(self):
        with open({log!r}, "a") as log:
            log.write(f"{{os.getpid()}}\\n")

    def step(self, sample):
        return max(share(sample), self.least)


class Late(Noted):
    def step(self, sample):
        if sample.now >= 2:
            raise KeyError("late")
        return 0.0
"""


def module(text: str) -> ModuleType:
    made = ModuleType("mine")
    exec(compile(text.format(log="none"), "mine.py", "exec"), made.__dict__)
    return made


CODE = law_digest(module(LAW).Noted)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("GAIN = 0.1", "GAIN = 0.2"),  # a global that a function of the law reads
        ("return GAIN", "return 2 * GAIN"),  # that function
        ("least = 0.0", "least = 0.01"),  # a parameter of the class
        ("self.least)", "self.least) / 2"),  # the law itself
    ],
)
def test_a_change_of_a_law_or_of_what_it_refers_to_changes_its_digest(old, new):
    assert law_digest(module(LAW.replace(old, new)).Noted) != CODE


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("GAIN = 0.1", "# the gain\nGAIN = 0.1\nUNUSED = 1"),
        ("return GAIN", "return GAIN  # per packet"),
        ("class Late(Noted):", "class Later(Noted):"),
    ],
)
def test_comments_and_code_that_a_law_does_not_use_leave_its_digest_unchanged(old, new):
    assert law_digest(module(LAW.replace(old, new)).Noted) == CODE


def test_parameters_of_a_factory_are_part_of_its_digest():
    def of(gain):
        return lambda: gain

    assert law_digest(of(1.0)) == law_digest(of(1.0)) != law_digest(of(2.0))
    assert law_digest(partial(dict, gain=1)) != law_digest(partial(dict, gain=2))
    seeded = [law_digest(partial(dict, draw=random.Random(seed))) for seed in (1, 1, 2)]
    assert seeded[0] == seeded[1] != seeded[2]


def test_an_object_without_a_known_state_has_no_digest():
    with pytest.raises(UnknownCodeError, match=r"an object of _thread\.lock"):
        law_digest(partial(dict, lock=threading.Lock()))


@pytest.fixture
def noted(here):
    """A law that logs the process of each of its objects, its file, and that log."""
    (here / "law.py").write_text(LAW.format(log=str(here / "log")))
    return here / "log"


def lines(log) -> list[int]:
    return [int(line) for line in log.read_text().splitlines()] if log.exists() else []


def test_runs_with_a_law_of_a_file_go_to_processes_and_are_cached_until_its_code_changes(noted, dumbbell, capsys):
    command = ["compare", str(dumbbell), "--law", "law.py:Noted", "--queues", "Noted", "--seeds", "4", "--json"]
    assert main(command) == 0
    first = capsys.readouterr()
    assert len(lines(noted)) == 4
    assert os.getpid() not in lines(noted)
    assert len(set(lines(noted))) > 1
    noted.unlink()
    assert main(command) == 0
    again = capsys.readouterr()
    assert lines(noted) == []
    assert again.out == first.out
    assert again.err == ""
    law = noted.parent / "law.py"
    law.write_text(law.read_text().replace("GAIN = 0.1", "GAIN = 0.3"))
    assert main(command) == 0
    assert len(lines(noted)) == 4
    assert capsys.readouterr().out != first.out


def test_an_exception_in_a_process_is_the_law_s_own_with_its_place(noted, dumbbell, capsys):
    assert main(["run", str(dumbbell), "--law", "law.py:Late", "--seeds", "3"]) == 2
    assert os.getpid() != lines(noted)[0]
    place = "law.py:25: " + f"{dumbbell}: laws.Late: raised KeyError: 'late' at 2 s (seed "
    assert capsys.readouterr().err.startswith(f"error: {place}")


def test_a_law_that_no_process_can_import_is_called_in_this_one(dumbbell, tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "COMMAND", ["-c", "raise SystemExit(3)"])
    seen = []

    class Here:
        def __init__(self):
            seen.append(os.getpid())

        def step(self, sample):
            return 0.1

    cache, lock = sj.Store(tmp_path / "cache"), threading.Lock()
    scenario = sj.load(dumbbell).set("links.bottleneck.queue", {"aqm": "external", "law": "here"})
    with pytest.warns(Note, match="runs with here are not cached, because its code refers to"):
        sj.run_many(scenario, 2, laws={"here": lambda: Here() if lock else None}, cache=cache)
    assert set(seen) == {os.getpid()}
    assert len(cache) == 0
