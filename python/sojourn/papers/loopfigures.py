"""A paper's figures of loops and of runs: steps, Bode plots and poles, traces, boxes, fluid over packets, maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import control
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from sojourn.analysis.transfer import response
from sojourn.errors import UserError
from sojourn.papers.designs import Design, answer, at_end, build, delay_margin, trajectory
from sojourn.papers.model import Case
from sojourn.papers.reproduce import Outcome
from sojourn.plots.style import PAGE, figure, legend_above, style_of
from sojourn.record import Record

Array = npt.NDArray[np.float64]


def _designs(outcome: Outcome, spec: Mapping[str, Any]) -> list[Design]:
    known = outcome.paper.designs
    for name in spec["designs"]:
        if name not in known:
            raise UserError(f'{outcome.paper.root}: figures: design "{name}": taken are {", ".join(known)}')
    return [known[name] for name in spec["designs"]]


def steps(outcome: Outcome, spec: Mapping[str, Any]) -> Figure:
    """Answers to a step of the reference, without and with the dead time."""
    with figure(PAGE, 2.5) as made:
        left, right = made.subplots(1, 2, sharey=True)
        for i, design in enumerate(_designs(outcome, spec)):
            for axes, delay in ((left, False), (right, True)):
                t, y, _ = answer(design, delay)
                shown = t <= float(spec.get("until", 25.0))
                axes.plot(t[shown], y[shown], color=style_of(i).color, label=design.label)
        left.set(xlabel="time (s)", ylabel="queue (packets)", title="without dead time")
        right.set(xlabel="time (s)", title="with it")
        legend_above(made)
        return made


def bode(outcome: Outcome, spec: Mapping[str, Any]) -> Figure:
    """Gain and phase of the open loops, poles and zeros of the closed ones."""
    w = np.logspace(-2, 2, 401)
    with figure(PAGE, 3.2) as made:
        grid = made.add_gridspec(2, 2, width_ratios=(1.5, 1))
        gain, phase, plane = made.add_subplot(grid[0, 0]), made.add_subplot(grid[1, 0]), made.add_subplot(grid[:, 1])
        for i, design in enumerate(_designs(outcome, spec)):
            color, built = style_of(i).color, build(design)
            for loop, line in ((response(built.loop), "-"), (built.delayed, ":")):
                values = loop(w)
                turned = np.degrees(np.unwrap(np.angle(values)))
                turned -= 360.0 * round((turned[0] + 90.0) / 360.0)
                label = design.label if line == "-" else None
                gain.semilogx(w, 20 * np.log10(np.abs(values)), line, color=color, label=label)
                phase.semilogx(w, np.maximum(turned, -400), line, color=color)
            closed = control.feedback(built.loop, 1)
            plane.plot(closed.poles().real, closed.poles().imag, "x", color=color)
            plane.plot(closed.zeros().real, closed.zeros().imag, "o", color=color, markerfacecolor="none")
        gain.axhline(0, color="#555555", linewidth=0.8)
        phase.axhline(-180, color="#555555", linewidth=0.8)
        plane.axvline(0, color="#555555", linewidth=0.8)
        gain.set(ylabel="gain (dB)", ylim=(-60, 60))
        phase.set(ylabel="phase (degrees)", xlabel="frequency (rad/s)", ylim=(-360, 0))
        plane.set(xlabel="real (1/s)", ylabel="imaginary (1/s)", title="poles × and zeros ○")
        legend_above(made)
        return made


def _record(outcome: Outcome, scenario: str, queue: str, setting: str) -> Record:
    return outcome.records[Case(scenario, queue, setting)][0]


def traces(outcome: Outcome, spec: Mapping[str, Any]) -> Figure:
    """Queue and RTT against time, a line a queue discipline."""
    with figure(PAGE, 3.6) as made:
        above, below = made.subplots(2, 1, sharex=True)
        for i, queue in enumerate(spec["queues"]):
            record = _record(outcome, str(spec["scenario"]), queue, str(spec.get("setting", "")))
            look, label = style_of(i), outcome.paper.queues[queue].label
            for name, columns in record.series.items():
                if name.startswith("queue/"):
                    above.plot(columns["t"], columns["packets"], color=look.color, label=label, linewidth=0.7)
                elif name.startswith("rtt/"):
                    values = next(columns[key] for key in columns if key != "t")
                    every = max(1, len(values) // 3000)
                    below.plot(columns["t"][::every], values[::every], color=look.color, linewidth=0.4, rasterized=True)
        above.set(ylabel="queue (packets)")
        below.set(ylabel="RTT (s)", xlabel="time (s)")
        legend_above(made)
        return made


def boxes(outcome: Outcome, spec: Mapping[str, Any]) -> Figure:
    """Boxes of a measure's values, pooled over seeds: a group a buffer, a box a queue discipline."""
    measure = outcome.paper.measures[str(spec["measure"])]
    reading = measure.reading
    if reading is None:
        raise UserError(f'{outcome.paper.root}: figures: measure "{measure.id}": taken is one of a series')
    groups: Mapping[str, Sequence[str]] = spec["groups"]
    count = max(len(queues) for queues in groups.values())
    with figure(PAGE, 2.5) as made:
        axes = made.add_subplot()
        for g, queues in enumerate(groups.values()):
            for i, queue in enumerate(queues):
                records = outcome.records[Case(str(spec["scenario"]), queue)]
                found = [reading.pooled(record) for record in records]
                pooled = np.concatenate([each[1] for each in found if each]) * measure.scale
                drawn = axes.boxplot(
                    [pooled], positions=[g + (i - (count - 1) / 2) * 0.25], widths=0.2, patch_artist=True,
                    flierprops={"markersize": 1.5}, medianprops={"color": "black"}, manage_ticks=False,
                )  # fmt: skip
                drawn["boxes"][0].set(facecolor=style_of(i).color, alpha=0.6)
                if g == 0:
                    drawn["boxes"][0].set_label(str(spec["labels"][i]))
        axes.set_xticks(range(len(groups)), list(groups))
        axes.set(xlabel="buffer (packets)", ylabel=f"{measure.label.split(',')[0]} ({measure.unit})")
        made.legend(ncols=count, loc="outside upper center")
        return made


