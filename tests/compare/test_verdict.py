"""The rule for verdicts: properties that hold for all measurements."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.core.errors import UserError
from sojourn.core.stats import Estimate, share_of
from sojourn.experiments.verdict import (
    Judged,
    Target,
    Tolerance,
    Verdict,
    combine,
    judge,
    judge_part,
    over_readings,
    parse_target,
)

R, D, N = Verdict.REPRODUCED, Verdict.IN_DIRECTION, Verdict.NOT_REPRODUCED
U, X, F = Verdict.UNDECIDED, Verdict.NOT_DECIDABLE, Verdict.BY_FIT
ORDER = {N: 0, D: 1, U: 2, R: 3}
FLOATS = st.floats(-1e6, 1e6, allow_nan=False)
HALVES = st.floats(0, 1e5)
ESTIMATES = st.builds(lambda mean, half: Estimate(mean, half, half, 5), FLOATS, HALVES)
TARGETS = st.builds(
    lambda a, b, lo, ho: Target(min(a, b), max(a, b), lo, ho), FLOATS, FLOATS, st.booleans(), st.booleans()
)
NUMBERS = [Judged(R), Judged(U), Judged(N)]
WITH_DIRECTION = [Judged(R, R), Judged(D, R), Judged(U, R), Judged(U, U), Judged(N, N)]
PARTS = st.lists(st.sampled_from(list(dict.fromkeys(NUMBERS + WITH_DIRECTION))), min_size=1, max_size=8)


@given(ESTIMATES, TARGETS)
def test_a_part_is_decided_exactly_if_the_interval_is_all_in_or_all_out(measured, target):
    steps = [measured.low + (measured.high - measured.low) * i / 10 for i in range(10)] + [measured.high]
    inside = [step in target for step in steps]
    verdict = judge(measured, target)
    if verdict is R:
        assert all(inside)
    elif verdict is N:
        assert not any(inside)
    else:
        assert verdict is U
        assert not (measured.low in target and measured.high in target)


@given(ESTIMATES, TARGETS, HALVES)
def test_a_wider_interval_never_decides_what_a_narrower_one_does_not(measured, target, more):
    wider = Estimate(measured.mean, measured.sd, measured.half + more, measured.n)
    assert judge(wider, target) in (judge(measured, target), U)


@given(ESTIMATES, TARGETS, HALVES)
def test_a_wider_target_never_makes_it_worse(measured, target, more):
    wider = Target(target.low - more, target.high + more, target.low_open, target.high_open)
    assert ORDER[judge(measured, wider)] >= ORDER[judge(measured, target)]


@pytest.mark.parametrize(
    ("mean", "half", "verdict"), [(4, 0.9, R), (3.5, 0.6, U), (3, 0.1, U), (2.5, 0.6, U), (2, 0.9, N), (3.1, 0, R)]
)
def test_an_interval_that_straddles_the_target_is_undecided_wherever_its_mean_lies(mean, half, verdict):
    assert judge(Estimate(mean, 1.0, half, 5), parse_target("> 3")) is verdict


@pytest.mark.parametrize(("half", "verdict"), [(0.9, R), (1.1, U), (50, U)])
def test_an_interval_wider_than_its_target_is_undecided_even_around_the_published_value(half, verdict):
    assert judge(Estimate(10, 1.0, half, 2), Tolerance(absolute=1.0).around(10)) is verdict


@given(PARTS)
def test_a_claim_does_not_depend_on_the_order_or_number_of_its_parts(parts):
    assert combine(parts) is combine(list(reversed(parts))) is combine(parts + parts)


@given(
    st.lists(st.sampled_from([part for part in WITH_DIRECTION + NUMBERS if U not in (part.verdict, part.direction)]))
)
def test_one_better_part_never_makes_a_claim_worse(parts):
    """Decided parts only: an undecided one can turn out either way."""
    for i, part in enumerate(parts):
        better = Judged(R, R if part.direction else None)
        assert ORDER[combine([*parts[:i], better, *parts[i + 1 :]])] >= ORDER[combine(parts)]


@given(PARTS)
def test_a_claim_hides_no_failure(parts):
    """Reproduced requires all parts, and a failed direction is never outvoted."""
    verdict = combine(parts)
    assert (verdict is R) == all(part.verdict is R for part in parts)
    if any(part.direction is N for part in parts):
        assert verdict is N
    if verdict is D:
        assert any(part.direction is R for part in parts)
        assert all(part.direction in (R, None) for part in parts)


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ([Judged(R), Judged(R), Judged(R), Judged(N)], N),  # a row of a table with one number missed
        ([Judged(R, R), Judged(N)], D),  # the order holds, the number does not
        ([Judged(N, N), Judged(R)], N),  # the number holds, the order does not
        ([Judged(U, U), Judged(N)], U),  # the number is missed: the order decides, and is open
        ([Judged(R, R), Judged(U)], U),
        ([Judged(N), Judged(U)], N),  # nothing undecided could save it
        ([Judged(D, R)], D),
        ([Judged(D, R), Judged(N)], D),
        ([Judged(D, R), Judged(N, N)], N),
        ([Judged(D, R), Judged(U, R)], D),
    ],
)
def test_the_rule_for_claims(parts, verdict):
    assert combine(parts) is verdict


def test_a_claim_without_parts_is_a_defect():
    with pytest.raises(ValueError, match="without parts"):
        combine([])


@pytest.mark.parametrize(
    ("mean", "half", "judged"),
    [
        (-2.5, 0.1, Judged(R, R)),  # published -2, give or take 1
        (-8.0, 1.0, Judged(D, R)),
        (-0.5, 0.1, Judged(D, R)),
        (-0.5, 0.4, Judged(D, R)),
        (0.2, 0.4, Judged(U, U)),
        (2.0, 0.4, Judged(N, N)),
        (-1.0, 0.4, Judged(U, R)),
        (0.0, 5.0, Judged(U, U)),
    ],
)
def test_a_number_that_is_missed_can_hold_in_direction(mean, half, judged):
    target, direction = Tolerance(absolute=1.0).around(-2), parse_target("< 0")
    assert judge_part(Estimate(mean, 1.0, half, 5), target, "number", direction) == judged


@given(ESTIMATES, TARGETS, TARGETS)
def test_a_direction_never_changes_what_the_number_alone_reproduces(measured, target, direction):
    alone, both = judge_part(measured, target, "number"), judge_part(measured, target, "number", direction)
    assert (alone.verdict is R) == (both.verdict is R)
    assert judge_part(measured, target, "direction") == Judged(alone.verdict, alone.verdict)


@pytest.mark.parametrize(
    ("verdicts", "verdict"),
    [([R, R], R), ([N, N, N], N), ([R, N], X), ([D, N], X), ([R, U], U), ([R, D, U], X), ([U], U)],
)
def test_readings_that_disagree_make_a_claim_undecidable(verdicts, verdict):
    assert over_readings(verdicts[0], verdicts[1:]) is verdict


@pytest.mark.parametrize(("verdicts", "verdict"), [([F, R], F), ([R, F], R), ([F, U], U), ([F, N], X)])
def test_a_fit_is_the_chosen_readings_and_makes_no_disagreement(verdicts, verdict):
    assert over_readings(verdicts[0], verdicts[1:]) is verdict


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ([Judged(R), Judged(R).by_fit()], F),  # all hold, one of them because its value was chosen so
        ([Judged(U), Judged(R).by_fit()], U),
        ([Judged(N).by_fit(), Judged(R)], N),  # a fit that fails has failed
        ([Judged(N), Judged(R, R).by_fit()], D),
    ],
)
def test_a_claim_is_reproduced_by_a_fit_if_one_of_its_parts_is(parts, verdict):
    assert combine(parts) is verdict


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    # Newcombe (1998), table I, method 3
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_a_share_of_seeds_has_wilsons_interval(hits, n, low, high):
    share = share_of([True] * hits + [False] * (n - hits))
    assert (share.low, share.high) == pytest.approx((low, high), abs=5e-5)
    assert judge(share, Target(low=share.low, low_open=False)) is R
    assert judge(share, Target(low=share.mean + 1e-9, low_open=False)) is U
    others = share_of([True] * (n - hits) + [False] * hits)
    assert (others.low, others.high) == pytest.approx((1 - high, 1 - low), abs=5e-5)


def test_a_share_is_printed_with_its_hits_and_its_interval():
    assert str(share_of([True] * 9 + [False])) == "9 of 10 (0.60 to 0.98)"


def test_a_share_needs_seeds():
    with pytest.raises(UserError, match="expected one value or more"):
        share_of([])


def test_a_single_run_has_no_interval_to_excuse_it():
    single = Estimate(2.9, float("nan"), float("nan"), 1)
    assert judge(single, parse_target("> 3")) is N


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("> 3", [3.001, 1e9], [3, -1]),
        (">= 9.5", [9.5], [9.4999]),
        ("< -5", [-5.1], [-5, 0]),
        ("<= .22", [0.22, -1], [0.2201]),
        ("between -3 and 3", [-3, 0, 3], [-3.01, 3.01]),
        (" < 1e3 ", [999], [1000]),
    ],
)
def test_targets_are_read_as_written(text, inside, outside):
    target = parse_target(text)
    assert all(value in target for value in inside)
    assert not any(value in target for value in outside)


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (Target(), "any"),
        (parse_target("> 3"), "> 3"),
        (parse_target(">= 3"), "≥ 3"),
        (parse_target("< 3"), "< 3"),
        (parse_target("<= 3"), "≤ 3"),
        (parse_target("between -3 and 3"), "-3 … 3"),
    ],
)
def test_reports_print_a_target_as_an_inequality_or_a_range(target, text):
    assert str(target) == text


@pytest.mark.parametrize(
    ("tolerance", "text"),
    [
        (Tolerance(), "exact"),
        (Tolerance(relative=0.05), "±5 %"),
        (Tolerance(absolute=2.0), "±2"),
        (Tolerance(relative=0.05, absolute=2.0), "±5 % or ±2"),
    ],
)
def test_reports_print_a_tolerance_with_both_of_its_parts(tolerance, text):
    assert str(tolerance) == text


def test_a_published_value_without_a_tolerance_is_met_by_that_value_alone():
    exact = Tolerance().around(7.0)
    assert 7.0 in exact
    assert 7.0 + 1e-12 not in exact
    assert judge(Estimate(7.0, 1.0, 0.5, 5), exact) is U
    assert parse_target("between 7 and 7") == exact


def test_no_target_has_an_infinite_value():
    """A measure that overflows reproduces nothing: the mathematical interval (3, ∞) has no ∞."""
    assert math.inf not in parse_target("> 3")
    assert -math.inf not in parse_target("< 3")
    assert math.inf not in Target()
    assert -math.inf not in Target()


@pytest.mark.parametrize("open_ends", [(True, False), (False, True), (True, True)])
def test_no_interval_meets_a_point_that_is_not_in_its_own_target(open_ends):
    """The interval [3, 3) is empty, so no value can lie in it."""
    assert judge(Estimate(3.0, 1.0, 1.0, 5), Target(3.0, 3.0, *open_ends)) is N
    assert not Target(3.0, 2.0, False, False).meets(0.0, 5.0)


def test_an_interval_that_covers_an_open_target_with_its_ends_is_undecided():
    assert judge(Estimate(3.0, 1.0, 1.0, 5), Target(2.0, 4.0)) is U


def test_a_measure_without_a_value_meets_no_target():
    assert not Target().meets(math.nan, math.nan)


@pytest.mark.parametrize("text", ["", "3", "> x", "> 3 and < 4", "between 3 and -3", "=> 3", "> nan"])
def test_other_targets_are_refused_with_what_is_expected(text):
    with pytest.raises(UserError, match='expected "> 3"'):
        parse_target(text)


@given(FLOATS, st.floats(0, 1), st.floats(0, 100))
def test_a_tolerance_is_the_larger_of_its_two_parts(published, relative, absolute):
    target = Tolerance(relative, absolute).around(published)
    allowed = max(abs(published) * relative, absolute)
    assert published in target
    assert target.high - target.low == pytest.approx(2 * allowed, abs=1e-6)
