"""Figures of laws and loops.

They are surfaces, expressions, steps, Bode plots, and the fluid model over packets.
"""

from __future__ import annotations

from typing import Any

import control
import numpy as np
from matplotlib.figure import Figure

from sojourn.analysis.transfer import response
from sojourn.experiments.expression import Functions, UnknownNameError, Value, evaluate, fill
from sojourn.experiments.figures.parts import first_record, panels, queue_label
from sojourn.experiments.fluid_runs import trajectory
from sojourn.experiments.functions import all_functions, law_surface
from sojourn.experiments.model import Case
from sojourn.experiments.outcome import Outcome
from sojourn.experiments.schema import figures as spec
from sojourn.plots.style import PAGE, figure, legend_above, style_of


def surface(outcome: Outcome, chosen: spec.Surface) -> Figure:
    """The probability of a law over backlog and change."""
    backlog = np.unique(np.linspace(*chosen.backlog, 51).round())  # a queue has whole packets
    change = np.unique(np.linspace(*chosen.change, 25).round())
    percent = 100 * law_surface(outcome.experiment, chosen.queue, backlog, change)
    with figure(PAGE * 0.62, 3.3) as made:
        axes: Any = made.add_subplot(projection="3d")
        x, y = np.meshgrid(backlog, change, indexing="ij")
        axes.plot_surface(x, y, percent, cmap="cividis", linewidth=0.15, edgecolor="#333333", rcount=51, ccount=25)
        axes.set(xlabel="backlog (packets)", ylabel="change (packets)")
        axes.set_zlabel("drop probability (%)")
        axes.view_init(elev=26, azim=-128)
        axes.set_box_aspect((1.35, 1, 0.75), zoom=0.95)
        axes.set_title(chosen.title or queue_label(outcome, chosen.queue))
        return made


def expressions(outcome: Outcome, chosen: spec.Expressions) -> Figure:
    """Expressions over a range of numbers."""
    functions = all_functions(outcome)
    with figure(PAGE, 2.3) as made:
        for axes, panel in zip(panels(made, len(chosen.panels)), chosen.panels, strict=True):
            x = np.geomspace(*panel.x, panel.points) if panel.log else np.linspace(*panel.x, panel.points)
            y = [_number(panel.y, float(each), functions) for each in x]
            axes.plot(x, y, **({"marker": "o", "linestyle": "none"} if panel.marks else {}))
            if panel.log:
                axes.set_xscale("log")
                axes.set_yscale("log")
            axes.set(xlabel=panel.xlabel, ylabel=panel.ylabel)
        return made


def _number(template: str, x: float, functions: Functions) -> float:
    """The value of an expression at one number."""

    def no_names(name: tuple[str, ...]) -> Value:
        raise UnknownNameError(".".join(name))

    return float(evaluate(fill(template, {"x": repr(x)}), no_names, functions))


def step(outcome: Outcome, chosen: spec.Step) -> Figure:
    """Responses to a step of the set point, without and with the dead time."""
    designs = outcome.experiment.control_designs
    with figure(PAGE, 2.5) as made:
        left, right = panels(made, 2, sharey=True)
        for i, name in enumerate(chosen.designs):
            for axes, delay in ((left, False), (right, True)):
                answer = designs.answer(name, delay)
                shown = answer.times <= chosen.until
                axes.plot(answer.times[shown], answer.values[shown], color=style_of(i).color, label=designs.label(name))
        left.set(xlabel="time (s)", ylabel="queue (packets)", title="without dead time")
        right.set(xlabel="time (s)", title="with dead time")
        legend_above(made)
        return made


def bode(outcome: Outcome, chosen: spec.Bode) -> Figure:
    """Gain and phase of the open loops, poles and zeros of the closed ones."""
    designs = outcome.experiment.control_designs
    w = np.geomspace(*chosen.frequencies, 401)
    with figure(PAGE, 3.2) as made:
        layout = made.add_gridspec(2, 2, width_ratios=(1.5, 1))
        gain, phase, plane = (
            made.add_subplot(layout[0, 0]),
            made.add_subplot(layout[1, 0]),
            made.add_subplot(layout[:, 1]),
        )
        for i, name in enumerate(chosen.designs):
            color, design = style_of(i).color, designs.built(name)
            for loop, line in ((response(design.loop), "-"), (design.delayed, ":")):
                values = loop(w)
                turned = np.degrees(np.unwrap(np.angle(values)))
                turned -= 360.0 * round((turned[0] + 90.0) / 360.0)
                label = designs.label(name) if line == "-" else None
                gain.semilogx(w, 20 * np.log10(np.abs(values)), line, color=color, label=label)
                phase.semilogx(w, np.maximum(turned, chosen.phase[0] - 40), line, color=color)
            closed = control.feedback(design.loop, 1)
            plane.plot(closed.poles().real, closed.poles().imag, "x", color=color)
            plane.plot(closed.zeros().real, closed.zeros().imag, "o", color=color, markerfacecolor="none")
        gain.axhline(0, color="#555555", linewidth=0.8)
        phase.axhline(-180, color="#555555", linewidth=0.8)
        plane.axvline(0, color="#555555", linewidth=0.8)
        gain.set(ylabel="gain (dB)", ylim=chosen.gain)
        phase.set(ylabel="phase (degrees)", xlabel="frequency (rad/s)", ylim=chosen.phase)
        plane.set(xlabel="real (1/s)", ylabel="imaginary (1/s)", title="poles × and zeros ○")
        legend_above(made)
        return made


def fluid_over_packets(outcome: Outcome, chosen: spec.FluidOverPackets) -> Figure:
    """Queue and probability of the fluid model over those of packets."""
    record = first_record(outcome, chosen, Case(chosen.scenario, chosen.queue, chosen.setting))
    packets = next(columns for name, columns in record.series.items() if name.startswith("queue/"))
    run = trajectory(outcome.experiment.fluids[chosen.fluid])
    with figure(PAGE, 3.2) as made:
        above, below = made.subplots(2, 1, sharex=True)
        shown = packets["t"] <= run["t"][-1]
        for axes, column, key in ((above, "packets", "queue"), (below, "probability", "probability")):
            seen = packets[column][shown]
            axes.plot(packets["t"][shown], seen, color=style_of(0).color, linewidth=0.6, label="packets")
            axes.plot(run["t"], run[key], color=style_of(1).color, label="fluid")
        above.set(ylabel="queue (packets)")
        below.set(ylabel="probability", xlabel="time (s)")
        legend_above(made)
        return made
