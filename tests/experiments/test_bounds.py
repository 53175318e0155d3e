"""The parts of claims that cannot fail, computed from the ranges of their measures."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.core.ranges import Range
from sojourn.core.stats import estimate
from sojourn.experiments.bounds import cannot_fail, range_of, range_of_part
from sojourn.experiments.claims import Part
from sojourn.experiments.expression import evaluate
from sojourn.experiments.functions import all_functions
from sojourn.experiments.judging import _measure
from sojourn.experiments.outcome import Outcome
from sojourn.experiments.schema.experiment import Measure
from sojourn.experiments.schema.toml import check_table
from sojourn.experiments.verdict import Verdict, judge, parse_target
from tests.support.papers import papers

MEASURES = {
    "util": {"path": "links.bottleneck.utilization", "scale": 100},
    "drops": {"path": "links.bottleneck.dropped_total"},
    "share": {"share_of": ["groups.a.goodput_bps", "groups.b.goodput_bps"]},
    "slope": {"series": "queue/x", "column": "packets", "take": "slope"},
    "level": {"series": "queue/x", "column": "packets", "take": "mean"},
}
MEASURES = {name: check_table(table, Measure, "experiment.toml") for name, table in MEASURES.items()}


def sure(measure, holds):
    """Whether a part cannot fail."""
    return cannot_fail(Part(measure, parse_target(holds)), lambda name: MEASURES[name[-1]], {"design"})


@pytest.mark.parametrize(
    ("measure", "holds"),
    [
        ("a.b.util", "<= 100"),
        ("a.b.util / 100", "between 0 and 1"),
        ("a.b.drops", ">= 0"),
        ("a.b.drops + a.c.drops", "> -1"),
        ("max(a.b.share, 0.5)", "> 0.4"),
        ("abs(a.b.share - a.c.share)", "<= 1"),
        ("a.b.share ** 2", "between 0 and 1"),
        ("1 - a.b.share", "between 0 and 1"),
        ("met(a.b.share, a.c.slope)", "<= 2"),
        ("exp(-a.b.drops)", "<= 1"),
        ("a.b.level / (a.b.drops + 1)", ">= 0"),
    ],
)
def test_a_part_that_holds_whatever_is_measured_is_known(measure, holds):
    assert sure(measure, holds)


@pytest.mark.parametrize(
    ("measure", "holds"),
    [
        ("a.b.util", "< 100"),
        ("a.b.drops", "> 0"),
        ("a.b.drops - a.c.drops", "> 0"),
        ("a.b.slope", ">= -1e9"),
        ("abs(a.b.share - a.c.share)", "<= 0.9"),
        ("a.b.drops / a.c.drops", "<= 1e9"),
        ("design('x')", ">= 0"),
        ("a.b.share - a.b.share", "<= 0.5"),  # it cannot, but nothing here knows
    ],
)
def test_a_part_that_can_fail_is_not_said_to_be_sure(measure, holds):
    assert not sure(measure, holds)


VALUES = st.floats(0, 1)
EXPRESSIONS = st.sampled_from(
    [
        "a + b",
        "a - b",
        "a * b",
        "a / (b + 1)",
        "a / (b - 2)",
        "min(a, b) - 1",
        "max(a, -b)",
        "abs(a - b)",
        "(a - b) ** 2",
        "a ** 0.5",
        "-a * b",
        "exp(a - b)",
        "met(a - 0.5, b - 0.5)",
        "3 * a - 2 * b",
    ]
)


@given(VALUES, VALUES, EXPRESSIONS)
def test_a_range_has_every_value_that_there_can_be(a, b, text):
    value = float(evaluate(text, lambda name: {"a": a, "b": b}[name[0]]))
    unit = check_table(MEASURES["share"].model_dump(exclude={"label"}), Measure, "experiment.toml")
    low, high = value - 1e-9, value + 1e-9
    part = Part(
        text, parse_target(f"between {high!r} and {high + 1e6!r}") if math.isfinite(value) else parse_target("> 0")
    )
    assert not cannot_fail(part, lambda _: unit, set())
    part = Part(text, parse_target(f"between {low - 1e6!r} and {low!r}"))
    assert not cannot_fail(part, lambda _: unit, set())


def test_measures_have_the_ranges_of_what_they_are():
    found = {name: range_of(measure) for name, measure in MEASURES.items()}
    assert found == {
        "util": Range(0, 100),
        "drops": Range(0),
        "share": Range(0, 1),
        "slope": Range(),
        "level": Range(0),
    }


def within(part):
    return range_of_part(part, lambda name: MEASURES[name[-1]], {"design"})


def test_the_interval_of_a_part_ends_with_what_it_can_be():
    part = Part("a.b.util / 100", parse_target("between 0.7 and 1"))
    values = [0.9, 0.95, 1.0]
    assert judge(estimate(values), part.target) is Verdict.UNDECIDED  # up to 1.07
    assert judge(estimate(values, within=within(part)), part.target) is Verdict.REPRODUCED
    assert within(Part("a.b.util - a.c.util", part.target)) == Range(-100, 100)
    assert within(Part("design('x')", part.target)) == Range()
    cells = Part("", parse_target(">= 0.5"), cells=("a.b.drops", "a.c.drops"))
    assert within(cells) == Range(0, 1)


def test_no_claim_of_the_papers_has_a_part_that_cannot_fail():
    for experiment in papers():
        functions = set(all_functions(Outcome(experiment, [], [1], {})))
        for claim in experiment.claims:
            for part in claim.parts:
                named = (experiment.id, claim.id, part.measure)
                assert not cannot_fail(
                    part, lambda name, experiment=experiment: _measure(experiment, name), functions
                ), named
