"""Each claim has a page: verdict, seeds, flipping point, command."""

import re

import pytest

from sojourn.cli import main
from sojourn.core.errors import UserError
from sojourn.core.stats import estimate
from sojourn.experiments import load_experiment, reproduce
from sojourn.experiments.audit import Audit, Row
from sojourn.experiments.claim_pages import claim_page, flips, strip
from sojourn.experiments.claims import Part
from sojourn.experiments.outcome import PartResult
from sojourn.experiments.selection import choose
from sojourn.experiments.verdict import Target, Tolerance, judge_part
from tests.support.source_tree import ROOT

LEHTO = ROOT / "papers" / "lehto-2005"


def part(values, target, published=None):
    """A part as measured."""
    measured = estimate(list(values))
    tolerance = None if published is None else Tolerance(absolute=1.0)
    judged = judge_part(measured, target, "number")
    return PartResult(
        Part("m", target, published, tolerance=tolerance), measured, published, judged, values=tuple(values)
    )


def test_a_page_says_from_which_tolerance_on_the_claim_holds():
    # 10 and 12: the mean is 11, the interval 11 ± 12.706, so -1.706 to 23.706.
    shown = flips(part([10.0, 12.0], Target(9, 11, False, False), published=10.0))
    assert shown == "holds from a tolerance of ±13.71 (137.1 %) on"
    shown = flips(part([10.0, 10.0], Target(9, 11, False, False), published=8.0))
    assert shown == "holds from a tolerance of ±2 (25 %) on; missed below ±2"


@pytest.mark.parametrize(
    ("target", "says"),
    [
        (Target(low=3), "holds for bounds below 10, missed beyond 10"),
        (Target(high=30), "holds for bounds above 10, missed beyond 10"),
        (Target(3, 30), "holds for a range from 10 to 10 or wider"),
    ],
)
def test_a_page_says_at_which_bound_a_claim_flips(target, says):
    assert flips(part([10.0, 10.0], target)) == says


def test_a_strip_has_a_dot_for_each_seed_in_their_order_and_the_target_behind():
    drawn = str(strip(part([1.0, 4.0, 2.0], Target(0.0, 3.0), published=1.5)))
    x = [float(at) for at in re.findall(r'<circle cx="([\d.]+)"', drawn)]
    [(left, width)] = re.findall(r'<rect class="target" x="([\d.]+)" y="2" width="([\d.]+)"', drawn)
    assert x[0] < x[2] < x[1]
    assert float(left) < x[0]
    assert x[2] < float(left) + float(width) < x[1], "the second seed misses the target"
    assert drawn.count("<line") == 1


def test_a_claim_is_run_alone_with_its_own_cases(here, capsys):
    """L8 compares two queues in one scenario, so that two cases are run and one claim is judged."""
    assert main(["reproduce", str(LEHTO), "L8", "L12", "--seeds", "2", "--out", "r"]) == 0
    printed = capsys.readouterr().out
    assert "4 runs" in printed
    page = (here / "r" / "claims" / "L8.html").read_text()
    assert "sojourn reproduce lehto-2005 L8 --seeds 2" in page
    assert page.count("<circle") == 2
    assert "s1.pd60" in page
    assert "<a href=claims/L8.html>" in (here / "r" / "report.html").read_text()
    assert sorted(each.name for each in (here / "r" / "claims").iterdir()) == ["L12.html", "L8.html"]


@pytest.mark.parametrize(
    ("paper", "claim", "figures"),
    [
        ("flower-2016", "F21", ["fig9a.pdf", "fig9a.png"]),
        ("cpc-2015", "S19", []),
        ("lehto-2005", "L2", ["fig4.pdf", "fig4.png", "ratio.pdf", "ratio.png"]),
    ],
    ids=[
        "Fig. 9b shows LEDBAT",
        "Fig. 7b shows buffers of 300 packets, too",
        "Fig. 4 shows another scenario, Fig. 5 all of them",
    ],
)
def test_a_claim_alone_has_the_figures_of_its_own_cases(here, capsys, paper, claim, figures):
    assert main(["reproduce", str(ROOT / "papers" / paper), claim, "--seeds", "1", "--out", "r"]) == 0
    printed = capsys.readouterr()
    assert "cannot be drawn" not in printed.out + printed.err
    assert sorted(each.name for each in (here / "r" / "figures").glob("*")) == figures


def test_a_page_shows_what_wrong_versions_do_to_the_claim_and_what_was_fitted_to_it():
    outcome = reproduce(load_experiment(LEHTO), ["L12"])
    [result] = outcome.results
    rows = [Row("a", "wrong sets", noticed=["L12"]), Row("b", "another queue", unmoved=["L12"])]
    page = claim_page(outcome, result, "report.html", Audit("lehto-2005", 2, {"L12": ""}, [], rows))
    assert "<td>wrong sets</td><td>noticed</td>" in page
    assert "<td>another queue</td><td>unmoved</td>" in page
    assert "<b>D5</b>" in page
    assert "href=../report.html#claim-L12" in page


def test_grids_and_claims_can_be_chosen_together_and_an_unknown_name_is_refused():
    experiment = load_experiment(LEHTO)
    chosen = choose(experiment, ["surfaces", "L8"])
    assert [each.id for each in chosen.grids] == ["surfaces", "variants"]
    assert {str(case) for each in chosen.grids for case in each.cases()} == {"s1.pd", "s1.pd60"}
    with pytest.raises(UserError, match='or a claim, got "L99"'):
        choose(experiment, ["L8", "L99"])
