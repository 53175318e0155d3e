"""The cases of paths that change, that police, and that deliver late."""

from __future__ import annotations

import math

import numpy as np

from sojourn.study_bbr.case import LOSS_THRESHOLD, Case, Condition, Seen, Tree, moment, outage, uses
from sojourn.study_bbr.conditions import PLATEAU
from sojourn.study_bbr.run import CRUISE, REFILL, UP, Path, Run

CHANGE = 5.0
"""When the rate of the link changes, in seconds."""
GROWTH = 1.25
"""The gain of Up: the bandwidth can grow so much in a round."""
LATE = 2.0
"""The longest time that packets are late, in seconds."""
TOKENS = 0.5
"""The policer's share of the link's rate."""


def _tenfold(tree: Tree, path: Path) -> None:
    link = tree["links"][0]
    link["rate"] = f"{path.rate / 10:g} Mbit/s"
    link["changes"].append({"at": f"{CHANGE:g} s", "rate": f"{path.rate:g} Mbit/s"})


def _a_tenth(tree: Tree, path: Path) -> None:
    tree["links"][0]["changes"].append({"at": f"{CHANGE:g} s", "rate": f"{path.rate / 10:g} Mbit/s"})


def _grows_by_its_gain(run: Run) -> Seen:
    if run.column("max_bw") is None:
        return None
    stay = run.first(UP, CHANGE)
    if stay is None:
        return False, "never in Up after the change"
    rows = (run.rows["t"] >= stay.begin) & (run.rows["max_bw"] >= 0.9 * run.path.packets_per_second)
    reached = run.rows["t"][rows]
    if not len(reached):
        return False, f"{np.nanmax(run.rows['max_bw']) / run.path.packets_per_second:.2f} of the link's rate"
    rounds = run.value("round", float(reached[0])) - run.value("round", stay.begin)
    # Each probe grows by its gain, and a sample comes a round after what it is of.
    most = 2 * math.log(10) / math.log(GROWTH) + 2
    return rounds <= most, f"{rounds:.0f} rounds from Up on, for at most {most:.0f}"


def _short_term_falls(run: Run) -> Seen:
    if run.column("bw_shortterm") is None:
        return None
    values = run.within("bw_shortterm", CHANGE, CHANGE + LATE + 40 * run.path.seconds)
    if not len(values):
        return False, "bw_shortterm was not set"
    share = float(values.min()) / run.path.packets_per_second
    return share <= 0.5, f"bw_shortterm fell to {share:.2f} of the rate before"


def _max_falls(run: Run) -> Seen:
    if run.column(run.bandwidth) is None:
        return None
    share = run.value(run.bandwidth, run.length) / (run.path.packets_per_second / 10)
    return abs(share - 1) <= 0.1, f"{share:.2f} of the new rate at the end"


def _police(tree: Tree, path: Path) -> None:
    burst = max(2, round(path.product)) * 1500
    tree["links"][0]["impairments"].append({
        "kind": "policer", "rate": f"{TOKENS * path.rate:g} Mbit/s", "burst": f"{burst} B", "place": "before-queue",
    })  # fmt: skip


def _reacts_to_losses(run: Run) -> Seen:
    if run.column("bw_shortterm") is None:
        return None
    seen = [name for name in ("bw_shortterm", "inflight_shortterm") if len(run.within(name, 0, run.length))]
    return len(seen) == 2, f"set: {', '.join(seen) or 'none'}"


def _few_losses(run: Run) -> Seen:
    ratio = run.loss_ratio(run.length / 2)
    return ratio <= LOSS_THRESHOLD, f"{ratio:.1%} lost in the second half"


def _floor_of_window(run: Run) -> Seen:
    if not run.stays:
        return None
    least = float(run.within("cwnd", 5.0, run.length).min())
    return least >= 4, f"at least {least:g} segments"


def _pace_of_cruise(run: Run) -> Seen:
    times = [stay for stay in run.stays if stay.state == CRUISE and stay.begin > 5]
    if not times:
        return None
    paces = [run.value("pacing_rate", stay.begin) / run.path.packets_per_second for stay in times]
    middle = float(np.median(paces))
    return 0.9 <= middle <= 1.05, f"{middle:.2f} of the link's rate (median of {len(paces)})"


def _delay_one(tree: Tree, run: Run) -> None:
    """One packet of the first Up is late by half a round trip, so that others overtake it."""
    until = moment(run, UP) + 0.5 * run.path.seconds
    sent = round(run.share(0.0, until) * run.path.packets_per_second * until)
    late = {"kind": "reorder", "gap": max(2, sent), "by": f"{run.path.rtt / 2:g} ms"}
    tree["links"][0]["impairments"].append(late)


def _hold(tree: Tree, run: Run) -> None:
    """The link holds everything back for longer than the timer waits."""
    outage(tree, moment(run, UP) + run.path.seconds, 1.0 + 3 * run.path.seconds, hold=True)


