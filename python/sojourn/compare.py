"""Several queue disciplines on one scenario, on identical traffic."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sojourn import paths
from sojourn.errors import UserError
from sojourn.record import Record
from sojourn.running import Job, Progress, Seeds, first_seed, run_jobs, seeds_of
from sojourn.scenario import Scenario, Source, load, parse_value
from sojourn.stats import Estimate, estimate, paired
from sojourn.store import Store

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Measure:
    """One number of a record: where it lies, what it is called, its unit."""

    label: str
    path: str
    unit: str = ""
    scale: float = 1.0

    def of(self, record: Record) -> float:
        """Its value in a record."""
        value = record.value(self.path)
        return float("nan") if value is None else float(value) * self.scale


def link_measures(link: str) -> list[Measure]:
    """What is compared unless something else is asked for."""
    at = f'links."{link}"'
    return [
        Measure("utilization", f"{at}.utilization", "%", 100),
        Measure("queue mean", f"{at}.queue.mean", "packets"),
        Measure("queue sd", f"{at}.queue.sd", "packets"),
        Measure("wait mean", f"{at}.wait_ms.mean", "ms"),
        Measure("wait p95", f"{at}.wait_ms.p95", "ms"),
        Measure("dropped", f"{at}.dropped_total", "packets"),
        Measure("loss ratio", f"{at}.loss_ratio", "%", 100),
        Measure("goodput", "total.goodput_bps", "Mbit/s", 1e-6),
        Measure("Jain's index", "total.jain"),
    ]


@dataclass
class Comparison:
    """Records of each queue, seed by seed, and what they say."""

    scenario: str
    link: str
    seeds: list[int]
    records: dict[str, list[Record]]
    measures: list[Measure] = field(default_factory=list)

    def values(self, queue: str, measure: Measure) -> list[float]:
        """One value a seed."""
        return [measure.of(record) for record in self.records[queue]]

    def estimates(self) -> dict[str, dict[str, Estimate]]:
        """Mean and confidence interval, by measure and queue."""
        return {m.label: {q: estimate(self.values(q, m)) for q in self.records} for m in self.measures}

    def differences(self, baseline: str | None = None) -> dict[str, dict[str, Estimate]]:
        """Paired differences from a queue (the first unless named), by measure and queue."""
        base = baseline or next(iter(self.records))
        if base not in self.records:
            raise UserError(f'baseline "{base}": there are {", ".join(self.records)}')
        others = [queue for queue in self.records if queue != base]
        return {m.label: {q: paired(self.values(q, m), self.values(base, m)) for q in others} for m in self.measures}

    def table(self) -> pd.DataFrame:
        """One row a queue and measure: mean, standard deviation, confidence interval, difference from the first."""
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
        """One row a run: queue, seed, and every measure."""
        import pandas as pd

        rows = [
            {"queue": queue, "seed": seed, **{m.label: m.of(record) for m in self.measures}}
            for queue, records in self.records.items()
            for seed, record in zip(self.seeds, records, strict=True)
        ]
        return pd.DataFrame(rows)


def queued_link(scenario: Scenario, link: str | None = None) -> str:
    """The link that gets the queues: the one named, the only one with a queue, or `bottleneck`."""
    links = scenario.get_path("links") if "links" in scenario else []
    names = [str(paths.name_of(item)) for item in links]
    if link is not None:
        if link not in names:
            raise UserError(f'{scenario.label}: no link "{link}"; there are {", ".join(names) or "none"}')
        return link
    queued = [str(paths.name_of(item)) for item in links if "queue" in item]
    if len(queued) == 1:
        return queued[0]
    if "bottleneck" in names:
        return "bottleneck"
    if len(names) == 1:
        return names[0]
    raise UserError(f"{scenario.label}: which link gets the queues? Name one of {', '.join(names) or 'none'}")


_SPEC = re.compile(r"\s*([\w-]+)\s*(?:\(([^()]*)\))?\s*(?:,|$)")


def parse_queues(text: str) -> dict[str, dict[str, Any]]:
    """Queues as the command line has them: `droptail,red(min=5,max=15),pd`."""
    queues: dict[str, dict[str, Any]] = {}
    position = 0
    while position < len(text):
        match = _SPEC.match(text, position)
        if match is None:
            raise UserError(f'queues "{text}": taken is names with commas between, such as droptail,red(min=5,max=15)')
        queue: dict[str, Any] = {"aqm": match.group(1)}
        for pair in filter(None, (match.group(2) or "").split(",")):
            key, sign, value = pair.partition("=")
            if not sign:
                raise UserError(f'queues "{text}": parameter "{pair}": taken is name=value')
            queue[key.strip()] = parse_value(value.strip())
        label = match.group(0).strip().rstrip(",")
        if label in queues:
            raise UserError(f'queues "{text}": "{label}" is there twice')
        queues[label] = queue
        position = match.end()
    if not queues:
        raise UserError("queues: taken is one or more names, such as droptail,red")
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
    """Runs one scenario under several queues with the same seeds; the limit and `ecn` stay the scenario's.

    `queues` is names, text such as `"droptail,red(min=5,max=15)"`, or labels with queue tables. All queues see the
    same random numbers, so that differences are taken seed by seed.
    """
    base = load(scenario)
    name = queued_link(base, link)
    if isinstance(queues, str):
        queues = parse_queues(queues)
    if not queues:
        raise UserError("queues: given none, taken is one or more, such as droptail, red")
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
