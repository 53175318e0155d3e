"""What is named in a note and not refused: buckets that no full packet passes, options that nothing uses."""

import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.notes import (
    held_acks,
    idle_accecn_options,
    idle_bursts,
    idle_ecn,
    idle_marks,
    idle_repairs,
    idle_sack_algorithms,
    misplaced_ect1,
    too_small_buckets,
    too_small_queues,
    uncounted_marks,
)

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
    assert capsys.readouterr().err.splitlines() == [f"note: {said}"]


def test_what_is_named_passes_nothing_and_one_byte_more_passes_all():
    small, enough = (sj.Scenario.from_toml(written("policer", burst)) for burst in ("1039 B", "1040 B"))
    passed = [sj.run(scenario, seed=1).value("flows.0.goodput_bps") for scenario in (small, enough)]
    assert passed[0] == 0 < passed[1]
    assert len(too_small_buckets(small)) == 1
    assert too_small_buckets(enough) == []


def test_on_the_reverse_path_a_flow_that_goes_there_is_named():
    turned = sj.Scenario.from_toml(written("policer", "5 kB")).set("flows.ftp.from", "b").set("flows.ftp.to", "a")
    assert too_small_buckets(turned) == [
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
    assert [each.partition(".accecn_option: ")[0] for each in idle_accecn_options(scenario)] == idle


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
    assert idle_ecn(dumbbell) == [said]
    assert idle_ecn(dumbbell.copy().set("tcp.ecn", False)) == []
    assert idle_ecn(dumbbell.copy().set("links.bottleneck.queue.ecn", True)) == []
    assert idle_ecn(dumbbell.copy().set("links.bottleneck.queue", {"aqm": "droptail"})) == []


def test_a_queue_that_marks_by_its_threshold_alone_is_not_named(dumbbell):
    threshold = {"aqm": "fq-codel", "ecn": False, "ce_threshold": "1 ms"}
    marking = dumbbell.set("links.bottleneck.queue", threshold).set("duration", "5 s").set("warmup", "1 s")
    assert idle_ecn(marking) == []
    assert sj.run(marking, seed=1).value("links.bottleneck.marked") > 0


def test_a_queue_of_a_class_that_marks_is_seen(dumbbell):
    classes = [{"match": {"dscp": 46}, "aqm": "pie"}, {"name": "rest", "aqm": "codel", "ecn": True}]
    marking = dumbbell.copy().set("links.bottleneck.queue", {"scheduler": "drr", "classes": classes})
    assert idle_ecn(marking) == []
    assert (
        len(idle_ecn(marking.set("links.bottleneck.queue.classes", [classes[0], {"name": "rest", "aqm": "codel"}])))
        == 1
    )


def test_a_discipline_of_a_kernel_decides_by_itself_what_it_marks(dumbbell):
    kernel = dumbbell.set("host", "linux").set("tcp.profile", "linux")
    assert idle_ecn(kernel.set("links.bottleneck.queue", {"linux": "fq_codel"})) == []


@pytest.mark.parametrize(
    ("cc", "named"),
    [("bbr3", True), ("cubic", True), ("prague", False), ("dctcp", False), ("scream", False), ("flower", False)],
)
def test_a_classic_sender_of_ect1_is_named(dumbbell, cc, named):
    sent = dumbbell.set("tcp.ecn", "l4s").set("tcp.control", {"cc": cc})
    assert [line.split(" ")[0] for line in misplaced_ect1(sent)] == ["flows.ftp.tcp.ecn:"] * named
    assert misplaced_ect1(sent.copy().set("tcp.control", {"cc": "dctcp"}).set("tcp.ecn", True)) == []


@pytest.mark.parametrize(("peer", "named"), [(False, 0), (True, 0), ("dctcp", 0), ("accurate", 1), ("l4s", 1)])
def test_a_sender_whose_receiver_has_no_accecn_sends_no_ect1(dumbbell, peer, named):
    sent = dumbbell.set("tcp.ecn", "l4s").set("tcp.control", {"cc": "reno"}).set("tcp.peer_ecn", peer)
    assert len(misplaced_ect1(sent)) == named


@pytest.mark.parametrize(
    ("peer", "named"),
    [(False, 1), (True, 1), ("dctcp", 1), ("accurate", 0), ("l4s", 0)],
)
def test_a_receiver_that_gives_no_count_of_marks_is_named(dumbbell, peer, named):
    sent = dumbbell.set("tcp.ecn", "l4s").set("tcp.control", {"cc": "prague"}).set("tcp.peer_ecn", peer)
    assert [line.split(" ")[0] for line in uncounted_marks(sent)] == ["flows.ftp.tcp.peer_ecn:"] * named
    assert uncounted_marks(sent.set("tcp.control", {"cc": "cubic"})) == []


def test_a_queue_that_marks_nothing_is_named_where_it_is_run_alone(dumbbell, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dumbbell.set("links.bottleneck.queue", {"aqm": "droptail", "ecn": True}).set("duration", "1 s").set("warmup", "0 s")
    (tmp_path / "one.toml").write_text(dumbbell.to_toml())
    said = "links.bottleneck.queue.ecn: true has no effect, because droptail never marks"
    assert main(["run", "one.toml"]) == 0
    assert f"note: {said}" in capsys.readouterr().err
    assert main(["compare", "one.toml", "--queues", "droptail,codel", "--seeds", "2"]) == 0
    assert said not in capsys.readouterr().err
    assert idle_marks(dumbbell.set("links.bottleneck.queue.ecn", False)) == []


def test_an_algorithm_of_sack_that_no_flow_has_is_named(dumbbell):
    asked = dumbbell.set("tcp.sack_algorithm", "rfc6675")
    said = 'tcp.sack_algorithm: "rfc6675" has no effect, because no flow that it applies to has recovery = "sack"'
    assert idle_sack_algorithms(asked.copy().set("tcp.recovery", "reno")) == [said]
    assert idle_sack_algorithms(asked.set("tcp.recovery", "sack")) == []


def test_an_option_of_rack_tlp_that_no_flow_has_is_named(dumbbell):
    asked = dumbbell.set("tcp.f_rto", True)
    said = 'tcp.f_rto: true has no effect, because no flow that it applies to has sack_algorithm = "rack-tlp"'
    assert idle_repairs(asked) == [said]
    assert idle_repairs(asked.copy().set("tcp.f_rto", False)) == []
    assert idle_repairs(asked.set("tcp.sack_algorithm", "rack-tlp")) == []


def test_bursts_of_prague_that_leave_segment_by_segment_are_named():
    scenario = sj.load("examples/l4s.toml").set("flows.prague.tcp.control", {"cc": "prague", "burst": "1 ms"})
    said = '"1 ms" has no effect, because linux_pacing sends segments one by one'
    assert idle_bursts(scenario) == [f"flows.prague.tcp.control.burst: {said}"]
    assert idle_bursts(scenario.copy().set("tcp.linux_pacing", False)) == []
    assert idle_bursts(sj.load("examples/l4s.toml")) == []


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
    assert too_small_queues(scenario) == []
    small = scenario.copy().set("links.up.queue.limit", "1039 B")
    said = "links.up.queue.limit: 1039 B is less than a full packet of flows.ftp (1040 B): it can hold none"
    assert too_small_queues(small) == [said]
    assert too_small_queues(small.set("links.up.queue.limit", "1040 B")) == []
    assert too_small_queues(small.set("links.up.queue.limit", "1 packet")) == []


def test_tcp_lp_is_named_where_receivers_hold_acks_which_keep_it_at_one_segment():
    path = sj.Scenario.from_toml(written("policer", "9000 B")).set("links.up.impairments", []).set("links.up.back", {})
    path.set("flows.ftp.tcp.control", {"cc": "tcp-lp"}).set("links.up.delay", "20 ms")
    path.set("tcp.profile", "linux").set("duration", "20 s").set("warmup", "5 s")
    assert [each.split(":")[0] for each in held_acks(path)] == ["flows.ftp"]
    assert sj.run(path, seed=1).links.loc["up", "utilization"] < 0.05
    undelayed = path.set("tcp.delayed_ack", False)
    assert held_acks(undelayed) == []
    assert sj.run(undelayed, seed=1).links.loc["up", "utilization"] > 0.5
