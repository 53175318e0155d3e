"""Studies are folders: their features' values, and the folders of the project."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sojourn import _sojourn
from sojourn.cli import main
from sojourn.core.errors import UserError
from sojourn.core.record import Record
from sojourn.experiments import RunOptions, find_experiment, find_experiments, load_experiment, reproduce
from sojourn.experiments.figures import draw_figures
from sojourn.experiments.figures.ellipses import ellipse
from sojourn.experiments.judging import judge_claims
from sojourn.experiments.model import Case, Experiment
from sojourn.experiments.outcome import Outcome
from sojourn.experiments.own_queues import NOT_HERE, with_queues
from sojourn.experiments.readings import Reading, recovers, yields
from sojourn.experiments.report import build_page
from sojourn.experiments.reproduce import planned
from sojourn.experiments.scores import score_card
from sojourn.experiments.tables import table_of
from sojourn.experiments.verdict import Verdict

STUDY = """
id = "mine"
title = "Mine"
summary = "Two queues over four paths."
reference_queue = "tail"
replications = 3
quick = 1

[measures]
wait = { path = "links.bottleneck.wait_ms.mean", unit = "ms" }
used = { path = "links.bottleneck.utilization" }
saved = { formula = "tail.wait - wait", unit = "ms" }
first = { formula = "wait / p_2_10.tail.wait" }

[families.paths]
id = "p_{rate}_{rtt}"
label = "{rate}, {rtt}"
title = "a path"
file = "scenarios/base.toml"
over = { rate = ["2", "10"], rtt = ["10", "40"] }
[families.paths.set]
"links.bottleneck.rate" = "{rate} Mbit/s"
"links.bottleneck.delay" = "{rtt / 2} ms"
"links.bottleneck.queue.limit" = "{10 * rate} packets"

[queues]
tail = { label = "Tail", queue = { aqm = "droptail" } }
red = { label = "RED", queue = { aqm = "red" } }

[scores]
short = { label = "short", holds = { wait = "<= 0.5" } }
both = { label = "both", holds = { wait = "<= 0.5", used = ">= 0.9" } }

[grids.main]
title = "All"
scenarios = ["paths"]
queues = ["tail", "red"]
quick_scenarios = ["p_*_10"]

[grids.waits]
title = "Waits"
scenarios = ["p_2_*"]
queues = ["red"]
measures = ["wait"]
quick_scenarios = []

[[figures]]
id = "map"
kind = "heat"
grid = "main"
measure = "wait"
x = "rtt"
y = "rate"
good = [0.0, 4.0]
"""
BASE = """
duration = "2 s"
links = [{ name = "bottleneck", from = "a", to = "b", rate = "2 Mbit/s", delay = "5 ms", duplex = true }]
flows = [{ name = "f", from = "a", to = "b" }]
"""
SHARE = """
[[claims]]
id = "short"
where = "here"
text = "The wait is short"
reason = "A test."
[[claims.parts]]
measure = "p_{rate}_{rtt}.red.wait"
for = { rate = ["2", "10"], rtt = ["10", "40"] }
holds = "<= 4"
share = 0.9
in_part = 0.5
"""
ALONE = """
[[claims]]
id = "alone"
where = "here"
text = "The wait at 40 ms is short"
reason = "A test."
parts = [{ measure = "p_2_40.red.wait", holds = "<= 4" }]
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    (folder / "scenarios").mkdir(parents=True)
    (folder / "scenarios" / "base.toml").write_text(BASE)
    (folder / "experiment.toml").write_text(STUDY)
    (folder / "claims.toml").write_text(SHARE)
    return folder


def record(wait: float, used: float = 1.0) -> Record:
    link = {"name": "bottleneck", "wait_ms": {"mean": wait}, "utilization": used}
    return Record({"links": [link], "fingerprint": f"{wait}/{used}"})


def measured(experiment: Experiment, red: dict[str, list[float]], tail: float = 8.0, used: float = 1.0) -> Outcome:
    """An outcome with RED's waits by scenario and seed, and one wait of DropTail."""
    records = {
        Case(name, queue): [record(wait, used) if queue == "red" else record(tail + i) for i, wait in enumerate(waits)]
        for name, waits in red.items()
        for queue in ("tail", "red")
    }
    seeds = list(range(1, 1 + max(map(len, red.values()))))
    return Outcome(experiment, list(experiment.grids.values()), seeds, records)


