"""DCTCP's own functions: the model of the sawtooth, and completion times of queries."""

from __future__ import annotations

from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from sojourn.experiments import load_experiment
from sojourn.experiments.readings import Reading

EXTRA = load_experiment(Path(__file__).parents[2] / "papers" / "dctcp-2010").extra
sawtooth, lowest_queue = EXTRA.functions["sawtooth"], EXTRA.functions["lowest_queue"]


def test_the_sawtooth_of_two_flows_is_that_of_equations_6_to_11() -> None:
    # alpha^2 (1 - alpha/4) = (2 W + 1)/(W + 1)^2 with W = (C RTT + K)/N = 61.67; D = (W + 1) alpha/2
    found = {name: sawtooth(name, 2, 1000 / 12, 40) for name in ("alpha", "period", "amplitude", "top", "bottom")}
    alpha, w = found["alpha"], (1e10 * 100e-6 / 12e3 + 40) / 2
    assert alpha**2 * (1 - alpha / 4) == pytest.approx((2 * w + 1) / (w + 1) ** 2)
    assert found["period"] == pytest.approx((w + 1) * alpha / 2)
    assert found["amplitude"] == pytest.approx(2 * found["period"])
    assert (found["top"], found["bottom"]) == (42, 42 - found["amplitude"])


def test_alpha_of_a_large_window_is_the_square_root_of_two_over_it() -> None:
    assert sawtooth("alpha", 1, 10_000, 0) == pytest.approx(sqrt(2 / 10_000), rel=0.01)


def test_a_round_trip_without_growth_lengthens_the_period_and_lowers_alpha() -> None:
    assert sawtooth("period", 2, 1000 / 12, 40, 1) > sawtooth("period", 2, 1000 / 12, 40)
    assert sawtooth("alpha", 2, 1000 / 12, 40, 1) < sawtooth("alpha", 2, 1000 / 12, 40)


def test_a_seventh_of_the_product_is_enough_only_for_a_small_alpha() -> None:
    # C RTT is 417 packets: for K = 60 the bottom is above zero with 10 flows and below it with the worst number.
    assert sawtooth("bottom", 10, 5000 / 12, 60) > 0 > lowest_queue(5000 / 12, 60)


def test_a_query_takes_from_its_period_s_begin_to_the_last_ack() -> None:
    times = np.array([2.001, 2.008, 4.002, 4.012, 6.009])
    reading = Reading("rtt/x", "seconds", "query-mean", span=2.0, than=10.0, share=0.5)
    found = {
        name: EXTRA.readings[name](times, times, reading)
        for name in ("query-min", "query-mean", "query-quantile", "query-late")
    }
    assert found == pytest.approx({"query-min": 8, "query-mean": 29 / 3, "query-quantile": 9, "query-late": 100 / 3})


def test_the_gap_between_falls_is_the_period_of_a_sawtooth() -> None:
    times = np.arange(0, 1, 0.01)
    reading = Reading("cwnd/x", "packets", "fall-gap", than=0.97)
    assert EXTRA.readings["fall-gap"](times, 10 + (100 * times) % 20, reading) == pytest.approx(0.2)
