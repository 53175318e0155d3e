"""Real-time priorities for the threads of a live run."""

from __future__ import annotations

import ctypes
import os

from sojourn.core.errors import UserError

PRIORITY = 50
"""The priority of the router."""

SENDERS = 40
"""The priority of senders and receivers."""

MCL_CURRENT, MCL_FUTURE = 1, 2


def prefer(priority: int = PRIORITY) -> None:
    """Gives the calling thread a real-time priority, and locks the process's memory."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError as error:
        raise UserError(f"--realtime: expected the right to set priorities, got: {error.strerror}") from None
    if ctypes.CDLL(None, use_errno=True).mlockall(MCL_CURRENT | MCL_FUTURE):
        raise UserError(f"--realtime: expected the right to lock memory, got: {os.strerror(ctypes.get_errno())}")
