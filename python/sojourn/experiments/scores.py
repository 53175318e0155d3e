"""The score card: the number of scenarios in which each queue meets some targets.

Targets are relative to the reference queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from sojourn.experiments.model import Case, Grid
from sojourn.experiments.outcome import Outcome
from sojourn.experiments.schema.experiment import Score
from sojourn.experiments.verdict import parse_target


@dataclass(frozen=True)
class ScoreRow:
    """A queue with the number of scenarios in which each score holds, and the total."""

    queue: str
    counts: list[int]
    of: int

    @property
    def texts(self) -> list[str]:
        """The counts as printed."""
        return [f"{count} of {self.of}" for count in self.counts]


@dataclass(frozen=True)
class ScoreCard:
    """The counts of all queues against the reference."""

    reference: str
    scores: list[str]
    rows: list[ScoreRow]
    uncounted: list[Grid]
    """The grids that were run without the measures of all scores."""

    def table(self) -> pd.DataFrame:
        """One row for each queue."""
        rows = [dict(zip(self.scores, row.counts, strict=True)) for row in self.rows]
        return pd.DataFrame(
            [{"queue": row.queue, **counts, "of": row.of} for row, counts in zip(self.rows, rows, strict=True)]
        )


def score_card(outcome: Outcome) -> ScoreCard | None:
    """The score card of an outcome.

    None if its experiment has none, or no grid with its measures was run.
    """
    experiment = outcome.experiment
    scores, reference = experiment.file.scores, experiment.file.reference_queue
    needed = {measure for each in scores.values() for measure in each.holds}
    grids = [each for each in outcome.grids if needed <= set(each.measures or experiment.measures)]
    if not scores or not grids:
        return None
    queues = dict.fromkeys(queue for each in grids for queue in each.queues if queue != reference)
    return ScoreCard(
        experiment.queues[reference].label,
        [each.label for each in scores.values()],
        [_row(outcome, grids, queue) for queue in queues],
        [each for each in outcome.grids if each not in grids and each.cases()],
    )


def _row(outcome: Outcome, grids: Sequence[Grid], queue: str) -> ScoreRow:
    """One queue over the cases that both have."""
    experiment = outcome.experiment
    cases = [case for grid in grids for case in grid.cases() if case.queue == queue]
    pairs = [(case, case.other([experiment.file.reference_queue], experiment)) for case in cases]
    pairs = [pair for pair in pairs if pair[1] in outcome.records]
    counts = [sum(_holds(outcome, score, *pair) for pair in pairs) for score in experiment.file.scores.values()]
    return ScoreRow(experiment.queues[queue].label, counts, len(pairs))


def _holds(outcome: Outcome, score: Score, own: Case, reference: Case) -> bool:
    """Whether a case meets all targets of a score.

    Targets are for means divided by those of the reference.
    """
    return all(
        float(np.mean(outcome.shown(own, measure)) / np.mean(outcome.shown(reference, measure))) in parse_target(target)
        for measure, target in score.holds.items()
    )
