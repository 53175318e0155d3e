"""Runs in processes of their own.

A run that takes all memory, or that the system kills, ends its process. Here that loses this run and no other, and the
run can be named.
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
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sojourn import _sojourn
from sojourn.store import engine_identity, pack_entry

COMMAND = "from sojourn.workers import serve; serve()"
"""What a process runs."""


@dataclass(frozen=True)
class Task:
    """A run that a process does: the scenario's text, the name of its file, the seed, and the key for the answer."""

    index: int
    text: str
    file: str
    seed: int
    key: str
    engine: str


@dataclass(frozen=True)
class Answer:
    """What became of a task: the entry for the store, or why it failed."""

    index: int
    entry: bytes
    failure: str = ""


class _Worker:
    """A process that does one task after another."""

    def __init__(self) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        package = str(Path(__file__).resolve().parent.parent)
        path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
        self.process = subprocess.Popen(
            [sys.executable, "-c", COMMAND], env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
        )  # fmt: skip

    def do(self, task: Task) -> Answer:
        """Does a task. An answer without entry and failure means that the process has ended."""
        try:
            assert self.process.stdin
            assert self.process.stdout
            pickle.dump(task, self.process.stdin)
            self.process.stdin.flush()
            answer: Answer = pickle.load(self.process.stdout)
            return answer
        except (OSError, EOFError, pickle.UnpicklingError):
            return Answer(task.index, b"", self._end())

    def _end(self) -> str:
        """Why the process ended."""
        try:
            code = self.process.wait(timeout=1.0)  # its pipe has closed, so it ends
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

    def __init__(self, tasks: Iterator[Task], count: int) -> None:
        self._tasks, self._lock = tasks, threading.Lock()
        self._stopped = False
        self.answers: queue.Queue[Answer | BaseException | None] = queue.Queue(maxsize=2 * count)
        self.threads = [threading.Thread(target=self._drive, daemon=True) for _ in range(count)]
        self._workers: set[_Worker] = set()

    def _next(self) -> Task | None:
        with self._lock:
            return None if self._stopped else next(self._tasks, None)

    def _drive(self) -> None:
        """Does tasks until there are no more; a process that ended is replaced."""
        worker: _Worker | None = None
        try:
            while (task := self._next()) is not None:
                if worker is None or worker.process.poll() is not None:
                    worker = self._start()
                answer = worker.do(task)
                if self._stopped:
                    break
                self.answers.put(answer)
        except BaseException as error:  # the thread's owner raises it
            self.answers.put(error)
        finally:
            if worker is not None:
                worker.stop()
            self.answers.put(None)

    def _start(self) -> _Worker:
        worker = _Worker()
        with self._lock:
            self._workers = {each for each in self._workers if each.process.poll() is None} | {worker}
        return worker

    def stop(self) -> None:
        """Ends all processes and threads."""
        with self._lock:
            self._stopped = True
            running = list(self._workers)
        for worker in running:
            worker.process.kill()
        while any(thread.is_alive() for thread in self.threads):
            with suppress(queue.Empty):
                self.answers.get(timeout=0.02)


def run_in_workers(tasks: Iterator[Task], count: int, on_answer: Callable[[Answer], None]) -> None:
    """Does the tasks in `count` processes, and calls `on_answer` for each as it finishes.

    Tasks are taken from the iterator when a process is free. What the iterator or `on_answer` raises ends all runs.
    """
    pool = _Pool(tasks, count)
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


def serve() -> None:
    """Does the tasks that come from standard input, in a process that `run_in_workers` started."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    with suppress(OSError):  # where memory is short, the system shall end this process and not that one
        Path("/proc/self/oom_score_adj").write_text("500", encoding="ascii")
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)
        tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
        threading.Thread(target=_listen, args=(sys.stdin.buffer, tasks), daemon=True).start()
        while True:
            pickle.dump(_answer(tasks.get()), out)
            out.flush()


def _listen(stream: IO[bytes], tasks: queue.SimpleQueue[Any]) -> None:
    """Reads tasks; ends the process at once when the one that started it is gone."""
    while True:
        try:
            tasks.put(pickle.load(stream))
        except (EOFError, OSError, pickle.UnpicklingError):
            os._exit(0)


def _answer(task: Task) -> Answer:
    """Does a task."""
    try:
        if engine_identity() != task.engine:
            return Answer(task.index, b"", "the engine was built anew meanwhile; run the same command again")
        record, series = _sojourn.run(task.text, task.file, task.seed)
        return Answer(task.index, pack_entry(task.key, task.engine, record, series))
    except MemoryError:
        return Answer(task.index, b"", "out of memory")
    except BaseException as error:  # a panic of the engine is no Exception
        return Answer(task.index, b"", " ".join(str(error).split()) or type(error).__name__)
