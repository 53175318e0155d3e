"""The rows of a sweep: a row of numbers per run, stored in a temporary file."""

from __future__ import annotations

import pickle
from array import array
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sojourn.core.field_labels import value_label
from sojourn.core.scratch_file import Scratch

if TYPE_CHECKING:
    import pandas as pd


class Rows:
    """A row for each of `count` runs, added in any order and read in the order of runs.

    All but the last megabyte are in a temporary file. In memory a row needs 16 bytes, whatever its length.
    """

    def __init__(self, count: int) -> None:
        self._content = Scratch()
        self._begins, self._sizes = array("q", [-1]) * count, array("q", [0]) * count
        self._names: dict[tuple[str, ...], int] = {}
        """The sets of column names that occur, each with its index in `_firsts`."""
        self._firsts: list[int] = []
        """For each set, the first run that has it."""
        self._kinds: dict[str, set[type]] = {}
        """The types of the values in each column that does not contain numbers of a run."""

    def __len__(self) -> int:
        return len(self._begins) - self._begins.count(-1)

    def add(self, index: int, numbers: Mapping[str, float], rest: Mapping[str, Any]) -> None:
        """Adds the row of a run: its numbers, and its other columns.

        Raises `DiskError` if the disk is full.
        """
        names = tuple(numbers)
        place = self._names.setdefault(names, len(self._names))
        if place == len(self._firsts):
            self._firsts.append(index)
        self._firsts[place] = min(self._firsts[place], index)
        for name, value in rest.items():
            self._kinds.setdefault(name, set()).add(type(value))
        row = pickle.dumps((place, array("d", numbers.values()).tobytes(), tuple(rest.values())))
        self._begins[index], self._sizes[index] = self._content.append(row), len(row)

    @property
    def names(self) -> list[str]:
        """The numeric columns of all runs, in the order of the runs."""
        sets = sorted(self._names, key=lambda names: self._firsts[self._names[names]])
        return list(dict.fromkeys(name for names in sets for name in names))

    def tables(self, runs: int) -> Iterator[pd.DataFrame]:
        """All rows in tables of `runs` runs each (see `table`); empty tables are omitted."""
        for first in range(0, len(self._begins), runs):
            part = range(first, min(first + runs, len(self._begins)))
            if any(self._begins[index] >= 0 for index in part):
                yield self.table(part)

    def table(self, part: range | None = None) -> pd.DataFrame:
        """The rows of these runs (default: all) in order; NaN for missing values.

        Numeric columns are last. A column has the same type in every part.
        """
        import pandas as pd

        chosen = part if part is not None else range(len(self._begins))
        order = [index for index in chosen if self._begins[index] >= 0]
        columns = {name: i for i, name in enumerate(self.names)}
        places = {place: [columns[name] for name in names] for names, place in self._names.items()}
        numbers = np.full((len(order), len(columns)), np.nan)
        rest = []
        for row, index in enumerate(order):
            place, values, others = pickle.loads(self._content.read(self._begins[index], self._sizes[index]))
            numbers[row, places[place]] = np.frombuffer(values)
            rest.append(others)
        before = {name: self._column(name, [row[i] for row in rest]) for i, name in enumerate(self._kinds)}
        return pd.concat([pd.DataFrame(before), pd.DataFrame(numbers, columns=list(columns))], axis=1)

    def _column(self, name: str, values: list[Any]) -> list[str] | npt.NDArray[Any]:
        """The values of a column: numbers, booleans or texts.

        They are texts if runs differ in the type.
        """
        kinds = self._kinds[name]
        if kinds <= {int, float}:
            return np.array(values, dtype=float if float in kinds else int)
        return np.array(values) if kinds == {bool} else [value_label(value) for value in values]

    def means(self) -> pd.Series[float]:
        """The mean of each number over the runs that have it."""
        import pandas as pd

        names = self.names
        sums, counts = pd.Series(0.0, names), pd.Series(0, names)
        for part in self.tables(5000):
            sums, counts = sums + part[names].sum(), counts + part[names].count()
        return sums / counts
