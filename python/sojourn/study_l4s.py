"""A study of L4S: whether a scalable sender and a classic one share a link, and over which queues.

In every cell of a grid of rates and round-trip times one Prague flow and one CUBIC or Reno flow, all with ECN, share a
link for a minute, of which the last half counts:

- over *DualPI2*, over *PIE* (one queue that marks both alike), and over *FQ-CoDel* with `ce_threshold` for ECT(1);
- over a dual queue with a chosen base (`dualq`): PI2, PI, CPC, LED and FuzzyRTT, with a target of 15 ms where the law
  has one, next to CUBIC;
- over DualPI2 with `min_qlen_step = 2` at 4 and 12 Mbit/s, next to CUBIC;
- over *CoDel* and PIE, which mark both alike, and over DualPI2 once more with Prague's search for classic queues
  (`ecn_fallback`), next to CUBIC.

Two flows have equal shares where the ratio of their windows (goodput times mean round-trip time) is within `NEAR`. What
is judged is in `CLAIMS`; every verdict is computed from the cells.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sojourn.record import Record
from sojourn.running import Job, Progress, run_jobs
from sojourn.scenario import Scenario
from sojourn.store import Store

PACKET = 1500
NEAR = (0.5, 2.0)
"""Ratios of two windows, or of two rates, that count as equal shares."""
HOLDS = 0.9
"""The share of cells in which a claim must hold to hold."""
TARGET_MS = 15.0
"""The delay at which classic queues are held: that of RFC 9332."""
CLASSICS = {"cubic": "CUBIC", "reno": "Reno"}
"""The classic controllers, and how they are called on the page."""
ASKED = "nobody: asked here"
"""The source of what nobody claims. Its verdict is the answer."""
STEP_MS = 1.0
"""The delay above which each scalable packet is marked."""
LONG, SKIPPED = 60, 30
"""Seconds of a run, and those of them that do not count."""


@dataclass(frozen=True)
class Cell:
    """A link and who shares it: the rate in Mbit/s, the round-trip time in ms, the queue, the classic controller."""

    rate: float
    rtt: float
    queue: str
    classic: str

    @property
    def packet_ms(self) -> float:
        """How long the link takes to send a full packet, in ms."""
        return PACKET * 8e-3 / self.rate

    def scenario(self) -> Scenario:
        """What is run."""
        limit = max(50, round(self.rate * 1e3 * 250 / (8 * PACKET)))
        queue = {**QUEUES[self.queue](TARGET_MS / self.packet_ms), "limit": f"{limit} packets", "ecn": True}
        link = {
            "name": "bottleneck", "from": "R0", "to": "R1", "rate": f"{self.rate:g} Mbit/s",
            "delay": f"{self.rtt / 2:g} ms", "duplex": True, "queue": queue,
        }  # fmt: skip
        start = {"uniform": ["0 s", "100 ms"]}
        prague = {"cc": "prague"} | ({"ecn_fallback": True} if self.queue.endswith(SEARCH) else {})
        pair = [("scalable", prague, "l4s"), ("classic", {"cc": self.classic}, True)]
        flows = [
            {"name": name, "from": "R0", "to": "R1", "start": start, "tcp": {"control": control, "ecn": ecn}}
            for name, control, ecn in pair
        ]
        tree = {
            "name": f"{self.queue}, {self.classic}", "duration": f"{LONG} s", "warmup": f"{SKIPPED} s",
            "packet": f"{PACKET} B", "links": [link], "flows": flows,
            "tcp": {"profile": "linux", "mss": "1448 B", "window": "20000 packets"},
        }  # fmt: skip
        return Scenario(tree, "study l4s")


def _dual(base: str, **parameters: Any) -> dict[str, Any]:
    return {"aqm": "dualq", "base": {base: parameters}, "step_thresh": f"{STEP_MS:g} ms"}


def _fq_codel(_packets: float) -> dict[str, Any]:
    only = {"ce_threshold_selector": 1, "ce_threshold_mask": 3}
    return {"aqm": "fq-codel", "ce_threshold": f"{STEP_MS:g} ms", **only}


GRID: dict[str, Callable[[float], dict[str, Any]]] = {
    "DualPI2": lambda _: {"aqm": "dualpi2"},
    "PIE": lambda _: {"aqm": "pie"},
    "FQ-CoDel": _fq_codel,
}
"""The queues of the grid, by name; each gets the target in packets."""
BASES: dict[str, Callable[[float], dict[str, Any]]] = {
    "PI2": lambda _: _dual("pi2"),
    "PI": lambda packets: _dual("pi", target=packets),
    "CPC": lambda packets: _dual("cpc", target=packets, tuning="10 s"),
    "LED": lambda _: _dual("led"),
    "FuzzyRTT": lambda _: _dual("fuzzy-rtt", target=f"{TARGET_MS:g} ms"),
}
"""The dual queues by their base laws."""
SEARCH = ", Prague searching"
"""The end of a queue's name where Prague looks for classic queues."""
CLASSIC: dict[str, Callable[[float], dict[str, Any]]] = {
    "CoDel": lambda _: {"aqm": "codel"},
    f"CoDel{SEARCH}": lambda _: {"aqm": "codel"},
    f"PIE{SEARCH}": GRID["PIE"],
}
"""Queues that mark both senders alike."""
LEAST = "DualPI2, min_qlen_step 2"
"""DualPI2 whose step counts only for packets that found two others, for links where a packet takes long to send."""
QUEUES = (
    GRID
    | BASES
    | CLASSIC
    | {
        f"DualPI2{SEARCH}": GRID["DualPI2"],
        LEAST: lambda _: {"aqm": "dualpi2", "min_qlen_step": 2},
    }
)


