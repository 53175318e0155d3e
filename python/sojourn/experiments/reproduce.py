"""Reruns a paper: runs its grids, computes its measures, judges its claims."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sojourn.core.errors import RunError, UserError
from sojourn.core.record import Record
from sojourn.core.scenario import Scenario
from sojourn.core.stats import Estimate, estimate, share_of
from sojourn.core.text_format import counted
from sojourn.experiments.bounds import cannot_fail, range_of_part
from sojourn.experiments.braces import filled
from sojourn.experiments.claims import Claim, ClaimReading, Part
from sojourn.experiments.expression import Functions, UnknownNameError, Value, evaluate, terms
from sojourn.experiments.functions import all_functions
from sojourn.experiments.model import Case, Experiment, Grid
from sojourn.experiments.outcome import (
    ClaimResult,
    Effort,
    LeftOutError,
    Outcome,
    OutsideError,
    PartResult,
    ReadingResult,
)
from sojourn.experiments.schema.experiment import Measure
from sojourn.experiments.verdict import judge_part
from sojourn.runs.hosts import Host, on_host
from sojourn.runs.jobs import raise_failed
from sojourn.runs.runner import Job, Progress
from sojourn.runs.runner import run_each as run_jobs_of
from sojourn.runs.seeds import Seeds, seeds_of
from sojourn.runs.store import Store
from sojourn.runs.workers import cpu_time


@dataclass(frozen=True)
class RunOptions:
    """The options of a rerun."""

    quick: bool = False
    """The paper's few seeds, and each grid with its `quick_set`: a first look."""
    threads: int = 0
    """Threads; 0 for all cores."""
    cache: Store | None = None
    """The store of finished runs."""
    progress: Progress | None = None
    """Called after every finished run."""
    host: Host = Host.SIMULATOR
    """The TCP stack of the flows."""
    full: bool = False
    """Whether optional grids are run, too."""
    keep_mistakes: bool = False
    """Whether `Outcome.mistakes` keeps errors of claims and measures instead of raising them."""


def choose(experiment: Experiment, grid: str | None, full: bool = False) -> list[Grid]:
    """One grid, or all: optional ones only with `full`."""
    if grid is None:
        return [each for each in experiment.grids.values() if full or not each.optional]
    if grid not in experiment.grids:
        raise UserError(f'{experiment.id}: grid: expected one of {", ".join(experiment.grids)}, got "{grid}"')
    return [experiment.grids[grid]]


@dataclass(frozen=True)
class Planned:
    """The planned runs."""

    grids: list[Grid]
    """The selected grids."""
    chosen: list[Grid]
    """The selected grids without the scenarios that `--quick` skips."""
    seeds: list[int]
    asked: list[CaseRequest]


def planned(experiment: Experiment, grid: str | None, seeds: Seeds | None, options: RunOptions) -> Planned:
    """The cases of some grids, with the seeds of each."""
    grids = choose(experiment, grid, options.full)
    short = [(each, each.quick()) for each in grids]
    chosen = [quick for each, quick in short if quick.scenarios or not each.cases()] if options.quick else grids
    whole = experiment.replications(grids)
    all_seeds = seeds_of((min(experiment.file.quick, whole) if options.quick else whole) if seeds is None else seeds)
    over = {case: each.quick_set if options.quick else {} for each in chosen for case in each.cases()}
    seeds_of_case = _seeds_of_cases(chosen, all_seeds, seeds is not None)
    return Planned(
        grids, chosen, all_seeds, [CaseRequest(case, changes, seeds_of_case[case]) for case, changes in over.items()]
    )


def run_shard(experiment: Experiment, grid: str | None, seeds: Seeds | None, options: RunOptions, shard: str) -> int:
    """Runs a part of the runs, such as "3/64", into the cache; returns their number."""
    done: list[int] = []
    plan = planned(experiment, grid, seeds, options)
    if not experiment.file.keep_traces or any(experiment.scenarios[each.case.scenario].steps for each in plan.asked):
        raise UserError("shard: expected runs that the cache keeps, got steps or keep_traces = false")
    jobs = _jobs(experiment, [_Run(each, seed) for each in plan.asked for seed in each.seeds], options)
    how: dict[str, Any] = {"threads": options.threads, "cache": options.cache, "progress": options.progress}
    run_jobs_of(jobs, lambda index, _: done.append(index), shard=shard, **how)
    return len(done)


