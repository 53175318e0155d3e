"""Warnings about scenarios that can be run.

Examples are buckets that pass no full packet, unused options, and unreached thresholds.
"""

import pytest

import sojourn as sj
from sojourn import _sojourn
from sojourn.cli import main


def warned(scenario: sj.Scenario, *rules: str) -> list[str]:
    """The warnings of these rules."""
    found = _sojourn.lints(scenario.to_toml(), scenario.file)
    assert scenario.warnings() == [text for _, text in found]
    return [text for rule, text in found if rule in rules]


SCENARIO = """
name = "buckets"
duration = "1 s"
[[links]]
name = "up"
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "1 ms"
duplex = true
impairments = [{ kind = "loss", probability = 0.01 }, { kind = "KIND", rate = "5 Mbit/s", burst = "BURST" }]
back = { impairments = [{ kind = "policer", rate = "1 Mbit/s", burst = "60 B" }] }
[[flows]]
name = "ftp"
from = "a"
to = "b"
tcp = { mss = "1000 B", header = "40 B" }
[[flows]]
name = "voice"
from = "a"
to = "b"
traffic = { kind = "cbr", rate = "64 kbit/s", size = "200 B" }
"""


def written(kind: str, burst: str) -> str:
    return SCENARIO.replace("KIND", kind).replace("BURST", burst)


