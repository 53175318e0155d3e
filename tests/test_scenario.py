"""Scenarios in Python: loaded, built, changed, written."""

import numpy as np
import pytest

import sojourn as sj
from conftest import DUMBBELL


def test_a_file_a_text_and_a_dictionary_are_the_same(dumbbell):
    from_file = sj.load(dumbbell)
    assert from_file.to_dict() == sj.load(DUMBBELL).to_dict() == sj.load(from_file.to_dict()).to_dict()
    assert sj.load(str(dumbbell)).label == str(dumbbell)


def test_what_is_set_comes_back_from_toml(dumbbell):
    scenario = sj.load(dumbbell).set("links.bottleneck.queue.aqm", "red").set("flows.ftp.count", np.int64(7))
    again = sj.Scenario.from_toml(scenario.to_toml())
    assert again.get_path("links.bottleneck.queue.aqm") == "red"
    assert again.get_path("flows[0].count") == 7


def test_an_unchanged_file_is_handed_on_as_written(dumbbell):
    scenario = sj.load(dumbbell)
    assert scenario.to_toml() == DUMBBELL
    assert "# " not in scenario.copy().set("seed", 3).to_toml()


def test_a_copy_is_independent(dumbbell):
    scenario = sj.load(dumbbell)
    scenario.copy().set("links.bottleneck.rate", "1 Mbit/s")
    assert scenario.get_path("links.bottleneck.rate") == "10 Mbit/s"
    scenario.get_path("links")[0]["rate"] = "2 Mbit/s"
    assert scenario.get_path("links.bottleneck.rate") == "10 Mbit/s"


def test_it_is_a_dictionary(dumbbell):
    scenario = sj.load(dumbbell)
    scenario["seed"] = 5
    del scenario["warmup"]
    assert scenario["seed"] == 5
    assert set(scenario) == {"name", "duration", "seed", "links", "flows"}
    assert len(scenario) == 5
    assert "links" in repr(scenario)


def test_a_missing_or_broken_file_is_said_in_one_line(tmp_path):
    with pytest.raises(sj.UserError, match=r"none\.toml: cannot read this scenario"):
        sj.load(tmp_path / "none.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("duration = [")
    with pytest.raises(sj.UserError, match=r"broken\.toml: not TOML"):
        sj.load(broken)
    broken.write_bytes(b"\xff\xfe")
    with pytest.raises(sj.UserError, match="UTF-8"):
        sj.load(broken)


def test_the_engine_says_what_is_wrong(dumbbell):
    with pytest.raises(sj.ScenarioError, match="colour"):
        sj.load(dumbbell).set("colour", "red").canonical()
