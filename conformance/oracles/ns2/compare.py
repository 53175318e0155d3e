"""Two simulators' numbers over seeds, and the verdict on each: computed here, never written down."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import Any

from .measure import jain
from .plan import Table

# Student's t, two-sided 95 %, by degrees of freedom; past the end the normal's 1.96 is near enough (1.5 % at 30).
_T95: tuple[float, ...] = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
_T95 += (2.201, 2.179, 2.160, 2.145, 2.131)
_T95 += (2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)


@dataclass(frozen=True)
class Metric:
    """What is judged: `bound` is a share of ns-2's mean, or absolute; never less than `floor` (absolute)."""

    name: str
    bound: float
    relative: bool = True
    floor: float = 0.0


# A rate of 2e-5 is a packet in fifty thousand: two runs' worth of none at all.
METRICS = (
    Metric("utilization", 0.01),
    Metric("goodput_bps", 0.01),
    Metric("queue_mean", 0.05),
    Metric("queue_sd", 0.10),
    Metric("drop_rate", 0.10, floor=2e-5),
    Metric("mark_rate", 0.10, floor=2e-5),
    Metric("jain", 0.02, relative=False),
)


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds and the half width of its 95 % confidence interval (infinite for one seed)."""

    mean: float
    half: float


@dataclass(frozen=True)
class Row:
    """One metric of one case. `difference` and `bound` are shares of ns-2's mean unless the metric is absolute."""

    case: str
    metric: str
    oracle: Estimate
    ours: Estimate | None
    difference: float
    bound: float
    verdict: str


def metrics(record: Table, scenario: Table) -> dict[str, float]:
    """The judged numbers of a record: of the scenario's first link, and of its first group of flows.

    Takes Sojourn's record or ns-2's. Rates are shares of what arrived, goodput is bit/s over the group.
    """
    first, group = scenario["links"][0], scenario["flows"][0]
    name = first.get("name", f"{first['from']}->{first['to']}")
    link = next(x for x in record["links"] if x["name"] == name)
    wanted = group.get("name", "flow0")
    goodput = [float(x["goodput_bps"]) for x in record["flows"] if x["group"] == wanted]
    arrived = max(float(link["arrived"]), 1.0)
    return {
        "utilization": float(link["utilization"]),
        "goodput_bps": sum(goodput),
        "queue_mean": float(link["queue"]["mean"]),
        "queue_sd": float(link["queue"]["sd"]),
        "drop_rate": float(link["dropped_total"]) / arrived,
        "mark_rate": float(link["marked"]) / arrived,
        "jain": jain(goodput),
    }


def estimate(values: list[float]) -> Estimate:
    """Mean and confidence over seeds."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return Estimate(mean, math.inf)
    freedom = len(values) - 1
    t = _T95[freedom - 1] if freedom <= len(_T95) else 1.96
    return Estimate(mean, t * statistics.stdev(values) / math.sqrt(len(values)))


def verdict(metric: Metric, oracle: Estimate, ours: Estimate) -> tuple[float, float, str]:
    """Difference, bound and "inside", "within noise" (outside, but less than both seeds' noise) or "MISS"."""
    gap = ours.mean - oracle.mean
    allowed = max(metric.bound * abs(oracle.mean) if metric.relative else metric.bound, metric.floor)
    scale = abs(oracle.mean) if metric.relative and oracle.mean != 0.0 else 1.0
    if abs(gap) <= allowed:
        said = "inside"
    elif math.isfinite(oracle.half + ours.half) and abs(gap) <= math.hypot(oracle.half, ours.half):
        said = "within noise"
    else:
        said = "MISS"
    return gap / scale, allowed / scale, said


def rows(
    case: str, oracle: list[dict[str, float]], ours: list[dict[str, float]], explained: set[tuple[str, str]]
) -> list[Row]:
    """One row a metric; `ours` may be empty, then there is no verdict. `explained` holds (case, metric)."""
    result = []
    for metric in METRICS:
        theirs = estimate([x[metric.name] for x in oracle])
        if not ours:
            result.append(Row(case, metric.name, theirs, None, math.nan, metric.bound, "-"))
            continue
        mine = estimate([x[metric.name] for x in ours])
        difference, bound, said = verdict(metric, theirs, mine)
        if said == "MISS" and (case, metric.name) in explained:
            said = "explained"
        result.append(Row(case, metric.name, theirs, mine, difference, bound, said))
    return result


def _show(value: Estimate | None) -> str:
    if value is None:
        return "-"
    return f"{value.mean:.6g} ± {value.half:.2g}"


def table(all_rows: list[Row]) -> str:
    """The rows as text, in columns."""
    head = ("case", "metric", "ns-2", "Sojourn", "difference", "bound", "verdict")
    body = []
    for row in all_rows:
        absolute = row.metric == "jain" or row.oracle.mean == 0.0
        difference = f"{row.difference:+.4f}" if absolute else f"{100 * row.difference:+.2f} %"
        difference = "-" if row.ours is None else difference
        bound = f"{row.bound:.4g}" if absolute else f"{100 * row.bound:.3g} %"
        body.append((row.case, row.metric, _show(row.oracle), _show(row.ours), difference, bound, row.verdict))
    widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in [head, *body]]
    return "\n".join(line.rstrip() for line in lines)


def as_data(row: Row) -> dict[str, Any]:
    """A row for JSON."""
    ours = None if row.ours is None else [row.ours.mean, row.ours.half]
    oracle = [row.oracle.mean, row.oracle.half]
    return {"case": row.case, "metric": row.metric, "ns2": oracle, "sojourn": ours} | {
        "difference": row.difference,
        "bound": row.bound,
        "verdict": row.verdict,
    }
