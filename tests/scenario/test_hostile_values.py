"""Any value from a Python caller is used or rejected in one line.

No number is too large, and no text too long.
"""

import dataclasses
import datetime
import decimal
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn import analysis
from sojourn.analysis import Flows, Loop, Plant, laws
from sojourn.core.errors import LONGEST_MESSAGE, UserError

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
    """A value that raises when it is printed."""

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
    "run's threads": lambda v: sj.run(small(), threads=v),
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
    check(call, CALLS[call], VALUES)


def check(name: str, call: Callable[[Any], Any], values: dict[str, Any]) -> None:
    """Each value is used, or rejected in a line of limited length."""
    for what, value in values.items():
        try:
            call(value)
        except (sj.UserError, sj.ScenarioError) as error:
            said = str(error)
            assert said, what
            assert "\n" not in said, what
            assert len(said) <= LONGEST_MESSAGE + 1000, what
        except Exception as error:
            raise AssertionError(f"{name} with {what}") from error


NUMBERS: dict[str, Any] = VALUES | {
    "zero": 0,
    "below zero": -1.0,
    "least": 5e-324,
    "largest": 1.7e308,
    "minus infinite": float("-inf"),
    "no numbers": [],
    "another length": np.ones(3),
    "equal numbers": np.ones(2),
    "falling numbers": [2.0, 1.0],
    "nan among numbers": [1.0, float("nan")],
    "a number of no dimension": np.array(1.0),
    "numbers of two dimensions": np.ones((2, 2)),
    "texts": ["a", "b"],
}
PLANT = Plant.of(20, 1250.0, 0.1)
LOOP = Loop({"aqm": "pi", "target": 60}, PLANT)
# The search for a limit cycle ends early where the buffer has no room for one.
SHORT = Loop({"aqm": "pi", "target": 60}, dataclasses.replace(PLANT, limit=63))
POINT = PLANT.point_at(60)
TIMES = np.arange(0, 30, 0.05)
OMEGA = np.array([0.1, 1.0])


def _flat(omega: Any) -> Any:
    return np.ones(len(omega)), np.zeros(len(omega))


# Each function with arguments that it accepts. Numbers are replaced in turn, those within tables too.
FUNCTIONS: dict[Callable[..., Any], dict[str, Any]] = {
    analysis.hurst: {"counts": np.arange(2000) % 997, "bin_s": 0.01, "fit": (0.1, 1.0), "points": 5},
    analysis.linear_plant: {"plant": PLANT, "point": POINT, "omega": OMEGA},
    analysis.managed: {"source": small(), "link": "up"},
    analysis.margins: {"loop": lambda omega: 1 / (1 + 1j * omega), "omega": np.geomspace(0.01, 100, 50)},
    analysis.predicted_limit_cycle: {"loop": SHORT},
    analysis.queue_spectrum: {"t": TIMES, "packets": np.sin(TIMES), "warmup": 1.0},
    analysis.response: {"loop": laws.led(0.1), "dead_time": 0.1},
    analysis.simulated_limit_cycle: {"loop": LOOP, "duration": 1.0},
    analysis.stability_map: {
        "law": _flat,
        "flows": [10.0, 20.0],
        "rtt": 0.1,
        "capacity": 1000.0,
        "integrators": 1,
        "points": 20,
    },
    analysis.textbook: {"flows": 20, "capacity": 1000, "rtt": 0.1},
    laws.led: {"interval": 0.1, "weight": 0.05, "low": 0.8, "high": 1.2},
    laws.red: {"capacity": 1000, "weight": 0.002, "max_p": 0.1, "low": 5, "high": 15},
    laws.pi: {"a": 2e-5, "b": 1e-5, "interval": 0.01},
    laws.design_pi: {"flows": 20, "capacity": 1000, "rtt": 0.1, "interval": 0.01, "beta": 0.5},
    Plant.point_at: {"self": PLANT, "packets": 1.0},
    Loop.point: {"self": LOOP},
    Loop.law: {"self": LOOP, "omega": OMEGA},
    Loop.response: {"self": LOOP, "omega": OMEGA},
    Loop.margins: {"self": LOOP},
    Loop.describing: {"self": LOOP, "amplitude": OMEGA, "omega": OMEGA, "mean": OMEGA},
    Loop.simulate: {
        "self": LOOP,
        "duration": 1.0,
        "step": 1e-3,
        "every": 10,
        "window": 1.0,
        "queue": 0.0,
        "probability": 0.0,
    },
}
LEFT = ("loop", "law", "source")  # values that are neither numbers nor tables


def replaced(name: str, given: Any) -> dict[str, Callable[[Any], Any]]:
    """Functions that replace an argument, or a number within it, by a value."""
    if isinstance(given, Loop):
        inner = replaced(f"{name}.plant", given.plant)
        made = {path: (lambda v, put=put: Loop(given.queue, put(v))) for path, put in inner.items()}
        return made | {f"{name}.queue": lambda v: Loop({"aqm": "pi", "target": v}, given.plant)}
    if isinstance(given, Plant):
        classes = {
            f"{name}.classes.{each.name}": (
                lambda v, key=each.name: dataclasses.replace(
                    given, classes=(Flows(**{"flows": 9, "delay": 0.1, key: v}),)
                )
            )
            for each in dataclasses.fields(Flows)
        }
        numbers = ("capacity", "limit", "packet", "mean_packet", "link_delay")
        return classes | {
            f"{name}.{key}": (lambda v, key=key: dataclasses.replace(given, **{key: v})) for key in numbers
        }
    if isinstance(given, analysis.Point):
        made = {
            f"{name}.{key}": (lambda v, key=key: dataclasses.replace(given, **{key: v}))
            for key in ("queue", "load", "probability")
        }
        return made | {f"{name}.rtts": lambda v: dataclasses.replace(given, rtts=(v,))}
    return {} if name in LEFT else {name: lambda v: v}


@pytest.mark.parametrize("call", FUNCTIONS, ids=lambda call: call.__qualname__)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_analysis_uses_a_number_or_refuses_it_in_one_line(call):
    arguments = FUNCTIONS[call]
    call(**arguments)
    for name, given in arguments.items():
        for path, put in replaced(name, given).items():
            check(f"{call.__qualname__}: {path}", lambda v, n=name, put=put: call(**{**arguments, n: put(v)}), NUMBERS)


def test_every_function_of_the_analysis_is_given_such_numbers():
    public = [getattr(analysis, name) for name in analysis.__all__] + [each for _, each in inspect.getmembers(laws)]
    functions = {each for each in public if inspect.isfunction(each) and each.__module__.startswith("sojourn.analysis")}
    assert {each for each in functions if not each.__name__.startswith("_")} <= set(FUNCTIONS)


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