def reproduce(
    experiment: Experiment, grid: str | None = None, seeds: Seeds | None = None, options: RunOptions | None = None
) -> Outcome:
    """Runs a grid (default: all that are not optional) and judges the claims about it.

    `seeds` are the paper's by default. A claim that needs other grids is listed in `Outcome.skipped`. Raises
    `UserError` for a mistake in the paper's files, `ScenarioError` for a scenario that cannot be run; both before the
    first run if possible.
    """
    options = options or RunOptions()
    plan = planned(experiment, grid, seeds, options)
    records, effort = _timed(lambda timed: run_each(experiment, plan.asked, timed), options)
    by_case = dict(zip((each.case for each in plan.asked), records, strict=True))
    shortened = _shortened(experiment, plan.grids, len(plan.seeds), options.quick)
    if options.host is Host.LINUX:
        shortened.append("the TCP of a Linux kernel instead of the paper's")
    quick = options.quick and bool(shortened)
    outcome = Outcome(
        experiment,
        plan.chosen,
        plan.seeds,
        by_case,
        shortened=shortened,
        quick=quick,
        effort=effort,
        left_out=frozenset(case for each in plan.grids for case in each.cases()) - by_case.keys(),
        mistakes=[] if options.keep_mistakes else None,
    )
    for claim in experiment.claims:
        try:
            judge_claims(outcome, [claim])
        except UserError as error:
            outcome.note_mistake(error)
    return outcome


def _seeds_of_cases(chosen: list[Grid], seeds: list[int], given: bool) -> dict[Case, list[int]]:
    """The seeds of each case: all that are `given`, else those of the grid with most seeds."""
    found: dict[Case, list[int]] = {}
    for each in chosen:
        own = seeds if given else seeds[: each.replications]
        for case in each.cases():
            found[case] = max(found.get(case, []), own, key=len)
    return found


def judge_claims(outcome: Outcome, claims: Iterable[Claim]) -> None:
    """Judges claims from the available runs; a claim that needs others is skipped."""
    functions = all_functions(outcome)
    for claim in claims:
        result = judge_claim(claim, outcome, functions)
        if result is None:
            outcome.skipped.append(claim)
        else:
            outcome.results.append(result)


def _timed(
    run: Callable[[RunOptions], list[list[Record]]], options: RunOptions
) -> tuple[list[list[Record]], Effort | None]:
    """The result of `run` and its cost; no cost if there was nothing to run."""
    seen: list[tuple[int, int]] = []

    def watch(done: int, total: int) -> None:
        seen.append((done, total))
        if options.progress:
            options.progress(done, total)

    wall, cpu = time.perf_counter(), cpu_time()
    records = run(replace(options, progress=watch))
    seconds, cpu_seconds = time.perf_counter() - wall, cpu_time() - cpu
    if not records:
        return records, None
    return records, Effort(seconds, cpu_seconds, runs=seen[-1][1], cached=seen[0][0])


def run_cases(
    experiment: Experiment, over: Mapping[Case, Mapping[str, Any]], seeds: list[int], options: RunOptions
) -> dict[Case, list[Record]]:
    """Runs cases, each with some fields changed, with every seed."""
    asked = [CaseRequest(case, changes, seeds) for case, changes in over.items()]
    return dict(zip(over, run_each(experiment, asked, options), strict=True))


@dataclass(frozen=True)
class CaseRequest:
    """A case to run."""

    case: Case
    changes: Mapping[str, Any]
    """Changed fields."""
    seeds: list[int]


def run_each(experiment: Experiment, asked: list[CaseRequest], options: RunOptions) -> list[list[Record]]:
    """Runs cases; returns the records of each, seed by seed.

    A case may occur with several changes. A case with steps is run again after each of them.
    """
    waiting = [_Run(each, seed) for each in asked for seed in each.seeds]
    every, before = list(waiting), 0
    while waiting:
        _run_once(experiment, waiting, replace(options, progress=_counted_from(before, options.progress)))
        before += len(waiting)
        waiting = [each for each in waiting if each.record is None]
    done = iter(every)
    return [[next(done).finished for _ in each.seeds] for each in asked]


def _counted_from(before: int, progress: Progress | None) -> Progress | None:
    """Reports progress after `before` other runs."""
    return progress and (lambda done, total: progress(before + done, before + total))


