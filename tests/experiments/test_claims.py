"""Claims: the results of each kind of part, reading and note, and rejected files."""

import shutil
from dataclasses import replace

import pytest

from sojourn.core.errors import UserError
from sojourn.core.record import Record
from sojourn.experiments import load_experiment, reproduce
from sojourn.experiments.functions import all_functions
from sojourn.experiments.judging import judge_claim
from sojourn.experiments.needs import cases_of
from sojourn.experiments.outcome import Outcome
from sojourn.experiments.verdict import Verdict
from tests.support.experiment_folder import OTHER_CLAIMS
from tests.support.source_tree import ROOT

CLAIM = """
[[claims]]
id = "C1"
where = "here"
text = "RED varies more"
reason = "A test."
"""


LEHTO = ROOT / "papers" / "lehto-2005"


def record_of(value, fingerprint):
    """A record with one value for all measures of the claims below."""
    queue = {"sd": value}
    return Record({"links": [{"name": "bottleneck", "queue": queue, "rate_bps": 1e7}], "fingerprint": fingerprint})


def one_claim(tmp_path, text):
    """Lehto's paper with one claim alone."""
    copy = tmp_path / "paper"
    shutil.copytree(LEHTO, copy, ignore=OTHER_CLAIMS)
    (copy / "claims.toml").write_text(text)
    return load_experiment(copy)


def verdict_on(experiment, values, published=False):
    """The first claim's result for these deviations of every queue, or the published one.

    There is one value for each seed.
    """
    table2 = experiment.grids["table2"]
    records = {
        case: [
            record_of(experiment.published[case.scenario, case.queue, "queue_sd"] if published else each, str(each))
            for each in values
        ]
        for case in table2.cases()
    }
    outcome = Outcome(experiment, [table2], list(range(len(values))), records)
    return judge_claim(experiment.claims[0], outcome, all_functions(outcome))


def test_seeds_that_give_the_same_run_are_one_run(tmp_path):
    experiment = one_claim(tmp_path, CLAIM + 'parts = [{ measure = "s3.red.queue_sd", holds = "> 3" }]')
    part = verdict_on(experiment, (33.33, 33.33, 33.33)).parts[0]
    assert part.same
    assert part.measured.n == 1
    assert part.measured_text == "33.33 (deterministic: one run)"
    part = verdict_on(experiment, (33.33, 33.33, 33.34)).parts[0]
    assert not part.same
    assert part.measured.n == 3


@pytest.mark.parametrize(
    ("below", "verdict"),
    [(0, Verdict.REPRODUCED), (1, Verdict.REPRODUCED), (4, Verdict.UNDECIDED), (10, Verdict.NOT_REPRODUCED)],
)
def test_an_order_can_be_judged_by_the_share_of_seeds(tmp_path, below, verdict):
    experiment = one_claim(
        tmp_path, CLAIM + 'parts = [{ measure = "s3.red.queue_sd", holds = "> 30", share_of_seeds = 0.5 }]'
    )
    result = verdict_on(experiment, [29 - i for i in range(below)] + [31 + i for i in range(10 - below)])
    assert result.verdict is verdict
    assert result.parts[0].measured.mean == (10 - below) / 10
    assert result.parts[0].part.target_text == "> 30 in 0.5 of the seeds or more"


def test_readings_that_disagree_are_counted_and_leave_the_claim_undecidable(tmp_path):
    experiment = one_claim(
        tmp_path,
        CLAIM
        + """
omitted = "which queue it means"
parts = [{ measure = "s3.red.queue_sd", holds = "> 20" }]
readings = [
  { label = "the linear law", replace = { red = "pd" } },
  { label = "scenario 1", replace = { "s3.red" = "s1.red" }, fit = true },
]
""",
    )
    result = verdict_on(experiment, (1.0,), published=True)
    assert [reading.verdict for reading in result.readings] == [
        Verdict.REPRODUCED,
        Verdict.NOT_REPRODUCED,
        Verdict.NOT_REPRODUCED,
    ]
    assert result.verdict is Verdict.NOT_DECIDABLE
    assert result.held == "reproduced under 1 of 3 readings, not reproduced under 2"
    assert {case.queue for case in result.cases} == {"red", "pd"}


def reading_in(tmp_path, scenarios):
    """A claim about single scenarios and a mean, under a reading.

    The reading is measured in some scenarios only.
    """
    return one_claim(
        tmp_path,
        CLAIM
        + f"""
omitted = "which queue it means"
parts = [
  {{ measure = "s1.red.queue_sd", holds = "> 0" }},
  {{ measure = "s3.red.queue_sd", holds = "> 0" }},
  {{ measure = "mean('s[1-4]', 'red', 'queue_sd')", holds = "> 0" }},
]
readings = [{{ label = "the linear law", replace = {{ red = "pd" }}, scenarios = "{scenarios}" }}]
""",
    )


