"""The plant that a queue law controls: TCP flows and a queue.

It is available as the fluid model and as linear systems. There are two linear forms of the same equations. The
*textbook* form (hollot-2001) replaces the window one round trip ago by the present one, and assumes a constant round
trip; it is rational apart from its dead time. The *exact* form makes neither simplification.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import control
import numpy as np
import numpy.typing as npt

from sojourn import _sojourn
from sojourn.analysis import checks
from sojourn.core.errors import UserError
from sojourn.core.scenario import Scenario
from sojourn.core.scenario_files import Source, load

Array = npt.NDArray[np.float64]
Complexes = npt.NDArray[np.complex128]


@dataclass(frozen=True)
class Flows:
    """A class of equal flows: `flows` is their number, `delay` their RTT in s without the queue.

    A window grows by `increase` packets per round trip, and shrinks by the fraction `decrease` for each drop or mark: 1
    and 1/2 for Reno with an ACK per packet.

    >>> Plant((Flows(10, 0.05), Flows(10, 0.2)), capacity=1250.0).flows
    20
    """

    flows: float
    delay: float
    increase: float = 1.0
    decrease: float = 0.5


def _class(where: str, flows: Flows) -> dict[str, float]:
    """A class of flows in the engine's format. Raises `UserError` for invalid numbers."""
    return {
        "flows": checks.positive(f"{where}.flows", flows.flows, "flows"),
        "delay": checks.seconds(f"{where}.delay", flows.delay, "a round trip"),
        "increase": checks.positive(f"{where}.increase", flows.increase, "packets per round trip"),
        "decrease": checks.within(f"{where}.decrease", flows.decrease, "a fraction of 1e-9 to 1", checks.LEAST, 1.0),
    }


@dataclass(frozen=True)
class Plant:
    """Classes of flows and the link that they share.

    `classes` are the classes of flows. `capacity` is in packets per second, `limit` in packets (default: none),
    `packet` and `mean_packet` in bytes, `link_delay` in seconds. `drops` is True if the queue drops, False if it marks.
    `notes` lists what the model omits.

    >>> round(Plant.of(20, 1250.0, 0.1).point_at(60).window, 2)  # packets: R C / N, with 60 packets in R
    9.25
    """

    classes: tuple[Flows, ...]
    capacity: float
    _: KW_ONLY
    limit: float = float("inf")
    packet: float = 1000.0
    drops: bool = False
    mean_packet: float = 0.0
    link_delay: float = 0.0
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, flows: float, capacity: float, delay: float, **more: Any) -> Plant:
        """A plant with one class of flows.

        `flows` is their number, `capacity` is in packets per second, and `delay` is the round trip in seconds without
        the queue. `more` are fields of `Plant`.
        """
        return cls((Flows(flows, delay),), capacity, **more)

    @property
    def flows(self) -> float:
        """The number of flows in all classes."""
        return sum(each.flows for each in self.classes)

    def to_json(self) -> str:
        """The plant in the engine's format. Raises `UserError` for invalid numbers."""
        tree: dict[str, Any] = {
            "classes": [_class(f"plant: classes[{i}]", each) for i, each in enumerate(self.classes)],
            "capacity": checks.positive("plant: capacity", self.capacity, "packets per second"),
            "packet": checks.finite("plant: packet", self.packet),
            "mean_packet": checks.finite("plant: mean_packet", self.mean_packet) or self.packet,
            "link_delay": checks.finite("plant: link_delay", self.link_delay),
            "drops": bool(self.drops),
        }
        limit = checks.within("plant: limit", self.limit, "a number of packets, 0 or more", 0.0, float("inf"))
        return json.dumps(tree if limit == float("inf") else {**tree, "limit": limit})

    def point_at(self, packets: float) -> Point:
        """The operating point with `packets` queued packets, for any law.

        Raises `UserError` for a number of packets below 0, and `UserError` or `ScenarioError` for a plant out of range.
        """
        packets = checks.within("packets", packets, f"a number of 0 to {checks.MOST:g}", 0.0, checks.MOST)
        return Point.from_json(_sojourn.point_with(self.to_json(), packets))


@dataclass(frozen=True)
class Point:
    """An operating point.

    `queue` is in packets, `window` in packets (mean of all flows). `rtts` are in seconds, one per class. `interval` is
    that of the law in seconds, or None for a law without one. `utilization`, `load` and `probability` are fractions.
    """

    queue: float
    utilization: float
    load: float
    probability: float
    window: float
    rtts: tuple[float, ...]
    interval: float | None = None

    @classmethod
    def from_json(cls, text: str) -> Point:
        """Parses the operating point that the engine wrote as the JSON `text`."""
        tree = json.loads(text)
        return cls(**(tree | {"rtts": tuple(tree["rtts"])}))