def _restored(late: float, trips: int) -> Condition:
    """The model has no limits so many seconds and round trips after Up began."""

    def judge(run: Run) -> Seen:
        stay = run.first(UP)
        if run.column("bw_shortterm") is None or stay is None:
            return None
        return _has_no_limits(run, stay.begin + late + trips * run.path.seconds)

    return Condition("the model has no limits, as before", judge)


def _has_no_limits(run: Run, after: float) -> Seen:
    names = ("bw_shortterm", "inflight_shortterm", "inflight_longterm")
    bound = [name for name in names if len(run.within(name, after, after + run.path.seconds))]
    return not bound, f"still set: {', '.join(bound)}" if bound else "nothing is set"


def _returns(run: Run) -> Seen:
    """Up goes on to its plateau, or begins again behind Refill, which may take no time."""
    stay = run.first(UP)
    if run.cc != "bbr3" or stay is None:
        return None
    if run.value("full_bw_count", stay.end) == PLATEAU:
        return True, "Up goes on"
    after = [each.state for each in run.stays if each.begin >= stay.end][:2]
    return after[-1] in (REFILL, UP), f"then {', '.join(after)}"


def _bandwidth_stays(run: Run) -> Seen:
    if run.column("max_bw") is None:
        return None
    most = float(np.nanmax(run.rows["max_bw"])) / run.path.packets_per_second
    # An ACK that comes a little later than it could makes those behind it look fast.
    return most <= 1.1, f"at most {most:.2f} of the link's rate"


def _sent_again() -> Condition:
    def judge(run: Run) -> Seen:
        stay = run.first(UP)
        if stay is None:
            return None
        again = int(run.record["flows"][0]["fast_retransmits"])
        lost = run.lost(stay.begin, stay.begin + 4 * run.path.seconds)
        return again >= 1 and lost == 0, f"{again} recoveries, {lost} packets lost"

    return Condition("a recovery began, and nothing was lost in four round trips", judge)


def _timeouts(number: int) -> Condition:
    def judge(run: Run) -> Seen:
        got = int(run.record["flows"][0]["timeouts"])
        return got >= number, f"{got} timeouts"

    return Condition("the timer expired", judge)


CASES = [
    Case(
        "sub-packet", "A product of less than a packet",
        "The link has 64 kbit/s, and a packet takes 188 ms of a round trip of 10 ms.",
        [
            Condition("the window stays at four segments or more", _floor_of_window),
            Condition("the pace of Cruise is the link's rate", _pace_of_cruise),
            uses(0.9, 10.0),
        ],
        path=Path(0.064, 10.0, 200.0), seconds=60.0,
    ),
    Case(
        "ten-times-more", "Ten times the bandwidth",
        f"The link has a tenth of its rate for {CHANGE:g} s.",
        [
            Condition("0.9 of the rate is found in twice the rounds that the gain of Up takes", _grows_by_its_gain),
            uses(0.9, 20.0),
        ],
        change=_tenfold, seconds=30.0, without_probe_rtt=True,
    ),
    Case(
        "ten-times-less", "A tenth of the bandwidth",
        f"The link has a tenth of its rate after {CHANGE:g} s.",
        [
            Condition("the short-term model falls", _short_term_falls),
            Condition("the estimated bandwidth is within a tenth of the new rate", _max_falls),
            uses(0.09, 20.0),
        ],
        buffer=0.5, change=_a_tenth, seconds=30.0,
    ),
    Case(
        "policer", "A policer",
        f"A token bucket of {TOKENS:g} of the rate and one product drops what is more.",
        [
            Condition("the short-term model is set", _reacts_to_losses),
            Condition(f"at most {LOSS_THRESHOLD:.0%} are lost in the second half", _few_losses),
            uses(0.8 * TOKENS, 10.0),
        ],
        change=_police, seconds=30.0,
    ),
    Case(
        "spurious-recovery", "A fast recovery for nothing",
        "A packet of the first Up is late by half a round trip.",
        [
            _restored(0.0, 4),
            _sent_again(),
            Condition("the probe goes on, or begins again", _returns),
            Condition("the estimated bandwidth is at most 1.1 of the link's", _bandwidth_stays),
            uses(0.9, 3.0),
        ],
        buffer=3.0, without_probe_rtt=True, steps=[_delay_one],
    ),
    Case(
        "spurious-timeout", "A timeout for nothing",
        "The link holds all packets back in the first Up, for longer than the timer waits, and loses none.",
        [
            _timeouts(1),
            _restored(LATE, 8),
            Condition("the probe goes on, or begins again", _returns),
            Condition("the estimated bandwidth is at most 1.1 of the link's", _bandwidth_stays),
            uses(0.7, 3.0),
        ],
        buffer=3.0, seconds=16.0, without_probe_rtt=True, steps=[_hold],
    ),
]  # fmt: skip
