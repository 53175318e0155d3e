"""The measures of one run: numbers of its record and its traces, and formulas of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from sojourn.core.errors import UserError
from sojourn.core.record import Record
from sojourn.experiments.braces import filled
from sojourn.experiments.expression import UnknownNameError, evaluate, fill
from sojourn.experiments.readings import Reading, Take
from sojourn.experiments.schema.experiment import Measure
from sojourn.experiments.verdict import parse_target

TAKEN = "measures"
"""The key of the measures in a record without traces."""


class RunMeasures(Mapping[str, Any]):
    """The values for braces in one run: those of its family and queue, and its measures.

    A measure is computed once. `measure` returns a measure by name; `takes` are those of `extra.py`.
    """

    def __init__(
        self,
        record: Record,
        values: Mapping[str, str],
        measure: Callable[[str], Measure | None],
        takes: Callable[[], Mapping[str, Take]],
    ) -> None:
        self._record, self._values, self._measure, self._takes = record, values, measure, takes
        self.found: dict[str, float] = dict(record.get(TAKEN, {}))
        """The computed measures."""

    def __getitem__(self, name: str) -> Any:
        if name in self._values:
            return self._values[name]
        measure = self._measure(name)
        if measure is None:
            raise KeyError(name)
        if name not in self.found:
            self.found[name] = self._computed(measure)
        return self.found[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*self._values, *self.found))

    def __len__(self) -> int:
        return len(self._values) + len(self.found)

    def value(self, name: str) -> float:
        """The number of a measure; NaN if the run has none."""
        return float(self[name])

    def _computed(self, measure: Measure) -> float:
        if measure.formula:
            return float(evaluate(fill(measure.formula, self._values), self._lookup))
        if measure.outside:
            return float(sum(self._misses(name) for name in measure.outside))
        if measure.series:
            return self._read(measure)
        if measure.share_of:
            parts = [float(self._record.value(path) or 0.0) for path in measure.share_of]
            return parts[0] / sum(parts) * measure.scale if sum(parts) else math.nan
        values = [self._record.value(each.strip()) for each in measure.path.split(" + ")]
        return math.nan if None in values else sum(float(value) for value in values) * measure.scale

    def _lookup(self, path: tuple[str, ...]) -> float:
        """A name of a formula; a dotted one is a measure of another run."""
        if len(path) != 1 or path[0] not in self:
            raise UnknownNameError(".".join(path))
        return self.value(path[0])

    def _misses(self, name: str) -> bool:
        """Whether a measure with a value misses its target."""
        measure, value = self._measure(name), self.value(name)
        if measure is None or math.isnan(value):
            return False
        return value not in parse_target(filled(measure.holds, self._values))

    def _read(self, measure: Measure) -> float:
        """A measure of traces."""
        if TAKEN in self._record:
            what = "one of the measures of its grid, because keep_traces is false"
            raise UserError(f"{measure.id}: expected {what}, got another")
        reading = reading_of(measure, self)
        if measure.after and reading.between is not None:
            event = self.value(measure.after)
            if not math.isfinite(event):
                return math.nan
            reading = replace(reading, between=(event + reading.between[0], event + reading.between[1]))
        try:
            return reading.of(self._record, measure.scale, self._takes())
        except UserError as error:
            raise UserError(f"{measure.id}.{error}") from None


def reading_of(measure: Measure, values: Mapping[str, Any] | None = None) -> Reading:
    """The reading of a measure of a series, with these values in its braces."""
    known = {} if values is None else values
    keys = ("series", "take", "event", "nth", "span", "bin", "share", "last", "ahead", "optional")
    between = measure.between and (float(filled(measure.between[0], known)), float(filled(measure.between[1], known)))
    return Reading(
        column=filled(measure.column, known),
        than=float(filled(measure.than, known)),
        at=float(filled(measure.at, known)),
        between=between,
        **{key: getattr(measure, key) for key in keys},
    )
