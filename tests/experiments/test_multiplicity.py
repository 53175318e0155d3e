"""Holm's correction: a claim with many parts does not fail by chance."""

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from sojourn.core.stats import estimate, share_of
from sojourn.experiments.claims import Part
from sojourn.experiments.multiplicity import holm, p_value
from sojourn.experiments.outcome import PartResult
from sojourn.experiments.verdict import Target, Verdict, judge_part

BELOW = Target(high=0.0)


def part(values):
    """A part that must lie below 0, with these values of its seeds."""
    measured = estimate(list(values))
    return PartResult(Part("m", BELOW, kind="direction"), measured, None, judge_part(measured, BELOW, "direction"))


def test_the_p_value_is_students():
    values = [0.5, 1.5, 0.2, 0.9, 1.1]
    assert p_value(estimate(values), BELOW) == pytest.approx(ttest_1samp(values, 0.0).pvalue)


def test_the_p_value_of_a_share_is_that_of_the_score_test():
    # 2 of 10 against a share of 0.5: z = 0.3 / sqrt(0.25 / 10) = 1.897, two-sided 0.0578.
    assert p_value(share_of([True] * 2 + [False] * 8), Target(0.5, low_open=False)) == pytest.approx(0.0578, abs=1e-4)


def test_a_failure_that_holm_does_not_confirm_is_undecided():
    near = part([0.5, 1.5, 0.2, 0.9, 1.1])  # p = 0.016
    good = part([-1.0, -1.1, -0.9, -1.2, -0.8])
    assert holm([near])[0].verdict is Verdict.NOT_REPRODUCED
    assert holm([near, good])[0].verdict is Verdict.NOT_REPRODUCED  # 0.016 < 0.05 / 2
    assert holm([near, *[good] * 3])[0].verdict is Verdict.UNDECIDED  # 0.016 > 0.05 / 4
    assert holm([near, *[good] * 3])[0].judged.direction is Verdict.UNDECIDED


def test_a_clear_failure_lets_the_next_one_have_a_larger_level():
    near, clear = part([0.5, 1.5, 0.2, 0.9, 1.1]), part([10.0, 10.1, 9.9, 10.2, 9.8])
    assert [each.verdict for each in holm([near, clear])] == [Verdict.NOT_REPRODUCED] * 2  # 0.016 < 0.05 / 1


def test_a_value_without_an_interval_decides():
    good = part([-1.0, -1.1, -0.9])
    assert holm([part([0.1]), *[good] * 20])[0].verdict is Verdict.NOT_REPRODUCED


def test_twenty_parts_fail_by_chance_in_at_most_a_twentieth_of_claims():
    random, claims = np.random.default_rng(1), 300
    failed = sum(
        any(each.verdict is Verdict.NOT_REPRODUCED for each in holm([part(random.normal(0, 1, 5)) for _ in range(20)]))
        for _ in range(claims)
    )
    assert failed / claims < 0.05 + 2 * (0.05 * 0.95 / claims) ** 0.5
