"""Scenarios in Python: loaded, built, changed, written."""

import datetime
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sojourn as sj
from sojourn.core import field_paths
from sojourn.sweep.plan import read_plan
from tests.conftest import DUMBBELL
from tests.support.source_tree import ROOT


def test_a_file_a_text_and_a_dictionary_are_the_same(dumbbell):
    from_file = sj.load(dumbbell)
    assert from_file.to_dict() == sj.loads(DUMBBELL).to_dict() == sj.load(from_file.to_dict()).to_dict()
    assert sj.load(str(dumbbell)).label == str(dumbbell)
    with pytest.raises(sj.UserError, match="expected a path, got a text with line breaks"):
        sj.load(DUMBBELL)


def test_what_is_set_comes_back_from_toml(dumbbell):
    scenario = sj.load(dumbbell).set("links.bottleneck.queue.aqm", "red").set("flows.ftp.count", np.int64(7))
    again = sj.Scenario.from_toml(scenario.to_toml())
    assert again.get_path("links.bottleneck.queue.aqm") == "red"
    assert again.get_path("flows[0].count") == 7


def test_an_unchanged_file_is_handed_on_as_written(dumbbell):
    scenario = sj.load(dumbbell)
    assert scenario.to_toml() == DUMBBELL
    assert "# " not in scenario.copy().set("seed", 3).to_toml()


def test_looking_at_a_scenario_keeps_its_text_and_so_the_places_of_errors(dumbbell):
    scenario = sj.load(dumbbell)
    assert "links" in scenario
    assert "seed" not in scenario
    assert scenario.get("seed") is None
    assert scenario.get("name") == "dumbbell"
    assert scenario.to_toml() == DUMBBELL
    scenario["links"][0]["rate"] = "2 Mbit/s"
    assert '"2 Mbit/s"' in scenario.to_toml()


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
    assert repr(scenario) == "<Scenario dumbbell: duration 5 s, links bottleneck, flows ftp>"
    assert repr(sj.Scenario()) == "<Scenario scenario: duration not set>"


def test_the_file_that_was_meant_is_suggested(here):
    (here / "examples").mkdir()
    (here / "examples" / "dumbbell.toml").write_text("")
    for wrong in ("examples/dumbell.toml", "example/dumbbell.toml"):
        with pytest.raises(sj.UserError, match=r'did you mean "examples/dumbbell\.toml"\?'):
            sj.load(wrong)
    with pytest.raises(sj.UserError, match=r"No such file or directory$"):
        sj.load("nothing/like/it.toml")


def test_a_missing_or_broken_file_is_said_in_one_line(tmp_path):
    with pytest.raises(sj.UserError, match=r"none\.toml: cannot read this scenario"):
        sj.load(tmp_path / "none.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text('name = "x"\nduration = [')
    with pytest.raises(sj.UserError, match=r"broken\.toml:2:13: not TOML"):
        sj.load(broken)
    broken.write_text("duration = 1 s\n")
    with pytest.raises(sj.UserError, match=r"broken\.toml:1:14: not TOML"):
        sj.load(broken)
    broken.write_bytes(b"\xff\xfe")
    with pytest.raises(sj.UserError, match="UTF-8"):
        sj.load(broken)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("colour", 'expected one of name, .*, got key "colour"'),
        ("duratoin", 'did you mean "duration"\\?$'),
        (
            "links.bottleneck.ratee",
            r"links.bottleneck: expected one of .*, got key \"ratee\"; did you mean \"rate\"\?$",
        ),
        (
            "links.bottleneck.queue.mni",
            r"links.bottleneck.queue: expected .*, got key \"mni\"; did you mean \"min\"\?$",
        ),
        ("links.*.dely", 'did you mean "delay"'),
        ("flows.ftp.acess.rate", 'flows.ftp: .* did you mean "access"'),
        ("flows[0].start.unifrom", 'did you mean "uniform"'),
        ("tcp.mss2", 'did you mean "mss"'),
        ("trace.que.links", 'did you mean "queue"'),
        ("links.bottleneck.rate.unit", "links.bottleneck.rate: expected a path that ends here"),
    ],
)
def test_a_path_that_no_scenario_has_is_refused_where_it_is_set(dumbbell, path, says):
    scenario = sj.load(dumbbell)
    with pytest.raises(sj.ScenarioError, match=says) as error:
        scenario.set(path, "5 ms")
    assert "\n" not in str(error.value)
    assert scenario.to_toml() == DUMBBELL


