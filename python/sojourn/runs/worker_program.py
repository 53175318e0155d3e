"""The program of a worker process of `workers`.

It is run as a file and imports only what it calls, so that it starts quickly: `python worker_program.py ENGINE STAMP`.
Tasks come from standard input, answers go to standard output, both pickled. The first message has the laws in Python,
as `pack_laws` returns them. Each other message is a family: a list of tasks that may share a beginning. A task is
`(text, file, seed, pack)`. An answer is its position in the family and one of:

- `"done", record, series, packed`: `packed` is the series in the store's format if `pack` was set;
- `"failed", why`;
- `"refused", why`: the scenario can't be run;
- `"raised", why`: a law in Python raised an exception, or could not be loaded.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import queue
import signal
import sys
import threading
from contextlib import suppress

TYPE_CHECKING = False  # the one in `typing` takes longer to import than the engine
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Any, TypeAlias

NAME = "sojourn._sojourn"
Task = tuple[str, str, int, bool]
Answer: TypeAlias = "tuple[Any, ...]"
STALE: Answer = ("failed", "the engine was built anew meanwhile; run the same command again")


def stamp(file: str) -> str:
    """A stamp of the engine's file. It changes when the engine is rebuilt."""
    found = os.stat(file)
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ino}"


def serve(file: str, expected: str, engine: Any = None) -> None:
    """Executes tasks until standard input ends.

    `engine` runs them; default: the extension module in `file`.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent process
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
        score.write("500")  # when memory is short, the system kills this process, not its parent
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)
        tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=_listen, args=(sys.stdin.buffer, tasks), daemon=True).start()
        stale = stamp(file) != expected
        runner = engine or (None if stale else _load(file))
        given = tasks.get()
        laws = _laws(given) if given and not stale else None

        def send(position: int, answer: Answer) -> None:
            pickle.dump((position, *answer), out, protocol=pickle.HIGHEST_PROTOCOL)
            out.flush()

        while True:
            family = tasks.get()
            if not stale:
                do(runner, family, send, laws)
                continue
            for position in range(len(family)):
                send(position, STALE)


def _listen(stream: IO[bytes], tasks: queue.SimpleQueue[Any]) -> None:
    """Reads tasks; exits immediately when the parent process is gone."""
    while True:
        try:
            tasks.put(pickle.load(stream))
        except (EOFError, OSError, pickle.UnpicklingError):
            os._exit(0)


def _load(file: str) -> Any:
    """The engine, without the package around it."""
    spec = importlib.util.spec_from_file_location(NAME, file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    spec.loader.exec_module(module)
    return module


def _laws(packed: bytes) -> Any:
    """The laws in Python by name; an exception if they can't be loaded."""
    import warnings

    warnings.simplefilter("ignore")  # the parent process has issued the same notes
    try:
        from sojourn.runs.law_modules import unpack_laws

        return unpack_laws(packed)
    except BaseException as error:
        return error


def do(engine: Any, family: list[Task], send: Callable[[int, Answer], None], laws: Any = None) -> None:
    """Executes a family and calls `send` with the position and answer of each finished task.

    `laws` are laws in Python by name, or the exception that their modules raised.
    """
    left = set(range(len(family)))
    if len(family) > 1 and not laws:
        left -= _together(engine, family, send)
    for position in sorted(left):
        failed = isinstance(laws, BaseException)
        send(position, ("raised", str(laws)) if failed else _answer(engine, family[position], laws))


def _together(engine: Any, family: list[Task], send: Callable[[int, Answer], None]) -> set[int]:
    """Executes a family and simulates its shared beginning once.

    Sends each finished run. Returns which runs are done; after a failure, the rest is not.
    """
    done: set[int] = set()

    def on_done(position: int, record: str, series: Any) -> None:
        send(position, _done(record, series, family[position][3]))
        done.add(position)

    with suppress(BaseException):  # a failing run reports its reason when it is executed alone
        engine.run_many([task[:3] for task in family], 1, on_done)
    return done


def _done(record: str, series: Any, pack: bool) -> Answer:
    return "done", record, series, _packed(series) if pack and series else b""


def _answer(engine: Any, task: Task, laws: Any) -> Answer:
    """Executes one task."""
    text, file, seed, pack = task
    try:
        record, series = engine.run(text, file, seed, *([laws] if laws else []))
        return _done(record, series, pack)
    except MemoryError:
        return "failed", "out of memory"
    except BaseException as error:  # a panic of the engine is no Exception
        if laws:
            return "raised", str(error)
        said = " ".join(str(error).split()) or type(error).__name__
        return "refused" if type(error).__name__ == "ScenarioError" else "failed", said


def _packed(series: Any) -> bytes:
    """Series in the store's format, which requires the package."""
    from sojourn.core.record_files import pack_series

    return pack_series(series)


if __name__ == "__main__":
    serve(*sys.argv[1:])
