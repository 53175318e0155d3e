"""Runs on the workers of an executor, in chunks.

A chunk takes a few seconds, so that the overhead per run is small; the last chunks are shorter, so that all workers
finish at about the same time. At most two chunks per worker are in flight. If a worker dies, its chunk is resent in
halves until the run that kills workers is isolated.
"""

from __future__ import annotations

import itertools
import math
import queue
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import suppress
from typing import Any, TypeAlias

from sojourn import _sojourn
from sojourn.core.errors import RunError, UserError, note, one_line
from sojourn.core.record_files import unpack_series
from sojourn.runs import worker_program
from sojourn.runs.cluster import Cluster
from sojourn.runs.store import engine_identity
from sojourn.runs.workers import Answer, Task

PATIENCE = 5.0
"""Seconds without a result after which the workers are counted."""

Done: TypeAlias = tuple[str, str, float, list[tuple[int, worker_program.Answer]]]
"""A worker's answer: host, engine, elapsed seconds, and one answer per task by its index."""


def do_chunk(engine: str, tasks: list[worker_program.Task]) -> Done:
    """Executes runs on the calling worker, if it has this engine."""
    started, mine = time.perf_counter(), engine_identity()
    found: list[tuple[int, worker_program.Answer]] = []

    def keep(place: int, answer: worker_program.Answer) -> None:
        kind, text, *rest = answer
        found.append((place, (kind, text, *rest[1:])))  # the series are sent once, packed

    if mine == engine:
        worker_program.do(_sojourn, tasks, keep)
    return socket.gethostname(), mine, time.perf_counter() - started, found


class _Chunks:
    """The pending tasks, in chunks."""

    LEAST = 0.02
    """The smallest chunk at the end of a sweep, as a fraction of the target time."""
    MOST_RUNS, MOST_TEXT = 500, 1 << 20
    """Upper bounds of a chunk: runs, and (approximately) characters of their scenarios."""

    def __init__(self, tasks: Iterator[Task], total: int, cluster: Cluster) -> None:
        self._tasks, self._left, self._seconds = tasks, total, cluster.chunk_s
        self._first = math.inf if cluster.submits_jobs else 1.0
        self._each = 0.0
        self._again: deque[list[Task]] = deque()
        self._lost: set[int] = set()

    def took(self, seconds: float, runs: int) -> None:
        """Updates the estimated time per run.

        Recent chunks have more weight, because run times drift.
        """
        each = max(seconds / runs, 1e-6)
        self._each = 0.5 * (self._each + each) if self._each else each

    def next(self, workers: int) -> list[Task]:
        """The next chunk; empty at the end.

        Until a run has finished it is a single run, or for a batch system a quarter of a worker's share.
        """
        if self._again:
            return self._again.popleft()
        whole = self._seconds / self._each if self._each else self._first
        least = self.LEAST * whole if math.isfinite(whole) else 0.0
        size = min(whole, max(self._left / (4 * workers), least), self.MOST_RUNS)
        chunk: list[Task] = []
        length, last = 0, ""
        for task in itertools.islice(self._tasks, max(int(size), 1)):
            chunk.append(task)
            length += 0 if task.text is last else len(task.text)  # the same text is sent once for several seeds
            last = task.text
            if length > self.MOST_TEXT:
                break
        self._left -= len(chunk)
        return chunk

    def lost(self, chunk: list[Task]) -> bool:
        """Requeues a chunk whose worker died; fails a single run that was lost twice."""
        half = len(chunk) // 2
        if half:
            self._again += [chunk[:half], chunk[half:]]
        elif chunk[0].index in self._lost:
            return False
        else:
            self._lost.add(chunk[0].index)
            self._again.append(chunk)
        return True