def test_a_reading_can_be_measured_in_some_scenarios_alone(tmp_path):
    experiment = reading_in(tmp_path, "s[34]")
    other = verdict_on(experiment, (1.0,), published=True).readings[1]
    sd = {name: experiment.published[name, "pd", "queue_sd"] for name in ("s3", "s4")}
    assert [part.measured.mean for part in other.parts] == pytest.approx([sd["s3"], (sd["s3"] + sd["s4"]) / 2])
    assert {case.scenario for case in cases_of(experiment, experiment.claims[0]) if case.queue == "pd"} == {"s3", "s4"}


def test_a_part_that_a_reading_does_not_change_is_measured_in_all_scenarios(tmp_path):
    experiment = one_claim(
        tmp_path,
        CLAIM
        + """
omitted = "which queue it means"
parts = [
  { measure = "mean('s[1-4]', 'red', 'queue_sd')", holds = "> 0" },
  { measure = "mean('s[1-4]', 'fuzzy', 'queue_sd')", holds = "> 0" },
]
readings = [{ label = "the linear law", replace = { red = "pd" }, scenarios = "s[34]" }]
""",
    )
    usual, other = verdict_on(experiment, (1.0,), published=True).readings
    sd = {name: experiment.published[name, "pd", "queue_sd"] for name in ("s3", "s4")}
    assert other.parts[0].measured.mean == pytest.approx((sd["s3"] + sd["s4"]) / 2)
    assert other.parts[1].measured.mean == usual.parts[1].measured.mean


def test_a_reading_that_is_measured_nowhere_is_refused(tmp_path):
    experiment = reading_in(tmp_path, "t*")
    with pytest.raises(UserError, match=r"readings.scenarios: expected a pattern that fits all scenarios of some part"):
        cases_of(experiment, experiment.claims[0])


@pytest.mark.parametrize(
    ("rest", "says"),
    [
        (
            'parts = [{ measure = "max(115, 42)", published = 83 }]',
            'claims[C1].parts[1].measure: expected something that is measured or computed, got "max(',
        ),
        (
            'parts = [{ measure = "s3.red.drops", holds = "> 3", direction = "about" }]',
            'claims[C1].parts[1].direction: expected "> 3", ">= 3"',
        ),
        (
            'parts = [{ measure = "s3.red.drops", holds = "> 3", kind = "direction", direction = "> 0" }]',
            "claims[C1].parts[1].direction: expected a part that is a number, and no share, got another",
        ),
        (
            'omitted = "much"\nparts = [{ measure = "s3.red.drops", holds = "> 3" }]',
            "claims[C1].omitted and readings: expected both or neither, got one of them",
        ),
        (
            'omitted = "much"\nreadings = [{ label = "x", replace = { blue = "red" } }]\n'
            'parts = [{ measure = "s3.red.drops", holds = "> 3" }]',
            'claims[C1].readings.replace: expected a word of the measures, got "blue"',
        ),
        (
            'parts = [{ measure = "s3.red.drops", holds = "> 3" }]\n[[notes]]\nid = "C1"\n'
            'where = "x"\ntext = "y"\nreason = "z"',
            'notes[C1].id: expected a name used once, got "C1" again',
        ),
    ],
)
def test_a_wrong_claim_is_refused_in_one_line(tmp_path, rest, says):
    with pytest.raises(UserError) as error:
        one_claim(tmp_path, CLAIM + rest)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


FEWER = """
[[claims]]
id = "C1"
where = "here"
text = "One grid has two seeds, the other one three"
reason = "A test."
parts = [{ measure = "s3.pd.queue_sd", holds = "> 3" }, { measure = "s2.pd.queue_sd", holds = "> 3" }]
"""


def with_fewer_seeds(tmp_path, claims):
    """Two grids with a common case; one has two seeds and the other one three."""
    experiment = one_claim(tmp_path, claims)
    some = replace(experiment.grids["table2"], id="some", scenarios=["s2", "s3"], queues=["pd"], replications=2)
    more = replace(some, id="more", scenarios=["s3"], replications=3)
    return replace(experiment, grids={"some": some, "more": more})


def test_an_experiment_can_have_fewer_seeds_than_the_paper(tmp_path):
    experiment = with_fewer_seeds(tmp_path, FEWER)
    outcome = reproduce(experiment)
    assert {str(case): len(records) for case, records in outcome.records.items()} == {"s2.pd": 2, "s3.pd": 3}
    assert [part.measured.n for part in outcome.results[0].parts] == [3, 2]
    assert [outcome.replications(each) for each in outcome.grids] == [2, 3]
    assert len(outcome.runs()) == 5
    assert not outcome.shortened
    assert len(reproduce(experiment, "some").seeds) == 2
    assert reproduce(experiment, "some", 1).shortened == ["1 seed instead of 2"]
    assert {len(records) for records in reproduce(experiment, seeds=4).records.values()} == {4}


def test_a_measure_of_runs_with_other_seeds_is_refused_before_any_run(tmp_path):
    claims = FEWER.replace('"s3.pd.queue_sd"', '"s3.pd.queue_sd - s2.pd.queue_sd"')
    experiment = with_fewer_seeds(tmp_path, claims)
    with pytest.raises(UserError, match="expected equal numbers of seeds, that is replications"):
        cases_of(experiment, experiment.claims[0])
