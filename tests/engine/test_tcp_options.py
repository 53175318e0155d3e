"""Every TCP option has an effect: another value changes some run."""

import json
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest

import sojourn as sj
from sojourn import _sojourn

PROFILES = ["rfc", "linux", "ns2", "ns2-linux", "freebsd"]
OTHERS: dict[str, list[Any]] = {
    "mss": ["700 B"],
    "header": ["60 B"],
    "sack_option": ["12 B"],
    "window": ["6 packets"],
    "reader": ["300 kbit/s"],
    "initial_window": [5],
    "initial_ssthresh": ["4 packets"],
    "initial_rto": ["400 ms"],
    "min_rto": ["350 ms"],
    "max_rto": ["500 ms"],
    "rto_slop": ["70 ms"],
    "tick": ["25 ms"],
    "dupack_threshold": [5],
    "delayed_ack": ["60 ms"],
    "ack_every": [4],
    "quick_acks": [3],
    "quick_start": [40],
    "sack_compression": ["5 ms"],
    "syn_linear_timeouts": [0],
    "syn_losses_allowed": [0, 1],
    "recovery_burst": [1],
    "abc": [1],
    "rtt_hint": ["90 ms"],
    "clock_offset": ["3 ms"],
    "clock_skew_ppm": [900.0],
    "control": [{"cc": "vegas"}],
    "start_up": ["hystart++", "hystart"],
    "ecn": [True, "accurate"],
    "peer_ecn": [False],
    "ecn_syns": [0, 1],
}
"""Other values of options whose example in the schema has no effect.

They are neither switches nor names.
"""


def _options() -> dict[str, Any]:
    """Every option with its entry in the schema."""
    schema = json.loads(_sojourn.schema())["$defs"]
    found = dict(schema["TcpOverrides"]["properties"])
    return {name: schema[each["$ref"].rpartition("/")[2]] if "$ref" in each else each for name, each in found.items()}


OPTIONS = _options()


def _others(name: str, about: dict[str, Any], now: Any) -> list[Any]:
    """Other values of an option than its present one."""
    names = [each["const"] for each in about.get("oneOf", []) if isinstance(each.get("const"), str)]
    if about.get("type") == "boolean":
        return [not now]
    return [each for each in names if each != now] or OTHERS.get(name) or about["examples"]


@dataclass(frozen=True)
class Base:
    """A run in which effects are searched for."""

    profile: str
    cc: str
    queue: dict[str, Any]
    tcp: dict[str, Any] = field(default_factory=dict)
    faults: str = "many"


FAULTS: dict[str, list[dict[str, Any]]] = {
    "none": [],
    "many": [
        {"kind": "loss", "probability": 0.01},
        {"kind": "duplication", "probability": 0.005},
        {"kind": "reorder", "probability": 0.01, "by": "25 ms"},
        {"kind": "outage", "at": "0 s", "length": "200 ms", "every": "4 s"},
    ],
    "losses": [{"kind": "loss", "probability": 0.01}],
    "handshake": [{"kind": "outage", "at": "0 s", "length": "2500 ms"}],
    "handshake and first data": [
        {"kind": "outage", "at": "0 s", "length": "200 ms"},
        {"kind": "outage", "at": "1050 ms", "length": "300 ms"},
    ],
}
"""The impairments of the link."""


def scenario(base: Base, tcp: dict[str, Any]) -> sj.Scenario:
    """Endless, short and pausing flows with these options.

    All have one controller, profile and queue.
    """
    forth = {"name": "up", "from": "a", "to": "b", "rate": "2 Mbit/s", "delay": "15 ms"}
    back = {"name": "down", "from": "b", "to": "a", "rate": "1 Mbit/s", "delay": "15 ms"}
    faults = FAULTS[base.faults]
    pauses = [{"at": f"{2 * i} s"} | ({"silent": True} if i % 2 else {"rate": "500 kbit/s"}) for i in range(5)]
    return sj.Scenario(
        {
            "duration": "10 s",
            "links": [forth | {"impairments": faults, "queue": base.queue}, back | {"impairments": faults[:1]}],
            "tcp": {"profile": base.profile, "control": {"cc": base.cc}} | base.tcp | tcp,
            "flows": [
                {"name": "endless", "count": 2, "from": "a", "to": "b"},
                {"name": "short", "count": 2, "from": "a", "to": "b", "traffic": {"kind": "bulk", "size": "60 kB"}},
                {"name": "pausing", "from": "a", "to": "b", "traffic": {"kind": "schedule", "rates": pauses}},
            ],
        }
    )


TAIL = {"aqm": "droptail", "limit": "12 packets"}
MARKS = {"aqm": "red", "limit": "12 packets", "min": 3, "max": 9, "ecn": True}
MARKS_ALL = {
    "aqm": "red",
    "limit": "40 packets",
    "min": 1,
    "max": 2,
    "max_p": 0.9,
    "weight": 0.5,
    "ecn": True,
    "use_mark_p": False,
}
BASES = [
    *(Base(profile, "cubic", TAIL) for profile in PROFILES),
    *(Base(profile, "reno", MARKS, {"ecn": True}) for profile in PROFILES),
    *(Base(profile, "reno", MARKS_ALL, {"ecn": True}) for profile in PROFILES),
    Base("linux", "reno", MARKS, {"ecn": "accurate"}),
    Base("linux", "reno", MARKS, {"ecn": "accurate"}, faults="losses"),
    Base("linux", "reno", TAIL, {"pacing": True}),
    Base("linux", "prague", {"aqm": "step", "packets": 3}, {"ecn": "l4s"}),
    Base("rfc", "reno", {"aqm": "fuzzy-rtt", "limit": "60 packets"}, faults="none"),
    Base("rfc", "ledbat", {"aqm": "droptail", "limit": "60 packets"}, faults="none"),
    Base("ns2", "tcp-lp", {"aqm": "droptail", "limit": "60 packets"}, {"timestamps": True}, faults="none"),
    Base("rfc", "reno", TAIL, {"timestamps": False}, faults="handshake and first data"),
    Base("linux", "reno", TAIL, faults="handshake"),
]


@cache
def _fingerprint(base: int, options: str = "{}") -> str:
    """The fingerprint of a run with other options, as JSON; empty if they are rejected."""
    try:
        return str(sj.run(scenario(BASES[base], json.loads(options)))["fingerprint"])
    except sj.ScenarioError:
        return ""


@pytest.mark.parametrize("name", sorted(OPTIONS.keys() - {"clock_offset"}))
def test_every_option_has_an_effect(name):
    for i, base in enumerate(BASES):
        now = scenario(base, {}).resolved()["groups"][0]["tcp"].get(name)
        for value in _others(name, OPTIONS[name], now):
            if _fingerprint(i, json.dumps({name: value})) not in ("", _fingerprint(i)):
                return
    pytest.fail(f"{name}: expected another run with another value, got the same {len(BASES)} times")


def test_what_is_set_to_what_it_is_has_no_effect():
    assert _fingerprint(0, '{"min_rto": "1 s"}') == _fingerprint(0) != ""


def test_a_difference_of_clocks_changes_nothing_as_only_differences_of_delays_count():
    for i in range(len(BASES)):
        assert _fingerprint(i, '{"clock_offset": "3 ms"}') == _fingerprint(i) != ""
