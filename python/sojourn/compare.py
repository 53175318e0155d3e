"""Comparing several queue disciplines on one scenario, with identical traffic."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sojourn import paths
from sojourn.display import counted, html_table, listed
from sojourn.errors import UserError
from sojourn.extras import require
from sojourn.measures import Measure, link_measures
from sojourn.record import Record
from sojourn.running import Job, Progress, Seeds, first_seed, run_jobs, seeds_of
from sojourn.scenario import Scenario, Source, load, parse_value
from sojourn.stats import Estimate, estimate, paired
from sojourn.store import Store

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


@dataclass
class Comparison:
    """The records of each queue, one for each seed, with their statistics.

    Statistics of two or more seeds need SciPy (`pip install 'sojourn[analysis]'`).

    >>> found = sj.compare("examples/dumbbell.toml", ["droptail", "red"], seeds=2)
    >>> found.differences()["queue mean"]["red"].mean < 0
    True
    """

    scenario: str
    """The scenario's name."""
    link: str
    """The link whose queue differs."""
    seeds: list[int]
    """The seeds, the same for every queue."""
    records: dict[str, list[Record]]
    """By queue, the record of every seed."""
    measures: list[Measure] = field(default_factory=list)
    """What is compared."""

    def __repr__(self) -> str:
        seeds = counted(len(self.seeds), "seed")
        return f"<Comparison of {listed(self.records)} on {self.scenario}, link {self.link}, {seeds}>"

    def _repr_html_(self) -> str:
        title = f"{self.scenario}, link {self.link}, {counted(len(self.seeds), 'seed')}"
        shown = self._html(f"{title}, mean ± 95 %", self.estimates())
        if len(self.records) < 2:
            return shown
        first = next(iter(self.records))
        return shown + self._html(f"difference from {first}, paired by seed", self.differences())

    def _html(self, title: str, estimates: Mapping[str, Mapping[str, Estimate]]) -> str:
        """A table with a row for each measure and a column for each queue."""
        columns = list(next(iter(estimates.values()), {}))
        names = [f"{m.label} ({m.unit})" if m.unit else m.label for m in self.measures]
        rows = [[name, *map(str, cells.values())] for name, cells in zip(names, estimates.values(), strict=True)]
        return html_table(title, ["", *columns], rows)

    def values(self, queue: str, measure: Measure) -> list[float]:
        """A measure's values under a queue, one for each seed."""
        return [measure.of(record) for record in self.records[queue]]

    def estimates(self) -> dict[str, dict[str, Estimate]]:
        """Mean and confidence interval, by label of measure and by queue. One seed gives a mean without an interval."""
        return {m.label: {q: estimate(self.values(q, m)) for q in self.records} for m in self.measures}

    def differences(self, baseline: str | None = None) -> dict[str, dict[str, Estimate]]:
        """Paired differences from the queue `baseline` (default: the first), by label of measure and by queue.

        Raises `UserError` where no queue has that name.
        """
        base = baseline or next(iter(self.records))
        if base not in self.records:
            raise UserError.expected("baseline", f"one of {', '.join(self.records)}", base)
        others = [queue for queue in self.records if queue != base]
        return {m.label: {q: paired(self.values(q, m), self.values(base, m)) for q in others} for m in self.measures}

    def table(self) -> pd.DataFrame:
        """A row for each measure and queue: mean, confidence interval, difference from the first queue.

        Columns: `queue`, `measure`, `unit`, `mean`, `sd`, `low`, `high`, `n`, `difference`, `difference_low`,
        `difference_high`.
        """
        require("pandas")
        import pandas as pd

        differences = self.differences()
        rows = []
        for measure in self.measures:
            for queue in self.records:
                one = estimate(self.values(queue, measure))
                row: dict[str, Any] = {"queue": queue, "measure": measure.label, "unit": measure.unit}
                row |= {"mean": one.mean, "sd": one.sd, "low": one.low, "high": one.high, "n": one.n}
                apart = differences[measure.label].get(queue)
                row |= {
                    "difference": apart.mean if apart else 0.0,
                    "difference_low": apart.low if apart else 0.0,
                    "difference_high": apart.high if apart else 0.0,
                }
                rows.append(row)
        return pd.DataFrame(rows)

    def runs(self) -> pd.DataFrame:
        """A row for each run: `queue`, `seed`, and every measure by its label, in the unit of the measure."""
        require("pandas")
        import pandas as pd

        rows = [
            {"queue": queue, "seed": seed, **{m.label: m.of(record) for m in self.measures}}
            for queue, records in self.records.items()
            for seed, record in zip(self.seeds, records, strict=True)
        ]
        return pd.DataFrame(rows)

    def to_xarray(self) -> xr.Dataset:
        """Every measure over `queue` and `seed`, with its unit. Raises `MissingExtraError` where xarray is missing."""
        require("xarray")
        import xarray as xr

        values = {
            m.label: (("queue", "seed"), [self.values(q, m) for q in self.records], {"units": m.unit})
            for m in self.measures
        }
        where = {"scenario": self.scenario, "link": self.link}
        return xr.Dataset(values, coords={"queue": list(self.records), "seed": self.seeds}, attrs=where)


