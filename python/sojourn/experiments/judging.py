"""Judges claims from the records of an outcome."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import numpy as np

from sojourn.core.errors import UserError
from sojourn.core.stats import Estimate, estimate, share_of
from sojourn.experiments.bounds import cannot_fail, range_of_part
from sojourn.experiments.claims import Claim, ClaimReading, Part
from sojourn.experiments.expression import Functions, UndecidableError, UnknownNameError, Value, evaluate, terms
from sojourn.experiments.functions import all_functions
from sojourn.experiments.model import Case, Experiment
from sojourn.experiments.multiplicity import holm
from sojourn.experiments.outcome import ClaimResult, LeftOutError, Outcome, OutsideError, PartResult, ReadingResult
from sojourn.experiments.schema.experiment import Measure
from sojourn.experiments.verdict import judge_part


def judge_claims(outcome: Outcome, claims: Iterable[Claim]) -> None:
    """Judges claims from the available runs; a claim that needs others is skipped."""
    functions = all_functions(outcome)
    for claim in claims:
        result = judge_claim(claim, outcome, functions)
        if result is None:
            outcome.skipped.append(claim)
        else:
            outcome.results.append(result)


@contextmanager
def in_claim(experiment: Experiment, claim: Claim) -> Iterator[None]:
    """Names file and claim in errors that do not name a file of the experiment."""
    try:
        yield
    except UserError as error:
        if str(error).startswith(f"{experiment.root}{os.sep}"):
            raise
        raise UserError(f"{experiment.root / 'claims.toml'}: claims[{claim.id}].{error}") from None


def judge_claim(claim: Claim, outcome: Outcome, functions: Functions) -> ClaimResult | None:
    """The verdict on a claim; `None` if it needs cases that were not run."""
    used: set[Case] = set()
    try:
        with in_claim(outcome.experiment, claim):
            ran = _ran(claim.parts, outcome, functions)
            parts = holm([_judge(part, outcome, functions, used) for part in ran])
            others = [_judge_reading(each, claim, outcome, functions, used) for each in claim.readings]
    except UndecidableError as error:
        outcome.undecidable[claim.id] = str(error)
        return None
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


def _judge_reading(
    reading: ClaimReading, claim: Claim, outcome: Outcome, functions: Functions, used: set[Case]
) -> ReadingResult:
    """The verdicts under a reading, on the parts in its scenarios.

    A part that the reading does not change is judged in all scenarios, as without it.
    """
    results = []
    view = outcome.only(reading.scenarios)
    own = functions if reading.scenarios == outcome.within else all_functions(view)
    asked = {(part.measure, part.cells) for part in claim.parts}
    for part in reading.parts:
        with suppress(OutsideError, LeftOutError):
            changed = (part.measure, part.cells) not in asked
            results.append(_judge(part, *((view, own) if changed else (outcome, functions)), used))
    return ReadingResult(reading.label, reading.fit, holm(results))


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
        measured: Estimate = estimate([float(holds[0])]) if same else share_of(holds, outcome.confidence)
    else:
        measured = estimate(values[:1] if same else values, outcome.confidence, range_of_part(part, *known))
    judged = judge_part(measured, part.judged, part.kind, part.direction)
    judged = judged.by_fit() if part.fitted_by else judged
    sure = cannot_fail(part, *known)
    unit = _unit(part, outcome.experiment)
    return PartResult(part, measured, published, judged, same, sure, unit, tuple(map(float, values)))


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
