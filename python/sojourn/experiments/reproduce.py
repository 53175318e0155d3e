"""Reruns a paper: runs its grids, computes its measures, judges its claims."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sojourn.core.errors import RunError, UserError
from sojourn.core.record import Record
from sojourn.core.scenario import Scenario
from sojourn.core.text_format import counted
from sojourn.experiments.braces import filled
from sojourn.experiments.claims import Claim
from sojourn.experiments.judging import judge_claims
from sojourn.experiments.model import Case, Experiment, Grid
from sojourn.experiments.outcome import Effort, Outcome
from sojourn.experiments.selection import choose
from sojourn.experiments.verdict import Verdict
from sojourn.runs.hosts import Host, on_host
from sojourn.runs.jobs import raise_failed
from sojourn.runs.laws import Laws
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
    laws: Laws | None = None
    """Laws and controllers in Python by name."""
    looks: int = 1
    """How often claims are judged at most; see `Outcome.looks`."""
    keep_mistakes: bool = False
    """Whether `Outcome.mistakes` keeps errors of claims and measures instead of raising them."""
    keep_failed: bool = False
    """Whether `Outcome.not_run` keeps cases with a failing run instead of raising."""


@dataclass(frozen=True)
class Planned:
    """The planned runs."""

    grids: list[Grid]
    """The selected grids."""
    chosen: list[Grid]
    """The selected grids without the scenarios that `--quick` skips."""
    seeds: list[int]
    asked: list[CaseRequest]
    claims: list[Claim]
    """The claims that are judged."""


Names = str | Sequence[str] | None
"""The names of grids and claims; `None` for all."""


def planned(experiment: Experiment, names: Names, seeds: Seeds | None, options: RunOptions) -> Planned:
    """The cases of some grids and claims, with the seeds of each."""
    selected = choose(experiment, (names,) if isinstance(names, str) else names or (), options.full)
    grids = selected.grids
    short = [(each, each.quick()) for each in grids]
    chosen = [quick for each, quick in short if quick.scenarios or not each.cases()] if options.quick else grids
    whole = experiment.replications(grids)
    all_seeds = seeds_of((min(experiment.file.quick, whole) if options.quick else whole) if seeds is None else seeds)
    over = {case: each.quick_set if options.quick else {} for each in chosen for case in each.cases()}
    seeds_of_case = _seeds_of_cases(chosen, all_seeds, seeds is not None)
    asked = [CaseRequest(case, changes, seeds_of_case[case]) for case, changes in over.items()]
    return Planned(grids, chosen, all_seeds, asked, selected.claims)


def run_shard(experiment: Experiment, names: Names, seeds: Seeds | None, options: RunOptions, shard: str) -> int:
    """Runs a part of the runs, such as "3/64", into the cache; returns their number."""
    done: list[int] = []
    plan = planned(experiment, names, seeds, options)
    if not experiment.file.keep_traces or any(experiment.scenarios[each.case.scenario].steps for each in plan.asked):
        raise UserError("shard: expected runs that the cache keeps, got steps or keep_traces = false")
    jobs = _jobs(experiment, [_Run(each, seed) for each in plan.asked for seed in each.seeds], options)
    how: dict[str, Any] = {"threads": options.threads, "cache": options.cache, "progress": options.progress}
    run_jobs_of(jobs, lambda index, _: done.append(index), shard=shard, laws=options.laws, **how)
    return len(done)


def reproduce(
    experiment: Experiment, names: Names = None, seeds: Seeds | None = None, options: RunOptions | None = None
) -> Outcome:
    """Runs grids and claims (default: all grids that are not optional) and judges.

    `seeds` are the paper's by default. A claim that needs other grids is listed in `Outcome.skipped`. Raises
    `UserError` for a mistake in the paper's files, `ScenarioError` for a scenario that cannot be run; both before the
    first run if possible.
    """
    options = options or RunOptions()
    plan = planned(experiment, names, seeds, options)
    runs, effort = _timed(lambda timed: _ran(experiment, plan.asked, timed), options)
    refused = {case: why for each in plan.grids for case, why in each.refused.items() if why}
    not_run = refused if options.keep_failed else {}
    not_run |= {each.asked.case: each.failure for each in reversed(runs) if each.failure}
    by_case: dict[Case, list[Record]] = {each.case: [] for each in plan.asked if each.case not in not_run}
    for each in runs:
        if each.asked.case in by_case:
            by_case[each.asked.case].append(each.finished)
    chosen = [replace(each, refused={**each.refused, **not_run}) for each in plan.chosen]
    shortened = _shortened(experiment, plan.grids, len(plan.seeds), options.quick)
    if options.host is Host.LINUX:
        shortened.append("the TCP of a Linux kernel instead of the paper's")
    quick = options.quick and bool(shortened)
    outcome = Outcome(
        experiment,
        chosen,
        plan.seeds,
        by_case,
        shortened=shortened,
        quick=quick,
        looks=options.looks,
        effort=effort,
        left_out=frozenset(case for each in plan.grids for case in each.cases()) - by_case.keys() - not_run.keys(),
        not_run=not_run,
        mistakes=[] if options.keep_mistakes else None,
    )
    for claim in plan.claims:
        try:
            judge_claims(outcome, [claim])
        except UserError as error:
            outcome.note_mistake(error)
    return outcome


def until_decided(experiment: Experiment, names: Names, seeds: Seeds | None, options: RunOptions, most: int) -> Outcome:
    """Doubles the seeds of `reproduce` until no claim is undecided, up to `most`.

    The cache keeps the runs of the smaller numbers. The looks share the error rate of a single one (Bonferroni), so
    that looking again does not decide a claim by chance.
    """
    count, looks = len(planned(experiment, names, seeds, options).seeds), 1
    while count < most:
        count, looks = 2 * count, looks + 1
    options = replace(options, looks=looks)
    outcome = reproduce(experiment, names, seeds, options)
    while len(outcome.seeds) < most and any(each.verdict is Verdict.UNDECIDED for each in outcome.results):
        outcome = reproduce(experiment, names, min(2 * len(outcome.seeds), most), options)
    return outcome


def _seeds_of_cases(chosen: list[Grid], seeds: list[int], given: bool) -> dict[Case, list[int]]:
    """The seeds of each case: all that are `given`, else those of the grid with most seeds."""
    found: dict[Case, list[int]] = {}
    for each in chosen:
        own = seeds if given else seeds[: each.replications]
        for case in each.cases():
            found[case] = max(found.get(case, []), own, key=len)
    return found


def _timed(run: Callable[[RunOptions], list[_Run]], options: RunOptions) -> tuple[list[_Run], Effort | None]:
    """The result of `run` and its cost; no cost if there was nothing to run."""
    seen: list[tuple[int, int]] = []

    def watch(done: int, total: int) -> None:
        seen.append((done, total))
        if options.progress:
            options.progress(done, total)

    wall, cpu = time.perf_counter(), cpu_time()
    runs = run(replace(options, progress=watch))
    seconds, cpu_seconds = time.perf_counter() - wall, cpu_time() - cpu
    if not seen:
        return runs, None
    return runs, Effort(seconds, cpu_seconds, runs=seen[-1][1], cached=seen[0][0])


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
    done = iter(_ran(experiment, asked, options))
    return [[next(done).finished for _ in each.seeds] for each in asked]


def _ran(experiment: Experiment, asked: list[CaseRequest], options: RunOptions) -> list[_Run]:
    """The runs of cases, case by case and seed by seed."""
    waiting = [_Run(each, seed) for each in asked for seed in each.seeds]
    every, before = list(waiting), 0
    while waiting:
        _run_once(experiment, waiting, replace(options, progress=_counted_from(before, options.progress)))
        before += len(waiting)
        waiting = [each for each in waiting if each.record is None and not each.failure]
    return every


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
    failure: str = ""
    """Why it failed, if it did."""

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
        laws=options.laws,
        on_failed=failed.__setitem__,
        keeps_raised=options.keep_failed,
    )
    if not options.keep_failed:
        raise_failed([failed[index] for index in sorted(failed)], len(jobs), cache)
    for index, why in failed.items():
        runs[index].failure = why


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
