import numpy as np
import pytest

from sojourn.papers import Verdict, find_paper
from sojourn.papers import reproduce as run_paper
from sojourn.papers.figures import draw_figures
from sojourn.papers.model import Case, PaperMeasure
from sojourn.papers.reproduce import interpolated
from sojourn.record import Record


def test_margins_and_formulas_of_the_paper_are_reproduced_without_a_run():
    outcome = run_paper(find_paper("led"), "margins", 1)
    verdicts = {result.claim.id: result.verdict for result in outcome.results}
    assert [verdicts[i] for i in ("D1", "D2", "D3", "F11", "H1")] == [Verdict.REPRODUCED] * 5
    assert verdicts["D5"] is Verdict.PARTLY  # with the crossover held the margin rises with the pole
    assert verdicts["D6"] is Verdict.PARTLY  # LED's gain is the smaller only beside RED 1/3
    assert verdicts["F10"] is Verdict.PARTLY  # the abstract contradicts its own figures
    assert {c.id for c in outcome.skipped} >= {"D4", "F4-RED", "F5-PI"}
    assert [drawn.id for drawn in draw_figures(outcome)] == ["fig2-4"]


def test_curves_are_queues_with_one_parameter_varied():
    paper = find_paper("led")
    assert paper.curves["led"].queues[3] == "led_1p2"
    assert paper.queue_table("red_5")["max"] == 15
    both = paper.scenario(Case("reverse", "pi_3"))
    assert both.get_path("links.bottleneck.queue.target") == both.get_path("links.bottleneck.back.queue.target") == 3
    assert paper.scenario(Case("ftp10e", "led_1p2")).get_path("tcp.ecn") is True
    for scenario in paper.scenarios:
        paper.scenario(Case(scenario, "red_1")).canonical()


def test_measures_may_be_sums():
    data = {"warmup_s": 1.0, "links": [{"name": "a", "x": 1.5}, {"name": "b", "x": 2.0}]}
    assert PaperMeasure("m", "", "links.a.x + links.b.x", "", scale=2.0).of(Record(data, {})) == 7.0


def test_a_curve_is_read_between_its_points_and_at_its_ends():
    delays, utilizations = np.array([10.0, 2.0, 5.0]), np.array([1.0, 0.5, 0.8])
    assert [interpolated(delays, utilizations, at) for at in (1.0, 3.5, 20.0)] == [0.5, pytest.approx(0.65), 1.0]
