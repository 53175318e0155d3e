"""The names of the cases of a comparison, and combinations that are rejected."""

from __future__ import annotations

import json
from typing import Any

import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.compare.cases import cases_of, controller_axis, field_axis, queue_axis, with_unique_labels

MINE = """
class Mine:
    def on_ack(self, sample):
        return 10

    def on_loss(self, event):
        return None
"""

LAW = """
class Half:
    def step(self, sample):
        return 0.5
"""


@pytest.fixture
def two() -> sj.Scenario:
    """Two groups over one link."""
    link = {"name": "path", "from": "a", "to": "b", "rate": "10 Mbit/s", "delay": "5 ms", "duplex": True}
    flows = [{"name": name, "from": "a", "to": "b", "access": {"delay": "1 ms"}} for name in ("one", "other")]
    return sj.Scenario({"name": "two", "duration": "2 s", "links": [link], "flows": flows}, "two.toml")


def labels(scenario: sj.Scenario, *axes: Any) -> list[str]:
    return [case.label for case in cases_of(scenario, with_unique_labels(axes))]


def test_labels_of_fields_with_one_name_say_whose_they_are(two):
    one, other = (field_axis(f"flows.{name}.access.delay", ["1 ms", "9 ms"]) for name in ("one", "other"))
    assert labels(two, one) == ["delay=1 ms", "delay=9 ms"]
    assert labels(two, one, other)[1] == "one access delay=1 ms with other access delay=9 ms"
    queues = queue_axis(two, ["path"], "red,droptail")
    control = field_axis("flows.other.tcp.control", [{"cc": "reno"}, {"cc": "cubic"}])
    assert labels(two, queues, control)[1] == "red with cubic"
    assert labels(two, controller_axis(two, "cubic,bbr"), control)[1] == "cubic with other tcp control=cubic"


@pytest.mark.parametrize("value", [{"aqm": "codel"}, "codel"])
def test_a_field_that_replaces_what_the_queues_set_is_refused(two, value):
    # Else a case would be called "red with codel", and have no red.
    queues, path = queue_axis(two, ["path"], "red,pd"), "links.path.queue"
    with pytest.raises(sj.UserError, match="expected a field that keeps what the queues set, got one that replaces it"):
        cases_of(two, [queues, field_axis(path, [value])])
    assert (
        labels(two, queues, field_axis(f"{path}.limit", ["9 packets", "20 packets"]))[3] == "pd with limit=20 packets"
    )


@pytest.mark.parametrize(
    "other",
    [
        field_axis("links.path.queue.aqm", ["codel", "pie"]),
        field_axis("links[0].queue", ["codel"]),
        field_axis("links.*.queue", [{"aqm": "codel"}]),
        field_axis("links.path.queue.min", [7]),
        field_axis("links", [[{"name": "other"}]]),
    ],
)
def test_what_the_label_of_a_queue_names_is_in_each_case_however_a_field_is_written(two, other):
    # The final values are compared, because one field has several paths.
    with pytest.raises(sj.UserError, match=r": expected a field that keeps what the queues set, got one that replaces"):
        cases_of(two, [queue_axis(two, ["path"], "red(min=5)"), other])


def test_a_field_may_change_what_no_label_names_and_set_again_what_is_there(two):
    two.set("links.path.queue", {"aqm": "red", "min": 5, "limit": "50 packets"})
    queues, limits = queue_axis(two, ["path"], "red"), field_axis("links.path.queue.limit", ["9 packets", "20 packets"])
    assert [case.scenario.get_path("links.path.queue") for case in cases_of(two, [queues, limits])] == [
        {"aqm": "red", "min": 5, "limit": f"{limit} packets"} for limit in (9, 20)
    ]
    assert len(cases_of(two, [queues, field_axis("links[0].queue.aqm", ["red"])])) == 1


@pytest.mark.parametrize("path", ["tcp.control.cc", "tcp.control", "tcp"])
def test_a_field_that_replaces_what_the_controllers_or_another_field_set_is_refused(two, path):
    said = "expected a field that keeps what the controllers set, got one that replaces it"
    with pytest.raises(sj.UserError, match=rf"^{path}: {said}$"):
        cases_of(two, [controller_axis(two, "cubic,bbr"), field_axis(path, ["vegas"])])
    stack = field_axis("flows.one.tcp", [{"control": {"cc": "cubic"}, "ecn": True}])
    with pytest.raises(
        sj.UserError, match=r"^flows\.0\.tcp\.ecn: expected a field that keeps what flows\.one\.tcp set"
    ):
        cases_of(two, [stack, field_axis("flows.0.tcp.ecn", [False])])
    assert labels(two, stack, field_axis("flows.0.tcp.initial_window", [1, 2]))[1] == "initial_window=2"


