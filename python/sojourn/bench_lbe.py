"""A benchmark of background transport: what a controller does to other flows, to its own, and where it fails.

Every controller runs the same scenarios on a bottleneck of 10 Mbit/s, 40 ms round trip and 100 packets, with CUBIC
(rfc9438) as foreground:

- *yield*, *reclaim*: a bulk CUBIC flow starts at 60 s and stops at 120 s. How long until the background flow stays
  below a tenth of the link; how long after the stop until it has nine tenths of what it had alone.
- *harm*: how much throughput that flow loses and how much longer short transfers take, compared with runs without the
  background. Also, as the TCP evaluation suite asks (draft-irtf-iccrg-tcpeval, impact on standard TCP traffic),
  compared with a run with CUBIC in place of the background: L, what the foreground loses; G, what the background gains.
- *latecomer*: Jain's index of two background flows, the second of which starts 30 s later.
- *disciplines*: the background's share next to CUBIC under DropTail, RED, CoDel, PIE and FQ-CoDel.
- *clock*: the receiver's clock runs 200 ppm fast for 5 minutes.
- *route*: the delay of the forward path is 100 ms, 20 ms from 60 s on, and 100 ms again from 120 s on.
- *ACKs*, *losses*: one ACK for eight segments; one packet in a thousand is lost at random.
- *least window*: sixteen CUBIC flows leave no more than the least window, where it may take a timeout to detect a
  single loss.
- *offered*: the application offers 2 Mbit/s half of the time.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sojourn import _sojourn
from sojourn.labels import with_unit
from sojourn.ranges import Range
from sojourn.record import Record
from sojourn.running import Job, Progress, run_jobs
from sojourn.scenario import Scenario
from sojourn.stats import Estimate, estimate, jain, paired
from sojourn.store import Store

Array = npt.NDArray[np.float64]
Table = dict[str, Any]
Control = Mapping[str, Any]

LINK = 10e6
PACKET = 1500
TRACED = 0.5
"""Seconds between two samples of throughput, so no time is known better."""
LEAST = {"s": TRACED, "%": 1.0, "ms": 1.0, "packets": 1.0, "/min": 1.0, "": 0.01}
"""The least difference that counts, by unit; one without a unit is of Jain's index."""
JITTER = {"uniform": ["0 ms", "1 ms"]}
"""Delay of a flow's own link, so that seeds differ by more than the starts of flows."""
DROPTAIL = {"aqm": "droptail", "limit": "100 packets"}
SOME, PART, INDEX = Range(0.0), Range(0.0, 100.0), Range(0.0, 1.0)
LOST, CHANGE = Range(high=100.0), Range(-100.0)
"""What measures can be: a count or a time, a part in percent, Jain's index; losses and changes against a reference, in
percent."""
QUEUES: dict[str, Table] = {
    "DropTail": DROPTAIL,
    "RED": {"aqm": "red", "limit": "100 packets", "min": 5, "max": 15, "max_p": 0.1, "weight": 0.002},
    "CoDel": {"aqm": "codel", "limit": "100 packets"},
    "PIE": {"aqm": "pie", "limit": "100 packets"},
    "FQ-CoDel": {"aqm": "fq-codel", "limit": "100 packets"},
}


def group(name: str, control: Control, start: Any, **more: Any) -> Table:
    """A group of one flow under a congestion controller; `more` are further fields of the group."""
    tcp = {"control": dict(control), **more.pop("tcp", {})}
    access = {"rate": "100 Mbit/s", "delay": JITTER}
    return {"name": name, "from": "R0", "to": "R1", "start": start, "access": access, "tcp": tcp, **more}


def path_scenario(name: str, flows: list[Table], duration: int, **more: Any) -> Scenario:
    """Flows over the benchmark's link for `duration` seconds.

    `link` and `queue` change the link, `more` are further tables of the scenario.
    """
    link = {
        "name": "bottleneck", "from": "R0", "to": "R1", "rate": "10 Mbit/s", "delay": "20 ms", "duplex": True,
        "queue": more.pop("queue", DROPTAIL), **more.pop("link", {}),
    }  # fmt: skip
    tree: Table = {
        "name": name, "duration": f"{duration} s", "packet": f"{PACKET} B", "links": [link], "flows": flows,
        "tcp": {"profile": "linux", "mss": "1448 B", "delayed_ack": False, "window": "10000 packets"},
        "trace": {
            "throughput": {"flows": ["*"], "every": f"{TRACED} s"}, "cwnd": {"flows": ["*"], "every": f"{TRACED} s"},
            "queue": {"links": ["bottleneck"], "every": "50 ms"},
        },
        **more,
    }  # fmt: skip
    return Scenario(tree, name)


