"""The access line of a scenario: its two directions with rate, delay and buffer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sojourn import _sojourn
from sojourn.core import field_paths
from sojourn.core.errors import UserError
from sojourn.core.quantities import short_rate, short_time
from sojourn.core.scenario import Scenario, link_paths

FULL_PACKET = 1500  # bytes, for the time that a limit in packets holds


@dataclass(frozen=True)
class Way:
    """One direction of the line: its link with path in the scenario, rate, delay and buffer.

    `rate` is in bit/s, `delay` and `buffer` are in s. `buffer` is None for a scheduler with classes. `packets` is the
    buffer's limit if that counts packets. `overhead` is that of the link layer as the scenario writes it: a keyword of
    CAKE, a table, or None.
    """

    link: str
    path: str
    rate: float
    delay: float
    buffer: float | None
    packets: float | None = None
    overhead: Any = None

    def __str__(self) -> str:
        held = "a scheduler" if self.buffer is None else f"{short_time(self.buffer)} of buffer"
        if self.packets is not None:
            held = f"a buffer of {self.packets:g} packets, {short_time(self.buffer or 0)} if all are full"
        return f"{short_rate(self.rate)}, {held}"


@dataclass(frozen=True)
class Line:
    """A line between the network and a home; `net` and `home` are its nodes."""

    down: Way
    up: Way
    net: str
    home: str

    @property
    def rtt(self) -> float:
        """The round-trip propagation delay in s."""
        return self.down.delay + self.up.delay

    @property
    def ways(self) -> dict[str, Way]:
        """Both directions by name."""
        return {"down": self.down, "up": self.up}


def line_of(scenario: Scenario, link: str | None = None, home: str | None = None) -> Line:
    """The line of a scenario: the link with the lowest rate, and its reverse link.

    `link` names one of the two links, `home` the node at the user's side (default: where the faster direction ends).

    Raises `UserError` if no link with a rate has a reverse link, and for unknown names.
    """
    resolved = scenario.resolved()["links"]
    paths = link_paths(scenario)
    both = {each["name"]: _reverse(each, resolved) for each in resolved if each.get("rate")}
    pairs = {name: back for name, back in both.items() if back is not None}
    if link is not None and link not in pairs:
        raise UserError.unknown(f"{scenario.label}: link", link, pairs)
    if not pairs:
        raise UserError(f"{scenario.label}: links: expected a link with a rate in each direction, got none")
    ways = {each["name"]: _way(scenario, each, paths[each["name"]]) for each in resolved if each["name"] in pairs}
    first = link or min(pairs, key=lambda name: ways[name].rate)
    second = pairs[first]["name"]
    # The order of the scenario decides between equal rates: the first link leads home.
    down, up = sorted((ways[first], ways[second]), key=lambda way: (-way.rate, list(paths).index(way.link)))
    ends = _ends(scenario, down)
    if home is not None and home not in ends:
        raise UserError.unknown(f"{scenario.label}: home", home, ends)
    if home == ends[0]:
        down, up, ends = up, down, ends[::-1]
    return Line(down, up, *ends)


def _reverse(link: Mapping[str, Any], links: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The link with a rate from the end of `link` to its start, if any."""
    back = (each for each in links if each.get("rate") and (each["from"], each["to"]) == (link["to"], link["from"]))
    return next(back, None)


def _way(scenario: Scenario, link: Mapping[str, Any], path: str) -> Way:
    rate = _sojourn.quantity("rate", link["rate"])
    amount, _, unit = str(link["queue"].get("limit", "")).partition(" ")
    size = {"packets": FULL_PACKET, "packet": FULL_PACKET, "B": 1}.get(unit)
    buffer = None if size is None else float(amount) * size * 8 / rate
    overhead = written(scenario, path).get("overhead") or written(scenario, _forward(path)).get("overhead")
    packets = float(amount) if size == FULL_PACKET else None
    return Way(link["name"], path, rate, _sojourn.quantity("time", link["delay"]), buffer, packets, overhead)


def written(scenario: Scenario, path: str) -> dict[str, Any]:
    """The table of a link as written; empty if the scenario has no table for the reverse link."""
    table = scenario.get_path(_forward(path))
    return dict(table if path == _forward(path) else table.get("back", {}))


def _forward(path: str) -> str:
    """The path of the link that a reverse link belongs to."""
    links, name, *_ = field_paths.split(path)
    return f"{links}.{field_paths.element(name)}"


def _ends(scenario: Scenario, way: Way) -> tuple[str, str]:
    """The nodes at the start and the end of a direction."""
    table = written(scenario, _forward(way.path))
    ends = str(table["from"]), str(table["to"])
    return ends if way.path == _forward(way.path) else ends[::-1]
