"""The bench for background transport: what a controller does to others, to itself, and where it breaks.

Every controller runs the same scenarios on a 10 Mbit/s bottleneck of 40 ms round trip, beside CUBIC (RFC 9438):

- *yield*, *reclaim*: a bulk CUBIC flow comes at 60 s and leaves at 120 s. How long until the background flow is under
  a tenth of the link for good, and how long after the leave until it has nine tenths of what it had alone.
- *harm*: what that flow loses of its throughput, and how much longer short transfers take, against runs without the
  background.
- *latecomer*: Jain's index of two background flows, the second 30 s later.
- *disciplines*: the background's share beside CUBIC under RED, CoDel, PIE and FQ-CoDel.
- *clock*, *ACK*, *offered*: what it makes of an idle link when the receiver's clock runs 200 ppm fast for 5 minutes,
  when one ACK stands for eight segments, and how far its window grows when the application offers 1 Mbit/s.
- *crowded*: timeouts a minute at the minimum window beside sixteen CUBIC flows on a short buffer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sojourn import _sojourn
from sojourn.record import Record
from sojourn.running import Job, Progress, run_jobs
from sojourn.scenario import Scenario
from sojourn.stats import Estimate, estimate, jain
from sojourn.store import Store

Array = npt.NDArray[np.float64]
Table = dict[str, Any]
Control = Mapping[str, Any]

LINK = 10e6
PACKET = 1500
DROPTAIL = {"aqm": "droptail", "limit": "100 packets"}
QUEUES: dict[str, Table] = {
    "RED": {"aqm": "red", "limit": "100 packets", "min": 5, "max": 15, "max_p": 0.1, "weight": 0.002},
    "CoDel": {"aqm": "codel", "limit": "100 packets"},
    "PIE": {"aqm": "pie", "limit": "100 packets"},
    "FQ-CoDel": {"aqm": "fq-codel", "limit": "100 packets"},
}


def _group(name: str, control: Control, start: Any, **more: Any) -> Table:
    tcp = {"control": dict(control), **more.pop("tcp", {})}
    access = {"rate": "100 Mbit/s", "delay": "0 ms"}
    return {"name": name, "from": "R0", "to": "R1", "start": start, "access": access, "tcp": tcp, **more}


def _scenario(name: str, flows: list[Table], duration: int, **more: Any) -> Scenario:
    queue = more.pop("queue", DROPTAIL)
    link = {
        "name": "bottleneck", "from": "R0", "to": "R1", "rate": "10 Mbit/s", "delay": "20 ms", "duplex": True,
        "queue": queue,
    }  # fmt: skip
    tree: Table = {
        "name": name, "duration": f"{duration} s", "packet": f"{PACKET} B", "links": [link], "flows": flows,
        "tcp": {"profile": "linux", "mss": "1448 B", "delayed_ack": False, "window": "10000 packets"},
        "trace": {
            "throughput": {"flows": ["*"], "every": "500 ms"}, "queue": {"links": ["bottleneck"], "every": "50 ms"},
            "cwnd": {"flows": ["*"], "every": "500 ms"},
        },
        **more,
    }  # fmt: skip
    return Scenario(tree, name)


_CUBIC = {"cc": "cubic"}
_JITTER = {"uniform": ["0 ms", "100 ms"]}


def _shift(at: int) -> Table:
    return {"uniform": [f"{at} s", f"{at}.1 s"]}


def scenarios(control: Control) -> dict[str, Scenario]:
    """The runs of one controller, by name."""
    lbe = _group("lbe", control, _JITTER)
    bulk = _group("tcp", _CUBIC, _shift(60), stop="120 s")
    short = _group("tcp", _CUBIC, "0 s")
    short["traffic"] = {"kind": "transfers", "every": "400 ms", "size_mean": "150 kB"}
    two = [_group("one", control, _JITTER), _group("two", control, _shift(30))]
    paused = _group("lbe", control, _JITTER)
    paused["traffic"] = {"kind": "onoff", "transport": "tcp", "rate": "2 Mbit/s", "on": "1 s", "off": "1 s"}
    crowd = [lbe, {**_group("tcp", _CUBIC, {"uniform": ["0 s", "2 s"]}), "count": 16}]
    skewed = _group("lbe", control, _JITTER, tcp={"clock_skew_ppm": 200.0})
    thinned = _group("lbe", control, _JITTER, tcp={"delayed_ack": "40 ms", "ack_every": 8})
    made = {
        "bulk": _scenario("bulk", [lbe, bulk], 180),
        "short": _scenario("short", [lbe, short], 120, warmup="20 s"),
        "latecomer": _scenario("latecomer", two, 180),
        "skew": _scenario("skew", [skewed], 300),
        "thin": _scenario("thin", [thinned], 120),
        "paused": _scenario("paused", [paused], 60),
        "crowded": _scenario("crowded", crowd, 80, warmup="20 s", queue={**DROPTAIL, "limit": "25 packets"}),
    }
    for name, queue in QUEUES.items():
        made[name] = _scenario(name, [lbe, _group("tcp", _CUBIC, _JITTER)], 100, warmup="40 s", queue=queue)
    return made


def references() -> dict[str, Scenario]:
    """The foreground without any background."""
    short = _group("tcp", _CUBIC, "0 s")
    short["traffic"] = {"kind": "transfers", "every": "400 ms", "size_mean": "150 kB"}
    return {
        "bulk": _scenario("bulk", [_group("tcp", _CUBIC, _shift(60), stop="120 s")], 180),
        "short": _scenario("short", [short], 120, warmup="20 s"),
    }


def _rate(record: Record, flow: str) -> tuple[Array, Array]:
    table = record.series[f"throughput/{flow}"]
    return table["t"], table["bps"]


def _between(record: Record, flow: str, start: float, end: float) -> float:
    times, bps = _rate(record, flow)
    return float(np.mean(bps[(times > start) & (times <= end)]))


def _yield_time(run: Record) -> float:
    """Seconds from 60 s until the background stays under a tenth of the link (mean of 2 s); NaN if it never does."""
    times, bps = _rate(run, "lbe/0")
    smooth = np.convolve(bps, np.ones(4) / 4, mode="same")
    inside = (times > 60) & (times <= 118)
    above = times[inside][smooth[inside] >= 0.1 * LINK]
    last = float(above[-1]) if len(above) else 60.0
    return float("nan") if last >= 115 else last - 60


def _reclaim_time(run: Record) -> float:
    times, bps = _rate(run, "lbe/0")
    back = times[(times > 120) & (bps >= 0.9 * _between(run, "lbe/0", 30, 60))]
    return float(back[0] - 120) if len(back) else float("nan")


def _queue_ms(run: Record, start: float, end: float) -> float:
    table = run.series["queue/bottleneck"]
    inside = (table["t"] > start) & (table["t"] <= end)
    return float(np.mean(table["bytes"][inside])) * 8 / LINK * 1000


def _jain(run: Record) -> float:
    return jain([_between(run, flow, 90, 180) for flow in ("one/0", "two/0")])


def _share(run: Record) -> float:
    lbe, tcp = (float(run.value(f"groups.{name}.goodput_bps")) for name in ("lbe", "tcp"))
    return 100 * lbe / (lbe + tcp)


def _window(run: Record) -> float:
    return float(np.max(run.series["cwnd/lbe/0"]["packets"]))


Runs = Mapping[str, Record]


@dataclass(frozen=True)
class Row:
    """One line of the score card: what it says, its unit, whether less is better, and how it is read."""

    label: str
    unit: str
    less: bool
    read: Callable[[Runs, Runs], float]


def _completion(runs: Runs, alone: Runs) -> float:
    mean = [float(r["short"].value("groups.tcp.completion_s.mean")) for r in (runs, alone)]
    return 100 * (mean[0] / mean[1] - 1)


def _share_under(name: str) -> Callable[[Runs, Runs], float]:
    return lambda runs, _: _share(runs[name])


ROWS: list[Row] = [
    Row("yield", "s", True, lambda r, _: _yield_time(r["bulk"])),
    Row("reclaim", "s", True, lambda r, _: _reclaim_time(r["bulk"])),
    Row("share beside CUBIC", "%", True, lambda r, _: 100 * _between(r["bulk"], "lbe/0", 80, 120) / LINK),
    Row(
        "CUBIC's loss of throughput", "%", True,
        lambda r, a: 100 * (1 - _between(r["bulk"], "tcp/0", 62, 120) / _between(a["bulk"], "tcp/0", 62, 120)),
    ),
    Row("short transfers take longer by", "%", True, _completion),
    Row("alone: of the link", "%", False, lambda r, _: 100 * _between(r["bulk"], "lbe/0", 30, 60) / LINK),
    Row("alone: packets wait", "ms", True, lambda r, _: _queue_ms(r["bulk"], 30, 60)),
    Row("latecomer: Jain's index", "", False, lambda r, _: _jain(r["latecomer"])),
    *[Row(f"share under {name}", "%", True, _share_under(name)) for name in QUEUES],
    Row("clock 200 ppm off: of the link", "%", False, lambda r, _: 100 * _between(r["skew"], "lbe/0", 100, 300) / LINK),
    Row("clock 200 ppm off: packets wait", "ms", True, lambda r, _: _queue_ms(r["skew"], 100, 300)),
    Row("an ACK for 8: of the link", "%", False, lambda r, _: 100 * _between(r["thin"], "lbe/0", 30, 120) / LINK),
    Row("offered 1 Mbit/s: window", "packets", True, lambda r, _: _window(r["paused"])),
    Row("crowded: timeouts", "/min", True, lambda r, _: float(r["crowded"]["flows"][0]["timeouts"])),
]  # fmt: skip


def controllers() -> list[str]:
    """Every registered controller."""
    return [str(entry["name"]) for entry in json.loads(_sojourn.registry())["cc"]]


def score(
    chosen: Sequence[Control],
    seeds: Sequence[int] = (1, 2, 3),
    *,
    threads: int = 0,
    cache: Store | None = None,
    progress: Progress | None = None,
) -> list[list[Estimate]]:
    """One list of estimates a controller, in the order of `ROWS`."""
    sets = [references(), *[scenarios(control) for control in chosen]]
    jobs = [Job(scenario, seed) for each in sets for scenario in each.values() for seed in seeds]
    records = iter(run_jobs(jobs, threads=threads, cache=cache, progress=progress))
    found = [{name: [next(records) for _ in seeds] for name in each} for each in sets]
    cards = []
    for each in found[1:]:
        card = []
        for row in ROWS:
            values = []
            for i in range(len(seeds)):
                own, alone = ({name: runs[i] for name, runs in part.items()} for part in (each, found[0]))
                values.append(row.read(own, alone))
            card.append(estimate(np.array(values)))
        cards.append(card)
    return cards
