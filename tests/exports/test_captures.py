"""Wireshark and other tools read captures without a warning, and they match the record."""

import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.core.files import DiskError, write_atomic
from tests.linux.test_linux_live import live
from tests.support.source_tree import ROOT

DUMBBELL = ROOT / "examples" / "dumbbell.toml"
tool = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
BASE = """
duration = "8 s"
warmup = "0 s"
links = [{ name = "wire", from = "a", to = "b", rate = "5 Mbit/s", delay = "10 ms", duplex = true, queue = {QUEUE} }]
[tcp]
profile = "linux"
{TCP}
{FLOWS}
"""
BULK = '[[flows]]\nname = "bulk"\ncount = 2\nfrom = "a"\nto = "b"\n'
WEB = """[[flows]]
name = "web"
from = "a"
to = "b"
traffic = { kind = "web", page_gap = "200 ms", object_mean = 20, object_shape = 1.5, request = "300 B" }
"""
UDP = '[[flows]]\nname = "voice"\nfrom = "a"\nto = "b"\ndscp = "ef"\ntraffic = { kind = "ping", every = "50 ms" }\n'


def scenario(queue: str = '{ limit = "40 packets" }', tcp: str = "", flows: str = BULK) -> sj.Scenario:
    return sj.Scenario.from_toml(BASE.replace("{QUEUE}", queue).replace("{TCP}", tcp).replace("{FLOWS}", flows))


def tshark(file: Path, *fields: str, only: str = "") -> list[dict[str, str]]:
    """The values of these fields in each packet that matches a filter.

    Checksums are computed.
    """
    sums = [f"{name}.check_checksum:TRUE" for name in ("ip", "tcp", "udp")]
    options = [part for each in sums for part in ("-o", each)]
    asked = [part for field in fields for part in ("-e", field)]
    command = ["tshark", "-r", str(file), *options, "-Y", only or "frame", "-T", "fields", *asked]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [dict(zip(fields, line.split("\t"), strict=True)) for line in said.splitlines()]


CASES: dict[str, dict[str, str]] = {
    "tail drops": {},
    "codel marks": {"queue": '{ aqm = "codel", ecn = true }', "tcp": "ecn = true"},
    "fq-codel drops": {"queue": '{ aqm = "fq-codel", limit = "60 packets" }'},
    "red marks": {"queue": '{ aqm = "red", ecn = true, limit = "60 packets" }', "tcp": "ecn = true"},
    "accurate ECN": {"queue": '{ aqm = "step", ecn = true }', "tcp": 'control = { cc = "prague" }\necn = true'},
    "a small window": {"tcp": 'window = "20 packets"'},
    "a slow reader": {"tcp": 'window = "20 packets"\nreader = "2 Mbit/s"'},
    "sessions": {"flows": WEB},
    "datagrams": {"flows": UDP + BULK},
    "a transfer that ends": {"flows": BULK + 'traffic = { kind = "bulk", size = "500 kB" }\n'},
    "an old stack": {"tcp": 'timestamps = false\nrecovery = "newreno"\nheader = "40 B"'},
}


@tool
@pytest.mark.parametrize("name", CASES)
def test_wireshark_finds_nothing_wrong_with_a_capture_but_what_really_happened(tmp_path: Path, name: str) -> None:
    file = tmp_path / "run.pcapng"
    record = sj.run(scenario(**CASES[name]), seed=1, pcap=file)
    assert record["fingerprint"] == sj.run(scenario(**CASES[name]), seed=1)["fingerprint"]
    fields = ("frame.number", "_ws.expert.severity", "_ws.expert.message", "tcp.stream", "tcp.seq", "ip.src")
    seen: set[tuple[str, str, str]] = set()
    real = (
        "retransmission",
        "out-of-order",
        "completely full",
        "window is full",
        "Zero",
        "Duplicate ACK",
        "Keep-Alive",
        "Window update",
        "Connection ",
        "dropped:",
        "marked:",
        "port numbers reused",
    )
    for packet in tshark(file, *fields):
        sent = (packet["tcp.stream"], packet["tcp.seq"], packet["ip.src"])
        for said in filter(None, packet["_ws.expert.message"].split(",")):
            assert any(word.lower() in said.lower() for word in real), packet
            # Wireshark classifies some retransmissions as late, by their time alone.
            assert "out-of-order" not in said or sent in seen, packet
        seen.add(sent)
    wrong = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0 || _ws.expert.severity == 8388608"
    assert not tshark(file, "frame.number", only=wrong)