def test_a_path_that_a_scenario_can_have_is_set_whatever_the_queue_is_at_the_moment(dumbbell):
    scenario = sj.load(dumbbell).set("links.bottleneck.queue.min", 5).set("links.bottleneck.queue.max", 15)
    scenario.set("links.bottleneck.queue.aqm", "red").set("links.bottleneck.queue.thresh_", 5)
    with pytest.raises(sj.ScenarioError, match="expected `min` once"):
        scenario.canonical()
    half = sj.Scenario({"links": [{"from": "a", "to": "b"}]})
    half.set("trace.queue", {"links": ["*"], "every": "1 ms"}).set("links[0].changes", []).set("tcp.control.beta", 0.7)
    assert half.get_path("links.a->b.changes") == []


def test_every_field_of_every_example_can_be_set():
    def walk(node, path):
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, item in items:
            below = f"{path}[{key}]" if isinstance(node, list) else f"{path}.{key}" if path else key
            yield below, item
            yield from walk(item, below)

    root = ROOT
    files = [
        *root.glob("papers/*/scenarios/*.toml"),
        *root.glob("studies/*/scenarios/*.toml"),
        root / "examples/dumbbell.toml",
    ]
    assert len(files) > 5
    for file in files:
        scenario = sj.load(file)
        for path, value in walk(scenario.to_dict(), ""):
            assert scenario.set(path, value) is scenario


def test_the_engine_says_what_is_wrong(dumbbell):
    scenario = sj.load(dumbbell)
    scenario["colour"] = "red"
    with pytest.raises(sj.ScenarioError, match="colour"):
        scenario.canonical()


def test_an_error_of_the_text_has_line_and_column_also_where_another_field_was_changed(dumbbell):
    text = dumbbell.read_text()
    wrong = text.replace('rate = "10 Mbit/s"', 'rate = "10 miles"')
    assert wrong != text
    dumbbell.write_text(wrong)
    scenario = sj.load(dumbbell).set("seed", 5)
    with pytest.raises(sj.ScenarioError, match=r"dumbbell\.toml:\d+:\d+: links\.bottleneck\.rate: expected a rate"):
        scenario.canonical()
    scenario.set("links.bottleneck.rate", "12 miles")
    scenario.label = "mine"
    with pytest.raises(sj.ScenarioError, match=r"^mine: links\.bottleneck\.rate: expected a rate.*12 miles"):
        scenario.canonical()


@pytest.mark.parametrize(("path", "meant"), [("flows.fpt.count", "ftp"), ("flow.ftp.count", "flows")])
def test_a_wrong_step_of_a_path_is_one_kind_of_error_with_the_nearest_name(dumbbell, path, meant):
    with pytest.raises(sj.ScenarioError, match=rf'did you mean "{meant}"\?$'):
        sj.load(dumbbell).set(path, 5)


def test_a_file_in_json_is_the_same_scenario_and_null_is_no_value(dumbbell, here):
    tree = sj.load(dumbbell).to_dict() | {"seed": None}
    Path("same.json").write_text(json.dumps(tree))
    assert sj.load("same.json").canonical() == sj.load(dumbbell).canonical()
    Path("cut.json").write_text('{"duration": 5')
    with pytest.raises(sj.UserError, match=r"^cut\.json:1:15: not JSON: "):
        sj.load("cut.json")
    Path("list.json").write_text("[]")
    with pytest.raises(sj.UserError, match=r"^list\.json: expected a table of fields"):
        sj.load("list.json")


