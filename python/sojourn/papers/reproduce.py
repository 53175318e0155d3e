"""Reproducing a paper: its experiments run, its measures taken, its claims judged."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from sojourn import _sojourn
from sojourn.errors import UserError
from sojourn.papers.claims import Claim, Part
from sojourn.papers.designs import functions as design_functions
from sojourn.papers.expression import Functions, UnknownNameError, Value, evaluate
from sojourn.papers.model import Case, Experiment, Paper
from sojourn.papers.theory import THEORY
from sojourn.papers.verdict import Verdict, combine, is_clear, judge
from sojourn.record import Record
from sojourn.running import Job, Progress, Seeds, run_jobs, seeds_of
from sojourn.stats import Estimate, estimate
from sojourn.store import Store

Array = npt.NDArray[np.float64]
SLOPE_STEPS = range(1, 6)


@dataclass(frozen=True)
class PartResult:
    """One part of a claim as measured."""

    part: Part
    measured: Estimate
    published: float | None
    verdict: Verdict
    clear: bool

    @property
    def published_holds(self) -> bool | None:
        """Whether the published values themselves meet the target, where they say."""
        return None if self.published is None else self.published in self.part.target


@dataclass(frozen=True)
class ClaimResult:
    """A claim with its computed verdict."""

    claim: Claim
    parts: list[PartResult]
    verdict: Verdict


@dataclass
class Outcome:
    """What came of a paper."""

    paper: Paper
    experiments: list[Experiment]
    seeds: list[int]
    records: dict[Case, list[Record]]
    results: list[ClaimResult] = field(default_factory=list)
    skipped: list[Claim] = field(default_factory=list)

    def values(self, case: Case, measure: str) -> Array:
        """A measure of one case, one value a seed."""
        if case not in self.records:
            raise UnknownNameError(str(case))
        chosen = self.paper.measure(case.scenario, measure)
        return np.array([chosen.of(record) for record in self.records[case]])

    def counts(self) -> dict[Verdict, int]:
        """How many claims got which verdict."""
        return {verdict: sum(result.verdict is verdict for result in self.results) for verdict in Verdict}

    def fingerprint(self) -> str:
        """One digest over every run's fingerprint, in the order of cases and seeds."""
        prints = [
            (str(case), [r.get("fingerprint") for r in records]) for case, records in sorted(self.records.items())
        ]
        return hashlib.sha256(json.dumps(prints).encode()).hexdigest()[:16]

    def runs(self) -> pd.DataFrame:
        """One row a run, with every measure of the paper that it has."""
        rows = []
        for case, records in self.records.items():
            columns = {name: self.values(case, name) for name in self.measures_of(case)}
            for i, (seed, record) in enumerate(zip(self.seeds, records, strict=True)):
                row: dict[str, Any] = {"scenario": case.scenario, "queue": case.queue, "setting": case.setting}
                row |= {"seed": seed, "fingerprint": str(record.get("fingerprint"))}
                rows.append(row | {name: float(column[i]) for name, column in columns.items()})
        return pd.DataFrame(rows)

    def measures_of(self, case: Case) -> list[str]:
        """The measures that the experiments ask of a case."""
        names = [
            name for e in self.experiments if case in e.cases() for name in e.measures or list(self.paper.measures)
        ]
        return list(dict.fromkeys(names))

    def cells(self, experiment: Experiment) -> pd.DataFrame:
        """One row a case and measure: published beside measured, with the verdict where the cell is a claim's."""
        judged = {part.part.measure: part for result in self.results if result.claim.table for part in result.parts}
        rows = []
        for case in experiment.cases():
            for name in experiment.measures or list(self.paper.measures):
                chosen, found = self.paper.measure(case.scenario, name), estimate(self.values(case, name))
                cell = judged.get(f"{case}.{name}")
                rows.append({
                    "scenario": case.scenario, "queue": case.queue, "setting": case.setting, "measure": name,
                    "unit": chosen.unit, "decimals": chosen.decimals,
                    "published": self.paper.published.get((case.scenario, case.queue, name), np.nan),
                    "tolerance": str(cell.part.tolerance) if cell else "",
                    "mean": found.mean, "sd": found.sd, "low": found.low, "high": found.high, "n": found.n,
                    "verdict": str(cell.verdict) if cell else "",
                })  # fmt: skip
        return pd.DataFrame(rows)

    def claims_table(self) -> pd.DataFrame:
        """One row a part of a claim."""
        rows = []
        for result in self.results:
            for part in result.parts:
                found = part.measured
                rows.append({
                    "claim": result.claim.id, "where": result.claim.where, "text": result.claim.text,
                    "verdict": str(result.verdict), "measure": part.part.measure, "label": part.part.label,
                    "target": part.part.taken, "published": np.nan if part.published is None else part.published,
                    "mean": found.mean, "low": found.low, "high": found.high, "n": found.n,
                    "part_verdict": str(part.verdict), "clear": part.clear,
                })  # fmt: skip
        return pd.DataFrame(rows)