@tool
def test_a_capture_has_every_packet_of_its_links_and_says_what_their_queues_did(tmp_path: Path) -> None:
    file = tmp_path / "run.pcapng"
    for case in (CASES["tail drops"], CASES["codel marks"], CASES["fq-codel drops"], CASES["red marks"]):
        record = sj.run(scenario(**case), seed=2, pcap=file)
        packets = tshark(file, "frame.interface_name", "frame.comment", "ip.dsfield.ecn")
        for link in record["links"]:
            own = [each for each in packets if each["frame.interface_name"] == link["name"]]
            dropped, marked = (sum(each["frame.comment"].startswith(w) for each in own) for w in ("dropped", "marked"))
            assert (len(own), dropped, marked) == (link["arrived"], sum(link["dropped"].values()), link["marked"])
            assert all(each["ip.dsfield.ecn"] == "3" for each in own if each["frame.comment"].startswith("marked"))


@tool
def test_goodput_and_round_trips_in_a_capture_are_those_of_the_record(tmp_path: Path) -> None:
    file, run = tmp_path / "run.pcapng", scenario().set("trace.rtt", {"flows": ["*"]})
    record = sj.run(run, seed=1, pcap=file)
    fields = ("tcp.stream", "tcp.len", "tcp.seq", "tcp.analysis.ack_rtt", "frame.comment", "frame.time_epoch")
    packets = tshark(file, *fields, only="tcp")
    ends = dict[str, int]()
    for each in packets:
        if not each["frame.comment"]:
            ends[each["tcp.stream"]] = max(ends.get(each["tcp.stream"], 0), int(each["tcp.seq"]) + int(each["tcp.len"]))
    goodput = sum(end - 1 for end in ends.values()) * 8 / record["duration_s"]
    assert goodput == pytest.approx(record["total"]["goodput_bps"], rel=0.02)
    # The first packet is sent at time 0. An ACK has 10 ms from the link to the sender, and the time of its own 52 B.
    begin, back = float(packets[0]["frame.time_epoch"]), 0.010 + 52 * 8 / 5e6
    acks = [each for each in packets if each["tcp.analysis.ack_rtt"]]
    times = [float(each["frame.time_epoch"]) - begin + back for each in acks]
    seen = {
        (each["tcp.stream"], round(time * 1e5)): float(each["tcp.analysis.ack_rtt"])
        for each, time in zip(acks, times, strict=True)
    }
    apart = []
    for flow in ("0", "1"):
        series = record.series[f"rtt/bulk/{flow}"]
        keys = [(flow, round(time * 1e5)) for time in series["t"]]
        apart += [v - back - seen[key] for key, v in zip(keys, series["seconds"], strict=True) if key in seen]
    assert len(apart) > 1000
    # Of acknowledged segments, Wireshark times the last and the sender the first: they are up to three
    # apart in the queue, 2.4 ms each. With retransmissions the two choose others.
    near = [abs(each - 0.0024 * round(each / 0.0024)) < 1e-5 and -1e-5 < each < 3.5 * 0.0024 for each in apart]
    assert np.mean(near) > 0.85


@tool
@pytest.mark.parametrize("option", ["off", "recommended", "full"])
def test_a_handshake_tells_of_the_whole_segment_whatever_its_options(tmp_path: Path, option: str) -> None:
    file = tmp_path / "run.pcapng"
    l4s = {"profile": "linux", "ecn": "l4s", "accecn_option": option, "control": {"cc": "prague"}}
    sj.run(scenario(queue='{ aqm = "dualpi2", ecn = true }').set("tcp", l4s), seed=1, pcap=file)
    first = tshark(file, "tcp.options.mss_val", only="tcp.flags.syn == 1")
    assert {each["tcp.options.mss_val"] for each in first} == {"1460"}


