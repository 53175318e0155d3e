"""A field has one value, however its path is written.

Paths occur in axes of a sweep, changes, and links in both directions.
"""

import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.compare.links import queued_link
from sojourn.core.scenario import link_paths
from sojourn.sweep.plan import read_plan

LIMITS = ["10 packets", "20 packets"]


@pytest.fixture
def swept(dumbbell, tmp_path):
    """Makes a sweep file of some axes."""

    def write(axes: str):
        file = tmp_path / "sweep.toml"
        file.write_text(f'scenario = "{dumbbell}"\n{axes}')
        return file

    return write


def test_two_axes_do_not_set_one_field_by_two_paths(dumbbell, swept):
    twice = {"links[0].queue.limit": LIMITS, "links.bottleneck.queue.limit": ["30 packets"]}
    said = "axes: expected each field on one axis only, got .* and .*"
    with pytest.raises(sj.ScenarioError, match=said):
        sj.make_plan(dumbbell, twice)
    file = swept('[axes]\n"flows[0].count" = [1, 2]\n"flows.ftp.count" = [3]')
    with pytest.raises(sj.ScenarioError, match=f"^{file}:4:1: {said}"):
        read_plan(file)


@pytest.mark.parametrize("path", ["links.bottleneck.queue.limit", "links[0].queue.limit", "links.*.queue.limit"])
@pytest.mark.parametrize(
    "axes",
    [
        '[axes]\n"links.bottleneck.queue.limit" = ["9 packets"]',
        '[axes]\n"links.bottleneck.queue" = [{ limit = "9 packets" }]',
        '[variants.size]\na = { "links.bottleneck.queue.limit" = "9 packets" }',
    ],
)
def test_a_change_of_what_an_axis_sets_is_refused_by_any_path(swept, axes, path):
    with pytest.raises(sj.UserError, match="expected a change of a field that is no axis, got"):
        read_plan(swept(axes), {path: "8 packets"})


def test_a_change_that_has_an_effect_at_some_points_is_made(swept):
    some = swept('[variants.size]\na = { "links.bottleneck.queue.limit" = "9 packets" }\nb = { seed = 3 }')
    plan = read_plan(some, {"links[0].queue.limit": "8 packets"})
    limits = [point.scenario.get_path("links.bottleneck.queue.limit") for point in plan.points]
    assert limits == ["9 packets", "8 packets"]
    below = swept('[axes]\n"links.bottleneck.queue.limit" = ["9 packets"]')
    queue = read_plan(below, {"links[0].queue": {"aqm": "red"}}).points[0].scenario.get_path("links.bottleneck.queue")
    assert queue == {"aqm": "red", "limit": "9 packets"}


def test_a_comparison_refuses_a_change_of_what_it_varies(dumbbell, capsys):
    change = ["--set", 'links[0].queue.limit="8 packets"']
    assert main(["compare", str(dumbbell), *change, "--vary", "links.bottleneck.queue.limit=9 packets,7 packets"]) == 2
    said = 'error: --set: expected a field that --vary does not set, got "links[0].queue.limit"'
    assert capsys.readouterr().err.startswith(said)


def test_a_comparison_takes_the_reverse_link_of_a_duplex_one(dumbbell):
    scenario = sj.load(dumbbell)
    assert link_paths(scenario) == {
        "bottleneck": "links.bottleneck",
        "bottleneck:back": "links.bottleneck.back",
    }
    found = sj.compare(scenario, {"small": {"aqm": "droptail", "limit": "1 packet"}}, 1, link="bottleneck:back")
    assert found.link == "bottleneck:back"
    links = found.cases[0].scenario.resolved()["links"]
    assert [link["queue"]["limit"] for link in links] == ["100 packets", "1 packets"]
    with pytest.raises(sj.UserError, match="expected one of bottleneck, got"):
        queued_link(scenario.set("links.bottleneck.duplex", False), "bottleneck:back")


def test_a_group_that_does_not_exist_is_refused_where_only_queues_are_compared(dumbbell):
    with pytest.raises(sj.UserError, match='group: expected one of ftp, got "x"'):
        sj.compare(dumbbell, ["droptail", "red"], 1, group="x")
