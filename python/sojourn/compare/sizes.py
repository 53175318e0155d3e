"""Completion times by size of transfer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sojourn.compare.comparison import Comparison
from sojourn.core.errors import UserError
from sojourn.core.quantities import base_quantity, quantity_text
from sojourn.core.ranges import Range
from sojourn.core.record import Record
from sojourn.core.scenario import Scenario
from sojourn.core.stats import Estimate, estimate

Times: TypeAlias = npt.NDArray[np.float64]
COMPLETIONS = "completions/"
STATISTICS = {"median": 0.5, "p90": 0.9, "p99": 0.99}
"""The quantiles of completion times, by name."""


@dataclass(frozen=True)
class SizeClass:
    """Transfers of more than `above` and at most `most` bytes of payload."""

    above: float
    most: float

    @property
    def label(self) -> str:
        """The class in words: `up to 10 kB`, `10 kB to 1 MB`, `above 1 MB`."""
        if self.above == 0.0:
            return f"up to {quantity_text(self.most, 'B')}"
        low = quantity_text(self.above, "B")
        return f"above {low}" if np.isinf(self.most) else f"{low} to {quantity_text(self.most, 'B')}"


def size_classes(text: str) -> list[SizeClass]:
    """The classes between ascending sizes such as `10 kB,1 MB`.

    Raises `UserError` for other texts.
    """
    found = [(each.strip(), base_quantity(each.strip())) for each in text.split(",")]
    wrong = next((each for each, size in found if size is None or size[1] != "B" or size[0] <= 0), None)
    sizes = [size[0] for _, size in found if size]
    if wrong is not None or sizes != sorted(set(sizes)):
        raise UserError.expected("--sizes", "ascending sizes such as '10 kB,1 MB'", text if wrong is None else wrong)
    return [SizeClass(*ends) for ends in zip([0.0, *sizes], [*sizes, np.inf], strict=True)]


def trace_completions(scenario: Scenario) -> None:
    """Traces every completed connection."""
    scenario.set("trace.completions", {"flows": ["*"]})


def groups(found: Comparison) -> list[str]:
    """The groups of flows with completed connections in some run."""
    records = [record for each in found.records.values() for record in each]
    names = dict.fromkeys(name for record in records for name in record.series if name.startswith(COMPLETIONS))
    return [name.removeprefix(COMPLETIONS) for name in names]


def times(record: Record, group: str, chosen: SizeClass) -> Times:
    """The completion times in seconds of a class after the warm-up; empty without any."""
    name = f"{COMPLETIONS}{group}"
    if name not in record.series:
        return np.array([])
    sizes = record.samples(name, "bytes")
    return record.samples(name)[(sizes > chosen.above) & (sizes <= chosen.most)]


def statistics(records: Sequence[Record], group: str, chosen: SizeClass) -> dict[str, Estimate]:
    """Transfers, mean and quantiles in seconds of a class.

    Each is the mean over the seeds with its interval.
    """
    every = [times(record, group, chosen) for record in records]
    counts = estimate([float(len(each)) for each in every], within=Range(0.0))
    some = [each for each in every if len(each)]
    found = {"transfers": counts, "mean": estimate([float(each.mean()) for each in some], within=Range(0.0))}
    for name, level in STATISTICS.items():
        found[name] = estimate([float(np.quantile(each, level)) for each in some], within=Range(0.0))
    return found


def by_class(found: Comparison, group: str, classes: Sequence[SizeClass]) -> dict[str, dict[str, Times]]:
    """The completion times of all seeds by class and case.

    Classes and cases without any are left out.
    """
    panels: dict[str, dict[str, Times]] = {}
    for each in classes:
        pooled = {case: np.concatenate([times(one, group, each) for one in of]) for case, of in found.records.items()}
        panels[each.label] = {case: samples for case, samples in pooled.items() if len(samples)}
    return {label: cases for label, cases in panels.items() if cases}
