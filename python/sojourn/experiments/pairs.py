"""Pairs of queues compared seed by seed: better and worse cells, and the verdict."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from sojourn.core.stats import Estimate, paired
from sojourn.experiments.bounds import range_of
from sojourn.experiments.model import Case, Grid
from sojourn.experiments.outcome import Outcome
from sojourn.experiments.schema.experiment import Measure

CHANCE = 0.05
"""The error rate of a 95 % interval."""


@dataclass(frozen=True)
class Compared:
    """One queue against another in one measure.

    The counts are cells in which it is significantly better or worse.
    """

    better: int
    worse: int
    cells: int
    advantage: float
    """The mean over the cells, in the unit of the measure: above 0 if the first is better."""

    @property
    def verdict(self) -> str:
        """Better if the first wins in more cells than chance explains, and the other in no more."""
        more, less = (count > CHANCE * self.cells for count in (self.better, self.worse))
        return ("depends" if less else "better") if more else "worse" if less else "no difference"


@dataclass(frozen=True)
class PairRow:
    """Two queues, or two queues in some of the cells, in every measure."""

    label: str
    found: list[Compared]

    @property
    def lines(self) -> str:
        """Over all measures: better and worse."""
        return f"{sum(each.better for each in self.found)} / {sum(each.worse for each in self.found)}"


@dataclass(frozen=True)
class PairTable:
    """The pairs of a grid; with one pair also by value of the scenarios' family."""

    measures: list[str]
    rows: list[PairRow]
    cells: int

    def table(self) -> pd.DataFrame:
        """One row for each pair and measure."""
        return pd.DataFrame(
            [
                {
                    "pair": row.label,
                    "measure": measure,
                    "better": each.better,
                    "worse": each.worse,
                    "cells": each.cells,
                    "advantage": each.advantage,
                    "verdict": each.verdict,
                }
                for row in self.rows
                for measure, each in zip(self.measures, row.found, strict=True)
            ]
        )


def advantage(outcome: Outcome, measure: Measure, one: Case, other: Case) -> Estimate:
    """How much better one case is than another with the same seeds: above 0 if it is better."""
    never = np.nan if measure.never is None else measure.never
    found = [outcome.shown(case, measure.id) for case in (one, other)]
    own, reference = (np.where(np.isnan(values), never, values) for values in found)
    if measure.better == "less":
        own, reference = reference, own
    return paired(own, reference, within=range_of(measure))


def is_better(outcome: Outcome, measure: Measure, one: Case, other: Case) -> bool:
    """Whether one case is better: the interval of the paired difference is above 0.

    The difference must also be larger than the measure's `least`.
    """
    found = advantage(outcome, measure, one, other)
    return found.n > 1 and found.mean > measure.least and found.low > 0


def best_of(outcome: Outcome, measure: Measure, cases: Sequence[Case]) -> set[Case]:
    """The cases that are significantly better than every other; ties are the best together.

    Empty if they are all cases, or if one of the others may be as good.
    """
    best = {one for one in cases if not any(is_better(outcome, measure, other, one) for other in cases)}
    others = [case for case in cases if case not in best]
    clear = all(is_better(outcome, measure, one, other) for one in best for other in others)
    return best if others and clear else set()


def pair_table(outcome: Outcome, grid: Grid) -> PairTable | None:
    """All pairs of a grid's queues; None if the grid asks for none."""
    measures = [outcome.experiment.measures[name] for name in grid.measures]
    measures = [each for each in measures if each.better]
    if not grid.pairs or not measures:
        return None
    pairs = list(itertools.combinations(grid.queues, 2))
    rows = []
    for pair in pairs:
        label = " against ".join(outcome.experiment.queues[queue].label for queue in pair)
        levels = _levels(outcome, grid) if len(pairs) == 1 else []
        for level, names in [(label, grid.scenarios), *levels]:
            cells = [[Case(name, queue, setting) for queue in pair] for name in names for setting in grid.settings]
            rows.append(PairRow(level, [_compared(outcome, measure, cells) for measure in measures]))
    return PairTable([each.title for each in measures], rows, len(grid.scenarios) * len(grid.settings))


def _compared(outcome: Outcome, measure: Measure, cells: list[list[Case]]) -> Compared:
    """One measure of a pair."""
    return Compared(
        sum(is_better(outcome, measure, *cell) for cell in cells),
        sum(is_better(outcome, measure, *cell[::-1]) for cell in cells),
        len(cells),
        float(np.mean([advantage(outcome, measure, *cell).mean for cell in cells])),
    )


def _levels(outcome: Outcome, grid: Grid) -> list[tuple[str, list[str]]]:
    """Every value of the scenarios' family, with the scenarios that have it."""
    values = {name: outcome.experiment.scenarios[name].values for name in grid.scenarios}
    found: dict[tuple[str, str], list[str]] = {}
    for axis in dict.fromkeys(key for each in values.values() for key in each):
        for name, each in values.items():
            found.setdefault((axis, each[axis]), []).append(name)
    return [(f"{axis} {value}", names) for (axis, value), names in found.items()]
