"""Compares queues, controllers or field values of one scenario, with identical traffic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sojourn.compare.cases import (
    Axis,
    Case,
    Named,
    cases_of,
    check_group,
    common_label,
    controller_axis,
    field_axis,
    queue_axis,
    with_unique_labels,
)
from sojourn.compare.links import Links, held_elsewhere, queued_links
from sojourn.core.errors import UserError, note
from sojourn.core.extras import require
from sojourn.core.quantities import base_quantity, common_unit
from sojourn.core.record import Record
from sojourn.core.record_schema import Measure, flow_measures, inner_measures, link_measures
from sojourn.core.scenario_files import Source, load
from sojourn.core.stats import CONFIDENCE, MEAN, Estimate, estimate, paired
from sojourn.core.text_format import counted, html_table, listed
from sojourn.runs.jobs import raise_failed
from sojourn.runs.laws import Laws
from sojourn.runs.runner import Job, Progress, run_all
from sojourn.runs.seeds import Seeds, first_seed, seeds_of
from sojourn.runs.store import Store

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from sojourn.plots.comparisons import ComparisonPlots


NOTHING_RANDOM = "nothing in these runs is random: every seed has the same result, so there is no interval"

MOST_NAMED = 12
"""The maximum number of cases that a note names."""


def same(records: Sequence[Record]) -> bool:
    """Whether several runs are identical, which is so for a scenario without randomness."""
    prints = {record.get("fingerprint") for record in records}
    return len(records) > 1 and len(prints) == 1 and None not in prints


def nothing_random(cases: Mapping[str, Sequence[Record]]) -> list[str]:
    """A note that names the cases whose runs are identical for all seeds.

    It names no case if it applies to all.
    """
    return no_randomness([case for case, records in cases.items() if same(records)], len(cases))


def estimated(records: Sequence[Record], measure: Measure) -> Estimate:
    """Mean and interval of a measure over runs; without an interval if the runs are identical."""
    found = estimate([measure.of(record) for record in records], within=measure.range)
    return found.exact() if same(records) else found


def no_randomness(alike: Sequence[str], cases: int) -> list[str]:
    """The note that these cases, out of `cases`, have no randomness."""
    where = f"{listed(alike, MOST_NAMED)}: " if len(alike) < cases else ""
    return [where + NOTHING_RANDOM] if alike else []


def inexact(measures: Sequence[Measure]) -> list[str]:
    """A note on the measures estimated from histograms; empty if all measures are exact."""
    found = [each for each in measures if each.error]
    names = list(dict.fromkeys(each.label.rpartition(" ")[2] for each in found))
    most = max((each.error for each in found), default=0.0)
    said = (
        f"{', '.join(names)}: from a histogram, so each may be wrong by {100 * most:.1f} % more than its interval says"
    )
    return [said] if found else []


@dataclass
class Comparison:
    """The records of each case, one record per seed, with their statistics.

    A case is a queue, a controller or a value of a field. Statistics of two or more seeds need SciPy (`pip install
    'sojourn[analysis]'`).

    Parameters
    ----------
    scenario : str
        The scenario's name.
    link : str
        The compared link, the first of `links`.
    seeds : list of int
        The seeds, the same for every case.
    records : dict of str to list of Record
        The records of every seed, by case.
    measures : list of Measure, optional
        The compared measures.
    cases : list of Case, optional
        The compared cases.
    notes : list of str, optional
        Notes on the cases, for example which parameters have default values.
    common : str, default ""
        The setting that all cases share, such as the only controller. Labels omit it.
    failed : list of str, optional
        A line per failed run. The case of a failed run is omitted, because cases are compared with the same seeds.
    links : list of str, optional
        All compared links (default: `link`).

    Examples
    --------
    >>> found = sj.compare("examples/dumbbell.toml", ["droptail", "red"], seeds=2)
    >>> found.differences()["queue mean"]["red"].mean < 0
    True
    """

    scenario: str
    link: str
    seeds: list[int]
    records: dict[str, list[Record]]
    measures: list[Measure] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    common: str = ""
    failed: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.links = self.links or [self.link]

    def __repr__(self) -> str:
        seeds = counted(len(self.seeds), "seed")
        return f"<Comparison of {listed(self.records)} on {self._where}, {seeds}>"

    def _repr_html_(self) -> str:
        shown = self._html(self.heading, self.estimates())
        if len(self.records) < 2:
            return shown
        first = next(iter(self.records))
        return shown + self._html(f"difference from {first}, paired by seed", self.differences())

    def _html(self, title: str, estimates: Mapping[str, Mapping[str, Estimate]]) -> str:
        """An HTML table with one row per measure and one column per case."""
        columns = list(next(iter(estimates.values()), {}))
        names = [measure.title for measure in self.measures]
        rows = [[name, *map(str, cells.values())] for name, cells in zip(names, estimates.values(), strict=True)]
        return html_table(title, ["", *columns], rows)

    @property
    def title(self) -> str:
        """The title of the comparison."""
        return f"{self._where}, {counted(len(self.seeds), 'seed')}"

    @property
    def _where(self) -> str:
        """The scenario, the shared setting of all cases, and the links."""
        links = f"{'links' if len(self.links) > 1 else 'link'} {listed(self.links)}"
        return f"{self.scenario}{' with ' if self.common else ''}{self.common}, {links}"

    @property
    def heading(self) -> str:
        """The title of the table of means. It mentions intervals if there are several seeds."""
        return self.title + (f", {MEAN}" if len(self.seeds) > 1 else "")

    @property
    def plot(self) -> ComparisonPlots:
        """Plots of the comparison, such as `comparison.plot.cdf("wait")`. Needs the extra `plots`."""
        require("matplotlib", "pandas")
        from sojourn.plots.comparisons import ComparisonPlots

        return ComparisonPlots(self)

    def values(self, case: str, measure: Measure) -> list[float]:
        """The values of a measure in a case, one per seed.

        Parameters
        ----------
        case : str
            The label of the case.
        measure : Measure
            The measure.

        Returns
        -------
        list of float
            The values in the measure's unit.
        """
        return [measure.of(record) for record in self.records[case]]

    def estimates(self) -> dict[str, dict[str, Estimate]]:
        """Mean and confidence interval of every measure.

        There is a mean only with one seed, and if the seeds' runs are identical.

        Returns
        -------
        dict of str to dict of str to Estimate
            Estimates by label of measure and by case.
        """
        return {m.label: {case: estimated(records, m) for case, records in self.records.items()} for m in self.measures}

    def differences(self, baseline: str | None = None) -> dict[str, dict[str, Estimate]]:
        """Paired differences from a case.

        Parameters
        ----------
        baseline : str, optional
            The label of the case (default: the first).

        Returns
        -------
        dict of str to dict of str to Estimate
            Differences by label of measure and by case.

        Raises
        ------
        UserError
            The case is unknown.
        """
        base = baseline or next(iter(self.records))
        if base not in self.records:
            raise UserError.unknown("baseline", base, self.records)
        others = [case for case in self.records if case != base]
        return {m.label: {case: self._difference(case, base, m) for case in others} for m in self.measures}

    def _difference(self, case: str, base: str, measure: Measure, confidence: float = CONFIDENCE) -> Estimate:
        apart = paired(self.values(case, measure), self.values(base, measure), confidence, measure.range)
        return apart.exact() if same(self.records[case]) and same(self.records[base]) else apart

    def best(self, measure: Measure) -> list[str]:
        """The cases that are not significantly worse than the best one.

        They are the case with the best mean, and all cases whose paired difference from it may be 0. The intervals hold
        jointly with 95 % (Bonferroni) and are widened by the error of histogram quantiles.

        Parameters
        ----------
        measure : Measure
            The measure.

        Returns
        -------
        list of str
            Labels of cases. The list is empty for a single seed, and for a measure without a better direction.
        """
        means = {case: estimate(self.values(case, measure)).mean for case in self.records}
        known = {case: mean for case, mean in means.items() if math.isfinite(mean)}
        if not measure.better or len(self.seeds) < 2 or len(known) < 2:
            return []
        first = (max if measure.better == "higher" else min)(known, key=lambda case: known[case])
        confidence = 1 - (1 - CONFIDENCE) / (len(known) - 1)
        apart = {case: self._difference(case, first, measure, confidence) for case in known if case != first}
        off = {case: measure.error * (abs(known[case]) + abs(known[first])) for case in known}
        return [
            case for case in known if case == first or apart[case].low - off[case] <= 0 <= apart[case].high + off[case]
        ]

    def table(self) -> pd.DataFrame:
        """One row per measure and case: mean, interval, difference from the first case.

        Returns
        -------
        pandas.DataFrame
            Columns: `case`, the varied fields (`queue`, `cc`, or a path), `measure`, `path`, `unit`, `better`, `mean`,
            `sd`, `low`, `high`, `n`, `best`, `difference`, `difference_low`, `difference_high`.
        """
        require("pandas")
        import pandas as pd

        differences = self.differences()
        rows = []
        for measure in self.measures:
            best = self.best(measure)
            for case in self.records:
                one = estimated(self.records[case], measure)
                row: dict[str, Any] = {"case": case, **self._at(case), "measure": measure.label}
                row |= {"path": measure.path, "unit": measure.unit, "better": measure.better}
                row |= {"mean": one.mean, "sd": one.sd, "low": one.low, "high": one.high, "n": one.n}
                apart = differences[measure.label].get(case)
                row |= {
                    "best": case in best,
                    "difference": apart.mean if apart else 0.0,
                    "difference_low": apart.low if apart else 0.0,
                    "difference_high": apart.high if apart else 0.0,
                }
                rows.append(row)
        return pd.DataFrame(rows)

    @property
    def units(self) -> dict[str, str]:
        """The base unit of each varied field with quantities, such as `bit/s`; others have none."""
        found = {
            axis: common_unit([case.at[axis] for case in self.cases])
            for axis in (self.cases[0].at if self.cases else ())
        }
        return {axis: unit for axis, unit in found.items() if unit is not None}

    def _at(self, case: str) -> dict[str, Any]:
        """A case's value on each axis. Quantities are numbers in their base unit."""
        at, units = next((each.at for each in self.cases if each.label == case), {}), self.units
        return {axis: (base_quantity(value) or (value,))[0] if axis in units else value for axis, value in at.items()}

    def runs(self) -> pd.DataFrame:
        """One row per run.

        Returns
        -------
        pandas.DataFrame
            Columns: case, varied fields, seed, and every measure.
        """
        require("pandas")
        import pandas as pd

        rows = [
            {"case": case, **self._at(case), "seed": seed, **{m.label: m.of(record) for m in self.measures}}
            for case, records in self.records.items()
            for seed, record in zip(self.seeds, records, strict=True)
        ]
        return pd.DataFrame(rows)

    def to_xarray(self) -> xr.Dataset:
        """Every measure over `case` and `seed`.

        Returns
        -------
        xarray.Dataset
            A variable per measure, with its unit.

        Raises
        ------
        MissingExtraError
            Package xarray is not installed.
        """
        require("xarray")
        import xarray as xr

        values = {
            m.label: (("case", "seed"), [self.values(case, m) for case in self.records], {"units": m.unit})
            for m in self.measures
        }
        where = {"scenario": self.scenario, "link": self.link}
        return xr.Dataset(values, coords={"case": list(self.records), "seed": self.seeds}, attrs=where)


