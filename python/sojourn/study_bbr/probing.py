"""The cases of ProbeBW: its phases Down, Cruise, Refill and Up."""

from __future__ import annotations

from sojourn.study_bbr.case import Case, Condition, Seen, Tree, limit_application, moment, outage, part, schedule, uses
from sojourn.study_bbr.conditions import counted_to_plateau, ends_after_loss, followed_by, judged, target_in_flight
from sojourn.study_bbr.run import CRUISE, DOWN, REFILL, STARTUP, UP, Path, Run, Stay

LIMITED, UNLIMITED = 0.8, 4.0
"""The application's share of the rate where it is the limit, and when it begins to send as much as it can (s)."""


def _no_loss(run: Run, stay: Stay) -> Seen:
    lost = run.lost(stay.begin, stay.end)
    return lost == 0, f"{lost} packets lost"


def _limit_and_lose_in_up(tree: Tree, run: Run) -> None:
    begin, trip = moment(run, UP), run.path.seconds
    limit_application(tree, part(begin + 0.2 * trip, LIMITED * run.path.rate))
    outage(tree, begin + 1.2 * trip, 0.1 * trip)


def _limited_then_not(path: Path) -> dict[str, object]:
    return schedule(part(0.0, 0.3 * path.rate), part(UNLIMITED))


def _limit_in_up(tree: Tree, run: Run) -> None:
    begin = moment(run, UP, UNLIMITED)
    rates = tree["flows"][0]["traffic"]["rates"]
    rates.append(part(begin + 0.5 * run.path.seconds, 0.3 * run.path.rate))


def _stays_in_startup(run: Run) -> Seen:
    if not run.stays:
        return None
    seen = {stay.state for stay in run.stays if stay.begin < UNLIMITED}
    return seen == {STARTUP}, ", ".join(sorted(seen))


def _stays_in_up(run: Run) -> Seen:
    if run.cc != "bbr3":
        return None
    stay = run.first(UP, UNLIMITED)
    if stay is None:
        return False, "never in Up"
    after = run.following(stay)
    return after is None, f"{stay.end - stay.begin:.2f} s in Up, then {run.then(stay)}"


def _gain_of_down(run: Run, stay: Stay) -> Seen:
    gain, expected = run.value("pacing_gain", stay.begin), 0.9 if run.cc == "bbr3" else 0.75
    return abs(gain - expected) < 1e-6, f"gain {gain:g}"


def _cruise_when_empty(run: Run, stay: Stay) -> Seen:
    if run.cc != "bbr3":
        return None
    after, longterm = run.following(stay), run.value("inflight_longterm", stay.end)
    target = target_in_flight(run, stay.end)
    headroom = longterm - max(1.0, 0.15 * longterm) if longterm == longterm else target
    got = run.value("in_flight", stay.end)
    holds = after is not None and after.state == CRUISE and got <= min(target, max(4.0, headroom)) + 1
    then = run.then(stay)
    return holds, f"{got:.0f} segments in flight for {min(target, headroom):.0f}, then {then}"


def _slower_in_down(tree: Tree, run: Run) -> None:
    at = moment(run, DOWN)
    tree["links"][0]["changes"].append({"at": f"{at:.6f} s", "rate": f"{0.85 * run.path.rate:g} Mbit/s"})


def _refill_without_cruise(run: Run, stay: Stay) -> Seen:
    if run.cc != "bbr3":
        return None
    after, wait = run.following(stay), run.value("bw_probe_wait", stay.end - 1e-9)
    length = stay.end - stay.begin
    holds = after is not None and after.state == REFILL
    return holds, f"then {run.then(stay)} after {length:.2f} s (bw_probe_wait {wait:.2f} s)"


def _lose_in_first_up(tree: Tree, run: Run) -> None:
    trip = run.path.seconds
    outage(tree, moment(run, UP) + trip, 0.1 * trip)


def _lose_in_next_up(tree: Tree, run: Run) -> None:
    trip, first = run.path.seconds, run.first(UP)
    outage(tree, moment(run, UP, first.end if first else 6.0) + trip, 0.1 * trip)


def _second_up(run: Run) -> Stay | None:
    first = run.first(UP)
    return run.first(UP, first.end) if first else None


def _down_at_once(run: Run) -> Seen:
    if run.cc != "bbr3":
        return None
    stay = _second_up(run)
    if stay is None:
        return False, "never in Up again"
    lost = [time for time in run.record.series["signals/bottleneck"]["t"] if time >= stay.begin]
    after, trips = run.following(stay), (stay.end - lost[0]) / run.path.seconds if lost else float("nan")
    return after is not None and after.state == DOWN and 0 < trips <= 2, f"{trips:.1f} round trips after the loss"


