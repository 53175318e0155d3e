"""The loop of a queue law and its flows: from the code that manages packets to margins, swings and words of caution."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sojourn import _sojourn
from sojourn.analysis.margins import Margins, margins
from sojourn.analysis.plant import Plant, Point, linear_plant
from sojourn.analysis.swing import LimitCycle, balance
from sojourn.errors import ScenarioError

Array = npt.NDArray[np.float64]
Complexes = npt.NDArray[np.complex128]
Laws = Mapping[str, Callable[[], Any]]

# Below this many packets a window has too few for three duplicate acknowledgements: losses become timeouts, which the
# square-root model does not know.
LEAST_WINDOW = 4.0


@dataclass(frozen=True)
class Loop:
    """A queue table of a scenario (`{aqm = "red", min = 5}`) in front of a plant; Python laws under their names."""

    queue: dict[str, Any]
    plant: Plant
    laws: Laws | None = field(default=None, compare=False)

    def _asked(self) -> tuple[str, str]:
        return json.dumps(self.queue), self.plant.to_json()

    @functools.cached_property
    def _resting(self) -> _sojourn.Resting:
        return _sojourn.Resting(*self._asked(), self.laws)

    def simulate(
        self, duration: float = 60.0, step: float = 1e-3, *, every: int = 10, window: float = 1.0, queue: float = 0.0,
        probability: float = 0.0, changes: list[dict[str, float]] | None = None,
    ) -> dict[str, Array]:  # fmt: skip
        """A trajectory of the nonlinear equations, with the law called at its interval.

        `changes` are tables with `at` (s), `class` and `flows`: what a step of the load does.
        """
        shortest = min(each.delay for each in self.plant.classes)
        run = {
            "duration": duration, "step": min(step, shortest / 3), "every": every, "window": window, "queue": queue,
            "probability": probability, "changes": changes or [],
        }  # fmt: skip
        return _sojourn.fluid(*self._asked(), json.dumps(run), self.laws)

    def point(self) -> Point:
        """Where the loop rests; raises `ScenarioError` with the numbers where it has no such place."""
        return Point.from_json(self._resting.point())

    def law(self, omega: Array) -> tuple[Complexes, Complexes]:
        """The law's answers to the queue (per packet) and to the load, measured on its code."""
        rows = self._resting.response(np.ascontiguousarray(omega, dtype=np.float64))
        return rows[:, 0] + 1j * rows[:, 1], rows[:, 2] + 1j * rows[:, 3]

    def response(self, omega: Array) -> Complexes:
        """The open loop, for negative feedback."""
        return self._open(self.point(), omega)

    def _open(self, point: Point, omega: Array) -> Complexes:
        queue, load = linear_plant(self.plant, point, omega)
        to_queue, to_load = self.law(omega)
        return np.asarray(-(queue * to_queue + load * to_load), dtype=np.complex128)

    def band(self, point: Point | None = None) -> tuple[float, float]:
        """The frequencies that matter: from far below the windows' pole to half the law's sampling rate."""
        point = point or self.point()
        slow = min(2 / (rtt * point.window) for rtt in point.rtts)
        high = 50 / min(point.rtts)
        if point.interval:
            high = min(high, math.pi / point.interval)
        return 1e-4 * slow, max(high, 10 * slow)

    def margins(self) -> Margins:
        """Gain, phase and delay margin at the operating point."""
        point = self.point()
        low, high = self.band(point)
        return margins(lambda w: self._open(point, w), np.geomspace(low, high, 4000))

    def describing(self, amplitude: Array, omega: Array, mean: Array | None = None) -> tuple[Complexes, Array]:
        """The law's answer to swings of the queue, measured on its code: first harmonic per packet, mean probability.

        Arrays of one length: `amplitude` in packets, `omega` in rad/s, `mean` in packets (default: the queue at rest).
        Raises `ScenarioError` where they are not, or where the loop has no rest to swing around.
        """
        middle = np.full(len(amplitude), self.point().queue) if mean is None else mean
        if not len(middle) == len(amplitude) == len(omega):
            given = f"{len(amplitude)} amplitudes and {len(omega)} frequencies"
            raise ScenarioError(f"describe: given {given}, taken is as many means, amplitudes and frequencies")
        rows = self._resting.describe(list(zip(middle, amplitude, omega, strict=True)))
        return rows[:, 0] + 1j * rows[:, 1], rows[:, 2]

    def foretold_cycle(self) -> LimitCycle | None:
        """The swing that describing functions foretell; None where none balances or it would empty the queue."""
        found = self.margins()
        return None if math.isnan(found.turn) else balance(self, found.turn)

    def limit_cycle(self, duration: float | None = None) -> LimitCycle | None:
        """The swing that the nonlinear equations end in, started from an empty queue; None if they come to rest.

        Emptying and filling the queue, a law cut off at 0 and 1 and the mean's shift all count. A loop with good
        margins may still end in one: the margins speak of small swings.
        """
        longest = max(each.delay for each in self.plant.classes)
        total = duration or max(120.0, 400 * longest)
        trace = self.simulate(total, every=1)
        kept = trace["t"] > total / 2
        t, queue = trace["t"][kept], trace["queue"][kept]
        amplitude = float(np.ptp(queue)) / 2
        quarter = len(queue) // 2
        fading = float(np.ptp(queue[quarter:])) < 0.9 * float(np.ptp(queue[:quarter]))
        if amplitude < 0.02 * max(float(np.mean(queue)), 1.0) or fading:
            return None
        above = queue > (queue.max() + queue.min()) / 2
        rises = t[1:][above[1:] & ~above[:-1]]
        if len(rises) < 3:
            return None
        omega = float(2 * math.pi * (len(rises) - 1) / (rises[-1] - rises[0]))
        return LimitCycle(amplitude, omega, float(np.mean(queue)))

    def cautions(self, point: Point | None = None) -> list[str]:
        """What the model leaves out here, in words with the numbers."""
        point = point or self.point()
        said = list(self.plant.notes)
        if point.window < LEAST_WINDOW:
            said.append(
                f"windows of {point.window:.2f} packets: the model's square root holds from about {LEAST_WINDOW:g} on; "
                "in smaller ones losses become timeouts, which it does not know"
            )
        if point.probability > 0.3:
            said.append(f"a probability of {point.probability:.2f}: TCP with repeated losses is not in the model")
        if point.queue <= 0:
            used = f"{100 * point.utilization:.1f} % of the link is used"
            said.append(f"the queue is empty at rest ({used}): it takes part in no loop")
        if point.interval and point.interval > min(point.rtts):
            step, least = f"{point.interval * 1e3:.4g} ms", f"{min(point.rtts) * 1e3:.4g} ms"
            said.append(f"the law steps every {step}, slower than a round trip of {least}")
        return said


def rests(loop: Loop) -> tuple[Point | None, str]:
    """The operating point, or the reason why there is none."""
    try:
        return loop.point(), ""
    except ScenarioError as error:
        return None, str(error)