def seconds(text: str) -> float:
    """Converts a time of a resolved scenario to seconds."""
    return _sojourn.quantity("time", text)


def octets(text: str) -> float:
    """Converts a size of a resolved scenario to bytes."""
    return _sojourn.quantity("size", text)


def bits(text: str) -> float:
    """Converts a rate of a resolved scenario to bits per second."""
    return _sojourn.quantity("rate", text)


@dataclass(frozen=True)
class Managed:
    """A link of a scenario with its queue table, its fluid model, and its groups of flows.

    `scenario` is the scenario, `link` the name of the link, `plant` the model, `groups` the names of the groups.
    `queue` is the queue table without `limit` and other keys that are not parameters of the law.
    """

    scenario: Scenario
    link: str
    queue: dict[str, Any]
    plant: Plant
    groups: frozenset[str] = frozenset()

    def unlike_reno(self) -> list[str]:
        """The controllers of the groups that do not follow the square-root law of the model."""
        groups = [group for group in self.scenario.resolved()["groups"] if group["name"] in self.groups]
        used = [group["tcp"]["control"]["cc"] for group in groups if group.get("tcp")]
        return sorted({cc for cc in used if cc not in ("reno", *LIKE_RENO)})


def managed(source: Source, link: str | None = None) -> Managed:
    """The plant of a link of a scenario.

    `source` is anything that `sojourn.load` accepts. `link` is the name of a link (default: the slowest that is used).
    The plant has the endless TCP flows through the link, with their round trips. Constant traffic reduces the capacity.
    Raises `UserError` for an unknown link, a link without endless TCP flows, and one that other traffic fills.

    >>> managed("examples/dumbbell.toml").plant.flows
    20.0
    """
    scenario = load(source)
    tree = scenario.resolved()
    index = _chosen(tree, link, scenario.label)
    chosen = tree["links"][index]
    groups = [group for group in tree["groups"] if index in group["forward"]]
    bulk = [g for g in groups if g.get("tcp") and g["traffic"]["kind"] == "bulk"]
    if not bulk:
        where = f"{scenario.label}: links.{chosen['name']}"
        raise UserError(f"{where}: expected endless TCP flows through it, got none: there is nothing to control")
    packet = float(np.average([_wire(g) for g in bulk], weights=[g["count"] for g in bulk]))
    rate = bits(chosen["rate"])
    notes: list[str] = []
    constant = 0.0
    for group in groups:
        if group not in bulk:
            constant += _mean_rate(group, notes)
    if constant >= rate:
        raise UserError(
            f"{scenario.label}: expected traffic without congestion control below {rate:.4g} bit/s, got {constant:.4g}"
        )
    classes = tuple(
        Flows(count, delay, *_moves(g, notes)) for g in bulk for count, delay in _round_trips(tree, g, packet)
    )
    queue = {key: value for key, value in chosen["queue"].items() if key not in _NOT_OF_THE_LAW}
    held = str(chosen["queue"]["limit"])
    limit = float(held.removesuffix(" packets")) if held.endswith(" packets") else octets(held) / packet
    ecn = bool(chosen["queue"]["ecn"]) and all(g["tcp"]["ecn"] for g in bulk)
    notes += _changes(chosen, bulk)
    plant = Plant(
        classes,
        capacity=(rate - constant) / (8 * packet),
        limit=limit,
        packet=packet,
        drops=not ecn,
        mean_packet=float(tree["packet"]),
        link_delay=seconds(chosen["delay"]),
        notes=tuple(notes),
    )
    return Managed(scenario, str(chosen["name"]), queue, plant, frozenset(str(g["name"]) for g in bulk))


def _changes(link: Mapping[str, Any], bulk: list[Any]) -> list[str]:
    """Events that the model omits."""
    notes = [f"{g['name']} stops at {g['stop']}; the model's flows never stop" for g in bulk if g.get("stop")]
    if link.get("rate_changes") or link.get("delay_changes"):
        notes.append(f"{link['name']} changes its rate or delay; the model keeps the first ones")
    if link.get("impairments"):
        notes.append(f"{link['name']} has impairments, which the model leaves out")
    if link.get("medium"):
        notes.append(f"{link['name']} shares a medium, which the model leaves out")
    if link.get("overhead"):
        notes.append(f"{link['name']} has an overhead, which the model leaves out")
    return notes


