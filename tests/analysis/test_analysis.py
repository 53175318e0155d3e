import json
import math
import time

import jitcdde
import numpy as np
import pytest
from ddeint import ddeint

from sojourn import ScenarioError, UserError
from sojourn.analysis import (
    Loop,
    Plant,
    Point,
    cascade,
    hurst,
    laws,
    linear_plant,
    managed,
    margins,
    predicted_limit_cycle,
    queue_spectrum,
    response,
    simulated_limit_cycle,
    stability_map,
    textbook,
)
from sojourn.analysis.plant import Flows
from sojourn.cli import main
from sojourn.core.scenario_files import load, loads
from sojourn.experiments import find_experiment
from sojourn.plots import loops

SMALL = """
name = "small"
duration = "20 s"
warmup = "5 s"
packet = "1040 B"
[[links]]
name = "up"
from = "A"
to = "B"
rate = "5 Mbit/s"
delay = "20 ms"
queue = { aqm = "red", limit = "200 packets", min = 5, max = 30, weight = 0.01 }
duplex = true
[tcp]
profile = "ns2"
mss = "1000 B"
window = "128 packets"
[[flows]]
name = "ftp"
count = 6
from = "A"
to = "B"
access = { delay = { uniform = ["1 ms", "10 ms"] } }
traffic = { kind = "bulk" }
"""


def test_an_integrator_with_dead_time_has_the_margins_of_the_textbook():
    gain, dead = 2.0, 0.3
    import control

    found = margins(response(control.tf([gain], [1, 0]), dead))
    assert found.stable
    assert found.crossover == pytest.approx(gain, rel=1e-9)
    assert found.phase == pytest.approx(90 - math.degrees(gain * dead), rel=1e-9)
    assert found.delay == pytest.approx(math.pi / 2 / gain - dead, rel=1e-9)
    assert found.gain == pytest.approx(math.pi / 2 / (gain * dead), rel=1e-6)
    slow = margins(response(control.tf([gain], [1, 0]), 1.0))
    assert not slow.stable
    assert slow.delay == pytest.approx(math.pi / 2 / gain - 1.0, rel=1e-9)
    assert slow.describe().startswith("unstable")


def test_margins_of_a_loop_that_crosses_often_are_the_least_of_all_its_crossings():
    import control

    # A resonance lifts the gain above one twice more: with k = 0.5 and little damping, crossings at three frequencies.
    loop = response(control.tf([0.5], [1, 0]) * control.tf([25], [1, 0.1, 25]), 0.01)
    found = margins(loop)
    omega = np.geomspace(0.1, 50, 400_001)
    size, phase = np.abs(loop(omega)), np.unwrap(np.angle(loop(omega)))
    at = np.flatnonzero(np.diff(size > 1))
    assert len(at) == 3
    assert not found.stable  # the second crossing is already past -180 degrees
    assert found.crossover == pytest.approx(omega[at[-1]], rel=1e-4)
    assert found.phase == pytest.approx(min(180 + math.degrees(phase[i]) for i in at), abs=0.01)
    # With the gain that it bears it is stable, and its margins are again those of the worst crossing.
    calm = margins(lambda w: 0.99 * found.gain * loop(w))
    assert calm.stable
    assert calm.gain == pytest.approx(1 / 0.99, rel=1e-6)
    assert not margins(lambda w: 1.01 * found.gain * loop(w)).stable
    assert margins(lambda w: loop(w) * 0.9 * found.gain * np.exp(-1j * w * 0.9 * calm.delay)).stable


def test_pi_designed_by_the_rule_has_the_margin_of_the_rule():
    a, b = laws.design_pi(60, 3750, 0.246, 1 / 160, beta=0.5207 * 0.246)
    assert (a, b) == (pytest.approx(1.824e-5, abs=5e-9), pytest.approx(1.818e-5, abs=5e-9))
    plant = textbook(60, 3750, 0.246)
    found = margins(response(plant.queue * laws.pi(a, b, 1 / 160), plant.dead_time))
    assert found.phase == pytest.approx(75.4, abs=0.1)
    assert found.crossover == pytest.approx(0.5207, rel=2e-3)


