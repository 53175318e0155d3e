"""What runs on a Linux kernel. These tests need the kernel of `sojourn linux build`."""

import pytest

import sojourn as sj
from sojourn.errors import ScenarioError, UserError
from sojourn.linux.kernel import find_kernel
from sojourn.running import run_many
from test_linux import SCENARIO


def has_kernel() -> bool:
    """Whether there is a kernel of the present code."""
    try:
        return find_kernel().is_current
    except UserError:
        return False


live = pytest.mark.skipif(not has_kernel(), reason="needs the kernel of `sojourn linux build`")


@live
def test_two_runs_with_one_seed_are_the_same_to_the_bit() -> None:
    first, second = (sj.run(SCENARIO.replace("limit", 'aqm = "codel", limit')) for _ in range(2))
    assert first["host"]["log_sha256"] == second["host"]["log_sha256"]
    assert dict(first) == dict(second)


@live
def test_five_flows_of_linux_share_the_link() -> None:
    records = run_many(sj.load(SCENARIO).set("duration", "30 s"), seeds=2)[0]
    for record in records:
        # 5 flows send full packets of 1500 B with 1448 B of payload over a link of 10 Mbit/s that is never idle.
        assert record.value("total.goodput_bps") == pytest.approx(10e6 * 1448 / 1500, rel=0.005)
        assert record.value("total.jain") > 0.9
        assert record.value("links.bottleneck.dropped_total") > 0
        audit = record["audit"]
        assert audit["sent"] == audit["delivered"] + audit["dropped"] + audit["in_flight"]


@live
def test_ecn_marks_instead_of_drops() -> None:
    scenario = sj.load(SCENARIO).set("links.bottleneck.queue", {"aqm": "codel", "ecn": True}).set("tcp.ecn", True)
    record = sj.run(scenario)
    assert record.value("links.bottleneck.marked") > 10
    assert record.value("links.bottleneck.dropped_total") == 0
    assert record.value("flows.*.retransmitted") == [0] * 5


@live
@pytest.mark.parametrize("controller", ["flower", "flower+", "ledbat", "ledbat++", "fledbat"])
def test_our_controllers_fill_the_link_under_the_kernels_tcp(controller: str) -> None:
    scenario = sj.load(SCENARIO).set("duration", "40 s").set("flows.ftp.tcp.control", {"cc": controller})
    record = sj.run(scenario)
    assert record.value("links.bottleneck.utilization") > 0.7
    assert record.value("total.jain") > 0.8


MIXED = """
host = "linux"
duration = "20 s"
warmup = "5 s"
[[links]]
name = "first"
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "5 ms"
duplex = true
queue = { aqm = "pie", limit = "200 packets" }
changes = [{ at = "10 s", rate = "5 Mbit/s" }]
[[links]]
name = "second"
from = "b"
to = "c"
rate = "8 Mbit/s"
delay = "10 ms"
duplex = true
[[flows]]
name = "long"
from = "a"
to = "c"
count = 3
access = { rate = "100 Mbit/s", delay = { uniform = ["1 ms", "20 ms"] } }
egress = { delay = "2 ms" }
[[flows]]
name = "short"
from = "a"
to = "b"
traffic = { kind = "bulk", size = "1 MB" }
start = "6 s"
[[flows]]
name = "back"
from = "c"
to = "b"
stop = "10 s"
[[flows]]
name = "datagrams"
from = "b"
to = "c"
traffic = { kind = "cbr", rate = "500 kbit/s", size = "500 B" }
[trace]
queue = { links = ["first"], every = "100 ms" }
cwnd = { flows = ["long/0"], every = "100 ms" }
"""


@live
def test_transfers_stops_datagrams_and_several_links_work_on_the_kernel() -> None:
    record = sj.run(MIXED)
    assert record.value("groups.short.completion_s.count") == 1
    assert record.value("groups.back.completion_s") is None
    # 125 datagrams a second; of those that arrive, some were sent before the window.
    assert record.value("flows.datagrams/0.sent") == pytest.approx(15 * 125, abs=1)
    assert record.value("groups.datagrams.goodput_bps") == pytest.approx(500e3, rel=0.1)
    assert record.value("groups.long.goodput_bps") > 2e6
    assert len(record.series["queue/first"]["packets"]) == 201
    assert max(record.series["cwnd/long/0"]["packets"]) > 10


