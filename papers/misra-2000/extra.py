"""What only this paper needs: its differential equations for two RED queues in a row, and their figures.

Set 1 of the flows crosses both queues, set 2 the first, set 3 the second one. Times are in seconds, queues in packets.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:  # figures import it when they are drawn: a list of papers does not
    from matplotlib.figure import Figure

    from sojourn.experiments.outcome import Outcome

Array = npt.NDArray[np.float64]
STEP = 0.01
PATHS = ((0, 1), (0,), (1,))
"""The queues that each set of flows crosses."""


@dataclass(frozen=True)
class System:
    """An experiment of the paper: RED, two links, and the number of flows of each set over time."""

    rates: tuple[float, float]
    """Capacities, in packets/s."""
    most: float = 0.1
    """RED's maximum probability."""
    weight: float = 1e-4
    sampling: float | None = None
    """The time between two samples of the average; `None`: the time of a packet (misra-2000#3)."""
    end: float = 225.0
    timeouts: float = 3.0
    """Losses with a window w are timeouts with probability min(1, timeouts / w); 0 for the model without them."""
    delay: float = 0.2
    lasting: bool = False
    """Whether all flows stay."""

    def flows(self, at: float) -> float:
        """Flows of each set: three quarters stop at 75 s and start again at 150 s."""
        return 10.0 if 75 <= at < 150 and not self.lasting else 40.0

    def pole(self, queue: int) -> float:
        """K of the averaging filter, in 1/s (misra-2000#3.4)."""
        return -math.log1p(-self.weight) / (self.sampling or 1 / self.rates[queue])

    def drop(self, average: float) -> float:
        """RED's probability (misra-2000#eq1)."""
        if average < 150:
            return 0.0
        return self.most * (average - 150) / 50 if average <= 200 else 1.0


SYSTEMS = {
    "exp1": System((1250.0, 1250.0)),
    "exp2": System((1250.0, 625.0)),
    "exp3": System((3750.0, 3750.0), end=75),
    "exp4": System((1250.0, 1250.0), end=75),
    "exp5": System((3750.0, 3750.0), most=1.0, end=75),
    "exp5long": System((3750.0, 3750.0), most=1.0, end=400, lasting=True),
    "exp5slow": System((3750.0, 3750.0), most=1.0, weight=1e-5, end=400, lasting=True),
    "exp3slow": System((3750.0, 3750.0), weight=1e-5, end=400, lasting=True),
    "exp3long": System((3750.0, 3750.0), end=400, lasting=True),
    "exp3x10": System((3750.0, 3750.0), sampling=10 / 3750, end=400, lasting=True),
    "exp3x100": System((3750.0, 3750.0), sampling=100 / 3750, end=400, lasting=True),
}


@dataclass
class Trajectory:
    """Times, queues and averages of both links."""

    t: list[float] = field(default_factory=list)
    queue: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))
    average: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))

    def of(self, what: str, link: int, begin: float, end: float) -> tuple[Array, Array]:
        """Times and values of the queue or the average of a link, 1 or 2."""
        t, values = np.array(self.t), np.array(getattr(self, what)[link - 1])
        inside = (t >= begin) & (t <= end)
        return t[inside], values[inside]


@functools.cache
def solve(name: str, timeouts: float) -> Trajectory:
    """The solution of misra-2000#eq4, misra-2000#eq7 and misra-2000#eq11 by Euler's method."""
    system = replace(SYSTEMS[name], timeouts=timeouts)
    found, windows, queue, average = Trajectory(), [1.0, 1.0, 1.0], [0.0, 0.0], [0.0, 0.0]
    past: list[tuple[list[float], list[float], list[float]]] = []
    flows = system.flows(0)
    for step in range(round(system.end / STEP)):
        now = system.flows(step * STEP)
        if now > flows:  # the new flows begin with one packet
            windows = [(flows * w + (now - flows)) / now for w in windows]
        flows = now
        rtts = [system.delay + sum(queue[v] / system.rates[v] for v in path) for path in PATHS]
        losses = [1 - math.prod(1 - system.drop(average[v]) for v in path) for path in PATHS]
        past.append((windows, rtts, losses))
        changes = [_change(system, w, r, past[max(0, step - round(r / STEP))], i) for i, (w, r) in _sets(windows, rtts)]
        found.t.append(step * STEP)
        for v in (0, 1):
            found.queue[v].append(queue[v])
            found.average[v].append(average[v])
        inflow = [sum(flows * windows[i] / rtts[i] for i, path in enumerate(PATHS) if v in path) for v in (0, 1)]
        average = [x + STEP * system.pole(v) * (q - x) for v, (x, q) in enumerate(zip(average, queue, strict=True))]
        queue = [max(0.0, q + STEP * (inflow[v] - system.rates[v])) for v, q in enumerate(queue)]
        windows = [max(1.0, w + STEP * change) for w, change in zip(windows, changes, strict=True)]
    return found


