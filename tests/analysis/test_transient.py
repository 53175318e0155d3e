"""Transients and boxes of series whose answers are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sojourn.analysis.transient import box, rebin, transient
from sojourn.core.errors import UserError


def test_a_first_order_answer_has_the_textbook_numbers() -> None:
    t = np.linspace(0, 20, 20001)
    found = transient(t, 5 * (1 - np.exp(-t / 2)), 5.0)
    assert found.rise == pytest.approx(2 * math.log(9), rel=1e-4)
    assert found.settling == pytest.approx(2 * math.log(50), rel=1e-4)
    assert found.overshoot == 0.0


def test_a_second_order_answer_overshoots_as_its_damping_says() -> None:
    t, damping = np.linspace(0, 40, 40001), 0.5
    root = math.sqrt(1 - damping**2)
    y = 1 - np.exp(-damping * t) * (np.cos(root * t) + damping / root * np.sin(root * t))
    found = transient(t, y, 1.0)
    assert found.overshoot == pytest.approx(100 * math.exp(-math.pi * damping / root), rel=1e-4)
    assert found.peak == pytest.approx(1 + found.overshoot / 100)


def test_a_fall_is_measured_as_a_rise() -> None:
    t = np.linspace(0, 20, 2001)
    rise, fall = transient(t, 1 - np.exp(-t), 1.0), transient(t, 7 + np.exp(-t), 7.0)
    assert (fall.rise, fall.settling) == pytest.approx((rise.rise, rise.settling))


def test_a_series_that_never_gets_there_has_no_rise_and_does_not_settle() -> None:
    t = np.linspace(0, 1, 11)
    found = transient(t, 0.1 * t, 1.0, start=0.0)
    assert math.isnan(found.rise)
    assert math.isnan(found.settling)


def test_the_band_is_at_least_what_is_asked() -> None:
    t = np.linspace(0, 20, 2001)
    y = 20 + 100 * np.exp(-t)
    assert transient(t, y, 20.0, least=5.0).settling == pytest.approx(math.log(20), abs=0.01)


@pytest.mark.parametrize(("t", "y"), [([0, 1], [1, 1]), ([0, 0], [1, 2]), ([0], [1]), ([0, 1], [1, math.nan])])
def test_what_is_no_transient_is_refused(t: list[float], y: list[float]) -> None:
    with pytest.raises(UserError, match="transient"):
        transient(np.array(t, float), np.array(y, float))


def test_a_box_is_quartiles_and_the_last_values_within_its_reach() -> None:
    found = box(np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 100.0]))
    assert (found.first, found.median, found.third) == pytest.approx((3.25, 5.5, 7.75))
    assert (found.low, found.high, found.width) == (1.0, 9.0, 4.5)
    assert math.isnan(box(np.array([])).width)


def test_longer_bins_are_means_of_whole_ones() -> None:
    t = np.arange(25.0)
    assert rebin(t, t, 10.0, since=2.0) == pytest.approx([6.5, 16.5])
    with pytest.raises(UserError, match="bins"):
        rebin(t, t, 2.5)
