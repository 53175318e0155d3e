"""Warnings about queue parameters without effect, such as unreachable thresholds.

Every warning follows from the scenario alone; none depends on the traffic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from sojourn import _sojourn
from sojourn.scenario import Scenario

Queue: TypeAlias = Mapping[str, Any]
LARGEST_PACKET = 65535.0
"""The size of the largest possible packet in bytes."""


@dataclass(frozen=True)
class Place:
    """A queue of a checked scenario: its field, its link, and its largest packet in bytes."""

    field: str
    queue: Queue
    link: Mapping[str, Any]
    largest: float

    @property
    def packets(self) -> float | None:
        """The limit in packets; None for a limit in another unit."""
        number, _, unit = str(self.queue.get("limit", "")).partition(" ")
        return float(number) if unit.startswith("packet") else None

    @property
    def rates(self) -> list[str]:
        """The successive rates of the link. Empty if the departure rate depends on more than these."""
        if self.link.get("trace") or self.link.get("medium") or self.link.get("overhead") or not self.link.get("rate"):
            return []
        return [self.link["rate"], *(change["rate"] for change in self.link.get("rate_changes") or [])]

    @property
    def longest_wait(self) -> float | None:
        """Upper bound of the wait in seconds.

        It is the time to send a full queue and the packet before it.
        """
        if not self.rates or not self.queue.get("limit"):
            return None
        held = _size(self.queue["limit"]) if self.packets is None else self.packets * self.largest
        return 8 * (held + self.largest) / min(map(_rate, self.rates))


def unreached(scenario: Scenario) -> list[str]:
    """Warns of each parameter of a queue that cannot have an effect.

    The scenario must be valid.

    ```python
    scenario = sj.load("examples/dumbbell.toml").set("links.bottleneck.queue", {"aqm": "pi", "limit": "20 packets"})
    unreached(scenario)  # ['links.bottleneck.queue.target: 50 packets exceed the queue's limit (20 packets)']
    ```
    """
    return [f"{place.field}.{said}" for place in _queues(scenario) for rule in RULES for said in rule(place)]


def _queues(scenario: Scenario) -> Iterator[Place]:
    """Every queue of a scenario, including those of classes."""
    tree = scenario.resolved()
    for at, link in enumerate(tree["links"]):
        queue = link.get("queue")
        if not queue:
            continue
        groups = [group for group in tree["groups"] if at in (*group["forward"], *group["back"])]
        largest = max(map(largest_packet, groups), default=0.0)
        field = f"{link_field(link)}.queue"
        for number, each in enumerate(queue.get("classes", [queue])):
            own = f"{field}.classes[{number}]" if "classes" in queue else field
            yield Place(own, each, link, largest)


def link_field(link: Mapping[str, Any]) -> str:
    """The path of a link in a scenario; the reverse link of a duplex link is `links.NAME.back`."""
    name = link["name"]
    return f"links.{name.removesuffix(':back')}{'.back' if name.endswith(':back') else ''}"


def largest_packet(group: Mapping[str, Any]) -> float:
    """The largest packet of a checked group in bytes; `LARGEST_PACKET` if unknown."""
    if group.get("tcp"):
        return full_packet(group)
    constant = group["traffic"]["kind"] in ("cbr", "ping")
    return _size(group["traffic"]["size"]) if constant else LARGEST_PACKET


def full_packet(group: Mapping[str, Any]) -> float:
    """The size of a full packet of a checked group in bytes; 0 over UDP."""
    tcp = group.get("tcp")
    return _size(tcp["mss"]) + _size(tcp["header"]) if tcp else 0.0


def _size(text: str) -> float:
    return _sojourn.quantity("size", text)


def _rate(text: str) -> float:
    return _sojourn.quantity("rate", text)


def _time(text: str) -> float:
    return _sojourn.quantity("time", text)


IN_PACKETS = {"red": "min", "pi": "target", "step": "packets"}
"""Parameters in packets below which a discipline sends no signal."""


def _too_long(place: Place) -> Iterator[str]:
    """Reports a threshold in packets above the queue's limit."""
    queue, key = place.queue, IN_PACKETS.get(place.queue["aqm"]) if "aqm" in place.queue else None
    if key is None or place.packets is None or queue.get("bytes") is True or queue.get("queue_in_bytes"):
        return
    if queue["aqm"] == "step" and (_size(queue["bytes"]) or _time(queue["time"])):
        return  # it has another threshold
    if queue[key] > place.packets:
        yield f"{key}: {queue[key]:g} packets exceed the queue's limit ({place.packets:g} packets)"


def _too_late(place: Place) -> Iterator[str]:
    """Reports a delay target above the longest possible wait in a FIFO queue."""
    queue, longest = place.queue, place.longest_wait
    target = queue.get("target") if queue.get("aqm") in ("codel", "pie", "pi2") else None
    if target and longest and _time(target) > longest:
        yield (
            f"target: {target} exceeds the longest possible wait: a full queue of {queue['limit']} is sent in "
            f"{longest * 1e3:.3g} ms"
        )


def _interval(place: Place) -> Iterator[str]:
    """Reports a target of CoDel that is not below its interval."""
    queue = place.queue
    if queue.get("aqm") in ("codel", "fq-codel") and _time(queue["target"]) >= _time(queue["interval"]):
        small = "it should be a small fraction of it"
        yield f"target: {queue['target']} is not below the interval ({queue['interval']}); {small}"


def _bandwidth(place: Place) -> Iterator[str]:
    """Reports a shaper of CAKE above the link's rate."""
    bandwidth = place.queue.get("bandwidth")
    if bandwidth and place.rates and _rate(bandwidth) > max(map(_rate, place.rates)):
        yield f"bandwidth: {bandwidth} is above the link's rate ({place.link['rate']}), so it has no effect"


def _selected(place: Place) -> Iterator[str]:
    """Reports a selector for a `ce_threshold` that is off."""
    queue = place.queue
    if queue.get("aqm") != "fq-codel" or _time(queue["ce_threshold"]):
        return
    yield from (
        f"{key}: {queue[key]} has no effect without ce_threshold"
        for key in ("ce_threshold_selector", "ce_threshold_mask")
        if queue[key]
    )


def _without_threshold(place: Place) -> Iterator[str]:
    """Reports a step discipline without a threshold."""
    queue = place.queue
    if queue.get("aqm") == "step" and not (queue["packets"] or _size(queue["bytes"]) or _time(queue["time"])):
        yield "packets: packets, bytes and time are all 0, so no packet is signaled"


RULES: tuple[Callable[[Place], Iterator[str]], ...] = (
    _too_long,
    _too_late,
    _interval,
    _bandwidth,
    _selected,
    _without_threshold,
)
"""The rules. Each yields sentences that start with a key of the queue."""