QUEUES = [
    "pfifo limit 60", "bfifo limit 90k", "sfq limit 100", "red limit 900000 min 15000 max 60000 avpkt 1500 burst 20",
    "choke limit 300 min 20 max 60 avpkt 1500 burst 30", "codel limit 1000", "fq_codel limit 1000", "fq flow_limit 20",
    "pie limit 1000", "fq_pie limit 1000", "cake besteffort", "cake bandwidth 8mbit besteffort",
    "dualpi2 limit 1000", "hhf limit 1000",
]  # fmt: skip


@live
@pytest.mark.parametrize("text", QUEUES)
def test_a_queue_discipline_of_the_kernel_drops_and_is_measured(text: str) -> None:
    scenario = sj.load(SCENARIO).set("links.bottleneck.queue", {"linux": text}).set("flows.ftp.count", 8)
    record = sj.run(scenario.set("duration", "15 s"))
    assert record.value("links.bottleneck.utilization") > 0.75
    assert record.value("links.bottleneck.dropped_total") > 0
    assert record.value("links.bottleneck.wait_ms.mean") > 0.5
    assert record.value("total.jain") > 0.5


@live
def test_duplicates_reach_their_host_and_end_none_of_its_connections() -> None:
    scenario = sj.load(SCENARIO).set("links.bottleneck.impairments", [{"kind": "duplication", "probability": 0.1}])
    record = sj.run(scenario)
    assert record.value("audit.duplicated") > 500
    assert record.value("links.bottleneck.utilization") > 0.8


@live
def test_a_fifo_of_the_kernel_is_our_drop_tail_queue() -> None:
    found = [
        sj.run(sj.load(SCENARIO).set("links.bottleneck.queue", queue))
        for queue in ({"aqm": "droptail", "limit": "42 packets"}, {"linux": "pfifo limit 42"})
    ]
    ours, theirs = (
        {key: value for key, value in record["links"][0].items() if not key.startswith("prob")} for record in found
    )
    assert ours["arrived"] == pytest.approx(theirs["arrived"], rel=0.01)
    assert ours["loss_ratio"] == pytest.approx(theirs["loss_ratio"], rel=0.1)
    assert ours["queue"]["mean"] == pytest.approx(theirs["queue"]["mean"], rel=0.02)


@live
def test_a_discipline_that_the_kernel_refuses_is_one_line() -> None:
    scenario = sj.load(SCENARIO).set("links.bottleneck.queue", {"linux": "dualpi2 coupling_factor 0"})
    with pytest.raises(ScenarioError, match=r"links\.bottleneck\.queue\.linux: expected parameters that the kernel"):
        sj.run(scenario)


@live
@pytest.mark.parametrize("name", ["bbr", "dctcp", "vegas", "lp", "westwood", "htcp", "illinois", "cdg", "highspeed"])
def test_a_congestion_control_of_the_kernel_sends(name: str) -> None:
    scenario = sj.load(SCENARIO).set("flows.ftp.tcp.control", {"linux": name})
    record = sj.run(scenario)
    assert record.value("links.bottleneck.utilization") > 0.6


@live
@pytest.mark.parametrize("controller", [{"linux": "cubic"}, {"cc": "flower"}])
def test_sessions_and_pings_work_on_the_kernel(controller: dict[str, str]) -> None:
    scenario = sj.load(SCENARIO)
    flow = {"from": "a", "to": "b", "start": "1 s"}
    web = {"kind": "web", "page_gap": "200 ms", "object_mean": 8, "object_shape": 1.5}
    scenario["flows"] = [
        {"name": "web", "count": 5, "traffic": web} | flow,
        {"name": "transfers", "traffic": {"kind": "transfers", "every": "50 ms", "size_mean": "20 kB"}} | flow,
        {"name": "ping", "traffic": {"kind": "ping", "every": "100 ms"}} | flow,
    ]  # fmt: skip
    own = scenario.copy().set("host", "simulator")
    scenario.set("flows.web.tcp.control", controller).set("flows.transfers.tcp.control", controller)
    for record in (sj.run(own), sj.run(scenario)):
        assert record.value("groups.transfers.completion_s.count") == pytest.approx(160, rel=0.25)
        assert record.value("groups.web.completion_s.count") > 50
        # 50 ms of propagation, and what the other flows add to the queue.
        assert 50 <= record.value("groups.ping.rtt_ms.p50") < 90


