"""Executes runs in worker processes.

If a run exhausts memory or is killed, only its process dies. No other run is lost, and the failed run can be named.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from sojourn import _sojourn
from sojourn.core.record_files import Series
from sojourn.runs import worker_program

COMMAND = ["-P", worker_program.__file__]
"""The interpreter's arguments before the engine's file and its stamp.

`-P` keeps the folder of this package off the import path.
"""
ENGINE = str(_sojourn.__file__)
STAMP = worker_program.stamp(ENGINE)


HUGE_PAGES = "glibc.malloc.hugetlb"
"""The glibc tunable for huge pages.

They reduce memory stalls in runs with very many flows.
"""


def environment() -> dict[str, str]:
    """The environment of a worker: this one's, with huge pages unless GLIBC_TUNABLES sets them.

    It has no effect with another C library, or if the system has no huge pages.
    """
    tunables = os.environ.get("GLIBC_TUNABLES", "")
    if HUGE_PAGES not in tunables:
        tunables = ":".join(filter(None, (tunables, f"{HUGE_PAGES}=1")))
    return {**os.environ, "GLIBC_TUNABLES": tunables}


def cpu_time() -> float:
    """Processor time in seconds of this process and its finished children."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


@dataclass(frozen=True)
class Task:
    """A task of a worker: scenario text, file name, seed, and whether the result is stored."""

    index: int
    text: str
    file: str
    seed: int
    pack: bool


@dataclass(frozen=True)
class Answer:
    """The result of a task: record and series, or the reason of failure."""

    index: int
    record: str = ""
    series: Series = field(default_factory=dict)
    packed: bytes = b""
    """The series in the store's format."""
    failure: str = ""
    refused: bool = False
    """Whether it failed because the scenario can't be run."""
    raised: bool = False
    """Whether a law in Python raised an exception, or could not be loaded."""


class _Worker:
    """A process that executes one task after another."""

    def __init__(self, laws: bytes) -> None:
        """`laws` are those of `pack_laws`. What they print goes to this process's standard error."""
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        package = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
        self.process = subprocess.Popen(
            [sys.executable, *COMMAND, ENGINE, STAMP],
            env={**environment(), "PYTHONPATH": path, "RUST_BACKTRACE": "0"},  # one line is enough to say why it ended
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if laws else self._errors,
        )
        assert self.process.stdin
        with suppress(OSError):  # if it has ended, the first task notices
            pickle.dump(laws, self.process.stdin)

    def do(self, family: Sequence[Task]) -> Iterator[Answer]:
        """Executes a family and yields each answer. Fewer answers mean that the process died."""
        try:
            assert self.process.stdin
            assert self.process.stdout
            pickle.dump([(task.text, task.file, task.seed, task.pack) for task in family], self.process.stdin)
            self.process.stdin.flush()
            for _ in family:
                position, kind, *rest = pickle.load(self.process.stdout)
                index = family[position].index
                if kind == "done":
                    yield Answer(index, *rest)
                else:
                    yield Answer(index, failure=rest[0], refused=kind == "refused", raised=kind == "raised")
        except (OSError, EOFError, pickle.UnpicklingError):
            return

    def why_ended(self) -> str:
        """The reason why the process ended."""
        try:
            code = self.process.wait(timeout=10.0)  # its pipe is closed, so it is about to end
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self._errors.seek(0)
        said = self._errors.read()[-4096:].decode("utf-8", errors="replace")
        last = next((line for line in reversed(said.splitlines()) if line.strip()), "")
        if "memory allocation of" in said:
            return f"out of memory: {next(line for line in said.splitlines() if 'memory allocation of' in line)}"
        if code == -signal.SIGKILL:
            return "its process was killed, as a system does that is out of memory"
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return f"its process ended with {name}" + (f": {last}" if last else "")

    def stop(self) -> None:
        """Ends the process."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self._errors):
            with suppress(OSError):
                if pipe:
                    pipe.close()


class _Pool:
    """Threads that each drive a process."""

    def __init__(self, tasks: Iterator[Sequence[Task]], count: int, laws: bytes) -> None:
        self._tasks, self._lock, self._laws = tasks, threading.Lock(), laws
        self._stopped = False
        self.answers: queue.Queue[Answer | BaseException | None] = queue.Queue(maxsize=2 * count)
        self.threads = [threading.Thread(target=self._drive, daemon=True) for _ in range(count)]
        self._workers: set[_Worker] = set()

    def _next(self) -> Sequence[Task] | None:
        with self._lock:
            return None if self._stopped else next(self._tasks, None)

    def _drive(self) -> None:
        """Executes tasks until none is left, and replaces dead processes.

        If a process dies within a family, the remaining runs are executed one by one.
        """
        worker: _Worker | None = None
        left: list[Sequence[Task]] = []
        try:
            while family := left.pop() if left else self._next():
                if worker is None or worker.process.poll() is not None:
                    worker = self._start()
                missing = {task.index: task for task in family}
                for answer in worker.do(family):
                    del missing[answer.index]
                    self.answers.put(answer)
                if self._stopped:
                    break
                if missing:
                    why = worker.why_ended()
                    if len(family) == 1:
                        self.answers.put(Answer(family[0].index, failure=why))
                    else:
                        left += [[task] for task in missing.values()]
        except BaseException as error:  # the thread's owner raises it
            self.answers.put(error)
        finally:
            if worker is not None:
                worker.stop()
            self.answers.put(None)

    def _start(self) -> _Worker:
        worker = _Worker(self._laws)
        with self._lock:
            self._workers = {each for each in self._workers if each.process.poll() is None} | {worker}
            if self._stopped:  # it started while all processes were being ended
                worker.process.kill()
        return worker

    def stop(self) -> None:
        """Ends all processes and threads."""
        with self._lock:
            self._stopped = True
            running = list(self._workers)
        for worker in running:
            worker.process.kill()
        for thread in self.threads:
            while thread.is_alive():
                with suppress(queue.Empty):
                    self.answers.get_nowait()
                thread.join(timeout=0.02)


def run_in_workers(
    tasks: Iterator[Sequence[Task]], count: int, on_answer: Callable[[Answer], None], laws: bytes = b""
) -> None:
    """Executes the tasks in `count` processes and calls `on_answer` for each as it finishes.

    `laws` are laws in Python as `pack_laws` returns them.

    A family is executed by one process, which simulates its shared beginning once. Families are taken from the iterator
    when a process is free. An exception of the iterator or of `on_answer` ends all runs.
    """
    pool = _Pool(tasks, count, laws)
    left = count
    try:
        for thread in pool.threads:
            thread.start()
        while left:
            answer = pool.answers.get()
            if answer is None:
                left -= 1
            elif isinstance(answer, BaseException):
                raise answer
            else:
                on_answer(answer)
    finally:
        pool.stop()
