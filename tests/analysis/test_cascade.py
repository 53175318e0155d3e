"""Designs and loops, against the paper, closed forms and python-control."""

from __future__ import annotations

import math
import tomllib

import control
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.analysis import Loop, Plant, cascade
from sojourn.analysis.cascade import Cascade, OperatingPoint, Pid
from sojourn.analysis.margins import margins
from sojourn.analysis.step_response import step
from sojourn.analysis.transfer import Array, poles_of_closed, rational, response
from sojourn.analysis.transient import transient
from sojourn.cli import main
from sojourn.core.errors import UserError

PAPER = OperatingPoint(60, 3750, 0.246)


def test_the_two_controllers_of_the_paper_come_out_to_the_digits_that_it_prints() -> None:
    made = cascade.cpc(PAPER)
    assert made.inner_gain == pytest.approx(0.000291, abs=5e-7)
    assert made.outer.gain == pytest.approx(0.1281, abs=5e-5)
    assert made.outer.integral_time == pytest.approx(3.78, abs=5e-3)
    assert made.outer.derivative_time == pytest.approx(1.89, abs=5e-3)


@pytest.mark.parametrize(
    ("point", "gain", "inner", "t_d"),
    [
        ((60, 3750, 0.246), 0.12812, 0.00029098, 1.8911),
        ((3, 166.67, 0.13), 1.2037, 0.011309, 0.46944),
        ((3, 166.67, 0.18), 1.6667, 0.0022222, 0.9),
        ((3, 166.67, 0.20), 1.8519, 0.0013122, 1.1111),
        ((3, 166.67, 0.42), 3.8889, 3.2129e-5, 4.9),
    ],
)
def test_other_operating_points_are_as_the_margin_optimal_equations_give_them(
    point: tuple[float, float, float], gain: float, inner: float, t_d: float
) -> None:
    made = cascade.cpc(OperatingPoint(*point))
    found = [made.outer.gain, made.inner_gain, made.outer.derivative_time, made.outer.integral_time]
    assert found == pytest.approx([gain, inner, t_d, 2 * t_d], rel=2e-4)


def test_the_closed_forms_are_equations_8_to_11_step_by_step() -> None:
    n, c, r = 45.0, 2000.0, 0.15
    a, b, c_o, d = r * c**2 / (2 * n**2), 2 * n / (r**2 * c), n / r, 1 / r
    k_i, t = a / b, 1 / b
    t_c = 2 * k_i * t
    k_o, sums, products, t3 = c_o / d, t_c / k_i, t * t_c / k_i, 1 / d
    made = cascade.cpc(OperatingPoint(n, c, r))
    assert made.inner_gain == pytest.approx(1 / t_c)
    assert made.outer.gain == pytest.approx(sums / (2 * k_o * t3))
    assert (made.outer.integral_time, made.outer.derivative_time) == pytest.approx((sums, products / sums))


@settings(max_examples=10)
@given(st.floats(1, 500), st.floats(50, 1e5), st.floats(0.01, 1.0))
def test_margins_are_the_same_at_every_operating_point(flows: float, rate: float, rtt: float) -> None:
    point = OperatingPoint(flows, rate, rtt)
    if point.window < cascade.LEAST_WINDOW:
        return
    made = cascade.cpc(point)  # not checked: with windows of little more than two packets the whole is unstable
    outer = margins(response(made.outer_loop(), rtt), np.logspace(-4, 3, 4001) / rtt)
    assert outer.crossover * rtt == pytest.approx(0.45509, abs=1e-4)
    assert outer.phase == pytest.approx(65.53 - math.degrees(0.45509), abs=0.01)
    assert 20 * math.log10(outer.gain) == pytest.approx(7.12, abs=0.01)
    assert outer.delay / rtt == pytest.approx(1.513, abs=0.01)
    inner = margins(response(made.inner_loop(), rtt), np.logspace(-8, 3, 6001) / rtt)
    assert inner.phase == pytest.approx(65.53 - math.degrees(2 * 0.45509 / point.window), abs=0.02)


