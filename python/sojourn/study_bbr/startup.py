"""The cases of Startup, Drain and ProbeRTT."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sojourn.study_bbr.case import Case, Condition, Seen, Tree, limit_application, moment, part, schedule, uses
from sojourn.study_bbr.conditions import counted_to_plateau, ends_after_loss, followed_by, judged, target_in_flight
from sojourn.study_bbr.run import DRAIN, PROBE_RTT, STARTUP, Path, Run, Stay

LOSSES = 10
"""Packets lost within a round, no two of them next to each other; six ranges end Startup (`BBRStartupFullLossCnt`)."""
BIGGER = 1.25
"""By how much a path gets longer, so that its smallest round-trip time is not seen again."""


def limited(share: float) -> Callable[[Path], Mapping[str, Any]]:
    """An application that writes at this share of the path's rate."""
    return lambda path: schedule(part(0.0, share * path.rate))


def _bandwidth(run: Run, stay: Stay) -> Seen:
    ratio = run.value(run.bandwidth, stay.end) / run.path.packets_per_second
    return abs(ratio - 1) <= 0.02, f"{ratio:.3f} of the link's rate"


def _lose_some(tree: Tree, path: Path) -> None:
    first = round(3 * path.product)
    packets = list(range(first, first + 2 * LOSSES, 2))
    tree["links"][0]["impairments"].append({"kind": "loss-list", "packets": packets, "data_only": True})


def _gain_of_drain(run: Run, stay: Stay) -> Seen:
    gain = run.value("pacing_gain", stay.begin)
    expected = 0.5 if run.cc == "bbr3" else 1 / 2.885
    return abs(gain - expected) < 0.01, f"gain {gain:.2f}"


def _empties(run: Run, stay: Stay) -> Seen:
    got, target = run.value("in_flight", stay.end), target_in_flight(run, stay.end)
    return got <= target + 1, f"{got:.0f} segments in flight for {target:.0f}"


def _halve_in_drain(tree: Tree, run: Run) -> None:
    at = moment(run, DRAIN)
    tree["links"][0]["changes"].append({"at": f"{at:.6f} s", "rate": f"{run.path.rate / 2:g} Mbit/s"})


def _drains_in_time(run: Run, stay: Stay) -> Seen:
    if run.column("round") is None:
        return None
    rounds = run.value("round", stay.end) - run.value("round", stay.begin)
    return rounds <= 4, f"{rounds:.0f} rounds"


def _still_full(run: Run, stay: Stay) -> Seen:
    if run.column("round") is None:
        return None
    got, target = run.value("in_flight", stay.end), target_in_flight(run, stay.end)
    return got > target, f"{got:.0f} segments in flight for {target:.0f}"


def _length_of_probe_rtt(run: Run, stay: Stay) -> Seen:
    length = stay.end - stay.begin
    return 0.2 <= length <= 0.2 + 4 * run.path.seconds, f"{length:.2f} s"


def _interval(run: Run, stay: Stay) -> Seen:
    """From when the smallest round-trip time was seen for the last time."""
    expected = 5.0 if run.cc == "bbr3" else 10.0
    return expected <= stay.begin <= expected + 1 + 10 * run.path.seconds, f"at {stay.begin:.2f} s"


def _gain_of_probe_rtt(run: Run, stay: Stay) -> Seen:
    if run.column("cwnd_gain") is None:
        return None
    gain = run.value("cwnd_gain", stay.begin)
    return gain == 0.5, f"gain {gain:g}"


def _back_in_probe_bw(run: Run, stay: Stay) -> Seen:
    found = run.then(stay)
    return found not in (STARTUP, DRAIN, "the end"), f"then {found}"


def _longer_path(tree: Tree, path: Path) -> None:
    tree["links"][0]["changes"].append({"at": "1 s", "delay": f"{path.rtt / 2 * BIGGER:g} ms"})


def _pause(tree: Tree, _path: Path) -> None:
    limit_application(tree, part(3.0, silent=True), part(15.0))


def _no_probe_rtt(run: Run) -> Seen:
    if not run.stays:
        return None
    stay = run.first(PROBE_RTT, 3.0)
    begin = stay.begin if stay else np.inf
    return begin > 16, "none in the second after the pause" if begin > 16 else f"at {begin:.2f} s"


def _acks_in_bursts(tree: Tree, path: Path) -> None:
    tree["links"][0]["back"]["impairments"].append({"kind": "bursts", "every": f"{path.rtt / 2:g} ms"})


def _extra_acked(run: Run) -> Seen:
    extra = run.within("extra_acked", 2.0, run.length)
    return None if not len(extra) else (bool(extra.max() > 0), f"up to {extra.max():.0f} segments")


