"""The assumptions of the fluid model's operating point, tested on packet runs.

The model assumes one drop probability for all packets, drawn independently; windows that follow the square-root law;
and a queue that is never empty and never full. If a law or a load violates an assumption, the real operating point
differs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from sojourn.analysis.feedback_loop import LEAST_WINDOW, MOST_PROBABILITY, Loop
from sojourn.analysis.means import Extra, Means, mean_rtt
from sojourn.analysis.plant import Point
from sojourn.analysis.text import percent, span
from sojourn.core.errors import ScenarioError

TOLERANCE = 0.3
"""Relative deviation of packet runs from the model up to which an assumption holds.

Independent losses reduce Reno's rate by 14 % below the fluid's square-root law, evenly spaced losses by 25 %.
"""
SMALL_WINDOW = 20.0
"""Below this mean window, in packets, the square-root law does not hold.

With smaller windows and independent losses, Reno is more than 30 % below that law: it sends whole segments, and its
window does not grow in the round trip of a recovery. At 39 packets it has 0.76 of the law, at 9 packets 0.57.
"""
SELDOM = 0.05
"""Largest fraction of time, or of all signals, that is still negligible."""


@dataclass(frozen=True)
class Assumption:
    """An assumption of the model as text, whether it holds (None: not checked), and the finding."""

    says: str
    holds: bool | None
    found: str = ""

    def __str__(self) -> str:
        state = "assumed" if self.holds is None else "holds" if self.holds else "broken"
        return f"{state:<7}  {self.says}" + (f": {self.found}" if self.found else "")


@dataclass(frozen=True)
class Evidence:
    """The evidence on a loop: its operating point, the fluid model's means, and the packet runs.

    The means cover the window of the packet runs. Missing parts are None.
    """

    loop: Loop
    point: Point
    fluid: Means | None = None
    packets: Means | None = None
    extra: Extra | None = None

    @property
    def acts(self) -> str:
        """What the queue does to signal congestion: drop or mark."""
        return "dropped" if self.loop.plant.drops else "marked"

    @property
    def drawn(self) -> float:
        """Packets that the law dropped or marked, relative to what its probability implies.

        NaN if unknown.
        """
        if self.packets is None or self.extra is None or not self.packets.law > 0:
            return math.nan
        return self.extra.own / self.packets.law

    @property
    def square(self) -> float:
        """The product p W² of packet runs, divided by that of the model; NaN if unknown."""
        if self.packets is None:
            return math.nan
        return self.packets.signals * self.packets.window**2 / (self.point.probability * self.point.window**2)

    @property
    def base(self) -> tuple[float, float]:
        """The mean round-trip time without this queue, in seconds: of the model and of packet runs."""
        model = mean_rtt(self.loop.plant, [each.delay for each in self.loop.plant.classes])
        return model, math.nan if self.packets is None else self.packets.rtt - self.packets.wait


def assumptions(known: Evidence) -> list[Assumption]:
    """The assumptions of the operating point, and for each whether it holds, if known."""
    rules: tuple[Callable[[Evidence], Assumption | None], ...] = (
        _draws,
        _windows,
        _round_trips,
        _no_other_losses,
        _link_used,
        _in_time,
        _settled,
    )
    found = [rule(known) for rule in rules]
    notes = [Assumption("every flow is endless Reno on a steady path", False, note) for note in known.loop.plant.notes]
    return [each for each in found if each is not None] + notes


def _near(value: float, tolerance: float) -> bool | None:
    return None if math.isnan(value) else abs(value - 1) <= tolerance


def _draws(known: Evidence) -> Assumption:
    says = f"each packet is {known.acts} with the law's probability, independently of the others"
    queue = known.loop.queue
    why = ""
    if queue.get("aqm") == "red":
        share = "2/3 as often" if queue.get("wait", True) else "up to twice as often"
        why = f"RED spaces its signals evenly, which gives {share}"
    if math.isnan(known.drawn) or known.packets is None or known.extra is None:
        return Assumption(says, False if why else None, why)
    numbers = (
        f"{known.drawn:.2f} times as often (law {percent(known.packets.law)}, {known.acts} {percent(known.extra.own)})"
    )
    return Assumption(says, _near(known.drawn, max(0.1, known.extra.noise)), "; ".join(filter(None, (numbers, why))))


def _windows(known: Evidence) -> Assumption:
    point, extra = known.point, known.extra
    says = f"windows follow the square-root law, p = {percent(point.probability)} at {point.window:.2f} packets"
    why = []
    if point.window < LEAST_WINDOW:
        why.append(f"below {LEAST_WINDOW:g} packets losses become timeouts")
    if point.probability > MOST_PROBABILITY:
        why.append(f"above p = {percent(MOST_PROBABILITY)} repeated losses count")
    if known.packets is None or extra is None or math.isnan(known.square):
        return Assumption(says, False if why else None, "; ".join(why))
    seen = (
        f"p W² is {known.square:.2f} of that ({percent(known.packets.signals)} at {known.packets.window:.2f} packets)"
    )
    if known.square < 1 - TOLERANCE and known.packets.window < SMALL_WINDOW:
        why.append(f"windows below {SMALL_WINDOW:g} packets are whole segments, and do not grow in recovery")
    if extra.timeouts > SELDOM:
        why.append(f"{percent(extra.timeouts)} of the reductions were timeouts")
    if extra.together > 1 + TOLERANCE:
        why.append(f"{extra.together:.2g} losses for each reduction")
    return Assumption(says, _near(known.square, max(TOLERANCE, extra.noise)), "; ".join([seen, *why]))


def _round_trips(known: Evidence) -> Assumption:
    model, seen = known.base
    says = f"a round trip without this queue takes {span(model)}"
    if math.isnan(seen):
        return Assumption(says, None)
    holds = _near(seen / model, 0.1)
    why = ": delayed ACKs, or queues elsewhere" if not holds and seen > model else ""
    return Assumption(says, holds, f"it takes {span(seen)}{why}")


def _no_other_losses(known: Evidence) -> Assumption:
    says = "nothing but the law drops packets"
    if known.extra is None:
        full = known.point.queue >= 0.9 * known.loop.plant.limit
        return Assumption(says, False if full else None, "the queue is nearly full" if full else "")
    share = known.extra.other
    return Assumption(says, share <= SELDOM, f"{percent(share)} of the losses were of a full queue or of the link")


def _link_used(known: Evidence) -> Assumption:
    used = known.point.utilization
    always = known.point.queue > 0
    says = "the queue is never empty" if always else f"the queue is empty, and {percent(used)} of the link is used"
    if known.packets is None:
        return Assumption(says, None)
    seen, queue = known.packets.utilization, known.packets.queue
    holds = abs(seen - used) <= (SELDOM if always else 0.1) and (always or queue < 1)
    return Assumption(says, holds, f"{queue:.3g} packets wait on average, {percent(seen)} of the link is used")


def _in_time(known: Evidence) -> Assumption | None:
    interval, shortest = known.point.interval, min(known.point.rtts)
    if not interval or interval <= shortest:
        return None
    return Assumption("the law is updated within a round trip", False, f"every {span(interval)}, for {span(shortest)}")


def _settled(known: Evidence) -> Assumption | None:
    if known.fluid is None:
        return None
    rest, model = known.point.queue, known.fluid
    away, spread = abs(model.queue - rest), model.sd
    holds = away <= max(0.1 * rest, 1) and spread <= max(0.2 * rest, 1)
    seen = f"the model itself has {model.queue:.3g} ± {model.sd:.2g} packets then"
    return Assumption("the loop is at rest in the window measured", holds, seen)


def calibrated(known: Evidence) -> Means | None:
    """The operating point for measured inputs instead of the model's.

    These inputs are the drawn signals, the square-root law and the round trips. Its distance to the packet runs shows
    how much of the difference they explain. None without measurements, or if the law then has no operating point.
    """
    model, seen = known.base
    if math.isnan(known.drawn) or math.isnan(known.square) or not (seen > 0 and known.drawn > 0 and known.square > 0):
        return None
    plant, factor = known.loop.plant, known.square / known.drawn
    classes = tuple(
        replace(each, increase=each.increase * factor, delay=each.delay * seen / model) for each in plant.classes
    )
    try:
        point = replace(known.loop, plant=replace(plant, classes=classes)).point()
    except ScenarioError:
        return None
    wait, rtt = point.queue / plant.capacity, mean_rtt(plant, point.rtts)
    signals = point.probability * known.drawn
    return Means(
        queue=point.queue,
        sd=0.0,
        utilization=point.utilization,
        signals=signals,
        law=point.probability,
        wait=wait,
        rtt=rtt,
        window=point.window,
    )