CUBIC = {"cc": "cubic"}
AT_START = {"uniform": ["0 ms", "100 ms"]}
"""When flows start that are there from the beginning: not all at once."""


def _shift(at: int) -> Table:
    return {"uniform": [f"{at} s", f"{at}.1 s"]}


_LOSSY = {"impairments": [{"kind": "loss", "probability": 0.001}]}
_ROUTE = {
    "delay": "100 ms",
    "changes": [{"at": "60 s", "delay": "20 ms"}, {"at": "120 s", "delay": "100 ms"}],
    "back": {"delay": "20 ms"},
}


def _bulk() -> Table:
    return group("tcp", CUBIC, _shift(60), stop="120 s")


def _transfers() -> Table:
    return group("tcp", CUBIC, "0 s", traffic={"kind": "transfers", "every": "400 ms", "size_mean": "150 kB"})


def scenarios(control: Control) -> dict[str, Scenario]:
    """The scenarios of one controller, by name."""
    lbe = group("lbe", control, AT_START)
    two = [group("one", control, AT_START), group("two", control, _shift(30))]
    onoff = {"kind": "onoff", "transport": "tcp", "rate": "2 Mbit/s", "on": "1 s", "off": "1 s"}
    many = [lbe, {**group("tcp", CUBIC, {"uniform": ["0 s", "2 s"]}), "count": 16}]
    skewed = group("lbe", control, AT_START, tcp={"clock_skew_ppm": 200.0})
    thinned = group("lbe", control, AT_START, tcp={"delayed_ack": "40 ms", "ack_every": 8})
    made = {
        "bulk": path_scenario("bulk", [lbe, _bulk()], 180),
        "short": path_scenario("short", [lbe, _transfers()], 120, warmup="20 s"),
        "latecomer": path_scenario("latecomer", two, 180),
        "skew": path_scenario("skew", [skewed], 300),
        "thin": path_scenario("thin", [thinned], 120),
        "route": path_scenario("route", [lbe], 240, link=_ROUTE),
        "losses": path_scenario("losses", [lbe], 120, link=_LOSSY),
        "offered": path_scenario("offered", [{**lbe, "traffic": onoff}], 60),
        "many": path_scenario("many", many, 80, warmup="20 s"),
    }
    for name, queue in QUEUES.items():
        made[name] = path_scenario(name, [lbe, group("tcp", CUBIC, AT_START)], 100, warmup="40 s", queue=queue)
    return made


def references() -> dict[str, Scenario]:
    """The reference scenarios: no background, or CUBIC in place of the background."""
    standard = scenarios(CUBIC)
    return {
        "bulk": path_scenario("bulk", [_bulk()], 180),
        "short": path_scenario("short", [_transfers()], 120, warmup="20 s"),
        "standard": standard["bulk"],
        "offered": standard["offered"],
    }


def _rate(record: Record, flow: str) -> tuple[Array, Array]:
    table = record.series[f"throughput/{flow}"]
    return table["t"], table["bps"]


def throughput_between(record: Record, flow: str, start: float, end: float) -> float:
    """The mean throughput of a flow between two times in seconds, in bit/s."""
    times, bps = _rate(record, flow)
    return float(np.mean(bps[(times > start) & (times <= end)]))


def yield_time(run: Record, limit: float, start: float, end: float) -> float:
    """Seconds from `start` on until the background stays below a rate in bit/s (mean of 2 s); NaN if never by `end`."""
    times, bps = _rate(run, "lbe/0")
    smooth = np.convolve(bps, np.ones(4) / 4, mode="same")
    inside = (times > start) & (times <= end - 2)
    above = times[inside][smooth[inside] >= limit]
    last = float(above[-1]) if len(above) else start
    return float("nan") if last >= end - 5 else last - start


def reclaim_time(run: Record, limit: float, start: float) -> float:
    """Seconds from `start` on until the background has a rate in bit/s; NaN if it never has."""
    times, bps = _rate(run, "lbe/0")
    back = times[(times > start) & (bps >= limit)]
    return float(back[0] - start) if len(back) else float("nan")


def _reclaim(run: Record) -> float:
    return reclaim_time(run, 0.9 * throughput_between(run, "lbe/0", 30, 60), 120)


def _queue_ms(run: Record, start: float, end: float) -> float:
    table = run.series["queue/bottleneck"]
    inside = (table["t"] > start) & (table["t"] <= end)
    return float(np.mean(table["bytes"][inside])) * 8 / LINK * 1000


