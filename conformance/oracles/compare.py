"""Two simulators' numbers over seeds, and the verdict on each: computed here, never written down.

Every judge's `explained.toml` is read and held to its word here, too.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Table = dict[str, Any]

# Student's t, two-sided 95 %, by degrees of freedom; past the end the normal's 1.96 is near enough (1.5 % at 30).
_T95: tuple[float, ...] = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
_T95 += (2.201, 2.179, 2.160, 2.145, 2.131)
_T95 += (2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)


@dataclass(frozen=True)
class Metric:
    """What is judged: `bound` is a share of the judge's mean, or absolute; never less than `floor` (absolute)."""

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
# What background flows take, their goodput as a share of the link's rate, and what waits meanwhile.
SHARES = (Metric("share", 0.05, relative=False), Metric("queue_mean", 0.10))
_ABSOLUTE = {metric.name for metric in (*METRICS, *SHARES) if not metric.relative}


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds and the half width of its 95 % confidence interval (infinite for one seed)."""

    mean: float
    half: float


@dataclass(frozen=True)
class Row:
    """One metric of one case. `difference` and `bound` are shares of the judge's mean unless the metric is absolute."""

    case: str
    metric: str
    oracle: Estimate
    ours: Estimate | None
    difference: float
    bound: float
    verdict: str


@dataclass(frozen=True)
class Explanation:
    """Why a metric of a case misses: it may be off by `most` (absolute, in the metric's unit) and no more."""

    most: float
    why: str
    evidence: str


def explanations(
    path: Path, cases: Sequence[str], judged: Sequence[Metric] = METRICS
) -> dict[tuple[str, str], Explanation]:
    """What a judge's file of explained misses says, by (case, metric).

    Raises `ValueError` for an entry without case, metric, `most` (above zero), why and evidence, for a case or a metric
    that is not there, and for two entries on the same.
    """
    found: dict[tuple[str, str], Explanation] = {}
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("explained", []):
        where = f"{path.name}: explained.{entry.get('case')}.{entry.get('metric')}"
        for key, known in (("case", cases), ("metric", [metric.name for metric in judged])):
            if entry.get(key) not in known:
                raise ValueError(f"{where}: {key}: given {entry.get(key)!r}, taken is one of {', '.join(known)}")
        for key in ("why", "evidence"):
            if not entry.get(key):
                raise ValueError(f"{where}: {key}: given {entry.get(key)!r}, taken is a text")
        most = entry.get("most")
        if isinstance(most, bool) or not isinstance(most, (int, float)) or not 0.0 < most < math.inf:
            raise ValueError(f"{where}: most: given {most!r}, taken is the largest difference, above zero")
        if (entry["case"], entry["metric"]) in found:
            raise ValueError(f"{where}: given twice, taken is one entry a case and metric")
        found[entry["case"], entry["metric"]] = Explanation(float(most), entry["why"], entry["evidence"])
    return found


SEEDS = 5


def usual_seeds(stored: Path) -> int:
    """How many seeds a case takes: as many as its stored file has, for some differ more from run to run than others."""
    return len(json.loads(stored.read_text(encoding="utf-8"))["runs"]) if stored.exists() else SEEDS


def read_options(parser: argparse.ArgumentParser, argv: list[str] | None, known: Sequence[str]) -> argparse.Namespace:
    """What a judge was asked for: its own options, and the cases (of `known`), seeds and list that all judges take."""
    parser.add_argument("cases", nargs="*", metavar="CASE", help="cases to run (default: all)")
    parser.add_argument("--seeds", type=int, help=f"seeds 1..N (default: as many as are stored, or {SEEDS})")
    parser.add_argument("--list", action="store_true", help="list the cases and stop")
    given = parser.parse_args(argv)
    unknown = sorted(set(given.cases) - set(known))
    if unknown:
        parser.error(f"no such case: {', '.join(unknown)}; there are {', '.join(known)}")
    if given.seeds is not None and given.seeds < 1:
        parser.error("--seeds takes one or more")
    return given


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


def jain(values: list[float]) -> float:
    """Jain's index of fairness, 1/n..1; 1 where nothing was sent."""
    squares = sum(x * x for x in values)
    return 1.0 if squares == 0.0 else sum(values) ** 2 / (len(values) * squares)


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
    case: str,
    oracle: list[dict[str, float]],
    ours: list[dict[str, float]],
    explained: dict[tuple[str, str], Explanation],
    judged: Sequence[Metric] = METRICS,
) -> list[Row]:
    """One row a metric; `ours` may be empty, then there is no verdict.

    A miss is "explained" where `explained` has an entry for it and it is no larger than the entry's `most`. An entry
    for what is inside its bound is "stale": it excuses nothing any more and has to go.
    """
    result = []
    for metric in judged:
        theirs = estimate([x[metric.name] for x in oracle])
        if not ours:
            result.append(Row(case, metric.name, theirs, None, math.nan, metric.bound, "-"))
            continue
        mine = estimate([x[metric.name] for x in ours])
        difference, bound, said = verdict(metric, theirs, mine)
        entry = explained.get((case, metric.name))
        if entry is not None and said == "MISS" and abs(mine.mean - theirs.mean) <= entry.most:
            said = "explained"
        elif entry is not None and said == "inside":
            said = "stale"
        result.append(Row(case, metric.name, theirs, mine, difference, bound, said))
    return result


def failed(all_rows: list[Row]) -> bool:
    """Whether a verdict has to be seen to: a miss that is not explained, or an explanation of what does not miss."""
    return any(row.verdict in ("MISS", "stale") for row in all_rows)


def summary(all_rows: list[Row]) -> str:
    """How often each verdict was given."""
    said = [row.verdict for row in all_rows]
    return ", ".join(f"{said.count(x)} {x}" for x in dict.fromkeys(said))


def _show(value: Estimate | None) -> str:
    if value is None:
        return "-"
    return f"{value.mean:.6g} ± {value.half:.2g}"


def table(all_rows: list[Row], judge: str) -> str:
    """The rows as text, in columns; `judge` is the other simulator's name."""
    head = ("case", "metric", judge, "Sojourn", "difference", "bound", "verdict")
    body = []
    for row in all_rows:
        absolute = row.metric in _ABSOLUTE or row.oracle.mean == 0.0
        difference = f"{row.difference:+.4f}" if absolute else f"{100 * row.difference:+.2f} %"
        difference = "-" if row.ours is None else difference
        bound = f"{row.bound:.4g}" if absolute else f"{100 * row.bound:.3g} %"
        body.append((row.case, row.metric, _show(row.oracle), _show(row.ours), difference, bound, row.verdict))
    widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in [head, *body]]
    return "\n".join(line.rstrip() for line in lines)


def as_data(row: Row, judge: str) -> dict[str, Any]:
    """A row for JSON; `judge` is the other simulator's name."""
    ours = None if row.ours is None else [row.ours.mean, row.ours.half]
    oracle = [row.oracle.mean, row.oracle.half]
    return {"case": row.case, "metric": row.metric, judge: oracle, "sojourn": ours} | {
        "difference": row.difference,
        "bound": row.bound,
        "verdict": row.verdict,
    }
