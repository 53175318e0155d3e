"""Measured values as JSON, and comparisons with the values of an earlier file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sojourn.compare.comparison import Comparison, estimated
from sojourn.core import field_paths, measure_paths
from sojourn.core.errors import UserError
from sojourn.core.record import Record
from sojourn.core.record_schema import Measure
from sojourn.core.scenario import Scenario, tables_of
from sojourn.core.scenario_files import read_text
from sojourn.core.stats import CONFIDENCE, Estimate, estimate, paired

Values = Mapping[str, Sequence[float]]
"""One value per seed, by the path of the measure."""


def measures_in(scenario: Scenario) -> list[str]:
    """The paths of all measures that a run of a scenario may have."""
    links = [str(link["name"]) for link in scenario.resolved()["links"]]
    return measure_paths.measures_of(links, [str(field_paths.name_of(flow)) for flow in tables_of(scenario, "flows")])


def measured(
    scenario: str, seeds: Sequence[int], records: Mapping[str, Sequence[Record]], measures: Sequence[Measure]
) -> dict[str, Any]:
    """The values of each case and measure with their means and intervals, for a JSON file."""
    cases = {case: {each.path: _measured(found, each) for each in measures} for case, found in records.items()}
    return {"scenario": scenario, "seeds": list(seeds), "cases": cases}


def _measured(records: Sequence[Record], measure: Measure) -> dict[str, Any]:
    """One measure of a case. A missing value is null."""
    one = estimated(records, measure)
    about = {"label": measure.label, "unit": measure.unit, "better": measure.better}
    numbers = {"mean": one.mean, "low": one.low, "high": one.high}
    values = [measure.of(record) for record in records]
    known = {key: value if math.isfinite(value) else None for key, value in numbers.items()}
    return about | known | {"values": [value if math.isfinite(value) else None for value in values]}


@dataclass(frozen=True)
class Baseline:
    """The values of an earlier file that `compare --json` or `gate` wrote."""

    file: str
    seeds: list[int]
    cases: Mapping[str, Values]
    setup: Mapping[str, Any] | None = None
    """The fields of the case that `gate` measured."""

    def of(self, case: str, path: str, seeds: Sequence[int]) -> list[float]:
        """The values of a measure. If the file has a single case, its name does not matter.

        Raises `UserError` if the file lacks the case, the measure or the seeds.
        """
        found = next(iter(self.cases.values())) if len(self.cases) == 1 else self.cases.get(case)
        if found is None:
            raise UserError.unknown(f"{self.file}: case", case, self.cases)
        if path not in found:
            raise UserError.unknown(f"{self.file}: measure", path, found)
        if self.seeds != list(seeds):
            raise UserError(f"{self.file}: expected values of the seeds {_range(seeds)}, got {_range(self.seeds)}")
        return list(found[path])


def _range(seeds: Sequence[int]) -> str:
    return f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else ", ".join(map(str, seeds))


def read_baseline(path: Path) -> Baseline:
    """Reads a file that `measured` describes. Raises `UserError` for another file."""
    text = read_text(path, "baseline")
    try:
        read = json.loads(text)
        cases = {
            str(case): {str(at): [_number(value) for value in one["values"]] for at, one in found.items()}
            for case, found in read["cases"].items()
        }
        seeds = [int(seed) for seed in read["seeds"]]
        if not cases or any(len(each) != len(seeds) for found in cases.values() for each in found.values()):
            raise ValueError
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise UserError(f"{path}: expected what `sojourn compare --json` or `sojourn gate --save` writes") from None
    setup = read.get("setup")
    return Baseline(str(path), seeds, cases, setup if isinstance(setup, dict) else None)


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def widened(found: Estimate, measure: Measure, *means: float) -> Estimate:
    """The estimate with an interval that also covers the error of a histogram's quantiles."""
    off = measure.error * sum(map(abs, means))
    return replace(found, half=off + (0.0 if math.isnan(found.half) else found.half)) if off else found


@dataclass(frozen=True)
class Change:
    """A measure of a case before and now.

    `word` is `better`, `worse`, `changed`, or "" if 0 is in the interval.
    """

    case: str
    measure: Measure
    before: Estimate
    now: Estimate
    difference: Estimate
    word: str

    def row(self) -> dict[str, Any]:
        """The change as a row of a table."""
        ends = {"difference": self.difference.mean, "low": self.difference.low, "high": self.difference.high}
        return {"case": self.case, "measure": self.measure.path, "unit": self.measure.unit, **ends, "is": self.word}


def changes(found: Comparison, old: Baseline) -> list[Change]:
    """How each measure differs from the baseline, paired by seed.

    The intervals hold jointly with 95 % (Bonferroni). Cases and measures that the baseline lacks are left out.
    """
    one_case = len(old.cases) == len(found.records) == 1
    pairs = [
        (case, measure)
        for case in found.records
        if case in old.cases or one_case
        for measure in found.measures
        if measure.path in (next(iter(old.cases.values())) if one_case else old.cases[case])
    ]
    if not pairs:
        names = ", ".join(old.cases)
        raise UserError(f"{old.file}: expected one of the cases {', '.join(found.records)}, got {names}")
    confidence = 1 - (1 - CONFIDENCE) / len(pairs)
    return [_change(found, old, case, measure, confidence) for case, measure in pairs]


def _change(found: Comparison, old: Baseline, case: str, measure: Measure, confidence: float) -> Change:
    """The change of one measure of one case."""
    before, now = old.of(case, measure.path, found.seeds), found.values(case, measure)
    means = [estimate(each, within=measure.range) for each in (before, now)]
    apart = widened(paired(now, before, confidence, measure.range), measure, *(each.mean for each in means))
    if before == now or not (apart.low > 0 or apart.high < 0):
        word = ""
    elif not measure.better:
        word = "changed"
    else:
        word = "better" if (apart.mean > 0) == (measure.better == "higher") else "worse"
    return Change(case, measure, means[0], means[1], apart, word)
