"""Sweeps in parts, on machines that share one cache."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sojourn as sj
from sojourn.cli import main
from sojourn.core.errors import Note
from sojourn.runs.shards import Shard
from sojourn.runs.store import Store

pytestmark = pytest.mark.no_libraries

AXES = {"flows.ftp.count": [1, 2, 3, 4], "links.bottleneck.queue.aqm": ["droptail", "red"]}


@given(st.integers(0, 300), st.integers(1, 80))
def test_each_run_is_in_one_shard_and_they_are_of_equal_size(total, count):
    keys = [f"key {index}" for index in range(total)]
    parts = [Shard(number, count).of(keys) for number in range(1, count + 1)]
    assert sorted(key for part in parts for key in part) == sorted(keys)
    sizes = {len(part) for part in parts}
    assert max(sizes) - min(sizes) <= 1


def test_each_value_of_an_axis_comes_to_all_shards():
    keys = [f"{value} {seed}" for seed in range(100) for value in range(8)]
    for number in range(1, 9):
        assert len({key.split()[0] for key in Shard(number, 8).of(keys)}) == 8


@pytest.mark.parametrize(
    "text", ["", "3", "0/4", "5/4", "1/0", "1/100001", "-1/4", "1.5/4", "a/b", "1/4/8", "²/3", " 1/2"]
)
def test_a_shard_that_is_none_is_refused(dumbbell, tmp_path, text):
    with pytest.raises(sj.UserError, match="shard: expected NUMBER/COUNT such as 3/64") as said:
        sj.sweep(dumbbell, AXES, shard=text, cache=Store(tmp_path))
    assert "\n" not in str(said.value)


def test_shards_do_every_run_once_and_the_sweep_without_one_collects_them(observed, dumbbell, here, monkeypatch):
    monkeypatch.setenv("RUN_LOG", str(here / "log"))
    cache = Store(here / "cache")
    parts = [sj.sweep(dumbbell, AXES, 2, shard=f"{number}/3", cache=cache) for number in (1, 2, 3)]
    assert sorted(len(part.runs) for part in parts) == [5, 5, 6]
    assert len((here / "log").read_text().splitlines()) == len(cache) == 16
    whole = sj.sweep(dumbbell, AXES, 2, cache=cache)
    assert len((here / "log").read_text().splitlines()) == 16
    assert whole.runs.equals(sj.sweep(dumbbell, AXES, 2).runs)
    assert not [file for file in (here / "cache").iterdir() if file.is_file()]  # neither locks nor unfinished files


def test_a_shard_that_is_missing_or_damaged_is_run_where_the_results_are_collected(
    observed, dumbbell, here, monkeypatch
):
    cache = Store(here / "cache")
    for number in (1, 3):
        sj.sweep(dumbbell, AXES, 2, shard=f"{number}/3", cache=cache)
    there = sorted((here / "cache").glob("??/*.run"))
    there[0].write_bytes(there[0].read_bytes()[:-1])
    monkeypatch.setenv("RUN_LOG", str(here / "log"))
    with pytest.warns(Note, match=r"damaged .*set aside as \.damaged, run again"):
        found = sj.sweep(dumbbell, AXES, 2, cache=cache)
    assert len((here / "log").read_text().splitlines()) == 16 - len(there) + 1
    assert found.runs.equals(sj.sweep(dumbbell, AXES, 2).runs)


def test_more_shards_than_runs_leave_some_with_nothing_to_do(dumbbell, tmp_path):
    cache = Store(tmp_path / "cache")
    found = [sj.sweep(dumbbell, {"flows.ftp.count": [1]}, shard=f"{n}/3", cache=cache) for n in (1, 2, 3)]
    assert sorted(len(each.runs) for each in found) == [0, 0, 1]


def test_two_shards_of_one_number_at_the_same_time_are_refused_and_lose_nothing(dumbbell, tmp_path):
    cache = Store(tmp_path / "cache")
    said = []

    def same(done, _):
        if done == 1:
            with pytest.raises(
                sj.UserError, match=r'shard: expected one that no other process does .*, got "1/2"'
            ) as error:
                sj.sweep(dumbbell, AXES, shard="1/2", cache=cache)
            said.append(str(error.value))
            sj.sweep(dumbbell, AXES, shard="2/2", cache=cache)  # another number may
            sj.sweep(dumbbell, AXES, shard="1/2", seeds=2, cache=cache)  # and another sweep

    sj.sweep(dumbbell, AXES, shard="1/2", cache=cache, progress=same)
    assert len(said) == 1
    sj.sweep(dumbbell, AXES, shard="1/2", cache=cache)  # when it has ended it is free again


def test_a_shard_needs_a_cache(dumbbell):
    with pytest.raises(sj.UserError, match="shard: expected a cache, where all shards come together, got none"):
        sj.sweep(dumbbell, AXES, shard="1/2")


def test_the_command_keeps_a_shard_in_the_cache_and_the_last_one_writes_the_results(capsys, dumbbell, here):
    (here / "sweep.toml").write_text(
        'scenario = "dumbbell.toml"\nreplications = 2\n[axes]\n"flows.ftp.count" = [1, 2]\n'
    )
    run = ["sweep", "sweep.toml", "--cache", "shared", "--out", "out"]
    for number in (1, 2):
        assert main([*run, "--shard", f"{number}/2"]) == 0
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith(f"shard {number}/2: 2 runs in shared;")
    assert not (here / "out").exists()
    assert main(run) == 0
    assert (here / "out" / "summary.csv").exists()
    assert main([*run, "--shard", "3/2"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
