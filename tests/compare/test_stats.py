"""Statistics, against SciPy and against properties that hold for any numbers."""

import math
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

import sojourn as sj
from sojourn.core.extras import MissingExtraError
from sojourn.core.ranges import Range
from sojourn.core.stats import Estimate, decimals, estimate, estimate_of, jain, paired, summarize

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)
SAMPLES = st.lists(NUMBERS, min_size=2, max_size=30)


@given(SAMPLES)
def test_the_interval_is_students(values):
    found = estimate(values)
    if np.std(values) > 1e-9 * max(1.0, np.abs(values).max()):
        low, high = scipy_stats.t.interval(0.95, len(values) - 1, np.mean(values), scipy_stats.sem(values))
        assert found.low == pytest.approx(low, rel=1e-9, abs=1e-9)
        assert found.high == pytest.approx(high, rel=1e-9, abs=1e-9)
    assert found.mean == pytest.approx(np.mean(values))
    assert found.n == len(values)


@given(SAMPLES, NUMBERS)
def test_paired_differences_ignore_what_both_share(values, shared):
    apart = paired([v + shared + 1 for v in values], [v + shared for v in values])
    assert apart.mean == pytest.approx(1, abs=1e-6)
    assert apart.half == pytest.approx(0, abs=1e-6)


def test_paired_is_scipys_paired_test():
    rng = np.random.default_rng(1)
    base = rng.normal(30, 5, 12)
    other = base + rng.normal(1, 0.5, 12)
    low, high = scipy_stats.ttest_rel(other, base).confidence_interval()
    assert paired(other, base).low == pytest.approx(low)
    assert paired(other, base).high == pytest.approx(high)


def test_paired_values_must_have_the_same_seeds():
    with pytest.raises(ValueError, match="same seeds"):
        paired([1.0, 2.0], [1.0])


def test_one_replication_says_nothing_of_the_spread():
    one = estimate([4.2])
    assert math.isnan(one.half)
    assert math.isnan(one.sd)
    assert one.low == one.high == 4.2
    assert one.n == 1
    assert str(one) == "4.2"
    assert one.fixed(2) == "4.20"
    assert estimate([]).n == 0


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (32.412, 0.512, "32.41 ± 0.51"),
        (1905.3, 24.7, "1,905 ± 25"),
        (9.991, 0.0042, "9.9910 ± 0.0042"),
        (math.nan, 1.0, "–"),
        (0.0, 0.0, "0 ± 0"),
        (-0.0, 0.0, "0 ± 0"),
    ],
)
def test_numbers_show_two_digits_of_the_interval(mean, half, text):
    assert str(Estimate(mean, 1.0, half, 5)) == text


SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=12)
UNIT = Range(0, 1)


@given(SHARES)
def test_an_interval_ends_with_the_range_of_its_values_and_else_is_students(values):
    cut, whole = estimate(values, within=UNIT), estimate(values)
    assert 0 <= cut.low <= cut.mean <= cut.high <= 1
    assert (cut.low, cut.high) == (min(max(whole.low, 0.0), cut.mean), max(min(whole.high, 1.0), cut.mean))
    assert cut.errors == (cut.mean - cut.low, cut.high - cut.mean)
    percent = cut.scaled(100)
    assert (percent.low, percent.high) == pytest.approx((100 * cut.low, 100 * cut.high))
    assert percent.sd == pytest.approx(100 * cut.sd, nan_ok=True)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=12))
def test_the_interval_of_a_difference_is_as_wide_to_either_side_as_the_range(pairs):
    one, other = zip(*pairs, strict=True)
    apart = paired(one, other, within=UNIT)
    assert -1 <= apart.low <= apart.mean <= apart.high <= 1
    free = paired(one, other, within=Range(0))
    assert (free.low, free.high) == (paired(one, other).low, paired(one, other).high)


@pytest.mark.parametrize(
    ("mean", "half", "within", "text"),
    [
        (0.9, 0.22, UNIT, "0.90 (0.68 to 1.00)"),
        (0.5, 0.82, UNIT, "0.50 (0.00 to 1.00)"),
        (1.5, 6.4, Range(0), "1.5 (0.0 to 7.9)"),
        (0.9, 0.08, UNIT, "0.900 ± 0.080"),
        (-0.04, 4.4, Range(-1, 1), "0.0 (-1.0 to 1.0)"),
        (5.3e-7, 1.3e-6, Range(0), "5.3e-07 (0 to 1.8e-06)"),
        (2.5e-7, 1e-8, Range(0), "2.5e-07 ± 1e-08"),
        (9.9e-6, 1e-7, Range(0), "9.9e-06 ± 1e-07"),
        (1e-5, 1e-6, Range(0), "0.000010 ± 0.000001"),  # two digits of the mean within six decimals
        (1.0, 0.0, UNIT, "1.000 ± 0.000"),
        (1.0, 1e-12, UNIT, "1.000 ± 0.000"),
    ],
)
def test_an_interval_that_is_cut_shows_its_ends(mean, half, within, text):
    assert str(Estimate(mean, 0.1, half, 3, within=within)) == text


