"""Searches the values that a paper omits for those that produce its published figures.

The ranges are under `omitted` in `experiment.toml`. Points of Sobol's sequence fill them evenly, every point is run
with the same seeds (common random numbers), and more points continue the sequence: runs in the cache are not run
again. A point fits if every part of the claims holds. The result is a fit: it shows that the published numbers are
possible, not that the paper used these values.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sojourn.core.errors import UserError
from sojourn.experiments.claims import Claim, Part
from sojourn.experiments.judging import judge_claims
from sojourn.experiments.model import Case, Experiment
from sojourn.experiments.needs import cases_of
from sojourn.experiments.outcome import Outcome
from sojourn.experiments.reproduce import CaseRequest, RunOptions, run_cases, run_each
from sojourn.experiments.schema.experiment import Omitted
from sojourn.experiments.selection import choose
from sojourn.experiments.verdict import Verdict

Array = npt.NDArray[np.float64]
BATCH = 8
"""The number of points whose runs are done together."""
FAR = 10.0
"""The distance of a part without a value, in tolerances."""
MOST_POINTS = 4096


@dataclass(frozen=True)
class Search:
    """A search: omitted values, claims, and the runs that these need."""

    experiment: Experiment
    variables: list[Omitted]
    claims: list[Claim]
    over: dict[Case, dict[str, Any]]
    """The cases, with the fields that `--quick` changes."""
    seeds: list[int]

    @functools.cached_property
    def moved(self) -> list[Case]:
        """The cases that some omitted value changes; the others are run once."""
        return [case for case in self.over if any(self.experiment.concerns(each, case) for each in self.variables)]


@dataclass(frozen=True)
class Point:
    """The claims as measured with some values."""

    values: tuple[Any, ...]
    means: tuple[float, ...]
    """The mean of each part over the seeds."""
    holds: tuple[bool, ...]
    """Whether each mean meets its target."""
    verdicts: tuple[Verdict, ...]
    """The verdict on each claim."""


@dataclass(frozen=True)
class Inference:
    """All points, and the one of the values chosen in the experiment's folder."""

    search: Search
    parts: list[tuple[str, Part]]
    """The claim of each part, and the part."""
    chosen: Point
    points: list[Point]

    @functools.cached_property
    def distances(self) -> Array:
        """The distance of each part (column) from its target at each point (row): see `distance`."""
        means = np.array([point.means for point in self.points])
        columns = [distance(means[:, i], part) for i, (_, part) in enumerate(self.parts)]
        return np.stack(columns, axis=1)

    @functools.cached_property
    def order(self) -> list[int]:
        """The points, the best first.

        Points that meet more parts come first, then those nearer to the targets.
        """
        met = [sum(point.holds) for point in self.points]
        rms = np.sqrt(np.mean(self.distances**2, axis=1))
        return sorted(range(len(self.points)), key=lambda i: (-met[i], rms[i], i))

    @property
    def best(self) -> Point:
        """The best point."""
        return self.points[self.order[0]]

    @property
    def fitting(self) -> list[Point]:
        """The points at which every part holds."""
        return [point for point in self.points if all(point.holds)]

    @functools.cached_property
    def weights(self) -> Array:
        """The posterior weight of each point: exp(-d²/2).

        d is the distance over all parts, in tolerances.
        """
        squares = np.sum(self.distances**2, axis=1) / 2
        weights = np.exp(np.min(squares) - squares)
        return np.asarray(weights / weights.sum(), dtype=np.float64)

    @property
    def effective(self) -> float:
        """The effective number of points: one over the sum of the squared weights."""
        return float(1 / np.sum(self.weights**2))

    def quantiles(self, variable: int, shares: Sequence[float]) -> list[float]:
        """Posterior quantiles of a numeric variable."""
        values = np.array([point.values[variable] for point in self.points], dtype=np.float64)
        order = np.argsort(values)
        reached = np.cumsum(self.weights[order])
        at = np.minimum(np.searchsorted(reached, np.array(shares) - 1e-12), len(values) - 1)
        return [float(value) for value in values[order][at]]

    def shares(self, variable: int) -> list[tuple[Any, float]]:
        """The posterior share of each value of a discrete variable."""
        found: list[tuple[Any, float]] = []
        for value in self.search.variables[variable].among:
            at = [i for i, point in enumerate(self.points) if point.values[variable] == value]
            found.append((value, float(self.weights[at].sum())))
        return found

    def value_range(self, part: int) -> tuple[float, float]:
        """The smallest and the largest value of a part over all points; NaN without values."""
        means = [point.means[part] for point in self.points if math.isfinite(point.means[part])]
        return (min(means), max(means)) if means else (math.nan, math.nan)

    def reproduced_share(self, claim: int) -> float:
        """The share of points at which the means of all parts of a claim meet their targets."""
        mine = [i for i, (name, _) in enumerate(self.parts) if name == self.search.claims[claim].id]
        return sum(all(point.holds[i] for i in mine) for point in self.points) / len(self.points)


def distance(means: Array, part: Part) -> Array:
    """The distance of values from a target.

    From a range: from its middle, in half widths, so that 1 is its edge. From an inequality: 0 if it holds, else from
    its edge, in standard deviations of the values.
    """
    target = part.judged
    if math.isfinite(target.low) and math.isfinite(target.high):
        half = max((target.high - target.low) / 2, 1e-12 * max(abs(target.low), 1e-300))
        found = np.abs(means - (target.low + target.high) / 2) / half
    else:
        known = means[np.isfinite(means)]
        spread = float(np.std(known)) if len(known) else 0.0
        short = (
            np.maximum(target.low - means, 0.0) if math.isfinite(target.low) else np.maximum(means - target.high, 0.0)
        )
        found = short / (spread or 1.0)
    return np.minimum(np.where(np.isfinite(found), found, FAR), FAR)