def test_red_has_hollots_check_values():
    plant = textbook(60, 3750, 0.246)
    import control

    law = control.tf([1.86e-4], [1 / 0.005, 1])
    found = margins(response(plant.queue * law))
    assert found.crossover == pytest.approx(0.0502, abs=1e-4)
    assert found.phase == pytest.approx(89.6, abs=0.1)  # without the dead time, as in the example


def test_the_code_of_pi_answers_like_its_transfer_function():
    a, b = laws.design_pi(60, 3750, 0.246, 1 / 170, beta=0.3)
    queue = {"aqm": "pi", "a": a, "b": b, "target": 172.5}
    loop = Loop(queue, Plant.of(60, 3750, 0.2))
    omega = np.geomspace(0.01, 5, 20)
    measured, load = loop.law(omega)
    exact = response(laws.pi(a, b, 1 / 170))(omega)
    assert np.all(load == 0)
    assert np.max(np.abs(measured / exact * np.exp(0.5j * omega / 170) - 1)) < 1e-3
    # A designed gain comes from the same rule.
    same = Loop({"aqm": "pi", "design": {"flows": 60, "rtt": "246 ms", "beta": 0.3}, "target": 172.5}, loop.plant)
    assert np.allclose(same.law(omega)[0], measured, rtol=1e-6)


def test_the_exact_plant_tends_to_the_textbook_one_at_low_frequencies():
    plant = Plant.of(60, 3750, 0.2)
    point = Point(172.5, 1.0, 1.0, 2 / 15.375**2, 15.375, (0.246,))
    omega = np.array([1e-4])
    queue, _ = linear_plant(plant, point, omega)
    assert abs(queue[0] / response(-textbook(60, 3750, 0.246).queue)(omega)[0]) == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize(("increase", "decrease"), [(1.0, 0.5), (0.5, 0.5), (1.0, 0.3)])
def test_the_exact_plant_moves_the_queue_as_the_windows_at_rest_say(increase, decrease):
    # q = N sqrt(a / (d p)) - C T, so dq/dp = -N sqrt(a/d) / (2 p^1.5).
    flows = Flows(60, 0.2, increase, decrease)
    plant = Plant((flows,), 3750)
    point = plant.point_at(100.0)
    assert point.window == pytest.approx(math.sqrt(increase / (decrease * point.probability)))
    queue, _ = linear_plant(plant, point, np.array([1e-5]))
    slope = -60 * math.sqrt(increase / decrease) / (2 * point.probability**1.5)
    assert queue[0].real == pytest.approx(slope, rel=1e-3)


def test_the_fluid_model_agrees_with_an_independent_solver_through_kinks():
    # RED from below its threshold and through an empty queue; the solver takes the present for constant within a step.
    flows, capacity, delay, weight = 10.0, 500.0, 0.08, 0.02
    low, high, top = 5.0, 45.0, 0.2

    def probability(average):
        return top * min(max((average - low) / (high - low), 0.0), 1.0)

    def slopes(y, t):
        window, queue, average = y(t)
        rtt = delay + max(queue, 0) / capacity
        old_window, old_queue, old_average = y(t - rtt)
        arriving = flows * window / rtt
        grow = 1 / rtt - window * old_window * probability(old_average) / (2 * (delay + max(old_queue, 0) / capacity))
        rise = arriving - capacity if queue > 0 else max(arriving - capacity, 0.0)
        return np.array([grow, rise, -math.log1p(-weight) * arriving * (queue - average)])

    t = np.arange(0, 8.0001, 0.001)
    other = ddeint(slopes, lambda _: np.array([4.2, 3.0, 3.0]), t)
    queue = {"aqm": "red", "min": low, "max": high, "max_p": top, "weight": weight, "gentle": False}
    ours = Loop(queue, Plant.of(flows, capacity, delay)).simulate(8.0, 0.001, every=1, window=4.2, queue=3.0)
    assert np.max(np.abs(ours["queue"] - other[:, 1])) < 0.01 * np.max(ours["queue"])
    assert np.max(np.abs(ours["window0"] - other[:, 0])) < 0.01 * np.max(ours["window0"])


