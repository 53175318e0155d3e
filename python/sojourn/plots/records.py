"""Plots of one run: its traces over time, and its distributions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn.core.errors import UserError
from sojourn.core.record_schema import series_columns
from sojourn.core.traces import missing
from sojourn.plots import distributions
from sojourn.plots.distributions import Array, Run
from sojourn.plots.style import (
    COLUMN,
    LEGEND_COLUMNS,
    LINES,
    PAGE,
    Look,
    drawn_on,
    legend_beside,
    rc_context,
    shown_figure,
    style_of,
    title_above_legend,
)

MANY = 8  # series in one panel
PANEL = 1.9  # inches: height of a panel over time
NO_SERIES = ("ssthresh", "warm-up")  # labels without a series
FAR = 2.0  # largest ratio of threshold to largest window at which a slow-start threshold is shown


@dataclass(frozen=True)
class Curve:
    """A column of a kind of trace, with its label and unit on an axis."""

    kind: str
    column: str
    label: str
    scale: float = 1.0
    held: bool = False  # each value is valid until the next one

    def points(self, table: Mapping[str, Array]) -> tuple[Array, Array]:
        """Times in seconds and values; NaN where the table lacks the column."""
        t = table["t"]
        return t, self.scale * table[self.column] if self.column in table else np.full(len(t), np.nan)


@dataclass(frozen=True)
class Count(Curve):
    """The cumulative count of rows of a trace; all rows, or those with certain column values."""

    values: Sequence[int] | None = None

    def points(self, table: Mapping[str, Array]) -> tuple[Array, Array]:
        """The times of the counted rows in seconds, and the cumulative count."""
        t = table["t"] if self.values is None else table["t"][np.isin(table[self.column], self.values)]
        return t, np.arange(1.0, len(t) + 1)

    def until(self, end: float, points: tuple[Array, Array]) -> tuple[Array, Array]:
        """The points with both ends of the run: 0 at the start, the total at the end."""
        t, counts = points
        return np.concatenate([[0.0], t, [end]]), np.concatenate([[0.0], counts, [float(len(t))]])


PACKETS = Curve("queue", "packets", "waiting packets")
SUBQUEUES = Curve("subqueue", "packets", "packets in each queue")
DELAY = Curve("queue", "delay_s", "queuing delay (ms)", 1e3)
PROBABILITY = Curve("queue", "probability", "drop or mark probability (%)", 100.0)
OF_SUBQUEUES = {  # curves of a queue's parts, drawn instead of the whole
    DELAY: Curve("subqueue", "oldest_s", DELAY.label, DELAY.scale),
    PROBABILITY: Curve("subqueue", "probability", PROBABILITY.label, PROBABILITY.scale),
}
CWND = Curve("cwnd", "packets", "congestion window (segments)")
THROUGHPUT = Curve("throughput", "bps", "throughput (Mbit/s)", 1e-6)
RTT = Curve("rtt", "seconds", "round-trip time (ms)", 1e3)
DROPS = Count("signals", "cause", "packets dropped so far", held=True, values=(0, 1, 2, 3, 5))
MARKS = Count("signals", "cause", "packets marked so far", held=True, values=(4,))
RETRANSMISSIONS = Count("retransmissions", "offset", "segments retransmitted so far", held=True)
CONTROLLER = [column for column in series_columns("controller") if column != "ssthresh"]  # it is drawn with cwnd
FIGURE_OF = {"subqueue": "queue"}  # kinds of traces shown in the figure of another
Draw: TypeAlias = Callable[..., Axes]


@dataclass(frozen=True)
class Line:
    """A line over time: label, color, times in seconds, values, and style."""

    label: str
    color: str
    points: tuple[Array, Array]
    dashes: str = "-"


def _controller_curve(column: str) -> Curve:
    """A column of the traces of controllers."""
    unit = series_columns("controller")[column].unit
    return Curve("controller", column, f"{column} ({unit})" if unit else column, held=True)


def height_of(panels: Sequence[Draw]) -> float:
    """The height in inches of a figure with these panels."""
    return 0.5 + PANEL * len(panels)


def one_below_the_other(made: Figure, panels: Sequence[Draw]) -> list[Axes]:
    """Draws panels over one time axis under one title; returns their axes.

    A panel has a legend unless the panels above it have the same lines.
    """
    grid: list[Axes] = list(made.subplots(len(panels), 1, squeeze=False, sharex=True).ravel())
    above: set[str] = set()
    for i, (axes, draw) in enumerate(zip(grid, panels, strict=True)):
        draw(axes)
        shown = {label for label in axes.get_legend_handles_labels()[1] if label not in NO_SERIES}
        if i > 0:
            axes.set_title("", loc="left")
            if (legend := axes.get_legend()) and shown <= above:
                legend.remove()
        above |= shown
        if i + 1 < len(panels):
            axes.set_xlabel("")
    return grid


class RecordPlots:
    """Plots of a record. Each draws on the axes `ax`, or on a new figure, and returns the axes.

    `names` selects links or flows; default: all traced ones, at most eight. `record.plot()` draws all traces over time,
    one below the other. A group has one color, by its position in the scenario. If several flows of a group were
    traced, each flow has its own color.
    """

    def __init__(self, record: Run) -> None:
        self._record = record

    def __repr__(self) -> str:
        drawn = [draw.__name__ for panels in self.panels().values() for draw in panels]
        return f"<plots of {self.title([])}: {', '.join([*drawn, *self._cdfs()])}>"

    def _cdfs(self) -> list[str]:
        """The calls of `cdf` for distributions that can be drawn."""
        return [f'cdf("{of}")' for of in distributions.QUANTITIES if distributions.sources(self._record, of)]

    def __call__(self) -> list[Axes]:
        """Draws all traces over time in one figure and returns its axes, from top to bottom.

        Raises `UserError` for a record without such traces.

        >>> scenario = sj.load("examples/dumbbell.toml").set("trace.queue", {"links": ["bottleneck"], "every": "1 s"})
        >>> len(sj.run(scenario).plot())  # packets, delay
        2
        """
        drawn = [draw for panels in self.panels().values() for draw in panels]
        if not drawn:
            raise missing(str(self._record.get("scenario")), "queue")
        with rc_context():
            return one_below_the_other(shown_figure(PAGE, height_of(drawn)), drawn)

    def panels(self) -> dict[str, list[Draw]]:
        """The panels over time of each kind of trace with values."""
        known: list[tuple[Curve, Draw]] = [
            (PACKETS, self.queue),
            (SUBQUEUES, self.subqueues),
            (DELAY, self.delay),
            (PROBABILITY, self.probability),
            (CWND, self.cwnd),
            (THROUGHPUT, self.throughput),
            (RTT, self.rtt),
            (DROPS, self.drops),
            (MARKS, self.marks),
            (RETRANSMISSIONS, self.retransmissions),
            *((_controller_curve(column), self._controller_panel(column)) for column in CONTROLLER),
        ]
        kinds = (name.partition("/")[0] for name in self._record.series)
        found: dict[str, list[Draw]] = {FIGURE_OF.get(kind, kind): [] for kind in kinds}
        for curve, draw in known:
            if curve.kind == "controller" and not self._seen(curve):
                continue
            if self._there(curve) or (curve in OF_SUBQUEUES and self._there(OF_SUBQUEUES[curve])):
                found[FIGURE_OF.get(curve.kind, curve.kind)].append(draw)
        return {kind: panels for kind, panels in found.items() if panels}

    def queue(self, ax: Axes | None = None, names: Sequence[str] | None = None, *, unit: str = "packets") -> Axes:
        """The queue of links over time, in packets or bytes (`unit`)."""
        if unit not in ("packets", "bytes"):
            raise UserError.unknown("unit", unit, ("packets", "bytes"))
        return self._lines(ax, replace(PACKETS, column=unit, label=f"waiting {unit}"), names)

    def delay(self, ax: Axes | None = None, names: Sequence[str] | None = None) -> Axes:
        """The queuing delay over time in ms: the wait of a packet that arrives at that time.

        A queue with several parts, such as a dual queue, has a line per part: the wait of its oldest packet. The name
        of a link selects the whole queue, `bottleneck/classic` selects one part.
        """
        return self._apart(ax, DELAY, names)

    def probability(self, ax: Axes | None = None, names: Sequence[str] | None = None) -> Axes:
        """The probability of a drop or mark over time, in percent.

        A dual queue has a line per queue; the line of `low-latency` excludes the marks of its step threshold. For
        `names` see `delay`.
        """
        return self._apart(ax, PROBABILITY, names)

    def subqueues(self, ax: Axes | None = None, names: Sequence[str] | None = None) -> Axes:
        """The backlog of each part of a link's queue, in packets over time (`trace.queue`).

        Parts are the queues of a dual queue, the tins of CAKE, or classes: `bottleneck/low-latency`.
        """
        return self._lines(ax, SUBQUEUES, names)

    def cwnd(self, ax: Axes | None = None, names: Sequence[str] | None = None) -> Axes:
        """Congestion windows over time in segments; slow-start thresholds are dashed.

        A threshold far above all windows, as before the first loss, is omitted.
        """
        axes = self._lines(ax, CWND, names)
        self._thresholds(axes, CWND, names)
        return axes

    def _thresholds(self, axes: Axes, windows: Curve, names: Sequence[str] | None) -> None:
        """Adds slow-start thresholds to the windows of flows, except those far above all windows."""
        shown = self._names(windows.kind, names)
        most = max((float(np.nanmax(self._points(windows, name)[1])) for name in shown), default=1.0)
        drawn = False
        with drawn_on(axes):
            for name in shown:
                t, threshold = self._points(replace(windows, column="ssthresh"), name)
                near = np.where((threshold > 0) & (threshold <= FAR * most), threshold, np.nan)  # 0 before its start
                if np.isfinite(near).any():
                    axes.plot(t, near, color=self._look(windows.kind, name).color, linestyle=":", linewidth=0.9)
                    drawn = True
            if drawn:
                axes.plot([], [], color="#555555", linestyle=":", linewidth=0.9, label="ssthresh")
            self._legend(axes, len(shown) + drawn, windows.kind, names)

    def throughput(self, ax: Axes | None = None, names: Sequence[str] | None = None) -> Axes:
        """Throughput of links and goodput of flows over time, in Mbit/s."""
        return self._lines(ax, THROUGHPUT, names)

    def rtt(self, ax: Axes | None = None, names: Sequence[str] | None = None) -> Axes:
        """Round-trip times of flows over time, in ms: every sample."""
        axes = self._lines(ax, RTT, names)
        for line in axes.lines:  # lines between the samples of several flows would hide each other
            line.set(linestyle="none", marker=".", markersize=2, rasterized=True)
        self._legend(axes, len(axes.lines), "rtt", names)
        return axes

    def drops(self, ax: Axes | None = None, names: Sequence[str] | None = None, *, by: str | None = None) -> Axes:
        """Cumulative drops of links over time (`trace.signals`).

        `by` selects the lines: `"link"`, `"group"` or `"flow"`; default: groups if there are several.
        """
        return self._signals(ax, DROPS, names, by)

    def marks(self, ax: Axes | None = None, names: Sequence[str] | None = None, *, by: str | None = None) -> Axes:
        """Cumulative marks of links over time (`trace.signals`); for `by` see `drops`."""
        return self._signals(ax, MARKS, names, by)

    def _signals(self, ax: Axes | None, curve: Count, names: Sequence[str] | None, by: str | None) -> Axes:
        """Counts drops or marks of links, or of the groups or flows that sent the packets."""
        if by not in (None, "link", "group", "flow"):
            raise UserError.unknown("by", by, ("link", "group", "flow"))
        if by == "link":
            return self._lines(ax, curve, names)
        shown = self._names(curve.kind, names)
        owners = np.array([str(flow["name" if by == "flow" else "group"]) for flow in self._record.get("flows")])
        lines: dict[str, list[Line]] = {}
        for link, dashes in zip(shown, itertools.cycle(LINES)):
            table = self._record.series[f"{curve.kind}/{link}"]
            rows = np.isin(table[curve.column], curve.values or ())
            flows = table["flow"][rows].astype(int)
            for owner in dict.fromkeys(owners[np.unique(flows)].tolist()):
                own = rows.copy()
                own[rows] = (owners == owner)[flows]
                place = len(lines) if by == "flow" else self._groups.index(owner)
                color = lines[owner][0].color if owner in lines else style_of(place).color
                points = curve.points({key: column[own] for key, column in table.items()})
                label = owner if len(shown) == 1 else f"{owner}, {link}"
                lines.setdefault(owner, []).append(Line(label, color, points, dashes))
        if by is None and (not lines or len(self._groups) < 2):
            return self._lines(ax, curve, names)
        axes = self._draw(ax, curve, list(itertools.chain.from_iterable(lines.values()))[:MANY], names)
        if len(lines) == 1:  # name the link or flow if it is ambiguous
            self._legend(axes, 2, curve.kind, names)
        return axes

    def retransmissions(self, ax: Axes | None = None, names: Sequence[str] | None = None) -> Axes:
        """Cumulative retransmissions of flows over time."""
        return self._lines(ax, RETRANSMISSIONS, names)

    def controller(self, column: str, ax: Axes | None = None, names: Sequence[str] | None = None) -> Axes:
        """A variable of controllers over time, such as `cwnd`, `pacing_rate` or `state`.

        `column` is a column of `controller/<flow>`. Default: all flows whose controller has it. A value is valid until
        the next one. With `cwnd`, slow-start thresholds are dashed. Raises `UserError` if none of these flows has the
        variable.
        """
        self._names("controller", names)
        having = self._there(_controller_curve(column)) if column in series_columns("controller") else []
        lacking = [name for name in names or [] if name not in having]
        if lacking or not having:
            raise self._without_value(column, lacking)
        curve = _controller_curve(column)
        axes = self._lines(ax, curve, names or having)
        if column == "cwnd":
            self._thresholds(axes, curve, names)
        return axes

    def _without_value(self, column: str, lacking: Sequence[str]) -> UserError:
        """The error for a variable that controllers lack.

        Either no flow's controller has it, or that of the first selected flow lacks it.
        """
        there = {each: self._there(_controller_curve(each)) for each in series_columns("controller")}
        if not lacking:
            known = [each for each, having in there.items() if having]
            return UserError.unknown(f"value of controllers of {self.title([])}", column, known)
        known = [each for each, having in there.items() if lacking[0] in having]
        return UserError.unknown(f"value of controller/{lacking[0]}", column, known)

    def _controller_panel(self, column: str) -> Draw:
        """A panel that draws a variable of controllers under its name."""

        def draw(ax: Axes | None = None) -> Axes:
            return self.controller(column, ax)

        draw.__name__ = f'controller("{column}")'
        return draw

    def cdf(
        self, of: str, ax: Axes | None = None, names: Sequence[str] | None = None, *, complement: bool = False
    ) -> Axes:
        """The distribution of `wait` (of links, ms), `rtt` or `completion` (of groups, ms and s).

        It is exact if the scenario traced every sample (`trace.wait`, `rtt`, `completions`), else a line through the
        quantiles of the record. A link with a dual queue or classes has a line for each of these too. `complement`
        shows the share above a value, on a logarithmic axis. `names` are links or groups.
        """
        there = distributions.sources(self._record, of)
        if not there:
            raise distributions.nothing(str(self._record.get("scenario")), of)
        for name in names or []:
            if name not in there:
                raise UserError.unknown(f"distribution of {of}", name, there)
        with drawn_on(ax, COLUMN, 2.5) as axes:
            found = {
                name: distributions.distribution(self._record, of, name)
                for name in (names or distributions.main_sources(self._record, of))
            }
            drawn = {name: each for name, each in found.items() if each is not None}
            curves = list(drawn.values())
            for i, (name, each) in enumerate(drawn.items()):
                place = self._groups.index(name) if name in self._groups else i
                distributions.draw(axes, each, style_of(place), name, complement)
                for queue, part in distributions.within(self._record, of, name).items():
                    look = style_of(len(curves))
                    distributions.draw(axes, part, look, f"{name}: {queue}", complement)
                    curves.append(part)
            distributions.finish(axes, of, complement, curves, next(iter(drawn)) if len(drawn) == 1 else "")
            if len(curves) > 1:
                legend_beside(axes)
            axes.set_title(self.title(list(drawn)), loc="left")
            return axes

    def _seen(self, curve: Curve) -> bool:
        """Whether a curve of a link or a flow is nonzero at any time."""
        return any(np.nan_to_num(self._points(curve, name)[1]).any() for name in self._there(curve))

    def _there(self, curve: Curve) -> list[str]:
        """The links or flows for which the curve has finite values."""
        return [name for name in self._traced(curve.kind) if np.isfinite(self._points(curve, name)[1]).any()]

    def title(self, names: Sequence[str]) -> str:
        """The title: scenario, the only link or flow shown, and seed."""
        only = f", {names[0]}" if len(names) == 1 else ""
        return f"{self._record.get('scenario')}{only}, seed {self._record.get('seed')}"

    def _names(self, kind: str, names: Sequence[str] | None) -> list[str]:
        """The links or flows to show. Raises `UserError` for those that were not traced."""
        there = self._traced(kind)
        if not there:
            raise missing(str(self._record.get("scenario")), kind)
        for name in names or []:
            if name not in there:
                raise UserError.unknown(f"traces of {kind}", name, there)
        return list(names or there)[:MANY]

    @cached_property
    def _groups(self) -> list[str]:
        """The groups of flows, in the order of the scenario."""
        return [str(group["name"]) for group in self._record.get("groups")]

    @cached_property
    def _group_of(self) -> dict[str, str]:
        """The group of each flow, in the order of the scenario."""
        return {str(flow["name"]): str(flow["group"]) for flow in self._record.get("flows")}

    def _traced(self, kind: str) -> list[str]:
        """The links or flows that have a trace of this kind, flows in the order of the scenario."""
        traced = [name.partition("/")[2] for name in self._record.series if name.partition("/")[0] == kind]
        flows = [name for name in self._group_of if f"{kind}/{name}" in self._record.series]
        return [name for name in traced if name not in self._group_of] + flows

    def _look(self, kind: str, name: str) -> Look:
        """The look of a link or flow in all panels.

        The only traced flow of a group has the group's look.
        """
        flows = [each for each in self._traced(kind) if each in self._group_of]
        groups = [self._group_of[each] for each in flows]
        if name in flows:
            alone = len(set(groups)) == len(groups)
            return style_of(self._groups.index(self._group_of[name]) if alone else flows.index(name))
        others = [each for each in self._traced(kind) if each not in flows]
        before = (
            len(self._traced("queue")) if kind == SUBQUEUES.kind else max(len(flows), len(self._groups) * bool(flows))
        )
        return style_of(before + others.index(name))

    def _points(self, curve: Curve, name: str) -> tuple[Array, Array]:
        """The times and values of a link or flow."""
        return curve.points(self._record.series[f"{curve.kind}/{name}"])

    def _line(self, curve: Curve, name: str) -> Line:
        """The line of a link or flow."""
        look = self._look(curve.kind, name)
        return Line(name, look.color, self._points(curve, name), look.line)

    def _lines(self, ax: Axes | None, curve: Curve, names: Sequence[str] | None) -> Axes:
        """One column of several series against time."""
        shown = self._names(curve.kind, names)
        lines = [self._line(curve, name) for name in shown]
        return self._draw(ax, curve, lines, names)

    def _apart(self, ax: Axes | None, curve: Curve, names: Sequence[str] | None) -> Axes:
        """One column of queues over time; by default of their parts, if these have values."""
        links = self._names(curve.kind, None)
        inside = OF_SUBQUEUES[curve]
        there = [*self._there(curve), *self._there(inside)]
        innermost = [name for name in there if not any(other.startswith(f"{name}/") for other in there)]
        shown = list(names or innermost or links)
        known = {name: each for each in (curve, inside) for name in self._traced(each.kind)}
        for name in shown:
            if name not in known:
                raise UserError.unknown(f"traces of {curve.kind}", name, known)
        lines = [self._line(known[name], name) for name in shown[:MANY]]
        of = [link for link in links if any(f"{name}/".startswith(f"{link}/") for name in shown)]
        axes = self._draw(ax, curve, lines, of)
        if len(shown) > MANY and (legend := axes.get_legend()):
            legend.set_title(f"first {MANY} of {len(shown)}")
            title_above_legend(axes)
        return axes

    def _draw(self, ax: Axes | None, curve: Curve, lines: Sequence[Line], names: Sequence[str] | None) -> Axes:
        """Draws the lines of the selected links or flows over time."""
        duration = self._record.get("duration_s")
        with drawn_on(ax) as axes:
            for each in lines:
                points = curve.until(duration, each.points) if isinstance(curve, Count) else each.points
                (line,) = axes.plot(*points, color=each.color, linestyle=each.dashes, label=each.label)
                if curve.held:
                    line.set(drawstyle="steps-post", rasterized=True)
            axes.set(xlabel="time (s)", ylabel=curve.label)
            axes.set_xlim(0, duration)
            if not any((np.asarray(line.get_ydata()) < 0).any() for line in axes.lines):
                axes.set_ylim(bottom=0)
            if warmup := self._record.get("warmup_s"):
                axes.axvspan(0, warmup, color="#f0f0f0", zorder=0, label="warm-up")
            axes.set_title(self.title(self._names(curve.kind, names)), loc="left")
            self._legend(axes, len(lines), curve.kind, names)
            return axes

    def _legend(self, axes: Axes, lines: int, kind: str, names: Sequence[str] | None) -> None:
        """Adds a legend above the axes if it has more than one entry."""
        if lines < 2 and not self._record.get("warmup_s"):
            return
        traced = self._traced(kind)
        more = f"first {MANY} of {len(traced)}" if names is None and len(traced) > MANY else None
        axes.legend(
            markerscale=4 if kind == "rtt" else 1,
            ncols=LEGEND_COLUMNS,
            loc="lower right",
            bbox_to_anchor=(1, 1),
            borderaxespad=0.2,
            title=more,
        )
        title_above_legend(axes)
