"""Replays a sender's log through our controller: where the windows part, and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn import _sojourn
from sojourn.core.text_format import counted
from sojourn.judge.captured import CAPTURES, SCENARIOS, read_capture, read_linux
from sojourn.judge.log import Log
from sojourn.judge.qlog import read_qlog

READERS = ((CAPTURES, read_capture), (SCENARIOS, read_linux))


@dataclass(frozen=True)
class Divergence:
    """The first divergence of a cause.

    `at_s` is in seconds since the start of the log. `before`, the window before a reduction, and both windows are in
    bytes; a threshold that is not known is None. `count` is how often the cause occurs.
    """

    at_s: float
    event: str
    before: float | None
    theirs: Mapping[str, float | None]
    ours: Mapping[str, float | None]
    cause: str
    says: str
    rule: str
    count: int

    def figures(self) -> str:
        """The windows as text: as parts of the window before a reduction, else in bytes.

        >>> Divergence(1.0, "a loss", 1000.0, {"cwnd": 595.0}, {"cwnd": 700.0}, "", "", "", 1).figures()
        'the window becomes 0.595 of 1,000 B, by the rule 0.700'
        """
        sets_threshold = self.theirs.get("ssthresh") not in (None, self.theirs.get("cwnd"))
        if self.event == "persistent congestion" or (self.before and sets_threshold):
            part, what = "ssthresh", "ssthresh"
        else:
            part, what = "cwnd", "the window"
        theirs, ours = self.theirs.get(part), self.ours.get(part)
        if theirs is None or ours is None:
            return f"{what} is {_size(theirs)}, by the rule {_size(ours)}"
        if self.before:
            kept, due = theirs / self.before, ours / self.before
            return f"{what} becomes {kept:.3f} of {_size(self.before)}, by the rule {due:.3f}"
        return f"{what} is {_size(theirs)}, by the rule {_size(ours)}"


def _size(size: float | None) -> str:
    return "unknown" if size is None else f"{size:,.0f} B"


@dataclass(frozen=True)
class Judgement:
    """The result of a replay.

    `windows` has the columns `t` in seconds, and `theirs`, `ours`, `their_ssthresh` and `our_ssthresh` in bytes.
    `divergences` are the first of each cause, by time.
    """

    log: Log
    controller: str
    windows: Mapping[str, NDArray[np.float64]]
    divergences: list[Divergence]
    reductions: int

    @property
    def first(self) -> Divergence | None:
        """The first divergence, or None."""
        return self.divergences[0] if self.divergences else None

    def answer(self) -> str:
        """One or two sentences with the result."""
        span = float(self.windows["t"][-1] - self.windows["t"][0])
        reports, reductions = counted(len(self.windows["t"]), "report"), counted(self.reductions, "reduction")
        seen = f"The log has {reports} of the window in {span:.1f} s and {reductions}."
        if self.first is None:
            return f"The window of {self.log.name} agrees with {self.controller}. {seen}"
        first = self.first
        return (
            f"{self.log.name} parts from {self.controller} at {first.at_s:.6f} s: {first.cause} ({first.rule}). {seen}"
        )


def judge(file: str | Path, controller: str, flow: str | None = None) -> Judgement:
    """Replays the log of a sender through our controller.

    Parameters
    ----------
    file
        A qlog file: 0.3 or newer, as JSON or JSON-SEQ; a capture at a TCP sender, pcap or pcapng; or a scenario in
        TOML whose host is a Linux kernel, which is run.
    controller
        The controller that the sender claims to have: reno, cubic, ...
    flow
        The trace of the file, or the flow of the scenario, or the sender's address and port in a capture. Default: the
        one that sent most packets; the first of a scenario.

    Raises
    ------
    UserError
        For a file that is none of these or has no windows, and without a kernel.
    ScenarioError
        For a controller whose input is not in logs.

    Examples
    --------
    >>> judge("quinn.sqlog", "cubic").first.cause
    'fast convergence applied to the window'
    """
    read = next((reader for endings, reader in READERS if Path(file).suffix in endings), read_qlog)
    return replayed(read(Path(file), flow), controller)


def replayed(log: Log, controller: str) -> Judgement:
    """Replays a log that is read. See `judge`.

    Estimated windows do not reveal whether the sender counts as Linux does, so the arithmetic that fits counts.
    """
    if not log.estimated:
        return _replayed(log, controller)
    both = [_replayed(replace(log, linux=linux), controller) for linux in (True, False)]
    return max(both, key=lambda found: found.first.at_s if found.first else inf)


def _replayed(log: Log, controller: str) -> Judgement:
    columns, text = _sojourn.judge_log(controller, log.tcp, log.linux, log.estimated, log.mss, log.events)
    found: dict[str, Any] = json.loads(text)
    divergences = [Divergence(**each) for each in found["divergences"]]
    return Judgement(log, controller, columns, divergences, found["reductions"])
