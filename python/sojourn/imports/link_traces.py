"""Link traces: summaries of files, and generators.

A trace is the capacity of a link over time. A scenario names its file: `trace = { file = "lte.up" }`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from sojourn import _sojourn
from sojourn.core.errors import UserError
from sojourn.core.files import write_atomic
from sojourn.core.scenario_files import readable

PACKET = 1500  # bytes per delivery opportunity of Mahimahi
ENDINGS = {".csv": "csv", ".txt": "csv", ".json": "netem-trace"}
FORMATS = ("mahimahi", "csv", "netem-trace")


@dataclass(frozen=True)
class Step:
    """The state of a link during one time step."""

    span_ms: int
    rate_bps: int
    delay_us: int = 0
    loss: float = 0.0


@dataclass(frozen=True)
class Process:
    """A random process of rates between two bounds, with a new value every `every_ms`."""

    duration_ms: int
    every_ms: int
    low_bps: float
    high_bps: float
    seed: int


def summary(path: Path, form: str | None = None, steps: int = 1) -> tuple[dict[str, Any], _sojourn.Array]:
    """The summary of a trace file, and its mean rate in bit/s in `steps` equal parts.

    Raises `UserError` for an unreadable file, and `ScenarioError` with file, line and column for an invalid trace.

    >>> summary(Path("examples/traces/lte.up"))[0]["period_s"]
    20.0
    """
    if form not in (None, *FORMATS):
        raise UserError.unknown("--format", str(form), FORMATS)
    with readable(path, "trace"):
        path.stat()
    text, means = _sojourn.trace_summary(str(path), form, steps)
    return json.loads(text), means


def markov(process: Process) -> Iterator[Step]:
    """Five rates with equal ratios.

    At each step the rate stays (probability 0.6) or moves to one of its neighbors (0.2 each).
    """
    random = np.random.default_rng(process.seed)
    rates = np.geomspace(process.low_bps, process.high_bps, 5)
    state = 2
    for span in _spans(process.duration_ms, process.every_ms):
        yield Step(span, round(rates[state]))
        draw = random.random()
        state = min(max(state + (draw < 0.2) - (draw >= 0.8), 0), len(rates) - 1)


def walk(process: Process) -> Iterator[Step]:
    """A random walk of the logarithm of the rate, in steps of 10 %, reflected at the bounds."""
    random = np.random.default_rng(process.seed)
    low, high = np.log(process.low_bps), np.log(process.high_bps)
    here = (low + high) / 2
    for span in _spans(process.duration_ms, process.every_ms):
        yield Step(span, round(np.exp(here)))
        here += 0.2 * (random.random() - 0.5)
        here = 2 * low - here if here < low else 2 * high - here if here > high else here
        here = min(max(here, low), high)


HANDOVER_MS = 15_000  # interval between changes of the satellite, in low orbit
OUTAGE_MS = 100  # length of the outage at a change


def leo(process: Process) -> Iterator[Step]:
    """Satellites in low orbit: every 15 s a handover to a new rate and delay.

    Each handover begins with an outage of 100 ms. The rate varies by a tenth around that of the satellite. The delay
    (20 to 40 ms) drifts by 3 ms. For a second after the handover, 0.5 % of the packets are lost.
    """
    random = np.random.default_rng(process.seed)
    for turn in _spans(process.duration_ms, HANDOVER_MS):
        rate = process.low_bps + (process.high_bps - process.low_bps) * random.random()
        delay_us, drift_us = 20_000 + 20_000 * random.random(), 6_000 * (random.random() - 0.5)
        outage = min(OUTAGE_MS, turn)
        yield Step(outage, 0, round(delay_us), 0.005)
        since = outage
        for span in _spans(turn - outage, process.every_ms):
            now = min(max(rate * (0.9 + 0.2 * random.random()), process.low_bps), process.high_bps)
            loss = 0.005 if since < 1000 else 0.0
            yield Step(span, round(now), round(delay_us + drift_us * since / HANDOVER_MS), loss)
            since += span


PROCESSES: dict[str, Callable[[Process], Iterator[Step]]] = {"markov": markov, "walk": walk, "leo": leo}


def _spans(total: int, each: int) -> Iterator[int]:
    """Splits `total` into parts of `each`; the last part may be shorter."""
    return chain((each for _ in range(total // each)), [total % each] if total % each else [])


def write(path: Path, steps: Iterator[Step], form: str | None = None) -> Path:
    """Writes a trace in the format `form`, by default that of the file's suffix.

    Raises `UserError` if the format can't represent its delays and losses.
    """
    chosen = form or ENDINGS.get(path.suffix, "mahimahi")
    if chosen not in FORMATS:
        raise UserError.unknown("--format", chosen, FORMATS)
    if chosen == "csv":
        return write_atomic(path, "\n".join(_table(steps)) + "\n")
    made = list(steps)
    if any(step.delay_us or step.loss for step in made):
        raise UserError.expected(str(path), "a file that ends in .csv for delays and losses", chosen)
    if chosen == "mahimahi":
        return write_atomic(path, "".join(f"{at}\n" for at in _opportunities(path, made)))
    pattern = [[{"secs": s.span_ms // 1000, "nanos": s.span_ms % 1000 * 10**6}, [_bandwidth(s.rate_bps)]] for s in made]
    whole = {"RepeatedBwPatternConfig": {"pattern": [{"TraceBwConfig": {"pattern": pattern}}], "count": 0}}
    return write_atomic(path, json.dumps(whole, separators=(",", ":")) + "\n")


def _bandwidth(bps: int) -> dict[str, int]:
    return {"gbps": bps // 10**9, "bps": bps % 10**9}


def _table(steps: Iterator[Step]) -> Iterator[str]:
    """The lines of a table.

    A line lasts until the next one, and the last as long as the one before it, so the last step is two lines.
    """
    yield "t_ms, rate_bps, delay_us, loss"
    at, last = 0, None
    for step in steps:
        yield _line(at, step)
        at, last = at + step.span_ms, step
    if last is not None:
        yield _line(at - last.span_ms / 2, last)


def _line(at_ms: float, step: Step) -> str:
    return f"{at_ms:.10g}, {step.rate_bps}, {step.delay_us}, {step.loss:g}"


def _opportunities(path: Path, steps: list[Step]) -> Iterator[int]:
    """The times in ms at which another 1500 bytes can be sent. The last time ends the trace."""
    unit, sent, at, last = 8 * PACKET * 1000, 0, 0, 0
    for step in steps:
        for _ in range(step.span_ms):
            at += 1
            sent += step.rate_bps
            for _ in range(sent // unit):
                yield at
                last = at
            sent %= unit
    if last == 0:
        raise UserError.expected(str(path), "a trace in which a packet of 1500 bytes can be sent", "none")
    if last != at:
        yield at
