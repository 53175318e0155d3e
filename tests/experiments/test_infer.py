"""`sojourn infer`: values that a paper omits, searched against its figures."""

import csv
import shutil
import tomllib

import numpy as np
import pytest
import tomli_w

from sojourn.cli import main
from sojourn.experiments import RunOptions, load_experiment
from sojourn.experiments.claims import Part
from sojourn.experiments.infer import FAR, Inference, Point, Search, changes, distance, infer, search_of, sobol_points
from sojourn.experiments.model import Case
from sojourn.experiments.verdict import Tolerance, Verdict, parse_target
from sojourn.runs.store import Store
from tests.support.experiment_folder import OTHER_CLAIMS
from tests.support.source_tree import ROOT

LEHTO = ROOT / "papers" / "lehto-2005"
CLAIMS = """
[[claims]]
id = "mean"
where = "here"
text = "The queue of PD is 40 packets long"
reason = "A test."
parts = [
  { measure = "s1.pd.queue_mean", published = 40, absolute = 3 },
  { measure = "s1.pd.queue_mean - s1.red.queue_mean", holds = "> 0" },
]

[[claims]]
id = "never"
where = "here"
text = "Nothing is carried"
reason = "A test."
parts = [{ measure = "s1.pd.throughput", holds = "< 1" }]

[[claims]]
id = "red"
where = "here"
text = "RED drops"
reason = "A test."
parts = [{ measure = "s1.red.drops", holds = "> 0" }]
"""
OMITTED = """
[[omitted]]
id = "set-point"
label = "PD's set point, in packets"
between = [20, 60]
queues = ["pd"]
set = { "links.bottleneck.queue.target" = "{x}" }
"""


@pytest.fixture
def folder(tmp_path):
    """Lehto's paper without PD's set point, with short runs."""
    copy = tmp_path / "papers" / "inferred"
    shutil.copytree(LEHTO, copy, ignore=OTHER_CLAIMS)
    (copy / "claims.toml").write_text(CLAIMS)
    experiment = tomllib.loads((copy / "experiment.toml").read_text()) | tomllib.loads(OMITTED)
    experiment["grids"]["table2"]["quick_set"] = {"duration": "14 s", "warmup": "4 s"}
    experiment.pop("draws", None)
    (copy / "experiment.toml").write_text(tomli_w.dumps(experiment))
    return copy


def test_the_set_point_of_a_controller_is_found_from_its_queue(folder, tmp_path):
    search = search_of(load_experiment(folder), "table2", ["mean"], quick=True, seeds=1)
    assert [str(case) for case in search.moved] == ["s1.pd"]
    assert {str(case) for case in search.over} == {"s1.pd", "s1.red"}
    found = infer(search, 16, RunOptions(cache=Store(tmp_path / "cache")))
    values = [point.values[0] for point in found.fitting]
    assert values
    assert all(36 < value < 50 for value in values)
    assert 36 < found.best.values[0] < 50
    low, middle, high = found.quantiles(0, (0.05, 0.5, 0.95))
    assert 34 < low <= middle <= high < 52
    assert found.chosen.verdicts == (Verdict.NOT_REPRODUCED,)  # 30, as the paper has it
    assert found.best.verdicts == (Verdict.REPRODUCED,)


def test_a_longer_search_continues_the_shorter_one(folder, tmp_path):
    search = search_of(load_experiment(folder), "table2", ["mean"], quick=True, seeds=1)
    options = RunOptions(cache=Store(tmp_path / "cache"))
    few = infer(search, 3, options)
    stored = len(Store(tmp_path / "cache"))
    more = infer(search, 5, options)
    assert more.points[:3] == few.points
    assert len(Store(tmp_path / "cache")) == stored + 2


