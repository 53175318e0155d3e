"""Evaluations: experiments with clauses, run for a subject, and the verdict on each clause."""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sojourn.core import files
from sojourn.core.errors import UserError
from sojourn.core.stats import CONFIDENCE, Estimate, paired
from sojourn.core.text_format import counted
from sojourn.experiments.catalog import find_experiments
from sojourn.experiments.clauses import claim_id
from sojourn.experiments.environment import environment
from sojourn.experiments.families import Choice
from sojourn.experiments.model import SUBJECT, Experiment
from sojourn.experiments.outcome import ClaimResult, Outcome
from sojourn.experiments.own_queues import possible
from sojourn.experiments.schema.clauses import ClauseFile, Level
from sojourn.experiments.subject import with_varied
from sojourn.experiments.verdict import Target, Verdict

FILE = "evaluation.json"
"""The name of the file with verdicts and values in the folder of a report."""
LEVELS: tuple[Level, ...] = ("must", "should", "may")
"""The levels from the strongest to the weakest."""


class Passed(enum.Enum):
    """The result for a clause."""

    PASSES = "passes"
    FAILS = "fails"
    UNDECIDED = "undecided"
    NOT_DECIDABLE = "not decidable here"
    NOT_RUN = "not run"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class ClauseResult:
    """A clause with the results for its requirements."""

    name: str
    clause: ClauseFile
    results: list[ClaimResult]
    reason: str = ""
    """Why the subject cannot be decided; empty if its clause is decided or not run."""
    not_run: str = ""
    """Why a run of it is impossible or failed; "" if all requested ones have results."""

    @property
    def passed(self) -> Passed:
        """Passes if every requirement holds; fails if one does not.

        Requirements that `--quick` leaves out do not count.
        """
        verdicts = {each.verdict for each in self.results}
        if self.clause.undecidable or (self.reason and Verdict.NOT_REPRODUCED not in verdicts):
            return Passed.NOT_DECIDABLE
        failed = bool(self.not_run) and len(self.results) < len(self.clause.requires)
        if not self.results or (failed and Verdict.NOT_REPRODUCED not in verdicts):
            return Passed.NOT_RUN
        if verdicts & {Verdict.NOT_REPRODUCED, Verdict.IN_DIRECTION}:
            return Passed.FAILS
        return Passed.UNDECIDED if Verdict.UNDECIDED in verdicts else Passed.PASSES

    @property
    def why(self) -> str:
        """The reason of the verdict in a few words.

        It is the first part that does not hold, or the number of parts that hold.
        """
        if self.passed is Passed.NOT_DECIDABLE:
            return self.clause.undecidable or self.reason
        if self.passed is Passed.NOT_RUN:
            return self.not_run
        parts = [part for each in self.results for part in each.parts]
        open_parts = [part for part in parts if not part.verdict.holds]
        if not open_parts:
            return f"{len(parts)} of {counted(len(parts), 'measure')} in range" if parts else ""
        first = max(open_parts, key=lambda part: part.verdict is Verdict.NOT_REPRODUCED)
        others = f"; {counted(len(open_parts) - 1, 'more measure')} not in range" if len(open_parts) > 1 else ""
        return f"{first.name}: {first.measured_with_unit}, expected {first.target_text}{others}"


def evaluations() -> list[Experiment]:
    """The studies that have clauses."""
    return [each for each in find_experiments("studies") if each.clauses]


def with_subject(
    experiment: Experiment, label: str, table: Mapping[str, Any], laws: Collection[str] = (), host: str = ""
) -> Experiment:
    """The evaluation of a subject: a table as in a scenario, such as `{"cc": "bbr3"}`.

    With `host` it is a transport of others, such as `quinn`. `laws` are the names of laws in Python. Raises `UserError`
    for an experiment without clauses or without a place for a subject.
    """
    if not experiment.clauses or SUBJECT not in experiment.queues:
        raise UserError.expected(str(experiment.main), f"clauses, and queues.{SUBJECT}", "an experiment without them")
    given = experiment.queues[SUBJECT]
    chosen = Choice(SUBJECT, label, given.title, dict(table), given.values, host=host)
    changed = replace(experiment, queues=experiment.queues | {SUBJECT: chosen})
    return with_varied(replace(changed, grids=possible(changed, changed.grids, [SUBJECT], laws)))