@given(SHARES, st.sampled_from([UNIT, Range(0), Range()]))
def test_a_summary_has_the_intervals_of_estimates(values, within):
    runs = pd.DataFrame({"case": "x", "share": values})
    row = summarize(runs, ["case"], {"share": within}).iloc[0]
    one = estimate(values, within=within)
    assert (row["low"], row["mean"], row["high"]) == pytest.approx((one.low, one.mean, one.high))
    assert estimate_of(row).errors == pytest.approx(one.errors)
    assert estimate_of(row).half == pytest.approx(max(one.errors) if one.n > 1 else math.nan, nan_ok=True)


@pytest.mark.filterwarnings("error")
def test_a_summary_keeps_groups_in_the_order_of_their_first_run():
    runs = pd.DataFrame({"case": ["red", "codel", "red"], "share": [0.5, 0.2, 0.7], "wait": [1.0, 5.0, 3.0]})
    runs.index = pd.Index([7, 7, 9])
    table = summarize(runs, ["case"], {"share": UNIT, "wait": Range(0)})
    assert list(table.columns) == ["case", "measure", "mean", "sd", "low", "high", "n"]
    assert list(table.index) == [0, 1, 2, 3]
    assert list(table["case"]) == ["red", "red", "codel", "codel"]
    assert list(table["measure"]) == ["share", "wait", "share", "wait"]
    assert list(table["n"]) == [2, 2, 1, 1]
    assert list(table["mean"]) == pytest.approx([0.6, 2, 0.2, 5])
    # The standard deviation of two values is their distance / √2, and undefined for one value.
    assert list(table["sd"]) == pytest.approx([0.2 / math.sqrt(2), math.sqrt(2), math.nan, math.nan], nan_ok=True)
    # Student's quantile for one degree of freedom is 12.706: ± 1.27 and ± 12.7, beyond the ranges.
    assert list(table["low"]) == pytest.approx([0, 0, 0.2, 5])
    assert list(table["high"]) == pytest.approx([1, 2 + 12.7062, 0.2, 5])


def test_a_summary_has_a_group_for_a_missing_value_too():
    runs = pd.DataFrame({"rate": [2.0, math.nan, 2.0, math.nan], "share": [0.5, 0.1, 0.5, 0.3]})
    table = summarize(runs, ["rate"], {"share": UNIT})
    assert list(table["mean"]) == pytest.approx([0.5, 0.2])


@pytest.mark.parametrize("module", ["scipy", "pandas"])
def test_statistics_name_the_extra_that_they_need(monkeypatch, module):
    runs = pd.DataFrame({"case": ["red", "red"], "share": [0.5, 0.7]})
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=f"^{module} is not installed: pip install"):
        summarize(runs, ["case"], {"share": UNIT})


@given(st.floats(1e-9, 1e9), st.floats(0, 1e9))
def test_decimals_are_few(half, mean):
    assert 0 <= decimals(half, mean) <= 6


@pytest.mark.parametrize(
    ("half", "mean", "places"),
    [
        (0.512, 32.4, 2),
        (24.7, 1905.0, 0),
        (0.0, 32.4, 2),  # 32.40: four digits of the mean
        (1e-9, 1.0, 3),  # a billionth of the mean is rounding noise
        (1.1e-9, 1.0, 6),
        (0.0, 0.0, 0),
        (math.inf, 1.0, 0),
    ],
)
def test_decimals_show_two_digits_of_the_interval_or_four_of_the_mean(half, mean, places):
    assert decimals(half, mean) == places


@given(st.lists(st.floats(0.001, 1e9), min_size=1, max_size=40))
def test_jains_index_lies_between_one_flow_and_all(rates):
    assert 1 / len(rates) - 1e-9 <= jain(rates) <= 1 + 1e-9


@pytest.mark.filterwarnings("error")
def test_jains_index_of_equals_is_one():
    assert jain([3.0, 3.0, 3.0]) == pytest.approx(1)
    assert jain([5.0, 0.0]) == pytest.approx(0.5)
    assert math.isnan(jain([0.0]))
    assert jain([1.0, 1.0, 1.0, 1.0, 0.0]) == pytest.approx(0.8)  # equal shares of k among n yield k/n


def test_a_difference_that_is_rounding_is_none():
    assert str(sj.paired([19.31, 0.1 + 0.2], [19.31 + 4e-15, 0.3])) == "0 ± 0"
    assert sj.paired([1.0, 1.0], [1.0 + 1e-9, 1.0]).mean != 0
