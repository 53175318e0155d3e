"""A paper's figures, drawn as `paper.toml` asks: control surfaces, measures by scenario, published against measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from sojourn.analysis.laws import led_margin
from sojourn.errors import UserError
from sojourn.papers.model import Case
from sojourn.papers.reproduce import Outcome, law_surface
from sojourn.plots.style import PAGE, figure, style_of
from sojourn.stats import estimate


@dataclass(frozen=True)
class Drawn:
    """A finished figure with its caption; `vector` says whether it is better kept as lines than as pixels."""

    id: str
    caption: str
    figure: Figure
    vector: bool


def draw_figures(outcome: Outcome) -> list[Drawn]:
    """The figures of the experiments that were run."""
    ran = {experiment.id for experiment in outcome.experiments}
    kinds = {
        "surface": _surface, "by-scenario": _by_scenario, "parity": _parity, "trade-off": _trade_off,
        "traces": _traces, "margins": _margins,
    }  # fmt: skip
    drawn = []
    for spec in outcome.paper.figures:
        kind = spec.get("kind")
        if kind not in kinds:
            raise UserError(f"{outcome.paper.root}: figures: kind {kind!r}: taken are {', '.join(kinds)}")
        if spec.get("experiment") in ran:
            made = kinds[str(kind)](outcome, spec)
            drawn.append(Drawn(str(spec["id"]), str(spec.get("caption", "")), made, kind != "surface"))
    return drawn


def _surface(outcome: Outcome, spec: Mapping[str, Any]) -> Figure:
    """A law's probability over backlog and change, from the code itself."""
    queue = str(spec["queue"])
    backlog = _span(spec, "backlog", (0.0, 100.0), 51)
    change = _span(spec, "change", (-12.0, 12.0), 25)
    percent = 100 * law_surface(outcome.paper, queue, backlog, change)
    with figure(PAGE * 0.62, 3.3) as made:
        axes: Any = made.add_subplot(projection="3d")
        x, y = np.meshgrid(backlog, change, indexing="ij")
        axes.plot_surface(x, y, percent, cmap="cividis", linewidth=0.15, edgecolor="#333333", rcount=51, ccount=25)
        axes.set(xlabel="backlog (packets)", ylabel="change (packets)")
        axes.set_zlabel("drop probability (%)")
        axes.view_init(elev=26, azim=-128)
        axes.set_box_aspect((1.35, 1, 0.75), zoom=0.95)
        axes.set_title(str(spec.get("title", outcome.paper.queues[queue].label)))
        return made


def _span(spec: Mapping[str, Any], key: str, default: tuple[float, float], count: int) -> npt.NDArray[np.float64]:
    """The values of an axis that the figure asks for."""
    low, high = spec.get(key, default)
    return np.linspace(float(low), float(high), count)


def _scenario_ticks(axes: Any, outcome: Outcome, scenarios: Sequence[str]) -> None:
    """The scenarios' labels under a panel."""
    axes.set_xticks(range(len(scenarios)), [outcome.paper.scenarios[name].label for name in scenarios])
    axes.set_xlabel("scenario")


def _scale(spec: Mapping[str, Any], scenario: str) -> float:
    """What a scenario's values are divided by, so that all of a panel have one unit."""
    return float(dict(spec.get("divide", {})).get(scenario, 1.0))


def _by_scenario(outcome: Outcome, spec: Mapping[str, Any]) -> Figure:
    """One panel a measure: every scenario, every queue, measured with its interval beside the published mark."""
    experiment = next(e for e in outcome.experiments if e.id == spec["experiment"])
    measures: Sequence[str] = spec["measures"]
    with figure(PAGE, 2.7) as made:
        for axes, measure in zip(made.subplots(1, len(measures), squeeze=False)[0], measures, strict=True):
            for i, queue in enumerate(experiment.queues):
                _draw_queue(axes, outcome, experiment.scenarios, queue, measure, spec, i, len(experiment.queues))
            chosen = outcome.paper.measures[measure]
            _scenario_ticks(axes, outcome, experiment.scenarios)
            axes.set(ylabel=f"{chosen.label} ({chosen.unit})" if chosen.unit else chosen.label)
            axes.set_ylim(bottom=0)
            axes.grid(visible=False, axis="x")
        by_label = dict(zip(*made.axes[0].get_legend_handles_labels()[::-1], strict=True))
        names = [outcome.paper.queues[queue].label for queue in experiment.queues]
        labels = [k for name in names for k in (name, f"{name}, published") if k in by_label]
        made.legend([by_label[k] for k in labels], labels, ncols=len(labels), loc="outside upper center", fontsize=7)
        return made


def _draw_queue(
    axes: Any, outcome: Outcome, scenarios: Sequence[str], queue: str, measure: str, spec: Mapping[str, Any],
    index: int, count: int,
) -> None:  # fmt: skip
    """One queue's marks in a panel: filled as measured, open as published."""
    look, label = style_of(index), outcome.paper.queues[queue].label
    shift = (index - (count - 1) / 2) * 0.26
    x = np.arange(len(scenarios)) + shift
    found = [estimate(outcome.values(Case(s, queue), measure) / _scale(spec, s)) for s in scenarios]
    half = [0.0 if np.isnan(e.half) else e.half for e in found]
    axes.errorbar(
        x, [e.mean for e in found], yerr=half, linestyle="none", color=look.color, marker=look.marker, label=label
    )  # fmt: skip
    published = [outcome.paper.published.get((s, queue, measure), np.nan) / _scale(spec, s) for s in scenarios]
    if np.isfinite(published).any():
        axes.plot(
            x + 0.09, published, linestyle="none", marker=look.marker, color=look.color, markerfacecolor="white",
            label=f"{label}, published",
        )  # fmt: skip


