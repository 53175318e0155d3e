"""Each controller next to each other one: shares, harm and delay over a grid of paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.compare.cases import Case, Named, cases_of, controller_tables, field_axis
from sojourn.core.errors import UserError
from sojourn.core.ranges import Range
from sojourn.core.scenario import Scenario, tables_of
from sojourn.core.scenario_files import loads
from sojourn.core.stats import Estimate, estimate
from sojourn.runs.laws import Laws
from sojourn.runs.runner import Job, Progress, run_jobs
from sojourn.runs.store import Store

PAIR = """
name = "pair"
duration = "120 s"
warmup = "20 s"
[[links]]
name = "bottleneck"
from = "left"
to = "right"
rate = "20 Mbit/s"
delay = "20 ms"
duplex = true
queue = { limit = "1 BDP" }
[[flows]]
name = "row"
from = "left"
to = "right"
start = { uniform = ["0 s", "1 s"] }
[[flows]]
name = "column"
from = "left"
to = "right"
start = { uniform = ["0 s", "1 s"] }
[tcp]
profile = "linux"
mss = "1448 B"
window = "100000 packets"
"""
"""Two flows over one link: the network of a matrix without a scenario file."""
PLACES: dict[str, list[Any]] = {
    "links.bottleneck.delay": ["10 ms", "50 ms"],
    "links.bottleneck.queue.limit": ["0.25 BDP", "1 BDP", "4 BDP"],
}
"""The fields that a matrix varies by default."""
MEASURES = {
    "share": "share of the goodput that the row's flow takes, in %",
    "harm": "goodput that the column's flow loses, of that next to its own kind, in %",
    "delay": "RTT of the column's flow more than next to its own kind, in ms",
}
"""The measures of a cell."""


@dataclass(frozen=True)
class Matrix:
    """The results of a matrix, by place, row and column.

    Parameters
    ----------
    controllers : list of str
        The controllers, in the order of rows and columns.
    places : list of str
        The places: combinations of the varied fields.
    cells : dict
        The measures `share` (%), `harm` (%) and `delay` (ms) of each place, row and column.
    seeds : int
        The number of seeds.

    Examples
    --------
    >>> found = sj.compare_matrix("reno,cubic", seeds=2)
    >>> sorted(found.cells["as in the scenario", "reno", "cubic"])
    ['delay', 'harm', 'share']
    """

    controllers: list[str]
    places: list[str]
    cells: dict[tuple[str, str, str], dict[str, Estimate]]
    """The measures of a cell by place, row and column."""
    seeds: int

    def rows(self) -> list[dict[str, Any]]:
        """A row for each cell and measure, for CSV and JSON.

        Returns
        -------
        list of dict
            Place, row, column, measure, mean, ends of the 95 % interval, and number of seeds.

        Examples
        --------
        >>> found = sj.compare_matrix("reno,cubic", seeds=2)
        >>> len(found.rows())
        12
        """
        return [
            {
                "place": place,
                "row": row,
                "column": column,
                "measure": name,
                "mean": value.mean,
                "low": value.low,
                "high": value.high,
                "seeds": value.n,
            }
            for (place, row, column), cell in self.cells.items()
            for name, value in cell.items()
        ]


def pair_scenario() -> Scenario:
    """The network of a matrix without a scenario file."""
    return loads(PAIR, "pair")


def compare_matrix(
    controllers: Named,
    scenario: Scenario | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
    seeds: int = 5,
    *,
    threads: int = 0,
    cache: Store | None = None,
    progress: Progress | None = None,
    laws: Laws | None = None,
) -> Matrix:
    """Runs each controller next to each other one and next to its own kind.

    Parameters
    ----------
    controllers : str, list or dict
        The controllers, such as `"reno,cubic,bbr3"`; names in `laws` are controllers in Python.
    scenario : Scenario, optional
        A network with two groups of TCP flows: the first is the row's, the second the column's. Default: two flows over
        20 Mbit/s with a base round trip of 40 ms and a buffer of one BDP.
    vary : dict, optional
        Fields and their values; the matrix has a place for each combination. Default: the scenario alone.
    seeds : int, default 5
        The number of seeds. All cells have the same.
    threads : int, default 0
        Threads; 0 for one per core.
    cache : Store, optional
        The store of finished runs.
    progress : callable, optional
        Called with the finished and all runs.
    laws : dict, optional
        Controllers in Python by name.

    Returns
    -------
    Matrix
        The cells. Harm and delay are paired by seed with the column's controller next to itself.

    Raises
    ------
    UserError
        For a scenario without exactly two groups, or fewer than two controllers.

    Examples
    --------
    >>> found = sj.compare_matrix("reno,cubic", seeds=2)
    >>> found.controllers
    ['reno', 'cubic']
    """
    own, scenario = laws or {}, pair_scenario() if scenario is None else scenario
    tables = {
        label: {"cc": "external", "controller": table["cc"]} if table["cc"] in own else table
        for label, table in controller_tables(controllers).items()
    }
    if len(tables) < 2:
        raise UserError.expected("matrix", "two controllers or more", ", ".join(tables) or "none")
    groups = [str(each.get("name", "")) for each in tables_of(scenario, "flows")]
    if len(groups) != 2:
        raise UserError.expected("matrix", "a scenario with two groups of flows", ", ".join(groups) or "none")
    places = _places(scenario, vary or {})
    keys = [(case, row, column) for case in places for row in tables for column in tables]
    first = int(scenario.resolved()["seed"])
    jobs = []
    for case, row, column in keys:
        changed = case.scenario.copy()
        for group, control in zip(groups, (row, column), strict=True):
            changed.set(f"flows.{group}.tcp.control", tables[control])
        jobs += [Job(changed, seed) for seed in range(first, first + seeds)]
    records = iter(run_jobs(jobs, threads=threads, cache=cache, progress=progress, laws=laws))
    runs = {
        (case.label, row, column): [_measured(next(records), groups) for _ in range(seeds)]
        for case, row, column in keys
    }
    cells = {key: _cell(of_key, runs[key[0], key[2], key[2]]) for key, of_key in runs.items()}
    return Matrix(list(tables), [case.label for case in places], cells, seeds)


def _places(scenario: Scenario, vary: Mapping[str, Sequence[Any]]) -> list[Case]:
    """The places: every combination of the varied fields."""
    if not vary:
        return [Case("as in the scenario", {}, scenario)]
    return cases_of(scenario, [field_axis(path, values) for path, values in vary.items()])


@dataclass(frozen=True)
class _Run:
    """The figures of a run: goodput of both groups in bit/s, and the RTT of the second in ms."""

    row: float
    column: float
    rtt: float


def _measured(record: Any, groups: Sequence[str]) -> _Run:
    """The figures of a record."""
    row, column = (record.value(f"groups.{group}.goodput_bps") or 0.0 for group in groups)
    return _Run(float(row), float(column), float(record.value(f"groups.{groups[1]}.rtt_ms.mean") or 0.0))


def _cell(found: Sequence[_Run], own: Sequence[_Run]) -> dict[str, Estimate]:
    """The measures of a cell; `own` is the column's controller next to itself."""
    pairs = list(zip(found, own, strict=True))
    return {
        "share": estimate([100 * one.row / max(one.row + one.column, 1.0) for one in found], within=Range(0, 100)),
        "harm": estimate(
            [100 * (1 - one.column / max(other.column, 1.0)) for one, other in pairs], within=Range(high=100)
        ),
        "delay": estimate([one.rtt - other.rtt for one, other in pairs]),
    }