def test_infer_prints_what_fits_how_well_and_what_it_changes(folder, here, capsys):
    assert main(["infer", str(folder), "table2", "--points", "8", "--seeds", "1", "--quick", "--out", "r"]) == 0
    printed = capsys.readouterr().out
    assert "no point meets all 3 parts; the best meets 2, as chosen 0" in printed
    assert "(never)" in printed
    assert "20 … 60" in printed
    assert "the posterior rests on" in printed
    rows = list(csv.DictReader((here / "r" / "infer-table2.csv").open()))
    assert len(rows) == 8
    assert sum(float(row["weight"]) for row in rows) == pytest.approx(1)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["table2", "--claim", "nobody"], '--claim: expected one of mean, never, red, got "nobody"'),
        (["table2", "--claim", "red"], 'expected one that rests on table2 and on what is omitted, got "red"'),
        (["none"], 'got "none"'),
        (["surfaces"], "experiment.toml: omitted: expected values that surfaces depends on, got none"),
        (["table2", "--points", "0"], "--points: expected 1 to 4096, got 0"),
        (["variants", "--claim", "mean"], 'expected one that rests on variants and on what is omitted, got "mean"'),
    ],
)
@pytest.mark.usefixtures("here")
def test_a_search_without_a_question_is_refused_in_one_line(folder, arguments, says, capsys):
    assert main(["infer", str(folder), *arguments]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1


def part(target):
    """A part with this target."""
    return Part("x", target)


def test_a_distance_of_one_is_the_edge_of_a_range():
    target = Tolerance(absolute=2.0).around(10)
    assert distance(np.array([10.0, 12.0, 8.0, 14.0, np.nan]), part(target)).tolist() == [0, 1, 1, 2, FAR]


def test_an_inequality_that_holds_has_no_distance_and_else_one_in_standard_deviations():
    means = np.array([5.0, 1.0, 3.0, np.nan])
    found = distance(means, part(parse_target("> 3")))
    assert found[0] == 0
    assert found[1] == pytest.approx(2 / np.std(means[:3]))
    assert found[3] == FAR
    assert distance(np.array([7.0, 7.0]), part(parse_target("< 3"))).tolist() == [4, 4]


def test_a_share_of_seeds_is_as_far_as_it_lacks():
    shared = Part("x", parse_target("> 1000"), share_of_seeds=0.5)
    assert (distance(np.array([1.0, 0.5, 0.0]), shared) > 0).tolist() == [False, False, True]


def test_points_fill_the_cube_evenly_and_are_always_the_same():
    found = sobol_points(3, 64)
    assert found.shape == (64, 3)
    for column in found.T:
        assert np.histogram(column, bins=8, range=(0, 1))[0].tolist() == [8] * 8
    assert np.array_equal(sobol_points(3, 10), found[:10])
    assert np.round(sobol_points(1, 2).ravel(), 6).tolist() == [0.618034, 0.118034]


def test_the_posterior_weighs_points_by_their_distance_and_counts_them(folder):
    experiment = load_experiment(folder)
    search = Search(experiment, list(experiment.file.omitted), experiment.claims[:1], {}, [1])
    target = Tolerance(absolute=1.0).around(0)
    points = [
        Point((value,), (mean,), (abs(mean) <= 1,), (Verdict.REPRODUCED,))
        for value, mean in ((1.0, 0.0), (2.0, 1.0), (3.0, 9.0))
    ]
    found = Inference(search, [("mean", part(target))], points[0], points)
    assert found.weights.tolist() == pytest.approx([0.622459, 0.377541, 0], abs=1e-6)
    assert found.effective == pytest.approx(1 / (0.622459**2 + 0.377541**2), rel=1e-5)
    assert found.quantiles(0, (0.05, 0.5, 0.95)) == [1.0, 1.0, 2.0]
    assert found.fitting == points[:2]
    assert found.best is points[0]
    assert found.reproduced_share(0) == pytest.approx(2 / 3)
    assert found.value_range(0) == (0, 9)


def test_a_value_changes_only_the_runs_that_it_names(folder):
    search = search_of(load_experiment(folder), "table2")
    assert changes(search, (40.0,), Case("s1", "pd")) == {"links.bottleneck.queue.target": 40.0}
    assert changes(search, (40.0,), Case("s1", "red")) == {}


def test_the_search_takes_the_place_of_a_claims_readings(folder):
    with (folder / "claims.toml").open("a") as file:
        file.write("""
[[claims]]
id = "read"
where = "here"
text = "The queue of PD is 40 packets long"
reason = "A test."
omitted = "the set point"
parts = [{ measure = "s1.pd.queue_mean", published = 40, absolute = 3 }]
readings = [{ label = "60", replace = { pd = "pd60" } }]
""")
    search = search_of(load_experiment(folder), "table2")
    (found,) = [claim for claim in search.claims if claim.id == "read"]
    assert found.readings == ()
    assert Case("s1", "pd60") not in search.over
