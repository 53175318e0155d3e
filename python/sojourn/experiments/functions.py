"""The functions for expressions of claims and figures, in addition to `expression.py`.

| function | value |
|---|---|
| `surface(queue, backlog, change)` | probability of a queue's law at whole packets, in percent |
| `slope_backlog(queue, backlog, change, steps)` | its slope over the backlog, in percent per packet |
| `slope_change(queue, backlog, change, steps)` | its slope over the change |
| `mean`, `least`, `greatest`, `deviation` of `(pattern, queue, measure, setting)` | over all scenarios that fit |
| `advantage(scenario, ours, theirs)` | the largest advantage, in percent, of a mean curve over another at equal x |
| `advantage_from_origin(scenario, ours, theirs)` | the same, with (0, 0) as the other curve's first point |
| `reach(scenario, curve, x, measure)` | the y of a curve at an x; `measure` instead of y |
| `design(name, quantity, "delay")` | a number of a design, with the dead time or (without the text) without it |
| `fluid(name, quantity)` | a number of a fluid run at its end |
| `least_varied`, `greatest_varied` of `(scenario, queue, measure)` | over the runs with other parameters |
| `margin(scenario, queue, quantity)` | `gain` (factor), `phase` (degrees) or `delay` (s) of a queue's loop |
| `listed(scenario, queue, file)` | the number of a queue's algorithm in a CSV file of the folder |

A slope is the mean of the central differences over 1 to `steps` packets (default 1). The paper's own functions are in
its `extra.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt

from sojourn import _sojourn
from sojourn.core.errors import UserError
from sojourn.experiments.expression import Functions, Value
from sojourn.experiments.fluid_runs import at_end
from sojourn.experiments.model import Case, Experiment
from sojourn.experiments.outcome import Outcome, OutsideError
from sojourn.experiments.subject import subject_functions

Array = npt.NDArray[np.float64]
MOST_STEPS = 1000


def all_functions(outcome: Outcome) -> Functions:
    """Every function that an expression of this paper can call."""
    experiment = outcome.experiment
    return {
        **law_functions(experiment),
        **theory_functions(experiment),
        **family_functions(outcome),
        **curve_functions(outcome),
        **subject_functions(outcome),
        **experiment.extra.functions,
    }


def law_surface(experiment: Experiment, queue: str, backlog: Array, change: Array) -> Array:
    """Probability of a queue's law over a grid of whole packets, by the code of the queue."""
    if queue not in experiment.queues:
        raise UserError(f'{experiment.id}: queue: expected one of {", ".join(experiment.queues)}, got "{queue}"')
    for name, packets in (("backlog", backlog), ("change", change)):
        if np.any(wrong := np.asarray(packets) % 1 != 0):
            got = float(np.asarray(packets)[wrong][0])
            raise UserError(f"{experiment.id}: surface: {name}: expected whole packets, as a queue has, got {got:g}")
    table = json.dumps(experiment.queue_table(queue))
    found = _sojourn.surface(table, np.asarray(backlog, float), np.asarray(change, float))
    return np.asarray(found, dtype=np.float64)


def law_functions(experiment: Experiment) -> Functions:
    """Probabilities and slopes of the laws of queues."""

    def surface(queue: str, backlog: Value, change: Value) -> Value:
        return 100 * float(law_surface(experiment, queue, np.atleast_1d(backlog), np.atleast_1d(change))[0, 0])

    def mean_slope(rise: Callable[[int], Value], steps: Value) -> Value:
        count = float(np.ravel(steps)[0])
        if not 1 <= count <= MOST_STEPS:
            raise UserError(f"slope: expected 1 to {MOST_STEPS} steps, got {count:g}")
        distances = np.arange(1, int(count) + 1)
        return float(np.mean(np.array([rise(int(h)) for h in distances]) / (2 * distances)))

    def slope_backlog(queue: str, backlog: Value, change: Value, steps: Value = 1.0) -> Value:
        return mean_slope(lambda h: surface(queue, backlog + h, change) - surface(queue, backlog - h, change), steps)

    def slope_change(queue: str, backlog: Value, change: Value, steps: Value = 1.0) -> Value:
        return mean_slope(lambda h: surface(queue, backlog, change + h) - surface(queue, backlog, change - h), steps)

    return {"surface": surface, "slope_backlog": slope_backlog, "slope_change": slope_change}


def theory_functions(experiment: Experiment) -> Functions:
    """Numbers of designs and fluid runs."""

    def design(name: str, what: str, delay: str = "") -> Value:
        return experiment.control_designs.quantity(name, what, delay == "delay")

    def fluid(name: str, what: str) -> Value:
        if name not in experiment.fluids:
            raise UserError(f'fluid: expected one of {", ".join(experiment.fluids) or "none"}, got "{name}"')
        numbers = at_end(experiment.fluids[name])
        if what not in numbers:
            raise UserError(f'fluid("{name}", ...): expected one of {", ".join(numbers)}, got "{what}"')
        return numbers[what]

    return {"design": design, "fluid": fluid}


