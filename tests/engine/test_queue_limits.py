"""Limits of queues as times and as bandwidth-delay products, and a FIFO that drops its head."""

from pathlib import Path

import pytest

import sojourn as sj
from sojourn.core.errors import ScenarioError

SCENARIO = """
duration = "10 s"
packet = "1000 B"
[[links]]
name = "bottleneck"
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "20 ms"
duplex = true
queue = { limit = "20 ms" }
[[links]]
name = "tail"
from = "b"
to = "c"
delay = "15 ms"
duplex = true
[[flows]]
name = "near"
from = "a"
to = "b"
[[flows]]
name = "far"
from = "a"
to = "c"
count = 2
access = { delay = ["1 ms", "10 ms"] }
egress = { delay = "5 ms" }
"""


def limit(scenario: sj.Scenario, link: int = 0) -> str:
    return str(scenario.resolved()["links"][link]["queue"]["limit"])


def scenario(**changes: object) -> sj.Scenario:
    return sj.Scenario.from_toml(SCENARIO).set_all({f"links.bottleneck.{key}": value for key, value in changes.items()})


def test_a_time_is_what_the_link_sends_in_it() -> None:
    """10 Mbit/s send 25,000 B in 20 ms: 25 packets of 1000 B."""
    assert limit(scenario()) == "25 packets"
    assert limit(scenario(rate="100 Mbit/s")) == "250 packets"
    assert limit(scenario().set("packet", "1250 B")) == "20 packets"


def test_a_bdp_is_that_of_the_longest_base_round_trip_through_the_link() -> None:
    """Twice 20 + 15 + 10 + 5 ms are 100 ms, the longest path, of the second flow of `far`.

    Over the link alone it is 40 ms.
    """
    assert limit(scenario(**{"queue.limit": "1 BDP"})) == "125 packets"
    assert limit(scenario(**{"queue.limit": "1.5 BDP"})) == "188 packets"
    alone = scenario(**{"queue.limit": "1 BDP"}).set("flows.far.from", "b").set("flows.far.to", "c")
    assert limit(alone) == "50 packets"


def test_the_queue_of_acks_has_the_same_round_trip() -> None:
    assert limit(scenario(**{"back.queue.limit": "1 BDP"}), link=1) == "125 packets"


def test_a_class_uses_the_rate_of_its_link() -> None:
    classes = [{"match": {"group": ["near"]}, "limit": "2 BDP"}, {"limit": "8 ms"}]
    tree = scenario(queue={"scheduler": "drr", "classes": classes}).resolved()
    assert [each["limit"] for each in tree["links"][0]["queue"]["classes"]] == ["250 packets", "10 packets"]


def test_a_limit_in_time_bounds_the_wait_of_packets() -> None:
    """A packet waits for 24 others and for the rest of the present transmission.

    These are 24 to 25 x 1000 B at 10 Mbit/s.
    """
    timed = scenario().set("tcp.mss", "960 B")
    record = sj.run(timed)
    assert record.value("links.bottleneck.queue.max") == 25
    assert 24 * 0.8 < record.value("links.bottleneck.wait_ms.max") <= 25 * 0.8
    planned = sj.run(timed.set("links.bottleneck.queue.limit", "25 packets"))
    assert record["fingerprint"] == planned["fingerprint"]


def test_limits_are_swept_and_compared_by_what_they_are_at_each_rate() -> None:
    found = sj.sweep(scenario().set("duration", "2 s"), {"links.bottleneck.queue.limit": ["8 ms", "1 BDP"]}, seeds=1)
    longest = found.runs["links.bottleneck.queue.max"]
    assert sorted(longest) == [10, 125]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0 s", r"limit: expected a time above zero, at most 1000000 s, got 0 s$"),
        ("0 BDP", r"limit: expected a BDP above 0, at most 1000000 BDP, got 0 BDP$"),
        ("1 BDPs", r"limit: expected packets, bytes, a time or a BDP with its unit .* got \"1 BDPs\"$"),
        ("1000000 BDP", None),
        ("1000000 s", None),
    ],
)
def test_a_limit_out_of_range_is_refused_in_one_line(text: str, said: str | None) -> None:
    if said is None:
        assert limit(scenario(**{"queue.limit": text})).endswith(" packets")
        return
    with pytest.raises(ScenarioError, match=said) as found:
        scenario(**{"queue.limit": text}).resolved()
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"flows.far.access.delay": {"uniform": ["1 ms", "2 ms"]}}, "where delays of `access` or `egress` are drawn"),
        ({"flows.far.from": "b", "flows.near.from": "b", "flows.near.to": "c"}, "where no flow has a base round trip"),
    ],
)
def test_a_bdp_without_a_known_round_trip_is_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        scenario(**{"queue.limit": "1 BDP"}).set_all(changes).resolved()


def test_a_trace_has_its_mean_rate(tmp_path: Path) -> None:
    """1 s of 5 Mbit/s and 1 s of 15 Mbit/s average to 10 Mbit/s, the scenario's rate."""
    (tmp_path / "x.csv").write_text("t, rate\n0, 5\n1, 15\n", encoding="utf-8")
    traced = scenario()
    del traced["links"][0]["rate"]
    traced["links"][0]["trace"] = {"file": str(tmp_path / "x.csv")}
    assert limit(traced) == "25 packets"


UDP = """
duration = "20 s"
warmup = "1 s"
[[links]]
name = "bottleneck"
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "1 ms"
queue = { limit = "50 packets" }
[[flows]]
name = "udp"
from = "a"
to = "b"
traffic = { kind = "cbr", rate = "20 Mbit/s", size = "1000 B" }
"""


@pytest.mark.parametrize(("aqm", "wait_ms"), [("droptail", 50 * 0.8), ("drophead", 50 * 0.4)])
def test_drops_at_the_head_halve_the_wait_at_twice_the_rate(aqm: str, wait_ms: float) -> None:
    """A packet is sent each 0.8 ms and one arrives each 0.4 ms.

    With drops at the tail a packet moves up one place each 0.8 ms, with drops at the head two: one is dropped too.
    """
    record = sj.run(sj.Scenario.from_toml(UDP).set("links.bottleneck.queue.aqm", aqm))
    link = record["links"][0]
    assert link["wait_ms"]["mean"] == pytest.approx(wait_ms, abs=0.8)
    assert link["dropped"]["tail"] == link["dropped_total"] == pytest.approx(link["arrived"] / 2, rel=0.001)
    assert link["utilization"] == pytest.approx(1, abs=1e-6)
