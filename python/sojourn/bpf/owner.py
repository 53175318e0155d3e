"""The process that holds what is attached.

When it ends, even by a kill, the kernel detaches the program. Each owner has a file in `RUN`, which it locks and which
contains its process number.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import NoReturn

from sojourn.core.errors import RunError, UserError

RUN = Path("/run/sojourn")
"""The folder of the owners' files."""

PATIENCE = 5.0
"""Seconds in which an owner must end."""


class Owner:
    """The claim of an attachment: a locked file. Only one process holds it."""

    def __init__(self, name: str) -> None:
        self.name = name
        RUN.mkdir(mode=0o755, exist_ok=True)
        self.file = os.open(RUN / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if not locked(self.file):
            raise UserError(f"attach: {name} is attached by process {process_of(name)}: `sojourn detach` ends it")

    def _write(self) -> None:
        os.ftruncate(self.file, 0)
        os.pwrite(self.file, f"{os.getpid()}\n".encode(), 0)

    def hold(self) -> None:
        """Stays until the process is told to end."""
        self._write()
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            while True:
                signal.pause()
        finally:
            (RUN / self.name).unlink(missing_ok=True)

    def hold_in_background(self) -> int:
        """Leaves a process that stays until it is told to end, and returns its number."""
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            self._stay()
        return child

    def _stay(self) -> NoReturn:
        os.setsid()
        os.chdir("/")
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nowhere, stream)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._write()
        while True:
            signal.pause()


def locked(file: int) -> bool:
    """Locks a file, if no other process has."""
    import fcntl  # here: Windows lacks it

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def process_of(name: str) -> int:
    """The number of the owner; 0 while it starts."""
    return int((RUN / name).read_text(encoding="ascii").strip() or 0)


def attached() -> list[str]:
    """The names of all attachments. Files of owners that were killed are removed."""
    found = []
    for path in sorted(RUN.glob("*")):
        file = os.open(path, os.O_RDWR)
        try:
            if locked(file):
                path.unlink(missing_ok=True)
            else:
                found.append(path.name)
        finally:
            os.close(file)
    return found


def end(name: str) -> None:
    """Ends the owner of an attachment. Raises `RunError` if it does not end."""
    until = time.monotonic() + PATIENCE
    while name in attached():
        if time.monotonic() > until:
            raise RunError(f"detach: {name}: process {process_of(name)} did not end")
        if number := process_of(name):
            os.kill(number, signal.SIGTERM)
        time.sleep(0.02)
