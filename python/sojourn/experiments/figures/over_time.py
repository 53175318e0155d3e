"""Traces against time: queues, windows, rates, RTTs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from sojourn.core.errors import UserError
from sojourn.core.record import Record
from sojourn.experiments.figures.looks import looks_of
from sojourn.experiments.figures.parts import first_record, queue_label
from sojourn.experiments.model import Case
from sojourn.experiments.outcome import Outcome
from sojourn.experiments.readings import Reading, column_of
from sojourn.experiments.schema import figures as spec
from sojourn.plots.style import COLORS, PAGE, figure, legend_above, style_of

Array = npt.NDArray[np.float64]
MOST_POINTS = 3000
"""The approximate number of drawn samples of an RTT trace."""


def timeline(outcome: Outcome, chosen: spec.Timeline) -> Figure:
    """A series in bins of one second, the mean over the seeds: a line for each queue."""
    grid = outcome.grid(chosen.grid)
    with figure(PAGE, 2.9) as made:
        axes: Any = made.add_subplot()
        shown = chosen.queues or grid.queues
        ran, looks = [queue for queue in shown if Case(chosen.scenario, queue) in outcome.records], looks_of(outcome)
        above: list[tuple[float, str]] = []
        for queue in ran:
            records = outcome.records[Case(chosen.scenario, queue)]
            end = float(records[0]["duration_s"])
            reading = Reading(*chosen.series, "mean", (0.0, end), bin=1.0)
            found = [reading.pooled(record) for record in records]
            seconds = [each[1] * chosen.scale for each in found if each]
            values, look = np.mean(seconds, axis=0), looks[queue]
            above += [(float(values.max()), look.color)] if 0 < chosen.top < values.max() else []
            axes.plot(
                np.arange(len(values)) + 0.5,
                values,
                color=look.color,
                linestyle=look.line,
                linewidth=0.8,
                label=queue_label(outcome, queue),
            )
        for time in chosen.marks:
            axes.axvline(time, color="#555555", linestyle=":", linewidth=0.9)
        axes.set(xlabel="time (s)", ylabel=chosen.ylabel)
        if chosen.log_above:
            axes.set_yscale("symlog", linthresh=chosen.log_above)
            axes.yaxis.set_major_formatter("{x:g}")
        axes.set_ylim(bottom=0, top=chosen.top or None)
        for row, (peak, color) in enumerate(above):
            axes.annotate(
                f"↑ {peak:.3g}",
                (0.01, 0.98 - 0.07 * row),
                xycoords="axes fraction",
                va="top",
                fontsize=6.5,
                color=color,
            )
        legend_above(made)
        return made


def series(outcome: Outcome, chosen: spec.Series) -> Figure:
    """A series of several cases, a panel for each case."""
    cases = [Case.named(name) for name in chosen.cases]
    with figure(PAGE, 1.3 * len(cases) + 0.3) as made:
        rows = made.subplots(len(cases), 1, sharex=True, sharey=True, squeeze=False).ravel()
        for axes, case in zip(rows, cases, strict=True):
            record = first_record(outcome, chosen, case)
            y = column_of(record, chosen.series, chosen.column) * chosen.scale + chosen.offset
            t = np.asarray(record.series[chosen.series]["t"])
            shown = t >= chosen.begin
            axes.plot(t[shown], y[shown], color=style_of(0).color, linewidth=0.7)
            label = f"{outcome.experiment.scenarios[case.scenario].label}: {queue_label(outcome, case.queue)}"
            axes.set_title(label, fontsize=7.5, loc="left")
            axes.set_ylabel(chosen.ylabel or chosen.column, fontsize=7)
        rows[-1].set_xlabel("time (s)")
        rows[-1].set_xlim(left=chosen.begin)
        return made


def traces(outcome: Outcome, chosen: spec.Traces) -> Figure:
    """Queue and RTT, a line for each queue discipline."""
    with figure(PAGE, 3.6) as made:
        above, below = made.subplots(2, 1, sharex=True)
        looks = looks_of(outcome)
        for queue in chosen.queues:
            record = first_record(outcome, chosen, Case(chosen.scenario, queue, chosen.setting))
            look, label = looks[queue], queue_label(outcome, queue)
            for name, columns in record.series.items():
                if name.startswith("queue/"):
                    above.plot(columns["t"], columns["packets"], color=look.color, label=label, linewidth=0.7)
                elif name.startswith("rtt/"):
                    values = next(columns[key] for key in columns if key != "t")
                    every = max(1, len(values) // MOST_POINTS)
                    below.plot(columns["t"][::every], values[::every], color=look.color, linewidth=0.4, rasterized=True)
        above.set(ylabel="queue (packets)")
        below.set(ylabel="RTT (s)", xlabel="time (s)")
        legend_above(made)
        return made


def _rate(record: Record, name: str) -> tuple[Array, Array]:
    """Times and throughput in Mbit/s of a flow, or of all flows of a group."""
    whole, part = f"throughput/{name}", f"throughput/{name}/"
    tables = [table for key, table in record.series.items() if key == whole or key.startswith(part)]
    if not tables:
        raise UserError(f"{record['scenario']}: trace.throughput: expected a trace of {name}, got none")
    return tables[0]["t"], np.sum([table["bps"] for table in tables], axis=0) * 1e-6


def rates(outcome: Outcome, chosen: spec.Rates) -> Figure:
    """The rates of flows or groups."""
    record = first_record(outcome, chosen, Case.named(chosen.case))
    with figure(PAGE * 0.75, 2.5) as made:
        axes: Any = made.add_subplot()
        for i, (name, label) in enumerate(chosen.groups):
            times, mbps = _rate(record, name)
            axes.plot(times, mbps, color=COLORS[i], label=label, linewidth=0.9)
        axes.set(xlabel="time (s)", ylabel="rate (Mbit/s)")
        axes.set_ylim(bottom=0)
        made.legend(loc="outside upper center", ncols=len(chosen.groups))
        return made


def windows(outcome: Outcome, chosen: spec.Windows) -> Figure:
    """Windows of flows above, the queue of a link below."""
    record = first_record(outcome, chosen, Case.named(chosen.case))
    with figure(PAGE * 0.75, 3.4) as made:
        upper, lower = made.subplots(2, 1, sharex=True, height_ratios=[2, 1])
        tables = [record.series[f"cwnd/{name}"] for name, _ in chosen.flows]
        for i, (table, (_, label)) in enumerate(zip(tables, chosen.flows, strict=True)):
            upper.plot(table["t"], table["packets"], color=COLORS[i], label=label, linewidth=0.9)
        queue = record.series[f"queue/{chosen.link}"]
        lower.plot(queue["t"], queue["packets"], color="#555555", linewidth=0.7)
        lower.axhline(chosen.line, color=COLORS[1], linewidth=0.8, linestyle="--", label=chosen.line_label)
        upper.set(ylabel="window (packets)")
        upper.set_ylim(0, np.percentile(np.concatenate([table["packets"] for table in tables]), 99.5) * 1.1)
        lower.set(xlabel="time (s)", ylabel="queue (packets)")
        lower.set_ylim(bottom=0)
        made.legend(loc="outside upper center", ncols=len(chosen.flows) + 1)
        return made