def clause_results(outcome: Outcome) -> list[ClauseResult]:
    """Every clause of an outcome with the results for its requirements; none without a subject."""
    if not outcome.experiment.subject:
        return []
    by_id = {each.claim.id: each for each in outcome.results}
    found = []
    for name, clause in outcome.experiment.clauses.items():
        prefix = claim_id(name, "")
        results = [by_id[each] for each in by_id if each.startswith(prefix)]
        reasons = [outcome.undecidable[each] for each in outcome.undecidable if each.startswith(prefix)]
        grid = outcome.experiment.grids.get(name)
        failed = outcome.why_not(grid.every()) if grid else ""
        found.append(ClauseResult(name, clause, results, reasons[0] if reasons else "", failed))
    return found


def nothing_of_subject(outcome: Outcome) -> str:
    """Why no run of the subject succeeded; "" if one did."""
    own = [case for grid in outcome.experiment.grids.values() for case in grid.cases() if case.queue == SUBJECT]
    if any(case in outcome.records for case in own):
        return ""
    return outcome.why_not(own)


def unmet(found: Sequence[ClauseResult], level: Level) -> list[ClauseResult]:
    """The clauses of a level or a stronger one that do not pass.

    Those that no run can decide do not count.
    """
    asked: Collection[Level] = LEVELS[: LEVELS.index(level) + 1]
    fine = (Passed.PASSES, Passed.NOT_DECIDABLE)
    return [each for each in found if each.clause.level in asked and each.passed not in fine]


def evaluation(outcome: Outcome, clauses: Sequence[ClauseResult]) -> dict[str, Any]:
    """The verdicts and values of these clauses, for programs and as a baseline."""
    experiment = outcome.experiment
    return {
        "evaluation": experiment.id,
        "subject": experiment.queues[SUBJECT].label,
        "parameters": experiment.queues[SUBJECT].table or {"host": experiment.queues[SUBJECT].host},
        "quick": outcome.quick,
        "seeds": outcome.seeds,
        "clauses": [_entry(each) for each in clauses],
        "machine": environment(),
    }


def _entry(found: ClauseResult) -> dict[str, Any]:
    """A clause as JSON."""
    clause = found.clause
    entry: dict[str, Any] = {
        "name": found.name,
        "where": clause.where,
        "title": clause.title,
        "level": clause.level,
        "verdict": str(found.passed),
    }
    if found.passed is Passed.NOT_DECIDABLE:
        entry["reason"] = found.why
    if found.not_run:
        entry["not_run"] = found.not_run
    return entry | {"requirements": [_requirement(each) for each in found.results]}


def _requirement(result: ClaimResult) -> dict[str, Any]:
    """The result for a requirement as JSON."""
    parts = [
        {
            "measure": part.part.measure,
            "label": part.part.label,
            "target": part.target_text,
            "low": _finite(part.part.judged.low),
            "high": _finite(part.part.judged.high),
            "unit": part.unit,
            "mean": _finite(part.measured.mean),
            "half": _finite(part.measured.half),
            "values": [_finite(value) for value in part.values],
            "verdict": str(part.verdict),
        }
        for part in result.parts
    ]
    return {"id": result.claim.id, "text": result.claim.text, "verdict": str(result.verdict), "parts": parts}


def _finite(value: float) -> float | None:
    """A number for JSON, which has neither NaN nor infinity."""
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class Change:
    """The change of a part against a baseline, if its interval excludes 0."""

    clause: str
    measure: str
    before: float
    after: float
    difference: Estimate
    unit: str
    better: bool | None
    """Whether the value moved into its target.

    `None` if it stays in a target with two sides.
    """