@tool
@pytest.mark.parametrize("option", ["off", "recommended", "minimum", "full"])
def test_the_ack_that_ends_a_handshake_has_the_option_where_any_packet_has_it(tmp_path: Path, option: str) -> None:
    file = tmp_path / "run.pcapng"
    l4s = {"profile": "linux", "ecn": "l4s", "accecn_option": option, "control": {"cc": "prague"}}
    queue = '{ aqm = "dualpi2", ecn = true }'
    sj.run(scenario(queue).set("tcp", l4s), seed=1, pcap=file, pcap_hosts=["bulk/0:sender"], pcap_links=[])
    syn_ack, first, second = tshark(file, "tcp.option_kind", "tcp.len", only="tcp.flags.ack == 1")[:3]
    assert first["tcp.len"] == "0" < second["tcp.len"]
    has = ["174" in each["tcp.option_kind"].split(",") for each in (syn_ack, first, second)]
    assert has == [option != "off", option != "off", option == "full"]


def kinds(packets: list[dict[str, str]]) -> set[tuple[str, str]]:
    """The packets that a sender sends and receives: each kind with its ECN fields."""
    found, sent = set(), 0
    for each in packets:
        begin, length = int(each["tcp.seq"]), int(each["tcp.len"])
        opens, answers = each["tcp.flags.syn"] == "1", each["tcp.flags.ack"] == "1"
        kind = ("syn-ack" if answers else "syn") if opens else "data" if length else "ack"
        if length:
            kind, sent = ("again" if begin < sent else kind), max(sent, begin + length)
        if kind != "ack" or each["ip.src"] != packets[0]["ip.src"]:
            found.add((kind, each["ip.dsfield.ecn"]))
    return found


@tool
@pytest.mark.parametrize("host", ["simulator", pytest.param("linux", marks=live)])
@pytest.mark.parametrize(
    ("ecn", "cc", "ect"), [("accurate", "cubic", "2"), ("l4s", "prague", "1"), ("dctcp", "dctcp", "2")]
)
def test_where_marks_are_counted_data_and_acks_and_what_is_sent_again_can_carry_some_as_in_linux(
    tmp_path: Path, host: str, ecn: str, cc: str, ect: str
) -> None:
    file = tmp_path / "run.pcapng"
    tcp = {"profile": "linux", "ecn": ecn, "control": {"cc": cc}}
    sj.run(scenario().set("tcp", tcp).set("host", host), seed=1, pcap=file, pcap_hosts=["bulk/0:sender"], pcap_links=[])
    fields = ("tcp.seq", "tcp.len", "tcp.flags.syn", "tcp.flags.ack", "ip.dsfield.ecn", "ip.src")
    packets = tshark(file, *fields, only="tcp.port")
    # The ECN field of the kernel's SYN depends on the controller, as does its answer with DCTCP; ACKs are ECT(0).
    opening = {"l4s": "1", "dctcp": "2"}.get(ecn, "0")
    answer = "2" if ecn == "dctcp" else "0"
    expected = {("syn", opening), ("syn-ack", answer), ("data", ect), ("again", ect), ("ack", "2")}
    assert kinds(packets) == expected


