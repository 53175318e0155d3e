"""Compares the numbers of two simulators over seeds and computes a verdict on each.

This module also reads `explained.toml` of each reference simulator and checks that its entries still apply.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy.special import stdtrit

Table = dict[str, Any]


@dataclass(frozen=True)
class Metric:
    """A compared number.

    `bound` is relative to the reference's mean or absolute, and at least `floor` (absolute).
    """

    name: str
    bound: float
    relative: bool = True
    floor: float = 0.0


# A rate of 2e-5 is one packet in fifty thousand, which is less than one in two runs.
# A queue below a thousandth of a packet is empty: ns-2's clock rounds, so an empty queue there has 1e-14.
METRICS = (
    Metric("utilization", 0.01),
    Metric("goodput_bps", 0.01),
    Metric("queue_mean", 0.05, floor=1e-3),
    Metric("queue_sd", 0.10, floor=1e-3),
    Metric("drop_rate", 0.10, floor=2e-5),
    Metric("mark_rate", 0.10, floor=2e-5),
    Metric("jain", 0.02, relative=False),
)
# For background flows: their goodput relative to the link's rate, and the queue.
SHARES = (Metric("share", 0.05, relative=False), Metric("queue_mean", 0.10))
_ABSOLUTE = {metric.name for metric in (*METRICS, *SHARES) if not metric.relative}


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds and the half width of its 95 % confidence interval.

    The half width is infinite for one seed.
    """

    mean: float
    half: float


@dataclass(frozen=True)
class Row:
    """One metric of one case.

    `difference` and `bound` are relative to the reference's mean unless the metric is absolute.
    """

    case: str
    metric: str
    oracle: Estimate
    ours: Estimate | None
    difference: float
    bound: float
    verdict: str


@dataclass(frozen=True)
class Explanation:
    """A known miss of a metric of a case, with the largest allowed difference `most`.

    `most` is in the metric's unit. `why` is None if the reason is unknown; `evidence` describes the observation.
    """

    most: float
    why: str | None
    evidence: str


def explanations(
    path: Path, cases: Sequence[str], judged: Sequence[Metric] = METRICS
) -> dict[tuple[str, str], Explanation]:
    """The entries of a file of known differences, by (case, metric).

    They are the tables `explained` and `unexplained`; the latter have no why. Raises `ValueError` for an entry
    without case, metric, `most` (above zero), why or evidence, for an unknown case or metric, and for a second entry
    on the same.
    """
    found: dict[tuple[str, str], Explanation] = {}
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    known = {"case": cases, "metric": [metric.name for metric in judged]}
    for kind, texts in (("explained", ("why", "evidence")), ("unexplained", ("evidence",))):
        for entry in tables.get(kind, []):
            where = f"{path.name}: {kind}.{entry.get('case')}.{entry.get('metric')}"
            _check_entry(where, entry, known, texts)
            if (entry["case"], entry["metric"]) in found:
                raise ValueError(f"{where}: expected one entry for a case and metric, got two")
            found[entry["case"], entry["metric"]] = Explanation(
                float(entry["most"]), entry.get("why"), entry["evidence"]
            )
    return found


def _check_entry(where: str, entry: Table, known: dict[str, Sequence[str]], texts: Sequence[str]) -> None:
    """Raises `ValueError` unless an entry has these texts, and case and metric are known."""
    for key, names in known.items():
        if entry.get(key) not in names:
            raise ValueError(f"{where}: {key}: expected one of {', '.join(names)}, got {entry.get(key)!r}")
    for key in texts:
        if not entry.get(key):
            raise ValueError(f"{where}: {key}: expected a text, got {entry.get(key)!r}")
    if "why" in entry and "why" not in texts:
        raise ValueError(f"{where}: why: expected none where it is not known, got {entry['why']!r}")
    most = entry.get("most")
    if isinstance(most, bool) or not isinstance(most, (int, float)) or not 0.0 < most < math.inf:
        raise ValueError(f"{where}: most: expected the largest difference, above zero, got {most!r}")


SEEDS = 5


def stored_seeds(stored: Table | None) -> int:
    """The number of seeds of a case: as many as are stored, since some cases vary more."""
    return len(stored["runs"]) if stored else SEEDS


def read_options(parser: argparse.ArgumentParser, argv: list[str] | None, known: Sequence[str]) -> argparse.Namespace:
    """Reads the command line of a reference simulator, with the common options.

    Cases are among `known`.
    """
    parser.add_argument("cases", nargs="*", metavar="CASE", help="cases to run (default: all)")
    parser.add_argument("--seeds", type=int, help=f"seeds 1..N (default: as many as are stored, or {SEEDS})")
    parser.add_argument("--list", action="store_true", help="list the cases and stop")
    options = parser.parse_args(argv)
    unknown = sorted(set(options.cases) - set(known))
    if unknown:
        parser.error(f"CASE: expected one of {', '.join(known)}, got {', '.join(unknown)}")
    if options.seeds is not None and options.seeds < 1:
        parser.error(f"--seeds: expected 1 or more, got {options.seeds}")
    return options


