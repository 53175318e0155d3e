"""Runs on a Linux kernel. These tests need the kernel of `sojourn linux build`."""

import functools
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from sojourn.core.errors import RunError, ScenarioError, UserError
from sojourn.linux import guest
from sojourn.linux.kernel import find_kernel
from sojourn.runs.runner import run_many
from tests.linux.test_linux import SCENARIO, has_ended


def has_kernel() -> bool:
    """Whether a kernel of the present code is built."""
    try:
        return find_kernel().is_current
    except UserError:
        return False


live = pytest.mark.skipif(not has_kernel(), reason="needs the kernel of `sojourn linux build`")


@live
def test_two_runs_with_one_seed_are_the_same_to_the_bit() -> None:
    first, second = (sj.run(sj.loads(SCENARIO.replace("limit", 'aqm = "codel", limit'))) for _ in range(2))
    assert first["host"]["log_sha256"] == second["host"]["log_sha256"]
    assert dict(first) == dict(second)


@live
def test_five_flows_of_linux_share_the_link() -> None:
    records = run_many(sj.loads(SCENARIO).set("duration", "30 s"), seeds=2)[0]
    for record in records:
        # 5 flows send full packets of 1500 B with 1448 B of payload over a link of 10 Mbit/s that is never idle.
        assert record.value("total.goodput_bps") == pytest.approx(10e6 * 1448 / 1500, rel=0.005)
        assert record.value("total.jain") > 0.9
        assert record.value("links.bottleneck.dropped_total") > 0
        audit = record["audit"]
        assert audit["sent"] == audit["delivered"] + audit["dropped"] + audit["in_flight"]


@live
def test_ecn_marks_instead_of_drops() -> None:
    scenario = sj.loads(SCENARIO).set("links.bottleneck.queue", {"aqm": "codel", "ecn": True}).set("tcp.ecn", True)
    record = sj.run(scenario)
    assert record.value("links.bottleneck.marked") > 10
    assert record.value("links.bottleneck.dropped_total") == 0
    assert record.value("flows.*.retransmitted") == [0] * 5


@live
@pytest.mark.parametrize("controller", ["flower", "flower+", "ledbat", "ledbat++", "fledbat"])
def test_our_controllers_fill_the_link_under_the_kernels_tcp(controller: str) -> None:
    scenario = sj.loads(SCENARIO).set("duration", "40 s").set("flows.ftp.tcp.control", {"cc": controller})
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
    record = sj.run(sj.loads(MIXED))
    assert record.value("groups.short.completion_s.count") == 1
    assert record.value("groups.back.completion_s") is None
    # 125 datagrams a second; of those that arrive, some were sent before the window.
    assert record.value("flows.datagrams/0.sent") == pytest.approx(15 * 125, abs=1)
    assert record.value("groups.datagrams.goodput_bps") == pytest.approx(500e3, rel=0.1)
    assert record.value("groups.long.goodput_bps") > 2e6
    assert len(record.series["queue/first"]["packets"]) == 201
    assert max(record.series["cwnd/long/0"]["packets"]) > 10


PLAIN = ["codel", "fq_codel", "pie", "fq_pie", "dualpi2", "hhf"]
QUEUES = [
    *(f"{name} limit 1000" for name in PLAIN),
    "pfifo limit 60",
    "pfifo_head_drop limit 60",
    "bfifo limit 90k",
    "sfq limit 100",
    "red limit 900000 min 15000 max 60000 avpkt 1500 burst 20",
    "choke limit 300 min 20 max 60 avpkt 1500 burst 30",
    "fq flow_limit 20",
    "cake besteffort",
    "cake bandwidth 8mbit besteffort",
]


@live
@pytest.mark.parametrize("text", QUEUES)
def test_a_queue_discipline_of_the_kernel_drops_and_is_measured(text: str) -> None:
    scenario = sj.loads(SCENARIO).set("links.bottleneck.queue", {"linux": text}).set("flows.ftp.count", 8)
    record = sj.run(scenario.set("duration", "15 s"))
    assert record.value("links.bottleneck.utilization") > 0.75
    assert record.value("links.bottleneck.dropped_total") > 0
    assert record.value("links.bottleneck.wait_ms.mean") > 0.5
    assert record.value("total.jain") > 0.5