def default_measures(links: Sequence[str], records: Sequence[Record]) -> list[Measure]:
    """The default measures of a comparison: of the links, of their queues, and of the flows.

    Queues are measured separately if a link has several. With several links the labels begin with the link.
    """
    found = []
    for link in links:
        own = [*link_measures(link, records), *inner_measures(link, records)]
        found += own if len(links) == 1 else [replace(each, label=f"{link} {each.label}") for each in own]
    return [*found, *flow_measures(records)]


def compare(
    scenario: Source,
    queues: Named | None = None,
    seeds: Seeds = 5,
    *,
    cc: Named | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
    link: Links | None = None,
    group: str | None = None,
    measures: Sequence[Measure] | None = None,
    laws: Laws | None = None,
    threads: int = 0,
    cache: Store | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Runs one scenario in several cases with the same seeds.

    A case is a queue, a congestion controller, or a value of any field. Several options are combined. All cases use the
    same random numbers, so differences are paired by seed. A run that is killed or runs out of memory is reported in a
    `Note` and in `failed`. Its case is omitted; the other runs continue.

    Parameters
    ----------
    scenario : str, path, mapping or Scenario
        The scenario, in any form that `load` accepts.
    queues : str, sequence of str, or mapping of str to tables, optional
        A list of names, a text such as `"droptail,red(min=5,max=15)"`, or queue tables by label. They replace the
        queues of `link`. A queue keeps the scenario's `limit`, `ecn` and `hints`. A queue of the same kind keeps all
        parameters.
    seeds : int or sequence of int, default 5
        The number of seeds, starting with the scenario's, or a list of seeds.
    cc : str, sequence of str, or mapping of str to tables, optional
        Congestion controllers in the form of `queues`, for the flows of `group`.
    vary : mapping of str to sequences, optional
        Paths of fields with lists of values.
    link : str or sequence of str, optional
        The links whose queues are varied and reported (default: the only link with a queue, else `bottleneck`): names
        as in `"up,down"`, patterns such as `"core*"`, or `"all"` for every link with a rate.
    group : str, optional
        The group of flows that gets the controllers (default: all groups without a controller of their own).
    measures : sequence of Measure, optional
        The compared measures (default: those of the link, of its classes or queues, and of the groups of flows).
    laws : mapping of str to callable, optional
        Laws and controllers in Python by name, as for `run`.
        Such a name can be used in `queues` or `cc`.
    threads : int, default 0
        Number of simultaneous runs; 0 uses every core.
    cache : Store, optional
        Holds finished runs. A second call continues an interrupted one.
    progress : callable, optional
        Called as `progress(done, total)` after each run.

    Returns
    -------
    Comparison
        The records of all cases, with their statistics.

    Raises
    ------
    UserError
        An argument is invalid.
    ScenarioError
        The scenario can't be run.
    Interrupted
        The user pressed Ctrl-C.
    RunError
        Every case has a failed run.

    Examples
    --------
    >>> sj.compare("examples/dumbbell.toml", ["droptail", "red", "pd"], seeds=2)
    <Comparison of droptail, red, pd on dumbbell, link bottleneck, 2 seeds>
    >>> sj.compare("examples/dumbbell.toml", cc=["cubic"], vary={"flows.ftp.count": [5, 20]}, seeds=1)
    <Comparison of count=5, count=20 on dumbbell with cubic, link bottleneck, 1 seed>
    """
    base = load(scenario)
    chosen = seeds_of(seeds, first_seed(base))  # this also validates the scenario
    names = queued_links(base, link)
    check_group(base, group)
    axes: list[Axis] = []
    if queues is not None:
        axes.append(queue_axis(base, names, queues, laws or {}))
    if cc is not None:
        axes.append(controller_axis(base, cc, group, laws or {}))
    if vary is not None and not isinstance(vary, Mapping):
        raise UserError.expected("compare: vary", "paths of fields and a list of values for each", vary)
    axes += [field_axis(path, values) for path, values in (vary or {}).items()]
    if not axes:
        raise UserError("compare: expected queues, cc or vary, got none")
    axes = with_unique_labels(axes)
    cases = cases_of(base, axes)
    jobs = [Job(case.scenario, seed) for case in cases for seed in chosen]
    records, failed = run_all(jobs, threads=threads, cache=cache, progress=progress, laws=laws)
    found = {}
    for at, case in enumerate(cases):
        places = range(at * len(chosen), (at + 1) * len(chosen))
        if all(place in records for place in places):
            found[case.label] = [records[place] for place in places]
    if not found:
        raise_failed(failed, len(jobs), cache)
    for each in failed:
        note(f"a run failed: {each}")
    everything = [record for each in found.values() for record in each]
    notes = [each for axis in axes for each in axis.notes] + held_elsewhere(found, names) + nothing_random(found)
    return Comparison(
        scenario=str(base.get("name", base.label)),
        link=names[0],
        seeds=chosen,
        records=found,
        measures=list(measures or default_measures(names, everything)),
        cases=[case for case in cases if case.label in found],
        notes=notes,
        common=common_label(axes),
        failed=failed,
        links=names,
    )