def choose(paper: Paper, experiment: str | None) -> list[Experiment]:
    """The experiments meant: one, or all."""
    if experiment is None:
        return list(paper.experiments.values())
    if experiment not in paper.experiments:
        raise UserError(f'{paper.id}: experiment "{experiment}": taken are {", ".join(paper.experiments)}')
    return [paper.experiments[experiment]]


def reproduce(
    paper: Paper,
    experiment: str | None = None,
    seeds: Seeds | None = None,
    *,
    quick: bool = False,
    threads: int = 0,
    cache: Store | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Runs the experiments with several seeds and judges every claim that they bear on.

    With `quick`, each experiment is changed as its `quick_set` says: shorter, so that a first look takes seconds.
    """
    chosen = choose(paper, experiment)
    all_seeds = seeds_of((paper.quick if quick else paper.replications) if seeds is None else seeds)
    over = {case: each.quick_set if quick else {} for each in chosen for case in each.cases()}
    cases = list(over)
    scenarios = {case: paper.scenario(case, over[case]) for case in cases}
    jobs = [Job(scenarios[case], seed) for case in cases for seed in all_seeds]
    records = iter(run_jobs(jobs, threads=threads, cache=cache, progress=progress))
    outcome = Outcome(paper, chosen, all_seeds, {case: [next(records) for _ in all_seeds] for case in cases})
    functions = {**law_functions(paper), **THEORY, **family_functions(outcome), **curve_functions(outcome)}
    for claim in paper.claims:
        result = judge_claim(claim, outcome, functions)
        if result is None:
            outcome.skipped.append(claim)
        else:
            outcome.results.append(result)
    return outcome


def judge_claim(claim: Claim, outcome: Outcome, functions: Functions) -> ClaimResult | None:
    """The verdict on a claim; None where it needs cases that were not run."""
    parts = []
    for part in claim.parts:
        try:
            value = _part_value(part, outcome, functions)
        except UnknownNameError:
            return None
        measured = estimate(np.atleast_1d(np.asarray(value, dtype=np.float64)))
        published = part.published
        if published is None and not part.cells:
            published = _published(part, outcome.paper)
        verdict, clear = judge(measured, part.target), is_clear(measured, part.target)
        parts.append(PartResult(part, measured, published, verdict, clear))
    return ClaimResult(claim, parts, combine(part.verdict for part in parts))


def _part_value(part: Part, outcome: Outcome, functions: Functions) -> Value:
    """A part's measure, one value a seed; of a part over many cells the share of cells whose mean holds."""
    if not part.cells:
        return evaluate(part.measure, lambda name: _measured(outcome, name), functions)
    means = [float(np.mean(evaluate(cell, lambda name: _measured(outcome, name), functions))) for cell in part.cells]
    return sum(mean in part.cell_target for mean in means) / len(means)


def _case(paper: Paper, name: tuple[str, ...]) -> tuple[Case, str]:
    """What a dotted name means: scenario, queue, perhaps a setting, and a measure."""
    if len(name) not in (3, 4) or name[0] not in paper.scenarios or name[1] not in paper.queues:
        taken = "scenario.queue.measure or scenario.queue.setting.measure"
        raise UserError(f'{paper.root / "claims.toml"}: name "{".".join(name)}": taken is {taken}')
    setting = name[2] if len(name) == 4 else ""
    if setting and setting not in paper.settings:
        raise UserError(f'{paper.root / "claims.toml"}: setting "{setting}": taken are {", ".join(paper.settings)}')
    return Case(name[0], name[1], setting), name[-1]


def _measured(outcome: Outcome, name: tuple[str, ...]) -> Value:
    """The measured values that a name stands for."""
    case, measure = _case(outcome.paper, name)
    return outcome.values(case, measure)


def _published(part: Part, paper: Paper) -> float | None:
    """What the published values give for a part's measure; None where they do not say."""
    asked = False

    def lookup(name: tuple[str, ...]) -> Value:
        nonlocal asked
        asked = True
        case, measure = _case(paper, name)
        if case.setting or (case.scenario, case.queue, measure) not in paper.published:
            raise UnknownNameError(".".join(name))
        return paper.published[case.scenario, case.queue, measure]

    def unknown(*_: Value) -> Value:
        raise UnknownNameError(part.measure)

    try:
        names = (*law_functions(paper), *THEORY, *FAMILY_FUNCTIONS, *CURVE_FUNCTIONS)
        value = evaluate(part.measure, lookup, dict.fromkeys(names, unknown))
    except UnknownNameError:
        return None
    return float(value) if asked else None


FAMILY_FUNCTIONS = ("mean", "least", "greatest")
CURVE_FUNCTIONS = ("advantage", "reach")


def family_functions(outcome: Outcome) -> Functions:
    """What expressions may ask of many scenarios at once, each named by a pattern such as "y1_light_*"."""

    def over(reduce: Callable[..., Any]) -> Callable[..., Value]:
        def function(pattern: str, queue: str, measure: str, setting: str = "") -> Value:
            names = [name for name in outcome.paper.scenarios if fnmatchcase(name, pattern)]
            cases = [Case(name, queue, setting) for name in names]
            if not cases or queue not in outcome.paper.queues:
                raise UserError(f"{outcome.paper.id}: claims: no scenario or queue fits {pattern}, {queue}")
            return np.asarray(reduce([outcome.values(case, measure) for case in cases], axis=0), dtype=np.float64)

        return function

    return {"mean": over(np.mean), "least": over(np.min), "greatest": over(np.max)}


def curve_functions(outcome: Outcome) -> Functions:
    """What expressions may ask of the curves of a scenario, seed by seed."""

    def points(scenario: str, curve: str) -> tuple[Array, Array]:
        """Delays and utilizations of a curve, a row a seed."""
        if curve not in outcome.paper.curves or scenario not in outcome.paper.scenarios:
            raise UserError(f'curve "{curve}" in scenario "{scenario}": taken are {", ".join(outcome.paper.curves)}')
        cases = [Case(scenario, queue) for queue in outcome.paper.curves[curve].queues]
        delays = np.array([outcome.values(case, "delay") for case in cases])
        return delays.T, np.array([outcome.values(case, "utilization") for case in cases]).T

    def advantage(scenario: str, ours: str, theirs: str) -> Value:
        """The most, in percent, by which one curve lies above another at equal delay."""
        (d, u), (their_d, their_u) = points(scenario, ours), points(scenario, theirs)
        return np.array([_most_above(*row) for row in zip(d, u, their_d, their_u, strict=True)])

    def reach(scenario: str, curve: str, delay: Value) -> Value:
        """The utilization of a curve at a delay; that of its nearest end where it does not go there."""
        d, u = points(scenario, curve)
        return np.array([interpolated(x, y, delay) for x, y in zip(d, u, strict=True)])

    return {"advantage": advantage, "reach": reach}


def interpolated(delays: Array, utilizations: Array, at: Value) -> float:
    """A curve at a delay, points in any order."""
    order = np.argsort(delays)
    return float(np.interp(float(np.ravel(at)[0]), delays[order], utilizations[order]))


def _most_above(d: Array, u: Array, their_d: Array, their_u: Array) -> float:
    """At our delays up to their longest; where they do not go so low, against their lowest."""
    low = d <= their_d.max()
    if not low.any():
        return float("nan")
    theirs = np.array([interpolated(their_d, their_u, x) for x in d[low]])
    return float(100 * np.max(u[low] / theirs - 1))


def law_functions(paper: Paper) -> Functions:
    """What expressions may ask of a queue's law: its surface and its slopes, in percent and percent per packet."""

    def surface(queue: str, backlog: Value, change: Value) -> Value:
        return 100 * float(law_surface(paper, queue, np.atleast_1d(backlog), np.atleast_1d(change))[0, 0])

    def slope_backlog(queue: str, backlog: Value, change: Value) -> Value:
        rise = [surface(queue, backlog + h, change) - surface(queue, backlog - h, change) for h in SLOPE_STEPS]
        return float(np.mean(np.array(rise) / (2 * np.array(SLOPE_STEPS))))

    def slope_change(queue: str, backlog: Value, change: Value) -> Value:
        rise = [surface(queue, backlog, change + h) - surface(queue, backlog, change - h) for h in SLOPE_STEPS]
        return float(np.mean(np.array(rise) / (2 * np.array(SLOPE_STEPS))))

    own = {"surface": surface, "slope_backlog": slope_backlog, "slope_change": slope_change}
    return own | dict(design_functions(paper.designs, paper.fluids))


def law_surface(paper: Paper, queue: str, backlog: Array, change: Array) -> Array:
    """Drop probability of a queue's law over a grid, computed by the code that manages the queue."""
    if queue not in paper.queues:
        raise UserError(f'{paper.id}: queue "{queue}": taken are {", ".join(paper.queues)}')
    table: Mapping[str, Any] = paper.queue_table(queue)
    grid = _sojourn.surface(json.dumps(table), np.asarray(backlog, float), np.asarray(change, float))
    return np.asarray(grid, dtype=np.float64)


__all__: Sequence[str] = ["ClaimResult", "Outcome", "PartResult", "choose", "law_surface", "reproduce"]