def test_a_sweep_reads_a_scenario_in_json_as_load_does(dumbbell, here):
    tree = sj.load(dumbbell).to_dict()
    Path("same.json").write_text(json.dumps(tree))
    Path("grid.toml").write_text('scenario = "same.json"\n[axes]\n"flows.ftp.count" = [1, 2]\n')
    for changes in ({}, {"duration": "3 s"}):
        point = read_plan("grid.toml", changes).points[0].scenario
        assert point.canonical() == sj.load(dumbbell).set_all({"flows.ftp.count": 1} | changes).canonical()
    tree["links"][0]["rate"] = 5
    Path("same.json").write_text(json.dumps(tree))
    for read in (lambda: read_plan("grid.toml"), lambda: sj.make_plan("same.json", {"flows.ftp.count": [1, 2]})):
        with pytest.raises(sj.ScenarioError, match=r"^same\.json: links\.bottleneck\.rate: expected a rate"):
            read()  # no line of a text that nobody wrote


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f'{{"seed": {"9" * 5000}}}', "expected whole numbers of at most 9223372036854775807, got one of more digits"),
        (f'{{"seed": {2**63}}}', "seed: expected a whole number, .* to 9223372036854775807, got 9223372036854775808"),
        ('{"links": [{"rate": 1, "delay": 2, "rate": 3}]}', 'expected each key once, got "rate" twice'),
    ],
)
def test_json_that_toml_could_not_say_is_refused_in_one_line(here, text, problem):
    Path("x.json").write_text(text)
    Path("grid.toml").write_text('scenario = "x.json"\n[axes]\nduration = ["1 s"]\n')
    for read, file in ((sj.load, "x.json"), (read_plan, "grid.toml")):
        with pytest.raises((sj.UserError, sj.ScenarioError), match=rf"^x\.json: {problem}$"):
            read(file)


@pytest.mark.parametrize(
    ("path", "value", "form"),
    [
        ("links.bottleneck.rate", "ten", "{"),
        ("links.bottleneck.queue", {"aqm": "red", "min": "few"}, "{"),
        ("flows.ftp.count", -1, "{"),
        ("flows.ftp.traffic", {"kind": "cbr"}, "{"),
        ("links", [], "{"),
        ("links.bottleneck.queue", {"aqm": "red", "max_p": float("nan")}, "n"),  # JSON has no NaN and no dates
        ("duration", datetime.date(2005, 1, 1), "n"),
    ],
)
def test_a_changed_scenario_gets_the_errors_of_its_toml(dumbbell, path, value, form):
    changed = sj.load(dumbbell)
    field_paths.put(changed._changed(), path, value, "x")
    assert changed.for_engine().startswith(form)
    told = [refusal(each) for each in (changed, sj.Scenario.from_toml(changed.to_toml(), str(dumbbell)))]
    assert re.sub(r":\d+:\d+:", ":", told[0]) == re.sub(r":\d+:\d+:", ":", told[1])


def refusal(scenario: sj.Scenario) -> str:
    with pytest.raises(sj.ScenarioError) as error:
        scenario.canonical()
    return str(error.value)


@given(st.floats(0, 1, exclude_min=True))
def test_a_number_of_python_reaches_the_engine_to_the_bit(value):
    queue = {"aqm": "red", "max_p": value, "limit": "50 packets"}
    scenario = sj.Scenario.from_toml(DUMBBELL).set("links.bottleneck.queue", queue)
    assert scenario.resolved()["links"][0]["queue"]["max_p"] == value


def test_a_text_is_read_as_toml_or_json():
    tree = sj.loads(DUMBBELL)
    assert tree.to_dict() == sj.loads(json.dumps(tree.to_dict())).to_dict() == sj.loads(DUMBBELL).to_dict()
    with pytest.raises(sj.UserError, match=r"^mine:1:3: not JSON"):
        sj.loads("{ ]", "mine")
    with pytest.raises(sj.UserError, match=r"^scenario: expected a text in TOML or JSON, got 3$"):
        sj.loads(3)