@live
def test_duplicates_reach_their_host_and_end_none_of_its_connections() -> None:
    scenario = sj.loads(SCENARIO).set("links.bottleneck.impairments", [{"kind": "duplication", "probability": 0.1}])
    record = sj.run(scenario)
    assert record.value("audit.duplicated") > 500
    assert record.value("links.bottleneck.utilization") > 0.8


CABLE = """
host = "linux"
duration = "10 s"
warmup = "2 s"
[[links]]
name = "cable"
from = "isp"
to = "home"
rate = "30 Mbit/s"
delay = "10 ms"
duplex = true
queue = { limit = "100 packets" }
back = { rate = "200 kbit/s", queue = { limit = "50 packets" } }
[[flows]]
name = "download"
from = "isp"
to = "home"
count = 2
tcp = { profile = "linux", ecn = true }
"""
"""A download over a cable modem whose reverse path has no room for all ACKs."""


@live
def test_an_ack_filter_reads_the_kernels_acks_and_takes_their_wait_from_the_round_trip() -> None:
    plain = sj.loads(CABLE)
    filtered = sj.loads(CABLE).set("links.cable.back.queue.ack_filter", "filter")
    first, second = (sj.run(scenario) for scenario in (plain, filtered))
    assert second.value("links.cable:back.dropped.ack_filter") > 1000
    assert second.value("groups.download.goodput_bps") > first.value("groups.download.goodput_bps")
    own = plain.copy()
    own.set("links.cable.back.queue", {"linux": "sojourn { limit = '50 packets', ack_filter = 'filter' }"})
    # As a discipline of the kernel it drops the same packets.
    third = sj.run(own)
    assert third["host"]["qdiscs"][0]["counted"]["ack_filter"] > 1000
    assert third.value("groups.download.goodput_bps") == pytest.approx(
        second.value("groups.download.goodput_bps"), rel=0.01
    )


@live
def test_ack_thinning_lets_some_of_the_kernels_acks_pass() -> None:
    thinning = {"kind": "ack-thinning", "every": 4}
    record = sj.run(sj.loads(CABLE).set("links.cable.back.impairments", [thinning]))
    plain = sj.run(sj.loads(CABLE))
    assert record.value("links.cable:back.dropped.impaired") > 1000
    assert record.value("links.cable.utilization") > plain.value("links.cable.utilization")


@live
@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")
def test_a_capture_has_the_packets_of_the_kernel_and_tshark_finds_nothing_wrong(tmp_path: Path) -> None:
    file = tmp_path / "x.pcapng"
    scenario = sj.loads(CABLE).set("links.cable.back.queue.ack_filter", "filter")
    record = sj.run(scenario, pcap=file, pcap_links=["cable"], pcap_hosts=["download/0:sender"])
    assert dict(record) == dict(sj.run(scenario)), "a capture changes nothing"
    at_link = tshark(file, "frame.interface_name == cable")
    # The record counts from 2 s on.
    start = 946_684_800 + 2
    counted = tshark(file, f"frame.interface_name == cable && frame.time_epoch >= {start}")
    assert (len(at_link) > len(counted), len(counted)) == (True, record.value("links.cable.arrived"))
    dropped = tshark(file, f'frame.time_epoch >= {start} && frame.comment contains "dropped"')
    assert len(dropped) == record.value("links.cable.dropped_total")
    assert not tshark(file, "ip.checksum.status == 0 || tcp.checksum.status == 0 || _ws.malformed")
    # Both SYNs of the flow, at its sender, with the options of Linux; and SACK blocks.
    options = "tcp.options.sack_perm && tcp.options.timestamp.tsval && tcp.options.wscale.shift && tcp.options.mss_val"
    assert len(tshark(file, f"frame.interface_name != cable && tcp.flags.syn == 1 && {options}")) == 2
    assert tshark(file, "frame.interface_name != cable && tcp.options.sack_le")


def tshark(file: Path, which: str) -> list[str]:
    """The packets of a file that match a filter, a line each. Checksums are verified."""
    checks = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]
    done = subprocess.run(["tshark", "-r", file, *checks, "-Y", which], capture_output=True, text=True, check=True)
    said = [line for line in done.stderr.splitlines() if "Running as user" not in line]
    assert not said
    return done.stdout.splitlines()


MEDIUM = """
[[media]]
name = "air"
overhead = "300 us"
"""


