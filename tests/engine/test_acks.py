"""ACK filters of queues and ACK thinning: dropped ACKs carry no new information."""

import re

import pytest

import sojourn as sj
from sojourn.cli import main
from tests.support.source_tree import ROOT

EXAMPLES = ROOT / "examples"


def run(back, tcp=None, **scenario):
    """A download over a cable modem whose reverse path is 200 times slower."""
    link = {"name": "cable", "from": "isp", "to": "home", "rate": "100 Mbit/s", "delay": "10 ms", "duplex": True}
    link |= {"back": {"rate": "500 kbit/s"} | back, "queue": {"limit": "400 packets"}}
    flow = {"name": "download", "from": "isp", "to": "home", "tcp": {"profile": "linux"} | (tcp or {})}
    document = {"duration": "10 s", "warmup": "2 s", "links": [link], "flows": [flow], **scenario}
    return sj.run(sj.Scenario(document))


def queue(ack_filter, **more):
    return {"queue": {"ack_filter": ack_filter, "limit": "50 packets", **more}}


@pytest.mark.parametrize("discipline", [{}, {"aqm": "codel"}, {"aqm": "fq-codel"}, {"aqm": "dualpi2"}])
def test_a_filter_takes_the_wait_of_acks_from_the_round_trip(discipline):
    """A window of 120 packets a round trip: 20 ms without queues, some 50 if 50 ACKs wait."""
    names = ("none", "filter", "aggressive")
    plain, filtered, aggressive = (run(queue(name, **discipline), {"window": "120 packets"}) for name in names)
    goodput = [record["flows"][0]["goodput_bps"] for record in (plain, filtered, aggressive)]
    assert goodput[1] > 1.5 * goodput[0]
    assert goodput[2] >= 0.98 * goodput[1]
    assert "ack_filter" not in plain["links"][1]["dropped"]
    for record in (filtered, aggressive):
        back, (flow,) = record["links"][1], record["flows"]
        assert back["dropped"]["ack_filter"] > 1000
        causes = sum(value for cause, value in back["dropped"].items())
        assert back["dropped_total"] == causes
        assert flow["timeouts"] == 0
    waits = [record["links"][1]["wait_ms"]["p95"] for record in (plain, filtered, aggressive)]
    assert waits[2] <= waits[1] < waits[0] / 10


@pytest.mark.parametrize("recovery", ["sack", "newreno"])
def test_what_a_sender_needs_to_repair_losses_is_not_filtered(recovery):
    """Losses are repaired with a filter as on a reverse path whose rate needs none.

    There are no timeouts.
    """
    losses = [{"kind": "loss", "probability": 0.001}]
    document = {"impairments": losses}
    link = {
        "name": "cable",
        "from": "isp",
        "to": "home",
        "rate": "20 Mbit/s",
        "delay": "10 ms",
        "duplex": True,
        **document,
    }
    flow = {"name": "download", "from": "isp", "to": "home", "tcp": {"profile": "rfc", "recovery": recovery}}

    def timeouts(back):
        text = {"duration": "60 s", "links": [link | {"back": back}], "flows": [flow]}
        (got,) = sj.run(sj.Scenario(text))["flows"]
        return got["timeouts"], got["goodput_bps"]

    without, fast = timeouts({"rate": "20 Mbit/s"})
    filtered, slow = timeouts({"rate": "200 kbit/s", **queue("aggressive")})
    assert filtered <= without + 1
    assert slow > 0.85 * fast


def test_ecn_echoes_pass_a_filter():
    link = {"name": "cable", "from": "isp", "to": "home", "rate": "20 Mbit/s", "delay": "10 ms", "duplex": True}
    link |= {"queue": {"aqm": "codel", "ecn": True}}
    flow = {"name": "download", "from": "isp", "to": "home", "tcp": {"profile": "linux", "ecn": True}}
    results = []
    for back in ({"rate": "20 Mbit/s"}, {"rate": "200 kbit/s", **queue("aggressive")}):
        text = {"duration": "30 s", "links": [link | {"back": back}], "flows": [flow]}
        record = sj.run(sj.Scenario(text))
        results.append(
            (record["links"][0]["marked"], record["links"][0]["dropped_total"], record["links"][0]["queue"]["mean"])
        )
    (fast, _, _), (slow, dropped, _) = results
    assert fast > 5
    assert dropped == 0
    assert 0.5 * fast < slow < 2 * fast


@pytest.mark.parametrize("thinning", [{"every": 4}, {"interval": "2 ms"}])
def test_thinning_passes_a_part_of_the_acks_and_transfers_still_end(thinning):
    impairment = {"kind": "ack-thinning", **thinning}
    record = run({"rate": "10 Mbit/s", "impairments": [impairment]})
    (thinned,) = record["links"][1]["impairments"]
    assert 0.6 < thinned["dropped"] / thinned["met"] < 0.95
    assert record["flows"][0]["goodput_bps"] > 80e6


