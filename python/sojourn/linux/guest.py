"""Runs a scenario on the kernel.

It passes the plan to the kernel, runs it in virtual time, and turns its log into the record.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import tomllib
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from sojourn import _sojourn
from sojourn.core.errors import RunError, ScenarioError, UserError
from sojourn.core.record import Record
from sojourn.core.record_files import Series
from sojourn.core.scenario import Scenario
from sojourn.linux.kernel import Capture, Kernel, find_kernel

ARGUMENTS = ("con=null", "con0=null,fd:1", "ssl=null", "quiet", "time-travel=inf-cpu", "time-travel-start=1000000000")

PATIENCE = 300.0
"""Time limit of a run in seconds; `PER_SECOND` per second of virtual time is added."""

PER_SECOND = 20.0

ROOM = 1000
"""Disk space in MB that a kernel's memory and log may need."""

SESSIONS = ("transfers", "web")
"""Traffic with many simultaneous connections, each of which needs two kernel threads."""


@dataclass
class Guests:
    """The running kernels, which are stopped together."""

    kernel: Kernel
    _running: set[subprocess.Popen[bytes]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: bool = False

    def run(self, text: str, file: str, seed: int, capture: Capture | None = None) -> tuple[str, Series]:
        """Runs a scenario. Returns the record as JSON, and its series. Writes packets to `capture`.

        Raises `ScenarioError` for unsupported settings, `UserError` if a kernel built from other code fails, and
        `RunError` for other failures and for a timeout.
        """
        planned = _sojourn.KernelRun(text, file, seed)
        logs, host = self.logs(planned, file, seed, capture)
        return planned.record(logs, json.dumps(host), capture)

    def logs(
        self, planned: _sojourn.KernelRun, file: str, seed: int, capture: Capture | None = None
    ) -> tuple[tuple[bytes, bytes], dict[str, Any]]:
        """Runs a scenario, and returns the log with the packets' headers.

        The second value is the record's description of the kernel. Raises as `run` does.
        """
        plan = planned.plan(capture and capture[1:])
        with tempfile.TemporaryDirectory(prefix="sojourn-linux-") as name:
            folder = Path(name)
            (folder / "plan.toml").write_text(plan, encoding="utf-8")
            self._boot(folder, seed, plan)
            problem = folder / "error"
            if problem.exists():
                said = problem.read_text(encoding="utf-8", errors="replace")
                if said.startswith(("links.", "flows.")):
                    raise ScenarioError(f"{file}: {said}")
                if not self.kernel.is_current:
                    raise UserError(
                        "host: expected a kernel of this code, got one of other code: run `sojourn linux build`"
                    )
                raise RunError(f"the kernel stopped: {said or _last_words(folder)}{_without_room(folder)}")
            queues = _queues(folder, plan)
            log, headers = (_read(folder / name) for name in ("log", "headers"))
            if not log:
                raise RunError(f"the kernel stopped without a log: {_last_words(folder)}{_without_room(folder)}")
        return (log, headers), {
            "name": "linux",
            "version": self.kernel.version,
            "source": self.kernel.source,
            "config_sha256": self.kernel.config_sha256,
            "kernel_sha256": self.kernel.kernel_sha256,
            "log_sha256": hashlib.sha256(log).hexdigest(),
            **({"qdiscs": queues} if queues else {}),
        }

    def _boot(self, folder: Path, seed: int, plan: str) -> None:
        """Runs the kernel in a folder until it ends. Raises `RunError` for a failure or a timeout."""
        planned = tomllib.loads(plan)
        flows = planned.get("flows", [])
        memory = 1024 + 2 * int(planned["hosts"]) + 2 * len(flows) + (8 * len(plan) >> 20)
        if any(flow["traffic"]["kind"] in SESSIONS for flow in flows):
            memory += 1024
        seconds = float(_sojourn.quantity("time", planned["duration"]))
        limit = PATIENCE + PER_SECOND * seconds
        environment = {"SOJOURN_SEED": str(seed), "TMPDIR": ".", "HOME": ".", "PATH": os.environ.get("PATH", "")}
        with (folder / "console").open("wb") as console:
            arguments = [*_guard(), str(self.kernel.program), f"mem={memory}M", *ARGUMENTS]
            process = self._start(arguments, folder, environment, console)
            try:
                process.wait(timeout=limit)
            except subprocess.TimeoutExpired:
                raise RunError(f"the kernel: expected {seconds:g} s in {limit:g} s, got no end") from None
            finally:
                self._end(process)
        if self._stopped:
            raise KeyboardInterrupt
        if process.returncode:
            reason = _reason(process.returncode)
            raise RunError(f"the kernel ended with {reason}: {_last_words(folder)}{_without_room(folder)}")

    def _start(
        self, arguments: list[str], folder: Path, environment: dict[str, str], console: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise KeyboardInterrupt
            process = subprocess.Popen(
                arguments,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._running.add(process)
        return process

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Ends a kernel and its helper processes if they are still running."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        with self._lock:
            self._running.discard(process)

    def stop(self) -> None:
        """Ends all kernels and prevents new ones."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for process in running:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)


def run_captured(scenario: Scenario, seed: int, capture: Capture) -> Record:
    """Runs a scenario on the built kernel and captures packets. Raises as `Guests.run` does."""
    guests = Guests(find_kernel())
    try:
        return Record.from_json(*guests.run(scenario.for_engine(), scenario.file, seed, capture))
    except RunError as error:
        raise RunError(f"{scenario.label}: {error} (seed {seed})") from None
    finally:
        guests.stop()


def _read(path: Path) -> bytes:
    """Reads a file that the kernel wrote; empty if it is missing."""
    return path.read_bytes() if path.exists() else b""


def _guard() -> list[str]:
    """The command prefix that ends a kernel when this process is killed.

    It is empty if the program is not installed.
    """
    program = shutil.which("setpriv")
    return [program, "--pdeathsig", "KILL", "--"] if program else []


def _without_room(folder: Path) -> str:
    """A hint for failures on a nearly full disk.

    The kernel's memory and log are files on it.
    """
    free = shutil.disk_usage(folder).free >> 20
    return f"; {folder.parent} (TMPDIR) has room for {free} MB, expected {ROOM} MB or more" if free < ROOM else ""


COUNTED = ("sent_bytes", "sent", "dropped", "waiting", "waiting_bytes", "overlimits")
"""Counters of `tc -s qdisc`, from the start of the run."""

OURS = ("arrived", "marked", "early", "forced", "tail", "ack_filter")
"""Additional counters of the qdisc `sojourn`."""


def _queues(folder: Path, plan: str) -> list[dict[str, Any]]:
    """The kernel's counters of its queue disciplines at the end, as for `tc -s qdisc`."""
    try:
        lines = (folder / "qdiscs").read_text(encoding="ascii").splitlines()
    except FileNotFoundError:
        return []
    links = tomllib.loads(plan)["links"]
    found = []
    for line in lines:
        link, *counted = (int(word) for word in line.split())
        told = {"link": links[link]["name"], **dict(zip(COUNTED, counted, strict=False))}
        ours = dict(zip(OURS, counted[len(COUNTED) :], strict=False))
        found.append(told | ({"counted": ours} if ours else {}))
    return found


def _reason(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _last_words(folder: Path) -> str:
    """The console line that explains why the kernel stopped, or else the last line."""
    text = (folder / "console").read_text(encoding="utf-8", errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "panic" in line.lower() or "error" in line.lower()]
    return (telling or lines or ["it said nothing"])[-1]
