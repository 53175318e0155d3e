"""The grid of a sweep. Points and runs are created on access, because there may be 100,000."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from sojourn import _sojourn
from sojourn.core.field_labels import value_label
from sojourn.core.scenario import Scenario
from sojourn.runs.runner import Job
from sojourn.runs.seeds import Seeds, seeds_of


@dataclass(frozen=True)
class Point:
    """One point of the grid: the value of each axis, the scenario, the first seed."""

    labels: dict[str, Any]
    scenario: Scenario
    seed: int


class Points(Sequence[Point]):
    """The points of a grid, with the last axis fastest."""

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
        """The value of each axis at a point. Cheaper than creating the point."""
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
        if self._last is None or self._last[0] != at:  # consecutive runs are seeds of the same point
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
