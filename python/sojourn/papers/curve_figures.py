"""Figures of trade-offs: what is carried against the delay, traces of single cases, LED's delay margins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sojourn.analysis.laws import led_margin
from sojourn.papers.model import Case
from sojourn.papers.reproduce import Outcome
from sojourn.plots.style import PAGE, figure, legend_above, style_of


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
        legend_above(made)
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


KINDS = {"trade-off": _trade_off, "series": _traces, "margins": _margins}
"""The kinds of figures that are drawn here."""
