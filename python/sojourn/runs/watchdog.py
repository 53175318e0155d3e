"""A watchdog for queue laws and congestion controllers in Python.

A call that never returns would block its run, and a thread can't be stopped from outside. A watchdog thread checks
pending calls. If a call takes longer than `LIMIT`, the run ends with a message, and an exception is raised in the
call's thread. A sleeping thread receives the exception when it wakes up; the run does not wait for it. A call that
stays in C code and holds the interpreter's lock, such as `sum(itertools.count())`, can't be stopped, because no other
Python thread runs and no signal is handled.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import Any, TypeAlias

LIMIT = 10.0
"""The time limit in seconds of one call of a law or a controller."""

Alarm: TypeAlias = Callable[[str], None]
"""Ends a run with a message."""


class Stopped(BaseException):
    """Raised in a call that takes too long.

    It is a `BaseException`, so that `except Exception` does not catch it.
    """


_calls: dict[int, tuple[float, str, tuple[Any, ...], Alarm]] = {}
"""The pending call of each thread: start time, method, arguments, and whom to notify."""
_watcher = threading.Lock()


def _watch() -> None:
    while True:
        time.sleep(LIMIT / 10)
        late = time.monotonic() - LIMIT
        for thread, call in list(_calls.items()):
            since, method, arguments, alarm = call
            if since < late and _calls.pop(thread, None) is call:
                when = f"{method} at {arguments[0].now:.9g} s" if arguments else method
                alarm(f"{when}: expected an answer within {LIMIT:g} s, got none")
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Stopped))


def _start() -> None:
    if _watcher.acquire(blocking=False):  # never released: one thread per process
        threading.Thread(target=_watch, name="sojourn-watch", daemon=True).start()


ORDINARY = (Exception, KeyboardInterrupt, Stopped)
"""Exceptions of user code, and those that interrupt it from outside.

Others, such as that of `sys.exit`, would end a program silently.
"""


def left(error: BaseException) -> RuntimeError:
    """The error for user code that raised something other than an `Exception`."""
    shown = f"SystemExit({error.code!r})" if isinstance(error, SystemExit) else repr(error)
    return RuntimeError(shown).with_traceback(error.__traceback__)


def _in_time(call: Callable[..., Any], arguments: tuple[Any, ...], name: str, alarm: Alarm) -> Any:
    """Calls a function with at most one argument.

    If it hangs, calls `alarm` and raises `Stopped`.
    """
    thread = threading.get_ident()
    _calls[thread] = (time.monotonic(), name, arguments, alarm)
    try:
        return call(*arguments)
    except ORDINARY:
        raise
    except BaseException as error:
        raise left(error) from error
    finally:
        _calls.pop(thread, None)


def made_in_time(factory: Callable[[], Any], alarm: Alarm) -> Any:
    """Calls a factory. If it hangs, calls `alarm` and raises `Stopped`."""
    _start()
    return _in_time(factory, (), "when it was made", alarm)


class Watched:
    """A law or a controller with a watchdog, which calls `alarm` if a call hangs.

    An event whose method is missing keeps window and pacing rate.
    """

    def __init__(self, watched: Any, alarm: Alarm) -> None:
        self.watched, self.alarm = watched, alarm
        _start()

    def _call(self, name: str, argument: Any) -> Any:
        method = getattr(self.watched, name, None)
        return None if method is None else _in_time(method, (argument,), name, self.alarm)

    def step(self, sample: Any) -> Any:
        """Handles an interval of a queue."""
        return self._call("step", sample)

    def on_ack(self, sample: Any) -> Any:
        """Handles an ACK."""
        return self._call("on_ack", sample)

    def on_loss(self, event: Any) -> Any:
        """Handles a loss."""
        return self._call("on_loss", event)

    def on_mark(self, event: Any) -> Any:
        """Handles a mark."""
        return self._call("on_mark", event)
