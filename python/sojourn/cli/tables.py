"""Tables of runs, comparisons and sweeps on the terminal.

Labels and units are those of records.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from rich.table import Table

from sojourn.cli.output import cases_table, err, estimates_table, out, show
from sojourn.compare.comparison import Comparison, estimated, inexact, no_randomness, nothing_random
from sojourn.core import field_paths, record_schema
from sojourn.core.field_labels import WITHIN_A_LINK, field_label, value_label
from sojourn.core.quantities import axis_text
from sojourn.core.record import Record
from sojourn.core.record_schema import OF_A_GROUP, OF_LATENCY, Measure, flow_measures, link_fields, link_measures
from sojourn.core.stats import MEAN, Estimate, estimate_of
from sojourn.core.text_format import counted

if TYPE_CHECKING:
    import pandas as pd

Axes: TypeAlias = Mapping[str, str | None]

# The printed columns of links; the record has more.
LINKS = (
    "utilization",
    "throughput_bps",
    "arrived",
    "dropped_total",
    "loss_ratio",
    "queue.mean",
    "queue.sd",
    "wait_ms.p95",
)
COMPLETION = ("completion_s.count", "completion_s.mean", "completion_s.p99")
# Default measures of a sweep, taken from the link with the highest utilization.
OF_A_SWEEP = ("utilization", "queue.mean", "loss_ratio")


def show_record(record: Record) -> None:
    """Prints the results of one run: a table of links and a table of groups."""
    fingerprint = record.get("fingerprint", "")
    out.print(f"{record.get('scenario')}, seed {record.get('seed')}, fingerprint {fingerprint}")
    _show_part("links", record, "links", (*LINKS, *record_schema.marks(record.get("links", []))))
    for link in record.get("links", []):
        if filtered := link["dropped"].get("ack_filter"):
            out.print(f"{link['name']}: of the dropped packets {filtered:,} are ACKs that a newer ACK made useless")
    complete = COMPLETION if any(group.get("completion_s") for group in record.get("groups", [])) else ()
    if record.get("groups"):
        _show_part("groups of flows", record, "groups", (*OF_A_GROUP, *complete))
        if any(group.get("rtt_ms") for group in record["groups"]):
            _show_part("latency under load", record, "groups", OF_LATENCY)
    else:
        out.print("no flows: nothing is sent before the scenario has a table [[flows]]")


def _show_part(title: str, record: Record, part: str, fields: Sequence[str]) -> None:
    """Prints one row per link or group.

    Below a link follows one row per class and per queue of a dual queue.
    """
    table = Table(title=title, title_justify="left")
    table.add_column("", no_wrap=True)
    for path in fields:
        table.add_column(record_schema.measure(part, path).label, justify="right")
    known = record_schema.parts()[part].fields
    for item in record.get(part, []):
        found = [record_schema.measure(part, path, item["name"]) for path in fields]
        table.add_row(item["name"], *[_number(record.value(m.path), m.unit, m.scale) for m in found])
        for steps, each in record_schema.inside(item):
            values = [field_paths.get(each, path) if f"classes[].{path}" in known else None for path in fields]
            table.add_row(
                f"{'  ' * (len(steps) // 2)}{each['name']}",
                *[_number(v, m.unit, m.scale) for v, m in zip(values, found, strict=True)],
            )
    show(table)


def _number(value: object, unit: str = "", scale: float = 1.0) -> str:
    """A number with its unit, or a dash if it is missing. Counts have no unit."""
    if not isinstance(value, (int, float)):
        return "–"
    if isinstance(value, int) and scale == 1.0:
        return f"{value:,}"
    return f"{value * scale:.4g} {unit if unit != 'packets' else ''}".strip()


def show_replications(records: list[Record]) -> None:
    """Prints means and confidence intervals over the seeds: links with traffic, then flows.

    The table of a link has one column for each of its classes, or for each queue of a dual queue.
    """
    shown = flow_measures(records)
    for link in records[0].get("links", []):
        if link.get("arrived"):
            columns = _columns_of(link, records)
            _show_estimates(link["name"], records, columns)
            shown = [*next(iter(columns.values())), *shown]
    _show_estimates("all flows", records, {"": flow_measures(records)})
    _say_of_seeds(records, shown)


def show_measures(records: list[Record], chosen: Sequence[Measure]) -> None:
    """Prints these measures: values of one run, or means and intervals over the seeds."""
    _show_estimates(str(records[0].get("scenario")), records, {"": chosen})
    say_missing(chosen, records)
    _say_of_seeds(records, chosen)


def _say_of_seeds(records: Sequence[Record], shown: Sequence[Measure]) -> None:
    """Prints the notes on means over several seeds."""
    for note in [*inexact(shown), *nothing_random({"": records})] if len(records) > 1 else []:
        out.print(note)


def say_missing(chosen: Sequence[Measure], records: Sequence[Record]) -> None:
    """Prints which measures have no value in any run."""
    for each in chosen:
        if all(math.isnan(each.of(record)) for record in records):
            err.print(f"{each.path}: null in every run")


def _columns_of(link: Mapping[str, Any], records: Sequence[Record]) -> dict[str, list[Measure]]:
    """The measures of a link and of its classes or queues, by column heading."""
    inside = {
        " ".join(WITHIN_A_LINK.get(step, step) for step in steps): steps for steps, _ in record_schema.inside(link)
    }
    if not inside:
        return {"": link_measures(link["name"], records)}
    shown = ("throughput_bps", *link_fields(link["name"], records))
    own = [record_schema.measure("links", path, link["name"]) for path in shown]
    return {"link": own} | {
        head: record_schema.within_a_link(link["name"], shown, steps) for head, steps in inside.items()
    }


def _show_estimates(name: str, records: list[Record], columns: Mapping[str, Sequence[Measure]]) -> None:
    """Prints one row per measure of the first column.

    A dash marks a column that lacks the measure.
    """
    first = next(iter(columns.values()))
    whole = MEAN if len(records) > 1 else "value"
    cells = {m.label: {head or whole: "–" for head in columns} for m in first}
    for head, found in columns.items():
        for m in found:
            cells[m.label][head or whole] = str(estimated(records, m))
    title = f"{name}: {counted(len(records), 'seed')}" + (f", {MEAN}" if len(columns) > 1 else "")
    show(estimates_table(title, cells, {m.label: m.unit for m in first}))


def show_comparison(found: Comparison) -> None:
    """Prints the means of every case, paired differences from the first case, and notes."""
    _show_cases(found, found.heading, found.estimates())
    if len(found.records) > 1 and len(found.seeds) > 1:
        first = next(iter(found.records))
        apart = {label: cells for label, cells in found.differences().items() if any(map(_known, cells.values()))}
        _show_cases(found, f"difference from {first}, paired by seed", apart)
    for note in [*(inexact(found.measures) if len(found.seeds) > 1 else []), *found.notes]:
        out.print(note)


def means_table(found: Comparison) -> Table:
    """The means of every case: a row per measure, or a row per case if there are more cases."""
    upright, turned = _of_cases(found, found.heading, found.estimates())
    return turned if turned is not None and len(found.records) > len(found.measures) else upright


def _show_cases(found: Comparison, title: str, rows: Mapping[str, Mapping[str, Estimate]]) -> None:
    """Prints one column per case, or one row per case if that needs fewer tables."""
    show(*_of_cases(found, title, rows))


def _of_cases(found: Comparison, title: str, rows: Mapping[str, Mapping[str, Estimate]]) -> tuple[Table, Table | None]:
    """A table with a column per case, and one with a row per case if an axis has several values."""
    units = {measure.label: measure.unit for measure in found.measures}
    shown = next(iter(rows.values()), {})
    axes = [axis for axis in found.cases[0].at if len({str(case.at[axis]) for case in found.cases}) > 1]
    places = {
        case.label: {field_label(axis): value_label(case.at[axis]) for axis in axes}
        for case in found.cases
        if case.label in shown
    }
    return estimates_table(title, rows, units), cases_table(title, rows, units, places) if axes else None


def _known(one: Estimate) -> bool:
    """Whether the estimate has a number. Queues that only one discipline has can't be compared."""
    return math.isfinite(one.mean)


