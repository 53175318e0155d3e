import math

import numpy as np
import pandas as pd
import pytest

from sojourn.analysis import Loop, Plant, laws
from sojourn.analysis.margins import margins
from sojourn.analysis.plant import textbook
from sojourn.analysis.transfer import response
from sojourn.experiments import Verdict, find_experiment
from sojourn.experiments import reproduce as run_experiment
from sojourn.experiments.figures import draw_figures
from sojourn.experiments.functions import CurvePoints
from sojourn.experiments.model import Case
from sojourn.experiments.report import write_report

EXTRA = find_experiment("led").extra.functions


@pytest.fixture(scope="module")
def outcome():
    return run_experiment(find_experiment("led"), "margins", 1)


def test_margins_and_formulas_of_the_paper_are_reproduced_without_a_run(outcome):
    verdicts = {result.claim.id: result.verdict for result in outcome.results}
    # The formula of the appendix gives other margins than Eqs. 9 to 13 of the body.
    assert [verdicts[i] for i in ("D1", "D2", "D3")] == [Verdict.NOT_DECIDABLE] * 3
    assert verdicts["H1"] is Verdict.BY_FIT
    assert verdicts["D5"] is Verdict.NOT_REPRODUCED  # with the crossover held the margin rises with the pole
    assert verdicts["D6"] is Verdict.NOT_REPRODUCED  # LED's gain is smaller only than that of RED 1/3
    assert {c.id for c in outcome.skipped} >= {"D4", "F4-RED", "F5-PI"}
    assert [drawn.id for drawn in draw_figures(outcome)] == ["fig1", "fig19", "fig2-4"]


def test_headlines_count_the_papers_claims_alone(here, outcome):
    experiment, theory = outcome.of_origin("paper"), outcome.of_origin("theory")
    assert (len(experiment), len(theory)) == (7, 3)
    assert sum(outcome.counts().values()) == 7
    text = write_report(outcome, here / "out")[-1].read_text()
    own, others = text.index('<h2 id="claims">'), text.index('<h2 id="others">')
    assert own < text.index('id="claim-D1"') < others < text.index('id="claim-D1v"')
    claims = pd.read_csv(here / "out" / "tables" / "claims.csv")
    assert dict(zip(claims["claim"], claims["origin"], strict=True))["D1v"] == "theory"
    assert claims[claims["origin"] != "paper"]["published"].isna().all()


def test_curves_are_queues_with_one_parameter_varied():
    experiment = find_experiment("led")
    assert experiment.curves["led"].queues[3] == "led_1p2"
    assert experiment.queue_table("red_5")["max"] == 15
    both = experiment.scenario(Case("reverse", "pi_3"))
    assert both.get_path("links.bottleneck.queue.target") == both.get_path("links.bottleneck.back.queue.target") == 3
    assert experiment.scenario(Case("ftp10e", "led_1p2")).get_path("tcp.ecn") is True
    for scenario in experiment.scenarios:
        experiment.scenario(Case(scenario, "red_1")).canonical()


def test_a_curve_is_read_between_its_points_and_at_its_ends():
    curve = CurvePoints(np.array([10.0, 2.0, 5.0]), np.array([1.0, 0.5, 0.8]))
    assert [curve.at(x) for x in (1.0, 3.5, 20.0)] == [0.5, pytest.approx(0.65), 1.0]


def test_an_advantage_is_compared_at_equal_delay_and_at_the_nearest_end_below_it():
    ours = CurvePoints(np.array([1.0, 3.5, 30.0]), np.array([0.6, 0.78, 2.0]))
    theirs = CurvePoints(np.array([2.0, 5.0]), np.array([0.5, 0.8]))
    assert ours.most_above(theirs) == pytest.approx(20.0)
    assert np.isnan(theirs.most_above(CurvePoints(np.array([0.5]), np.array([1.0]))))


def led_loop(sources: int, *, kept: bool):
    """The loop of Figs. 2 to 4 at exact dead time.

    The queue is kept (Eq. 7) or neglected (A.18).
    """
    plant = textbook(sources, 200, 0.06)
    return response((plant.load_kept if kept else plant.load) * laws.led(0.06, 0.05), 0.06)


@pytest.mark.parametrize(("sources", "peak"), [(1, 3.515), (2, 0.992), (5, 0.171)])
def test_the_loop_with_the_queue_kept_crosses_for_one_source_alone(sources, peak):
    gain = np.abs(led_loop(sources, kept=True)(np.logspace(-3, 4, 20_001)))
    assert gain.max() == pytest.approx(peak, abs=0.001)


@pytest.mark.parametrize(
    ("sources", "crossover", "delay", "approximate"),
    [(2, 9.60, 0.004, 0.024), (3, 6.63, 0.095, 0.136), (5, 2.89, 0.512, 0.567), (9, 0.414, 6.40, 6.438)],
)
def test_the_papers_approximation_is_near_the_exact_margin_for_many_sources_only(
    sources, crossover, delay, approximate
):
    exact = margins(led_loop(sources, kept=False))
    assert exact.crossover == pytest.approx(crossover, rel=0.002)
    assert exact.delay == pytest.approx(delay, abs=0.005)
    assert EXTRA["led_delay_margin"](sources, 200, 0.06, 0.05, 0.4) == pytest.approx(approximate, abs=0.001)
    k, gain = EXTRA["led_pole"](0.05, 0.06), 0.06 * EXTRA["led_gain"](sources, 200, 0.06, 0.4)
    assert (k * gain < 1) == (sources > 2), "Eq. 12 has no root where gain and pole multiply to less than 1"


def test_delay_margins_of_led_are_those_of_its_lag_with_exact_dead_time():
    def margin(sources, capacity=200, rtt=0.06, span=0.4):
        return EXTRA["led_delay_margin"](sources, capacity, rtt, 0.05, span)

    for n, expected in [(1, -0.039), (2, 0.024), (5, 0.567), (9, 6.438)]:
        assert margin(n) == pytest.approx(expected, abs=6e-4)
        lag = laws.led(0.06) * (0.06 * 200) ** 2 / (4 * n**2)
        assert margins(response(lag, 0.06)).delay == pytest.approx(margin(n), rel=1e-6)
    assert margin(10) == margin(30, 187.5, 0.2, span=0.7) == math.inf
    assert EXTRA["red_delay_margin"](30, 187.5, 0.2, 0.1, 0.002) == pytest.approx(5.58, abs=0.005)


def test_an_empty_queue_is_no_equilibrium_of_table_1():
    plant = Plant.of(10, 200, 0.06)
    assert plant.point_at(0.0).probability == pytest.approx(1.39, abs=0.01), "which no law can ask for"
    point = Loop({"aqm": "led"}, plant).point()
    assert (point.queue, point.probability, point.rtts[0]) == pytest.approx((8.0, 0.5, 0.1), rel=1e-3)