@live
def test_links_that_share_a_medium_send_in_turns_under_the_kernels_tcp() -> None:
    alone, shared = (sj.loads(SCENARIO + more) for more in ("", MEDIUM))
    shared.set("links.bottleneck.medium", "air")
    first, second = (sj.run(scenario) for scenario in (alone, shared))
    # Each packet of data takes 1.2 ms, and here 0.3 ms more; each two share the medium with an ACK of 0.04 + 0.3 ms.
    goodput = second.value("total.goodput_bps") / first.value("total.goodput_bps")
    assert goodput == pytest.approx(2 * 1.2 / (2 * 1.5 + 0.34), abs=0.03)


@live
@pytest.mark.parametrize(("aqm", "kind"), [("droptail", "pfifo"), ("drophead", "pfifo_head_drop")])
def test_a_fifo_of_the_kernel_is_our_queue(aqm: str, kind: str) -> None:
    found = [
        sj.run(sj.loads(SCENARIO).set("links.bottleneck.queue", queue))
        for queue in ({"aqm": aqm, "limit": "42 packets"}, {"linux": f"{kind} limit 42"})
    ]
    ours, theirs = (
        {key: value for key, value in record["links"][0].items() if not key.startswith("prob")} for record in found
    )
    assert ours["arrived"] == pytest.approx(theirs["arrived"], rel=0.01)
    assert ours["loss_ratio"] == pytest.approx(theirs["loss_ratio"], rel=0.1)
    assert ours["queue"]["mean"] == pytest.approx(theirs["queue"]["mean"], rel=0.02)


@live
def test_a_discipline_that_the_kernel_refuses_is_one_line() -> None:
    scenario = sj.loads(SCENARIO).set("links.bottleneck.queue", {"linux": "dualpi2 coupling_factor 0"})
    with pytest.raises(ScenarioError, match=r"links\.bottleneck\.queue\.linux: expected parameters that the kernel"):
        sj.run(scenario)


@live
@pytest.mark.parametrize("name", ["bbr", "dctcp", "vegas", "lp", "westwood", "htcp", "illinois", "cdg", "highspeed"])
def test_a_congestion_control_of_the_kernel_sends(name: str) -> None:
    scenario = sj.loads(SCENARIO).set("flows.ftp.tcp.control", {"linux": name})
    record = sj.run(scenario)
    assert record.value("links.bottleneck.utilization") > 0.6


@live
@pytest.mark.parametrize("controller", [{"linux": "cubic"}, {"cc": "flower"}])
def test_sessions_and_pings_work_on_the_kernel(controller: dict[str, str]) -> None:
    scenario = sj.loads(SCENARIO)
    flow = {"from": "a", "to": "b", "start": "1 s"}
    web = {"kind": "web", "page_gap": "200 ms", "object_mean": 8, "object_shape": 1.5}
    scenario["flows"] = [
        {"name": "web", "count": 5, "traffic": web} | flow,
        {"name": "transfers", "traffic": {"kind": "transfers", "every": "50 ms", "size_mean": "20 kB"}} | flow,
        {"name": "ping", "traffic": {"kind": "ping", "every": "100 ms"}} | flow,
    ]
    own = scenario.copy().set("host", "simulator")
    scenario.set("flows.web.tcp.control", controller).set("flows.transfers.tcp.control", controller)
    for record in (sj.run(own), sj.run(scenario)):
        # Poisson arrivals, one in 50 ms for 8 s: 160 with a standard deviation of the root; 99.9 % are within 3.29.
        assert record.value("groups.transfers.completion_s.count") == pytest.approx(160, abs=3.29 * 160**0.5)
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
    found = run_many([sj.loads(SCENARIO).set("links.bottleneck.queue", queue) for queue in queues], seeds=4)
    network, kernel = ([record["links"][0] for record in records] for records in found)

    def total(links: list[dict[str, Any]], *path: str) -> float:
        return sum(float(functools.reduce(lambda at, name: at[name], path, link)) for link in links)

    # Two runs diverge when packets coincide in a nanosecond: later draws then differ.
    assert total(kernel, "arrived") == pytest.approx(total(network, "arrived"), rel=0.02)
    assert total(kernel, "dropped_total") == pytest.approx(total(network, "dropped_total"), rel=0.1)
    assert total(kernel, "queue", "mean") == pytest.approx(total(network, "queue", "mean"), rel=0.05)


@live
def test_a_discipline_of_ours_marks_real_packets() -> None:
    scenario = sj.loads(SCENARIO).set("tcp.ecn", True)
    record = sj.run(scenario.set("links.bottleneck.queue", {"linux": "sojourn { aqm = 'codel', ecn = true }"}))
    assert record.value("links.bottleneck.marked") > 10
    assert record.value("links.bottleneck.dropped_total") == 0


