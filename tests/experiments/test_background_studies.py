"""The studies of background transport, and their comparison of pairs."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from sojourn import _sojourn
from sojourn._sojourn import ScenarioError
from sojourn.cli import main
from sojourn.core.errors import UserError
from sojourn.core.record import Record
from sojourn.experiments import Experiment, Outcome, RunOptions, find_experiment, load_experiment, reproduce
from sojourn.experiments.model import Case
from sojourn.experiments.own_queues import with_queues
from sojourn.experiments.pairs import best_of, is_better, pair_table
from sojourn.experiments.tables import table_of
from sojourn.runs.runner import Job, run_jobs

PAIRS = """
id = "pairs"
title = "Pairs"
[measures]
use = { path = "links.bottleneck.utilization", scale = 100, unit = "%%", better = "more", least = 1.0 }
late = { path = "links.bottleneck.wait_ms.mean", unit = "ms", better = "less", least = 0.5, never = 60.0 }
[families.paths]
id = "p_{rate}"
label = "{rate}"
title = "a path"
file = "base.toml"
over = { rate = [%s] }
[queues]
a = { queue = { aqm = "droptail" } }
b = { queue = { aqm = "red" } }
c = { queue = { aqm = "codel" } }
[grids.all]
title = "All"
scenarios = ["paths"]
queues = ["a", "b"]
measures = ["use", "late"]
pairs = true
"""
BASE = """
duration = "2 s"
links = [{ name = "bottleneck", from = "a", to = "b", rate = "2 Mbit/s", duplex = true }]
flows = [{ name = "f", from = "a", to = "b" }]
"""


def experiment(folder: Path, paths: int = 1) -> Experiment:
    (folder / "base.toml").write_text(BASE)
    (folder / "experiment.toml").write_text(PAIRS % ", ".join(f'"{number}"' for number in range(paths)))
    (folder / "claims.toml").write_text("")
    return load_experiment(folder)


def record(use: float, late: float | None) -> Record:
    link = {"name": "bottleneck", "utilization": use / 100, "wait_ms": {"mean": late}}
    return Record({"links": [link], "fingerprint": f"{use}/{late}"})


def measured(found: Experiment, **use: list[float]) -> Outcome:
    """An outcome of one path in which queues use these shares of the link, seed by seed."""
    records = {Case("p_0", queue): [record(value, 1.0) for value in values] for queue, values in use.items()}
    return Outcome(found, list(found.grids.values()), list(range(len(next(iter(use.values()))))), records)


def best(found: Experiment, **use: list[float]) -> set[str]:
    outcome = measured(found, **use)
    return {case.queue for case in best_of(outcome, found.measures["use"], list(outcome.records))}


def test_the_best_are_significantly_better_than_every_other(tmp_path: Path) -> None:
    found = experiment(tmp_path)
    clear = {"a": [90.0, 91.0, 92.0], "b": [80.0, 81.0, 82.5]}
    assert best(found, **clear, c=[80, 85, 81]) == {"a"}
    assert best(found, **clear, c=[70, 95, 81]) == set(), "c is undecided"
    assert best(found, a=[90, 91, 92], b=[89.5, 90.5, 91.5]) == set(), "half a percent does not count"
    assert best(found, a=[90, 91, 92], b=[90, 91, 92], c=[80, 81, 82.5]) == {"a", "b"}, "equals share it"
    tie = {"a": [90.0, 91.0, 92.0], "b": [89.5, 90.5, 91.5]}
    assert best(found, **tie, c=[80, 81, 82.5]) == {"a", "b"}, "they differ by less than counts, and c is worse"
    assert best(found, a=[90], b=[10]) == set(), "one seed has no interval"


def test_differences_are_paired_by_seed(tmp_path: Path) -> None:
    assert best(experiment(tmp_path), a=[10, 50, 90], b=[8, 48, 88.1]) == {"a"}


def test_what_never_happens_counts_as_the_longest_time_waited_for(tmp_path: Path) -> None:
    found = experiment(tmp_path)
    late: dict[str, list[float | None]] = {"a": [1, 1.5, 1], "b": [None, None, None], "c": [4, None, 4.5]}
    cases = {queue: Case("p_0", queue) for queue in late}
    records = {cases[queue]: [record(50, value) for value in values] for queue, values in late.items()}
    grid = found.grids["all"]
    grid.queues.append("c")
    outcome = Outcome(found, [grid], [1, 2, 3], records)
    assert is_better(outcome, found.measures["late"], cases["a"], cases["b"])
    assert not is_better(outcome, found.measures["late"], cases["a"], cases["c"]), "one of three seeds decides nothing"
    table = table_of(outcome, grid)
    assert table is not None
    assert [row.cells[1].text for row in table.rows] == [
        "1.17 ± 0.72",
        "never",
        "4.25 ± 3.18 (never in 1 of 3)",
    ]


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [(0, 0, "no difference"), (1, 0, "no difference"), (2, 0, "better"), (0, 2, "worse"), (2, 2, "depends")],
)
def test_a_pair_is_better_only_if_it_wins_more_cells_than_chance_explains(
    tmp_path: Path, first: int, second: int, verdict: str
) -> None:
    found = experiment(tmp_path, paths=20)  # chance explains one of twenty
    wins = {"a": range(first), "b": range(20 - second, 20)}
    records = {
        Case(f"p_{path}", queue): [record(50 + seed + (9 if path in wins[queue] else 0), 1.0) for seed in (0, 1, 2)]
        for path in range(20)
        for queue in ("a", "b")
    }
    outcome = Outcome(found, list(found.grids.values()), [1, 2, 3], records)
    table = pair_table(outcome, found.grids["all"])
    assert table is not None
    whole, *levels = table.rows
    assert (whole.found[0].better, whole.found[0].worse, whole.found[0].verdict) == (first, second, verdict)
    assert whole.found[0].advantage == pytest.approx(9 * (first - second) / 20)
    assert [row.label for row in levels] == [f"rate {path}" for path in range(20)]
    assert sum(row.found[0].better for row in levels) == first


# The studies.


def test_cubic_in_place_of_cubic_neither_gains_nor_loses_and_a_background_flow_yields() -> None:
    outcome = reproduce(with_queues(find_experiment("lbe"), "cubic,ledbat++"), seeds=1)
    card = {
        name: [outcome.mean(Case("bulk", queue), name) for queue in ("cubic", "ledbat++")]
        for name in ("G", "L", "delivered", "yields", "under_droptail")
    }
    assert card["G"][0] == 0 > card["G"][1]
    assert card["L"][0] == 0 > card["L"][1]
    assert card["delivered"][0] == 100
    assert math.isnan(card["yields"][0])
    assert card["yields"][1] < 5
    assert card["under_droptail"][1] < 10 < card["under_droptail"][0]


def test_jains_index_is_one_half_if_one_of_two_has_all() -> None:
    lbe = find_experiment("lbe")

    def index(one: float, two: float) -> float:
        times = np.arange(90.5, 180.5)
        series = {
            f"throughput/{name}/0": {"t": times, "bps": np.full(90, rate)}
            for name, rate in (("one", one), ("two", two))
        }
        runs = {Case("latecomer", "ledbat"): [Record({"warmup_s": 0.0, "fingerprint": "x"}, series)]}
        outcome = Outcome(lbe, [], [1], {Case("bulk", "ledbat"): [Record({"fingerprint": "y"})], **runs})
        return outcome.mean(Case("bulk", "ledbat"), "jain")

    assert index(5e6, 5e6) == 1
    assert index(9e6, 0.0) == 0.5


def test_the_route_takes_eighty_milliseconds_less_for_a_minute() -> None:
    scenario = with_queues(find_experiment("lbe"), "tcp-lp").scenario(Case("route", "tcp-lp"))
    run = next(iter(run_jobs([Job(scenario, 1)])))
    assert abs(float(run["flows"][0]["rtt_ms"]["min"]) - 42.4) < 1.2, "20 to 21 ms each way and 1.4 ms to send"
    assert float(run["flows"][0]["rtt_ms"]["max"]) > 121


def test_a_record_says_what_delays_were_read_from_and_a_receiver_that_measures_by_stamps_needs_them() -> None:
    def alone(control: str, stamps: bool) -> Job:
        scenario = with_queues(find_experiment("lbe"), control).scenario(Case("losses", control))
        return Job(scenario.set_all({"duration": "20 s", "tcp.timestamps": stamps}), 1)

    stamped, bare = run_jobs([alone("flower", True), alone("flower", False)])
    assert [run["flows"][0]["delay_source"] for run in (stamped, bare)] == ["one-way", "round-trip"]
    with pytest.raises(ScenarioError, match=r"tcp\.timestamps: expected true, .*rledbat.*, got false"):
        list(run_jobs([alone("rledbat", False)]))


def test_the_grid_has_81_cells_and_a_number_for_every_measure() -> None:
    study = with_queues(find_experiment("lbe-grid"), "ledbat,ledbat++")
    assert len(study.grids["cells"].scenarios) == 81
    outcome = reproduce(study, seeds=2, options=RunOptions(quick=True))
    cells = outcome.cells(outcome.grid("cells"))
    assert len(cells) == 3 * 2 * 6  # targets, controllers, measures
    assert np.isfinite(cells["mean"]).all()


def test_a_controller_without_a_target_is_refused_in_the_grid() -> None:
    with pytest.raises(UserError, match=r'queues "reno": '):
        with_queues(find_experiment("lbe-grid"), "reno")


def with_mark_gain() -> set[str]:
    choices = json.loads(_sojourn.schema())["$defs"]["Control"]["oneOf"]
    return {each["properties"]["cc"]["const"] for each in choices if "mark_gain" in each["properties"]}


def test_the_study_of_marking_queues_has_every_controller_that_counts_marks() -> None:
    assert {each.table["cc"] for each in find_experiment("lbe-marks").queues.values()} == with_mark_gain()


def test_a_background_flow_that_counts_marks_uses_the_link_alone_and_yields_to_prague() -> None:
    study = with_queues(find_experiment("lbe-marks"), "ledbat++,flower+")
    outcomes = [reproduce(study, grid, options=RunOptions(quick=True)) for grid in ("prague", "cubic")]
    for name in ("ledbat++", "flower+"):
        prague, cubic = (
            {
                (way, measure): outcome.mean(Case(f"{other}_40_20", name, way), measure)
                for way in ("classic", "losses", "")
                for measure in outcome.grids[0].measures
            }
            for other, outcome in zip(("prague", "cubic"), outcomes, strict=True)
        )
        # As losses, marks leave most of the link idle; the classic queue keeps its part of the link from Prague.
        assert prague["", "alone"] > 2 * prague["losses", "alone"]
        assert prague["", "share"] < min(10, 0.5 * prague["classic", "share"])
        assert cubic["", "share"] < cubic["classic", "share"]
        assert prague["", "yields"] < 5


def test_a_larger_gain_for_marks_uses_less_of_the_link_alone_and_takes_no_more_from_prague() -> None:
    study = with_queues(find_experiment("lbe-marks"), "ledbat++")
    found = {}
    for kind, measure in (("alone", "gain_alone"), ("shared", "gain_share")):
        outcome = reproduce(study, f"{kind}_dualpi2", options=RunOptions(quick=True))
        found[kind] = [outcome.mean(Case(f"{kind}_dualpi2_20_{gain}", "ledbat++"), measure) for gain in (1, 16)]
    assert found["alone"][1] < found["alone"][0] - 10
    assert found["shared"][1] <= found["shared"][0]


def test_a_score_card_of_two_controllers_shows_their_pair(tmp_path: Path) -> None:
    asked = ["--queues", "ledbat,ledbat++", "--seeds", "2", "--no-cache", "--out", str(tmp_path)]
    assert main(["study", "lbe", *asked]) == 0
    assert "ledbat against ledbat++" in (tmp_path / "report.html").read_text()
    assert (tmp_path / "tables" / "card-pairs.csv").exists()
    assert "| yields within (s) |" in (tmp_path / "tables" / "card.md").read_text()
