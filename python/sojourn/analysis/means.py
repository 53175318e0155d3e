"""Means of a loop over a time window: operating point, fluid model, and packet runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from sojourn.analysis.feedback_loop import Loop
from sojourn.analysis.plant import Managed, Plant, Point, latest_start, seconds
from sojourn.core.errors import ScenarioError
from sojourn.core.record import Record
from sojourn.core.scenario import Scenario
from sojourn.runs.laws import Laws
from sojourn.runs.runner import Job, run_jobs
from sojourn.runs.seeds import seeds_of

Array = npt.NDArray[np.float64]
Trace = dict[str, Array]
NAN = math.nan

LONGEST = 60.0
"""The maximum duration of a packet run in seconds."""
MOST_PACKETS = 10e6
"""The approximate maximum number of packets in all runs together."""


@dataclass(frozen=True, kw_only=True)
class Means:
    """The compared means; NaN if one side lacks a value.

    `queue`, its standard deviation `sd`, and `window` (the mean of all flows) are in packets. `wait` and `rtt` are in
    seconds. The rest are fractions: `signals` are packets dropped or marked, divided by arrivals; `law` is the
    probability that the law requests.
    """

    queue: float
    sd: float
    utilization: float
    signals: float
    law: float
    wait: float
    rtt: float
    window: float


@dataclass(frozen=True)
class Extra:
    """Results that only packet runs have, as fractions.

    `own` are the law's own drops and marks, divided by arriving packets.
    """

    own: float
    other: float
    """The fraction of all drops and marks that a full queue or an impairment causes."""
    timeouts: float
    """The fraction of timeouts among window reductions after losses; NaN without a loss."""
    together: float
    """Drops per window reduction; NaN without one, or if packets are marked."""
    noise: float
    """Two relative standard deviations of the number of drops and marks.

    They are counted as independent events.
    """


def at_rest(point: Point, plant: Plant) -> Means:
    """The means at the operating point."""
    wait, rtt, p = point.queue / plant.capacity, mean_rtt(plant, point.rtts), point.probability
    return Means(
        queue=point.queue,
        sd=0.0,
        utilization=point.utilization,
        signals=p,
        law=p,
        wait=wait,
        rtt=rtt,
        window=point.window,
    )


def of_fluid(trace: Trace, plant: Plant, start: float) -> Means:
    """The means of the fluid model from `start` seconds on; `trace` is that of `Loop.simulate`."""
    kept = {name: values[trace["t"] >= start] for name, values in trace.items()}
    queue, p = kept["queue"], kept["probability"]
    waits = queue / plant.capacity
    sizes = [each.flows for each in plant.classes]
    windows = np.average([kept[f"window{i}"] for i in range(len(sizes))], axis=0, weights=sizes)
    sent = np.minimum(1.0, kept["load"] * (1 - p if plant.drops else 1.0))
    used = np.where(queue > 0, 1.0, sent)
    rtt = float(np.mean(waits)) + mean_rtt(plant, [each.delay for each in plant.classes])
    signals = float(np.sum(p * kept["load"]) / max(float(np.sum(kept["load"])), 1e-12))
    if np.any(queue > 0.999 * plant.limit):
        signals = NAN  # the probability excludes drops at the limit
    mean = float(np.mean(queue))
    return Means(
        queue=mean,
        sd=float(np.std(queue)),
        utilization=float(np.mean(used)),
        signals=signals,
        law=float(np.mean(p)),
        wait=mean / plant.capacity,
        rtt=rtt,
        window=float(np.mean(windows)),
    )


def mean_rtt(plant: Plant, rtts: Sequence[float]) -> float:
    """The mean of a quantity of classes, such as the round trip, over all flows."""
    return float(np.average(rtts, weights=[each.flows for each in plant.classes]))


@dataclass(frozen=True)
class PacketRuns:
    """Packet runs of a managed link with different seeds: their records and compared means."""

    managed: Managed
    records: list[Record]

    @property
    def start(self) -> float:
        """The start of the measured window in seconds."""
        return float(self.records[0]["warmup_s"])

    @property
    def end(self) -> float:
        """The end of the runs in seconds."""
        return float(self.records[0]["duration_s"])

    @property
    def whole(self) -> float:
        """The duration of the scenario in seconds."""
        return seconds(self.managed.scenario.resolved()["duration"])

    @property
    def path_rtt(self) -> float:
        """The mean round trip of the path with the measured queue, in seconds, without delayed ACKs."""
        plant, wait = self.managed.plant, self.mean().wait
        base = mean_rtt(plant, [each.delay for each in plant.classes])
        return base if math.isnan(wait) else base + wait

    @property
    def acts(self) -> str:
        """What the queue did to packets: "dropped", "marked", or "dropped or marked"."""
        links = [record.value(f'links."{self.managed.link}"') for record in self.records]
        done = {"dropped": "dropped_total", "marked": "marked"}
        return " or ".join(act for act, count in done.items() if any(link[count] for link in links))

    def series(self, run: int = 0) -> Trace:
        """The queue of a run over time."""
        return self.records[run].series[f"queue/{self.managed.link}"]

    def values(self, name: str) -> list[float]:
        """A field of `Means`, for each run."""
        return [getattr(means, name) for means in self.means]

    @property
    def means(self) -> list[Means]:
        """The means of each run."""
        return [self._means(i) for i in range(len(self.records))]

    def mean(self) -> Means:
        """The means over all runs."""
        return Means(**{field.name: float(np.mean(self.values(field.name))) for field in fields(Means)})

    def _means(self, run: int) -> Means:
        record, name = self.records[run], self.managed.link
        link = record.value(f'links."{name}"')
        lost = link["dropped_total"] + link["marked"]
        law = NAN if link["probability_mean"] is None else float(link["probability_mean"])
        flows = self._flows(record)
        wire = 8 * self.managed.plant.packet
        windows = [flow["throughput_bps"] / wire * flow["rtt_ms"]["mean"] / 1e3 for flow in flows]
        rtts = [flow["rtt_ms"]["mean"] / 1e3 for flow in flows]
        wait = (link["wait_ms"] or {}).get("mean", NAN) / 1e3
        return Means(
            queue=link["queue"]["mean"],
            sd=link["queue"]["sd"],
            utilization=link["utilization"] or 0.0,
            signals=lost / max(link["arrived"], 1),
            law=law,
            wait=wait,
            rtt=float(np.mean(rtts)) if rtts else NAN,
            window=float(np.mean(windows)) if windows else NAN,
        )

    def _flows(self, record: Record) -> list[dict[str, Any]]:
        return [flow for flow in record["flows"] if flow["group"] in self.managed.groups and flow["rtt_ms"]]

    def extra(self) -> Extra:
        """The results that only packet runs have, over all runs."""
        links = [record.value(f'links."{self.managed.link}"') for record in self.records]
        lost = sum(link["dropped_total"] + link["marked"] for link in links)
        own = sum(link["dropped"]["early"] + link["dropped"]["forced"] + link["marked"] for link in links)
        flows = [flow for record in self.records for flow in self._flows(record)]
        timeouts, fast = (sum(flow[key] for flow in flows) for key in ("timeouts", "fast_retransmits"))
        arrived, cuts = sum(link["arrived"] for link in links), timeouts + fast
        drops = sum(flow["dropped"] for flow in flows)
        together = drops / cuts if cuts and self.managed.plant.drops else NAN
        return Extra(
            own / max(arrived, 1),
            1 - own / lost if lost else 0.0,
            timeouts / cuts if cuts else NAN,
            together,
            2 / math.sqrt(max(lost, 1)),
        )


def short(managed: Managed, seeds: int, length: float | None = None) -> Scenario:
    """The scenario of a packet run: at most `length` seconds, with the queue's trace.

    By default it ends a minute after the last flow started, or earlier on a fast link. If that shortens the scenario,
    the warm-up ends after a third of the run at the latest.
    """
    tree, scenario = managed.scenario.resolved(), managed.scenario.copy()
    whole, warmup = seconds(tree["duration"]), seconds(tree["warmup"])
    last = latest_start(managed)
    most = length or last + min(LONGEST, max(2.0, MOST_PACKETS / seeds / managed.plant.capacity))
    if most < whole:
        scenario.set("duration", f"{most:.3g} s")
        scenario.set("warmup", f"{min(max(warmup, last), most / 3):.3g} s")
    scenario.set("trace", {"queue": {"links": [managed.link], "every": "10 ms"}})
    return scenario


def packet_runs(
    managed: Managed, seeds: int, first: int, length: float | None = None, *, laws: Laws | None = None
) -> PacketRuns:
    """Runs the scenario of a managed link with `seeds` seeds from `first` on.

    For their `length` see `short`. `laws` are laws in Python.
    """
    scenario = short(managed, seeds, length)
    return PacketRuns(managed, run_jobs([Job(scenario, seed) for seed in seeds_of(seeds, first)], laws=laws))


def fluid_run(loop: Loop, duration: float) -> Trace | str:
    """The fluid model from an empty queue, with windows that fill the link.

    Returns the reason instead if the model can't be run. `duration` is in seconds. The model has no slow start, which
    brings flows to about such windows at once.
    """
    rtt = mean_rtt(loop.plant, [each.delay for each in loop.plant.classes])
    window = max(1.0, loop.plant.capacity * rtt / loop.plant.flows)
    try:
        return loop.simulate(duration, window=window)
    except ScenarioError as error:
        return str(error)