@dataclass(frozen=True)
class Outcome:
    """What a run gave."""

    windows: float
    """Of the scalable flow over that of the classic one."""
    rates: float
    """The same of their goodput."""
    wait_ms: float
    """The 99th percentile of the scalable queue's waits, NaN where there is no such queue."""
    utilization: float

    @classmethod
    def of(cls, record: Record) -> Outcome:
        """Reads a record."""
        scalable, classic = (group for group in record["groups"])
        rates = _ratio(scalable["goodput_bps"], classic["goodput_bps"])
        trips = _ratio(scalable["rtt_ms"]["mean"], classic["rtt_ms"]["mean"])
        link = record["links"][0]
        wait = (link["queues"][0]["wait_ms"] or {}).get("p99", math.nan) if "queues" in link else math.nan
        return cls(rates * trips, rates, wait, link["utilization"])


def _ratio(one: float, other: float) -> float:
    return one / other if other else math.inf


def _middle(values: Sequence[float]) -> float:
    """The middle one of the seeds."""
    return sorted(values)[len(values) // 2]


@dataclass(frozen=True)
class Study:
    """What was measured: the middle outcome of each cell, measure by measure."""

    cells: Mapping[Cell, Outcome]
    seeds: int
    quick: bool

    def of(self, queue: str, classic: str | None = None) -> dict[Cell, Outcome]:
        """The cells with a queue, and with a classic controller where one is named."""
        return {
            cell: outcome
            for cell, outcome in self.cells.items()
            if cell.queue == queue and classic in (None, cell.classic)
        }


@dataclass(frozen=True)
class Claim:
    """What is judged: in which cells of a queue it holds."""

    id: str
    says: str
    source: str
    queue: str
    holds: Callable[[Study, Cell, Outcome], bool]
    applies: Callable[[Cell], bool] = lambda _: True
    """The cells over which it is judged."""


@dataclass(frozen=True)
class Judged:
    """A claim, in how many cells it holds of how many, and its verdict."""

    claim: Claim
    hits: int
    cells: int

    @property
    def verdict(self) -> str:
        """`holds`, `holds in part` or `fails`."""
        part = self.hits / self.cells
        return "holds" if part >= HOLDS else "holds in part" if part >= 0.5 else "fails"


def _near(ratio: float) -> bool:
    return NEAR[0] <= ratio <= NEAR[1]


def _fast(cell: Cell) -> bool:
    """A full packet takes less than half of the step to send."""
    return cell.packet_ms < STEP_MS / 2


def _windows_near(_: Study, __: Cell, outcome: Outcome) -> bool:
    return _near(outcome.windows)


def _rates_near(_: Study, __: Cell, outcome: Outcome) -> bool:
    return _near(outcome.rates)


def _is_full(_: Study, __: Cell, outcome: Outcome) -> bool:
    return outcome.utilization >= 0.95


def _is_as_without_search(study: Study, cell: Cell, outcome: Outcome) -> bool:
    """The very same outcome over the same queue where Prague does not look for classic queues."""
    return outcome == study.cells[replace(cell, queue=cell.queue.removesuffix(SEARCH))]


def _short(_: Study, cell: Cell, outcome: Outcome) -> bool:
    """A packet may find two being sent or in its way where the link takes longer for them than the step."""
    return outcome.wait_ms <= STEP_MS + 2 * cell.packet_ms


CLAIMS = [
    Claim(
        "windows", "Prague's window and the classic flow's are equal over DualPI2", "RFC 9332", "DualPI2",
        _windows_near,
    ),
    Claim(
        "windows-fast", "the same where a packet takes less than 0.5 ms to send", "RFC 9332", "DualPI2",
        _windows_near, _fast,
    ),
    Claim(
        "windows-slow", "the same where a packet takes longer, with min_qlen_step = 2 next to CUBIC", ASKED, LEAST,
        _windows_near, lambda cell: not _fast(cell),
    ),
    Claim(
        "delay", "99 % of scalable packets wait at most 1 ms and two packets' time over DualPI2",
        "RFC 9332", "DualPI2", _short,
    ),
    Claim(
        "full", "the link is used to 95 % over DualPI2", ASKED, "DualPI2",
        _is_full,
    ),
    Claim(
        "single", "over PIE, one queue for both, Prague has more than twice the window of the classic flow",
        "RFC 9332", "PIE", lambda _, __, outcome: outcome.windows > NEAR[1],
    ),
    Claim(
        "fq", "over FQ-CoDel with ce_threshold both have like rates", "RFC 8290", "FQ-CoDel",
        _rates_near,
    ),
    Claim(
        "single-CoDel", "over CoDel, one queue for both, Prague has more than twice the rate of CUBIC",
        "RFC 9331", "CoDel", lambda _, __, outcome: outcome.rates > NEAR[1],
    ),
    *(
        Claim(
            f"search-{name}", f"over {name} both have like rates where Prague looks for classic queues",
            "Briscoe and Ahmed", f"{name}{SEARCH}", _rates_near,
        )
        for name in ("CoDel", "PIE")
    ),
    Claim(
        "search-DualPI2", "over DualPI2 that search changes nothing", "Briscoe and Ahmed", f"DualPI2{SEARCH}",
        _is_as_without_search,
    ),
    *(
        Claim(
            f"base-{name}",
            f"Prague and CUBIC have equal windows over a dual queue with {name}, where a packet takes less than 0.5 ms",
            ASKED, name,
            _windows_near, _fast,
        )
        for name in BASES
    ),
    *(
        Claim(
            f"full-{name}", f"the link is used to 95 % over a dual queue with {name}", ASKED, name,
            _is_full, _fast,
        )
        for name in BASES
    ),
]  # fmt: skip


def judge(study: Study) -> list[Judged]:
    """All claims, each judged over its cells."""
    found = []
    for claim in CLAIMS:
        cells = {cell: outcome for cell, outcome in study.of(claim.queue).items() if claim.applies(cell)}
        hits = sum(claim.holds(study, cell, outcome) for cell, outcome in cells.items())
        found.append(Judged(claim, hits, len(cells)))
    return found


def cells_of(quick: bool) -> Iterator[Cell]:
    """The cells of the study, or of a quick look at it."""
    rates: list[int] = [4, 40] if quick else [4, 12, 40, 120, 200]
    rtts: list[int] = [10, 50] if quick else [5, 10, 20, 50, 100]
    for queue, classic, rate, rtt in itertools.product(GRID, CLASSICS, rates, rtts):
        yield Cell(rate, rtt, queue, classic)
    for queue, rate, rtt in itertools.product([*CLASSIC, f"DualPI2{SEARCH}"], rates, rtts):
        yield Cell(rate, rtt, queue, "cubic")
    for rate, rtt in itertools.product(rates[: len(rates) // 2], rtts):
        yield Cell(rate, rtt, LEAST, "cubic")
    rates, rtts = ([40], [10, 50]) if quick else ([12, 40, 120], [10, 20, 50])
    for queue, rate, rtt in itertools.product(BASES, rates, rtts):
        yield Cell(rate, rtt, queue, "cubic")


def measure(
    seeds: Sequence[int],
    *,
    quick: bool = False,
    threads: int = 0,
    cache: Store | None = None,
    progress: Progress | None = None,
) -> Study:
    """Runs the study. For `threads`, `cache` and `progress` see `run_jobs`."""
    cells = list(cells_of(quick))
    jobs = [Job(cell.scenario(), seed) for cell in cells for seed in seeds]
    records = iter(run_jobs(jobs, threads=threads, cache=cache, progress=progress))
    found = {}
    for cell in cells:
        outcomes = [Outcome.of(next(records)) for _ in seeds]
        each = zip(*((o.windows, o.rates, o.wait_ms, o.utilization) for o in outcomes), strict=True)
        found[cell] = Outcome(*(_middle(values) for values in each))
    return Study(found, len(seeds), quick)
