"""Runs a diagnosis: estimates of every case, and the recommended setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sojourn.compare.comparison import estimated
from sojourn.core.record import Record
from sojourn.core.record_schema import Measure, measure
from sojourn.core.scenario import Scenario
from sojourn.core.stats import Estimate, paired
from sojourn.diagnose.cases import IDLE, NOW, Shaper, cases_of, idle, loaded, shapers, slower
from sojourn.diagnose.line import Line, line_of
from sojourn.runs.jobs import raise_failed
from sojourn.runs.runner import Job, Progress, run_all
from sojourn.runs.seeds import Seeds, first_seed, seeds_of
from sojourn.runs.store import Store

CLOSE = 5.0
"""A difference of latency in ms that decides nothing: the target of CoDel (rfc8289#4.2)."""

NEITHER = {
    True: f"leave it as it is: no shaper lowers the 95 % latency by more than {CLOSE:g} ms",
    False: f"none: these seeds don't tell whether a shaper lowers the 95 % latency by more than {CLOSE:g} ms; --seeds",
}
"""What is said without a recommended shaper, by whether the seeds decide."""

SLOW = "{}, line 5 % slower"
"""The label of a case on a slower line."""


@dataclass(frozen=True)
class Diagnosis:
    """The runs of each case, one per seed, and the recommended shaper.

    `choice` is None if the line needs none, or if the seeds don't tell (`decided` is false). `cases` has the cases
    under load in order; `records` also has the idle line and the slower lines.
    """

    name: str
    line: Line
    seeds: list[int]
    cases: list[str]
    records: Mapping[str, Sequence[Record]]
    choice: Shaper | None
    decided: bool = True

    @property
    def rows(self) -> list[str]:
        """The cases under load, then those on a slower line."""
        return [case for case in self.records if case != IDLE]

    @property
    def best(self) -> str:
        """The label of the recommended case."""
        return self.choice.label if self.choice else NOW

    def of(self, case: str, what: Measure) -> Estimate:
        """The mean of a measure in a case.

        Its interval includes the error of quantiles from a histogram.
        """
        found = estimated(self.records[case], what)
        return replace(found, half=found.half + what.error * found.mean)


def measures(line: Line) -> dict[str, Measure]:
    """The columns of a diagnosis: the ping, then RPM and goodput of each direction."""
    of_ping = {f"ping {path.rpartition('.')[2]}": measure("groups", path, "ping") for path in PING}
    rpm = {"ping RPM": measure("groups", "responsiveness_rpm", "ping")}
    flows = {at: measure("groups", "goodput_bps", at) for at in line.ways}
    own = {f"{at} RPM": measure("groups", "responsiveness_rpm", at) for at in line.ways}
    return of_ping | rpm | own | flows


PING = ("rtt_ms.p50", "rtt_ms.p95", "rtt_ms.p99", "rtt_ms.jitter")
LATENCY = "ping p95"
"""The column that decides."""


def diagnose(
    scenario: Scenario,
    seeds: Seeds = 5,
    *,
    link: str | None = None,
    home: str | None = None,
    threads: int = 0,
    cache: Store | None = None,
    progress: Progress | None = None,
) -> Diagnosis:
    """Runs the line of a scenario idle, under load, and with each setting that might help.

    For `link` and `home` see `line_of`. Raises `UserError` for a scenario without a line, `RunError` if a run fails.
    """
    line = line_of(scenario, link, home)
    chosen = seeds_of(seeds, first_seed(scenario))
    base = loaded(scenario, line)
    cases = cases_of(base, line)
    slow = {SLOW.format(each.label): slower(cases[each.label], line) for each in shapers(line)}
    every = {IDLE: idle(base), **cases, **slow}
    jobs = [Job(case, seed) for case in every.values() for seed in chosen]
    found, failed = run_all(jobs, threads=threads, cache=cache, progress=progress)
    if failed:
        raise_failed(failed, len(jobs), cache)
    records = {label: [found[at * len(chosen) + i] for i in range(len(chosen))] for at, label in enumerate(every)}
    name = str(scenario.get("name", scenario.label))
    return Diagnosis(name, line, chosen, list(cases), records, *_choice(line, records))


def _choice(line: Line, records: Mapping[str, Sequence[Record]]) -> tuple[Shaper | None, bool]:
    """The fastest shaper that is close to the best one even on a slower line.

    It is None unless it reduces the latency. The second value is whether the seeds decide.
    """
    what = measures(line)[LATENCY]
    values = {label: [what.of(record) for record in each] for label, each in records.items()}
    slow = {each.label: values[SLOW.format(each.label)] for each in shapers(line)}
    best = min(slow.values(), key=sum)
    fastest = next(each for each in shapers(line) if paired(slow[each.label], best).low <= CLOSE)
    gain = paired(values[NOW], values[fastest.label])
    helps = gain.low > CLOSE
    return fastest if helps else None, helps or gain.high <= CLOSE