def _jain(run: Record) -> float:
    return jain([throughput_between(run, flow, 90, 180) for flow in ("one/0", "two/0")])


def _share(run: Record) -> float:
    lbe, tcp = (float(run.value(f"groups.{name}.goodput_bps")) for name in ("lbe", "tcp"))
    return 100 * lbe / (lbe + tcp)


def _window(run: Record) -> float:
    return float(np.max(run.series["cwnd/lbe/0"]["packets"]))


Runs = Mapping[str, Record]


@dataclass(frozen=True)
class Row:
    """A row of the score card: section, label, unit, whether less is better, and how it is computed.

    `read` gets the controller's records and those of the references. Where something may never happen, `never` is what
    a comparison takes instead of its time: how long it was waited for. `within` are the values that it can have.
    """

    section: str
    label: str
    unit: str
    less: bool
    read: Callable[[Runs, Runs], float]
    never: float = float("nan")
    within: Range = SOME

    @property
    def title(self) -> str:
        """Label and unit."""
        return with_unit(self.label, self.unit)

    def text(self, values: Array) -> str:
        """The mean over seeds with its 95 % interval; in how many seeds it never happened."""
        places = 2 if self.unit else 3
        seen = values[np.isfinite(values)]
        if math.isnan(self.never):
            return estimate(values, within=self.within).text(places=places)
        if not len(seen):
            return "never"
        missing = len(values) - len(seen)
        return estimate(seen, within=self.within).text(places=places) + (
            f" (never in {missing} of {len(values)})" if missing else ""
        )

    def advantage(self, one: Array, other: Array) -> Estimate:
        """How much better `one` is than `other` with the same seeds: above 0 where it is better."""
        a, b = (np.where(np.isnan(values), self.never, values) for values in (one, other))
        return paired(b, a, within=self.within) if self.less else paired(a, b, within=self.within)

    def better(self, one: Array, other: Array) -> bool:
        """Whether `one` is better by more than counts, and the 95 % interval of the paired difference is above 0."""
        found = self.advantage(one, other)
        return found.n > 1 and found.mean > LEAST[self.unit] and found.low > 0


def _completion(runs: Runs, reference: Runs) -> float:
    mean = [float(r["short"].value("groups.tcp.completion_s.mean")) for r in (runs, reference)]
    return 100 * (mean[0] / mean[1] - 1)


def _gain(runs: Runs, reference: Runs, flow: str, to: str) -> float:
    """How much more throughput a flow has than in a reference, in percent, while both flows run."""
    return 100 * (
        throughput_between(runs["bulk"], flow, 62, 120) / throughput_between(reference[to], flow, 62, 120) - 1
    )


def _of_link(run: str, start: float, end: float) -> Callable[[Runs, Runs], float]:
    return lambda runs, _: 100 * throughput_between(runs[run], "lbe/0", start, end) / LINK


def _wait(run: str, start: float, end: float) -> Callable[[Runs, Runs], float]:
    return lambda runs, _: _queue_ms(runs[run], start, end)


def _share_under(name: str) -> Callable[[Runs, Runs], float]:
    return lambda runs, _: _share(runs[name])


def _delivered(runs: Runs, reference: Runs) -> float:
    own, cubic = (float(r["offered"].value("groups.lbe.goodput_bps")) for r in (runs, reference))
    return 100 * own / cubic


def _timeouts(runs: Runs, _: Runs) -> float:
    """Timeouts in the minute that is measured."""
    return float(runs["many"]["flows"][0]["timeouts"])


_HARM = "one CUBIC flow starts and stops"
_ALONE = "alone, and two of the same"
_SHARE = "share next to one CUBIC flow"
_PATHS = "misleading paths"