def search_of(
    experiment: Experiment, grid: str, claims: Sequence[str] = (), quick: bool = False, seeds: int | None = None
) -> Search:
    """The search in a grid: its omitted values, and the claims that they can change.

    Claims may be restricted by name. Raises `UserError` if nothing is omitted, and for claims that these values do
    not affect.
    """
    chosen = choose(experiment, (grid,)).grids[0]
    cases = {case: dict(chosen.quick_set) if quick else {} for case in chosen.cases()}
    variables = [
        each
        for each in experiment.file.omitted
        if (not each.grids or grid in each.grids) and any(experiment.concerns(each, c) for c in cases)
    ]
    if not variables:
        raise UserError(f"{experiment.main}: omitted: expected values that {grid} depends on, got none")
    known = {claim.id: claim for claim in experiment.claims}
    for name in claims:
        if name not in known:
            raise UserError(f'--claim: expected one of {", ".join(known)}, got "{name}"')
    found: list[Claim] = []
    used: set[Case] = set()
    for claim in experiment.claims:
        if claim.id not in claims if claims else claim.origin != "paper":
            continue
        plain = replace(claim, readings=())  # the search takes the place of the readings
        needed = cases_of(experiment, plain)
        if needed <= set(cases) and any(experiment.concerns(each, case) for each in variables for case in needed):
            found.append(plain)
            used |= needed
        elif claim.id in claims:
            raise UserError(f'--claim: expected one that rests on {grid} and on what is omitted, got "{claim.id}"')
    if not found:
        raise UserError(
            f"{experiment.id}: expected a claim that rests on {grid} alone, got none: name one with --claim"
        )
    count = experiment.file.quick if seeds is None else seeds
    return Search(
        experiment, variables, found, {case: cases[case] for case in cases if case in used}, list(range(1, 1 + count))
    )


def sobol_points(variables: int, points: int) -> Array:
    """Points of Sobol's sequence in the unit cube, the same in every version of SciPy.

    A smaller number is a prefix of a larger one. They are shifted, so that none lies on an edge or in the middle of
    every range.
    """
    from scipy.stats import qmc  # here: SciPy takes time to load

    if not 1 <= points <= MOST_POINTS:
        raise UserError(f"--points: expected 1 to {MOST_POINTS}, got {points}")
    plain = qmc.Sobol(variables, scramble=False).random_base2(math.ceil(math.log2(points)))[:points]
    shift = np.arange(1, variables + 1) * (math.sqrt(5) - 1) / 2
    return np.asarray((plain + shift) % 1.0, dtype=np.float64)


def infer(
    search: Search, points: int, options: RunOptions, said: Callable[[int, int], None] | None = None
) -> Inference:
    """Runs the chosen values and every point.

    `said` is called with the number of finished points, and of all.
    """
    u = sobol_points(len(search.variables), points)
    values = [tuple(v.value(float(x)) for v, x in zip(search.variables, row, strict=True)) for row in u]
    still = {case: usual for case, usual in search.over.items() if case not in search.moved}
    fixed = run_cases(search.experiment, still, search.seeds, options)
    usual = run_cases(search.experiment, {case: search.over[case] for case in search.moved}, search.seeds, options)
    chosen, parts = _point(search, (), {**fixed, **usual})
    found: list[Point] = []
    for begin in range(0, points, BATCH):
        batch = values[begin : begin + BATCH]
        for each, records in zip(batch, _run(search, batch, options), strict=True):
            found.append(_point(search, each, {**fixed, **records})[0])
        if said:
            said(len(found), points)
    return Inference(search, parts, chosen, found)


def _run(search: Search, batch: Sequence[tuple[Any, ...]], options: RunOptions) -> Iterator[dict[Case, Any]]:
    """The records of the affected cases, for each point of a batch, from one list of runs."""
    asked = [
        CaseRequest(case, {**search.over[case], **changes(search, values, case)}, search.seeds)
        for values in batch
        for case in search.moved
    ]
    done = iter(run_each(search.experiment, asked, options))
    for _ in batch:
        yield {case: next(done) for case in search.moved}


def changes(search: Search, values: Iterable[Any], case: Case) -> dict[str, Any]:
    """The fields that a point sets in a case."""
    found: dict[str, Any] = {}
    for variable, value in zip(search.variables, values, strict=True):
        if search.experiment.concerns(variable, case):
            found |= variable.changes(value)
    return found


def _point(search: Search, values: tuple[Any, ...], records: dict[Case, Any]) -> tuple[Point, list[tuple[str, Part]]]:
    """The claims as measured in these runs, and their parts in the same order."""
    outcome = Outcome(search.experiment, [], search.seeds, records)
    judge_claims(outcome, search.claims)
    parts = [(result.claim.id, part) for result in outcome.results for part in result.parts]
    point = Point(
        values,
        tuple(part.measured.mean for _, part in parts),
        tuple(part.holds for _, part in parts),
        tuple(result.chosen for result in outcome.results),
    )
    return point, [(name, part.part) for name, part in parts]