@dataclass
class _Run:
    """A requested run, and the changes of its steps so far."""

    asked: CaseRequest
    seed: int
    steps: int = 0
    changes: dict[str, Any] = field(default_factory=dict)
    record: Record | None = None
    """The record of its last run."""

    @property
    def finished(self) -> Record:
        """The record. Raises `RunError` before the last run."""
        if self.record is None:
            raise RunError(f"{self.asked.case}: expected a record, got none")
        return self.record

    def take(self, experiment: Experiment, record: Record) -> None:
        """Stores the record of the last run, or computes the changes of the next step."""
        case = self.asked.case
        steps, measures = experiment.scenarios[case.scenario].steps, experiment.run_measures(case, record)
        if self.steps < len(steps):
            self.changes |= filled(steps[self.steps], measures)
            self.steps += 1
        else:
            self.record = record if experiment.file.keep_traces else experiment.without_traces(case, record)


def _run_once(experiment: Experiment, runs: list[_Run], options: RunOptions) -> None:
    """Runs each once, with the changes of its steps."""
    jobs = _jobs(experiment, runs, options)
    cache = options.cache if experiment.file.keep_traces else None
    failed: dict[int, str] = {}
    run_jobs_of(
        jobs,
        lambda index, record: runs[index].take(experiment, record),
        threads=options.threads,
        cache=cache,
        progress=options.progress,
        on_failed=failed.__setitem__,
    )
    raise_failed([failed[index] for index in sorted(failed)], len(jobs), cache)


def _jobs(experiment: Experiment, runs: list[_Run], options: RunOptions) -> list[Job]:
    """The jobs of runs. Those that differ only in the seed share a scenario."""
    jobs: list[Job] = []
    plain: dict[int, Scenario] = {}
    for each in runs:
        case, changes = each.asked.case, dict(each.asked.changes)
        own = experiment.drawn(case, each.seed) | changes | each.changes
        if own != changes:
            jobs.append(Job(on_host(experiment.scenario(case, own), options.host), each.seed))
            continue
        if id(each.asked) not in plain:
            plain[id(each.asked)] = on_host(experiment.scenario(case, changes), options.host)
        jobs.append(Job(plain[id(each.asked)], each.seed))
    return jobs


def _shortened(experiment: Experiment, chosen: list[Grid], seeds: int, quick: bool) -> list[str]:
    """The reductions of a rerun: fewer seeds, and the changes of `quick_set` in each grid."""
    found = []
    if any(each.cases() for each in chosen) and seeds < (whole := experiment.replications(chosen)):
        found.append(f"{counted(seeds, 'seed')} instead of {whole}")
    for each in [each for each in chosen if quick and each.quick_set]:
        changes = [
            f"{path} = {_shown(value)} {_full_value(experiment, each, path)}" for path, value in each.quick_set.items()
        ]
        found.append(f"{each.title}: {', '.join(changes)}")
    ran, whole = (sum(len(each.cases()) for each in grids) for grids in ([each.quick() for each in chosen], chosen))
    return [*found, f"{ran} of {counted(whole, 'case')}"] if quick and ran < whole else found