def family_functions(outcome: Outcome) -> Functions:
    """Numbers over all scenarios that match a pattern such as "y1_light_*", seed by seed."""

    def over(reduce: Callable[..., Any]) -> Callable[..., Value]:
        def function(pattern: str, queue: str, measure: str, setting: str = "") -> Value:
            names = [name for name in outcome.experiment.scenarios if fnmatchcase(name, pattern)]
            cases = [Case(name, queue, setting) for name in names if fnmatchcase(name, outcome.within)]
            if names and not cases:
                raise OutsideError(pattern)
            if not cases or queue not in outcome.experiment.queues:
                got = f'"{pattern}" and "{queue}"'
                raise UserError(f"measure: expected a pattern that fits scenarios, and a queue, got {got}")
            return np.asarray(reduce([outcome.values(case, measure) for case in cases], axis=0), dtype=np.float64)

        return function

    def deviation(values: list[Array], axis: int) -> Array:
        return np.asarray(np.std(values, axis=axis, ddof=1), dtype=np.float64)

    return {"mean": over(np.mean), "least": over(np.min), "greatest": over(np.max), "deviation": over(deviation)}


@dataclass(frozen=True)
class CurvePoints:
    """A curve of one seed: the two measures of the paper's `trade_off`, in any order."""

    x: Array
    y: Array

    def at(self, x: float) -> float:
        """The y at an x by linear interpolation; outside the curve the y of the nearest end."""
        order = np.argsort(self.x)
        return float(np.interp(x, self.x[order], self.y[order]))

    def most_above(self, other: CurvePoints) -> float:
        """The largest advantage, in percent, of the points over another curve.

        Points beyond the other curve's largest x do not count. Those before its smallest x are compared with its y
        there.
        """
        inside = self.x <= other.x.max()
        if not inside.any():
            return float("nan")
        theirs = np.array([other.at(float(x)) for x in self.x[inside]])
        return float(100 * np.max(self.y[inside] / theirs - 1))

    def from_origin(self) -> CurvePoints:
        """The curve with (0, 0) as a further point."""
        return CurvePoints(np.append(self.x, 0.0), np.append(self.y, 0.0))


@dataclass(frozen=True)
class SeedCurves:
    """A curve of every seed: rows are seeds, columns points."""

    x: Array
    y: Array

    def mean(self, without: int | None = None) -> CurvePoints:
        """The mean curve, of all seeds or without one of them."""
        kept = np.arange(len(self.x)) != without
        return CurvePoints(self.x[kept].mean(axis=0), self.y[kept].mean(axis=0))

    def at(self, x: Value) -> Array:
        """The y of each seed at an x, which may differ between seeds."""
        places = np.broadcast_to(np.ravel(x), len(self.x))
        seeds = zip(self.x, self.y, places, strict=True)
        return np.array([CurvePoints(own, other).at(float(place)) for own, other, place in seeds])


def jackknifed(number: Callable[[int | None], float], seeds: int) -> Array:
    """Pseudo-values of a number of mean curves, one for each seed.

    `number` computes it without a seed, or from all (`None`). The mean of the pseudo-values is the number without the
    bias of its order 1/n; their interval is that of the number.
    """
    whole = number(None)
    if seeds < 2:
        return np.array([whole])
    return np.array([seeds * whole - (seeds - 1) * number(seed) for seed in range(seeds)])


def curve_functions(outcome: Outcome) -> Functions:
    """Comparisons of the curves of a scenario."""
    experiment = outcome.experiment

    def points(scenario: str, curve: str, measure: str = "") -> SeedCurves:
        if curve not in experiment.curves or scenario not in experiment.scenarios:
            known = ", ".join(experiment.curves) or "none"
            raise UserError(f'measure: expected a curve ({known}) of a scenario, got "{curve}", "{scenario}"')
        cases = [Case(scenario, queue) for queue in experiment.curves[curve].queues]
        x, y = (
            np.array([outcome.values(case, name) for case in cases]).T
            for name in (experiment.file.trade_off.x, measure or experiment.file.trade_off.y)
        )
        return SeedCurves(x, y)

    def advantage(scenario: str, ours: str, theirs: str) -> Value:
        own, other = points(scenario, ours), points(scenario, theirs)
        return jackknifed(lambda seed: own.mean(seed).most_above(other.mean(seed)), len(own.x))

    def advantage_from_origin(scenario: str, ours: str, theirs: str) -> Value:
        own, other = points(scenario, ours), points(scenario, theirs)
        return jackknifed(lambda seed: own.mean(seed).most_above(other.mean(seed).from_origin()), len(own.x))

    def reach(scenario: str, curve: str, x: Value, measure: str = "") -> Value:
        return points(scenario, curve, measure).at(x)

    return {"advantage": advantage, "advantage_from_origin": advantage_from_origin, "reach": reach}
