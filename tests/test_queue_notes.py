"""What a queue is asked for and can't do: 20 packets of 1500 bytes at 10 Mbit/s are 24 ms, 25.2 ms with that before."""

import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.queue_notes import unreached

LIMIT = {"limit": "20 packets"}


def said(queue: dict[str, object], **changes: object) -> list[str]:
    scenario = sj.load("examples/dumbbell.toml").set("links.bottleneck.rate", "10 Mbit/s")
    scenario.set("tcp.mss", "1460 B").set("tcp.header", "40 B")
    return unreached(scenario.set("links.bottleneck.queue", queue).set_all(changes))


@pytest.mark.parametrize(
    ("queue", "key", "reached"),
    [
        ({"aqm": "red", "max": 60, **LIMIT}, "min", (20, 21)),
        ({"aqm": "pi", **LIMIT}, "target", (20, 21)),
        ({"aqm": "step", **LIMIT}, "packets", (20, 21)),
        ({"aqm": "pie", **LIMIT}, "target", ("25 ms", "26 ms")),
        ({"aqm": "codel", "limit": "30 kB"}, "target", ("25 ms", "26 ms")),
        ({"aqm": "codel", "interval": "50 ms"}, "target", ("49 ms", "50 ms")),
        ({"aqm": "fq-codel", "interval": "50 ms"}, "target", ("49 ms", "50 ms")),
        ({"aqm": "cake"}, "bandwidth", ("10 Mbit/s", "11 Mbit/s")),
    ],
)
def test_a_value_that_a_queue_never_reaches_is_named(queue, key, reached):
    within, beyond = reached
    assert said({**queue, key: within}) == []
    assert [each.split(":")[0] for each in said({**queue, key: beyond})] == [f"links.bottleneck.queue.{key}"]


def test_an_option_that_needs_another_is_named_without_it():
    chosen = {"aqm": "fq-codel", "ce_threshold_selector": 1, "ce_threshold_mask": 3}
    assert said({**chosen, "ce_threshold": "1 ms"}) == []
    assert [each.partition("queue.")[2] for each in said(chosen)] == [
        "ce_threshold_selector: 1 has no effect without ce_threshold",
        "ce_threshold_mask: 3 has no effect without ce_threshold",
    ]


def test_a_step_without_a_threshold_is_named():
    bare = {"aqm": "step", "packets": 0}
    assert [each.partition("queue.")[2].split(",")[0] for each in said(bare)] == ["packets: packets"]
    assert said({**bare, "bytes": "3000 B"}) == said({**bare, "time": "1 ms"}) == []


def test_what_is_not_certain_is_not_named():
    late = {"aqm": "codel", "target": "26 ms", **LIMIT}
    assert len(said(late)) == 1
    assert said(late, **{"links.bottleneck.changes": [{"at": "1 s", "rate": "1 Mbit/s"}]}) == []
    assert said({"aqm": "red", "min": 21, "max": 60, "bytes": True, "queue_in_bytes": True, **LIMIT}) == []
    assert said({"aqm": "step", "packets": 21, "time": "1 ms", **LIMIT}) == []


def test_what_is_named_sends_no_signal():
    for queue in (
        {"aqm": "codel", "target": "26 ms"},
        {"aqm": "red", "min": 21, "max": 60},
        {"aqm": "step", "packets": 21},
    ):
        made = {}
        for aqm in (queue, {"aqm": "droptail"}):
            scenario = sj.load("examples/dumbbell.toml").set("links.bottleneck.queue", {**aqm, **LIMIT})
            scenario.set("duration", "10 s").set("warmup", "1 s").set("links.bottleneck.rate", "10 Mbit/s")
            made[aqm["aqm"]] = sj.run(scenario, seed=1).value("links.bottleneck.dropped")
        assert made[queue["aqm"]] == made["droptail"]
        assert max(made["droptail"].values()) > 0


def test_a_queue_of_the_reverse_link_and_of_a_class_has_its_own_field():
    late = {"aqm": "pi", "target": 21, **LIMIT}
    assert said({"aqm": "droptail"}, **{"links.bottleneck.back": {"queue": late}})[0].startswith(
        "links.bottleneck.back.queue.target: 21 packets exceed the queue's limit"
    )
    classes = {"scheduler": "drr", "classes": [{"match": {"dscp": 46}, **late}, {}]}
    assert said(classes)[0].startswith("links.bottleneck.queue.classes[0].target: 21 packets")


def test_check_says_it(capsys):
    change = 'links.bottleneck.queue={aqm="pi",target=21,limit="20 packets"}'
    assert main(["check", "examples/dumbbell.toml", "--set", change]) == 0
    assert "note: links.bottleneck.queue.target: 21 packets exceed" in capsys.readouterr().err