class _Flight:
    """The chunks in flight."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._engine = cluster, engine_identity()
        self._chunks: dict[Any, list[Task]] = {}
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._warned = False

    def __len__(self) -> int:
        return len(self._chunks)

    def send(self, chunk: list[Task]) -> None:
        """Sends a chunk."""
        tasks = [(task.text, task.file, task.seed, True) for task in chunk]
        try:
            future = self._cluster.executor.submit(do_chunk, self._engine, tasks)
        except (BrokenExecutor, RuntimeError, OSError) as error:
            raise _gone(error) from None
        self._chunks[future] = chunk
        if hasattr(future, "add_done_callback"):
            future.add_done_callback(self._ended.put)

    def wait(self) -> tuple[list[Task], Any]:
        """Waits for the next finished chunk; returns it with its future."""
        pause, began = 0.01, time.monotonic()
        while True:
            if not self._warned and time.monotonic() - began > PATIENCE:
                self._warn_idle()
            with suppress(queue.Empty):
                future = self._ended.get(timeout=pause)
                if future in self._chunks:
                    return self._chunks.pop(future), future
            for future in self._chunks:  # few, because submitit's futures have no callbacks
                if not hasattr(future, "add_done_callback") and future.done():
                    return self._chunks.pop(future), future
            pause = min(2 * pause, 1.0)

    def _warn_idle(self) -> None:
        """Notes that Dask has no worker. Raises `RunError` without a scheduler."""
        try:
            idle = self._cluster.connected() == 0
        except (RuntimeError, OSError, TimeoutError) as error:
            raise _gone(error) from None
        if idle:
            note(f"executor: no worker is connected; {len(self)} chunks of runs wait for one (Ctrl-C stops)")
        self._warned = idle

    def cancel(self) -> None:
        """Cancels all chunks."""
        for future in self._chunks:
            with suppress(Exception):
                future.cancel()


def run_in_chunks(cluster: Cluster, tasks: Iterator[Task], total: int, on_answer: Callable[[Answer], None]) -> None:
    """Executes the tasks on a cluster; calls `on_answer` for each when its chunk is done.

    A task whose worker died twice fails. An exception of the iterator or of `on_answer` ends all runs. Raises
    `UserError` for a worker with another engine or without one, and `RunError` if the executor itself fails.
    """
    import asyncio  # here, because few programs use an executor, and it takes long to import

    chunks, flight = _Chunks(tasks, total, cluster), _Flight(cluster)
    try:
        while True:
            workers = cluster.size()
            while len(flight) < 2 * workers and (chunk := chunks.next(workers)):
                flight.send(chunk)
            if not flight:
                return
            chunk, future = flight.wait()
            try:
                done: Done = future.result()
            except (BrokenExecutor, CancelledError, asyncio.CancelledError) as error:
                raise _gone(error) from None
            except (ImportError, AttributeError) as error:
                raise UserError.expected("executor", "workers with this sojourn installed", _said(error)) from None
            except Exception as error:
                if not chunks.lost(chunk):
                    on_answer(Answer(chunk[0].index, failure=f"its worker died: {_said(error)}"))
                continue
            _take(chunk, done, on_answer)
            chunks.took(done[2], len(chunk))
    finally:
        flight.cancel()


def _take(chunk: list[Task], done: Done, on_answer: Callable[[Answer], None]) -> None:
    """Passes on a worker's answers."""
    host, engine, _, answers = done
    if engine != engine_identity():
        what = f"workers with this sojourn, engine {engine_identity()}"
        raise UserError(f"executor: expected {what}, got engine {engine} on {host}")
    for place, (kind, text, *packed) in answers:
        index = chunk[place].index
        if kind == "done":
            on_answer(Answer(index, text, unpack_series(packed[0]) if packed[0] else {}, packed[0]))
        else:
            on_answer(Answer(index, failure=text, refused=kind == "refused"))


def _gone(error: BaseException) -> RunError:
    """The error for a dead executor."""
    return RunError(f"executor: expected one that does runs, got {_said(error)}")


def _said(error: BaseException) -> str:
    """The message of an error as one short line."""
    text = one_line(" ".join(str(error).split()))
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__