def test_the_fluid_model_agrees_with_an_adaptive_solver_to_five_digits_where_all_is_smooth():
    flows, capacity, delay, weight = 10.0, 500.0, 0.08, 0.02
    low, high, top = 5.0, 45.0, 0.2
    window, queue, average = (jitcdde.y(i) for i in range(3))
    rtt = delay + queue / capacity
    old_window, old_queue, old_average = (jitcdde.y(i, jitcdde.t - rtt) for i in range(3))
    felt = window * old_window * top * (old_average - low) / (high - low) / (2 * (delay + old_queue / capacity))
    arriving = flows * window / rtt
    slopes = [1 / rtt - felt, arriving - capacity, -math.log1p(-weight) * arriving * (queue - average)]
    times = np.arange(0.25, 3.001, 0.05)

    def solved(first):
        solver = jitcdde.jitcdde(slopes, max_delay=0.3, verbose=False)
        solver.constant_past([5.0, 20.0, 20.0], time=0.0)
        solver.set_integration_parameters(rtol=1e-7, atol=1e-7, first_step=1e-3, max_step=0.01)
        solver.generate_lambdas()
        solver.integrate_blindly(0.2, first)  # over the kink at the start, with an error in proportion to the step
        return np.array([solver.integrate(at) for at in times])

    other = 2 * solved(5e-4) - solved(1e-3)
    law = {"aqm": "red", "min": low, "max": high, "max_p": top, "weight": weight, "gentle": False}
    loop = Loop(law, Plant.of(flows, capacity, delay))
    ours = loop.simulate(3.0, 0.001, every=50, window=5.0, queue=20.0, probability=top * (20.0 - low) / (high - low))
    for name, column in (("window0", 0), ("queue", 1)):
        assert np.max(np.abs(ours[name][5:] - other[:, column])) < 1e-5 * np.max(ours[name])


def test_a_loop_without_margin_oscillates_and_one_with_margin_comes_to_rest():
    hot = Loop({"aqm": "fuzzy-red"}, Plant.of(20, 1250.0, 0.2))
    assert not hot.margins().stable
    cycle = simulated_limit_cycle(hot)
    assert cycle is not None
    trace = hot.simulate(200.0)
    f, power = queue_spectrum(trace["t"], trace["queue"], 100.0)
    assert f[np.argmax(power)] == pytest.approx(cycle.hertz, abs=0.06)
    assert np.ptp(trace["queue"][trace["t"] > 100]) / 2 == pytest.approx(cycle.amplitude, rel=0.1)
    calm = Loop({"aqm": "pd", "k1": 0.05, "k2": 0.0, "target": 30}, Plant.of(20, 1250.0, 0.1))
    assert calm.margins().stable
    assert simulated_limit_cycle(calm) is None


def test_a_describing_function_falls_to_the_linear_answer_for_small_amplitudes():
    loop = Loop({"aqm": "pd", "k1": 0.05, "k2": 0.0, "target": 30}, Plant.of(20, 1250.0, 0.1))
    omega = np.array([2.0, 2.0])
    gain, _ = loop.describing(np.array([0.1, 60.0]), omega)
    linear, _ = loop.law(omega)
    assert gain[0] == pytest.approx(linear[0], rel=0.02)
    assert abs(gain[1]) < 0.95 * abs(linear[1])  # the law is cut off at 0 below its target


class Saturated:
    """A law with 0.01 a packet around 60 packets, between 0 and 0.02.

    The probability that the fluid needs lies inside.
    """

    def step(self, sample):
        return min(max(0.01 + 0.002 * (sample.backlog_packets - 60), 0.0), 0.02)


def saturated(flows, delay):
    queue = {"aqm": "external", "law": "saturated", "interval": "1 ms"}
    return Loop(queue, Plant.of(flows, 1250.0, delay), {"saturated": Saturated})


