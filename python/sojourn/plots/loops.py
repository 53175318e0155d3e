"""Plots of feedback loops: Bode, Nyquist, stability maps, the fluid model and packet runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn.analysis import text
from sojourn.analysis.feedback_loop import Loop
from sojourn.analysis.flow_step import MORE, FlowStep
from sojourn.analysis.margins import Margins
from sojourn.analysis.spectrum import bands, strongest
from sojourn.analysis.text import decibels
from sojourn.plots.style import BAD, COLUMN, PAGE, figure, style_of

GRAY = "#555555"
LEAST = -60.0  # dB: smaller gains are not drawn
LINES = ["--", "-.", ":", (0, (1, 1))]

Array = npt.NDArray[np.float64]
Complexes = npt.NDArray[np.complex128]


def bode(loops: Mapping[str, tuple[Array, Complexes]], margins: Margins | None = None, title: str = "") -> Figure:
    """Gain and phase of open loops over frequency; `loops` maps labels to `(omega, response)`.

    With `margins` of the first loop, they are drawn at their frequencies.
    """
    with figure(PAGE / 2 + 0.9, 4.2) as made:
        top, bottom = made.subplots(2, 1, sharex=True)
        for i, (label, (omega, value)) in enumerate(loops.items()):
            color = style_of(i).color
            top.semilogx(omega, _decibels(np.abs(value).astype(np.float64)), color=color, label=label)
            bottom.semilogx(omega, _phase(value), color=color)
        top.axhline(0, color=GRAY, linewidth=0.8)
        bottom.axhline(-180, color=GRAY, linewidth=0.8)
        sizes = [_decibels(np.abs(value).astype(np.float64)) for _, value in loops.values()]
        seen = [omega[size > LEAST] for (omega, _), size in zip(loops.values(), sizes, strict=True)]
        ends = [float(each[-1]) for each in seen if len(each)]
        top.set_xlim(right=1.3 * max(ends) if ends else None)
        low, high = min(np.min(each) for each in sizes), max(np.max(each) for each in sizes)
        top.set_ylim(max(low, LEAST) - 5, min(high, 80) + 5)
        bottom.set_ylim(-400, max(20, max(float(np.max(_phase(value))) for _, value in loops.values()) + 20))
        bottom.set_yticks([-360, -270, -180, -90, 0])
        top.set(ylabel="loop gain (dB)", title=title)
        bottom.set(ylabel="phase (°)", xlabel="frequency (rad/s)")
        if margins is not None:
            _margins_on_bode(top, bottom, next(iter(loops.values())), margins)
        for axes in (top, bottom):
            if len(axes.get_legend_handles_labels()[0]) > 1 or (axes is bottom and margins is not None):
                axes.legend(loc="lower left")
        _hertz(top)
        return made


def _margins_on_bode(top: Axes, bottom: Axes, loop: tuple[Array, Complexes], found: Margins) -> None:
    """Draws the gain margin from the curve to 0 dB, and the phase margin to -180 degrees."""
    omega, value = loop
    if math.isfinite(found.gain) and omega[0] <= found.turn <= omega[-1]:
        label = f"gain margin {decibels(found.gain)} at {found.turn:.3g} rad/s"
        top.plot([found.turn] * 2, [-20 * math.log10(found.gain), 0], color=BAD, marker=".", label=label)
    if math.isfinite(found.phase) and omega[0] <= found.tight <= omega[-1]:
        here = float(np.interp(math.log(found.tight), np.log(omega), _phase(value)))
        label = f"phase margin {found.phase:.3g}° at {found.tight:.3g} rad/s"
        bottom.plot([found.tight] * 2, [here - found.phase, here], color=BAD, marker=".", label=label)


def _decibels(size: Array) -> Array:
    bounded: Array = np.maximum(size, 1e-12)
    return np.asarray(20 * np.log10(bounded), dtype=np.float64)


def _phase(value: Complexes) -> Array:
    return np.asarray(np.degrees(np.unwrap(np.angle(value))), dtype=np.float64)


def _to_hertz(omega: Any) -> Any:
    return omega / (2 * math.pi)


def _to_omega(hertz: Any) -> Any:
    return hertz * 2 * math.pi


def _hertz(axes: Axes) -> None:
    """Adds an axis in Hz above one in rad/s."""
    above = axes.secondary_xaxis("top", functions=(_to_hertz, _to_omega))
    above.set_xlabel("(Hz)", fontsize=7)
    above.tick_params(labelsize=6.5)


def nyquist(loops: Mapping[str, tuple[Array, Complexes]], margins: Margins | None = None, title: str = "") -> Figure:
    """Open loops in the complex plane, around -1; `loops` maps labels to `(omega, response)`.

    With `margins` of the first loop, the gain margin is drawn on the real axis, the phase margin on the unit circle.
    """
    with figure(COLUMN + 0.3, 3.9) as made:
        axes = made.add_subplot()
        turn = np.linspace(0, 2 * math.pi, 400)
        axes.plot(np.cos(turn), np.sin(turn), color=GRAY, linewidth=0.7, linestyle=":")
        for i, (label, (_, value)) in enumerate(loops.items()):
            near = np.where(np.abs(value) < 6, value, np.nan)
            axes.plot(near.real, near.imag, color=style_of(i).color, label=label)
        axes.plot([-1], [0], marker="+", color="black", markersize=9, linestyle="none", label="-1")
        if margins is not None:
            _margins_on_nyquist(axes, next(iter(loops.values())), margins)
        axes.set(xlabel="real part", ylabel="imaginary part", xlim=(-2.5, 2), ylim=(-2.25, 2.25), aspect="equal")
        axes.set_title(title)
        axes.legend(fontsize=6.5, loc="upper left")
        return made


def _margins_on_nyquist(axes: Axes, loop: tuple[Array, Complexes], found: Margins) -> None:
    omega, value = loop
    if math.isfinite(found.gain) and found.gain > 0:
        label = f"gain margin {decibels(found.gain)}"
        axes.plot([-1 / found.gain, -1], [0, 0], color=BAD, marker=".", label=label)
    if math.isfinite(found.phase) and omega[0] <= found.tight <= omega[-1]:
        here = math.radians(float(np.interp(math.log(found.tight), np.log(omega), _phase(value))))
        arc = np.linspace(here - math.radians(found.phase), here, 60)
        label = f"phase margin {found.phase:.3g}°"
        axes.plot(np.cos(arc), np.sin(arc), color=style_of(4).color, linewidth=2, label=label)


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


def step_response(found: FlowStep, title: str = "") -> Figure:
    """The queue of the fluid model after a step of the flows."""
    with figure(PAGE / 2 + 0.9, 2.6) as made:
        axes = made.add_subplot()
        shown = found.t <= max(3.0 * found.settling, 0.1 * float(found.t[-1]))
        axes.plot(found.t[shown], found.queue[shown], color=style_of(0).color)
        axes.axhline(found.end, color=GRAY, linewidth=0.8, linestyle="--", label=f"at rest: {found.end:.3g}")
        axes.axvline(found.settling, color=GRAY, linewidth=0.8, linestyle=":", label=f"settled: {found.settling:.3g} s")
        axes.set(xlabel=f"time after {100 * MORE:.0f} % more flows (s)", ylabel="waiting packets", title=title)
        axes.legend()
        return made


def trajectories(
    packets: Mapping[str, Array] | None, fluid: Mapping[str, Array], until: float, title: str = ""
) -> Figure:
    """The queue of the fluid model, and of a packet run if any, up to `until` seconds."""
    with figure(PAGE, 2.8) as made:
        axes = made.add_subplot()
        if packets is not None:
            axes.plot(packets["t"], packets["packets"], color="#999999", linewidth=0.6, label="packets")
        axes.plot(fluid["t"], fluid["queue"], color=style_of(1).color, label="fluid model")
        axes.set(xlabel="time (s)", ylabel="waiting packets", xlim=(0, until), title=title)
        axes.set_ylim(bottom=0)
        axes.legend(loc="upper right")
        return made


def spectrum(f: Array, power: Array, marks: Mapping[str, float] = MappingProxyType({}), title: str = "") -> Figure:
    """The spectrum of the measured queue times frequency, in narrow bands.

    The area under the curve is the variance. `f` is in Hz, `power` in packets² per Hz, as `queue_spectrum` returns
    them. `marks` are frequencies in rad/s by label, such as the loop's crossover. The peak is marked.
    """
    with figure(PAGE / 2 + 1.4, 3.0) as made:
        axes = made.add_subplot()
        axes.semilogx(*bands(f, power), color=style_of(0).color, linewidth=0.9, label="measured queue")
        peak = strongest(f, power)
        if peak is not None:
            label = f"strongest at {text.peak(peak.omega, 2 * math.pi * f[0])}"
            axes.plot([peak.omega], [peak.height], "o", color=style_of(0).color, markersize=5, label=label)
        for i, (label, omega) in enumerate(marks.items()):
            axes.axvline(omega, color=style_of(i + 1).color, linestyle=LINES[i % len(LINES)], label=label)
        axes.set(xlabel="frequency (rad/s)", ylabel="spectrum × frequency (packets²)", title=title)
        axes.set_ylim(bottom=0)
        made.legend(loc="outside lower center", ncols=2, fontsize=6.5)
        _hertz(axes)
        return made


def grid(loop: Loop, points: int = 1500) -> tuple[Array, Complexes]:
    """Relevant frequencies in rad/s, and a loop's response there.

    They start at a tenth of the crossover or lower.
    """
    low, high = loop.band()
    crossover = loop.margins().crossover
    start = 1e-3 * high if math.isnan(crossover) else min(1e-3 * high, 0.1 * crossover)
    omega = np.geomspace(max(low, start), high, points)
    return omega, loop.response(omega)


def bode_and_nyquist(loop: Loop, title: str = "") -> dict[str, Figure]:
    """Bode and Nyquist plots of one loop with its margins, by name."""
    table, found = {"open loop": grid(loop)}, loop.margins()
    return {"bode": bode(table, found, title), "nyquist": nyquist(table, found, title)}