@pytest.mark.parametrize("kind", ["policer", "shaper"])
@pytest.mark.parametrize("command", [["check"], ["run"], ["compare", "--queues", "droptail", "--seeds", "2"]])
def test_a_bucket_that_is_smaller_than_a_full_packet_is_named(capsys, tmp_path, monkeypatch, kind, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(written(kind, "1039 B"))
    assert main([command[0], "small.toml", *command[1:]]) == 0
    said = "links.up.impairments[1].burst: 1039 B is less than a full packet of flows.ftp (1040 B): none passes"
    notes = [line for line in capsys.readouterr().err.splitlines() if line.startswith("note:")]
    assert notes == [f"note: {said}"]


def test_what_is_named_passes_nothing_and_one_byte_more_passes_all():
    small, enough = (sj.Scenario.from_toml(written("policer", burst)) for burst in ("1039 B", "1040 B"))
    passed = [sj.run(scenario, seed=1).value("flows.0.goodput_bps") for scenario in (small, enough)]
    assert passed[0] == 0 < passed[1]
    assert len(warned(small, "small-bucket")) == 1
    assert warned(enough, "small-bucket") == []


def test_on_the_reverse_path_a_flow_that_goes_there_is_named():
    turned = sj.Scenario.from_toml(written("policer", "5 kB")).set("flows.ftp.from", "b").set("flows.ftp.to", "a")
    assert warned(turned, "small-bucket") == [
        "links.up.back.impairments[0].burst: 60 B is less than a full packet of flows.ftp (1040 B): none passes"
    ]


@pytest.mark.parametrize(
    ("changes", "idle"),
    [
        ({"tcp.accecn_option": "full"}, ["tcp"]),
        ({"tcp.accecn_option": "full", "tcp.ecn": True}, ["tcp"]),
        ({"tcp.accecn_option": "full", "tcp.ecn": "l4s", "tcp.peer_ecn": True}, ["tcp"]),
        ({"tcp.accecn_option": "full", "flows.ftp.tcp.ecn": "accurate"}, []),
        ({"tcp.accecn_option": "off"}, []),
        ({"flows.ftp.tcp.accecn_option": "minimum"}, ["flows.ftp.tcp"]),
        ({"flows.ftp.tcp.accecn_option": "full", "tcp.accecn_option": "full", "tcp.ecn": "l4s"}, ["tcp"]),
        ({"tcp.profile": "linux"}, []),
    ],
)
def test_an_option_of_accecn_that_no_flow_uses_is_named(changes, idle):
    scenario = sj.Scenario.from_toml(written("policer", "10 kB"))
    for field, value in changes.items():
        scenario.set(field, value)
    assert [each.partition(".accecn_option: ")[0] for each in warned(scenario, "unused-accecn-option")] == idle


def test_an_idle_option_changes_nothing_and_run_says_so(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain.toml").write_text(written("policer", "10 kB"))
    plain, idle = sj.load("plain.toml"), sj.load("plain.toml").set("tcp.accecn_option", "full")
    assert sj.run(plain)["fingerprint"] == sj.run(idle)["fingerprint"]
    assert main(["run", "plain.toml", "--set", "tcp.accecn_option=full"]) == 0
    assert capsys.readouterr().err.startswith('note: tcp.accecn_option: "full" has no effect, because no flow uses ')


@pytest.fixture
def dumbbell() -> sj.Scenario:
    return sj.load("examples/dumbbell.toml").set("tcp.ecn", True).set("links.bottleneck.queue", {"aqm": "codel"})


def test_a_queue_that_drops_what_it_could_mark_is_named_with_the_flows(dumbbell):
    said = (
        "links.bottleneck.queue.ecn: false drops packets of flows.ftp instead of marking them, "
        "although their senders use ECN"
    )
    assert warned(dumbbell, "ecn-without-marks") == [said]
    assert warned(dumbbell.copy().set("tcp.ecn", False), "ecn-without-marks") == []
    assert warned(dumbbell.copy().set("links.bottleneck.queue.ecn", True), "ecn-without-marks") == []
    assert warned(dumbbell.copy().set("links.bottleneck.queue", {"aqm": "droptail"}), "ecn-without-marks") == []


def test_a_queue_that_marks_by_its_threshold_alone_is_not_named(dumbbell):
    threshold = {"aqm": "fq-codel", "ecn": False, "ce_threshold": "1 ms"}
    marking = dumbbell.set("links.bottleneck.queue", threshold).set("duration", "5 s").set("warmup", "1 s")
    assert warned(marking, "ecn-without-marks") == []
    assert sj.run(marking, seed=1).value("links.bottleneck.marked") > 0


def test_a_queue_of_a_class_that_marks_is_seen(dumbbell):
    classes = [{"match": {"dscp": 46}, "aqm": "pie"}, {"name": "rest", "aqm": "codel", "ecn": True}]
    marking = dumbbell.copy().set("links.bottleneck.queue", {"scheduler": "drr", "classes": classes})
    assert warned(marking, "ecn-without-marks") == []
    assert (
        len(
            warned(
                marking.set("links.bottleneck.queue.classes", [classes[0], {"name": "rest", "aqm": "codel"}]),
                "ecn-without-marks",
            )
        )
        == 1
    )


def test_a_discipline_of_a_kernel_decides_by_itself_what_it_marks(dumbbell):
    kernel = dumbbell.set("host", "linux").set("tcp.profile", "linux")
    assert warned(kernel.set("links.bottleneck.queue", {"linux": "fq_codel"}), "ecn-without-marks") == []


@pytest.mark.parametrize(
    ("cc", "named"),
    [("bbr3", True), ("cubic", True), ("prague", False), ("dctcp", False), ("scream", False), ("flower", False)],
)
def test_a_classic_sender_of_ect1_is_named(dumbbell, cc, named):
    sent = dumbbell.set("tcp.ecn", "l4s").set("tcp.control", {"cc": cc})
    assert [line.split(" ")[0] for line in warned(sent, "misplaced-ect1")] == ["flows.ftp.tcp.ecn:"] * named
    assert warned(sent.copy().set("tcp.control", {"cc": "dctcp"}).set("tcp.ecn", True), "misplaced-ect1") == []


@pytest.mark.parametrize(("peer", "named"), [(False, 0), (True, 0), ("dctcp", 0), ("accurate", 1), ("l4s", 1)])
def test_a_sender_whose_receiver_has_no_accecn_sends_no_ect1(dumbbell, peer, named):
    sent = dumbbell.set("tcp.ecn", "l4s").set("tcp.control", {"cc": "reno"}).set("tcp.peer_ecn", peer)
    assert len(warned(sent, "misplaced-ect1")) == named


@pytest.mark.parametrize(
    ("peer", "named"),
    [(False, 1), (True, 1), ("dctcp", 1), ("accurate", 0), ("l4s", 0)],
)
def test_a_receiver_that_gives_no_count_of_marks_is_named(dumbbell, peer, named):
    sent = dumbbell.set("tcp.ecn", "l4s").set("tcp.control", {"cc": "prague"}).set("tcp.peer_ecn", peer)
    assert [line.split(" ")[0] for line in warned(sent, "uncounted-marks")] == ["flows.ftp.tcp.peer_ecn:"] * named
    assert warned(sent.set("tcp.control", {"cc": "cubic"}), "uncounted-marks") == []


def test_a_queue_that_marks_nothing_is_named_where_it_is_run_alone(dumbbell, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dumbbell.set("links.bottleneck.queue", {"aqm": "droptail", "ecn": True}).set("duration", "1 s").set("warmup", "0 s")
    (tmp_path / "one.toml").write_text(dumbbell.to_toml())
    said = "links.bottleneck.queue.ecn: true has no effect, because droptail never marks"
    assert main(["run", "one.toml"]) == 0
    assert f"note: {said}" in capsys.readouterr().err
    assert main(["compare", "one.toml", "--queues", "droptail,codel", "--seeds", "2"]) == 0
    assert said not in capsys.readouterr().err
    assert warned(dumbbell.set("links.bottleneck.queue.ecn", False), "marks-of-droptail") == []


def test_an_algorithm_of_sack_that_no_flow_has_is_named(dumbbell):
    asked = dumbbell.set("tcp.sack_algorithm", "rfc6675")
    said = 'tcp.sack_algorithm: "rfc6675" has no effect, because no flow that it applies to has recovery = "sack"'
    assert warned(asked.copy().set("tcp.recovery", "reno"), "unused-sack-algorithm") == [said]
    assert warned(asked.set("tcp.recovery", "sack"), "unused-sack-algorithm") == []


def test_an_option_of_rack_tlp_that_no_flow_has_is_named(dumbbell):
    asked = dumbbell.set("tcp.f_rto", True)
    said = 'tcp.f_rto: true has no effect, because no flow that it applies to has sack_algorithm = "rack-tlp"'
    assert warned(asked, "unused-repair") == [said]
    assert warned(asked.copy().set("tcp.f_rto", False), "unused-repair") == []
    assert warned(asked.set("tcp.sack_algorithm", "rack-tlp"), "unused-repair") == []


def test_bursts_of_prague_that_leave_segment_by_segment_are_named():
    scenario = sj.load("examples/l4s.toml").set("flows.prague.tcp.control", {"cc": "prague", "burst": "1 ms"})
    said = '"1 ms" has no effect, because linux_pacing sends segments one by one'
    assert warned(scenario, "unused-burst") == [f"flows.prague.tcp.control.burst: {said}"]
    assert warned(scenario.copy().set("tcp.linux_pacing", False), "unused-burst") == []
    assert warned(sj.load("examples/l4s.toml"), "unused-burst") == []


def test_a_comparison_names_the_cases_that_a_note_is_about(dumbbell, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.toml").write_text(dumbbell.set("duration", "1 s").set("warmup", "0 s").to_toml())
    said = (
        "links.bottleneck.queue.ecn: false drops packets of flows.ftp instead of marking them, "
        "although their senders use ECN"
    )
    queues = {
        "codel(ecn=true),droptail": [],
        "codel(ecn=true),pie,pi2": [f"note: pie, pi2: {said}"],
        "codel,pie": [f"note: {said}"],
    }
    for names, notes in queues.items():
        assert main(["compare", "one.toml", "--queues", names, "--seeds", "2"]) == 0
        assert [line for line in capsys.readouterr().err.splitlines() if "ecn" in line] == notes


def test_a_queue_that_holds_no_full_packet_is_named():
    scenario = sj.Scenario.from_toml(SCENARIO.replace("KIND", "policer").replace("BURST", "64 kB"))
    assert warned(scenario, "small-queue") == []
    small = scenario.copy().set("links.up.queue.limit", "1039 B")
    said = "links.up.queue.limit: 1039 B is less than a full packet of flows.ftp (1040 B): it can hold none"
    assert warned(small, "small-queue") == [said]
    assert warned(small.set("links.up.queue.limit", "1040 B"), "small-queue") == []
    assert warned(small.set("links.up.queue.limit", "1 packet"), "small-queue") == []


def test_tcp_lp_is_named_where_receivers_hold_acks_which_keep_it_at_one_segment():
    path = sj.Scenario.from_toml(written("policer", "9000 B")).set("links.up.impairments", []).set("links.up.back", {})
    path.set("flows.ftp.tcp.control", {"cc": "tcp-lp"}).set("links.up.delay", "20 ms")
    path.set("tcp.profile", "linux").set("duration", "20 s").set("warmup", "5 s")
    assert [each.split(":")[0] for each in warned(path, "held-acks")] == ["flows.ftp"]
    assert sj.run(path, seed=1).links.loc["up", "utilization"] < 0.05
    undelayed = path.set("tcp.delayed_ack", False)
    assert warned(undelayed, "held-acks") == []
    assert sj.run(undelayed, seed=1).links.loc["up", "utilization"] > 0.5


QUEUE_RULES = (
    "threshold-beyond-limit",
    "target-beyond-limit",
    "long-target",
    "shaper-above-rate",
    "selector-without-threshold",
    "no-threshold",
)
LIMIT = {"limit": "20 packets"}
"""20 packets of 1500 bytes at 10 Mbit/s take 24 ms, 25.2 ms with the one that is being sent."""


def said(queue: dict[str, object], **changes: object) -> list[str]:
    scenario = sj.load("examples/dumbbell.toml").set("links.bottleneck.rate", "10 Mbit/s")
    scenario.set("tcp.mss", "1460 B").set("tcp.header", "40 B")
    return warned(scenario.set("links.bottleneck.queue", queue).set_all(changes), *QUEUE_RULES)


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


def test_a_scenario_without_flows_has_warnings_of_its_own() -> None:
    """No flow uses an option of `[tcp]` in a scenario without flows."""
    scenario = sj.Scenario.from_toml(SCENARIO.replace("KIND", "policer").replace("BURST", "64 kB")).set("flows", [])
    unused = warned(scenario.set("tcp.f_rto", True), "unused-repair")
    assert [each.split(":")[0] for each in unused] == ["tcp.f_rto"]


def test_a_late_change_of_the_reverse_link_and_a_queue_within_a_class_are_named() -> None:
    scenario = sj.load("examples/dumbbell.toml").set("tcp.mss", "1460 B").set("tcp.header", "40 B")
    late = scenario.copy().set("links.bottleneck.back", {"changes": [{"at": "70 s", "rate": "1 Mbit/s"}]})
    assert [each.split(":")[0] for each in warned(late, "after-the-end")] == ["links.bottleneck.back.changes[0].at"]
    inner = {"scheduler": "drr", "classes": [{"match": {"dscp": 46}, "aqm": "step", "packets": 0}, {}]}
    outer = {"scheduler": "drr", "classes": [{"match": {"group": "ftp"}, **inner}, {}]}
    nested = scenario.set("links.bottleneck.queue", outer)
    assert [each.split(":")[0] for each in warned(nested, "no-threshold")] == [
        "links.bottleneck.queue.classes[0].classes[0].packets"
    ]