def _scaled_down(run: Run) -> Seen:
    stay = _second_up(run)
    if run.column("inflight_longterm") is None or stay is None:
        return None
    before, after = run.value("inflight_longterm", stay.begin), run.value("inflight_longterm", stay.end)
    least = 0.7 * min(target_in_flight(run, stay.end), run.value("cwnd", stay.begin))
    return after >= least - 1 and before == before, f"{before:.0f} segments before, {after:.0f} after"


def _pause_in_refill(tree: Tree, run: Run) -> None:
    begin, trip = moment(run, REFILL), run.path.seconds
    limit_application(tree, part(begin, silent=True), part(begin + 1.5 * trip))


def _bandwidth_is_kept(run: Run, stay: Stay) -> Seen:
    values = run.within("max_bw", stay.begin, stay.end + 2 * run.path.seconds)
    return bool(values.min() >= values[0] * 0.999), f"{values.min() / values[0]:.3f} of what it was"


DOWN_FOLLOWS = Condition("Down follows", judged(UP, followed_by(DOWN, CRUISE)))
"""Cruise where little is in flight: then Down ends with the ACK that begins it."""

CASES = [
    Case(
        "up-plateau", "Leaving Up where the bandwidth stops growing",
        "The buffer holds three products, so that nothing is lost.",
        [
            Condition("nothing is lost in Up", judged(UP, _no_loss)),
            Condition("three rounds without growth were counted", judged(UP, counted_to_plateau)),
            DOWN_FOLLOWS,
            uses(0.9, 3.0),
        ],
        buffer=3.0, without_probe_rtt=True,
    ),
    Case(
        "up-loss", "Leaving Up for losses while the application is the limit",
        "In Up the application is held to 0.8 of the rate, and a tenth of a round trip's packets is lost. (The draft's "
        "text wants inflight_longterm updated, its pseudo-code leaves it as it is where the application is the limit.)",
        [
            Condition("Up ends within three round trips of the losses", judged(UP, ends_after_loss)),
            DOWN_FOLLOWS,
            uses(0.75, 3.0),
        ],
        buffer=3.0, without_probe_rtt=True, steps=[_limit_and_lose_in_up],
    ),
    Case(
        "limited", "Staying in Startup and in Up while the application is the limit",
        "The application writes at 0.3 of the rate, but from 4 s to the first Up as much as it can. Nothing is lost.",
        [
            Condition("no other state than Startup while it is limited", _stays_in_startup),
            Condition("no other state than Up while it is limited", _stays_in_up),
            uses(0.29, 1.0),
        ],
        traffic=_limited_then_not, seconds=16.0, buffer=3.0, without_probe_rtt=True, steps=[_limit_in_up],
    ),
    Case(
        "down-in-flight", "Leaving Down when the queue is empty",
        "Down ends when what is in flight leaves headroom and is at most the product.",
        [
            Condition("the pace has the gain of Down", judged(DOWN, _gain_of_down)),
            Condition("Cruise follows when at most the product is in flight", judged(DOWN, _cruise_when_empty)),
            uses(0.9, 3.0),
        ],
        buffer=3.0, without_probe_rtt=True,
    ),
    Case(
        "down-time", "Leaving Down for the time that it takes",
        "The link loses 15 % of its rate when Down begins, so that the queue does not get empty. (The draft takes a "
        "tenth off, with which it does in time.)",
        [
            Condition("Refill follows, not Cruise", judged(DOWN, _refill_without_cruise)),
            uses(0.75, 5.0),
        ],
        buffer=4.0, without_probe_rtt=True, seconds=16.0, steps=[_slower_in_down],
    ),
    Case(
        "up-second-loss", "Losses in Up where inflight_longterm is set",
        "A tenth of a round trip's packets is lost in the first Up and in the second.",
        [
            Condition("Down follows within two round trips of the loss", _down_at_once),
            Condition("inflight_longterm is not less than beta times the target", _scaled_down),
            uses(0.85, 3.0),
        ],
        buffer=3.0, without_probe_rtt=True, seconds=14.0, steps=[_lose_in_first_up, _lose_in_next_up],
    ),
    Case(
        "refill-limited", "A pause of the application during Refill",
        "The application pauses for one and a half round trips when Refill begins.",
        [
            Condition("the estimated bandwidth is kept", judged(REFILL, _bandwidth_is_kept)),
            Condition("Up follows", judged(REFILL, followed_by(UP))),
            uses(0.85, 3.0),
        ],
        buffer=3.0, without_probe_rtt=True, steps=[_pause_in_refill],
    ),
]  # fmt: skip
