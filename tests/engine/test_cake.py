"""CAKE in whole runs: shares of hosts, tins, its shaper, and rejected settings."""

import pytest

import sojourn as sj
from tests.support.source_tree import ROOT


def example(**settings):
    scenario = sj.load(str(ROOT / "examples/cake.toml"))
    for path, value in settings.items():
        scenario = scenario.set(path.replace("__", "."), value)
    return scenario


def goodput(record, group):
    return next(each["goodput_bps"] for each in record["groups"] if each["name"] == group)


@pytest.mark.parametrize(("isolation", "share"), [("triple-isolate", 1 / 2), ("flows", 2 / 10)])
def test_hosts_share_alike_and_telephony_does_not_wait(isolation, share):
    # A single flow leaves a twelfth of its half to others, in Linux too: each drop costs it three tenths of its window.
    record = sj.run(example(links__access__queue__isolation=isolation, flows__one__count=2))
    one, many = goodput(record, "one"), goodput(record, "many")
    assert one / (one + many) == pytest.approx(share, rel=0.08)
    assert record["links"][0]["utilization"] > 0.98
    phone = next(each for each in record["flows"] if each["group"] == "telephony")
    assert phone["dropped"] == 0
    assert phone["goodput_bps"] == pytest.approx(100e3, rel=0.01)


@pytest.mark.parametrize("acts", [True, False])
def test_acks_that_newer_ones_make_useless_leave_a_slow_reverse_link(acts):
    # The ACKs of 20 Mbit/s take about 420 kbit/s: a fifth of the 2 Mbit/s that the example has.
    back = {"links__access__back__rate": "300 kbit/s"} if acts else {}
    dropped = sj.run(example(duration="10 s", **back))["links"][1]["dropped"]
    assert (dropped["ack_filter"] > 0) == acts


def test_a_shaper_keeps_its_rate_with_what_the_link_layer_adds():
    shaped = {"aqm": "cake", "bandwidth": "10 Mbit/s", "overhead": "docsis"}
    record = sj.run(example(links__access__queue=shaped))
    link = record["links"][0]
    packet = link["throughput_bps"] / 8 / link["departed"] * (30 - 5)
    assert link["throughput_bps"] * (packet + 18) / packet == pytest.approx(10e6, rel=0.01)
    assert link["queue"]["mean"] > 5


def test_tins_go_by_the_dscp_of_flows():
    waits = {}
    for diffserv in ("besteffort", "diffserv4"):
        queue = {"aqm": "cake", "bandwidth": "10 Mbit/s", "diffserv": diffserv}
        scenario = example(links__access__queue=queue, trace__wait={"links": ["access"]})
        record = sj.run(scenario)
        trace = record.trace("wait/access")
        waits[diffserv] = trace[trace["group"] == "telephony"]["seconds"].quantile(0.99)
    assert waits["diffserv4"] < waits["besteffort"]


@pytest.mark.parametrize(
    ("queue", "problem"),
    [
        ({"aqm": "cake", "rtt": "0 s"}, "links.access.queue.rtt: expected a time, 1 us to 1000 s, got 0 s"),
        ({"aqm": "cake", "diffserv": "diffserv8"}, "links.access.queue.diffserv: expected one of besteffort, "),
        ({"aqm": "cake", "overhead": "docsys"}, "links.access.queue.overhead: expected one of raw, "),
        ({"aqm": "cake", "overhead": {"mpu": "1 kB"}}, "links.access.queue.overhead.mpu: expected a size of 0 B"),
    ],
)
def test_what_cake_cannot_do_is_refused(queue, problem):
    with pytest.raises(sj.ScenarioError) as refused:
        sj.run(example(links__access__queue=queue))
    assert problem in str(refused.value)