def _full_value(experiment: Experiment, grid: Grid, path: str) -> str:
    """The value of a field of a grid in a whole rerun."""
    try:
        usual = {_shown(experiment.scenario(case).get_path(path)) for case in grid.cases()}
    except UserError:
        usual = set()
    return f"instead of {usual.pop()}" if len(usual) == 1 else "instead of what each scenario has"


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@contextmanager
def in_claim(experiment: Experiment, claim: Claim) -> Iterator[None]:
    """Names file and claim in errors."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{experiment.root / 'claims.toml'}: claims[{claim.id}].{error}") from None


def judge_claim(claim: Claim, outcome: Outcome, functions: Functions) -> ClaimResult | None:
    """The verdict on a claim; `None` if it needs cases that were not run."""
    used: set[Case] = set()
    try:
        with in_claim(outcome.experiment, claim):
            parts = [_judge(part, outcome, functions, used) for part in _ran(claim.parts, outcome, functions)]
            others = [_judge_reading(each, outcome, functions, used) for each in claim.readings]
    except UnknownNameError:
        return None
    return ClaimResult(claim, parts, frozenset(used), tuple(others))


def _ran(parts: Iterable[Part], outcome: Outcome, functions: Functions) -> list[Part]:
    """The parts and cells that `--quick` did not skip.

    Raises `LeftOutError` if none is left.
    """

    def ran(measure: str) -> bool:
        with suppress(LeftOutError):
            evaluate(measure, lambda name: _measured(outcome, name), functions)
            return True
        return False

    if not outcome.left_out:
        return list(parts)
    cells = [replace(part, cells=tuple(filter(ran, part.cells))) if part.cells else part for part in parts]
    found = [
        part for part, whole in zip(cells, parts, strict=True) if part.cells or (not whole.cells and ran(part.measure))
    ]
    if not found:
        raise LeftOutError
    return found


def _judge_reading(reading: ClaimReading, outcome: Outcome, functions: Functions, used: set[Case]) -> ReadingResult:
    """The verdicts under a reading, on the parts in its scenarios."""
    results = []
    view = outcome.only(reading.scenarios)
    own = functions if reading.scenarios == outcome.within else all_functions(view)
    for part in reading.parts:
        with suppress(OutsideError, LeftOutError):
            results.append(_judge(part, view, own, used))
    return ReadingResult(reading.label, reading.fit, results)


def _judge(part: Part, outcome: Outcome, functions: Functions, used: set[Case]) -> PartResult:
    """The verdict on a part; adds the cases of its measures to `used`."""
    outcome.taken()
    values = np.atleast_1d(np.asarray(part_value(part, outcome, functions), dtype=np.float64))
    cases = outcome.taken()
    used |= cases
    published = part.published
    if published is None and not part.cells:
        published = _published(part, outcome.experiment, functions)
    same = bool(cases) and outcome.same(cases)
    known = (lambda name: _measure(outcome.experiment, name)), set(functions)
    if part.share_of_seeds:
        holds = [float(value) in part.target for value in values]
        measured: Estimate = estimate([float(holds[0])]) if same else share_of(holds)
    else:
        measured = estimate(values[:1] if same else values, within=range_of_part(part, *known))
    judged = judge_part(measured, part.judged, part.kind, part.direction)
    judged = judged.by_fit() if part.fitted_by else judged
    sure = cannot_fail(part, *known)
    return PartResult(part, measured, published, judged, same, sure, _unit(part, outcome.experiment))


def _unit(part: Part, experiment: Experiment) -> str:
    """The unit of a part: that of its measures if it is their sum or difference."""
    names = terms(part.cells[0] if part.cells else part.measure)
    units = {_measure(experiment, name).unit for name in names}
    return units.pop() if len(units) == 1 else ""


def _measure(experiment: Experiment, name: tuple[str, ...]) -> Measure:
    """The measure of a dotted name."""
    case, measure = _case(experiment, name)
    return experiment.measure(case.scenario, measure)


def part_value(part: Part, outcome: Outcome, functions: Functions) -> Value:
    """A part's measure, one value for each seed.

    With cells it is the share of those that meet the target.
    """
    if not part.cells:
        return evaluate(part.measure, lambda name: _measured(outcome, name), functions)
    of_seeds = np.median if part.of_seeds == "median" else np.mean
    found = [float(of_seeds(evaluate(cell, lambda name: _measured(outcome, name), functions))) for cell in part.cells]
    return sum(value in part.cell_target for value in found) / len(found)


def _case(experiment: Experiment, name: tuple[str, ...]) -> tuple[Case, str]:
    """The meaning of a dotted name: scenario, queue, perhaps a setting, and a measure."""
    whole = ".".join(name)
    if len(name) not in (3, 4):
        expected = "scenario.queue.measure or scenario.queue.setting.measure"
        raise UserError.expected("measure", expected, whole)
    *place, measure = name
    kinds = ("scenario", experiment.file.compares, "setting")
    every: tuple[Iterable[str], ...] = (experiment.scenarios, experiment.queues, experiment.settings)
    for kind, names, each in zip(kinds, every, place, strict=False):
        if each not in names:
            raise UserError.unknown(f"measure: {kind} of {whole}", each, names)
    if measure not in experiment.measures:
        raise UserError.unknown(f"measure: measure of {whole}", measure, experiment.measures)
    return Case(*place), measure


def _measured(outcome: Outcome, name: tuple[str, ...]) -> Value:
    """The measured values of a name."""
    case, measure = _case(outcome.experiment, name)
    return outcome.values(case, measure)


def _published(part: Part, experiment: Experiment, functions: Functions) -> float | None:
    """A part's measure from the published values; `None` if it needs others."""
    asked = False

    def lookup(name: tuple[str, ...]) -> Value:
        nonlocal asked
        asked = True
        case, measure = _case(experiment, name)
        if case.setting or (case.scenario, case.queue, measure) not in experiment.published:
            raise UnknownNameError(".".join(name))
        return experiment.published[case.scenario, case.queue, measure]

    def unknown(*_: Value) -> Value:
        raise UnknownNameError(part.measure)

    try:
        value = evaluate(part.measure, lookup, dict.fromkeys(functions, unknown))
    except UnknownNameError:
        return None
    return float(value) if asked else None