@live
@pytest.mark.parametrize(
    "aqm", ["droptail", "red", "codel", "fq-codel", "pie", "choke", "fuzzy-rtt", "pi-rtt", "dualpi2"]
)
def test_a_queue_of_ours_does_the_same_as_a_discipline_of_the_kernel(aqm: str) -> None:
    text = f"sojourn {{ aqm = '{aqm}', limit = '100 packets' }}"
    queues = ({"aqm": aqm, "limit": "100 packets"}, {"linux": text})
    found = [sj.run(sj.load(SCENARIO).set("links.bottleneck.queue", queue)) for queue in queues]
    network, kernel = (record["links"][0] for record in found)
    # Two runs part where packets meet in a nanosecond.
    assert kernel["arrived"] == pytest.approx(network["arrived"], rel=0.02)
    assert kernel["dropped"] == pytest.approx(network["dropped"], rel=0.1, abs=10)
    assert kernel["queue"]["mean"] == pytest.approx(network["queue"]["mean"], rel=0.05)


@live
def test_a_discipline_of_ours_marks_real_packets() -> None:
    scenario = sj.load(SCENARIO).set("tcp.ecn", True)
    record = sj.run(scenario.set("links.bottleneck.queue", {"linux": "sojourn { aqm = 'codel', ecn = true }"}))
    assert record.value("links.bottleneck.marked") > 10
    assert record.value("links.bottleneck.dropped_total") == 0


@live
@pytest.mark.parametrize("controller", ["dctcp", "copa", "bbr", "bbr3"])
def test_a_controller_of_ours_that_paces_or_counts_marks_works_under_the_kernels_tcp(controller: str) -> None:
    queue = {"aqm": "step", "ecn": True} if controller == "dctcp" else {"limit": "100 packets"}
    scenario = sj.load(SCENARIO).set("flows.ftp.tcp.control", {"cc": controller}).set("links.bottleneck.queue", queue)
    record = sj.run(scenario.set("tcp.ecn", controller == "dctcp").set("duration", "20 s"))
    assert record.value("links.bottleneck.utilization") > 0.8
    assert (record.value("links.bottleneck.marked") > 100) == (controller == "dctcp")


@live
@pytest.mark.parametrize("queue", [{"aqm": "dualpi2", "ecn": True}, {"linux": "dualpi2"}])
def test_packets_of_prague_are_those_of_a_scalable_sender(queue: dict[str, object]) -> None:
    scenario = sj.load(SCENARIO).set("flows.ftp.tcp.control", {"cc": "prague"}).set("tcp.ecn", True)
    record = sj.run(scenario.set("links.bottleneck.queue", queue).set("duration", "20 s"))
    assert record.value("links.bottleneck.utilization") > 0.8
    assert record.value("links.bottleneck.marked") > 100
    # The threshold of the queue for scalable senders is 1 ms; a packet takes 1.2 ms. Classic ones wait 15 ms.
    assert record.value("links.bottleneck.wait_ms.mean") < 6


@live
def test_classes_traces_and_requests_work_on_the_kernel() -> None:
    scenario = sj.load(SCENARIO)
    flow = {"from": "a", "to": "b", "start": "0 s"}
    web = {"kind": "web", "page_gap": "200 ms", "object_mean": 8, "object_shape": 1.5, "request": "400 B"}
    scenario["flows"] = [
        {"name": "x", "count": 2} | flow, {"name": "y", "count": 2} | flow,
        {"name": "web", "count": 5, "traffic": web, "from": "b", "to": "a"},
    ]  # fmt: skip
    classes = [{"match": {"group": "x"}, "share": 3, "limit": "50 packets"}, {"aqm": "codel"}]
    scenario.set("links.bottleneck.queue", {"scheduler": "drr", "classes": classes})
    here, there = (sj.run(scenario.copy().set("host", host)) for host in ("simulator", "linux"))
    for record in (here, there):
        assert record.value("groups.x.goodput_bps") / record.value("groups.y.goodput_bps") == pytest.approx(3, rel=0.1)
        assert record["links"][0]["classes"][0]["dropped"] > 0
    assert there.value("groups.web.completion_s.count") == pytest.approx(
        here.value("groups.web.completion_s.count"), rel=0.1
    )
    assert there.value("groups.web.completion_s.mean") == pytest.approx(
        here.value("groups.web.completion_s.mean"), rel=0.1
    )
