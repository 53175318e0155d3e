"""The page of a diagnosis: four numbers and two pictures, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from sojourn.core.field_labels import with_unit
from sojourn.core.quantities import short_rate, short_time
from sojourn.core.stats import Estimate
from sojourn.core.text_format import counted
from sojourn.diagnose.cases import IDLE, NOW, load_text
from sojourn.diagnose.diagnosis import LATENCY, NEITHER, Diagnosis, measures
from sojourn.diagnose.tc import REDIRECT, WAN, tc_lines
from sojourn.plots.page import render, svg
from sojourn.plots.style import BAD, COLORS, GOOD, drawing, rc_context

NUMBERS = {
    LATENCY: "Latency under load",
    "ping RPM": "Responsiveness",
    "down": "Download",
    "up": "Upload",
}
"""The four numbers of the page: columns of a diagnosis, and what they are called."""

METHOD = (
    "Queues in the line replace those of the modem and of the provider. CAKE is in the router behind the line, with a "
    "shaper in each direction. The recommended shaper is the fastest that keeps the latency low on a line 5 % slower "
    "than stated. The simulated CAKE has its defaults: diffserv3 and triple-isolate."
)

UNITS = {LATENCY: "ms, 95 % of pings are faster", "ping RPM": "round trips a minute"}


def page_of(found: Diagnosis, remarks: Sequence[str] = ()) -> str:
    """The page as HTML without any other file. `remarks` say what is uncertain about the line."""
    columns = measures(found.line)
    with drawing("diagnosis"), rc_context():
        pictures = {"over_time": svg(_over_time(found)), "options": svg(_options(found))}
    line = found.line
    return render(
        "sojourn.diagnose",
        title=f"{found.name}: what the line does under load",
        answer=answer(found),
        numbers=[_number(found, column) for column in NUMBERS],
        commands=tc_lines(found.choice) if found.choice else None,
        redirect=REDIRECT,
        wan=WAN,
        line=f"Down {line.down}; up {line.up}; round-trip propagation delay {short_time(line.rtt)}.",
        remarks=remarks,
        columns=[with_unit(name, "" if each.unit in name else each.unit) for name, each in columns.items()],
        rows=[_row(found, case) for case in found.rows],
        method=f"Simulated: {load_text()} over the line, {counted(len(found.seeds), 'seed')}, mean ± 95 % CI. {METHOD}",
        **pictures,
    )


def answer(found: Diagnosis) -> str:
    """One or two sentences for somebody who decides."""
    idle, now = found.of(IDLE, _latency(found)), found.of(NOW, _latency(found))
    rises = f"Under load, 95 % of pings take up to {now.text('ms', 1)}; on the idle line {idle.text('ms', 1)}."
    if found.choice is None:
        return f"{rises} Recommended: {NEITHER[found.decided]}."
    after = found.of(found.best, _latency(found))
    rates = " and ".join(f"{short_rate(_bps(found, at))} {at}" for at in ("down", "up"))
    return f"{rises} CAKE in the router, shaped to {rates}, lowers this to {after.text('ms', 1)}."


def _bps(found: Diagnosis, at: str) -> float:
    """The rate of the recommended shaper in a direction, in bit/s."""
    return found.line.ways[at].rate * (found.choice.share if found.choice else 1.0)


def _latency(found: Diagnosis) -> Any:
    return measures(found.line)[LATENCY]


def _number(found: Diagnosis, column: str) -> dict[str, str]:
    """One of the four numbers, before and after."""
    what = measures(found.line)[column]
    after = found.of(found.best, what) if found.choice else None
    unit = UNITS.get(column, what.unit)
    return {
        "name": NUMBERS[column],
        "before": found.of(NOW, what).text(places=1),
        "after": after.text(places=1) if after else "",
        "unit": unit,
    }


def _row(found: Diagnosis, case: str) -> dict[str, Any]:
    cells = [found.of(case, each).text(places=2) for each in measures(found.line).values()]
    return {"name": case, "cells": cells, "best": case == found.best}


def _over_time(found: Diagnosis) -> Figure:
    """The ping's round-trip time in the first run, before and after."""
    figure = Figure(figsize=(7.2, 2.6), layout="constrained")
    axes = figure.subplots()
    for case, color in {NOW: BAD, found.best: GOOD}.items():
        series = found.records[case][0].series["rtt/ping/0"]
        axes.plot(series["t"], [1e3 * each for each in series["seconds"]], color=color, label=case)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("round trip (ms)")
    axes.legend(loc="upper right")
    return figure


def _options(found: Diagnosis) -> Figure:
    """The latency under load of each case, with its interval, and that of the idle line."""
    figure = Figure(figsize=(7.2, 0.32 * len(found.cases) + 0.8), layout="constrained")
    axes = figure.subplots()
    for at, case in enumerate(found.cases):
        one: Estimate = found.of(case, _latency(found))
        color = GOOD if case == found.best else BAD if case == NOW else COLORS[0]
        axes.barh(at, one.mean, color=color, height=0.6)
        axes.errorbar(one.mean, at, xerr=[[each] for each in one.errors], color="black", capsize=2)
        axes.annotate(f" {one.text('ms', 1)}", (one.high, at), va="center", fontsize=7.5)
    idle = found.of(IDLE, _latency(found)).mean
    axes.axvline(idle, color="black", linestyle=":", linewidth=1, label="idle line")
    axes.set_yticks(range(len(found.cases)), found.cases)
    axes.invert_yaxis()
    axes.margins(x=0.18)
    axes.set_xlim(left=0)
    axes.set_xlabel("95 % quantile of the ping's round trip (ms)")
    axes.legend(loc="lower right")
    return figure
