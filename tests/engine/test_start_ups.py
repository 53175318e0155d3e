"""Every start-up works in every window controller, and each parameter has an effect.

Parameters and defaults come from the schema, so a new start-up needs no entry here unless it requires parameters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import sojourn as sj
from sojourn import _sojourn

SCHEMA = json.loads(_sojourn.schema())["$defs"]
SAVED: dict[str, dict[str, Any]] = {"careful-resume": {"saved_cwnd": 200.0, "saved_rtt": "40 ms"}}
"""Parameters without which a start-up does nothing."""
OTHERS = {
    "saved_cwnd": [100.0],
    "saved_rtt": ["500 ms"],
    "age": ["400 s"],
    "lifetime": ["1 s"],
    "max_jump": [60.0],
    "low_window": [200.0],
    "jitter_ratio": [1.01],
}
"""Values of parameters that doubling and halving the default does not reach."""
WITH = {"lifetime": {"age": "100 s"}, "beta": {"saved_cwnd": 2000.0}}
"""Other parameters that must be set for a parameter to matter."""
PATHS: dict[str, tuple[str, str, int, str, dict[str, Any]]] = {
    "shallow": ("50 Mbit/s", "20 ms", 50, "linux", {}),
    "deep": ("50 Mbit/s", "20 ms", 800, "linux", {}),
    "fractions": ("50 Mbit/s", "20 ms", 200, "freebsd", {}),
    "few ACKs": (
        "50 Mbit/s",
        "20 ms",
        400,
        "freebsd",
        {"back": {"impairments": [{"kind": "ack-thinning", "interval": "10 ms"}]}},
    ),
    "longer by 12 ms": ("500 Mbit/s", "100 ms", 9000, "linux", {"changes": [{"at": "900 ms", "delay": "112 ms"}]}),
    "longer by 3 ms": ("500 Mbit/s", "10 ms", 900, "linux", {"changes": [{"at": "100 ms", "delay": "13 ms"}]}),
}
"""Rate, one-way delay, buffer in packets, profile, and other fields of the link.

The RTT grows while the queue is empty, because a full queue exceeds every threshold at once.
"""


@cache
def run(path: str, start_up: str | None, cc: str = "reno") -> str | None:
    """The fingerprint of a transfer with a start-up over a path.

    The start-up is JSON. None if it is rejected.
    """
    rate, delay, limit, profile, more = PATHS[path]
    queue = {"aqm": "droptail", "limit": f"{limit} packets"}
    link = {"name": "path", "from": "a", "to": "b", "rate": rate, "delay": delay, "queue": queue, "duplex": True} | more
    tcp: dict[str, Any] = {"profile": profile, "control": {"cc": cc}, "ecn": cc == "dctcp"}
    if start_up is not None:
        tcp["start_up"] = json.loads(start_up)
    flow = {"name": "f", "from": "a", "to": "b", "traffic": {"kind": "bulk"}, "tcp": tcp}
    try:
        return str(sj.run(sj.Scenario({"duration": "5 s", "links": [link], "flows": [flow]}), seed=1)["fingerprint"])
    except sj.ScenarioError:
        return None


def forms() -> dict[str, dict[str, Any]]:
    """Every start-up with its parameters in the schema."""
    found = {form["properties"]["name"]["const"]: dict(form["properties"]) for form in SCHEMA["StartUpConfig"]["oneOf"]}
    return {name: {key: value for key, value in keys.items() if key != "name"} for name, keys in found.items()}


def tried(key: str, default: Any) -> list[Any]:
    """Values to try for a parameter."""
    if key in OTHERS:
        return OTHERS[key]
    if isinstance(default, str):
        number, unit = default.split()
        return [f"{float(number) * factor:g} {unit}" for factor in (2, 0.5, 0.1, 10)]
    return [type(default)(default * factor) for factor in (1.5, 2, 0.5, 4, 0.25)]


def knobs() -> Iterator[tuple[str, str, list[Any]]]:
    """Each parameter of each start-up, and the values to try."""
    for name, keys in forms().items():
        for key, about in keys.items():
            yield name, key, tried(key, about.get("default"))


def test_the_registry_lists_every_start_up_of_the_schema() -> None:
    listed = json.loads(_sojourn.registry())["start-up"]
    assert [each["name"] for each in listed] == list(forms())
    assert all(set(keys) >= set(each["parameters"]) for each, keys in zip(listed, forms().values(), strict=True))


@pytest.mark.parametrize("name", list(forms()))
def test_a_name_is_a_table_with_the_defaults(name: str) -> None:
    assert run("deep", json.dumps(name)) == run("deep", json.dumps({"name": name}))


@pytest.mark.parametrize("name", [name for name in forms() if name != "classic"])
@pytest.mark.parametrize("cc", ["reno", "cubic", "scalable", "highspeed", "htcp", "illinois", "westwood", "dctcp"])
def test_a_start_up_works_in_every_controller_with_slow_start(name: str, cc: str) -> None:
    start_up = json.dumps({"name": name, **SAVED.get(name, {})})
    assert any(run(path, start_up, cc) != run(path, json.dumps("classic"), cc) for path in PATHS)


def test_cubic_of_linux_runs_hystart_unless_another_start_up_is_chosen() -> None:
    assert run("deep", None, "cubic") == run("deep", json.dumps("hystart"), "cubic")
    assert run("deep", None, "cubic") != run("deep", json.dumps("classic"), "cubic")
    assert run("deep", None, "reno") == run("deep", json.dumps("classic"), "reno")


@pytest.mark.parametrize(("name", "key", "values"), [pytest.param(*each, id=" ".join(each[:2])) for each in knobs()])
def test_a_parameter_of_a_start_up_has_an_effect(name: str, key: str, values: list[Any]) -> None:
    base = {"name": name, **SAVED.get(name, {}), **WITH.get(key, {})}
    changed = [json.dumps({**base, key: value}) for value in values]
    assert any(run(path, each) not in (None, run(path, json.dumps(base))) for path in PATHS for each in changed)


@pytest.mark.parametrize(
    ("start_up", "said"),
    [
        ("serch", 'tcp.start_up.name: expected one of classic, hystart, hystart\\+\\+, search, .*, got "serch"'),
        ({"name": "search", "thresh": 1.0}, "tcp.start_up.thresh: expected a fraction above 0 and below 1, got 1"),
        ({"name": "search", "colour": 1}, 'tcp.start_up: expected one of .*, got key "colour"'),
        ({"thresh": 0.3}, "tcp.start_up: .*name"),
        (3, "tcp.start_up.*: expected"),
    ],
)
def test_a_wrong_start_up_is_refused_in_one_line(start_up: Any, said: str) -> None:
    tree = sj.load("dumbbell").to_dict()
    tree.setdefault("tcp", {})["start_up"] = start_up
    with pytest.raises(sj.ScenarioError, match=said) as error:
        sj.Scenario(tree).resolved()
    assert "\n" not in str(error.value)