@live
@pytest.mark.parametrize("controller", ["dctcp", "copa", "bbr", "bbr3"])
def test_a_controller_of_ours_that_paces_or_counts_marks_works_under_the_kernels_tcp(controller: str) -> None:
    queue = {"aqm": "step", "ecn": True} if controller == "dctcp" else {"limit": "100 packets"}
    scenario = sj.loads(SCENARIO).set("flows.ftp.tcp.control", {"cc": controller}).set("links.bottleneck.queue", queue)
    record = sj.run(scenario.set("tcp.ecn", controller == "dctcp").set("duration", "20 s"))
    assert record.value("links.bottleneck.utilization") > 0.8
    assert (record.value("links.bottleneck.marked") > 100) == (controller == "dctcp")


@live
@pytest.mark.parametrize("queue", [{"aqm": "dualpi2", "ecn": True}, {"linux": "dualpi2"}])
def test_packets_of_prague_are_those_of_a_scalable_sender(queue: dict[str, object]) -> None:
    scenario = sj.loads(SCENARIO).set("flows.ftp.tcp.control", {"cc": "prague"}).set("tcp.ecn", True)
    record = sj.run(scenario.set("links.bottleneck.queue", queue).set("duration", "20 s"))
    # A queue that marks from one packet on leaves a part of so slow a link idle, as in the simulator.
    assert record.value("links.bottleneck.utilization") > 0.65
    assert record.value("links.bottleneck.marked") > 100
    # The threshold of the queue for scalable senders is 1 ms; a packet takes 1.2 ms. Classic ones wait 15 ms.
    assert record.value("links.bottleneck.wait_ms.mean") < 6


@live
def test_classes_traces_and_requests_work_on_the_kernel() -> None:
    scenario = sj.loads(SCENARIO)
    flow = {"from": "a", "to": "b", "start": "0 s", "tcp": {"profile": "linux"}}
    web = {"kind": "web", "page_gap": "200 ms", "object_mean": 8, "object_shape": 1.5, "request": "400 B"}
    scenario["flows"] = [
        {"name": "x", "count": 2} | flow,
        {"name": "y", "count": 2} | flow,
        flow | {"name": "web", "count": 5, "traffic": web, "from": "b", "to": "a"},
    ]
    classes = [{"match": {"group": "x"}, "share": 3, "limit": "50 packets"}, {"aqm": "codel"}]
    scenario.set("links.bottleneck.queue", {"scheduler": "drr", "classes": classes})
    found = run_many([scenario.copy().set("host", host) for host in ("simulator", "linux")], seeds=5)
    for record in (record for records in found for record in records):
        # Two flows under CoDel do not use all of their quarter.
        assert 3 < record.value("groups.x.goodput_bps") / record.value("groups.y.goodput_bps") < 4
        assert record["links"][0]["classes"][0]["dropped"]["tail"] > 0
    # The mean completion time of five seeds has few large objects and says little.
    for path, bound in (("groups.web.completion_s.count", 0.1), ("groups.web.completion_s.p50", 0.05)):
        here, there = (sum(record.value(path) for record in records) for records in found)
        assert there == pytest.approx(here, rel=bound)


@live
def test_a_flow_that_begins_where_marks_are_given_can_be_marked_from_its_first_packet_on() -> None:
    # Packets that cannot be marked are dropped above 20 packets, and after a lost SYN the kernel requests no ECN.
    scenario = sj.loads(SCENARIO).set("flows.ftp.start", {"spread": ["0 s", "8 s"]}).set("duration", "20 s")
    scenario.set("flows.ftp.tcp.control", {"cc": "dctcp"}).set("tcp.ecn", True).set("warmup", "0 s")
    record = sj.run(scenario.set("links.bottleneck.queue", {"aqm": "step", "ecn": True}))
    assert record.value("links.bottleneck.marked") > 100
    assert record.value("links.bottleneck.dropped_total") == 0