def test_which_loop_crosses_at_which_of_the_three_frequencies_of_figure_2() -> None:
    own = margins(response(cascade.cpc(PAPER).outer_loop()))
    assert own.crossover == pytest.approx(1.850, abs=1e-3)
    # 2.37 takes an inner gain of 60 degrees, rounded to two digits, not the design's own.
    sixty = cascade.integral_by_margin(PAPER.window_plant())
    assert sixty == pytest.approx(0.00038797, rel=1e-4)
    rounded = margins(response(cascade.cpc(PAPER, 0.00039).outer_loop()))
    assert (rounded.crossover, rounded.phase) == pytest.approx((2.372, 59.84), abs=6e-3)
    # 0.261 is a single integrator with 60 degrees.
    single = cascade.integral_by_margin(PAPER.plant())
    assert single == pytest.approx(5.3635e-6, rel=1e-4)
    red = margins(response(rational([single], [1, 0]) * PAPER.plant()))
    assert (red.crossover, red.phase) == pytest.approx((0.26155, 60.0), abs=1e-4)


def test_a_pid_with_60_degrees_at_the_papers_0_627_exists_on_the_tuned_inner_loop() -> None:
    inner = Cascade(PAPER, cascade.integral_by_margin(PAPER.window_plant()), Pid(1, 1))
    plant = inner.inner_closed() * PAPER.queue_plant()
    pid = cascade.pid_at(response(plant), 0.627)
    assert (pid.gain, pid.integral_time, pid.derivative_time) == pytest.approx((0.0347, 3.850, 0.962), rel=2e-3)
    found = margins(response(pid.transfer() * plant))
    assert (found.crossover, found.phase) == pytest.approx((0.627, 60.0), rel=1e-6)


def test_an_automatic_tuning_keeps_its_margin_and_beats_its_neighbors() -> None:
    inner = Cascade(PAPER, cascade.integral_by_margin(PAPER.window_plant()), Pid(1, 1))
    plant = inner.inner_closed() * PAPER.queue_plant()
    pid, crossover = cascade.tune(plant)
    found = margins(response(pid.transfer() * plant))
    assert (found.phase, found.crossover) == pytest.approx((60.0, crossover), rel=1e-4)

    def late(pid: Pid) -> float:
        t = np.linspace(0, 60, 3001)
        closed = control.feedback(pid.transfer() * plant, 1)
        return float(np.sum(t * np.abs(1 - np.asarray(control.step_response(closed, t).outputs))))

    for factor in (0.6, 1.6):
        assert late(pid) < late(cascade.pid_at(response(plant), crossover * factor))


def test_hollots_pi_and_red_come_out_as_printed() -> None:
    pi = cascade.pi_by_corner(PAPER)
    assert 1 / pi.integral_time == pytest.approx(0.53, abs=5e-3)
    assert pi.gain / pi.integral_time == pytest.approx(9.64e-6, rel=0.02)  # printed from rounded poles
    red = cascade.red_by_crossover(PAPER)
    assert (red.slope, red.corner) == pytest.approx((1.86e-4, 0.005), rel=0.06)


def test_poles_of_the_closed_cascade_are_those_of_the_card() -> None:
    poles = sorted(poles_of_closed(cascade.cpc(PAPER).outer_loop()), key=lambda p: (p.real, p.imag))
    assert np.allclose([poles[0], poles[2]], [-2.0325 - 2.0325j, -0.26439 - 0.26439j], atol=1e-4)


def test_steps_without_dead_time_are_python_controls_and_have_the_known_transients() -> None:
    loop = cascade.cpc(PAPER).outer_loop()
    t, y = step(loop, 30.0, 20.0)
    reference = control.step_response(control.feedback(loop, 1), t).outputs
    assert np.allclose(y, 20 * reference, atol=1e-9)
    found = transient(t, y, 20.0)
    assert (found.rise, found.overshoot, found.settling) == pytest.approx((0.748, 4.32, 2.07), rel=0.01)


