"""Conditions that cases of several states share."""

from __future__ import annotations

from collections.abc import Callable

from sojourn.study_bbr.case import Seen
from sojourn.study_bbr.run import HAS, Run, Stay

PLATEAU = 3
"""Rounds without growth that show that the bandwidth is reached (`BBR.full_bw_count`)."""
TRIPS = 3
"""Round trips after the first loss in which a state must end."""


def judged(state: str, judge: Callable[[Run, Stay], Seen]) -> Callable[[Run], Seen]:
    """A condition on the first stay in a state; not judged for a controller that does not have it."""

    def seen(run: Run) -> Seen:
        if state not in HAS.get(run.cc, ()):
            return None
        stay = run.first(state)
        return judge(run, stay) if stay else (False, f"never in {state}")

    return seen


def followed_by(*states: str) -> Callable[[Run, Stay], Seen]:
    """One of these states comes next."""
    return lambda run, stay: (run.then(stay) in states, f"then {run.then(stay)}")


def counted_to_plateau(run: Run, stay: Stay) -> Seen:
    """The state ended because the delivery rate had stopped growing."""
    if run.column("full_bw_count") is None:
        return None
    count = run.value("full_bw_count", stay.end)
    return count == PLATEAU, f"full_bw_count is {count:g}"


def ends_after_loss(run: Run, stay: Stay) -> Seen:
    """The state ended soon after the first loss."""
    lost = run.record.series["signals/bottleneck"]["t"]
    if not len(lost):
        return False, "nothing was lost"
    trips = (stay.end - float(lost[0])) / run.path.seconds
    return 0 < trips <= TRIPS, f"{trips:.1f} round trips after the first loss"


def target_in_flight(run: Run, time: float) -> float:
    """The product that the controller has estimated, at least four segments and three quanta (`BBRInflight(1.0)`)."""
    bandwidth = run.value(run.bandwidth, time)
    quantum = max(2.0, bandwidth * 1e-3)
    product = bandwidth * run.value("min_rtt", time)
    # Version 1 adds three quanta, and one segment to make the number even (Linux `bbr_inflight`).
    return product + 3 * quantum + 1 if run.cc == "bbr" else max(product, 3 * quantum, 4.0)