def _window_of_startup(run: Run, stay: Stay) -> Seen:
    window = float(run.within("cwnd", stay.begin, stay.end).max())
    return window > 2 * run.path.product, f"{window:.0f} segments for 2 x {run.path.product:.0f}"


def _window_of_cruise(run: Run) -> Seen:
    if run.column("extra_acked") is None:
        return None
    times = run.rows["t"] > 3
    window, extra = run.rows["cwnd"][times], run.rows["extra_acked"][times]
    share = float((window >= np.minimum(run.path.product + extra, window.max())).mean())
    return share >= 0.9, f"in {share:.0%} of the rows"


SHOWS_STARTUP = uses(0.9, 3.0)

CASES = [
    Case(
        "startup-plateau", "Leaving Startup where the bandwidth stops growing",
        "Startup ends after three rounds in which the delivery rate grows by less than a quarter.",
        [
            Condition("the estimated bandwidth is within 2 % of the link's", judged(STARTUP, _bandwidth)),
            Condition("three rounds without growth were counted", judged(STARTUP, counted_to_plateau)),
            Condition("Drain follows", judged(STARTUP, followed_by(DRAIN))),
            SHOWS_STARTUP,
        ],
    ),
    Case(
        "startup-loss", "Leaving Startup for losses while the application is the limit",
        f"The application writes at 0.8 of the rate; {LOSSES} packets of a round are lost, each second one.",
        [
            Condition("Startup ends within three round trips of the losses", judged(STARTUP, ends_after_loss)),
            Condition("Drain follows", judged(STARTUP, followed_by(DRAIN))),
            uses(0.78, 3.0),
        ],
        traffic=limited(0.8), change=_lose_some,
    ),
    Case(
        "drain-in-flight", "Leaving Drain when the queue is empty",
        "Drain ends when what is in flight is at most the estimated bandwidth-delay product.",
        [
            Condition("the pace has the gain of Drain", judged(DRAIN, _gain_of_drain)),
            Condition("at most the product is in flight at its end", judged(DRAIN, _empties)),
            SHOWS_STARTUP,
        ],
    ),
    Case(
        "drain-time", "Leaving Drain for the time that it takes",
        "The link's rate is halved when Drain begins, so that the queue does not get empty. (The draft takes a "
        "tenth off, with which it does in time.)",
        [
            Condition("Drain ends after three rounds", judged(DRAIN, _drains_in_time)),
            Condition("more than the product is still in flight", judged(DRAIN, _still_full)),
            uses(0.45, 4.0),
        ],
        steps=[_halve_in_drain],
    ),
    Case(
        "probe-rtt", "Entering and leaving ProbeRTT",
        "ProbeRTT comes 5 s (version 1: 10 s) after the smallest round-trip time was seen, for 200 ms and a round.",
        [
            Condition("it begins in time", judged(PROBE_RTT, _interval)),
            Condition("the window has the gain of ProbeRTT", judged(PROBE_RTT, _gain_of_probe_rtt)),
            Condition("it lasts 200 ms and at most four round trips", judged(PROBE_RTT, _length_of_probe_rtt)),
            Condition("the cycle of probing goes on", judged(PROBE_RTT, _back_in_probe_bw)),
            uses(0.9, 3.0),
        ],
        seconds=20.0,
    ),
    Case(
        "skip-probe-rtt", "Leaving ProbeRTT out after a pause",
        "The application pauses for 12 s, longer than the interval of ProbeRTT: the idle path has no queue.",
        [Condition("no ProbeRTT in the second after the pause", _no_probe_rtt), uses(0.85, 15.5)],
        seconds=20.0, change=_pause,
    ),
    Case(
        "startup-aggregation", "Startup over a path whose ACKs come in bursts",
        "ACKs are held back and come together, twice in a round trip.",
        [
            Condition("extra ACKed data is seen", _extra_acked),
            Condition("the window gets larger than twice the product", judged(STARTUP, _window_of_startup)),
            uses(0.9, 3.0),
        ],
        change=_acks_in_bursts,
    ),
    Case(
        "cruise-aggregation", "Cruising over a path whose ACKs come in bursts",
        "As before, later in the connection.",
        [
            Condition("extra ACKed data is seen", _extra_acked),
            Condition("the window has room for it", _window_of_cruise),
            uses(0.9, 6.0),
        ],
        change=_acks_in_bursts, seconds=20.0,
    ),
    Case(
        "startup-probe-rtt", "ProbeRTT during Startup",
        "The application writes at 0.3 of the rate, and after 1 s the path gets longer by a quarter.",
        [
            Condition("Startup follows ProbeRTT", judged(PROBE_RTT, followed_by(STARTUP))),
            uses(0.29, 2.0),
        ],
        traffic=limited(0.3), change=_longer_path, seconds=20.0,
    ),
]  # fmt: skip
