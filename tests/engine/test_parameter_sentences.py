"""The default and the range in a parameter's sentence are those of the engine."""

import json
import re
from fractions import Fraction
from typing import Any

import pytest

import sojourn as sj
from sojourn import _sojourn

NUMBER = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
DEFAULT = re.compile(
    rf'default (?:is )?(`?"[^"]*"`?|true|false|absent|none|(?:1/\d+|{NUMBER})(?: (?:us|ms|s)\b)?)(?=[\s,;.)`:]|$)'
)
"""The default in a sentence, if it is a value."""
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def _properties(part: Any) -> list[tuple[str, dict[str, Any]]]:
    """Every parameter of the schema, with its entry."""
    found: list[tuple[str, dict[str, Any]]] = []
    if isinstance(part, dict):
        found += [(name, each) for name, each in part.get("properties", {}).items() if "description" in each]
    children = part.values() if isinstance(part, dict) else part if isinstance(part, list) else []
    return found + [each for child in children for each in _properties(child)]


def _said_defaults() -> list[tuple[str, str, Any]]:
    """Name, default in the sentence, and default of the engine, each combination once."""
    found: dict[str, tuple[str, str, Any]] = {}
    for name, each in _properties(json.loads(_sojourn.schema())):
        said = DEFAULT.search(" ".join(each["description"].split()))
        if said and "default" in each:
            found[repr((name, said[1], each["default"]))] = (name, said[1], each["default"])
    return list(found.values())


def _number(text: str) -> float:
    """A number, a fraction, or a time in seconds."""
    value, _, unit = text.partition(" ")
    return float(Fraction(value)) * SECONDS.get(unit, 1.0)


def _same(said: str, default: Any) -> bool:
    """Whether the default in a sentence is that of the engine, to the digits of the sentence."""
    if said.startswith(('"', '`"')):
        return bool(default == said.strip('`"'))
    if said in ("true", "false", "absent", "none"):
        return default is {"true": True, "false": False}.get(said)
    return _number(said) == pytest.approx(_number(str(default)), rel=1e-4)


def test_a_default_in_a_sentence_is_that_of_the_engine():
    said = _said_defaults()
    assert len(said) > 200
    assert not [each for each in said if not isinstance(each[2], dict | list) and not _same(*each[1:])]


def test_another_default_than_the_sentence_says_is_seen():
    assert not _same("0.1", 0.2)
    assert not _same('"5 ms"', "6 ms")
    assert not _same("true", False)
    assert _same("1/160 s", "6.25 ms")


RANGES: list[tuple[re.Pattern[str], list[float]]] = [
    (re.compile(r"\babove (\d+(?:\.\d+)?)"), [0.0]),
    (re.compile(r"\bbelow (\d+(?:\.\d+)?)"), [0.0]),
    (re.compile(r"(?<![-\w.])(\d+(?:\.\d+)?) or more"), [-1.0]),
    (re.compile(r"\bat most (\d+(?:\.\d+)?)"), [1.0]),
    (re.compile(r"(?<![-\w.])(\d+(?:\.\d+)?) to (\d+(?:\.\d+)?)(?=[,;. (:]|$)"), [-1.0, 1.0]),
]
"""Patterns of ranges, and the distance from each bound to the first value outside."""
KINDS = {
    "Queue": ("aqm", "links.up.queue"),
    "Control": ("cc", "tcp.control"),
    "StartUpConfig": ("name", "tcp.start_up"),
    "Impairment": ("kind", "links.up.impairments"),
}
"""Definitions of the schema: the field of the algorithm's name, and the path in a scenario."""
REQUIRED = {"gilbert-elliott": {"good": "1 s", "bad": "1 s"}, "reorder": {"by": "5 ms"}}
"""Required parameters without a default."""
SPECIAL = {("red", "weight", 0.0)}
"""Values outside a range with a special meaning; here the weight is automatic."""


def _outside() -> list[tuple[str, str, str, float]]:
    """Definition, algorithm, parameter, and a value outside the range of its sentence."""
    found = []
    schema = json.loads(_sojourn.schema())["$defs"]
    for definition, (tag, _) in KINDS.items():
        for each in schema[definition]["oneOf"]:
            name = each["properties"][tag]["const"]
            for parameter, about in each["properties"].items():
                if about.get("type") not in ("number", "integer"):
                    continue
                text = " ".join(about["description"].split())
                for pattern, beside in RANGES:
                    said = pattern.search(text)
                    bounds = [float(bound) for bound in said.groups()] if said else []
                    found += [(definition, name, parameter, b + d) for b, d in zip(bounds, beside, strict=False)]
    return [each for each in found if each[1:] not in SPECIAL]


OUTSIDE = _outside()


def test_most_ranges_are_tried():
    assert len(OUTSIDE) > 100


@pytest.mark.parametrize(("definition", "algorithm", "parameter", "value"), OUTSIDE)
def test_a_value_outside_the_range_of_a_sentence_is_refused_by_name(definition, algorithm, parameter, value):
    tag, path = KINDS[definition]
    scenario = sj.Scenario(
        {
            "duration": "1 s",
            "links": [{"name": "up", "from": "a", "to": "b", "rate": "1 Mbit/s", "delay": "5 ms", "duplex": True}],
            "flows": [{"name": "f", "from": "a", "to": "b"}],
        }
    )
    number = int(value) if value == int(value) else value
    chosen = {tag: algorithm, parameter: number} | REQUIRED.get(algorithm, {})
    scenario.set(path, [chosen] if definition == "Impairment" else chosen)
    with pytest.raises(sj.ScenarioError, match=rf"[.\]]{parameter}: expected"):
        scenario.resolved()