def latest_start(managed: Managed) -> float:
    """An upper bound of the start time of the last endless flow, in seconds."""
    groups = (group for group in managed.scenario.resolved()["groups"] if group["name"] in managed.groups)
    return max((float(np.max(_values(group["start"], int(group["count"]), seconds))) for group in groups), default=0.0)


_NOT_OF_THE_LAW = ("limit", "ecn", "hints", "ack_filter", "filters")


def _chosen(tree: Mapping[str, Any], link: str | None, label: str) -> int:
    names = [each["name"] for each in tree["links"] if each.get("rate") and each.get("queue")]
    if link is None:
        used = {i for group in tree["groups"] for i in group["forward"]}
        rates = {i: bits(each["rate"]) for i, each in enumerate(tree["links"]) if i in used and each.get("rate")}
        if not rates:
            raise UserError(f"{label}: links: expected one with a rate that flows use, got none")
        return min(rates, key=lambda i: rates[i])
    for i, each in enumerate(tree["links"]):
        if isinstance(link, str) and each["name"] == link and each.get("rate"):
            return i
    raise UserError.unknown(f"{label}: link", link, names)


def _wire(group: Mapping[str, Any]) -> float:
    return octets(group["tcp"]["mss"]) + octets(group["tcp"]["header"])


LIKE_RENO = ("cubic", "westwood", "highspeed", "illinois", "htcp")
"""Loss-based controllers that behave as Reno at small windows.

The model treats all controllers as Reno.
"""


def _moves(group: Mapping[str, Any], notes: list[str]) -> tuple[float, float]:
    """The packets that a group's windows gain per round trip.

    Also returns the fraction that they lose per drop or mark.
    """
    options = group["tcp"]
    acks = options["ack_every"] if options["delayed_ack"] and not options["abc"] else 1
    control = options["control"]
    if control["cc"] == "reno":
        return control.get("increase", 1.0) / acks, 1 - control.get("decrease", 0.5)
    note = f"{group['name']}: the model treats {control['cc']} as Reno"
    if note not in notes:
        notes.append(note)
    return 1 / acks, 0.5


def _mean_rate(group: Mapping[str, Any], notes: list[str]) -> float:
    """The mean rate in bit/s of traffic without congestion control.

    Appends what the model omits to `notes`.
    """
    traffic, count = group["traffic"], group["count"]
    if traffic["kind"] == "cbr":
        return float(count * bits(traffic["rate"]))
    if traffic["kind"] == "onoff" and not group.get("tcp"):
        on, off = seconds(traffic["on"]), seconds(traffic["off"])
        return float(count * bits(traffic["rate"]) * on / (on + off))
    notes.append(f"{group['name']} ({traffic['kind']}) is left out: it has no steady window")
    return 0.0


def _values(value: Any, count: int, read: Callable[[str], float]) -> Array:
    """The values of a field for the `count` flows of a group.

    A random field is replaced by its quantiles.
    """
    if value is None:
        return np.zeros(count)
    if isinstance(value, Mapping):
        bounds = value.get("uniform") or value.get("spread")
        if bounds:
            low, high = (read(v) for v in bounds)
            middle = (np.arange(count) + 0.5) / count if "uniform" in value else np.linspace(0, 1, count)
            return np.asarray(low + (high - low) * middle)
        if "step" in value:
            steps = np.arange(count, dtype=np.float64)
            return (read(value["first"]) if "first" in value else 0.0) + read(value["step"]) * steps
        if "lognormal" in value:
            from scipy.stats import norm

            spread = norm.ppf((np.arange(count) + 0.5) / count) * value["lognormal"]["sigma"]
            return np.asarray(read(value["lognormal"]["median"]) * np.exp(spread))
    if isinstance(value, list):
        return np.array([read(value[i % len(value)]) for i in range(count)])
    return np.full(count, read(value))


def _round_trips(tree: Mapping[str, Any], group: Mapping[str, Any], packet: float) -> list[tuple[float, float]]:
    """The classes of a group, at most 8, as counts and round-trip times.

    Round-trip times include the serialization of packet and ACK.
    """
    header = octets(group["tcp"]["header"])
    fixed = 0.0
    for links, size in ((group["forward"], packet), (group["back"], header)):
        for i in links:
            link = tree["links"][i]
            fixed += seconds(link["delay"]) + (8 * size / bits(link["rate"]) if link.get("rate") else 0.0)
    count = int(group["count"])
    delays: Array = np.full(count, fixed)
    for side in ("access", "egress"):
        own = group.get(side)
        if own:
            delays = delays + 2 * _values(own.get("delay"), count, seconds)
            if own.get("rate"):
                delays = delays + 8 * (packet + header) / _values(own["rate"], count, bits)
    delays = np.maximum(np.sort(delays), 1e-5)
    parts = np.array_split(delays, min(count, 8)) if np.ptp(delays) > 1e-9 else [delays]
    return [(float(len(part)), float(np.mean(part))) for part in parts]