def paths(*waits: float) -> dict[str, list[float]]:
    return {name: [wait] for name, wait in zip(("p_2_10", "p_2_40", "p_10_10", "p_10_40"), waits, strict=True)}


@pytest.mark.parametrize(
    ("waits", "verdict"),
    [
        ((1, 1, 1, 4), Verdict.REPRODUCED),
        ((1, 1, 1, 5), Verdict.IN_DIRECTION),
        ((1, 1, 5, 5), Verdict.IN_DIRECTION),
        ((1, 5, 5, 5), Verdict.NOT_REPRODUCED),
    ],
)
def test_a_claim_about_cells_holds_in_part_from_the_smaller_share_on(
    study: Path, waits: tuple[float, ...], verdict: Verdict
) -> None:
    outcome = measured(load_experiment(study), paths(*waits))
    judge_claims(outcome, outcome.experiment.claims)
    assert outcome.results[0].verdict is verdict
    target = outcome.results[0].parts[0].part.target_text
    assert target == "≤ 4 in 4 of 4 cells or more, in part in 2"


@pytest.mark.parametrize(("of_seeds", "verdict"), [("median", Verdict.REPRODUCED), ("mean", Verdict.NOT_REPRODUCED)])
def test_a_cell_is_the_mean_or_the_median_of_its_seeds(study: Path, of_seeds: str, verdict: Verdict) -> None:
    (study / "claims.toml").write_text(SHARE + f'of_seeds = "{of_seeds}"\n')
    waits = {name: [1.0, 2.0, 30.0] for name in paths(0, 0, 0, 0)}  # the median is 2, the mean 11
    outcome = measured(load_experiment(study), waits)
    judge_claims(outcome, outcome.experiment.claims)
    assert outcome.results[0].verdict is verdict


def test_a_smaller_share_must_be_below_the_share(study: Path) -> None:
    (study / "claims.toml").write_text(SHARE.replace("0.5", "0.9"))
    with pytest.raises(UserError, match=r"in_part: expected less than share, got 0\.9"):
        load_experiment(study)


def test_a_formula_takes_measures_of_another_queue_and_of_another_case_seed_by_seed(study: Path) -> None:
    outcome = measured(load_experiment(study), {"p_2_10": [1.0, 2.0, 3.0], "p_10_10": [4.0, 4.0, 4.0]})
    assert outcome.values(Case("p_10_10", "red"), "saved").tolist() == [4.0, 5.0, 6.0]  # 8, 9 and 10 less 4
    assert outcome.values(Case("p_10_10", "red"), "first").tolist() == [4 / 8, 4 / 9, 4 / 10]


def test_a_formula_without_its_other_case_has_no_value_in_a_table(study: Path) -> None:
    outcome = measured(load_experiment(study), {"p_10_10": [4.0]})
    assert np.isnan(outcome.shown(Case("p_10_10", "red"), "first")).all()


def test_a_formula_of_an_unknown_queue_is_refused(study: Path) -> None:
    file = study / "experiment.toml"
    file.write_text(file.read_text().replace('"tail.wait - wait"', '"tial.wait - wait"'))
    with pytest.raises(UserError, match=r"measures\.saved\.formula: expected one of wait, used, got \"tial\.wait\""):
        load_experiment(study)


def test_a_quick_look_judges_the_scenarios_that_it_runs(study: Path) -> None:
    (study / "claims.toml").write_text(SHARE + ALONE)
    outcome = reproduce(load_experiment(study), options=RunOptions(quick=True))
    assert {case.scenario for case in outcome.records} == {"p_2_10", "p_10_10"}
    assert [(result.claim.id, len(result.parts[0].part.cells)) for result in outcome.results] == [("short", 2)]
    assert [claim.id for claim in outcome.skipped] == ["alone"]
    assert [each.id for each in outcome.grids] == ["main"]
    assert "1 seed instead of 3; 4 of 10 cases" in outcome.caution
    assert outcome.part == ""


