"""Whatever a caller in Python gives, it is used or refused in one line: no number is too large, no text too long."""

import datetime
import decimal
from collections.abc import Callable
from typing import Any

import pytest

import sojourn as sj
from sojourn.analysis import Plant
from sojourn.errors import LONGEST_MESSAGE, UserError

ONE = {
    "duration": "1 s",
    "links": [{"name": "up", "from": "a", "to": "b", "rate": "1 Mbit/s", "delay": "5 ms", "duplex": True}],
    "flows": [{"name": "f", "from": "a", "to": "b"}],
}


def _in_itself() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


def _deep() -> list[Any]:
    made: list[Any] = []
    for _ in range(3000):
        made = [made]
    return made


class Unprintable:
    """What raises when it is printed."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


VALUES: dict[str, Any] = {
    "large": 10**5000,
    "less": -(10**5000),
    "2^63": 2**63,
    "infinite": float("inf"),
    "nan": float("nan"),
    "long": "x" * 1_000_000,
    "digits": "9" * 5000,
    "half a pair": "\ud800",
    "nul": "\0",
    "two lines": "a\nb",
    "bytes": b"x",
    "object": object(),
    "unprintable": Unprintable(),
    "none": None,
    "complex": 1j,
    "empty": {},
    "large in a list": [10**5000],
    "large in a table": {"a": 10**5000},
    "large key": {10**5000: 1},
    "in itself": _in_itself(),
    "deep": _deep(),
    "decimal": decimal.Decimal("1e400"),
    "set": {1},
    "date": datetime.date(2020, 1, 1),
    "function": print,
    "true": True,
}


def small() -> sj.Scenario:
    return sj.Scenario(ONE, "one")


def _key(value: Any) -> Any:
    """A value as the key of a dictionary, or as text where it can't be one."""
    return value if value.__hash__ else "a"


SEEDS = {"flows.f.count": [1, 2]}
CALLS: dict[str, Callable[[Any], Any]] = {
    "load": sj.load,
    "Scenario": sj.Scenario,
    "run": sj.run,
    "run's seed": lambda v: sj.run(small(), seed=v),
    "run's laws": lambda v: sj.run(small(), laws=v),
    "run's law": lambda v: sj.run(small(), laws={_key(v): print}),
    "run_many's seeds": lambda v: sj.run_many(small(), [v]),
    "run_many's threads": lambda v: sj.run_many(small(), threads=v),
    "a field": lambda v: sj.run(small().set("links.up.rate", v)),
    "the name": lambda v: repr(small().set("name", v)) and sj.run(small().set("name", v)),
    "the seed": lambda v: small().set("seed", v).canonical(),
    "a count": lambda v: small().set("flows.f.count", v).canonical(),
    "a path": lambda v: small().set(v, 1).canonical(),
    "a path that is read": lambda v: small().get_path(v),
    "an item": lambda v: small().update({"links": v}),
    "a key": lambda v: sj.run({**ONE, _key(v): 1}),
    "a nested item": lambda v: repr(sj.load({**ONE, "links": [{"name": v}], "duration": v})),
    "axes": lambda v: sj.make_plan(small(), v),
    "an axis": lambda v: sj.make_plan(small(), {_key(v): [1]}),
    "the values of an axis": lambda v: sj.make_plan(small(), {"links.up.rate": v}),
    "a value of an axis": lambda v: sj.make_plan(small(), {"links.up.rate": [v, "1 Mbit/s"]}),
    "the seeds of a plan": lambda v: sj.make_plan(small(), SEEDS, seeds=v),
    "a seed of a plan": lambda v: sj.make_plan(small(), SEEDS, seeds=[v]),
    "variants": lambda v: sj.make_plan(small(), variants=v),
    "a variant": lambda v: sj.make_plan(small(), variants={"a": {"b": {"flows.f.count": v}}}),
    "compare's queues": lambda v: sj.compare(small(), v, seeds=1),
    "compare's queue": lambda v: sj.compare(small(), [v], seeds=1),
    "compare's controllers": lambda v: sj.compare(small(), cc={"a": v}, seeds=1),
    "compare's fields": lambda v: sj.compare(small(), vary=v, seeds=1),
    "compare's values": lambda v: sj.compare(small(), vary={"links.up.rate": [v]}, seeds=1),
    "compare's seeds": lambda v: sj.compare(small(), ["red"], seeds=v),
    "compare's link": lambda v: sj.compare(small(), ["red"], seeds=1, link=v),
    "congest's level": lambda v: sj.congest(small(), v, "10 ms", link="up", group="f"),
    "congest's round trip": lambda v: sj.congest(small(), "light", v, link="up", group="f"),
    "a shard": lambda v: sj.sweep(small(), SEEDS, shard=v, cache=sj.Store("none")) if v else None,
    "the threads of a sweep": lambda v: sj.sweep(small(), {"flows.f.count": [1]}, threads=v),
    "the name of a plan": lambda v: repr(sj.make_plan(small(), SEEDS, name=v)),
    "a number": lambda v: sj.estimate([1.0, v]),
    "numbers": sj.jain,
    "numbers in pairs": lambda v: sj.paired([1.0], v),
    "a plant": lambda v: Plant.of(v, 1000, 0.1).to_json(),
    "a store": sj.Store,
    "a measure": lambda v: sj.run(small()).value(v),
    "a trace": lambda v: sj.run(small()).trace(v),
    "samples": lambda v: sj.run(small()).samples(v),
}


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize("call", CALLS)
def test_a_value_is_used_or_refused_in_one_line(call):
    for name, value in VALUES.items():
        try:
            CALLS[call](value)
        except (sj.UserError, sj.ScenarioError) as error:
            said = str(error)
            assert said, name
            assert "\n" not in said, name
            assert len(said) <= LONGEST_MESSAGE + 1000, name
        except Exception as error:
            raise AssertionError(f"{call} with {name}") from error


def test_a_number_of_many_digits_is_refused_where_it_is_written():
    with pytest.raises(sj.UserError, match=r"seed: expected a whole number, .*, got a whole number of very many"):
        sj.run(small(), seed=10**5000)
    with pytest.raises(sj.ScenarioError, match=r"^one: flows.f.count: expected a whole number, -9223372036854775808"):
        small().set("flows.f.count", 10**5000)
    with pytest.raises(sj.ScenarioError, match=r'sweep: axes."flows.f.count"\[1\]: expected a whole number'):
        sj.make_plan(small(), {"flows.f.count": [1, 10**5000]})


def test_a_long_value_is_shown_in_part():
    assert len(str(UserError.expected("x", "less", "y" * 10**6))) < 300
    with pytest.raises(sj.ScenarioError, match=r"^one: links.up.rate: expected .*\.\.\. \(1000\d\d\d characters\)$"):
        small().set("links.up.rate", "y" * 10**6).canonical()