def _sets(windows: list[float], rtts: list[float]) -> enumerate[tuple[float, float]]:
    return enumerate(zip(windows, rtts, strict=True))


def _change(
    system: System, window: float, rtt: float, past: tuple[list[float], list[float], list[float]], i: int
) -> float:
    """The change of a window in a second: misra-2000#eq4, with the timeouts of misra-2000#2.3."""
    rate = past[0][i] / past[1][i] * past[2][i]
    timeout = min(1.0, system.timeouts / window)
    return 1 / rtt - (1 - timeout) * rate * window / 2 + timeout * rate * (1 - window)


def number(found: Trajectory, link: float, what: str, begin: float, end: float) -> float:
    """A number of a solution, such as `queue mean`: `mean`, `sd`, `max` or `rise` of the queue or average of a link.

    `rise` is the time from `begin` until the value reaches the lower threshold of 150 packets.
    """
    column, take = what.split()
    t, values = found.of(column, int(link), float(begin), float(end))
    if take == "rise":
        above = np.flatnonzero(values >= 150)
        return float(t[above[0]] - begin) if len(above) else math.inf
    takes: dict[str, Callable[[Array], Any]] = {"mean": np.mean, "sd": np.std, "max": np.max}
    return float(takes[take](values))


def model(name: str, link: float, what: str, begin: float, end: float) -> float:
    """A number of the solution with timeouts."""
    return number(solve(name, 3.0), link, what, begin, end)


def plain_model(name: str, link: float, what: str, begin: float, end: float) -> float:
    """The same without timeouts: misra-2000#eq4 alone."""
    return number(solve(name, 0.0), link, what, begin, end)


def filter_gain(frequency: float, pole: float) -> float:
    """The gain of RED's averaging filter at a frequency in rad/s, in dB (misra-2000#3.4)."""
    return -10 * math.log10(1 + (frequency / pole) ** 2)


def over_packets(outcome: Outcome, chosen: Any) -> Figure:
    """Queues of both links: one run of packets, and the solution."""
    from sojourn.experiments.model import Case
    from sojourn.plots.style import PAGE, figure

    records = outcome.records[Case(*chosen.case.split("."))]
    solution = solve(chosen.system, 3.0)
    with figure(PAGE, 3.4) as made:
        for link, axes in enumerate(made.subplots(2, 1, sharex=True, sharey=True), start=1):
            table = records[0].series[f"queue/q{link}"]
            axes.plot(table["t"], table["packets"], linewidth=0.7, label="packets")
            for what, label in (("queue", "model, queue"), ("average", "model, average")):
                t, values = solution.of(what, link, 0, chosen.end)
                axes.plot(t, values, label=label)
            axes.set(ylabel=f"queue {link} (packets)", xlim=(0, chosen.end), ylim=(0, chosen.top))
        axes.set_xlabel("time (s)")
        made.axes[0].legend(ncols=3, loc="upper right")
        return made


def over_sampling(_: Outcome, chosen: Any) -> Figure:
    """Average and queue of the first link for several sampling times."""
    from sojourn.plots.style import PAGE, figure

    with figure(PAGE, 2.6) as made:
        for what, axes in zip(("average", "queue"), made.subplots(1, 2), strict=True):
            for name, label in chosen.systems:
                axes.plot(*solve(name, 3.0).of(what, 1, 0, 75), label=label)
            axes.set(xlabel="time (s)", ylabel=f"{what} (packets)", ylim=(0, chosen.top))
        made.axes[0].legend()
        return made


FUNCTIONS = {"model": model, "plain_model": plain_model, "filter_gain": filter_gain}
FIGURES = {"over-packets": over_packets, "over-sampling": over_sampling}