def main_measures(means: pd.Series[Any]) -> list[str]:
    """The default measures of a sweep: those of the busiest link, and the goodput.

    The busiest link has the highest utilization. `means` contains the mean of each measure over all points.
    """
    queues = {
        name: mean for name, mean in means.items() if str(name).startswith("links.") and _field(name) == "queue.mean"
    }
    of = [record_schema.measure("total", "goodput_bps").path]
    if queues:
        fullest = str(max(queues, key=lambda name: queues[name])).removesuffix(".queue.mean")
        of = [*(f"{fullest}.{path}" for path in OF_A_SWEEP), *of]
    return [name for name in of if name in means.index]


def _field(column: object) -> str:
    """The path of a field within its link or group."""
    return ".".join(field_paths.split(str(column))[2:])


def show_sweep(axes: Axes, summary: pd.DataFrame, shown: Sequence[str], runs: pd.DataFrame, points: int) -> Table:
    """Prints these measures, one row per point of the summary; returns the table.

    `axes` maps each axis to its unit, if any. A note follows if the summary lacks some of `points`. `runs` are the runs
    of these points; a note tells which are identical.
    """
    there = len(summary) // len(shown) if shown else 0
    seeds = runs.groupby(list(axes), sort=False, dropna=False)["fingerprint"].agg(["nunique", "size"])
    alike = seeds[(seeds["nunique"] == 1) & (seeds["size"] > 1)].index
    table = _sweep_table(axes, summary, shown, set(alike))
    show(table)
    if there < points:
        out.print(f"{there:,} of {points:,} points; summary.csv has all")
    for note in no_randomness([_point(axes, where) for where in alike], len(seeds)):
        out.print(note)
    return table


def _texts(axes: Axes, where: Any) -> list[str]:
    """The values of the axes at a point, with their units."""
    values = where if isinstance(where, tuple) else (where,)
    return [axis_text(value, unit) for value, unit in zip(values, axes.values(), strict=True)]


def _point(axes: Axes, where: Any) -> str:
    """The label of a point in a note: `count=5 with rate=10 Mbit/s`."""
    return " with ".join(f"{field_label(axis)}={text}" for axis, text in zip(axes, _texts(axes, where), strict=True))


def _sweep_table(axes: Axes, summary: pd.DataFrame, shown: Sequence[str], alike: set[Any]) -> Table:
    """A table with one row per point, and one column per axis and per measure.

    The runs of points in `alike` are identical, so they have no interval.
    """
    known = record_schema.named(shown)
    table = Table(title=MEAN if (summary["n"] > 1).any() else "one seed", title_justify="left")
    for axis in axes:
        table.add_column(field_label(axis), overflow="fold")
    for name in shown:
        table.add_column(known[name].title, justify="right", overflow="fold")
    chosen = summary[summary["measure"].isin(list(shown))]
    for where, group in chosen.groupby(list(axes), sort=False, dropna=False):
        found = {str(row["measure"]): estimate_of(row) for _, row in group.iterrows()}
        exact = (where if len(axes) > 1 else where[0]) in alike
        each = [found[name].exact() if exact else found[name] for name in shown]
        cells = [str(one.scaled(known[name].scale)) for one, name in zip(each, shown, strict=True)]
        table.add_row(*_texts(axes, where), *cells)
    return table
