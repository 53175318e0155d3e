"""A paper's figures, drawn as `paper.toml` asks: control surfaces, measures by scenario, published against measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from sojourn.errors import UserError
from sojourn.papers import curve_figures, flow_figures, loopfigures
from sojourn.papers.model import Case
from sojourn.papers.reading import Reading
from sojourn.papers.reproduce import Outcome, law_surface
from sojourn.plots.style import PAGE, figure, legend_above, style_of
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
        "surface": _surface, "by-scenario": _by_scenario, "parity": _parity, "step": loopfigures.steps,
        "bode": loopfigures.bode, "traces": loopfigures.traces, "boxes": loopfigures.boxes, "fluid": loopfigures.fluid,
        "map": loopfigures.maps, "lines": _lines, "averages": _averages, "timeline": _timeline,
        **flow_figures.KINDS, **curve_figures.KINDS,
    }  # fmt: skip
    drawn = []
    for spec in outcome.paper.figures:
        kind = spec.get("kind")
        if kind not in kinds:
            raise UserError(f"{outcome.paper.root}: figures: kind {kind!r}: taken are {', '.join(kinds)}")
        if spec.get("experiment") in ran:
            made = kinds[str(kind)](outcome, spec)
            drawn.append(Drawn(str(spec["id"]), str(spec.get("caption", "")), made, kind not in ("surface", "traces")))
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
            _scenario_ticks(axes, outcome, experiment.scenarios)
            axes.set(ylabel=outcome.paper.measures[measure].title)
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
        legend_above(made)
        return made


def _lines(outcome: Outcome, spec: Mapping[str, Any]) -> Figure:
    """A measure over a value of a family's scenarios, a panel a group of them, a line a queue; dashed as published."""
    experiment = next(e for e in outcome.experiments if e.id == spec["experiment"])
    measure, panels = str(spec["measure"]), [str(panel) for panel in spec["panels"]]
    with figure(PAGE, 2.7) as made:
        for axes, panel in zip(made.subplots(1, len(panels), sharey=True, squeeze=False)[0], panels, strict=True):
            names = [name for name in experiment.scenarios if name.startswith(f"{panel}_")]
            x = np.array([float(outcome.paper.scenarios[name].values[str(spec["x"])]) for name in names])
            for i, queue in enumerate(experiment.queues):
                look = style_of(i)
                found = [estimate(outcome.values(Case(name, queue), measure)) for name in names]
                half = [0.0 if np.isnan(e.half) else e.half for e in found]
                axes.errorbar(
                    x, [e.mean for e in found], yerr=half, color=look.color, marker=look.marker, markersize=3,
                    linewidth=0.9, label=outcome.paper.queues[queue].label,
                )  # fmt: skip
                said = dict(spec.get("published", {})).get(panel, {}).get(queue)
                if said is not None:
                    axes.axhline(float(said), color=look.color, linestyle="--", linewidth=0.8)
            axes.set(title=panel.rpartition("_")[2], xlabel=str(spec.get("xlabel", "")))
        made.axes[0].set_ylabel(outcome.paper.measures[measure].title)
        legend_above(made)
        return made


def _averages(outcome: Outcome, spec: Mapping[str, Any]) -> Figure:
    """Averages over scenarios that fit a pattern: a panel a measure, a mark a queue, open where published."""
    experiment = next(e for e in outcome.experiments if e.id == spec["experiment"])
    names = [name for name in experiment.scenarios if fnmatchcase(name, str(spec["scenarios"]))]
    measures: Sequence[str] = spec["measures"]
    with figure(PAGE, 2.4) as made:
        for axes, measure in zip(made.subplots(1, len(measures), squeeze=False)[0], measures, strict=True):
            said = dict(spec.get("published", {})).get(measure, {})
            for i, queue in enumerate(experiment.queues):
                look = style_of(i)
                found = estimate(np.mean([outcome.values(Case(name, queue), measure) for name in names], axis=0))
                half = 0.0 if np.isnan(found.half) else found.half
                axes.errorbar([i], [found.mean], yerr=[half], color=look.color, marker=look.marker, linestyle="none")
                if queue in said:
                    axes.plot(
                        [i + 0.2], [said[queue]], color=look.color, marker=look.marker, markerfacecolor="white",
                        linestyle="none",
                    )  # fmt: skip
            labels = [outcome.paper.queues[queue].label for queue in experiment.queues]
            axes.set_xticks(range(len(labels)), labels, rotation=60, ha="right")
            axes.set(title=outcome.paper.measures[measure].title)
        return made


def _timeline(outcome: Outcome, spec: Mapping[str, Any]) -> Figure:
    """A series by seconds, mean over the seeds, a line a queue."""
    experiment = next(e for e in outcome.experiments if e.id == spec["experiment"])
    (name, column), scale = spec["series"], float(spec.get("scale", 1.0))
    with figure(PAGE, 2.9) as made:
        axes: Any = made.add_subplot()
        for i, queue in enumerate(experiment.queues):
            records = outcome.records[Case(str(spec["scenario"]), queue)]
            end = float(records[0]["duration_s"])
            reading = Reading(name, column, "mean", (0.0, end), bin=1.0)
            found = [reading.pooled(record) for record in records]
            seconds = [each[1] * scale for each in found if each]
            axes.plot(
                np.arange(len(seconds[0])) + 0.5, np.mean(seconds, axis=0), color=style_of(i).color, linewidth=0.8,
                label=outcome.paper.queues[queue].label,
            )  # fmt: skip
        axes.set(xlabel="time (s)", ylabel=str(spec.get("ylabel", "")))
        axes.set_ylim(bottom=0)
        legend_above(made)
        return made