ROWS: list[Row] = [
    Row(_HARM, "yields within", "s", True, lambda r, _: yield_time(r["bulk"], 0.1 * LINK, 60, 120), 60.0),
    Row(_HARM, "recovers within", "s", True, lambda r, _: _reclaim(r["bulk"]), 60.0),
    Row(_HARM, "share of the link meanwhile", "%", True, _of_link("bulk", 80, 120), within=PART),
    Row(_HARM, "CUBIC loses, against none", "%", True, lambda r, a: -_gain(r, a, "tcp/0", "bulk"), within=LOST),
    Row(_HARM, "L: CUBIC loses, against CUBIC", "%", True, lambda r, a: -_gain(r, a, "tcp/0", "standard"), within=LOST),
    Row(_HARM, "G: gains, against CUBIC", "%", True, lambda r, a: _gain(r, a, "lbe/0", "standard"), within=CHANGE),
    Row(_HARM, "short CUBIC transfers take longer by", "%", True, _completion, within=CHANGE),
    Row(_ALONE, "utilization", "%", False, _of_link("bulk", 30, 60), within=PART),
    Row(_ALONE, "mean wait", "ms", True, _wait("bulk", 30, 60)),
    Row(_ALONE, "Jain's index, the second 30 s later", "", False, lambda r, _: _jain(r["latecomer"]), within=INDEX),
    *[Row(_SHARE, f"under {name}", "%", True, _share_under(name), within=PART) for name in QUEUES],
    Row(_PATHS, "clock 200 ppm off: utilization", "%", False, _of_link("skew", 100, 300), within=PART),
    Row(_PATHS, "clock 200 ppm off: mean wait", "ms", True, _wait("skew", 100, 300)),
    Row(_PATHS, "route 80 ms shorter: utilization", "%", False, _of_link("route", 75, 120), within=PART),
    Row(_PATHS, "route 80 ms shorter: mean wait", "ms", True, _wait("route", 75, 120)),
    Row(_PATHS, "route 80 ms longer: utilization", "%", False, _of_link("route", 150, 240), within=PART),
    Row(_PATHS, "route 80 ms longer: mean wait", "ms", True, _wait("route", 150, 240)),
    Row(_PATHS, "one ACK for 8 segments: utilization", "%", False, _of_link("thin", 30, 120), within=PART),
    Row(_PATHS, "1 in 1,000 lost: utilization", "%", False, _of_link("losses", 30, 120), within=PART),
    Row(_PATHS, "losses at the least window: timeouts", "/min", True, _timeouts),
    Row("the application offers 1 Mbit/s", "largest window", "packets", True, lambda r, _: _window(r["offered"])),
    Row("the application offers 1 Mbit/s", "delivered, compared with CUBIC", "%", False, _delivered),
]  # fmt: skip


def controllers() -> list[str]:
    """The names of all registered congestion controllers that need no law of the caller and no kernel."""
    names = [str(entry["name"]) for entry in json.loads(_sojourn.registry())["cc"]]
    return [name for name in names if name not in ("external", "linux")]


@dataclass(frozen=True)
class ScoreCards:
    """What the benchmark measured: `values[controller, row, seed]`, NaN where something never happened."""

    values: Array

    def text(self, controller: int, row: int) -> str:
        """A mean with its 95 % interval."""
        return ROWS[row].text(self.values[controller, row])

    def estimate(self, controller: int, row: int) -> Estimate:
        """A mean over the seeds; NaN where something never happened with one of them."""
        return estimate(self.values[controller, row], within=ROWS[row].within)

    def best(self, row: int) -> set[int]:
        """The controller that is significantly better than every other, with those that equal it; none without one."""
        of_row = self.values[:, row]
        for one in range(len(of_row)):
            equals = {i for i, other in enumerate(of_row) if np.array_equal(other, of_row[one], equal_nan=True)}
            others = [other for i, other in enumerate(of_row) if i not in equals]
            if others and all(ROWS[row].better(of_row[one], other) for other in others):
                return equals
        return set()

    def counts(self, one: int, other: int) -> tuple[int, int]:
        """In how many rows a controller is significantly better than another, and in how many worse."""
        pairs = [(row, self.values[one, i], self.values[other, i]) for i, row in enumerate(ROWS)]
        return sum(row.better(a, b) for row, a, b in pairs), sum(row.better(b, a) for row, a, b in pairs)


def score(
    chosen: Sequence[Control],
    seeds: Sequence[int] = (1, 2, 3, 4, 5),
    *,
    threads: int = 0,
    cache: Store | None = None,
    progress: Progress | None = None,
) -> ScoreCards:
    """Runs the benchmark.

    `chosen` are `tcp.control` tables, such as `{"cc": "ledbat"}`. For `threads`, `cache` and `progress` see `run_jobs`.
    """
    sets = [references(), *[scenarios(control) for control in chosen]]
    jobs = [Job(scenario, seed) for each in sets for scenario in each.values() for seed in seeds]
    records = iter(run_jobs(jobs, threads=threads, cache=cache, progress=progress))
    found = [{name: [next(records) for _ in seeds] for name in each} for each in sets]
    values = np.empty((len(chosen), len(ROWS), len(seeds)))
    for seed in range(len(seeds)):
        alone, *own = ({name: runs[seed] for name, runs in each.items()} for each in found)
        for i, runs in enumerate(own):
            values[i, :, seed] = [row.read(runs, alone) for row in ROWS]
    return ScoreCards(values)