def test_a_class_has_a_filter_of_its_own():
    classes = [{"match": {"group": "download"}, "ack_filter": "filter", "limit": "50 packets"}, {}]
    record = run({"queue": {"scheduler": "strict", "classes": classes}})
    back = record["links"][1]
    first, last = back["classes"]
    assert first["dropped"]["ack_filter"] == back["dropped"]["ack_filter"] > 1000
    assert "ack_filter" not in last["dropped"]


@pytest.mark.parametrize(
    ("back", "problem"),
    [
        (queue("some"), "links.cable.back.queue.ack_filter: expected one of none, filter, aggressive, got"),
        (
            {"impairments": [{"kind": "ack-thinning"}]},
            "impairments[0].every: expected a number of ACKs, or an interval",
        ),
        ({"impairments": [{"kind": "ack-thinning", "every": 0}]}, "impairments[0].every: expected 1 to 1000 ACKs"),
    ],
)
def test_what_makes_no_sense_is_refused(back, problem):
    with pytest.raises(sj.ScenarioError) as refused:
        run(back)
    assert problem in str(refused.value)


def test_run_says_how_many_dropped_packets_are_acks_that_a_filter_dropped(capsys):
    main(["run", str(EXAMPLES / "cable.toml"), "--set", "duration=5 s", "--set", "warmup=1 s"])
    assert re.search(r"^cable.back: of the dropped packets [\d,]+ are ACKs", capsys.readouterr().out, re.MULTILINE)


def option_filter(option, there, back, **tcp):
    """A transfer of 2 MB through a middlebox that removes an option or drops its packets.

    `there` and `back` are its action in each direction.
    """
    made = [[{"kind": "tcp-option", "option": option, "action": action}] if action else [] for action in (there, back)]
    tcp = {"profile": "linux", "ecn": True, "control": {"cc": "prague"}, **tcp}
    link = {"name": "cable", "from": "isp", "to": "home", "rate": "10 Mbit/s", "delay": "10 ms", "duplex": True}
    link |= {"impairments": made[0], "back": {"impairments": made[1]}, "queue": {"aqm": "dualpi2", "ecn": True}}
    flow = {"name": "download", "from": "isp", "to": "home", "tcp": tcp, "traffic": {"kind": "bulk", "size": "2 MB"}}
    record = sj.run(sj.Scenario({"duration": "20 s", "links": [link], "flows": [flow]}))
    return record, [each for link in record["links"] for each in link.get("impairments", [])]


@pytest.mark.parametrize("option", ["recommended", "minimum", "full"])
def test_a_transfer_ends_where_accecns_option_does_not_come_through(option):
    """A stripped option costs nothing, because the ACE field reports marks.

    A dropped SYN-ACK is sent again after 1 s.
    """
    seconds = {}
    for action in (None, "strip", "drop"):
        record, filters = option_filter("accecn", action, action, accecn_option=option)
        seconds[action] = record["groups"][0]["completion_s"]["mean"]
        assert record["links"][0]["marked"] > 10
        told = [(each["dropped"], each["stripped"]) for each in filters]
        assert all((dropped > 0) == (action == "drop") for dropped, _ in told[1:])
        assert all((stripped > 0) == (action == "strip") for _, stripped in told[1:])
    assert seconds["strip"] == pytest.approx(seconds[None], rel=0.02)
    assert 0.9 < seconds["drop"] - seconds[None] < 4


def test_linux_sends_no_option_that_it_did_not_get_and_by_the_rfc_a_host_does():
    """So a middlebox that drops only packets with the option removes it from ACKs too."""
    stripped = {}
    for option in ("recommended", "full"):
        _, (there, back) = option_filter("accecn", "strip", "strip", accecn_option=option)
        stripped[option] = (there["stripped"], back["stripped"])
    assert stripped["full"] == (0, 1)
    assert stripped["recommended"][0] == 1 < 500 < stripped["recommended"][1]


def test_without_sack_blocks_losses_are_repaired_by_the_timer():
    lossy = {"ecn": False, "control": {"cc": "cubic"}}
    with_blocks, without = (option_filter("sack", None, action, **lossy)[0] for action in (None, "strip"))
    assert with_blocks["flows"][0]["timeouts"] == 0 < without["flows"][0]["timeouts"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"option": "mss"}, "expected one of accecn, sack"),
        ({"action": "bleach"}, "expected one of strip, drop"),
        ({"options": ["accecn"]}, "expected one of option, action"),
    ],
)
def test_a_wrong_option_filter_is_one_line(change, said):
    entry = {"kind": "tcp-option", "option": "accecn"} | change
    with pytest.raises(sj.ScenarioError, match=said):
        run({"impairments": [entry]})