def test_a_whole_run_does_not_judge_shares_over_a_part_of_the_cells(study: Path) -> None:
    outcome = measured(load_experiment(study), {"p_2_10": [1.0]})
    judge_claims(outcome, outcome.experiment.claims)
    assert [claim.id for claim in outcome.skipped] == ["short"]


def test_a_field_inside_the_queue_changes_the_queue_that_is_put_there(study: Path) -> None:
    experiment = load_experiment(study)
    for rate, limit in (("2", "20 packets"), ("10", "100 packets")):
        queue = experiment.scenario(Case(f"p_{rate}_10", "red")).get_path("links.bottleneck.queue")
        assert queue == {"aqm": "red", "limit": limit}


def test_a_score_counts_where_the_means_meet_its_targets_against_the_reference(study: Path) -> None:
    card = score_card(measured(load_experiment(study), paths(4, 4.1, 1, 1), used=0.8))
    assert card is not None
    assert [(row.queue, row.texts) for row in card.rows] == [("RED", ["3 of 4", "0 of 4"])]
    assert [grid.id for grid in card.uncounted] == ["waits"]
    kept = score_card(measured(load_experiment(study), paths(4, 4.1, 1, 1), used=0.9))
    assert kept is not None
    assert kept.rows[0].counts == [3, 3]


def test_a_score_needs_a_reference_and_known_measures(study: Path) -> None:
    file = study / "experiment.toml"
    text = file.read_text()
    file.write_text(text.replace('reference_queue = "tail"', ""))
    with pytest.raises(UserError, match=r"scores\.short: expected a reference_queue, got none"):
        load_experiment(study)
    file.write_text(text.replace('holds = { wait = "<= 0.5" }', 'holds = { delay = "<= 0.5" }'))
    with pytest.raises(UserError, match=r"scores\.short\.holds: expected one of wait, used, .*got \"delay\""):
        load_experiment(study)


def test_a_number_that_may_be_that_of_the_reference_is_gray(study: Path) -> None:
    experiment = load_experiment(study)
    # Differences of 4, 4.1 and 3.9 from DropTail's 8, 9 and 10, and of -3, 0 and 3.
    outcome = measured(experiment, {"p_2_10": [4.0, 4.9, 6.1], "p_10_10": [11.0, 9.0, 7.0]})
    outcome.grids[:] = [experiment.grids["main"].quick()]
    table = table_of(outcome, outcome.grids[0])
    assert table is not None
    assert [row.cells[0].alike for row in table.rows] == [False, False, False, True]


def test_a_map_has_the_median_of_each_cell_and_bold_letters_where_it_is_good(study: Path) -> None:
    (study / "experiment.toml").write_text(STUDY)
    waits = {name: [value, value, 90.0] for name, (value,) in paths(1, 3, 5, 7).items()}
    (drawn,) = draw_figures(measured(load_experiment(study), waits))
    texts = {
        axes.get_title(): [(each.get_text(), each.get_fontweight()) for each in axes.texts]
        for axes in drawn.figure.axes
    }
    assert texts["RED"] == [("1", "bold"), ("3", "bold"), ("5", "normal"), ("7", "normal")]


def test_an_ellipse_spans_a_deviation_each_way() -> None:
    rows = np.array([[10.0, 8.0], [30.0, 8.0], [20.0, 7.0], [20.0, 9.0]])
    found = ellipse(rows, "black")
    assert sorted((found.width, found.height)) == pytest.approx([2 * np.sqrt(2 / 3), 2 * np.sqrt(200 / 3)])


