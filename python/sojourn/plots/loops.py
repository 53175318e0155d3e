"""Plots of feedback loops: Bode, Nyquist, maps of stability, the fluid model compared with packets."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from sojourn.analysis.feedback_loop import Loop
from sojourn.analysis.limit_cycle import LimitCycle
from sojourn.analysis.margins import Margins
from sojourn.plots.style import COLUMN, PAGE, figure, style_of

Array = npt.NDArray[np.float64]
Complexes = npt.NDArray[np.complex128]


def bode(loops: Mapping[str, tuple[Array, Complexes]]) -> Figure:
    """Gain and phase of open loops against frequency; `loops` has `(omega, response)` by label."""
    with figure(PAGE / 2 + 0.5, 3.6) as made:
        top, bottom = made.subplots(2, 1, sharex=True)
        for i, (label, (omega, value)) in enumerate(loops.items()):
            color = style_of(i).color
            top.loglog(omega, np.abs(value), color=color, label=label)
            bottom.semilogx(omega, np.degrees(np.unwrap(np.angle(value))), color=color)
        top.axhline(1, color="#555555", linewidth=0.8)
        bottom.axhline(-180, color="#555555", linewidth=0.8)
        bottom.set_ylim(bottom=-540)
        top.set(ylabel="loop gain")
        bottom.set(ylabel="phase (°)", xlabel="frequency (rad/s)")
        if len(loops) > 1:
            top.legend()
        return made


def nyquist(loops: Mapping[str, tuple[Array, Complexes]]) -> Figure:
    """Open loops in the complex plane, around -1; `loops` has `(omega, response)` by label."""
    with figure(COLUMN, 3.2) as made:
        axes = made.add_subplot()
        for i, (label, (_, value)) in enumerate(loops.items()):
            near = np.where(np.abs(value) < 6, value, np.nan)
            axes.plot(near.real, near.imag, color=style_of(i).color, label=label)
        axes.plot([-1], [0], marker="+", color="black", markersize=9, linestyle="none")
        axes.set(xlabel="real part", ylabel="imaginary part", xlim=(-3, 3), ylim=(-3, 3), aspect="equal")
        if len(loops) > 1:
            axes.legend()
        return made


def region(flows: Array, rtt: Array, margin: Array, title: str = "") -> Figure:
    """A map of the delay margin (s): `margin[i, j]` is at `rtt[i]` seconds and `flows[j]` flows."""
    with figure(COLUMN + 0.5, 3.0) as made:
        axes = made.add_subplot()
        shown = np.clip(np.where(np.isinf(margin), 1.0, margin), -0.2, 1.0)
        mesh = axes.pcolormesh(flows, rtt * 1e3, shown, cmap="RdYlGn", vmin=-0.5, vmax=1.0, shading="nearest")
        if np.any(margin < 0) and np.any(margin > 0):
            axes.contour(flows, rtt * 1e3, np.clip(margin, -1, 1), levels=[0.0], colors="black", linewidths=1.0)
        made.colorbar(mesh, label="delay margin (s), at most 1")
        axes.set(xlabel="flows", ylabel="round-trip time (ms)", title=title)
        return made


def trajectories(packets: Mapping[str, Array], fluid: Mapping[str, Array], until: float) -> Figure:
    """The queue of the packet simulation and of the fluid model over time, up to `until` seconds."""
    with figure(PAGE, 2.6) as made:
        axes = made.add_subplot()
        axes.plot(packets["t"], packets["packets"], color="#999999", linewidth=0.6, label="packets")
        axes.plot(fluid["t"], fluid["queue"], color=style_of(1).color, label="fluid model")
        axes.set(xlabel="time (s)", ylabel="waiting packets", xlim=(0, until))
        axes.set_ylim(bottom=0)
        axes.legend(loc="upper right")
        return made


def spectrum(
    f: Array, power: Array, margins: Margins | None, predicted: LimitCycle | None, simulated: LimitCycle | None
) -> Figure:
    """The spectrum of the measured queue, with the model's crossover and limit cycles.

    `f` is in Hz, `power` in packets² per Hz.
    """
    with figure(PAGE / 2 + 0.5, 2.7) as made:
        axes = made.add_subplot()
        axes.loglog(f, power, color=style_of(0).color, linewidth=0.9, label="measured queue")
        if margins is not None and not math.isnan(margins.crossover):
            at = margins.crossover / (2 * math.pi)
            axes.axvline(at, color=style_of(2).color, linestyle="--", label="predicted crossover")
        if predicted is not None:
            color = style_of(3).color
            axes.axvline(predicted.hertz, color=color, linestyle="-.", label="limit cycle, describing function")
        if simulated is not None:
            axes.axvline(simulated.hertz, color=style_of(1).color, label="limit cycle, nonlinear model")
        axes.set(xlabel="frequency (Hz)", ylabel="spectrum (packets²/Hz)")
        axes.legend(fontsize=6.5)
        return made


def grid(loop: Loop, points: int = 1500) -> tuple[Array, Complexes]:
    """Frequencies that matter, in rad/s, and a loop's response there."""
    low, high = loop.band()
    omega = np.geomspace(max(low, 1e-3 * high), high, points)
    return omega, loop.response(omega)


def bode_and_nyquist(loop: Loop) -> dict[str, Figure]:
    """Bode and Nyquist plots of one loop, by name."""
    table = {"loop": grid(loop)}
    return {"bode": bode(table), "nyquist": nyquist(table)}