def test_a_group_over_udp_gets_no_controller(two):
    datagrams = {"name": "cbr", "from": "a", "to": "b", "traffic": {"kind": "cbr", "rate": "1 Mbit/s"}}
    two["flows"] = [two.get_path("flows.one"), datagrams]
    own = field_axis("flows.one.tcp", [{"control": {"cc": "reno"}}])
    controllers = controller_axis(two, "cubic,bbr")
    with pytest.raises(sj.UserError, match='expected flows that get these controllers, got none in the case "cubic"'):
        cases_of(two, [controllers, own])
    assert len(cases_of(two, [controllers])) == 2
    with pytest.raises(sj.UserError, match="expected the group that gets the controllers, one of one, since each has"):
        controller_axis(two.copy().set("flows.one.tcp.control", {"cc": "reno"}), "cubic")
    two["flows"] = [datagrams]
    with pytest.raises(sj.UserError, match="expected flows that get these controllers, got none"):
        cases_of(two, [controller_axis(two, "cubic")])


def test_controllers_that_no_flow_gets_are_refused(two):
    controllers = controller_axis(two, "cubic,bbr")
    one, other = (field_axis(f"flows.{name}.tcp", [{"control": {"cc": "reno"}}]) for name in ("one", "other"))
    assert len(cases_of(two, [controllers, one])) == 2
    with pytest.raises(sj.UserError, match='expected flows that get these controllers, got none in the case "cubic"'):
        cases_of(two, [controllers, one, other])


def test_a_controller_that_a_scenario_or_a_value_names_is_supplied_and_adds_no_case(two, here, capsys):
    (here / "mine.py").write_text(MINE)
    (here / "two.toml").write_text(two.to_toml())
    compare = ["compare", "two.toml", "--controller", "mine.py:Mine", "--seeds", "1", "--measure", "total.jain"]
    values = '{control={cc="external",controller="Mine"}},{control={cc="cubic"}}'
    assert main([*compare, "--vary", f"flows.one.tcp={values}"]) == 0
    assert [word for word in capsys.readouterr().out.split() if word in ("Mine", "cubic", "reno")] == ["Mine", "cubic"]
    named = ["--set", 'flows.one.tcp.control={cc="external",controller="Mine"}']
    assert main([*compare, *named, "--queues", "red,pd"]) == 0
    assert "Mine" not in capsys.readouterr().out
    assert main([*compare, *named]) == 2
    assert "expected --queues, --cc or --vary, since the scenario has Mine" in capsys.readouterr().err
    assert main([*compare, "--cc", "cubic"]) == 0
    assert "Mine" in capsys.readouterr().out


@pytest.mark.parametrize("value", [5, "x", [5], [[5]], {"a": 1}, {"control": 5}])
@pytest.mark.parametrize(
    "path", ["flows", "flows.one", "flows.one.tcp", "tcp", "tcp.control", "links", "links[0].queue"]
)
def test_a_value_of_another_kind_is_refused_in_one_line_by_the_engine(two, here, capsys, path, value):
    (here / "two.toml").write_text(two.to_toml())
    (here / "mine.py").write_text(MINE)
    (here / "law.py").write_text(LAW)
    for more in ({}, {"cc": ["cubic"]}, {"queues": ["red"]}):
        with pytest.raises((sj.UserError, sj.ScenarioError)) as refused:
            sj.compare(two, vary={path: [value]}, seeds=1, **more)
        assert "\n" not in str(refused.value)
    written = json.dumps(value).replace(":", "=").replace('"a"', "a").replace('"control"', "control")
    change = f"{path}={written}"
    for more in (["--vary", change], ["--set", change, "--vary", "seed=1,2"]):
        for laws in ([], ["--controller", "mine.py"], ["--law", "law.py"]):
            assert main(["compare", "two.toml", "--seeds", "1", *more, *laws]) == 2
            said = capsys.readouterr().err.strip()
            assert said.startswith("error: ")
            assert "\n" not in said