def _parity(outcome: Outcome, spec: Mapping[str, Any]) -> Figure:
    """Measured over published, a panel a measure; 1 is a perfect copy."""
    experiment = next(e for e in outcome.experiments if e.id == spec["experiment"])
    cells = outcome.cells(experiment)
    measures: Sequence[str] = spec.get("measures", experiment.measures)
    with figure(PAGE, 2.3) as made:
        for axes, measure in zip(made.subplots(1, len(measures), squeeze=False)[0], measures, strict=True):
            for i, queue in enumerate(experiment.queues):
                rows = cells[(cells["measure"] == measure) & (cells["queue"] == queue) & (cells["published"] > 0)]
                positions = [experiment.scenarios.index(s) for s in rows["scenario"]]
                x = np.array(positions) + (i - (len(experiment.queues) - 1) / 2) * 0.22
                look = style_of(i)
                axes.plot(
                    x, rows["mean"] / rows["published"], linestyle="none", marker=look.marker, color=look.color,
                    label=outcome.paper.queues[queue].label,
                )  # fmt: skip
            axes.axhline(1, color="#555555", linewidth=0.8)
            _scenario_ticks(axes, outcome, experiment.scenarios)
            axes.set(title=outcome.paper.measures[measure].label)
        made.axes[0].set_ylabel("measured / published")
        handles, labels = made.axes[0].get_legend_handles_labels()
        made.legend(handles, labels, ncols=len(labels), loc="outside upper center")
        return made


def _trade_off(outcome: Outcome, spec: Mapping[str, Any]) -> Figure:
    """What is carried against the queuing delay: a panel a scenario, a line a curve, a mark a point."""
    scenarios: Sequence[str] = spec["scenarios"]
    columns = min(len(scenarios), 2)
    rows = -(-len(scenarios) // columns)
    with figure(PAGE, 2.3 * rows + 0.3) as made:
        panels = made.subplots(rows, columns, squeeze=False).ravel()
        for axes, scenario in zip(panels, scenarios, strict=False):
            for i, name in enumerate(spec["curves"]):
                curve, look = outcome.paper.curves[name], style_of(i)
                x = [_mean(outcome, scenario, q, "delay") for q in curve.queues]
                y = [_mean(outcome, scenario, q, "utilization") for q in curve.queues]
                axes.plot(x, y, color=look.color, marker=look.marker, markersize=3.2, linewidth=0.9, label=curve.label)
            axes.set_xscale("log")
            chosen = outcome.paper.scenarios[scenario]
            axes.set(title=chosen.title, xlabel="queuing delay (ms)", ylabel="utilization")
            axes.title.set_fontsize(7.5)
        handles, labels = panels[0].get_legend_handles_labels()
        made.legend(handles, labels, ncols=len(labels), loc="outside upper center")
        return made


def _mean(outcome: Outcome, scenario: str, queue: str, measure: str) -> float:
    return float(np.mean(outcome.values(Case(scenario, queue), measure)))


def _traces(outcome: Outcome, spec: Mapping[str, Any]) -> Figure:
    """A series of several cases against time, a panel a case, from the first seed."""
    cases = [Case(*name.split(".")) for name in spec["cases"]]
    with figure(PAGE, 1.3 * len(cases) + 0.3) as made:
        panels = made.subplots(len(cases), 1, sharex=True, sharey=True, squeeze=False).ravel()
        for axes, case in zip(panels, cases, strict=True):
            table = outcome.records[case][0].series[str(spec["series"])]
            y = table[str(spec["column"])] * float(spec.get("scale", 1)) + float(spec.get("offset", 0))
            axes.plot(table["t"], y, color=style_of(0).color, linewidth=0.7)
            label = f"{outcome.paper.scenarios[case.scenario].label}: {outcome.paper.queues[case.queue].label}"
            axes.set_title(label, fontsize=7.5, loc="left")
            axes.set_ylabel(str(spec.get("ylabel", spec["column"])), fontsize=7)
        panels[-1].set_xlabel("time (s)")
        panels[-1].set_xlim(left=0)
        return made


def _margins(_outcome: Outcome, _spec: Mapping[str, Any]) -> Figure:
    """LED's delay margin over sources, span and weight, at 200 packets/s and a round trip of 60 ms."""
    sources = np.arange(1, 10)
    spans, weights = np.linspace(0.05, 1.43, 100), np.geomspace(0.001, 0.9, 100)
    with figure(PAGE, 2.3) as made:
        first, second, third = made.subplots(1, 3)
        first.plot(sources, [led_margin(float(n), 200, 0.06) for n in sources], marker="o", linestyle="none")
        second.plot(spans, [led_margin(5, 200, 0.06, span=s) for s in spans])
        third.loglog(weights, [max(led_margin(5, 200, 0.06, weight=w), np.nan) for w in weights])
        first.set(xlabel="sources", ylabel="delay margin (s)")
        second.set(xlabel="span of the thresholds")
        third.set(xlabel="weight")
        return made