def fluid(outcome: Outcome, spec: Mapping[str, Any]) -> Figure:
    """The fluid model's queue over that of packets."""
    chosen = outcome.paper.fluids[str(spec["fluid"])]
    record = _record(outcome, str(spec["scenario"]), str(spec["queue"]), str(spec.get("setting", "")))
    packets = next(columns for name, columns in record.series.items() if name.startswith("queue/"))
    made_of = trajectory(chosen)
    with figure(PAGE, 3.2) as made:
        above, below = made.subplots(2, 1, sharex=True)
        shown = packets["t"] <= made_of["t"][-1]
        for axes, column, key in ((above, "packets", "queue"), (below, "probability", "probability")):
            seen = packets[column][shown]
            axes.plot(packets["t"][shown], seen, color=style_of(0).color, linewidth=0.6, label="packets")
            axes.plot(made_of["t"], made_of[key], color=style_of(1).color, label="fluid")
        above.set(ylabel="queue (packets)")
        below.set(ylabel="probability", xlabel="time (s)")
        above.legend(ncols=2)
        return made


def maps(outcome: Outcome, spec: Mapping[str, Any]) -> Figure:
    """A measure a panel over a grid of queues, in the order of the experiment: rows by columns.

    With `fluid` there is a second row: where that fluid ends under each of the queues' laws, and its delay margin.
    """
    experiment = next(e for e in outcome.experiments if e.id == spec["experiment"])
    rows, columns = list(spec["rows"]), list(spec["columns"])
    if len(experiment.queues) != len(rows) * len(columns):
        raise UserError(f"{outcome.paper.root}: figures: {spec['id']}: rows by columns are not the experiment's queues")
    panels = [_measured(outcome, Case(str(spec["scenario"]), ""), experiment.queues, name) for name in spec["measures"]]
    across = len(panels)
    if "fluid" in spec:
        panels += _foretold(outcome, str(spec["fluid"]), experiment.queues)
    down = len(panels) // across
    with figure(PAGE, 2.6 * down) as made:
        for axes, (title, digits, values) in zip(made.subplots(down, across, squeeze=False).flat, panels, strict=True):
            table = np.round(values, digits).reshape(len(rows), len(columns))  # what reads the same looks the same
            low, high = np.quantile(table, (0.0, 0.9))  # one margin of half a minute would hide all others
            high = max(high, low + 10.0**-digits)
            axes.imshow(table, cmap="cividis", vmin=low, vmax=high)
            for (i, j), value in np.ndenumerate(table):
                color = "white" if value < (low + high) / 2 else "black"
                axes.text(j, i, f"{value:.{digits}f}", ha="center", va="center", fontsize=6, color=color)
            axes.set_xticks(range(len(columns)), columns)
            axes.set_yticks(range(len(rows)), rows)
            axes.grid(visible=False)
            axes.set(title=title, xlabel="round trip ×", ylabel="flows ×")
        return made


Panel = tuple[str, int, Array]


def _measured(outcome: Outcome, case: Case, queues: Sequence[str], name: str) -> Panel:
    measure = outcome.paper.measures[name]
    values = [float(np.nanmean(outcome.values(replace(case, queue=queue), name))) for queue in queues]
    return measure.title, measure.decimals, np.array(values)


def _foretold(outcome: Outcome, name: str, queues: Sequence[str]) -> list[Panel]:
    """What a fluid does under the laws of other queues."""
    fluid = outcome.paper.fluids[name]
    runs = [replace(fluid, queue=outcome.paper.queue_table(queue)) for queue in queues]
    ends = [at_end(run) for run in runs]
    return [
        ("fluid: queue mean (packets)", 1, np.array([end["queue"] for end in ends])),
        ("fluid: queue sd (packets)", 1, np.array([end["queue_sd"] for end in ends])),
        ("fluid: delay margin (s)", 2, np.array([delay_margin(run) for run in runs])),
    ]