@tool
@pytest.mark.parametrize("host", ["simulator", pytest.param("linux", marks=live)])
def test_data_tells_of_the_acks_that_came_with_a_mark(tmp_path: Path, host: str) -> None:
    file = tmp_path / "run.pcapng"
    run = scenario('{ aqm = "dualpi2", ecn = true }', 'control = { cc = "prague" }\necn = true').set("host", host)
    run.set("links.wire.back", {"rate": "100 kbit/s", "queue": {"aqm": "step", "packets": 3, "ecn": True}})
    sj.run(run, seed=1, pcap=file, pcap_hosts=["bulk/0:sender"], pcap_links=[])
    marked, told = 0, set()
    for each in tshark(file, "tcp.len", "tcp.flags", "tcp.flags.syn", "ip.dsfield.ecn", "ip.src", only="tcp.port"):
        if each["tcp.len"] == "0":
            marked += each["ip.dsfield.ecn"] == "3"
        elif each["tcp.len"] > "0":
            # The count begins with 5, and has the bits AE, CWR and ECE (rfc9768#3.2.1).
            assert int(each["tcp.flags"], 16) >> 6 & 7 == (5 + marked) % 8
            told.add(marked)
    assert len(told) > 8


@tool
def test_headers_say_what_flows_have(tmp_path: Path) -> None:
    file = tmp_path / "run.pcapng"
    sj.run(scenario(flows=UDP + BULK, tcp="ecn = true", queue='{ aqm = "codel", ecn = true }'), seed=1, pcap=file)
    options = [f"tcp.options.{name}" for name in ("mss_val", "sack_perm", "wscale.shift", "timestamp.tsval")]
    first = tshark(file, *options, "tcp.flags.ece", "tcp.flags.cwr", only="tcp.flags.syn == 1 && tcp.flags.ack == 0")
    assert len(first) == 2
    assert all(each["tcp.options.mss_val"] == "1460" for each in first), first
    assert all(each["tcp.flags.ece"] == each["tcp.flags.cwr"] == "1" for each in first)
    assert all(each["tcp.options.sack_perm"] and each["tcp.options.timestamp.tsval"] for each in first)
    voice = tshark(file, "ip.src", "ip.dst", "ip.dsfield.dscp", only="udp && frame.interface_name == wire")
    assert {tuple(each.values()) for each in voice} == {("10.0.0.1", "10.1.0.1", "46")}
    sums = {"ip.checksum.status", "tcp.checksum.status", "udp.checksum.status"}
    assert all({each[name] for name in sums} <= {"1", "2", ""} for each in tshark(file, *sums))


@pytest.mark.skipif(shutil.which("tcptrace") is None, reason="tcptrace is not installed")
def test_tcptrace_counts_what_was_sent(tmp_path: Path) -> None:
    file = tmp_path / "run.pcapng"
    record = sj.run(scenario(flows=BULK + 'traffic = { kind = "bulk", size = "500 kB" }\n'), seed=1, pcap=file)
    said = subprocess.run(["tcptrace", "-l", str(file)], capture_output=True, text=True, check=True).stdout
    assert len(record["flows"]) == said.count("complete conn: yes"), said
    assert re.findall(r"unique bytes sent: +(\d+)", said) == ["500000", "0"] * 2


def test_a_capture_of_some_links_has_these_alone_and_changes_no_record(tmp_path: Path) -> None:
    for file, links in (("one", ["wire"]), ("two", ["wire", "wire:back"])):
        record = sj.run(scenario(), seed=1, pcap=tmp_path / file, pcap_links=links)
        assert record.to_json() == sj.run(scenario(), seed=1).to_json()
    assert (tmp_path / "one").stat().st_size < (tmp_path / "two").stat().st_size
    sj.run(scenario(), seed=1, pcap=tmp_path / "all")
    assert (tmp_path / "all").read_bytes() == (tmp_path / "two").read_bytes()


