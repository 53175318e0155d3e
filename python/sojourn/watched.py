"""Queue laws and congestion controllers in Python, watched: one that does not answer is stopped.

One that never returns would hold its run for ever, and a thread can't be ended from outside. One thread looks
at the calls that have not returned. Where one takes longer than `LIMIT`, it lets the run end with a message, and raises
an error in the thread of the call. A thread that sleeps or waits takes no notice until it wakes up, and nobody waits
for it. A call that stays in C code and keeps the interpreter's lock, such as `sum(itertools.count())`, is not ended:
no other thread of Python runs meanwhile, this one neither, and no signal is handled.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import Any, TypeAlias

LIMIT = 10.0
"""Seconds that one call of a law or a controller may take."""

Alarm: TypeAlias = Callable[[str], None]
"""Ends a run with a message."""


class Stopped(BaseException):
    """Ends a call that takes too long. No `except Exception` of its code holds it up."""


_calls: dict[int, tuple[float, str, tuple[Any, ...], Alarm]] = {}
"""The call that has not returned yet, by thread: when it began, its method and arguments, and whom to tell."""
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
    if _watcher.acquire(blocking=False):  # never released: one thread for the process
        threading.Thread(target=_watch, name="sojourn-watch", daemon=True).start()


ORDINARY = (Exception, KeyboardInterrupt, Stopped)
"""What code of a user's may raise, or what ends it from outside. Others, as of `sys.exit`, end a program unsaid."""


def left(error: BaseException) -> RuntimeError:
    """The error of code of a user's that raised what is no `Exception`."""
    shown = f"SystemExit({error.code!r})" if isinstance(error, SystemExit) else repr(error)
    return RuntimeError(shown).with_traceback(error.__traceback__)


def _in_time(call: Callable[..., Any], arguments: tuple[Any, ...], name: str, alarm: Alarm) -> Any:
    """The answer of a call with no argument or one. `alarm` is called where it hangs, and `Stopped` raised."""
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
    """What a factory makes. `alarm` is called where it hangs, and `Stopped` raised."""
    _start()
    return _in_time(factory, (), "when it was made", alarm)


class Watched:
    """A law or a controller whose calls are watched; `alarm` is called where one hangs.

    What a controller has no method for keeps window and pace.
    """

    def __init__(self, watched: Any, alarm: Alarm) -> None:
        self.watched, self.alarm = watched, alarm
        _start()

    def _call(self, name: str, argument: Any) -> Any:
        method = getattr(self.watched, name, None)
        return None if method is None else _in_time(method, (argument,), name, self.alarm)

    def step(self, sample: Any) -> Any:
        """An interval of a queue."""
        return self._call("step", sample)

    def on_ack(self, sample: Any) -> Any:
        """An ACK."""
        return self._call("on_ack", sample)

    def on_loss(self, event: Any) -> Any:
        """A loss."""
        return self._call("on_loss", event)

    def on_mark(self, event: Any) -> Any:
        """A mark."""
        return self._call("on_mark", event)
