"""The feedback loop of a queue law and its TCP flows.

This module computes its operating point, frequency response and margins, and simulates it. The law is measured by
calling the code that manages packets, not by a second formula.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sojourn import _sojourn
from sojourn.analysis import checks
from sojourn.analysis.margins import Margins, margins
from sojourn.analysis.plant import Plant, Point, linear_plant
from sojourn.core.errors import UserError
from sojourn.runs.laws import Laws, checked_laws

Array = npt.NDArray[np.float64]
Complexes = npt.NDArray[np.complex128]

LEAST_WINDOW = 4.0
"""The smallest window, in packets, for which the model is valid.

Smaller windows are too small for three duplicate ACKs. Losses then become timeouts, which the square-root model of TCP
excludes.
"""

MOST_PROBABILITY = 0.3
"""The largest valid probability. Above it, losses of retransmissions matter.

The model excludes them.
"""


def no_margins(window: float, unlike_reno: Sequence[str] = ()) -> str | None:
    """The reason why margins are meaningless for this window or these controllers.

    `unlike_reno` are controllers that do not behave as Reno. None if margins are valid.
    """
    if unlike_reno:
        return f"no margins: the model is of windows like Reno's, and those of {', '.join(unlike_reno)} are not"
    if window >= LEAST_WINDOW:
        return None
    return f"no margins: they mean little at windows of {window:.2f} packets, less than {LEAST_WINDOW:g}"


def _json(where: str, expected: str, value: object) -> str:
    """A value as JSON. Raises `UserError` if JSON can't represent it."""
    try:
        return json.dumps(value, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        raise UserError.expected(where, expected, value) from None


@dataclass(frozen=True)
class Loop:
    """A queue law and the flows that it controls.

    `queue` is the queue table of a scenario (`{"aqm": "red", "min": 5}`); `plant` are the flows and their link. `laws`
    maps names of laws in Python to factories, as in `sojourn.run`. Their results are clipped to 0..=1, because an
    analysis also evaluates unrealistic queues.

    ```python
    loop = Loop({"aqm": "pi", "target": 60}, Plant.of(20, 1250.0, 0.1))
    print(loop.margins().describe())
    ```
    """

    queue: dict[str, Any]
    plant: Plant
    laws: Laws | None = field(default=None, compare=False)

    def _as_json(self) -> tuple[str, str]:
        return _json("loop: queue", "the queue table of a scenario", self.queue), self.plant.to_json()

    @functools.cached_property
    def _equilibrium(self) -> _sojourn.Resting:
        return _sojourn.Resting(*self._as_json(), checked_laws(self.laws))

    def simulate(
        self,
        duration: float = 60.0,
        step: float = 1e-3,
        *,
        every: int = 10,
        window: float = 1.0,
        queue: float = 0.0,
        probability: float = 0.0,
        changes: list[dict[str, float]] | None = None,
    ) -> dict[str, Array]:
        """Integrates the nonlinear equations and calls the law at its interval.

        `duration` and `step` are in seconds. Every `every`-th step is returned. `window` (packets), `queue` (packets)
        and `probability` are the initial state. `changes` are tables that change the number of flows: `at` (s), `class`
        (its index) and `flows`.

        Returns arrays of equal length by name: `t` (s), `queue` (packets), `probability`, `load`, and `window0`,
        `window1`, ... (packets, one per class). Raises `UserError` for invalid numbers, and `ScenarioError` for numbers
        out of range, too many steps, and a queue without a fluid model.

        >>> trace = Loop({"aqm": "pi", "target": 60}, Plant.of(20, 1250.0, 0.1)).simulate(60.0)
        >>> sorted(trace)
        ['load', 'probability', 'queue', 't', 'window0']
        """
        start = {"duration": duration, "step": step, "window": window, "queue": queue, "probability": probability}
        run: dict[str, Any] = {name: checks.finite(f"simulate: {name}", value) for name, value in start.items()}
        run["every"] = checks.whole("simulate: every", every, 1, 1_000_000_000)
        run["changes"] = changes or []
        ours = self._as_json()
        shortest = min((each.delay for each in self.plant.classes), default=math.inf)
        run["step"] = min(run["step"], shortest / 3)
        return _sojourn.fluid(*ours, _json("simulate: changes", "tables of numbers", run), checked_laws(self.laws))

    def point(self) -> Point:
        """The operating point: the law's probability is the one at which the flows fill the link.

        Raises `ScenarioError` with the numbers if no such point exists, and for a queue without a fluid model.
        """
        return Point.from_json(self._equilibrium.point())

    def law(self, omega: Array) -> tuple[Complexes, Complexes]:
        """The law's frequency responses to the queue (per packet) and to the load.

        They are measured on its code. `omega` is in rad/s; two arrays of its length are returned. Raises `UserError` if
        `omega` is not an array of numbers, and the errors of `point`.
        """
        rows = self._equilibrium.response(np.ascontiguousarray(checks.row("law: omega", omega)))
        return rows[:, 0] + 1j * rows[:, 1], rows[:, 2] + 1j * rows[:, 3]

    def response(self, omega: Array) -> Complexes:
        """The frequency response of the open loop at `omega` rad/s, for negative feedback.

        Raises the errors of `law`.
        """
        return self._open(self.point(), omega)

    def _open(self, point: Point, omega: Array) -> Complexes:
        queue, load = linear_plant(self.plant, point, omega)
        to_queue, to_load = self.law(omega)
        return np.asarray(-(queue * to_queue + load * to_load), dtype=np.complex128)

    def band(self, point: Point | None = None) -> tuple[float, float]:
        """Lowest and highest relevant frequency at `point` (default: the operating point), in rad/s.

        The band extends from far below the pole of the windows to half of the law's sampling rate.
        """
        point = point or self.point()
        slow = min(2 / (rtt * point.window) for rtt in point.rtts)
        high = 50 / min(point.rtts)
        if point.interval:
            high = min(high, math.pi / point.interval)
        return 1e-4 * slow, max(high, 10 * slow)

    def margins(self) -> Margins:
        """Gain, phase and delay margin at the operating point. Raises the errors of `point`.

        >>> Loop({"aqm": "pi", "target": 60}, Plant.of(20, 1250.0, 0.1)).margins().stable
        True
        """
        point = self.point()
        low, high = self.band(point)
        return margins(lambda w: self._open(point, w), np.geomspace(low, high, 4000))

    def describing(self, amplitude: Array, omega: Array, mean: Array | None = None) -> tuple[Complexes, Array]:
        """The law's describing function: its response to sinusoidal queues, measured on its code.

        Requires arrays of equal length: `amplitude` in packets, `omega` in rad/s, `mean` in packets (default: the queue
        at the operating point). Returns the first harmonic per packet (complex) and the mean probability. Raises
        `UserError` if the lengths differ, and `ScenarioError` if the loop has no operating point.
        """
        amplitude, omega = checks.row("describing: amplitude", amplitude), checks.row("describing: omega", omega)
        if mean is None:
            mean = np.full(len(amplitude), self.point().queue)
        middle = checks.row("describing: mean", mean)
        if not len(middle) == len(amplitude) == len(omega):
            got = f"{len(amplitude)} amplitudes, {len(omega)} frequencies and {len(middle)} means"
            raise UserError(f"describing: expected arrays of one length, got {got}")
        rows = self._equilibrium.describe(list(zip(middle, amplitude, omega, strict=True)))
        return rows[:, 0] + 1j * rows[:, 1], rows[:, 2]