def test_the_dead_time_of_a_step_lies_inside_the_inner_loop_as_that_of_the_margins_does() -> None:
    made = cascade.cpc(PAPER)
    t, y = step(made.outer_loop(), 12.0, 20.0, delayed=made.outer_response())
    pade = rational(*(list(c) for c in control.pade(PAPER.rtt, 8)))
    inner = control.feedback(made.inner_loop() * pade, 1)
    whole = control.feedback(made.outer.transfer() * inner * PAPER.queue_plant(), 1)
    reference = 20 * np.asarray(control.step_response(whole, t).outputs)
    assert np.max(np.abs(y - reference)) < 0.01
    found, expected = transient(t, y, 20.0), transient(t, reference, 20.0)
    assert found.overshoot == pytest.approx(expected.overshoot, abs=0.01)
    assert (found.rise, found.settling) == pytest.approx((expected.rise, expected.settling), rel=1e-3)
    assert found.overshoot == pytest.approx(34.81, abs=0.01)  # 4 % without the dead time: it costs most of the margin


def test_a_step_with_dead_time_is_exact_where_a_formula_is_known() -> None:
    delay = 0.2

    def expected(t: Array) -> Array:  # of an integrator 1/s behind a dead time, by the method of steps
        total = np.zeros_like(t)
        for k in range(1, int(t[-1] / delay) + 1):
            total -= (-1) ** k * np.maximum(t - k * delay, 0) ** k / math.factorial(k)
        return total

    loop = rational([1.0], [1.0, 0.0])
    t, y = step(loop, 3.0, delayed=response(loop, delay))
    assert np.max(np.abs(y - expected(t))) < 1e-3
    with pytest.raises(UserError, match=r"step: expected a loop that is stable with its dead time"):
        step(loop, 3.0, delayed=response(loop, 1.6))  # the limit is pi / 2


def test_steps_of_the_inner_loop_agree_with_python_control() -> None:
    closed = cascade.cpc(PAPER).inner_closed()
    t = np.linspace(0, 30, 3001)
    expected = control.step_response(control.TransferFunction([1], [2 * 1.891125**2, 2 * 1.891125, 1]), t).outputs
    assert np.allclose(control.step_response(closed, t).outputs, expected, atol=1e-9)


@pytest.mark.parametrize(("gain", "stable"), [(0.9, True), (1.1, False), (3.0, False)])
def test_stability_turns_where_the_gain_margin_says(gain: float, stable: bool) -> None:
    loop = cascade.cpc(PAPER).outer_response()
    limit = margins(loop).gain * gain
    assert margins(lambda w: limit * loop(w)).stable is stable


def test_stability_is_that_of_the_poles_where_there_is_no_dead_time() -> None:
    for k in (1.0, 7.9, 8.1, 30.0):  # k / (s + 1)^3 turns unstable at 8
        loop = rational([k], [1, 3, 3, 1])
        assert margins(response(loop)).stable == bool(np.all(poles_of_closed(loop).real < 0)), k
    for k in (0.5, 1.9, 2.1):  # k / (s (s + 1)^2) turns unstable at 2
        loop = rational([k], [1, 2, 1, 0])
        assert margins(response(loop)).stable == bool(np.all(poles_of_closed(loop).real < 0)), k


@pytest.mark.parametrize(
    ("point", "said"),
    [((0, 3750, 0.246), "flows"), ((60, 3750, 0), "rtt"), ((60, -1, 0.2), "rate"), ((60, math.nan, 0.2), "rate")],
)
def test_impossible_operating_points_are_refused_by_name(point: tuple[float, float, float], said: str) -> None:
    with pytest.raises(UserError, match=said):
        OperatingPoint(*point)


def test_an_unstable_inner_loop_is_refused_with_its_margin() -> None:
    with pytest.raises(UserError, match=r"inner loop is unstable.*phase margin is -"):
        cascade.cpc(PAPER, 0.01).check()
    with pytest.raises(UserError, match="inner loop is unstable"):
        cascade.cpc(OperatingPoint(60, 150, 0.246), least_window=0.0).check()
    cascade.cpc(OperatingPoint(60, 360, 0.246)).check()


def test_the_command_prints_controllers_and_margins(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["design", "cpc", "--flows", "60", "--rate", "3750pps", "--rtt", "246ms"]) == 0
    said = capsys.readouterr().out
    for word in ("0.000290981 / s", "0.1281 (1 + 1/(3.782 s) + 1.891 s)", "65.53", "38.36", "7.1", 'aqm = "cpc"'):
        assert word in said
    for name in ("pi", "red", "pid"):
        assert (
            main(["design", name, "--flows", "60", "--rate", "15 Mbit/s", "--packet", "500 B", "--rtt", "246ms"]) == 0
        )