def queued_link(scenario: Scenario, link: str | None = None) -> str:
    """The link that gets the queues: the one named, else the only one with a queue, else `bottleneck`.

    Raises `UserError` where that leaves no link or several.
    """
    links = scenario.get_path("links") if "links" in scenario else []
    names = [str(paths.name_of(item)) for item in links]
    if link is not None:
        if link not in names:
            raise UserError.expected(f"{scenario.label}: links", f"one of {', '.join(names) or 'none'}", link)
        return link
    queued = [str(paths.name_of(item)) for item in links if "queue" in item]
    if len(queued) == 1:
        return queued[0]
    if "bottleneck" in names:
        return "bottleneck"
    if len(names) == 1:
        return names[0]
    raise UserError(
        f"{scenario.label}: links: expected the link that gets the queues, one of {', '.join(names) or 'none'}"
    )


_SPEC = re.compile(r"\s*([\w-]+)\s*(?:\(([^()]*)\))?\s*(?:,|$)")


def parse_queues(text: str) -> dict[str, dict[str, Any]]:
    """Queue tables by label, from text such as `droptail,red(min=5,max=15),pd`; `UserError` for other texts."""
    queues: dict[str, dict[str, Any]] = {}
    position = 0
    while position < len(text):
        match = _SPEC.match(text, position)
        if match is None:
            raise UserError.expected("queues", "names and commas such as droptail,red(min=5,max=15)", text)
        queue: dict[str, Any] = {"aqm": match.group(1)}
        for pair in filter(None, (match.group(2) or "").split(",")):
            key, sign, value = pair.partition("=")
            if not sign:
                raise UserError.expected(f'queues "{text}"', "parameters of the form name=value", pair)
            queue[key.strip()] = parse_value(value.strip())
        label = match.group(0).strip().rstrip(",")
        if label in queues:
            raise UserError(f'queues "{text}": expected each queue once, got "{label}" twice')
        queues[label] = queue
        position = match.end()
    if not queues:
        raise UserError("queues: expected one or more names such as droptail,red, got none")
    return queues


def _queue_table(spec: str | Mapping[str, Any]) -> dict[str, Any]:
    return {"aqm": spec} if isinstance(spec, str) else dict(spec)


def compare(
    scenario: Source,
    queues: str | Sequence[str] | Mapping[str, str | Mapping[str, Any]],
    seeds: Seeds = 5,
    *,
    link: str | None = None,
    measures: Sequence[Measure] | None = None,
    threads: int = 0,
    cache: Store | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Runs one scenario under several queues with the same seeds.

    `queues` is a list of names, a text such as `"droptail,red(min=5,max=15)"`, or queue tables by label. They replace
    the queue of `link` (default: see `queued_link`), but `limit` and `ecn` stay the scenario's. All queues get the same
    random numbers, so differences are paired by seed. `seeds` is how many, beginning with the scenario's, or which;
    `measures` are those of the link by default. For `threads`, `cache` and `progress` see `run_jobs`.

    Raises `UserError` for a link or a list of queues that can't be used, `ScenarioError` for a scenario that can't be
    run, `Interrupted` after Ctrl-C.

    >>> sj.compare("examples/dumbbell.toml", ["droptail", "red", "pd"], seeds=2)
    <Comparison of droptail, red, pd on dumbbell, link bottleneck, 2 seeds>
    """
    base = load(scenario)
    name = queued_link(base, link)
    if isinstance(queues, str):
        queues = parse_queues(queues)
    if not queues:
        raise UserError("queues: expected one or more such as droptail,red, got none")
    tables = dict(queues) if isinstance(queues, Mapping) else {queue: queue for queue in queues}
    at = f'links."{name}".queue'
    before = base.copy().set(f'links."{name}".name', name).get_path(f'links."{name}"').get("queue", {})
    kept = {key: before[key] for key in ("limit", "ecn") if key in before}
    variants: dict[str, Scenario] = {}
    for label, spec in tables.items():
        variant = base.copy().set(at, kept | _queue_table(spec))
        variant.label = f"{base.label} with queue {label}"
        variants[label] = variant
    chosen = seeds_of(seeds, first_seed(base))
    jobs = [Job(variant, seed) for variant in variants.values() for seed in chosen]
    records = iter(run_jobs(jobs, threads=threads, cache=cache, progress=progress))
    by_queue = {label: [next(records) for _ in chosen] for label in variants}
    title = str(base.get("name", base.label))
    return Comparison(title, name, chosen, by_queue, list(measures or link_measures(name)))
