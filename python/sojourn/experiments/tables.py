"""The table of a grid in a report, with a row for each case.

If that is narrower, it has a row for each measure.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from sojourn.core import record_schema
from sojourn.core.stats import Estimate, decimals, estimate_of
from sojourn.experiments.model import Case, Experiment, Grid
from sojourn.experiments.outcome import Outcome
from sojourn.experiments.pairs import best_of
from sojourn.experiments.schema.experiment import Measure

GIVEN = ("published", "reference")
"""The columns of a grid's cells with values that are not measured here."""
MOST_COLUMNS = 10
"""The number of columns up to which letters have their usual size."""
MANY = 6
"""The number of measures from which a table has a row for each, if it has fewer cases."""


@dataclass(frozen=True)
class Cell:
    """A number of a table, colored by its verdict."""

    text: str
    verdict: str = ""
    tolerance: str = ""
    alike: bool = False
    """Whether the value may equal that of the reference queue.

    The interval of the paired differences then has 0.
    """
    best: bool = False
    """Whether the queue is significantly better than every other."""


@dataclass(frozen=True)
class Row:
    """A row: its names, and its cells."""

    names: list[str]
    cells: list[Cell]
    note: str = ""
    """The text after its first name, in a lighter color."""
    span: int = 1
    """Rows that share its first name; 0 where an earlier row has it."""


@dataclass(frozen=True)
class Head:
    """The heading of one column, or of the two of a given and a measured value."""

    text: str
    given: str = ""
    """The origin of the given value.

    It is `published` for the paper, `reference` for another simulator.
    """


@dataclass(frozen=True)
class CaseTable:
    """A table. Columns without any value are left out."""

    names: list[str]
    heads: list[Head]
    rows: list[Row] = field(default_factory=list)

    @property
    def wide(self) -> bool:
        """Whether its many columns need smaller letters to fit."""
        return len(self.names) + sum(2 if head.given else 1 for head in self.heads) > MOST_COLUMNS

    @property
    def has_best(self) -> bool:
        """Whether any value is bold."""
        return any(cell.best for row in self.rows for cell in row.cells)

    @property
    def has_alike(self) -> bool:
        """Whether any value is gray."""
        return any(cell.alike for row in self.rows for cell in row.cells)

    @property
    def has_given(self) -> bool:
        """Whether any column has given values.

        A second line of headings then distinguishes them.
        """
        return any(head.given for head in self.heads)


@dataclass(frozen=True)
class _Column:
    """A measure of all cases, with one number of decimal places.

    Its values can thus be compared at a glance.
    """

    head: Head
    cells: dict[Case, list[Cell]]


def table_of(outcome: Outcome, grid: Grid) -> CaseTable | None:
    """The table of a grid; None without runs."""
    cells = outcome.cells(grid)
    if cells.empty:
        return None
    experiment, cases = outcome.experiment, grid.cases()
    rows: dict[str, dict[Case, pd.Series[Any]]] = {}
    for _, row in cells.iterrows():
        rows.setdefault(row["measure"], {})[Case(row["scenario"], row["queue"], row["setting"])] = row
    columns = [_column(outcome, measure, found) for measure, found in rows.items() if _any_value(found)]
    if len(columns) > max(MANY, len(cases)) and not any(column.head.given for column in columns):
        heads = [Head(" · ".join(_names(experiment, grid, case))) for case in cases]
        return CaseTable(
            ["measure"], heads, [Row([c.head.text], [c.cells[case][0] for case in cases]) for c in columns]
        )
    names = ["scenario", experiment.file.compares, *(["setting"] if any(grid.settings) else [])]
    return CaseTable(names, [column.head for column in columns], list(_rows(experiment, grid, columns)))


def _any_value(rows: dict[Case, pd.Series[Any]]) -> bool:
    """Whether a measure has a value in any case."""
    return any(pd.notna(row[key]) for row in rows.values() for key in ("mean", *GIVEN))


def _names(experiment: Experiment, grid: Grid, case: Case) -> list[str]:
    """Scenario and queue of a case, and its setting if the grid has settings."""
    names = [experiment.scenarios[case.scenario].label, experiment.queues[case.queue].label]
    if any(grid.settings):
        names.append(experiment.settings[case.setting].label if case.setting else "as chosen")
    return names


def _rows(experiment: Experiment, grid: Grid, columns: list[_Column]) -> Iterator[Row]:
    """A row for each case; the scenario is named once for all its rows."""
    cases = grid.cases()
    for i, case in enumerate(cases):
        first = i == 0 or cases[i - 1].scenario != case.scenario
        span = sum(other.scenario == case.scenario for other in cases) if first else 0
        cells = [cell for column in columns for cell in column.cells[case]]
        label, *rest = _names(experiment, grid, case)
        name, note = named_once(label, experiment.scenarios[case.scenario].title)
        yield Row([name, *rest], cells, note, span)


