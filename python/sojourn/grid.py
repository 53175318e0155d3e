"""The grid of a sweep: points and runs that are made when they are asked for, since there may be 100,000 of them."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from sojourn import _sojourn
from sojourn.labels import value_label
from sojourn.running import Job, Seeds, seeds_of
from sojourn.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Point:
    """One point of the grid: the value of each axis, the scenario, the first seed."""

    labels: dict[str, Any]
    scenario: Scenario
    seed: int


class Points(Sequence[Point]):
    """The points of a grid, the last axis fastest."""

    def __init__(self, grid: _sojourn.Grid) -> None:
        self._grid, self._axes = grid, grid.axes

    def __len__(self) -> int:
        return len(self._grid)

    @overload
    def __getitem__(self, index: int) -> Point: ...
    @overload
    def __getitem__(self, index: slice) -> list[Point]: ...
    def __getitem__(self, index: int | slice) -> Point | list[Point]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        at = range(len(self))[index]
        labels = self.labels(at)
        seed, text = self._grid.point(at)
        where = ", ".join(f"{name} = {value_label(value)}" for name, value in labels.items())
        label = f"{self._grid.file} with {where}" if where else self._grid.file
        return Point(labels, Scenario.from_engine(text, self._grid.file, label), seed)

    def labels(self, index: int) -> dict[str, Any]:
        """The value of each axis at a point; cheaper than the point."""
        return dict(zip(self._axes, json.loads(self._grid.labels(index)), strict=True))


class Runs(Sequence[Job]):
    """Every run of a grid: each seed of each point, in order."""

    def __init__(self, points: Points, seeds: Seeds) -> None:
        self._points, self._seeds = points, seeds
        self._each = len(seeds_of(seeds))
        self._last: tuple[int, Point] | None = None
        self._labels: tuple[int, dict[str, Any]] | None = None

    def __len__(self) -> int:
        return len(self._points) * self._each

    @overload
    def __getitem__(self, index: int) -> Job: ...
    @overload
    def __getitem__(self, index: slice) -> list[Job]: ...
    def __getitem__(self, index: int | slice) -> Job | list[Job]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        at, replication = divmod(range(len(self))[index], self._each)
        if self._last is None or self._last[0] != at:  # the seeds of a point follow each other
            self._last = at, self._points[at]
        point = self._last[1]
        return Job(point.scenario, seeds_of(self._seeds, point.seed)[replication])

    def __iter__(self) -> Iterator[Job]:
        for point in self._points:
            for seed in seeds_of(self._seeds, point.seed):
                yield Job(point.scenario, seed)

    def labels(self, index: int) -> dict[str, Any]:
        """The value of each axis in a run."""
        at = index // self._each
        if self._labels is None or self._labels[0] != at:
            self._labels = at, self._points.labels(at)
        return self._labels[1]


class Rows:
    """A row of numbers for each run, which may come in any order; a row takes 8 bytes for each number."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._rows: dict[int, tuple[tuple[str, ...], array[float], Mapping[str, Any]]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, index: int, numbers: Mapping[str, float], rest: Mapping[str, Any]) -> None:
        """Adds the row of a run: its numbers, and what else is in it."""
        names = tuple(numbers)
        self._rows[index] = (self._names.setdefault(names, names), array("d", numbers.values()), rest)

    def frame(self) -> pd.DataFrame:
        """All rows in order, the rest before the numbers; NaN for a number that a run has not."""
        import pandas as pd

        order = sorted(self._rows)
        firsts = dict.fromkeys(self._rows[index][0] for index in order)
        columns = {name: i for i, name in enumerate(dict.fromkeys(name for names in firsts for name in names))}
        places = {names: [columns[name] for name in names] for names in firsts}
        numbers = np.full((len(order), len(columns)), np.nan)
        for row, index in enumerate(order):
            names, values, _ = self._rows[index]
            numbers[row, places[names]] = values
        rest = pd.DataFrame([self._rows[index][2] for index in order])
        for name in rest:
            if len({isinstance(value, str) + 2 * isinstance(value, bool) for value in rest[name]}) > 1:
                rest[name] = rest[name].map(value_label)  # a file has columns of one type
        return pd.concat([rest, pd.DataFrame(numbers, columns=list(columns))], axis=1)