@live
@pytest.mark.parametrize(
    "text", ["pfifo limit 42", "cake besteffort", "sojourn { aqm = 'codel', limit = '42 packets' }"]
)
def test_the_kernel_tells_of_a_queue_discipline_what_tc_would_show(text: str) -> None:
    record = sj.run(sj.loads(SCENARIO).set("links.bottleneck.queue", {"linux": text}).set("warmup", "0 s"))
    (told,) = record["host"]["qdiscs"]
    link = record["links"][0]
    assert told["link"] == "bottleneck"
    assert told["dropped"] == link["dropped_total"] > 0
    # The packet that is being sent has left the queue.
    assert told["sent"] + told["dropped"] + told["waiting"] == link["arrived"]
    assert told["sent_bytes"] > 1000 * told["sent"]
    if "sojourn" not in text:
        assert "counted" not in told
        return
    tail = link["dropped"]["tail"]
    counted = {"arrived": link["arrived"], "early": told["dropped"] - tail, "tail": tail}
    assert told["counted"] == counted | dict.fromkeys(("marked", "forced", "ack_filter"), 0)


@live
def test_packets_with_anything_in_them_do_no_harm_in_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest, "ARGUMENTS", (*guest.ARGUMENTS, "sojourn_noise=20000"))
    scenario = sj.loads(SCENARIO).set("links.bottleneck.queue", {"linux": "sojourn { aqm = 'fq-codel', ecn = true }"})
    record = sj.run(scenario)
    # Packets that look like those of a flow travel with the others.
    assert record.value("links.bottleneck.utilization") > 0.8
    audit = record["audit"]
    assert audit["sent"] == audit["delivered"] + audit["dropped"] + audit["in_flight"]


@live
def test_a_run_ends_where_samples_are_due_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest, "PATIENCE", 60.0)
    monkeypatch.setattr(guest, "PER_SECOND", 0.0)
    scenario = sj.loads(SCENARIO).set("links.bottleneck.queue", {"aqm": "pie", "tupdate": "10 ms"})
    scenario["trace"] = {name: {"links": ["bottleneck"], "every": "1 s"} for name in ("queue", "throughput")}
    record = sj.run(scenario)
    assert len(record.series["queue/bottleneck"]["packets"]) == 11


def kernels_in(folder: Path) -> list[int]:
    """The processes that run in a folder or below it."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            inside = entry.name.isdigit() and (entry / "cwd").resolve().is_relative_to(folder)
        except OSError:
            continue
        if inside and not has_ended(int(entry.name)):
            found.append(int(entry.name))
    return found


@live
def test_a_kernel_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest, "PATIENCE", 0.5)
    monkeypatch.setattr(guest, "PER_SECOND", 0.0)
    monkeypatch.setattr(guest.tempfile, "tempdir", str(tmp_path))
    with pytest.raises(RunError, match=r"the kernel: expected 100000 s in 0\.5 s, got no end"):
        sj.run(sj.loads(SCENARIO).set("duration", "100000 s"))
    assert kernels_in(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@live
def test_a_kernel_that_cannot_boot_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest, "ARGUMENTS", (*guest.ARGUMENTS, "mem=4M"))
    monkeypatch.setattr(guest.tempfile, "tempdir", str(tmp_path))
    with pytest.raises(RunError) as found:
        sj.run(sj.loads(SCENARIO))
    assert "\n" not in str(found.value)
    assert kernels_in(tmp_path) == []


@live
def test_a_log_on_a_full_disk_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    start = guest.Guests._start

    def on_full_disk(guests: guest.Guests, arguments: list[str], folder: Path, *more: Any) -> subprocess.Popen[bytes]:
        (folder / "log").symlink_to("/dev/full")
        return start(guests, arguments, folder, *more)

    monkeypatch.setattr(guest.Guests, "_start", on_full_disk)
    with pytest.raises(RunError, match="the kernel stopped: log: expected room on the disk, got error -28"):
        sj.run(sj.loads(SCENARIO))


@live
def test_ctrl_c_leaves_no_kernel_and_no_file(tmp_path: Path) -> None:
    file, folder = tmp_path / "x.toml", tmp_path / "runs"
    file.write_text(SCENARIO.replace('duration = "10 s"', 'duration = "100000 s"'), encoding="utf-8")
    folder.mkdir()
    command = [sys.executable, "-c", "from sojourn_program import entry; entry()", "run", str(file), "--seeds", "2"]
    environment = {**os.environ, "TMPDIR": str(folder)}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment) as process:
        while len(kernels_in(folder)) < 2:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert (process.returncode, len(said.splitlines())) == (130, 1), said
    assert kernels_in(folder) == []
    assert list(folder.iterdir()) == []
