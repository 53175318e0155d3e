"""A process that runs tests of Python modules in forks of itself.

Each run thus starts with all libraries loaded. Its arguments are the files of the tests. Each line of its input is a
request in JSON, and it answers with one line. The first, `{"modules": [...]}`, runs all tests and records which of
them reach which function of these modules. The process then loads the libraries that the tests use, but nothing of
the package. Each further request, `{"tests": [...], "limit_s": 20}`, runs tests in this order; the answer is whether
all pass in time.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import hypothesis
import pytest

STARTS = {"subprocess.Popen", "os.posix_spawn", "os.fork", "os.exec"}
"""The audit events of a test that starts a process, in which any function may run."""


@dataclass(eq=False)  # plugins of pytest are kept in a set
class Watch:
    """A plugin of pytest that records the functions that each test reaches."""

    modules: dict[str, str]
    """The names of the modules, by their paths."""
    seconds: dict[str, float] = field(default_factory=dict)
    """The duration of each test, by its ID, in the order of the run."""
    reached: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The tests that call each function ("module name").

    They include "" if the function is called while modules load.
    """
    starting: set[str] = field(default_factory=set)
    """The tests that start processes."""
    libraries: list[str] = field(default_factory=list)
    test: str = ""

    def __post_init__(self) -> None:
        sys.addaudithook(self._audit)
        sys.settrace(self._trace)

    def _audit(self, event: str, _: tuple[Any, ...]) -> None:
        if event in STARTS and self.test:
            self.starting.add(self.test)

    def _trace(self, frame: FrameType, _event: str, _argument: object) -> None:
        module = self.modules.get(frame.f_code.co_filename)
        if module is not None:
            self.reached[f"{module} {frame.f_code.co_qualname.replace('.<locals>', '')}"].add(self.test)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Records one test with its fixtures."""
        self.test, begin = item.nodeid, time.monotonic()
        yield
        self.seconds[item.nodeid] = time.monotonic() - begin
        self.test = ""

    def pytest_sessionfinish(self) -> None:
        """Notes the libraries that the tests have loaded."""
        sys.settrace(None)
        files = {name: getattr(module, "__file__", None) or "" for name, module in list(sys.modules.items())}
        self.libraries = [name for name, file in files.items() if "site-packages" in file]

    def answer(self) -> dict[str, Any]:
        """The recorded data, in a form for JSON."""
        reached = {name: sorted(tests) for name, tests in self.reached.items()}
        return {"seconds": self.seconds, "reached": reached, "starting": sorted(self.starting)}


@dataclass(eq=False)
class Only:
    """A plugin of pytest that runs some of the tests in a certain order.

    It does not shrink failures.
    """

    tests: list[str]

    def pytest_sessionstart(self) -> None:
        """Sets how properties are tested."""
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile("mutants", phases=phases)
        hypothesis.settings.load_profile("mutants")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Chooses and orders the tests."""
        place = {test: number for number, test in enumerate(self.tests)}
        items[:] = sorted((each for each in items if each.nodeid in place), key=lambda each: place[each.nodeid])


def run(files: list[str], plugin: object, log: Path) -> int:
    """Runs tests with a plugin in this process, and returns pytest's exit code."""
    with log.open("wb") as said:
        for stream in (1, 2):
            os.dup2(said.fileno(), stream)
    return int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", *files], plugins=[plugin]))


def run_only(tests: list[str], folder: Path) -> int:
    """Runs some tests of some files in this order, and returns pytest's exit code."""
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    return run(list(files), Only(tests), folder / "tests.log")


def forked(work: Callable[[], int], limit_s: float) -> bool:
    """Runs some work in a fork; returns whether it ends in time with 0.

    All processes that it started are ended.
    """
    child = os.fork()
    if not child:
        code = 1
        with suppress(BaseException):
            os.setsid()
            code = work()
        os._exit(code)
    with open(os.pidfd_open(child), "rb") as end:
        ended, _, _ = select.select([end], [], [], limit_s)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    code = os.waitpid(child, 0)[1]
    return bool(ended) and code == 0


def watched(files: list[str], modules: list[str], folder: Path) -> dict[str, Any] | None:
    """Runs the tests without a change; returns the functions that they reach.

    Returns nothing if one fails. Loads their libraries.
    """
    stored = folder / "watched.json"

    def work() -> int:
        sys.dont_write_bytecode = False
        watch = Watch({str(folder / module): module for module in modules})
        code = run(files, watch, folder / "tests.log")
        stored.write_text(json.dumps([watch.answer(), watch.libraries]), encoding="utf-8")
        return code

    if not forked(work, 3600):
        return None
    found, libraries = json.loads(stored.read_text(encoding="utf-8"))
    for name in libraries:
        with suppress(Exception):
            importlib.import_module(name)
    return dict(found)


def main() -> None:
    """Answers requests until none is left."""
    folder, files = Path.cwd(), sys.argv[1:]
    print(json.dumps(watched(files, json.loads(sys.stdin.readline())["modules"], folder)), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        work = partial(run_only, request["tests"], folder)
        print(json.dumps(forked(work, request["limit_s"])), flush=True)


if __name__ == "__main__":
    main()
