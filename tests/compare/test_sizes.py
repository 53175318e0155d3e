"""Completion times by size of transfer."""

import numpy as np
import pandas as pd
import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.compare.sizes import size_classes, statistics, times
from tests.conftest import DUMBBELL

TRANSFERS = """
[[flows]]
name = "short"
from = "R0"
to = "R1"
traffic = { kind = "transfers", every = "50 ms", size_mean = "20 kB" }
[trace]
completions = { flows = ["*"] }
"""


def test_classes_join_without_gaps_and_have_names():
    classes = size_classes("10 kB, 1 MB")
    assert [(each.above, each.most) for each in classes] == [(0.0, 1e4), (1e4, 1e6), (1e6, np.inf)]
    assert [each.label for each in classes] == ["up to 10 kB", "10 kB to 1 MB", "above 1 MB"]
    for wrong in ("1 MB,10 kB", "10 kB,10 kB", "10", "10 ms", ""):
        with pytest.raises(sj.UserError, match="--sizes: expected ascending sizes such as '10 kB,1 MB'"):
            size_classes(wrong)


def test_each_transfer_is_in_one_class_and_small_ones_take_less_time():
    records = sj.run_many(sj.loads(DUMBBELL + TRANSFERS), 3)[0]
    classes = size_classes("10 kB,30 kB")
    every = records[0].samples("completions/short")
    parts = [times(records[0], "short", each) for each in classes]
    assert sorted(np.concatenate(parts)) == sorted(every)
    found = [statistics(records, "short", each) for each in classes]
    assert [each["transfers"].mean > 5 for each in found] == [True] * 3
    assert found[0]["median"].mean < found[1]["median"].mean < found[2]["median"].mean
    medians = [float(np.median(times(record, "short", classes[0]))) for record in records]
    assert found[0]["median"].mean == pytest.approx(np.mean(medians))
    # Exponential sizes with a mean of 20 kB: a share of 1 - exp(-1/2) is at most 10 kB.
    shares = [len(times(record, "short", classes[0])) / len(record.samples("completions/short")) for record in records]
    assert np.mean(shares) == pytest.approx(1 - np.exp(-0.5), abs=0.1)


def test_a_comparison_prints_and_writes_them(here, capsys):
    (here / "s.toml").write_text(DUMBBELL + TRANSFERS)
    command = ["compare", "s.toml", "--queues", "droptail,codel", "--seeds", "2", "--sizes", "10 kB"]
    assert main([*command, "--out", "found"]) == 0
    shown = capsys.readouterr().out
    assert "short: completion time (s) by size" in shown
    assert "up to 10 kB" in shown
    table = pd.read_csv(here / "found" / "sizes.csv")
    assert set(table["case"]) == {"droptail", "codel"}
    assert set(table["statistic"]) == {"transfers", "mean", "median", "p90", "p99"}
    assert (here / "found" / "sizes.tex").read_text().count(r"\begin{tabular}") == 1
    assert (here / "found" / "sizes-short.png").exists()
    (here / "bulk.toml").write_text(DUMBBELL)
    assert main(["compare", "bulk.toml", "--queues", "droptail", "--sizes", "10 kB"]) == 2
    assert "distribution of completion: expected" in capsys.readouterr().err