@pytest.mark.parametrize(
    ("controller", "rest", "phase"), [("cpc", 20, 38.36), ("pi", 20, 75.14), ("red", 60.89, 88.51), ("pid", 20, 60.0)]
)
def test_the_queue_that_a_design_prints_rests_and_has_margins_as_the_design_says(
    controller: str, rest: float, phase: float, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["design", controller, "--flows", "60", "--rate", "3750pps", "--rtt", "246ms"]) == 0
    said = capsys.readouterr().out
    assert f"{phase:.2f}" in said
    queue = tomllib.loads(next(line for line in said.splitlines() if line.startswith("queue = ")))["queue"]
    queue.pop("limit", None)  # of the scenario's queue, not of the law
    loop = Loop(queue, Plant.of(60, 3750.0, 0.246 - rest / 3750, packet=1500.0))
    assert loop.point().queue == pytest.approx(rest, abs=0.01)
    # The law's code is sampled, and the exact plant differs a little from the textbook's.
    assert loop.margins().phase == pytest.approx(phase, abs=1.5)


@pytest.mark.parametrize(
    ("controller", "option"), [("pi", "--margin"), ("cpc", "--margin"), ("red", "--crossover"), ("pid", "--inner-gain")]
)
def test_an_option_that_a_design_does_not_use_is_refused(
    controller: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["design", controller, "--flows", "60", "--rate", "3750pps", "--rtt", "246ms", option, "40"]
    assert main(command) == 2
    assert f"{option}: expected the controller " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"--flows": "0"}, "flows: expected"),
        ({"--rtt": "0 s"}, "rtt: expected"),
        ({"--rate": "-5pps"}, "rate: expected"),
        ({"--rate": "junk"}, "--rate: "),
        ({"--packet": "0 B", "--rate": "1 Mbit/s"}, "--packet"),
        ({"--flows": "60000"}, "no probability keeps TCP"),
        ({"--inner-gain": "0.01"}, "inner loop is unstable"),
        ({"--target": "2000"}, "--target"),
        ({"--target": "nan"}, "got nan"),
        ({"--margin": "500"}, "got 500"),
        ({"--crossover": "50"}, "--crossover: expected a frequency in rad/s where the loop is stable"),
        (
            {"--crossover": "1000"},
            "--crossover: expected a frequency where a PID has to turn the phase by",
        ),
        ({"--crossover": "0"}, "--crossover: expected a frequency above 0"),
        ({"--flows": "1e-9"}, "--flows: expected a number of flows, 1 to 1e12, got 1e-09"),
    ],
)
def test_impossible_designs_end_with_the_reason_and_code_2(
    options: dict[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"--flows": "60", "--rate": "3750pps", "--rtt": "246ms"} | options
    controller = "pid" if "--margin" in options or "--crossover" in options else "cpc"
    assert main(["design", controller, *[f"{key}={value}" for key, value in options.items()]]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.out == ""


def test_a_design_that_fails_where_windows_are_small_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["design", "pi", "--flows=50", "--rate=10 Mbit/s", "--rtt=100 ms"]) == 2
    assert "unstable: its phase margin is -28.9 degrees; windows of 1.67 packets are small" in capsys.readouterr().err


@pytest.mark.parametrize("controller", ["cpc", "pi", "red", "pid"])
def test_no_design_has_a_target_beyond_the_round_trip_or_margins_at_tiny_windows(
    controller: str, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ["design", controller, "--flows", "20", "--rate", "10 Mbit/s", "--rtt", "80 ms", "--target"]
    assert main([*small, "500"]) == 2
    assert "--target: expected 0 to 66.67 packets, what a round trip holds, got 500" in capsys.readouterr().err
    assert main([*small, "50"]) == 0
    said = capsys.readouterr().out
    assert "no margins: they mean little at windows of 3.33 packets" in said
    assert "phase margin" not in said
    assert "queue = {" in said
