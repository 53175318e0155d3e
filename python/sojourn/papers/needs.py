"""Which runs a claim needs, found without running any."""

from __future__ import annotations

import numpy as np

from sojourn.papers.claims import Claim
from sojourn.papers.expression import Value
from sojourn.papers.functions import all_functions, curve_functions, family_functions
from sojourn.papers.model import Case, Paper
from sojourn.papers.outcome import Array, Outcome
from sojourn.papers.reproduce import part_value


class _Names(Outcome):
    """An outcome in which every measure of every case is 1: it only notes which cases are asked for."""

    def values(self, case: Case, measure: str) -> Array:
        self.paper.measure(case.scenario, measure)
        self._taken.add(case)
        return np.ones(1)


def cases_of(paper: Paper, claim: Claim) -> frozenset[Case]:
    """The cases that a claim is measured in, under every reading; none for a claim about formulas alone.

    Raises `UserError` for a measure that means nothing.
    """
    names = _Names(paper, [], [1], {})
    functions = {**dict.fromkeys(all_functions(names), _one), **family_functions(names), **curve_functions(names)}
    for parts in (claim.parts, *(each.parts for each in claim.readings)):
        for part in parts:
            part_value(part, names, functions)
    return names.taken()


def _one(*_: Value) -> Value:
    """What stands for a formula, which needs no run."""
    return 1.0
