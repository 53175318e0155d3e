"""Congestion controllers in Python, watched: one that does not answer is stopped.

A controller that never returns would hold its run for ever, and a thread can't be ended from outside. One thread looks
at the calls that have not returned, and raises `HungError` in that of a call that takes longer than `LIMIT`.
"""

from __future__ import annotations

import ctypes
import threading
import time
from typing import Any

LIMIT = 10.0
"""Seconds that one call of a controller may take."""


class HungError(RuntimeError):
    """A controller did not answer within `LIMIT` seconds."""


_calls: dict[int, float] = {}
"""When the call began that has not returned yet, by thread."""
_watcher = threading.Lock()


def _watch() -> None:
    while True:
        time.sleep(LIMIT / 10)
        late = time.monotonic() - LIMIT
        for thread, since in list(_calls.items()):
            if since < late and _calls.pop(thread, None) is not None:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(HungError))


def _start() -> None:
    if _watcher.acquire(blocking=False):  # never released: one thread for the process
        threading.Thread(target=_watch, name="sojourn-watch", daemon=True).start()


class Watched:
    """A controller whose calls are watched. What it does not answer keeps window and pace."""

    def __init__(self, controller: Any, where: str) -> None:
        self.controller, self.where = controller, where
        _start()

    def _call(self, name: str, argument: Any) -> Any:
        method = getattr(self.controller, name, None)
        if method is None:
            return None
        thread = threading.get_ident()
        _calls[thread] = time.monotonic()
        try:
            return method(argument)
        finally:
            _calls.pop(thread, None)

    def on_ack(self, sample: Any) -> Any:
        """An ACK."""
        return self._call("on_ack", sample)

    def on_loss(self, event: Any) -> Any:
        """A loss."""
        return self._call("on_loss", event)

    def on_mark(self, event: Any) -> Any:
        """A mark."""
        return self._call("on_mark", event)
