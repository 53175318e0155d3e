"""Expands the compact entries of `experiment.toml`: families of scenarios, curves of queues."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn.core.congestion import flows_for, packets_of
from sojourn.core.errors import UserError
from sojourn.experiments.braces import filled
from sojourn.experiments.expression import UnknownNameError, evaluate, fill
from sojourn.experiments.schema.experiment import Congestion, CurveTable, Family, Measure, ScenarioTable
from sojourn.experiments.schema.toml import WORD, is_word
from sojourn.experiments.schema.variables import Parameters

MOST_CASES = 100_000
"""The largest number of combinations of one entry of a paper's file."""


@dataclass(frozen=True, kw_only=True)
class ExperimentScenario:
    """A scenario of the experiment: a file, changed fields, and scenario-specific measures."""

    id: str
    label: str
    title: str
    file: Path
    queue: dict[str, Any]
    measures: dict[str, Measure]
    set: dict[str, Any] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    """The values of its family by name."""
    queue_at: tuple[str, ...] = ()
    steps: tuple[Parameters, ...] = ()
    """Fields that are changed after a run of the scenario before; braces name its measures."""


@dataclass(frozen=True)
class Choice:
    """A queue or a setting of the paper under a short name."""

    id: str
    label: str
    title: str
    table: dict[str, Any]
    values: dict[str, str] = field(default_factory=dict)
    """Its values for braces of measures and steps."""
    like: str = ""
    """The queue whose color it has in figures."""
    host: str = ""
    """A transport of others that carries its flows instead of a controller in `table`."""


@dataclass(frozen=True)
class Curve:
    """Queues that differ in some parameters: the points of a trade-off."""

    id: str
    label: str
    queues: list[str]


def plain_scenario(root: Path, table: ScenarioTable) -> ExperimentScenario:
    """A scenario that does not belong to a family."""
    return ExperimentScenario(
        id=table.id,
        label=table.label,
        title=table.title,
        file=root / table.file,
        queue=table.queue,
        measures=table.measures,
        set=table.set,
        queue_at=table.queue_at,
        steps=tuple(each.set for each in table.steps),
    )


def expand_family(root: Path, family: Family, label: str) -> list[ExperimentScenario]:
    """The scenarios of a family. `label` begins the message of an error."""
    found = []
    points = range(max((len(each) for each in family.points.values()), default=1))
    if (count := len(points) * math.prod(map(len, family.over.values()))) > MOST_CASES:
        raise UserError(f"{label}.over: expected at most {MOST_CASES} combinations, got {count}")
    for point, combination in itertools.product(points, itertools.product(*family.over.values())):
        values = {name: each[point] for name, each in family.points.items()}
        values |= dict(zip(family.over, combination, strict=True))
        changes, queue = filled(family.set, values), filled(family.queue, values)
        if family.congestion:
            held = _congest(family.congestion, values, changes, f"{label}.congestion")
            queue = {"limit": f"{held} packets"} | queue
        made = ExperimentScenario(
            id=fill(family.id, values),
            label=fill(family.label or family.id, values),
            title=fill(family.title or family.label or family.id, values),
            file=root / family.file,
            queue=queue,
            measures=family.measures,
            set=changes,
            values=values,
            queue_at=family.queue_at,
            steps=tuple(each.set for each in family.steps),
        )
        if not is_word(made.id):
            raise UserError.expected(f"{label}.id", WORD, made.id)
        found.append(made)
    return found


def _congest(table: Congestion, values: Mapping[str, str], changes: dict[str, Any], label: str) -> int:
    """Sets the numbers of flows in `changes`; returns the packets that fill the path."""
    try:
        rate, rtt, packet = (float(fill(text, values)) for text in (table.rate, table.rtt, table.packet))
    except ValueError as error:
        raise UserError(f"{label}: expected numbers for rate, rtt and packet, got {error}") from None

    def flows_at(level: tuple[str, ...]) -> float:
        return float(flows_for(".".join(level), rate, rtt, packet))

    for group, expression in table.counts.items():
        try:
            flows = float(evaluate(fill(expression, values), flows_at))
        except (UserError, UnknownNameError) as error:
            raise UserError(f"{label}.counts.{group}: {error}") from None
        changes[f"flows.{group}.count"] = max(1, round(flows))
    return packets_of(rate, rtt, packet)


def expand_curve(table: CurveTable) -> tuple[Curve, dict[str, Choice]]:
    """A curve, and the queues that are its points; the first parameter that varies names them."""
    points = {}
    for values in zip(*table.vary.values(), strict=True):
        texts = [value if isinstance(value, str) else f"{value:g}" for value in values]
        name = f"{table.id}_{texts[0]}".replace(".", "p").replace(" ", "")
        shown = "/".join(texts)
        queue = table.queue | dict(zip(table.vary, values, strict=True))
        points[name] = Choice(name, f"{table.label} {shown}", table.title, queue)
    return Curve(table.id, table.label, list(points)), points
