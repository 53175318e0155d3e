"""What the cases of a comparison are called, and which can't be combined."""

from __future__ import annotations

from typing import Any

import pytest

import sojourn as sj
from sojourn.cases import cases_of, controller_axis, field_axis, queue_axis, told_apart
from sojourn.cli import main

MINE = """
class Mine:
    def on_ack(self, sample):
        return 10

    def on_loss(self, event):
        return None
"""


@pytest.fixture
def two() -> sj.Scenario:
    """Two groups over one link."""
    link = {"name": "path", "from": "a", "to": "b", "rate": "10 Mbit/s", "delay": "5 ms", "duplex": True}
    flows = [{"name": name, "from": "a", "to": "b", "access": {"delay": "1 ms"}} for name in ("one", "other")]
    return sj.Scenario({"name": "two", "duration": "2 s", "links": [link], "flows": flows}, "two.toml")


def labels(scenario: sj.Scenario, *axes: Any) -> list[str]:
    return [case.label for case in cases_of(scenario, told_apart(axes))]


def test_labels_of_fields_with_one_name_say_whose_they_are(two):
    one, other = (field_axis(f"flows.{name}.access.delay", ["1 ms", "9 ms"]) for name in ("one", "other"))
    assert labels(two, one) == ["delay=1 ms", "delay=9 ms"]
    assert labels(two, one, other)[1] == "one access delay=1 ms with other access delay=9 ms"
    queues = queue_axis(two, "path", "red,droptail")
    control = field_axis("flows.other.tcp.control", [{"cc": "reno"}, {"cc": "cubic"}])
    assert labels(two, queues, control)[1] == "red with cubic"
    assert labels(two, controller_axis(two, "cubic,bbr"), control)[1] == "cubic with other tcp control=cubic"


@pytest.mark.parametrize("value", [{"aqm": "codel"}, "codel"])
def test_a_field_that_replaces_what_the_queues_set_is_refused(two, value):
    # Else a case would be called "red with codel", and have no red.
    queues, path = queue_axis(two, "path", "red,pd"), "links.path.queue"
    with pytest.raises(sj.UserError, match="expected a field that keeps what the queues set, got one that replaces it"):
        cases_of(two, [queues, field_axis(path, [value])])
    assert (
        labels(two, queues, field_axis(f"{path}.limit", ["9 packets", "20 packets"]))[3] == "pd with limit=20 packets"
    )


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
