"""Tests kills, interrupts and restarts of sweeps.

Finished runs are never lost, and partial files are never accepted.

`python -m conformance.kills --count N --seed S` starts sweeps with a store and ends each after a random time: one in
four by Ctrl-C, the others by a kill. After each, every entry of the store is read, and none may be missing. The next
start continues. During one start in three the trace of the link gets another content, and its own again afterwards:
no run of the other content may be stored under the key of its own. A sweep that completes is compared with the same
sweep run without a kill and without a change, and another begins. The exit code is 1 after the first fault.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pandas as pd  # noqa: F401 - every sweep needs them: they are loaded once
import pyarrow.parquet as pq  # noqa: F401
import scipy.special  # noqa: F401

from sojourn.cli import main as command
from sojourn.runs.store import Store

SCENARIO = """
name = "short"
duration = "4 s"
[[links]]
name = "bottleneck"
from = "A"
to = "B"
trace = { file = "rates.csv" }
delay = "5 ms"
duplex = true
[[flows]]
name = "ftp"
count = 4
from = "A"
to = "B"
[trace]
queue = { links = ["bottleneck"], every = "10 ms" }
"""
SWEEP = """scenario = "short.toml"
replications = {seeds}
[axes]
"links.bottleneck.queue.aqm" = ["droptail", "red", "codel"]
"flows.ftp.count" = [1, 2, 4, 8]
"""


RATES = ("0, 20\n1, 20\n", "0, 5\n1, 5\n")  # the trace of the link, and another
CHANGED = 1 / 3  # of the starts: the trace changes meanwhile

ROUND = 50  # The store is cleared after this many: a sweep takes longer with each that has completed.


class FaultError(Exception):
    """A result was lost or corrupted."""


def start(folder: Path, out: str) -> int:
    """Starts a sweep in a process group of its own, and returns the process."""
    child = os.fork()
    if child:
        return child
    os.setsid()
    os.chdir(folder)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    code = 1
    try:
        code = command(["sweep", "grid.toml", "--out", out, "--cache", "cache" if out == "out" else "other"])
    finally:
        os._exit(code)


@contextmanager
def changed(folder: Path, after: float) -> Iterator[None]:
    """Changes the content of the trace after a time, and restores it at the end of the block."""

    def write(content: str) -> None:
        (folder / "new.csv").write_text(content, encoding="utf-8")
        (folder / "new.csv").replace(folder / "rates.csv")

    timer = threading.Timer(after, write, (RATES[1],))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        write(RATES[0])


def end(child: int, after: float, how: signal.Signals) -> int | None:
    """Kills a sweep after a time; returns its exit code, or None if it was killed."""
    deadline = time.monotonic() + after
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    if how is signal.SIGINT:
        os.killpg(child, how)  # as a terminal does
    else:
        os.kill(child, how)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in (-how, 130, 0, 1):
        raise FaultError(f"exit code {code} after {how.name}")
    return code if code in (0, 1) else None


def entries(folder: Path) -> dict[str, str]:
    """The fingerprint of every entry of the store."""
    store = Store(folder)
    found = {}
    for file in sorted(folder.glob("??/*.run")):
        record = store.get(file.stem)
        if record is None:
            raise FaultError(f"an entry that can't be used: {store.notes}")
        found[file.stem] = str(record["fingerprint"])
    return found


def compare(folder: Path) -> None:
    """Checks that a repeatedly killed sweep has the results of an uninterrupted one.

    It must leave no temporary files.
    """
    if end(start(folder, "whole"), 600.0, signal.SIGKILL) != 0:
        raise FaultError("the sweep without a kill does not complete")
    left = list(folder.glob("cache/**/*.part")) + list(folder.glob("out/**/*.part"))
    if left:
        raise FaultError(f"unfinished files are left: {left}")
    if (folder / "out" / "SHA256SUMS").read_bytes() != (folder / "whole" / "SHA256SUMS").read_bytes():
        raise FaultError("the results differ from those of a sweep that was not killed")


def hunt(count: int, seed: int) -> tuple[int, int]:
    """Ends sweeps `count` times; returns the numbers of completed sweeps and checked entries.

    Raises `FaultError`.
    """
    draw = random.Random(seed)
    completed = checked = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "short.toml").write_text(SCENARIO, encoding="utf-8")
        seeds, before, ended = 1, dict[str, str](), 0
        (folder / "grid.toml").write_text(SWEEP.format(seeds=seeds), encoding="utf-8")
        (folder / "rates.csv").write_text(RATES[0], encoding="utf-8")
        started = time.monotonic()
        end(start(folder, "whole"), 600.0, signal.SIGKILL)
        took = time.monotonic() - started
        while ended < count:
            (folder / "grid.toml").write_text(SWEEP.format(seeds=seeds), encoding="utf-8")
            how = signal.SIGINT if draw.random() < 0.25 else signal.SIGKILL
            child, after = start(folder, "out"), draw.uniform(0.0, 1.2 * took)
            changes = draw.random() < CHANGED
            with changed(folder, draw.uniform(0.0, after)) if changes else nullcontext():
                code = end(child, after, how)
            now = entries(folder / "cache")
            checked += len(now)
            if any(now.get(key) != value for key, value in before.items()):
                raise FaultError("an entry that was there is gone or another")
            before = now
            if code is None:
                ended += 1
                continue
            if changes:  # a completed sweep rejected some runs, or all had the other content
                continue
            if code != 0:
                raise FaultError(f"exit code {code}")
            completed, seeds = completed + 1, seeds + 1
            compare(folder)
    return completed, checked


def main() -> int:
    """The command."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--count", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    started = time.monotonic()
    completed = checked = 0
    for ended in range(0, chosen.count, ROUND):
        now = min(ended + ROUND, chosen.count)
        try:
            more, read = hunt(now - ended, chosen.seed + ended // ROUND)
        except FaultError as fault:
            print(fault, file=sys.stderr)
            return 1
        completed, checked, took = completed + more, checked + read, time.monotonic() - started
        said = f"{now} sweeps ended, {completed} completed, {checked:,} entries read and right, {took:.0f} s"
        print(said, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