@pytest.mark.parametrize(("amplitude", "bias"), [(3.0, 0.0), (10.0, 0.0), (30.0, 0.0), (10.0, 4.0), (30.0, -12.0)])
def test_the_describing_function_of_a_saturation_is_the_textbooks_with_and_without_bias(amplitude, bias):
    # Gelb and Vander Velde 1968: a sine of amplitude A about a bias B through a line of slope k cut off at +-d.
    k, d, omega = 0.002, 5.0, 2.0
    angle = np.arange(200_000) * 2 * math.pi / 200_000
    answer = 0.01 + k * np.clip(bias + amplitude * np.sin(angle), -d, d)
    if bias == 0.0 and amplitude > d:
        closed = 2 * k / math.pi * (math.asin(d / amplitude) + d / amplitude * math.sqrt(1 - (d / amplitude) ** 2))
        assert 2 * np.mean(answer * np.sin(angle)) / amplitude == pytest.approx(closed, rel=1e-6)
    gain, mean = saturated(20, 0.1).describing(np.array([amplitude]), np.array([omega]), np.array([60.0 + bias]))
    held = np.exp(-0.5j * omega * 1e-3)  # the law's answer waits half an interval on average
    assert gain[0] == pytest.approx(2 * np.mean(answer * np.sin(angle)) / amplitude * held, rel=2e-3)
    assert mean[0] == pytest.approx(np.mean(answer), rel=2e-3)


def test_a_describing_function_predicts_the_limit_cycle_of_a_saturating_law():
    # The prediction is the fundamental of the queue's wave, the simulation half its height. Windows and queue are two
    # low passes: the wave of a limited law is between a triangle (fundamental 8/pi^2 of the height), which one
    # integrator makes of a square wave, and a parabola (32/pi^3), which two make.
    triangle, parabola = 8 / math.pi**2, 32 / math.pi**3
    for loop in (
        Loop({"aqm": "pd", "k1": 0.05, "k2": 0.0, "target": 30}, Plant.of(20, 1250.0, 0.25)),
        saturated(20, 0.12),
    ):
        assert not loop.margins().stable
        predicted, found = predicted_limit_cycle(loop), simulated_limit_cycle(loop)
        assert predicted is not None
        assert found is not None
        assert predicted.omega == pytest.approx(found.omega, rel=0.1)
        assert triangle <= predicted.amplitude / found.amplitude <= parabola
        assert predicted.mean == pytest.approx(found.mean, rel=0.1)


def cpc(flows):
    """CPC's code, designed for 60 flows, 3750 packets/s, 246 ms with 175 packets waiting."""
    queue = {"aqm": "cpc", "target": 175, "flows": 60, "rtt": "199333 us", "inner": "measured"}
    return Loop(queue, Plant.of(flows, 3750, 0.199333))


def test_the_code_of_cpc_has_the_margins_of_its_design():
    designed = margins(cascade.cpc(cascade.OperatingPoint(60, 3750, 0.246)).outer_response())
    found = cpc(60).margins()
    assert found.stable
    assert found.crossover == pytest.approx(designed.crossover, rel=0.01)
    assert found.phase == pytest.approx(designed.phase, abs=1.5)  # the code averages the load and holds for 10 ms
    assert found.delay == pytest.approx(designed.delay, rel=0.05)


def test_half_the_flows_that_cpc_was_designed_for_oscillate_as_predicted():
    loop = cpc(30)
    assert not loop.margins().stable
    predicted, found = predicted_limit_cycle(loop), simulated_limit_cycle(loop)
    assert predicted is not None
    assert found is not None
    assert predicted.amplitude / math.sqrt(2) == pytest.approx(22, abs=2)  # the deviation in independent fluid code
    assert (predicted.amplitude, predicted.mean) == (
        pytest.approx(found.amplitude, rel=0.1),
        pytest.approx(found.mean, rel=0.02),
    )
    assert predicted.omega == pytest.approx(found.omega, rel=0.03)


def test_no_limit_cycle_is_predicted_for_a_stable_loop_nor_one_that_empties_the_queue():
    calm = Loop({"aqm": "pd", "k1": 0.05, "k2": 0.0, "target": 30}, Plant.of(20, 1250.0, 0.1))
    assert predicted_limit_cycle(calm) is None
    hot = Loop({"aqm": "fuzzy-red"}, Plant.of(20, 1250.0, 0.2))
    found = simulated_limit_cycle(hot)
    assert found is not None
    assert found.amplitude > found.mean
    assert predicted_limit_cycle(hot) is None


