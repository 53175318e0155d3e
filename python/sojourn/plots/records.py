"""Plots of one run: its traces over time, and its distributions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn.errors import UserError
from sojourn.plots import distributions
from sojourn.plots.distributions import Array, Run
from sojourn.plots.style import COLUMN, PAGE, RC, drawn_on, legend_beside, shown_figure, style_of
from sojourn.traces import missing

MANY = 8  # series that one panel shows
PANEL = 1.9  # inches: the height of a panel over time
FAR = 2.0  # how far above the largest window a slow-start threshold may lie and still be shown


@dataclass(frozen=True)
class Curve:
    """A column of a kind of trace, and how an axis shows it."""

    kind: str
    column: str
    label: str
    scale: float = 1.0


Draw: TypeAlias = Callable[..., Axes]


def height_of(panels: Sequence[Draw]) -> float:
    """The height of a figure of these panels in inches."""
    return 0.5 + PANEL * len(panels)


def one_below_the_other(made: Figure, panels: Sequence[Draw]) -> list[Axes]:
    """Draws panels over one time axis, under one title and with one legend; returns their axes."""
    grid: list[Axes] = list(made.subplots(len(panels), 1, squeeze=False, sharex=True).ravel())
    for i, (axes, draw) in enumerate(zip(grid, panels, strict=True)):
        draw(axes)
        if i > 0:
            axes.set_title("", loc="left")
            if legend := axes.get_legend():
                legend.remove()
        if i + 1 < len(panels):
            axes.set_xlabel("")
    return grid


class RecordPlots:
    """Plots of a record. Each draws on the axes `ax`, or on those of a new figure, and returns the axes.

    `names` chooses links or flows; by default all that were traced, at most eight. `record.plot()` draws all traces
    over time, one below the other.
    """

    def __init__(self, record: Run) -> None:
        self._record = record

    def __repr__(self) -> str:
        drawn = [draw.__name__ for panels in self.panels().values() for draw in panels]
        return f"<plots of {self.title([])}: {', '.join([*drawn, *self._cdfs()])}>"

    def _cdfs(self) -> list[str]:
        """The distributions that can be drawn, as they are called."""
        return [f'cdf("{of}")' for of in distributions.QUANTITIES if distributions.places(self._record, of)]

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
        with mpl.rc_context(RC):
            return one_below_the_other(shown_figure(PAGE, height_of(drawn)), drawn)

    def panels(self) -> dict[str, list[Draw]]:
        """What each kind of trace can be drawn as over time, where it has values."""
        known = {
            "queue": [("packets", self.queue), ("delay_s", self.delay), ("probability", self.probability)],
            "cwnd": [("packets", self.cwnd)],
            "throughput": [("bps", self.throughput)],
            "rtt": [("seconds", self.rtt)],
        }
        kinds = dict.fromkeys(name.partition("/")[0] for name in self._record.series)
        found = {kind: [draw for column, draw in known.get(kind, []) if self.traced(kind, column)] for kind in kinds}
        return {kind: panels for kind, panels in found.items() if panels}

    def queue(self, ax: Axes | None = None, names: Sequence[str] | None = None, *, unit: str = "packets") -> Axes:
        """The queue of links over time, in packets or bytes (`unit`)."""
        if unit not in ("packets", "bytes"):
            raise UserError.unknown("unit", unit, ("packets", "bytes"))
        return self._lines(ax, Curve("queue", unit, f"waiting {unit}"), names)

    def delay(self, ax: Axes | None = None, names: Sequence[str] | None = None) -> Axes:
        """The queuing delay of links over time, in ms: the wait of a packet that arrives then."""
        return self._lines(ax, Curve("queue", "delay_s", "queuing delay (ms)", 1e3), names)

    def probability(self, ax: Axes | None = None, names: Sequence[str] | None = None) -> Axes:
        """The probability of a drop or mark over time, in percent."""
        return self._lines(ax, Curve("queue", "probability", "drop or mark probability (%)", 100.0), names)

    def cwnd(self, ax: Axes | None = None, names: Sequence[str] | None = None) -> Axes:
        """Congestion windows over time, in packets; slow-start thresholds are dashed.

        A threshold far above all windows, as before the first loss, is not shown.
        """
        shown = self._names("cwnd", names)
        axes = self._lines(ax, Curve("cwnd", "packets", "congestion window (packets)"), names)
        most = max((float(np.nanmax(self._column("cwnd", name, "packets"))) for name in shown), default=1.0)
        with drawn_on(axes):
            for i, name in enumerate(shown):
                threshold = self._column("cwnd", name, "ssthresh")
                near = np.where(threshold <= FAR * most, threshold, np.nan)
                t = self._column("cwnd", name, "t")
                axes.plot(t, near, color=style_of(i).color, linestyle=":", linewidth=0.9)
            axes.plot([], [], color="#555555", linestyle=":", linewidth=0.9, label="ssthresh")
            self._legend(axes, len(shown) + 1, "cwnd", names)
        return axes

    def throughput(self, ax: Axes | None = None, names: Sequence[str] | None = None) -> Axes:
        """Throughput of links and goodput of flows over time, in Mbit/s."""
        return self._lines(ax, Curve("throughput", "bps", "throughput (Mbit/s)", 1e-6), names)

    def rtt(self, ax: Axes | None = None, names: Sequence[str] | None = None) -> Axes:
        """Round-trip times of flows over time, in ms: every sample."""
        axes = self._lines(ax, Curve("rtt", "seconds", "round-trip time (ms)", 1e3), names)
        for line in axes.lines:  # lines between the samples of several flows would hide one another
            line.set(linestyle="none", marker=".", markersize=2, rasterized=True)
        self._legend(axes, len(axes.lines), "rtt", names)
        return axes

    def cdf(
        self, of: str, ax: Axes | None = None, names: Sequence[str] | None = None, *, complement: bool = False
    ) -> Axes:
        """The distribution of `wait` (at links, ms), `rtt` or `completion` (of groups, ms and s).

        It is exact where the scenario traced every sample (`trace.wait`, `rtt`, `completions`), else a line through the
        quantiles of the record. `complement` shows the share above a value, on a logarithmic axis. `names` are links or
        groups.
        """
        there = distributions.places(self._record, of)
        if not there:
            raise distributions.nothing(str(self._record.get("scenario")), of)
        for name in names or []:
            if name not in there:
                raise UserError.unknown(f"distribution of {of}", name, there)
        with drawn_on(ax, COLUMN, 2.5) as axes:
            found = {
                name: distributions.distribution(self._record, of, name)
                for name in (names or distributions.main_places(self._record, of))
            }
            drawn = {name: each for name, each in found.items() if each is not None}
            for i, (name, each) in enumerate(drawn.items()):
                distributions.draw(axes, each, i, name, complement)
            distributions.finish(
                axes, of, complement, list(drawn.values()), next(iter(drawn)) if len(drawn) == 1 else ""
            )
            if len(drawn) > 1:
                legend_beside(axes)
            axes.set_title(self.title(list(drawn)), loc="left")
            return axes

    def traced(self, kind: str, column: str) -> bool:
        """Whether a trace of this kind has finite values in a column."""
        tables = [table for name, table in self._record.series.items() if name.partition("/")[0] == kind]
        return any(column in table and np.isfinite(table[column]).any() for table in tables)

    def title(self, names: Sequence[str]) -> str:
        """Scenario, the one link or flow that is shown, and seed."""
        only = f", {names[0]}" if len(names) == 1 else ""
        return f"{self._record.get('scenario')}{only}, seed {self._record.get('seed')}"

    def _names(self, kind: str, names: Sequence[str] | None) -> list[str]:
        """The links or flows to show. Raises `UserError` for those that were not traced."""
        there = [name.partition("/")[2] for name in self._record.series if name.partition("/")[0] == kind]
        if not there:
            raise missing(str(self._record.get("scenario")), kind)
        for name in names or []:
            if name not in there:
                raise UserError.unknown(f"traces of {kind}", name, there)
        return list(names or there)[:MANY]

    def _column(self, kind: str, name: str, column: str) -> Array:
        table = self._record.series[f"{kind}/{name}"]
        return table[column] if column in table else np.full(len(table["t"]), np.nan)

    def _lines(self, ax: Axes | None, curve: Curve, names: Sequence[str] | None) -> Axes:
        """One column of several series against time."""
        shown = self._names(curve.kind, names)
        with drawn_on(ax) as axes:
            for i, name in enumerate(shown):
                values = self._column(curve.kind, name, curve.column) * curve.scale
                axes.plot(self._column(curve.kind, name, "t"), values, color=style_of(i).color, label=name)
            axes.set(xlabel="time (s)", ylabel=curve.label)
            axes.set_xlim(0, self._record.get("duration_s"))
            axes.set_ylim(bottom=0)
            if warmup := self._record.get("warmup_s"):
                axes.axvspan(0, warmup, color="#f0f0f0", zorder=0, label="warm-up")
            axes.set_title(self.title(shown), loc="left")
            self._legend(axes, len(shown), curve.kind, names)
            return axes

    def _legend(self, axes: Axes, lines: int, kind: str, names: Sequence[str] | None) -> None:
        """A legend above the axes, where there is more than one thing to tell apart."""
        if lines < 2 and not self._record.get("warmup_s"):
            return
        traced = [name for name in self._record.series if name.partition("/")[0] == kind]
        more = f"first {MANY} of {len(traced)}" if names is None and len(traced) > MANY else None
        axes.legend(
            markerscale=4 if kind == "rtt" else 1,
            ncols=5,
            loc="lower right",
            bbox_to_anchor=(1, 1),
            borderaxespad=0.2,
            title=more,
        )
