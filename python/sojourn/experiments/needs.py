"""The runs that a claim needs, found without running any, and claims on omitted grids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from sojourn.core.errors import UserError
from sojourn.experiments.claims import Claim, Part
from sojourn.experiments.expression import UndecidableError, Value
from sojourn.experiments.functions import all_functions, curve_functions, family_functions
from sojourn.experiments.judging import in_claim, part_value
from sojourn.experiments.model import Case, Experiment, Grid
from sojourn.experiments.outcome import Array, Outcome, OutsideError
from sojourn.experiments.subject import subject_functions


class _Names(Outcome):
    """An outcome in which every measure of every case is 1 for each of its seeds.

    It records which cases and measures are used.
    """

    def values(self, case: Case, measure: str) -> Array:
        self.check_within(case)
        self._taken.add(case)
        ones = np.ones(self.experiment.seeds.get(case, 1))
        self._values[case, measure] = ones
        if formula := self.experiment.measure(case.scenario, measure).formula:
            self.computed(case, formula)
        return ones

    def theory(self, case: Case, _compute: Callable[[], float], /) -> float:
        self._taken.add(case)
        return 1.0


def cases_of(experiment: Experiment, claim: Claim) -> frozenset[Case]:
    """The cases in which a claim is measured, under every reading.

    Empty for a claim about formulas alone. Raises `UserError` for an unknown measure.
    """
    return _asked(experiment, claim)[0]


def measures_of_claim(experiment: Experiment, claim: Claim) -> list[tuple[str, str]]:
    """The scenarios and measures of a claim, under every reading. Raises as `cases_of` does."""
    return [(case.scenario, measure) for case, measure in _asked(experiment, claim)[1]]


def _asked(experiment: Experiment, claim: Claim) -> tuple[frozenset[Case], list[tuple[Case, str]]]:
    """The cases of a claim, and the measures that it takes from them."""
    names = _Names(experiment, [], [1], {})
    with in_claim(experiment, claim):
        found = _cases(claim.parts, names)
        for each in claim.readings:
            parts = _cases(each.parts, names.only(each.scenarios))
            if not parts:
                raise UserError.expected(
                    "readings.scenarios", "a pattern that fits all scenarios of some part", each.scenarios
                )
            found += parts
    return frozenset().union(*found), list(names._values)


def _cases(parts: Iterable[Part], names: _Names) -> list[frozenset[Case]]:
    """The cases of each part, without parts about excluded scenarios."""
    own = (family_functions, curve_functions, subject_functions)
    functions = dict.fromkeys(all_functions(names), _one) | {k: f for each in own for k, f in each(names).items()}
    found = []
    for part in parts:
        with suppress(OutsideError, UndecidableError):
            part_value(part, names, functions)
            found.append(names.taken())
        names.taken()
    return found


def _one(*_: Value) -> Value:
    """The value of a formula, which needs no run."""
    return 1.0


def covering(cases: frozenset[Case], grids: Sequence[Grid]) -> list[Grid]:
    """The grids that cover some cases.

    It is the first one that has all of them, else each that adds some to those before.
    """
    whole = [each for each in grids if cases and cases <= set(each.cases())]
    rest, found = set(cases), []
    for each in whole[:1] or grids:
        if not rest.isdisjoint(each.cases()):
            found.append(each)
            rest -= set(each.cases())
    return found


@dataclass(frozen=True)
class LeftOut:
    """An optional grid that a whole rerun did not run."""

    grid: Grid
    command: str
    """The command that runs it."""
    claims: list[Claim]
    """The claims that were not judged without it."""


def left_out(outcome: Outcome) -> list[LeftOut]:
    """The optional grids that a whole rerun skipped; empty for a partial rerun."""
    if outcome.part:
        return []
    ran = {each.id for each in outcome.grids}
    left = [each for each in outcome.experiment.grids.values() if each.optional and each.id not in ran]
    homes = [
        (claim, covering(cases_of(outcome.experiment, claim) - outcome.records.keys(), left))
        for claim in outcome.skipped
    ]
    return [
        LeftOut(
            each,
            f"sojourn reproduce {outcome.experiment.id} {each.id}",
            [claim for claim, grids in homes if each in grids],
        )
        for each in left
    ]
