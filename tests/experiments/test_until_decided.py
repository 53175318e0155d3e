"""`--until-decided` doubles the seeds; looking again decides no claim by chance."""

import shutil
import sys

import numpy as np
import pytest

from sojourn.core.record import Record
from sojourn.core.stats import estimate, share_of
from sojourn.experiments import RunOptions, load_experiment
from sojourn.experiments.reproduce import until_decided
from sojourn.experiments.verdict import Target, Verdict, judge
from tests.support.experiment_folder import OTHER_CLAIMS
from tests.support.source_tree import ROOT

CLAIM = """
[[claims]]
id     = "C1"
where  = "here"
text   = "RED's queue varies by more than 3 packets"
reason = "A test."
parts  = [{ measure = "s3.red.queue_sd", holds = "> 3" }]
"""


def with_claim(folder):
    """Lehto's paper with one claim alone."""
    shutil.copytree(ROOT / "papers" / "lehto-2005", folder, ignore=OTHER_CLAIMS)
    (folder / "claims.toml").write_text(CLAIM)
    return load_experiment(folder)


@pytest.fixture
def measured(monkeypatch):
    """Lets a run measure the value of its seed; keeps the number of seeds of each look."""
    looks: list[int] = []

    def start(values):
        def run_jobs(jobs, take, progress, **_):
            progress(1, 1)
            looks.append(len(jobs))
            for index, job in enumerate(jobs):
                take(index, record_of(float(values[job.seed - 1])))

        looks.clear()
        monkeypatch.setattr(sys.modules[until_decided.__module__], "run_jobs_of", run_jobs)
        return looks

    return start


def record_of(value):
    """The record of a run whose queue has this deviation."""
    return Record({"links": [{"name": "bottleneck", "queue": {"sd": value}}], "fingerprint": str(value)})


def test_seeds_double_until_the_claim_is_decided_and_not_beyond_the_bound(tmp_path, measured):
    experiment = with_claim(tmp_path / "paper")
    values = np.array([2.0, 9.0, 3.0, 8.0, *[9.0, 9.5] * 20])
    asked = measured(values)
    assert until_decided(experiment, "C1", 2, RunOptions(), 20).results[0].verdict is Verdict.REPRODUCED
    assert asked == [2, 4, 8]
    measured(values)
    assert until_decided(experiment, "C1", 2, RunOptions(), 3).results[0].verdict is Verdict.UNDECIDED
    assert asked == [2, 3]
    measured(values)
    assert until_decided(experiment, "C1", 2, RunOptions(), 0).looks == 1
    assert asked == [2]


def test_the_intervals_of_all_looks_share_the_error_rate_of_one(tmp_path, measured):
    experiment = with_claim(tmp_path / "paper")
    values = np.random.default_rng(1).normal(3, 1, 80)
    measured(values)
    outcome = until_decided(experiment, "C1", 5, RunOptions(), 80)  # 5, 10, 20, 40, 80
    assert (outcome.looks, outcome.percent) == (5, "99 %")
    shown = outcome.results[0].parts[0].measured
    assert shown.half == pytest.approx(estimate(values[: shown.n], 0.99).half)


@pytest.mark.parametrize("kind", ["mean", "share"])
def test_a_claim_on_its_bound_is_decided_by_chance_at_most_once_in_twenty(tmp_path, measured, kind):
    """Any decision is false: the true mean, or share of seeds, lies on the bound."""
    measured(np.linspace(1, 5, 80))
    shared = until_decided(with_claim(tmp_path / "paper"), "C1", 5, RunOptions(), 80).confidence
    draws = np.random.default_rng(1).normal(3, 1, (1000, 80))

    def decided(confidence):
        def at(values):
            of = share_of(values > 3, confidence) if kind == "share" else estimate(values, confidence)
            return judge(of, Target(low=0.5 if kind == "share" else 3.0)) is not Verdict.UNDECIDED

        return np.mean([any(at(values[:seeds]) for seeds in (5, 10, 20, 40, 80)) for values in draws])

    assert decided(shared) < 0.05
    assert decided(0.95) > 0.10, "looks at 95 % each decide more often"