def named_once(label: str, title: str) -> tuple[str, str]:
    """A scenario's label and title without repeated words.

    A title that has all words of the label stands alone.
    """
    words = [set(re.findall(r"[\w.]+", text.lower())) for text in (label, title)]
    return (title, "") if words[0] <= words[1] else (label, title)


def _column(outcome: Outcome, measure: str, rows: dict[Case, pd.Series[Any]]) -> _Column:
    """The cells of a measure: measured, after a given value if any cell has one."""
    chosen = outcome.experiment.measures[measure]
    given = next((key for key in GIVEN if any(pd.notna(row[key]) for row in rows.values())), "")
    found = {case: estimate_of(row) for case, row in rows.items()}
    places = min(chosen.decimals + 1, _places(list(found.values())))
    best = _best(outcome, chosen, list(rows))
    cells: dict[Case, list[Cell]] = {}
    for case, row in rows.items():
        unit = f" {row['unit']}" if row["unit"] != chosen.unit else ""
        text = _text(f"{found[case].fixed(places)}{unit}", int(row["never"]), len(outcome.records[case]))
        marks = (str(row["verdict"]), str(row["tolerance"]), bool(row["alike"]), case in best)
        cells[case] = [Cell(text, *marks)]
        if given:
            said = f"{row[given]:,.{row['decimals']}f}{unit}" if pd.notna(row[given]) else ""
            cells[case].insert(0, Cell(said))
    return _Column(Head(chosen.title, given), cells)


def _text(text: str, never: int, seeds: int) -> str:
    """A value with the number of seeds that have none because it never happened."""
    if not never:
        return text
    return "never" if never == seeds else f"{text} (never in {never} of {seeds})"


def _best(outcome: Outcome, measure: Measure, cases: list[Case]) -> set[Case]:
    """The cases that are significantly better than every other queue.

    The comparison is within the same scenario and setting.
    """
    groups: dict[Case, list[Case]] = {}
    for case in cases if measure.better else []:
        groups.setdefault(replace(case, queue=""), []).append(case)
    return {case for group in groups.values() for case in best_of(outcome, measure, group)}


def _places(found: list[Estimate]) -> int:
    """Decimal places that show two digits of a typical interval of a column."""
    known = [decimals(each.half, each.mean) for each in found if each.mean == each.mean]
    return round(statistics.median(known)) if known else 0


def markdown(table: CaseTable) -> str:
    """The table in Markdown, for a document; the best values are bold."""
    heads = [
        text for head in table.heads for text in ([f"{head.text}, {head.given}"] if head.given else []) + [head.text]
    ]
    lines = [[*table.names, *heads], ["---"] * (len(table.names) + len(heads))]
    lines += [
        [*row.names, *(f"**{each.text}**" if each.best else each.text for each in row.cells)] for row in table.rows
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def table_legend(outcome: Outcome, grid: Grid, table: CaseTable) -> list[str]:
    """The meaning of bold and gray values of a table, and its quantiles of histograms."""
    experiment, said = outcome.experiment, []
    if table.has_best:
        said.append("Bold: significantly better than every value that is not bold, with the same scenario and setting.")
    if table.has_alike:
        reference = experiment.queues[experiment.file.reference_queue].label
        said.append(f"Gray: the 95 % interval of the differences from {reference}, seed by seed, contains 0.")
    measures = [experiment.measures[name] for name in grid.measures or experiment.measures]
    errors = {each.label: error for each in measures if (error := quantile_error(each.path))}
    if errors:
        reach = f"{100 * max(errors.values()):.2g} %"
        said.append(f"Quantiles come from a histogram; their error is at most {reach}: {', '.join(errors)}.")
    return said


def quantile_error(path: str) -> float:
    """The relative error of a measure by its definition in the record; 0 for an exact one."""
    found = [record_schema.definition(each.strip()) for each in path.split(" + ")] if path else []
    return max((each.error for each in found if each), default=0.0)


def measure_names(outcome: Outcome) -> dict[str, str]:
    """The measures of all parts in words: `mean wait (CoDel, 20 ms)` for `rtt20.codel.wait`."""
    experiment = outcome.experiment

    def in_words(match: re.Match[str]) -> str:
        *place, name = match[0].split(".")
        if len(place) < 2 or place[0] not in experiment.scenarios or place[1] not in experiment.queues:
            return match[0]
        labels = [experiment.queues[place[1]].label, experiment.scenarios[place[0]].label]
        labels += [experiment.settings[each].label for each in place[2:] if each in experiment.settings]
        return f"{experiment.measure(place[0], name).label} ({', '.join(labels)})"

    parts = [part for result in outcome.results for part in result.parts]
    parts += [part for result in outcome.results for reading in result.others for part in reading.parts]
    return {each.part.measure: re.sub(r"[A-Za-z_]\w*(?:\.\w+)+", in_words, each.part.measure) for each in parts}