def linear_plant(plant: Plant, point: Point, omega: Array) -> tuple[Complexes, Complexes]:
    """The exact small-signal plant: responses of queue (packets) and load to the probability.

    `omega` is in rad/s. `plant` are the flows and their link; `point` is the operating point, with a round trip per
    class. Two complex arrays of the shape of `omega` are returned. Raises `UserError` for values out of range, and for
    a point of another plant.

    >>> plant = Plant.of(20, 1250.0, 0.1)
    >>> queue, load = linear_plant(plant, plant.point_at(60), np.array([1e-3]))
    >>> queue.shape, bool(queue[0].real < 0)  # a larger probability makes a shorter queue
    ((1,), True)
    """
    _check_point(plant, point)
    s: npt.NDArray[Any] = 1j * checks.numbers("linear_plant: omega", omega)
    capacity = plant.capacity
    felt: npt.NDArray[Any] = np.zeros_like(s)  # effect of the probability on arrivals, at a constant queue
    moved: npt.NDArray[Any] = np.zeros_like(s)  # effect of a longer queue on arrivals
    for each, rtt in zip(plant.classes, point.rtts, strict=True):
        delay = np.exp(-s * rtt)
        window = np.sqrt(each.increase / (each.decrease * point.probability))
        pole = s + each.increase * (1 + delay) / (rtt * window)
        felt += each.flows / rtt * (-each.decrease * window**2 / rtt * delay) / pole
        moved -= each.flows / rtt * each.increase * (1 - delay) / (rtt**2 * capacity) / pole
        moved -= each.flows * window / (rtt**2 * capacity)
    passing = (1 - point.probability) if plant.drops else 1.0
    if point.queue <= 0:
        none: Complexes = np.zeros_like(s)
        return none, np.asarray(felt / capacity, dtype=np.complex128)
    # s q = passing * arrivals - drops.
    lost = point.load * capacity if plant.drops else 0.0
    queue = (passing * felt - lost) / (s - passing * moved)
    return np.asarray(queue, dtype=np.complex128), np.asarray((felt + moved * queue) / capacity, dtype=np.complex128)


def _check_point(plant: Plant, point: Point) -> None:
    """Raises `UserError` for a plant out of range, or a point that is not one of its points."""
    plant.to_json()
    if len(point.rtts) != len(plant.classes):
        raise UserError(f"point: rtts: expected one for each of {len(plant.classes)} classes, got {len(point.rtts)}")
    for i, rtt in enumerate(point.rtts):
        checks.seconds(f"point: rtts[{i}]", rtt, "a round trip")
    checks.within("point: probability", point.probability, "a probability of 1e-12 or more", 1e-12, checks.MOST)
    for name, value in (("queue", point.queue), ("load", point.load)):
        checks.within(f"point: {name}", value, f"a number of 0 to {checks.MOST:g}", 0.0, checks.MOST)


@dataclass(frozen=True)
class Textbook:
    """The rational plants of one class of flows, and their dead time in seconds.

    The minus sign of negative feedback is omitted. `window` and `queue` are in packets, `load` and `load_kept` are
    fractions: see `textbook`.
    """

    window: control.TransferFunction
    queue: control.TransferFunction
    load: control.TransferFunction
    load_kept: control.TransferFunction
    dead_time: float


def textbook(flows: float, capacity: float, rtt: float) -> Textbook:
    """The textbook plants (hollot-2001) of one class of flows.

    `flows` is their number, `capacity` is in packets per second, `rtt` in seconds.
    All start at the probability. They end at the window, the queue, the load if the queue is neglected, and the load
    with the queue. Raises `UserError` for values out of range.

    >>> plants = textbook(60, 3750, 0.246)
    >>> sorted(round(float(pole.real), 2) for pole in plants.queue.poles())  # rad/s
    [-4.07, -0.53]
    """
    flows, capacity, rtt = checks.operating("textbook: ", flows, capacity, rtt)
    pole, gain = 2 * flows / (rtt**2 * capacity), capacity**2 / (2 * flows)
    window = control.tf([rtt * capacity**2 / (2 * flows**2)], [1, pole])
    queue = control.tf([gain], np.polymul([1, pole], [1, 1 / rtt]))
    load = control.tf([capacity / (2 * flows)], [1, pole])
    kept = control.tf([gain / capacity, 0], np.polymul([1, pole], [1, 1 / rtt]))
    return Textbook(window, queue, load, kept, rtt)
