"""The results of an experiment: records, measures seed by seed, verdicts, and tables."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from sojourn.core.errors import UserError
from sojourn.core.record import Record
from sojourn.core.stats import CONFIDENCE, Estimate, estimate, interval_reach, paired
from sojourn.core.text_format import counted, elapsed, number
from sojourn.experiments.bounds import range_of
from sojourn.experiments.braces import filled
from sojourn.experiments.claims import Claim, Part
from sojourn.experiments.expression import UnknownNameError, evaluate, fill
from sojourn.experiments.model import Case, Experiment, Grid
from sojourn.experiments.schema.claims import Origin
from sojourn.experiments.schema.experiment import Measure
from sojourn.experiments.verdict import Judged, Verdict, combine, judge, over_readings, parse_target

if TYPE_CHECKING:
    import pandas as pd

Array = npt.NDArray[np.float64]


class OutsideError(UnknownNameError):
    """A scenario in which a reading is not measured."""


class LeftOutError(UnknownNameError):
    """A case that `--quick` leaves out."""


@dataclass(frozen=True)
class PartResult:
    """One part of a claim as measured."""

    part: Part
    measured: Estimate
    published: float | None
    judged: Judged
    same: bool = False
    """Whether all seeds had the same runs, so that they count as one."""
    sure: bool = False
    """Whether it cannot fail: the target has every possible value of the measure."""
    unit: str = ""
    """The unit of the measure; empty for a ratio."""
    values: tuple[float, ...] = ()
    """The value of each seed."""

    @property
    def verdict(self) -> Verdict:
        """The verdict on the part."""
        return self.judged.verdict

    @property
    def holds(self) -> bool:
        """Whether the mean meets the target, whatever its interval."""
        return self.measured.mean in self.part.judged

    @property
    def name(self) -> str:
        """The label of the part, or its measure."""
        return self.part.label or self.part.measure

    @property
    def measured_text(self) -> str:
        """The measured value with its interval; a value without randomness is marked."""
        return f"{self.measured} (deterministic: one run)" if self.same else str(self.measured)

    @property
    def target_text(self) -> str:
        """The target in the unit of the measure."""
        return self.part.target_in(self.unit)

    @property
    def measured_with_unit(self) -> str:
        """The measured value with its interval and unit."""
        share = self.part.cells or self.part.share_of_seeds
        unit = f" {self.unit}" if self.unit and not share else ""
        return f"{self.measured}{unit}{' (deterministic: one run)' if self.same else ''}"

    @property
    def published_holds(self) -> bool | None:
        """Whether the published values meet the target; `None` without them."""
        return None if self.published is None else self.published in self.part.target


def held(parts: Sequence[PartResult]) -> str:
    """The results of parts: `3 of 5 parts held, 1 undecided, 1 failed`."""
    count = [part.verdict for part in parts].count
    rest = [
        (count(Verdict.BY_FIT), "held by a fit"),
        (count(Verdict.IN_DIRECTION), "held in direction"),
        (count(Verdict.UNDECIDED), "undecided"),
        (count(Verdict.NOT_REPRODUCED), "failed"),
    ]
    first = f"{count(Verdict.REPRODUCED)} of {counted(len(parts), 'part')} held"
    return ", ".join([first, *(f"{number} {what}" for number, what in rest if number)])


@dataclass(frozen=True)
class ReadingResult:
    """A claim under one reading of an omission of the paper."""

    label: str
    fit: bool
    parts: list[PartResult]

    @property
    def verdict(self) -> Verdict:
        """The verdict under this reading."""
        return combine(part.judged for part in self.parts)

    @property
    def held(self) -> str:
        """The results of its parts."""
        return held(self.parts)


CHOSEN = "as chosen here"
"""The label of the reading under which all other results are computed."""


@dataclass(frozen=True)
class ClaimResult:
    """A claim with its computed verdict."""

    claim: Claim
    parts: list[PartResult]
    cases: frozenset[Case] = frozenset()
    """The cases of its measures."""
    others: tuple[ReadingResult, ...] = ()
    """The results under other readings of the paper."""

    @property
    def readings(self) -> tuple[ReadingResult, ...]:
        """Every reading, the chosen one first; empty for a claim with a single reading."""
        return (ReadingResult(CHOSEN, False, self.parts), *self.others) if self.others else ()

    @property
    def chosen(self) -> Verdict:
        """The verdict under the chosen reading alone."""
        return combine(part.judged for part in self.parts)

    @functools.cached_property
    def verdict(self) -> Verdict:
        """The verdict, over all readings."""
        return over_readings(self.chosen, [each.verdict for each in self.others])

    @property
    def held(self) -> str:
        """The results of its parts, or of its readings: `reproduced under 2 of 5 readings`."""
        if not self.others:
            return held(self.parts)
        verdicts = [each.verdict for each in self.readings]
        counts = [(verdict, verdicts.count(verdict)) for verdict in Verdict if verdict in verdicts]
        if not any(each.holds for each in verdicts):
            counts.insert(0, (Verdict.REPRODUCED, 0))
        first, *rest = [f"{verdict} under {count}" for verdict, count in counts]
        return ", ".join([f"{first} of {counted(len(verdicts), 'reading')}", *rest])


@dataclass(frozen=True)
class Effort:
    """The cost of the runs of a rerun."""

    seconds: float
    """Wall-clock time."""
    cpu_seconds: float
    """Processor time of all cores.

    It includes other work of the process meanwhile, such as writing the report of another paper.
    """
    runs: int
    """The number of distinct runs."""
    cached: int
    """The number of them in the cache."""

    def __str__(self) -> str:
        known = f", {self.cached:,} of them from the cache" if self.cached else ""
        return f"{elapsed(self.seconds)} ({elapsed(self.cpu_seconds)} of CPU time), {counted(self.runs, 'run')}{known}"


@dataclass
class Outcome:
    """The records of the grids that were run, and the verdicts."""

    experiment: Experiment
    grids: list[Grid]
    seeds: list[int]
    records: dict[Case, list[Record]]
    results: list[ClaimResult] = field(default_factory=list)
    skipped: list[Claim] = field(default_factory=list)
    """Claims whose cases were not run."""
    undecidable: dict[str, str] = field(default_factory=dict)
    """Why the subject lacks the value of a claim, by the claim's name."""
    shortened: list[str] = field(default_factory=list)
    """Reductions of the paper's rerun, a line for each; empty for a whole rerun."""
    quick: bool = False
    """Whether `--quick` reduced it."""
    looks: int = 1
    """How often claims are judged at most, with more seeds each time."""
    effort: Effort | None = None
    """The cost of the runs; `None` without runs."""
    mistakes: list[str] | None = None
    """Errors of claims and measures that only the runs could show; `None` if they are raised."""

    left_out: frozenset[Case] = frozenset()
    """The cases that `--quick` skipped."""
    not_run: Mapping[Case, str] = field(default_factory=dict)
    """The cases without records because a run is impossible or failed, and the reasons."""
    within: str = "*"
    """The scenarios whose values may be used, as a pattern."""
    _taken: set[Case] = field(default_factory=set)
    _values: dict[tuple[Case, str], Array] = field(default_factory=dict)
    """The values that were computed before."""

    @property
    def confidence(self) -> float:
        """The confidence of a part's interval: all looks together err as often as one at 95 %."""
        return 1 - (1 - CONFIDENCE) / self.looks

    @property
    def percent(self) -> str:
        """The confidence of a part's interval, such as `95 %`."""
        return f"{number(round(100 * self.confidence, 2))} %"

    @property
    def part(self) -> str:
        """The number of the paper's grids that were run; empty for all that are not optional."""
        every = self.experiment.grids.values()
        ran = {each.id for each in self.grids} | ({each.id for each in every} if self.left_out else set())
        if all(each.id in ran for each in every if not each.optional):
            return ""
        return f"{counted(len(self.grids), 'grid')} of {len(every)}"

    @property
    def caution(self) -> str:
        """The reductions in one sentence, for figures and the terminal; empty for a whole rerun."""
        return self._less(self.shortened)

    @property
    def headline(self) -> str:
        """The reductions for the head of the page, with the number of grids; empty if whole."""
        return self._less([*([self.part] if self.part else []), *self.shortened])

    @property
    def advice(self) -> str:
        """Why claims are undecided, in one line; empty if none is."""
        undecided = sum(result.verdict is Verdict.UNDECIDED for result in self.results)
        seeds = len(self.seeds)
        if not undecided or seeds < 2:
            return ""
        reach = number(float(f"{interval_reach(seeds, self.confidence):.2g}"))
        how = "--seeds, or a run without --quick" if self.quick else "--seeds"
        return (
            f"{counted(undecided, 'claim')} undecided: with {seeds} seeds, a {self.percent} interval is the mean "
            f"± {reach} standard deviations. More seeds narrow it: {how}."
        )

    def _less(self, said: list[str]) -> str:
        words = self.experiment.words
        how = "A quick look (--quick)" if self.quick else "A first look" if self.shortened else words.part
        return f"{how}, {words.whole}: {'; '.join(said)}." if said else ""

    def values(self, case: Case, measure: str) -> Array:
        """A measure of one case, one value for each seed."""
        self._need(case)
        if formula := self.experiment.measure(case.scenario, measure).formula:
            return self.computed(case, formula)
        if (case, measure) not in self._values:
            found = [self.experiment.value(case, measure, record) for record in self.records[case]]
            self._values[case, measure] = np.array(found)
        return self._values[case, measure].copy()

    def _need(self, case: Case) -> None:
        """Notes the use of a case. Raises `UnknownNameError` if it was not run."""
        self.check_within(case)
        if case not in self.records:
            raise (LeftOutError if case in self.left_out else UnknownNameError)(str(case))
        self._taken.add(case)

    def theory(self, case: Case, compute: Callable[[], float], /) -> float:
        """A number that is computed for a case without its records."""
        self._need(case)
        return compute()

    def computed(self, case: Case, formula: str) -> Array:
        """A formula of one case, one value for each seed.

        Names with dots are measures of other cases.
        """

        def lookup(path: tuple[str, ...]) -> Array:
            *place, name = path
            return self.values(case.other(place, self.experiment), name)[: len(self.records.get(case, [0]))]

        text = fill(formula, self.experiment.values_of(case))
        return np.asarray(evaluate(text, lookup), dtype=np.float64)

    def only(self, scenarios: str) -> Self:
        """The same outcome, restricted to the values of some scenarios."""
        return replace(self, within=scenarios)

    def check_within(self, case: Case) -> None:
        """Raises `OutsideError` for a scenario outside the restriction."""
        if not fnmatchcase(case.scenario, self.within):
            raise OutsideError(case.scenario)

    def why_not(self, cases: Iterable[Case]) -> str:
        """Why the first of some cases that was not run has no records; "" if all have them."""
        for case in cases:
            if reason := self.not_run.get(case):
                return reason if str(case) in reason else f"{case}: {reason}"
        return ""

    def taken(self) -> frozenset[Case]:
        """The cases whose measures were used since the last call."""
        found = frozenset(self._taken)
        self._taken.clear()
        return found

    def same(self, cases: Iterable[Case]) -> bool:
        """Whether all seeds had the same runs of these cases, without randomness."""
        prints = [[record.get("fingerprint") for record in self.records[case]] for case in cases]
        return all(len(each) > 1 and len(set(each)) == 1 for each in prints)

    def estimate(self, case: Case, measure: str) -> Estimate:
        """A measure of one case with its interval; without one if all seeds had the same run."""
        values, chosen = self.shown(case, measure), self.experiment.measure(case.scenario, measure)
        if chosen.never is not None and np.isfinite(values).any():
            values = values[np.isfinite(values)]
        within = range_of(chosen)
        return estimate(values[:1] if self.same([case]) else values, within=within)

    def shown(self, case: Case, measure: str) -> Array:
        """The values for a table; NaN without the needed runs, and for a measure with a mistake."""
        try:
            return self.values(case, measure)
        except UnknownNameError:
            pass
        except UserError as error:
            self.note_mistake(error)
        return np.full(len(self.records[case]), np.nan)

    def note_mistake(self, error: UserError) -> None:
        """Keeps an error until the report is written; raises it if none are kept."""
        if self.mistakes is None:
            raise error
        if str(error) not in self.mistakes:
            self.mistakes.append(str(error))

    def mean(self, case: Case, measure: str) -> float:
        """The mean of a measure over the seeds."""
        return float(np.mean(self.values(case, measure)))

    def replications(self, grid: Grid) -> int:
        """The seeds of a grid: those of its case with fewest seeds."""
        return min((len(self.records[case]) for case in grid.cases()), default=0)

    def grid(self, name: str) -> Grid:
        """A grid that was run."""
        return next(each for each in self.grids if each.id == name)

    def of_origin(self, origin: Origin) -> list[ClaimResult]:
        """The claims of one origin, such as the paper."""
        return [result for result in self.results if result.claim.origin == origin]

    def counts(self, origin: Origin = "paper") -> dict[Verdict, int]:
        """The number of claims with each verdict: the paper's own, or those of another origin."""
        return {verdict: sum(result.verdict is verdict for result in self.of_origin(origin)) for verdict in Verdict}

    def counts_text(self, origin: Origin, every: bool = False) -> str:
        """The number of claims of an origin with each verdict, in words."""
        return self.experiment.words.counts_text([each.verdict for each in self.of_origin(origin)], every)

    def fingerprint(self) -> str:
        """One digest over the fingerprints of all runs, sorted by case and seed."""
        prints = [
            (str(case), [r.get("fingerprint") for r in records]) for case, records in sorted(self.records.items())
        ]
        return hashlib.sha256(json.dumps(prints).encode()).hexdigest()[:16]

    def runs(self) -> pd.DataFrame:
        """One row for each run, with every measure of the grids."""
        import pandas as pd  # here: pandas takes half a second to load

        rows = []
        for case, records in self.records.items():
            columns = {name: self.shown(case, name) for name in self.measures_of(case)}
            for i, (seed, record) in enumerate(zip(self.seeds, records, strict=False)):
                row: dict[str, Any] = {"scenario": case.scenario, "queue": case.queue, "setting": case.setting}
                row |= {"seed": seed, "fingerprint": str(record.get("fingerprint"))}
                rows.append(row | {name: float(column[i]) for name, column in columns.items()})
        return pd.DataFrame(rows)

    def measures_of(self, case: Case) -> list[str]:
        """The measures of the grids for a case."""
        asking = [each for each in self.grids if case in each.cases()]
        names = [name for each in asking for name in each.measures or list(self.experiment.measures)]
        return list(dict.fromkeys(names))

    def cells(self, grid: Grid) -> pd.DataFrame:
        """One row for each case and measure: published and measured, and the claim's verdict."""
        import pandas as pd

        judged = {part.part.measure: part for result in self.results if result.claim.table for part in result.parts}
        rows = []
        for case in grid.cases():
            for name in grid.measures or list(self.experiment.measures):
                chosen, found = self.experiment.measure(case.scenario, name), self.estimate(case, name)
                cell = judged.get(f"{case}.{name}")
                rows.append(
                    {
                        "scenario": case.scenario,
                        "queue": case.queue,
                        "setting": case.setting,
                        "measure": name,
                        "unit": chosen.unit,
                        "decimals": chosen.decimals,
                        "published": self.experiment.published.get((case.scenario, case.queue, name), np.nan),
                        "reference": self.experiment.reference.get((case.scenario, case.queue, name), np.nan),
                        "tolerance": str(cell.part.tolerance) if cell else "",
                        "mean": found.mean,
                        "sd": found.sd,
                        "low": found.low,
                        "high": found.high,
                        "n": found.n,
                        "verdict": str(cell.verdict) if cell else self._meets(case, chosen, found),
                        "alike": self._alike(case, name),
                        "never": 0 if chosen.never is None else int(np.isnan(self.shown(case, name)).sum()),
                    }
                )
        return pd.DataFrame(rows)

    def _meets(self, case: Case, measure: Measure, found: Estimate) -> str:
        """The verdict on a measure with its own target; empty without a target or a value."""
        if not measure.holds or np.isnan(found.mean):
            return ""
        return str(judge(found, parse_target(filled(measure.holds, self.experiment.values_of(case)))))

    def _alike(self, case: Case, measure: str) -> bool:
        """Whether a measure may equal that of the reference queue.

        The interval of the paired differences then has 0.
        """
        queue = self.experiment.file.reference_queue
        other = replace(case, queue=queue)
        if case.queue == queue or other not in self.records or len(self.records[case]) < 2:
            return False
        found = paired(self.shown(case, measure), self.shown(other, measure))
        return found.low <= 0 <= found.high

    def claims_table(self) -> pd.DataFrame:
        """One row for each part of a claim."""
        import pandas as pd

        rows, words = [], self.experiment.words
        for result in self.results:
            for part in result.parts:
                found = part.measured
                rows.append(
                    {
                        "claim": result.claim.id,
                        "origin": result.claim.origin,
                        "where": result.claim.where,
                        "text": result.claim.text,
                        "verdict": words.word(result.verdict),
                        "measure": part.part.measure,
                        "label": part.part.label,
                        "target": part.part.target_text,
                        "published": np.nan if part.published is None else part.published,
                        "mean": found.mean,
                        "low": found.low,
                        "high": found.high,
                        "n": found.n,
                        "part_verdict": words.word(part.verdict),
                        "kind": part.part.kind,
                        "fitted": " ".join(part.part.fitted_by),
                    }
                )
        return pd.DataFrame(rows)
