"""Sweeps: a grid over any fields of a scenario, with several seeds for each point."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sojourn import _sojourn
from sojourn.core import field_paths, toml
from sojourn.core.errors import ScenarioError, UserError
from sojourn.core.examples import located
from sojourn.core.field_labels import value_label
from sojourn.core.quantities import common_unit
from sojourn.core.scenario import Scenario
from sojourn.core.scenario_files import Source, load, read_scenario, read_text
from sojourn.core.text_format import counted, listed
from sojourn.runs.seeds import Seeds, seeds_of
from sojourn.sweep.grid import Points, Runs


@dataclass(frozen=True)
class Plan:
    """The plan of a sweep: the points of the grid, each with the same number of seeds.

    Parameters
    ----------
    name : str
        The name of the result folder.
    axes : list of str
        The names of the axes.
    points : sequence of Point
        The points of the grid, with the last axis fastest. A point is created on access.
    seeds : int or sequence of int
        The number of seeds per point, or a list of seeds.

    Examples
    --------
    >>> plan = sj.make_plan("examples/dumbbell.toml", {"flows.ftp.count": [10, 50]}, seeds=5)
    >>> len(plan.jobs())
    10
    """

    name: str
    axes: list[str]
    points: Points
    seeds: Seeds

    def __repr__(self) -> str:
        return f"<Plan {self.name}: {self.grid}>"

    @property
    def grid(self) -> str:
        """The size of the grid and its axes: `12 points × 5 seeds over queue, flows.ftp.count`."""
        seeds = counted(self.replications, "seed")
        return f"{counted(len(self.points), 'point')} × {seeds} over {listed(self.axes)}"

    @cached_property
    def units(self) -> dict[str, str]:
        """The base unit of each axis that has quantities of one kind.

        It is `bit/s`, `s`, `packets`, `B` or `BDP`.
        """
        every = [self.points.labels(index) for index in range(len(self.points))]
        found = {
            axis: common_unit({str(at[axis]) if isinstance(at[axis], str) else None for at in every})
            for axis in self.axes
        }
        return {axis: unit for axis, unit in found.items() if unit is not None}

    @property
    def replications(self) -> int:
        """The number of seeds per point."""
        return self.seeds if isinstance(self.seeds, int) else len(self.seeds)

    def jobs(self) -> Runs:
        """Every run, in order.

        Returns
        -------
        sequence of Job
            A scenario and a seed per run. A scenario is created on access.
        """
        return Runs(self.points, self.seeds)


RESERVED = ("seed", "fingerprint", "measure", "unit", "mean", "sd", "low", "high", "n")
"""Column names of the tables. An axis may not have such a name."""


def read_plan(path: str | Path, changes: Mapping[str, Any] | None = None) -> Plan:
    """Reads a sweep file. Scenario names in it are relative to its folder.

    `changes` maps paths of fields to values. They are applied to the scenario before the axes.

    Raises `UserError` and `ScenarioError` for files that can't be used, `UserError` for a change of an axis.
    """
    file = located(Path(path))
    changed = changes or {}
    named: list[Scenario] = []

    def read(name: str) -> tuple[str, str]:
        base = read_scenario(file.parent / name).set_all(changed)
        named.append(base)
        return base.file, base.for_engine()

    text = read_text(file, "sweep")
    try:
        grid = _sojourn.Grid(text, str(file), read, written=True)
    except ScenarioError as error:  # its position may refer to generated text or to a changed field
        raise ScenarioError(named[-1].clean_error(str(error)) if named else str(error)) from None
    written = toml.parse(text, str(file))
    plan = _plan(grid, written, str(file), file.stem)
    for path in changed:
        if axis := _setting(written, named[-1].to_dict(), path):
            of = "" if axis == path else f", which the axis {axis} sets"
            raise UserError(f'{file}: expected a change of a field that is no axis, got "{path}"{of}')
    return plan


def _setting(written: Mapping[str, Any], base: Mapping[str, Any], path: str) -> str | None:
    """The axis that sets the field at `path` at every point of a sweep; None if none does."""
    points: dict[str, list[list[str]]] = {axis: [[axis]] for axis in written.get("axes", {})}
    points |= {axis: list(map(list, variants.values())) for axis, variants in written.get("variants", {}).items()}
    for axis, every in points.items():
        if all(any(field_paths.replaces(base, one, path) for one in sets) for sets in every):
            return axis
    return None


def make_plan(
    scenario: Source,
    axes: Mapping[str, Sequence[Any]] | None = None,
    seeds: Seeds = 1,
    *,
    variants: Mapping[str, Mapping[str, Mapping[str, Any]]] | None = None,
    name: str = "sweep",
) -> Plan:
    """Makes a plan of a sweep from a scenario and its axes.

    Parameters
    ----------
    scenario : str, path, mapping or Scenario
        The scenario, in any form that `load` accepts.
    axes : mapping of str to sequences, optional
        Paths of fields with lists of values.
    seeds : int or sequence of int, default 1
        The number of seeds per point, or a list.
    variants : mapping of str to mappings, optional
        Names of axes, each with named sets of fields.
    name : str, default "sweep"
        The name in messages and file names.

    Returns
    -------
    Plan
        The points of the grid. Every point has been checked.

    Raises
    ------
    UserError
        An argument can't be used.
    ScenarioError
        The scenario can't be run at some point.

    Examples
    --------
    >>> sj.make_plan("examples/dumbbell.toml", {"flows.ftp.count": [10, 50]}, seeds=5)
    <Plan sweep: 2 points × 5 seeds over flows.ftp.count>
    """
    base = load(scenario)
    if not isinstance(name, str):
        raise UserError.expected("name", "a text", name)
    toml.plain(name, "name")
    for what, given in (("axes", axes), ("variants", variants)):
        if given is not None and not isinstance(given, Mapping):
            raise UserError.expected(f"{name}: {what}", "a table of paths or names", given)
    lists = {
        path: list(v) if isinstance(v, Iterable) and not isinstance(v, (str, Mapping)) else v
        for path, v in (axes or {}).items()
    }
    seeds_of(seeds)
    written = toml.plain({"scenario": base.label, "axes": lists, "variants": variants or {}}, f"{name}: ")
    with base.clean_errors():
        text = toml.for_engine(written, name)
        grid = _sojourn.Grid(text, name, lambda _: (base.file, base.for_engine()), written=False)
    return replace(_plan(grid, written, name, name), seeds=seeds)


def _plan(grid: _sojourn.Grid, written: Mapping[str, Any], label: str, name: str) -> Plan:
    """The plan of a grid that was read from the table of a sweep."""
    if not grid.axes:
        raise UserError(f"{label}: axes: expected one or more, got none: `run --seeds` runs one scenario several times")
    for axis in grid.axes:
        if axis in RESERVED:
            raise UserError(f'{label}: expected an axis of another name than {", ".join(RESERVED)}, got "{axis}"')
    _check_different(label, written)
    return Plan(name, grid.axes, Points(grid), grid.replications)


def _check_different(label: str, written: Mapping[str, Any]) -> None:
    """Rejects duplicate values of an axis, and variants named like a measure.

    The runs of duplicate values would count twice.
    """
    for axis, values in written.get("axes", {}).items():
        seen = set()
        for value in values:
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            text = repr(float(value)) if number else value_label(value)
            if text in seen:
                raise UserError(f"{label}: axes.{axis}: expected different values, got {value_label(value)} twice")
            seen.add(text)
    for axis in written.get("variants", {}):
        if "." in axis:
            raise UserError(f'{label}: variants: expected a name without dots, unlike a measure\'s, got "{axis}"')
