"""Figures of flows: rates and windows over time, shares as stacked bars, disciplines in parallel coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from sojourn.errors import UserError
from sojourn.papers.model import Case
from sojourn.papers.reproduce import Outcome
from sojourn.plots.style import COLORS, GOOD, PAGE, figure, style_of
from sojourn.record import Record

Array = npt.NDArray[np.float64]
Spec = Mapping[str, Any]


def _record(outcome: Outcome, spec: Spec) -> Record:
    """The first seed's run of the case that a figure names."""
    names = str(spec["case"]).split(".")
    case = Case(names[0], names[1], names[2] if len(names) > 2 else "")
    if case not in outcome.records:
        raise UserError(f"{outcome.paper.root}: figure {spec.get('id')}: case {spec['case']}: not run")
    return outcome.records[case][0]


def _rate(record: Record, name: str) -> tuple[Array, Array]:
    """The throughput in Mbit/s of a flow, or of all flows of a group."""
    tables = [
        table
        for key, table in record.series.items()
        if key == f"throughput/{name}" or key.startswith(f"throughput/{name}/")
    ]
    if not tables:
        raise UserError(f"{record['scenario']}: no throughput of {name} was traced")
    return tables[0]["t"], np.sum([table["bps"] for table in tables], axis=0) * 1e-6


def rates(outcome: Outcome, spec: Spec) -> Figure:
    """The rate of flows or groups over time."""
    record = _record(outcome, spec)
    with figure(PAGE * 0.75, 2.5) as made:
        axes: Any = made.add_subplot()
        for i, (name, label) in enumerate(spec["groups"]):
            times, bps = _rate(record, name)
            axes.plot(times, bps, color=COLORS[i], label=label, linewidth=0.9)
        axes.set(xlabel="time (s)", ylabel="rate (Mbit/s)")
        axes.set_ylim(bottom=0)
        made.legend(loc="outside upper center", ncols=len(spec["groups"]))
        return made


def windows(outcome: Outcome, spec: Spec) -> Figure:
    """Windows of flows above, the queue below, with the target as a line."""
    record = _record(outcome, spec)
    with figure(PAGE * 0.75, 3.4) as made:
        upper, lower = made.subplots(2, 1, sharex=True, height_ratios=[2, 1])
        for i, (name, label) in enumerate(spec["flows"]):
            table = record.series[f"cwnd/{name}"]
            upper.plot(table["t"], table["packets"], color=COLORS[i], label=label, linewidth=0.9)
        queue = record.series["queue/bottleneck"]
        lower.plot(queue["t"], queue["packets"], color="#555555", linewidth=0.7)
        lower.axhline(float(spec["line"]), color=COLORS[1], linewidth=0.8, linestyle="--", label="target")
        upper.set(ylabel="window (packets)")
        upper.set_ylim(
            0,
            np.percentile(np.concatenate([record.series[f"cwnd/{n}"]["packets"] for n, _ in spec["flows"]]), 99.5)
            * 1.1,
        )
        lower.set(xlabel="time (s)", ylabel="queue (packets)")
        lower.set_ylim(bottom=0)
        made.legend(loc="outside upper center", ncols=len(spec["flows"]) + 1)
        return made


def shares(outcome: Outcome, spec: Spec) -> Figure:
    """Stacked bars: TCP's share over the background's, in pairs of settings, grouped by the first word of the label."""
    experiment = next(e for e in outcome.experiments if e.id == spec["experiment"])
    queue, settings = str(spec["queue"]), [str(s) for s in spec["settings"]]
    with figure(PAGE, 2.9) as made:
        axes: Any = made.add_subplot()
        place = 0.0
        ticks: list[tuple[float, str]] = []
        groups: dict[str, list[float]] = {}
        for scenario in experiment.scenarios:
            group, _, part = outcome.paper.scenarios[scenario].label.partition(", ")
            if group not in groups:
                place += 0.8
            for i, setting in enumerate(settings):
                share = float(np.mean(outcome.values(Case(scenario, queue, setting), "share")))
                at = place + 0.42 * i
                axes.bar(at, share, 0.4, color=COLORS[i])
                axes.bar(at, 1 - share, 0.4, bottom=share, color=COLORS[i], alpha=0.25)
            ticks.append((place + 0.21, part))
            groups.setdefault(group, []).append(place + 0.21)
            place += 1.0
        axes.axhline(0.5, color="#000000", linewidth=0.9)
        axes.set_xticks([t for t, _ in ticks], [label for _, label in ticks], fontsize=5.5)
        for group, places in groups.items():
            axes.text(np.mean(places), 1.02, group, ha="center", fontsize=7)
        axes.set(ylabel="share of the throughput", xlabel="buffer (bandwidth-delay products)")
        axes.set_ylim(0, 1.08)
        axes.grid(visible=False, axis="x")
        labels = [outcome.paper.settings[s].label for s in settings]
        made.legend(axes.patches[0 : 2 * len(settings) : 2], labels, loc="outside upper center", ncols=len(settings))
        return made


def parallel(outcome: Outcome, spec: Spec) -> Figure:
    """Parallel coordinates: TCP's share, mean queue, mean queue over the limit; a line a discipline and setting."""
    experiment = next(e for e in outcome.experiments if e.id == spec["experiment"])
    scenario, limit = str(spec["scenario"]), float(spec["limit"])
    dashes: Sequence[str] = ["-", "--", ":", "-."]
    with figure(PAGE * 0.75, 3.0) as made:
        axes: Any = made.add_subplot()
        axes.fill_between([0, 1, 2], [0.9, 0, 0], [1.0, 0.1, 0.1], color=GOOD, alpha=0.15, linewidth=0)
        for i, queue in enumerate(experiment.queues):
            for j, setting in enumerate(experiment.settings):
                case, look = Case(scenario, queue, setting), style_of(i)
                tcp = float(np.mean(outcome.values(case, "tcp_share")))
                mean = float(np.mean(outcome.values(case, "queue_mean")))
                label = f"{outcome.paper.queues[queue].label}, {outcome.paper.settings[setting].label}"
                line = [tcp, mean / limit, mean / limit]
                axes.plot([0, 1, 2], line, color=look.color, marker=look.marker, linestyle=dashes[j], label=label)
        axes.set_xticks([0, 1, 2], ["TCP's share", f"mean queue / {limit:.0f}", "bufferbloat"])
        axes.set_ylim(0, 1.02)
        made.legend(loc="outside right upper", fontsize=6.5)
        return made


KINDS = {"rates": rates, "windows": windows, "shares": shares, "parallel": parallel}
