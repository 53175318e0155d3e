"""Every parameter of every congestion controller has an effect.

Some value changes the arrivals on some path. Parameters, their defaults and their allowed values come from the
schema, so a new controller needs no entry here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import sojourn as sj
from sojourn import _sojourn

pytestmark = pytest.mark.no_libraries

SCHEMA = json.loads(_sojourn.schema())["$defs"]
HOSTS = {"external", "linux"}
"""Controllers of the caller or the kernel, with their own parameters."""


def droptail(limit: int) -> dict[str, Any]:
    """A queue of this number of packets."""
    return {"aqm": "droptail", "limit": f"{limit} packets"}


MARKING = {"aqm": "codel", "limit": "400 packets", "ecn": True}
PATHS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any], int, str]] = {
    "full": ("30 Mbit/s", "20 ms", droptail(200), {"profile": "linux"}, 2, "20 s"),
    "marked": ("30 Mbit/s", "10 ms", MARKING, {"profile": "linux", "ecn": True}, 2, "20 s"),
    "l4s": ("30 Mbit/s", "5 ms", {"aqm": "dualpi2", "ecn": True}, {"profile": "linux", "ecn": "l4s"}, 2, "20 s"),
    "rfc": ("10 Mbit/s", "20 ms", droptail(60), {"profile": "rfc"}, 2, "20 s"),
    "rfc l4s": ("30 Mbit/s", "5 ms", {"aqm": "dualpi2", "ecn": True}, {"profile": "rfc", "ecn": "l4s"}, 2, "20 s"),
    "long": ("100 Mbit/s", "60 ms", droptail(300), {"profile": "linux"}, 2, "20 s"),
    "many flows": ("2 Mbit/s", "5 ms", MARKING, {"profile": "rfc", "ecn": True}, 12, "20 s"),
    "deep": ("10 Mbit/s", "20 ms", droptail(400), {"profile": "linux"}, 2, "40 s"),
    "slow": ("500 kbit/s", "20 ms", droptail(100), {"profile": "linux"}, 2, "1000 s"),
}
"""Rate, delay, queue, TCP options, number of flows and duration."""


@cache
def outcome(control: str, path: str) -> str | None:
    """The fingerprint of flows with this controller, as JSON, over a path.

    None if it is rejected there.
    """
    rate, delay, queue, tcp, count, duration = PATHS[path]
    cubic = {"control": {"cc": "cubic"}, "ecn": bool(tcp.get("ecn"))}
    access = {"rate": "1 Gbit/s", "delay": {"uniform": ["0 ms", "15 ms"]}}
    mine = {"name": "mine", "count": count, "start": {"uniform": ["0 s", "3 s"]}, "access": access}
    other = {"name": "other", "start": "8 s", "stop": "14 s", "tcp": cubic}
    flows = [{"from": "a", "to": "b", **group} for group in (mine, other)]
    link = {"name": "path", "from": "a", "to": "b", "rate": rate, "delay": delay, "queue": queue, "duplex": True}
    tree = {"duration": duration, "links": [link], "tcp": {**tcp, "control": json.loads(control)}, "flows": flows}
    try:
        return str(sj.run(sj.Scenario(tree), seed=1)["fingerprint"])
    except sj.ScenarioError:
        return None


def values(kind: dict[str, Any], default: Any) -> Iterator[Any]:
    """Values to try for a parameter of this kind."""
    named = SCHEMA[kind["$ref"].rpartition("/")[2]] if "$ref" in kind else kind
    if kind.get("type") == "boolean":
        yield from (True, False)
    elif isinstance(default, (int, float)):
        tried = (default * 2, default / 2, default + 1, default * 1.3, default * 0.9, default / 4, default * 8)
        yield from (int(each) if isinstance(default, int) else each for each in tried)
    elif "oneOf" in named or "enum" in named:
        yield from named.get("enum") or [each["const"] for each in named["oneOf"]]
    elif isinstance(default, str):
        number, unit = default.split()
        yield from (f"{float(number) * factor:g} {unit}" for factor in (2, 0.5, 0.2, 0.1, 20))
        yield "10 ms"
    else:
        yield from (0.5, "10 ms")


def knobs() -> Iterator[tuple[str, str, list[Any]]]:
    """Each controller with one of its parameters, and the values to try."""
    for control in SCHEMA["Control"]["oneOf"]:
        fields = dict(control["properties"])
        name = fields.pop("cc")["const"]
        if name in HOSTS:
            continue
        for field, kind in fields.items():
            default = kind.get("default")
            if isinstance(default, dict):
                inner = SCHEMA[kind["$ref"].rpartition("/")[2]]["properties"]
                for key, value in default.items():
                    yield name, f"{field}.{key}", [{field: {key: each}} for each in values(inner[key], value)]
            else:
                yield name, field, [{field: each} for each in values(kind, default)]


def has_effect(name: str, tried: list[Any]) -> bool:
    """Whether one of these values changes the outcome over a path."""
    for path in PATHS:
        plain = outcome(json.dumps({"cc": name}), path)
        for each in tried if plain else ():
            if outcome(json.dumps({"cc": name, **each}), path) not in (plain, None):
                return True
    return False


@pytest.mark.parametrize(("name", "knob", "tried"), [pytest.param(*each, id=" ".join(each[:2])) for each in knobs()])
def test_a_parameter_of_a_controller_has_an_effect(name: str, knob: str, tried: list[Any]) -> None:
    assert has_effect(name, tried), f"{name}.{knob} with {tried}"