def test_a_stable_loop_comes_to_rest_at_its_point_and_an_upset_dies_out():
    loop = Loop({"aqm": "led"}, Plant.of(20, 200, 0.06))
    point = loop.point()
    assert (point.queue, point.window) == (pytest.approx(28.0, abs=1e-6), pytest.approx(2.0))
    assert loop.margins().stable
    trace = loop.simulate(
        300.0, changes=[{"at": 100.0, "class": 0, "flows": 30.0}, {"at": 200.0, "class": 0, "flows": 20.0}]
    )
    at = dict(zip(np.round(trace["t"], 3), trace["queue"], strict=True))
    assert at[99.99] == pytest.approx(28.0, abs=0.1)
    assert at[199.98] == pytest.approx(48.0, abs=0.2)
    assert trace["queue"][-1] == pytest.approx(28.0, abs=0.2)


def test_a_law_in_python_is_analyzed_like_one_of_the_registry():
    class Proportional:
        def step(self, sample):
            return 0.004 * max(sample.backlog_packets - 10, 0)

    queue = {"aqm": "external", "law": "mine", "interval": "10 ms"}
    loop = Loop(queue, Plant.of(20, 1250, 0.1), {"mine": Proportional})
    point = loop.point()
    assert 0.004 * (point.queue - 10) == pytest.approx(point.probability, rel=1e-6)
    gain, _ = loop.law(np.array([0.1]))
    assert abs(gain[0]) == pytest.approx(0.004, rel=1e-3)
    assert math.isfinite(loop.margins().gain)


def test_a_law_without_a_number_is_named_in_an_analysis():
    class Undefined:
        def step(self, sample):
            return math.nan

    loop = Loop({"aqm": "external", "law": "mine"}, Plant.of(20, 1250, 0.1), {"mine": Undefined})
    with pytest.raises(ScenarioError, match=r"^laws.mine: expected a probability from 0 to 1 at 0 s, got nan$"):
        loop.point()


def test_a_map_of_ten_thousand_points_agrees_with_single_margins_and_is_quick():
    law = laws.red(1250.0, 0.002, 0.1, 15, 45)

    def answers(omega):
        return response(law)(omega), np.zeros(len(omega), dtype=complex)

    flows, rtt = np.linspace(5, 200, 100), np.linspace(0.02, 0.5, 100)
    begun = time.process_time()
    found = stability_map(answers, flows[None, :], rtt[:, None], 1250.0)
    assert time.process_time() - begun < 4.0
    for i, j in [(10, 5), (50, 50), (99, 3), (30, 90)]:
        plant = textbook(flows[j], 1250.0, rtt[i])
        one = margins(response(plant.queue * law, plant.dead_time))
        assert found[i, j] == pytest.approx(one.delay, rel=0.05, abs=2e-3)


def test_what_cannot_be_analyzed_is_said_in_words():
    with pytest.raises(ScenarioError, match="no fluid form"):
        Loop({"aqm": "blue"}, Plant.of(10, 500, 0.1)).point()
    with pytest.raises(ScenarioError, match="no equilibrium"):
        Loop({"aqm": "droptail"}, Plant.of(10, 500, 0.1, limit=50)).point()
    with pytest.raises(ValueError, match=r"classes\[0\].delay"):
        Loop({"aqm": "pi"}, Plant.of(10, 500, -1.0)).point()
    with pytest.raises(UserError, match="weight"):
        laws.led(0.05, weight=1.5)


def test_a_scenario_becomes_a_plant():
    found = managed(loads(SMALL))
    assert (found.link, found.queue["aqm"], found.plant.flows, found.plant.drops) == ("up", "red", 6.0, True)
    assert found.plant.capacity == pytest.approx(5e6 / 8320)
    # 2 x 20 ms, 1 to 10 ms of access in both directions, and the time to send a packet and its acknowledgement.
    sending = 8 * (1040 + 40) / 5e6
    assert found.plant.classes[0].delay == pytest.approx(0.04 + 2 * 0.00175 + sending, rel=1e-6)
    with pytest.raises(UserError, match="expected one of"):
        managed(loads(SMALL), "nowhere")