@tool
def test_a_host_shows_what_it_sends_and_gets_at_its_own_times(tmp_path: Path) -> None:
    file, run = tmp_path / "run.pcapng", scenario().set("trace.rtt", {"flows": ["*"]})
    run.set("flows.bulk.access", {"delay": "20 ms"})
    record = sj.run(run, seed=1, pcap=file, pcap_hosts=["bulk/1:sender", "bulk/0:receiver"])
    plain = sj.run(run, seed=1)
    assert record.to_json() == plain.to_json()
    fields = ("frame.interface_name", "ip.src", "tcp.len", "tcp.analysis.ack_rtt", "tcp.options.sack_le")
    packets = tshark(file, *fields, only="tcp")
    of = {
        name: [each for each in packets if each["frame.interface_name"] == name]
        for name in ("bulk/1:sender", "bulk/0:receiver")
    }
    assert {each["ip.src"] for each in of["bulk/1:sender"]} == {"10.0.0.2", "10.1.0.2"}
    sent = [each for each in of["bulk/1:sender"] if each["ip.src"] == "10.0.0.2" and each["tcp.len"] != "0"]
    assert len(sent) == record["flows"][1]["sent"]
    # The path of 60 ms is seen at the sender alone, and the losses on it at the receiver alone.
    seen = [float(each["tcp.analysis.ack_rtt"]) for each in of["bulk/1:sender"] if each["tcp.analysis.ack_rtt"]]
    measured = record.series["rtt/bulk/1"]["seconds"]
    assert min(seen) == pytest.approx(min(measured), rel=0.05)
    got = [each for each in of["bulk/0:receiver"] if each["ip.src"] == "10.0.0.1" and each["tcp.len"] != "0"]
    first = record["flows"][0]
    assert first["sent"] - first["dropped"] - 40 <= len(got) <= first["sent"] - first["dropped"]
    assert any(each["tcp.options.sack_le"] for each in of["bulk/1:sender"])
    wrong = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0 || _ws.expert.severity == 8388608"
    assert not tshark(file, "frame.number", only=wrong)


REFUSED: dict[str, tuple[list[str], str]] = {
    "no such link": (["--pcap", "x.pcapng", "--pcap-links", "wir"], "expected links with a rate (bottleneck,"),
    "no such host": (
        ["--pcap", "x.pcapng", "--pcap-hosts", "ftp/0:router"],
        'expected hosts of flows such as "ftp/0:sender"',
    ),
    "hosts without a file": (["--pcap-hosts", "ftp/0"], "--pcap-hosts: expected --pcap"),
    "links without a file": (["--pcap-links", "bottleneck"], "--pcap-links: expected --pcap"),
    "a folder": (["--pcap", "."], "error: "),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_capture_that_cannot_be_is_refused_in_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    options, words = REFUSED[name]
    assert main(["run", str(DUMBBELL), "--set", "duration=11 s", *options]) in (1, 2)
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1, said
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_gives_one_line_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sojourn import _sojourn

    run = _sojourn.run

    def on_full_disk(*args: Any) -> Any:
        return run(*args[:4], ("/dev/full", *args[4][1:]))

    monkeypatch.setattr(_sojourn, "run", on_full_disk)
    (tmp_path / "run.pcapng").write_text("old")
    with pytest.raises(DiskError, match=r"^\[Errno 28\] disk full: .*run.pcapng could not be written"):
        sj.run(scenario(), seed=1, pcap=tmp_path / "run.pcapng")
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]


def test_a_link_is_replaced_and_a_pipe_is_written_to(tmp_path: Path) -> None:
    """A link may point to a foreign file, so it is replaced.

    A pipe that Wireshark reads, or `/dev/stdout`, stays.
    """
    plain, linked, pipe = tmp_path / "plain.pcapng", tmp_path / "linked.pcapng", tmp_path / "pipe"
    sj.run(scenario(), seed=1, pcap=plain)
    (tmp_path / "far").mkdir()
    linked.symlink_to("far/there.pcapng")
    (tmp_path / "far" / "there.pcapng").write_text("theirs")
    sj.run(scenario(), seed=1, pcap=linked)
    assert not linked.is_symlink()
    assert linked.read_bytes() == plain.read_bytes()
    assert (tmp_path / "far" / "there.pcapng").read_text() == "theirs"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as reader:
        read = reader.submit(pipe.read_bytes)
        sj.run(scenario(), seed=1, pcap=pipe)
        assert read.result() == plain.read_bytes()
        read = reader.submit(pipe.read_bytes)
        write_atomic(pipe, "text")
        assert read.result() == b"text"
    assert pipe.is_fifo()
