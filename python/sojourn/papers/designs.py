"""Designs and fluid runs of a paper: what its claims and figures on control theory are computed from."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import control
import numpy as np
import numpy.typing as npt

from sojourn import _sojourn
from sojourn.analysis import cascade
from sojourn.analysis.cascade import Cascade, OperatingPoint, Pid
from sojourn.analysis.feedback_loop import Loop
from sojourn.analysis.margins import margins
from sojourn.analysis.plant import Flows, Plant
from sojourn.analysis.transfer import Response, poles_of_closed, rational, response, step
from sojourn.analysis.transient import Transient, transient
from sojourn.errors import UserError
from sojourn.papers.expression import Functions, Value
from sojourn.papers.fields import Fields

Array = npt.NDArray[np.float64]
METHODS = ("cpc", "autotune", "integral")
STEP = 20.0


@dataclass(frozen=True)
class Design:
    """A controller of the paper at an operating point."""

    id: str
    label: str
    method: str
    point: OperatingPoint
    inner_gain: float | None = None
    """cpc: in place of the design's; autotune: by the margin where absent."""
    crossover: float | None = None
    """autotune: given, or found by the tuning where absent."""
    margin: float = 60.0


@dataclass(frozen=True)
class Built:
    """What came of a design: its open loop without dead time, and its numbers by name."""

    loop: control.TransferFunction
    delayed: Response
    rtt: float
    numbers: dict[str, float]


@dataclass(frozen=True)
class Fluid:
    """A run of the fluid model, closed by the code of a queue of the paper."""

    id: str
    label: str
    queue: dict[str, Any]
    plant: dict[str, Any]
    run: dict[str, Any]


def read_designs(tables: Mapping[str, Fields]) -> dict[str, Design]:
    """The designs of `paper.toml`."""
    found = {}
    for name, f in tables.items():
        method = f.text("method")
        if method not in METHODS:
            raise f.error("method", method, f"one of {', '.join(METHODS)}")
        point = OperatingPoint(f.number("flows"), f.number("rate"), f.number("rtt"))
        inner, crossover = f.number("inner_gain", math.nan), f.number("crossover", math.nan)
        found[name] = Design(
            name, f.text("label", name), method, point, None if math.isnan(inner) else inner,
            None if math.isnan(crossover) else crossover, f.number("margin", 60.0),
        )  # fmt: skip
        f.done()
    return found


def read_fluids(tables: Mapping[str, Fields]) -> dict[str, Fluid]:
    """The fluid runs of `paper.toml`."""
    found = {}
    for name, f in tables.items():
        found[name] = Fluid(name, f.text("label", name), f.table("queue"), f.table("plant"), f.table("run"))
        f.done()
    return found


@functools.cache
def build(design: Design) -> Built:
    """Carries a design out."""
    point = design.point
    if design.method == "integral":
        gain = cascade.integral_by_margin(point.plant(), design.margin)
        loop = rational([gain], [1.0, 0.0]) * point.plant()
        return Built(loop, response(loop, point.rtt), point.rtt, {"gain": gain})
    made = cascade.cpc(point, design.inner_gain)
    if design.method == "autotune":
        inner = design.inner_gain or cascade.integral_by_margin(point.window_plant(), design.margin)
        made = Cascade(point, inner, Pid(1.0, 1.0))
        plant = made.inner_closed() * point.queue_plant()
        if design.crossover is None:
            outer, _ = cascade.tune(plant, design.margin)
        else:
            outer = cascade.pid_at(response(plant), design.crossover, design.margin)
        made = Cascade(point, inner, outer)
    pid = made.outer
    numbers = {
        "inner_gain": made.inner_gain, "outer_gain": pid.gain, "integral_time": pid.integral_time,
        "derivative_time": pid.derivative_time,
    }  # fmt: skip
    return Built(made.outer_loop(), made.outer_response(), point.rtt, numbers)


@functools.cache
def answer(design: Design, delay: bool) -> tuple[Array, Array, Transient]:
    """The step of 20 packets, and its measures."""
    built = build(design)
    t, y = step(built.loop, built.rtt if delay else 0.0, 60.0, STEP)
    return t, y, transient(t, y, STEP)


@functools.cache
def _margins(design: Design, delay: bool) -> dict[str, float]:
    built = build(design)
    found = margins(built.delayed if delay else response(built.loop))
    return {"crossover": found.crossover, "phase_margin": found.phase, "gain_margin": found.gain}


def quantity(design: Design, name: str, delay: bool) -> float:
    """One number of a design: of its controllers, margins, step or poles."""
    built = build(design)
    if name in built.numbers:
        return built.numbers[name]
    if name in ("rise", "overshoot", "settling"):
        return float(getattr(answer(design, delay)[2], name))
    if name == "end":
        return float(answer(design, delay)[1][-1])
    if name == "rightmost_pole":
        return float(np.max(poles_of_closed(built.loop).real))
    found = _margins(design, delay)
    if name not in found:
        known = [*built.numbers, "rise", "overshoot", "settling", "end", "rightmost_pole", *found]
        raise UserError(f'design "{design.id}": no "{name}"; there are {", ".join(known)}')
    return found[name]


def trajectory(fluid: Fluid, plant: Mapping[str, Any] | None = None) -> dict[str, Array]:
    """A fluid run, over another plant where one is given."""
    text = json.dumps(fluid.plant | dict(plant or {}))
    try:
        return _sojourn.fluid(json.dumps(fluid.queue), text, json.dumps(fluid.run))
    except ValueError as error:
        raise UserError(f'fluid "{fluid.id}": {error}') from None


def at_end(fluid: Fluid) -> dict[str, float]:
    """Means and deviations over the last quarter of a fluid run, and its peak."""
    return _at_end(json.dumps({"queue": fluid.queue, "plant": fluid.plant, "run": fluid.run}))


def delay_margin(fluid: Fluid) -> float:
    """The delay margin of a fluid's loop where it rests, in seconds."""
    classes = tuple(Flows(**each) for each in fluid.plant["classes"])
    return Loop(fluid.queue, Plant(**(fluid.plant | {"classes": classes}))).margins().delay


@functools.cache
def _at_end(text: str) -> dict[str, float]:
    fluid = Fluid("", "", **json.loads(text))
    made = trajectory(fluid)
    last = made["t"] >= 0.75 * float(made["t"][-1])
    return {
        "queue": float(made["queue"][last].mean()), "queue_sd": float(made["queue"][last].std()),
        "probability": float(made["probability"][last].mean()), "peak": float(made["queue"].max()),
        "ripple": float(np.ptp(made["queue"][last])),
    }  # fmt: skip


def functions(designs: Mapping[str, Design], fluids: Mapping[str, Fluid]) -> Functions:
    """What expressions may ask of designs and fluid runs.

    `design(name, quantity)`, with `"delay"` as a third argument for the loop with its dead time; `fluid(name,
    quantity)` over the last quarter of a run: queue, queue_sd, ripple, probability, and peak over all of it.
    """

    def of_design(name: str, what: str, delay: str = "") -> Value:
        if name not in designs:
            raise UserError(f'design "{name}": taken are {", ".join(designs)}')
        return quantity(designs[name], what, delay == "delay")

    def of_fluid(name: str, what: str) -> Value:
        if name not in fluids:
            raise UserError(f'fluid "{name}": taken are {", ".join(fluids)}')
        rest = at_end(fluids[name])
        if what not in rest:
            raise UserError(f'fluid "{name}": no "{what}"; there are {", ".join(rest)}')
        return rest[what]

    return {"design": of_design, "fluid": of_fluid}