def read_evaluation(path: Path) -> dict[str, Any]:
    """The content of an `evaluation.json`. Raises `UserError` for another file."""
    try:
        found = json.loads(files.disk.read(path))
        for clause in found["clauses"]:
            str(clause["name"]), str(clause["verdict"])
            for requirement in clause.get("requirements", []):
                for part in requirement["parts"]:
                    str(part["measure"]), list(part["values"])
        str(found["evaluation"]), str(found["subject"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise UserError.expected(str(path), f"the {FILE} of an evaluation", "another file") from None
    return dict(found)


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """The parts that differ significantly between two evaluations, in the order of the clauses.

    Parts are compared over the seeds that both have. The intervals hold jointly with 95 % (Bonferroni). Raises
    `UserError` for another evaluation, or without a common seed.
    """
    if before["evaluation"] != after["evaluation"] or before.get("quick") != after.get("quick"):
        asked = f"{after['evaluation']}{' with --quick' if after['quick'] else ''}"
        raise UserError.expected("--baseline", asked, f"{before['evaluation']} with other options")
    seeds = [seed for seed in after["seeds"] if seed in before["seeds"]]
    if not seeds:
        raise UserError.expected("--baseline", f"one of the seeds {after['seeds']}", str(before["seeds"]))
    old = {(clause, part["measure"]): part for clause, part in _parts(before)}
    both = [
        (clause, old[clause, part["measure"]], part)
        for clause, part in _parts(after)
        if (clause, part["measure"]) in old
    ]
    confidence = 1 - (1 - CONFIDENCE) / max(1, len(both))
    found = []
    for clause, was, part in both:
        values = [_of_seeds(was, before["seeds"], seeds), _of_seeds(part, after["seeds"], seeds)]
        found.append(_change(clause, part, *values, confidence=confidence))
    return [each for each in found if each is not None]


def _parts(evaluated: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The parts of an evaluation with the names of their clauses."""
    return [
        (clause["name"], part)
        for clause in evaluated["clauses"]
        for requirement in clause.get("requirements", [])
        for part in requirement["parts"]
    ]


def _of_seeds(part: Mapping[str, Any], seeds: Sequence[int], asked: Sequence[int]) -> list[float | None]:
    """The values of a part for some seeds; a share of cells has one value for all."""
    if len(part["values"]) == 1:
        return list(part["values"])
    return [value for seed, value in zip(seeds, part["values"], strict=False) if seed in asked]


def _change(
    clause: str, part: Mapping[str, Any], old: list[float | None], new: list[float | None], *, confidence: float
) -> Change | None:
    """The change of a part; `None` if its interval contains 0 or a value is missing."""
    pairs = [(a, b) for a, b in zip(old, new, strict=False) if a is not None and b is not None]
    if len(pairs) < max(len(old), len(new)):
        return None
    difference = paired([b for _, b in pairs], [a for a, _ in pairs], confidence)
    if difference.mean == 0.0 or abs(difference.mean) <= difference.half:
        return None
    target = Target(_side(part["low"], -math.inf), _side(part["high"], math.inf))
    means = [math.fsum(values) / len(values) for values in zip(*pairs, strict=True)]
    away = [_distance(target, mean) for mean in means]
    better = None if away[0] == away[1] else away[1] < away[0]
    return Change(clause, part["measure"], means[0], means[1], difference, part["unit"], better)


def _side(value: float | None, default: float) -> float:
    """An edge of a target from JSON."""
    return default if value is None else value


def _distance(target: Target, value: float) -> float:
    """The distance from a target; for a target with one side it is negative inside."""
    if math.isinf(target.low):
        return value - target.high
    if math.isinf(target.high):
        return target.low - value
    return max(0.0, target.low - value, value - target.high)