def test_shards_of_a_study_fill_the_cache_from_which_the_whole_study_is_read(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["study", str(study), "waits", "--cache", str(tmp_path / "cache"), "--out", str(tmp_path / "out")]
    assert [main([*command, "--shard", f"{number}/2"]) for number in (1, 2)] == [0, 0]
    said = capsys.readouterr().out
    done = [int(line.split(": ")[1].split()[0]) for line in said.splitlines() if "shard" in line]
    assert sum(done) == 6  # two scenarios with three seeds
    assert not (tmp_path / "out").exists()
    assert main(command) == 0
    assert "6 runs, 6 of them from the cache" in capsys.readouterr().out


def rates(*values: float) -> tuple[np.ndarray, np.ndarray]:
    """Rates in Mbit/s, one a second."""
    return np.arange(1.0, len(values) + 1), np.array(values)


EVENT = Reading("", "", "", than=1.0, event=(60.0, 120.0), span=4.0, share=0.9)


def test_a_flow_yields_when_it_stays_below_the_level_while_the_event_lasts() -> None:
    alone, busy, low = [9.6] * 60, [3.0] * 10, [0.5] * 50
    # The mean over four samples looks two ahead and one back.
    assert abs(yields(*rates(*alone, *busy, *low, *alone), EVENT) - 10) <= 2
    assert yields(*rates(*alone, *([0.0] * 60), *alone), EVENT) <= 2
    assert np.isnan(yields(*rates(*alone, *([3.0] * 60), *alone), EVENT))


def test_a_flow_recovers_when_it_has_its_share_of_what_it_had_before_the_event() -> None:
    assert recovers(*rates(*[8.0] * 60, *[0.5] * 60, *[4.0] * 7, *[7.5] * 53), EVENT) == 8
    assert np.isnan(recovers(*rates(*[8.0] * 60, *[0.5] * 60, *[4.0] * 60), EVENT))


# The studies that come with the project.


@pytest.mark.parametrize("experiment", find_experiments("studies"), ids=lambda experiment: experiment.id)
def test_every_case_of_a_study_can_be_planned(experiment: Experiment) -> None:
    for grid in experiment.grids.values():
        for case in grid.cases():
            assert experiment.scenario(case).canonical()


def test_the_study_of_l4s_has_305_cases_and_a_quick_look_at_it_52() -> None:
    l4s = find_experiment("l4s")
    counts = [len(planned(l4s, None, None, RunOptions(quick=quick)).asked) for quick in (False, True)]
    assert counts == [305, 52]
    assert {claim.id: len(claim.parts[0].cells) for claim in l4s.claims}["windows-fast"] == 30


@pytest.fixture(scope="module")
def disciplines() -> Experiment:
    """The study of RFC 7928 with every discipline of the simulator."""
    names = [each["name"] for each in json.loads(_sojourn.registry())["aqm"] if each["name"] not in NOT_HERE]
    return with_queues(find_experiment("rfc7928"), ",".join(names))


def test_every_discipline_can_be_planned_in_every_situation_or_says_why_not(
    disciplines: Experiment,
) -> None:
    refused = {case for grid in disciplines.grids.values() for case in grid.refused}
    assert {case.scenario for case in refused} == {"udp", "burst_8", "burst_64"}


def test_a_quick_look_with_other_queues_says_what_it_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--queues", "fuzzy-rtt,red(min=5,max=15)", "--no-cache", "--seeds", "1", "--out", str(tmp_path)]
    assert main(["study", "rfc7928", "unresponsive", *asked]) == 0
    said = capsys.readouterr()
    assert "not run: fuzzy-rtt in udp, burst_8, burst_64: expected TCP flows" in said.err
    assert "red(min=5,max=15)" in said.out
    assert "1 of 1" in said.out
    page = (tmp_path / "report.html").read_text()
    assert "red(min=5,max=15)" in page
    assert page.count("data:image/svg+xml;base64,") == 1


@pytest.mark.parametrize(
    ("queues", "said"),
    [
        ("redd", "expected one of"),
        ("red(mim=5)", 'queues "red(mim=5)": '),
        ("codel(target=10)", 'queues "codel(target=10)": target: expected'),
        ("linux", 'queues "linux": expected a queue of the simulator'),
        ("droptail", "queues: expected one or more to compare with droptail"),
        ("", "expected one or more"),
    ],
)
def test_a_queue_that_cannot_be_run_is_one_line(
    queues: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["study", "rfc7928", "--queues", queues, "--out", str(tmp_path)]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert len(shown.strip().splitlines()) <= 2, shown


def test_queues_without_a_subject_have_a_score_card_and_no_verdicts_on_clauses() -> None:
    rfc7928 = with_queues(find_experiment("rfc7928"), "red")
    page = build_page(reproduce(rfc7928, "same_window", seeds=1), [])
    assert "Score card" in page
    assert 'id="clauses"' not in page
    assert "Queue disciplines by RFC 7928: " not in page
