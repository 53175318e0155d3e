"""Queues for several links, and notes on the queues that a comparison does not change."""

import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.compare.cases import queue_axis
from sojourn.compare.links import queued_links
from sojourn.sweep.plan import make_plan
from tests.support.access_line import access_line


@pytest.mark.parametrize(
    ("links", "found"),
    [
        ("all", ["line", "line:back", "core-1", "core-2"]),
        ("line*", ["line", "line:back"]),
        ("core-2,line", ["line", "core-2"]),
        (["core-?", "line:back"], ["line:back", "core-1", "core-2"]),
        ("line", ["line"]),
        (None, ["line"]),
    ],
)
def test_links_are_names_patterns_or_all_links_that_have_a_rate(links, found):
    core = [
        {"name": f"core-{n}", "from": f"c{n}", "to": f"c{n + 1}", "rate": "1 Gbit/s", "delay": "1 ms"} for n in (1, 2)
    ]
    fiber = {"name": "fiber", "from": "c3", "to": "c4", "delay": "1 ms"}
    scenario = access_line()
    assert queued_links(scenario.set("links", [*scenario["links"], *core, fiber]), links) == found


@pytest.mark.parametrize(("links", "said"), [("x*", "a pattern of a link with a rate"), ("line,x", 'got "x"')])
def test_a_name_or_pattern_that_selects_nothing_is_an_error(links, said):
    with pytest.raises(sj.UserError, match=said):
        queued_links(access_line(), links)


def test_each_link_keeps_its_own_limit():
    axis = queue_axis(access_line(), ["line", "line:back"], "cake(rtt=50 ms),fq-codel")
    assert axis.changes["fq-codel"] == {
        "links.line.queue": {"aqm": "fq-codel", "limit": "625 kB"},
        "links.line.back.queue": {"aqm": "fq-codel", "limit": "750 kB"},
    }


def test_queues_in_both_directions_end_the_bloat_of_the_upload():
    """Each queue of FQ-CoDel aims at a delay of 5 ms (rfc8290#5.2.4)."""
    scenario = access_line()
    one, both = (sj.compare(scenario, "droptail,fq-codel", 1, link=links) for links in ("line", "all"))
    rtt = {
        (name, case): found.records[case][0].value("groups.ping.rtt_ms.mean")
        for name, found in (("one", one), ("both", both))
        for case in found.records
    }
    base = 20.0
    assert rtt["one", "fq-codel"] > base + 100
    assert rtt["both", "fq-codel"] < base + 2 * 5
    assert rtt["both", "droptail"] == rtt["one", "droptail"]
    labels = [measure.label for measure in both.measures]
    assert labels.index("line wait mean") < labels.index("line:back wait mean")
    assert both.title == "home, links line, line:back, 1 seed"


def test_a_note_names_the_queue_that_holds_the_delay_or_the_losses():
    one, both = (sj.compare(access_line(), "droptail", 1, link=links) for links in ("line", "all"))
    delay, losses = (note for note in one.notes if " holds the " in note)
    assert delay.startswith("the queue of line:back holds the delay (mean wait ")
    assert losses.startswith("the queue of line:back holds the losses (loss ratio ")
    assert delay.endswith("--link 'line,line:back' includes it")
    wait, loss = (one.records["droptail"][0].value(f"links.line:back.{of}") for of in ("wait_ms.mean", "loss_ratio"))
    assert f"(mean wait {wait:.3g} ms)" in delay
    assert f"(loss ratio {loss:.2g})" in losses
    assert not [note for note in both.notes if " holds the " in note]


def test_a_sweep_sets_the_queues_of_both_directions_in_a_variant():
    queue = {"aqm": "cake"}
    variants = {"queue": {"cake": {"links.line.queue": queue, "links.line.back.queue": queue}}}
    plan = make_plan(access_line(), variants=variants)
    assert [link["queue"]["aqm"] for link in plan.points[0].scenario.resolved()["links"]] == ["cake", "cake"]


def test_a_measure_is_shown_for_each_compared_link(capsys, tmp_path):
    file = tmp_path / "line.toml"
    file.write_text(access_line().set("duration", "6 s").to_toml(), encoding="utf-8")
    words = ["compare", str(file), "--queues", "codel,pie", "--measure", "wait p95", "--seeds", "2", "--no-cache"]
    assert main([*words, "--links", "line,line:back"]) == 0
    both = capsys.readouterr().out
    assert "line wait p95" in both
    assert "line:back wait p95" in both
    assert main([*words, "--links", "line"]) == 0
    assert "line wait p95" not in capsys.readouterr().out
