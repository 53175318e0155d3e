"""Parameters of the programs: those of the registry, as integers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sojourn import _sojourn
from sojourn.core import field_paths
from sojourn.core.errors import UserError
from sojourn.core.scenario import Scenario

Fields = tuple[str, ...]

DELAY: Fields = ("delay.history", "delay.filter")
FLOWER: Fields = (*DELAY, "target", "neighbors", "peak_weight", "trend_weight", "small_trends")

BBR3: Fields = (
    "startup_gain",
    "cwnd_gain",
    "loss_threshold",
    "beta",
    "headroom",
    "min_rtt_window",
    "probe_rtt_interval",
    "probe_rtt",
)


@dataclass(frozen=True)
class Controller:
    """A controller's program.

    Its name in the kernel, which its header has too, its parameters in the order of the header, and its source. The
    kernel allows only letters, digits, points and underscores in names.
    """

    kernel_name: str
    names: Fields
    source: str = "controller.bpf.c"


CONTROLLERS = {
    "ledbat": Controller("ledbat", (*DELAY, "target", "gain")),
    "ledbat++": Controller("ledbatpp", (*DELAY, "target", "decrease", "slowdown")),
    "flower": Controller("flower", FLOWER),
    "flower+": Controller("flower_plus", (*FLOWER, "slowdown")),
    "bbr3": Controller("bbr3", BBR3, "sampled.bpf.c"),
}
"""The controllers that `sojourn attach --cc` knows."""

ONE = 1 << 32
"""The number 1 in fixed point."""


def fixed(value: Any) -> int:
    """A parameter as an integer: nanoseconds, whole numbers, or 32 bits after the point.

    >>> fixed("100 ms"), fixed(5), fixed(True), fixed(0.125) == ONE // 8
    (100000000, 5, 1, True)
    """
    if isinstance(value, str):
        return round(_sojourn.quantity("time", value) * 1e9)
    if isinstance(value, float):
        return round(value * ONE)
    return int(value)


def checked(where: str, name: str, settings: Iterable[tuple[str, Any]], names: Fields) -> dict[str, Any]:
    """All parameters of an algorithm, with the values of `settings` and defaults for the rest.

    `where` is `tcp.control` or `queue`. Raises `UserError` for a parameter that the program lacks or whose value is
    out of range.
    """
    tree: dict[str, Any] = {"cc" if where == "tcp.control" else "aqm": name}
    for path, value in settings:
        if path not in names:
            raise UserError.unknown("--set", path, names)
        field_paths.put(tree, path, value, "--set")
    link = {"name": "link", "from": "a", "to": "b", "rate": "1 Gbit/s", "delay": "1 ms", "duplex": True}
    scenario: dict[str, Any] = {"duration": "1 s", "links": [link], "flows": [{"from": "a", "to": "b", "name": "flow"}]}
    if where == "tcp.control":
        scenario["tcp"] = {"control": tree}
    else:
        link["queue"] = tree
    canonical = json.loads(Scenario(scenario, name).canonical())
    found = canonical["groups"][0]["tcp"]["control"] if where == "tcp.control" else canonical["links"][0]["queue"]
    return dict(found)


def of_controller(name: str, settings: Iterable[tuple[str, Any]]) -> list[int]:
    """The parameters of a controller's program."""
    names = CONTROLLERS[name].names
    own = checked("tcp.control", name, [], ())
    settable = tuple(path for path in names if path.split(".")[0] in own)
    found = checked("tcp.control", name, settings, settable)
    # FLOWER+ has the rules of FLOWER with its defaults.
    rules = checked("tcp.control", "flower", [], ()) if name == "flower+" else {}
    return [fixed(value_at({**rules, **found}, path)) for path in names]


def value_at(table: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path."""
    for step in path.split("."):
        table = table[step]
    return table
