"""Curves of an experiment: values between points, and advantages over the seeds."""

from __future__ import annotations

import numpy as np
import pytest

from sojourn.experiments.families import expand_curve
from sojourn.experiments.functions import CurvePoints, SeedCurves, jackknifed
from sojourn.experiments.schema.experiment import CurveTable


def test_pseudo_values_of_a_mean_are_the_values():
    values = np.array([3.0, 1.0, 8.0, 4.0])

    def mean(without: int | None) -> float:
        return float(np.mean(values[np.arange(4) != without]))

    assert jackknifed(mean, 4) == pytest.approx(values)


def test_pseudo_values_have_no_bias_of_order_one_over_n():
    """The square of a mean is too large by s²/n, which they lack."""
    values = np.array([3.0, 1.0, 8.0, 4.0, 9.0])

    def square(without: int | None) -> float:
        return float(np.mean(values[np.arange(5) != without]) ** 2)

    unbiased = np.mean(values) ** 2 - np.var(values, ddof=1) / 5
    assert np.mean(jackknifed(square, 5)) == pytest.approx(unbiased)
    assert jackknifed(square, 1) == pytest.approx([np.mean(values) ** 2])


def test_an_advantage_compares_mean_curves_not_the_largest_values_of_seeds():
    # Two seeds lie 10 % above and below the other curve, at different points: the means are equal.
    other = SeedCurves(np.array([[1.0, 2.0], [1.0, 2.0]]), np.array([[0.5, 0.8], [0.5, 0.8]]))
    own = SeedCurves(other.x, other.y * np.array([[1.1, 0.9], [0.9, 1.1]]))
    assert own.mean().most_above(other.mean()) == pytest.approx(0)
    assert own.mean(without=1).most_above(other.mean(without=1)) == pytest.approx(10)


def test_a_curve_from_the_origin_is_lower_before_its_first_point():
    curve = CurvePoints(np.array([4.0, 8.0]), np.array([0.6, 0.9]))
    assert (curve.at(2), curve.from_origin().at(2)) == pytest.approx((0.6, 0.3))
    assert curve.from_origin().at(6) == pytest.approx(curve.at(6)) == pytest.approx(0.75)


def test_each_seed_is_read_at_its_own_place():
    curves = SeedCurves(np.array([[0.0, 2.0], [0.0, 4.0]]), np.array([[0.0, 1.0], [0.0, 1.0]]))
    assert curves.at(1.0) == pytest.approx([0.5, 0.25])
    assert curves.at(np.array([1.0, 2.0])) == pytest.approx([0.5, 0.5])


def test_the_points_of_a_curve_vary_in_texts_and_numbers():
    vary = {"limit": ["15 packets", "1.5 BDP"], "min": [2, 2.5]}
    table = CurveTable.model_validate({"queue": {"aqm": "red"}, "vary": vary})
    curve, points = expand_curve(table)
    assert curve.queues == ["_15packets", "_1p5BDP"]
    assert [point.table for point in points.values()] == [
        {"aqm": "red", "limit": "15 packets", "min": 2},
        {"aqm": "red", "limit": "1.5 BDP", "min": 2.5},
    ]