def metrics(record: Table, scenario: Table) -> dict[str, float]:
    """The compared numbers of a record, Sojourn's or ns-2's.

    They are of the first link and of the first group of flows. Rates are relative to arrived packets; goodput is in
    bit/s, the sum of the group.
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
    """Jain's fairness index, 1/n to 1; 1 if nothing was sent."""
    squares = sum(x * x for x in values)
    return 1.0 if squares == 0.0 else sum(values) ** 2 / (len(values) * squares)


def estimate(values: list[float]) -> Estimate:
    """Mean and confidence interval over seeds."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return Estimate(mean, math.inf)
    t = float(stdtrit(len(values) - 1, 0.975))
    return Estimate(mean, t * statistics.stdev(values) / math.sqrt(len(values)))


def verdict(metric: Metric, oracle: Estimate, ours: Estimate) -> tuple[float, float, str]:
    """Difference, bound, and "inside", "undecided" or "MISS".

    A difference above the bound is a miss if it is also above the noise, the root of the sum of the squares of both
    half widths. Below that it is undecided: the noise is then wider than the bound, and more seeds have to decide.
    """
    gap = ours.mean - oracle.mean
    allowed = max(metric.bound * abs(oracle.mean) if metric.relative else metric.bound, metric.floor)
    scale = abs(oracle.mean) if metric.relative and oracle.mean != 0.0 else 1.0
    if abs(gap) <= allowed:
        said = "inside"
    elif math.isfinite(oracle.half + ours.half) and abs(gap) <= math.hypot(oracle.half, ours.half):
        said = "undecided"
    else:
        said = "MISS"
    return gap / scale, allowed / scale, said


def rows(
    case: str,
    oracle: list[dict[str, float]],
    ours: list[dict[str, float]],
    explained: Mapping[tuple[str, str], Explanation],
    judged: Sequence[Metric] = METRICS,
) -> list[Row]:
    """A row for each metric; without `ours` it has no verdict.

    A miss is "explained" if `explained` has an entry for it and it is no larger than the entry's `most`, or
    "unexplained" if the entry has no reason. An entry for a metric that is inside its bound is "stale" and must be
    removed.
    """
    result = []
    for metric in judged:
        theirs = estimate([x[metric.name] for x in oracle])
        mine = estimate([x[metric.name] for x in ours]) if ours else None
        result.append(judge(case, metric, theirs, mine, explained))
    return result


def judge(
    case: str,
    metric: Metric,
    theirs: Estimate,
    mine: Estimate | None,
    explained: Mapping[tuple[str, str], Explanation],
) -> Row:
    """The row of one metric, as in `rows`."""
    if mine is None:
        return Row(case, metric.name, theirs, None, math.nan, metric.bound, "-")
    difference, bound, said = verdict(metric, theirs, mine)
    entry = explained.get((case, metric.name))
    if entry is not None and said == "MISS" and abs(mine.mean - theirs.mean) <= entry.most:
        said = "explained" if entry.why is not None else "unexplained"
    elif entry is not None and said == "inside":
        said = "stale"
    return Row(case, metric.name, theirs, mine, difference, bound, said)


def failed(all_rows: list[Row]) -> bool:
    """Whether there is a miss without an entry, or an entry without a miss."""
    return any(row.verdict in ("MISS", "stale") for row in all_rows)


def summary(all_rows: list[Row]) -> str:
    """The number of rows with each verdict."""
    said = [row.verdict for row in all_rows]
    return ", ".join(f"{said.count(x)} {x}" for x in dict.fromkeys(said))


def _show(value: Estimate | None) -> str:
    if value is None:
        return "-"
    return f"{value.mean:.6g} ± {value.half:.2g}"


def table(all_rows: list[Row], reference: str) -> str:
    """The rows as a table of text; `reference` is the name of the other simulator."""
    head = ("case", "metric", reference, "Sojourn", "difference", "bound", "verdict")
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


def as_data(row: Row, reference: str) -> dict[str, Any]:
    """A row for JSON; `reference` is the name of the other simulator."""
    ours = None if row.ours is None else [row.ours.mean, row.ours.half]
    oracle = [row.oracle.mean, row.oracle.half]
    return {"case": row.case, "metric": row.metric, reference: oracle, "sojourn": ours} | {
        "difference": row.difference,
        "bound": row.bound,
        "verdict": row.verdict,
    }