@pytest.mark.parametrize(
    ("options", "increase", "decrease"),
    [
        ({"tcp.profile": "ns2"}, 1.0, 0.5),
        ({"tcp.profile": "rfc"}, 0.5, 0.5),
        ({"tcp.profile": "rfc", "tcp.delayed_ack": False}, 1.0, 0.5),
        ({"tcp.profile": "rfc", "tcp.abc": 1}, 1.0, 0.5),
        ({"tcp.profile": "linux", "tcp.ack_every": 4}, 0.25, 0.5),
        ({"tcp.profile": "ns2", "tcp.control.increase": 2.0, "tcp.control.decrease": 0.7}, 2.0, 0.3),
    ],
)
def test_windows_of_the_plant_move_as_the_stack_of_the_scenario_moves_them(options, increase, decrease):
    scenario = load("examples/dumbbell.toml")
    scenario.set_all(options)
    flows = managed(scenario).plant.classes[0]
    assert (flows.increase, flows.decrease) == pytest.approx((increase, decrease))


def test_a_controller_other_than_reno_is_treated_as_reno_with_a_note():
    scenario = load("examples/dumbbell.toml")
    scenario.set_all({"tcp.control.cc": "cubic"})
    assert managed(scenario).plant.notes == ("ftp: the model treats cubic as Reno",)


@pytest.mark.parametrize(
    ("cc", "unlike"), [("reno", []), ("cubic", []), ("bbr3", ["bbr3"]), ("prague", ["prague"]), ("ledbat", ["ledbat"])]
)
def test_a_controller_whose_windows_are_not_like_those_of_reno_gets_no_margins(cc, unlike, tmp_path, capsys):
    scenario = load("examples/dumbbell.toml").set_all({"tcp.control.cc": cc, "tcp.ecn": True})
    scenario.set("links.bottleneck.queue", {"aqm": "pi2", "ecn": True}).set("links.bottleneck.rate", "100 Mbit/s")
    assert managed(scenario).unlike_reno() == unlike
    file = tmp_path / "one.toml"
    file.write_text(scenario.to_toml())
    assert main(["analyze", str(file), "--no-check"]) == 0
    said = capsys.readouterr().out
    assert ("\nmargins: " in said, f"those of {cc} are not" in said) == (not unlike, bool(unlike))


@pytest.mark.slow
def test_analyze_prints_model_and_packets_and_draws(tmp_path, capsys):
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    for queue in ['{aqm="led"}', '{aqm="pi",target=10}', '{aqm="fuzzy-red"}', '{aqm="avq"}', '{aqm="blue"}']:
        assert main(["analyze", str(file), "--set", f"links.up.queue={queue}"]) == 0
    capsys.readouterr()
    assert main(["analyze", str(file), "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "margins:" in said or "no equilibrium" in said
    queue = '{aqm="pd",k1=0.05,k2=0.0,target=30}'
    assert main(["analyze", str(file), "--set", f"links.up.queue={queue}", "--set", "links.up.delay=300 ms"]) == 0
    assert "limit cycle by describing function" in capsys.readouterr().out
    assert main(["analyze", str(file), "--set", f"links.up.queue={queue}", "--set", "flows.ftp.count=100"]) == 0
    said = capsys.readouterr().out
    assert "no margins: they mean little at windows of" in said
    assert "margins: stable" not in said
    assert "the measured queue oscillates most at" in said
    assert {p.name for p in (tmp_path / "out").glob("*.png")} >= {
        "trajectory.png",
        "spectrum.png",
        "bode.png",
        "nyquist.png",
    }


def test_hurst_knows_short_memory_from_long():
    rng = np.random.default_rng(1)
    assert hurst(rng.poisson(10, 200_000), 0.01, (0.1, 10)).exponent == pytest.approx(0.5, abs=0.06)
    pareto = find_experiment("led").extra.functions["onoff_hurst"](0.5, 1.386, 0.5, 100)
    assert np.mean(pareto) == pytest.approx(0.807, abs=0.04)
    with pytest.raises(UserError, match="at least 10 times"):
        hurst(np.ones(100), 0.01)


def test_plots_are_drawn():
    loop = Loop({"aqm": "pi", "target": 60}, Plant.of(20, 1250, 0.1))
    for drawn in loops.bode_and_nyquist(loop).values():
        assert len(drawn.axes) >= 1
    assert json.loads(loop.plant.to_json())["capacity"] == 1250
