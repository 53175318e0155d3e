"""The rule for verdicts: what must hold whatever is measured."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.errors import UserError
from sojourn.papers.verdict import Target, Tolerance, Verdict, combine, judge, parse_target
from sojourn.stats import Estimate

R, U, P, N = Verdict.REPRODUCED, Verdict.UNDECIDED, Verdict.PARTLY, Verdict.NOT_REPRODUCED
ORDER = {N: 0, P: 1, U: 2, R: 3}
FLOATS = st.floats(-1e6, 1e6, allow_nan=False)
HALVES = st.floats(0, 1e5)
ESTIMATES = st.builds(lambda mean, half: Estimate(mean, half, half, 5), FLOATS, HALVES)
TARGETS = st.builds(
    lambda a, b, lo, ho: Target(min(a, b), max(a, b), lo, ho), FLOATS, FLOATS, st.booleans(), st.booleans()
)
VERDICTS = st.lists(st.sampled_from(list(Verdict)), min_size=1, max_size=8)


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


@given(VERDICTS)
def test_a_claim_does_not_depend_on_the_order_or_number_of_its_parts(parts):
    assert combine(parts) is combine(list(reversed(parts))) is combine(parts + parts)


@given(VERDICTS, VERDICTS)
def test_a_claim_is_as_good_as_the_claims_that_it_is_made_of(one, other):
    assert combine([combine(one), combine(other)]) is combine(one + other)


@given(VERDICTS)
def test_one_better_part_never_makes_a_claim_worse(parts):
    for i in range(len(parts)):
        better = [*parts[:i], R, *parts[i + 1 :]]
        assert ORDER[combine(better)] >= ORDER[combine(parts)]


def test_all_some_none():
    for parts in itertools.product([R, U, N], repeat=3):
        fails, holds = N in parts, set(parts) != {N}
        expected = (P if holds else N) if fails else U if U in parts else R
        assert combine(parts) is expected
    with pytest.raises(ValueError, match="without parts"):
        combine([])


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


@pytest.mark.parametrize("text", ["", "3", "> x", "> 3 and < 4", "between 3 and -3", "=> 3", "> nan"])
def test_other_targets_are_refused_with_what_is_expected(text):
    with pytest.raises(UserError, match="holds: expected"):
        parse_target(text)


@given(FLOATS, st.floats(0, 1), st.floats(0, 100))
def test_a_tolerance_is_the_larger_of_its_two_parts(published, relative, absolute):
    target = Tolerance(relative, absolute).around(published)
    allowed = max(abs(published) * relative, absolute)
    assert published in target
    assert target.high - target.low == pytest.approx(2 * allowed, abs=1e-6)
