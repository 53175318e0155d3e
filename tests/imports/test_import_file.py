"""A scenario from a capture or a result of Flent has the flows of the file."""

import gzip
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sojourn as sj
from sojourn import _sojourn
from sojourn.cli import main
from sojourn.core import quantities
from sojourn.exports.flent import write_flent
from tests.support.source_tree import ROOT

pytestmark = pytest.mark.no_libraries

LINK = """
[[links]]
name = "wire"
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "10 ms"
duplex = true
queue = { limit = "60 packets" }
[tcp]
profile = "linux"
"""
RUN = f"""
name = "original"
duration = "10 s"
warmup = "0 s"
{LINK}
[[flows]]
name = "finite"
count = 4
from = "a"
to = "b"
access = {{ delay = ["0 ms", "5 ms", "20 ms", "1 ms"] }}
start = ["0 s", "300 ms", "1 s", "4 s"]
traffic = {{ kind = "bulk", size = "300 kB" }}
[[flows]]
name = "endless"
from = "b"
to = "a"
start = "5 s"
"""


def flows_in(capture: Path) -> list[dict[str, Any]]:
    return list(json.loads(_sojourn.capture_flows(str(capture)))["flows"])


def data(flow: dict[str, Any]) -> int:
    return int(flow["ways"][flow["data"]]["bytes"])


def test_a_run_a_capture_and_a_run_of_its_scenario_have_the_same_flows(tmp_path: Path) -> None:
    first, second = tmp_path / "first.pcapng", tmp_path / "second.pcapng"
    sj.run(sj.Scenario.from_toml(RUN), seed=1, pcap=first)
    made = sj.import_file(first)
    assert made["links"][0]["rate"] == "10 Mbit/s"
    record = sj.run(made, seed=1, pcap=second)
    pairs = list(zip(flows_in(first), flows_in(second), strict=True))
    assert len(pairs) == len(record["flows"]) == 5
    for before, after in pairs:
        assert after["start_s"] == pytest.approx(before["start_s"], abs=0.002)
        # Both directions of the link have their delay here; a SYN takes 48 µs, an ACK 42.
        assert after["rtt_s"] == pytest.approx(before["rtt_s"], abs=0.0005)
        assert after["complete"] == before["complete"]
        if before["complete"]:
            assert data(after) == data(before) == 300_000
    expected = [0.020, 0.020, 0.022, 0.030, 0.060]
    assert sorted(before["rtt_s"] for before, _ in pairs) == pytest.approx(expected, abs=0.0005)


def test_a_flow_of_prague_stays_one_and_what_a_capture_leaves_open_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture, target = tmp_path / "l4s.pcapng", tmp_path / "l4s.toml"
    scenario = sj.Scenario.from_toml(RUN).set("links.wire.rate", "100 Mbit/s")
    scenario.set("tcp.ecn", True).set("flows.finite.tcp.control", {"cc": "prague"})
    sj.run(scenario.set("flows.endless.traffic", {"kind": "bulk", "size": "9 kB"}), seed=1, pcap=capture)
    assert main(["import", str(capture), "--out", str(target)]) == 0
    said = capsys.readouterr()
    assert "--queues 'droptail,dualpi2(ecn=true),fq-codel(ecn=true)'" in said.out
    assert "note: the link has the rate of its interface, 100 Mbit/s, of which no second used more than " in said.err
    made = sj.load(target)
    kinds = [(group["tcp"]["ecn"], group["tcp"].get("control")) for group in made["flows"]]
    assert kinds == [("l4s", {"cc": "prague"}), (True, None)]
    assert main(["import", str(capture), "--rate", "5 Mbit/s", "--out", str(target)]) == 0
    assert capsys.readouterr().err == ""


def test_segments_stay_as_long_as_they_are_from_import_to_import(tmp_path: Path) -> None:
    scenario = sj.Scenario.from_toml(RUN).set("tcp", {"profile": "linux", "ecn": True, "control": {"cc": "prague"}})
    for option, payload in (("full", 1460 - 12 - 12), ("minimum", 1460 - 12)):
        made = scenario.set("tcp.accecn_option", option).set("tcp.mss", "1448 B").set("tcp.header", "52 B")
        for time in range(3):
            sj.run(made, seed=1, pcap=tmp_path / "x.pcapng")
            longest = {max(way["largest"] for way in flow["ways"]) for flow in flows_in(tmp_path / "x.pcapng")}
            assert longest == {payload}, (option, time)
            made = sj.import_file(tmp_path / "x.pcapng")
            assert {group["tcp"]["mss"] for group in made["flows"]} == {"1448 B"}


def test_a_capture_of_one_direction_gives_sizes_and_starts(tmp_path: Path) -> None:
    sj.run(sj.Scenario.from_toml(RUN), seed=1, pcap=tmp_path / "x.pcapng", pcap_links=["wire"])
    made = sj.import_file(tmp_path / "x.pcapng", rate="20 Mbit/s")
    assert {flow["traffic"].get("size") for flow in made["flows"]} >= {"300000 B"}
    assert made["links"][0]["rate"] == "20 Mbit/s"
    # A SYN and the ACK that answers the answer are a round trip apart wherever both are seen.
    assert 9.9e-3 < _sojourn.quantity("time", made["links"][0]["delay"]) < 10.2e-3


def test_a_rate_is_that_of_both_directions_or_two_are_given(tmp_path: Path) -> None:
    file = tmp_path / "x.pcapng"
    sj.run(sj.Scenario.from_toml(RUN), seed=1, pcap=file)
    (link,) = sj.import_file(file, rate="100 Mbit/s, 20 Mbit/s")["links"]
    assert (link["rate"], link["back"]["rate"]) == ("100 Mbit/s", "20 Mbit/s")
    with pytest.raises(sj.UserError, match='rate: expected one rate, or two with a comma between them, got "1 M'):
        sj.import_file(file, rate="1 Mbit/s, 2 Mbit/s, 3 Mbit/s")


def test_a_capture_that_shows_no_round_trip_time_needs_one(tmp_path: Path) -> None:
    file = tmp_path / "x.pcap"
    file.write_bytes(classic([(at, ipv6(1400 * at, ACK, 1400)) for at in range(10)]))
    with pytest.raises(sj.UserError, match=r"or --rtt, got none$"):
        sj.import_file(file)
    made = sj.import_file(file, rtt="30 ms")
    assert made["links"][0]["delay"] == "15 ms"
    # Ten packets whose headers say that they have 1,460 B, in less than a millisecond. The file says 78 B.
    assert made["links"][0]["rate"] == f"{10 * 1460 * 8 / 1000} Mbit/s"


def ipv6(seq: int, flags: int, payload: int, back: bool = False) -> bytes:
    """A TCP segment over IPv6 over Ethernet with a VLAN tag, without its payload."""
    ends = [bytes([0xFD, *range(15)]), bytes([0xFD, *range(1, 16)])]
    ports = [40_000, 443]
    if back:
        ends, ports = ends[::-1], ports[::-1]
    tcp = struct.pack(">HHIIBBHHH", *ports, seq, 1, 5 << 4, flags, 1000, 0, 0)
    ip = struct.pack(">IHBB", 6 << 28, len(tcp) + payload, 6, 64) + ends[0] + ends[1]
    return bytes(12) + struct.pack(">HHH", 0x8100, 7, 0x86DD) + ip + tcp


def classic(packets: list[tuple[int, bytes]], order: str = "<", magic: int = 0xA1B2C3D4, link: int = 1) -> bytes:
    """A classic file of packets and their times in µs."""
    head = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, link)
    parts = [struct.pack(order + "IIII", at // 10**6, at % 10**6, len(p), len(p)) + p for at, p in packets]
    return head + b"".join(parts)


SYN, ACK, FIN = 2, 16, 1
HTTPS = [
    (5_000_000, ipv6(100, SYN, 0)),
    (5_030_000, ipv6(900, SYN | ACK, 0, back=True)),
    (5_030_100, ipv6(101, ACK, 0)),
    (5_031_000, ipv6(101, ACK, 200)),
    (5_060_000, ipv6(901, ACK, 1400, back=True)),
    (5_060_100, ipv6(2301, ACK | FIN, 600, back=True)),
]


@pytest.mark.parametrize("order", "<>")
def test_a_classic_file_in_either_byte_order_is_read(tmp_path: Path, order: str) -> None:
    file = tmp_path / "https.pcap"
    file.write_bytes(classic(HTTPS, order))
    (flow,) = flows_in(file)
    assert (flow["from"], flow["data"], data(flow), flow["complete"]) == (
        "[fd00:102:304:506:708:90a:b0c:d0e]:40000",
        1,
        2000,
        True,
    )
    assert flow["rtt_s"] == pytest.approx(0.0301)
    made = sj.import_file(file, rate="1 Mbit/s")
    assert [(f["from"], f["traffic"]["size"]) for f in made["flows"]] == [("left", "2000 B")]
    assert sj.run(made.set("duration", "2 s"))["flows"][0]["goodput_bps"] > 0


def test_numbers_that_begin_again_do_not_shorten_a_flow(tmp_path: Path) -> None:
    last = 2**32 - 1000
    segments = [(at, ipv6((last + 1 + 1400 * at) % 2**32, ACK, 1400)) for at in range(10)]
    file = tmp_path / "long.pcap"
    file.write_bytes(classic([(0, ipv6(last, SYN, 0)), *segments]))
    assert data(flows_in(file)[0]) == 14_000


GOOD = classic(HTTPS)
LIES = {
    "empty": b"",
    "text": b"just some words",
    "zeros": bytes(1000),
    "packed": gzip.compress(GOOD),
    "a header alone": GOOD[:10],
    "no flows": GOOD[:24],
    "times that fall": classic([(7_000_000, HTTPS[1][1]), HTTPS[0]]),
    "a long packet": GOOD[:24] + struct.pack("<IIII", 1, 1, 2**31, 2**31),
    "a second of many parts": GOOD[:24] + struct.pack("<IIII", 1, 10**6, 0, 0),
    "a strange link": classic(HTTPS, link=147),
    "802.11": classic(HTTPS, link=127),
    "a modified pcap": classic(HTTPS, magic=0xA1B2CD34),
    "snoop": b"snoop\0\0\0\0\0\0\2\0\0\0\4",
    "years": classic([*HTTPS, (4 * 10**15, HTTPS[3][1])]),
    "a short block": struct.pack("<III", 0x0A0D0D0A, 12, 0x1A2B3C4D),
    "a long block": struct.pack("<III", 0x0A0D0D0A, 2**31, 0x1A2B3C4D),
    "another order": struct.pack("<III", 0x0A0D0D0A, 28, 0x1A2B3C4E),
}


@pytest.mark.parametrize("name", LIES)
def test_a_file_that_lies_is_refused_in_one_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lie.pcapng").write_bytes(LIES[name])
    assert main(["import", "lie.pcapng"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: lie.pcapng: "), said
    assert said.count("\n") == 1, said
    assert "expected" in said, said
    assert not (tmp_path / "lie.toml").exists()


def test_two_gigabytes_of_zeros_are_refused_at_once(tmp_path: Path) -> None:
    for name in ("zeros.pcap", "x.flent"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(2 << 30)
        with pytest.raises(ValueError, match="expected"):
            sj.import_file(tmp_path / name)


def test_every_cut_and_every_changed_byte_gives_flows_or_one_line(tmp_path: Path) -> None:
    file = tmp_path / "x.pcapng"
    sj.run(sj.Scenario.from_toml(RUN).set("duration", "150 ms"), seed=1, pcap=file)
    whole = file.read_bytes()
    for at in range(min(len(whole), 2000)):
        for content in (whole[:at], whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]):
            file.write_bytes(content)
            said = ""
            try:
                _sojourn.capture_flows(str(file))
            except sj.ScenarioError as error:
                said = str(error)
            assert "\n" not in said


def test_a_result_of_flent_becomes_its_scenario(tmp_path: Path) -> None:
    short = sj.load(ROOT / "examples" / "rrul.toml").copy().set("duration", "8 s")
    for flow in short["flows"]:
        flow.pop("stop", None)
    file = tmp_path / "rrul.flent.gz"
    write_flent(sj.run(short, seed=1), file)
    made = sj.import_file(file)
    names = {str(flow["name"]) for flow in made["flows"]}
    assert len(names) == 12
    assert {"tcp-upload-be", "tcp-download-ef", "ping-ms-icmp"} <= names
    assert {group["name"] for group in sj.run(made, seed=1)["groups"]} == names


def test_rates_delay_and_times_are_those_of_the_result(tmp_path: Path) -> None:
    x = [i / 5 for i in range(101)]
    idle, busy = [None] * 10, [0.0] * 10
    results = {
        "TCP upload A": idle + [1.5] * 81 + idle,
        "TCP upload B": busy + [0.5] * 91,
        "TCP upload sum": [2.0] * 101,
        "TCP download": [8.0] * 101,
        "Ping (ms) ICMP": [40.0, 90.0, 41.0] + [95.0] * 98,
    }
    metadata = {"NAME": "mixed", "TEST_PARAMETERS": {"tcp_cong_control": "reno"}}
    file = tmp_path / "x.flent"
    file.write_text(json.dumps({"metadata": metadata, "x_values": x, "results": results}))
    made = sj.import_file(file)
    (link,) = made["links"]
    assert (link["rate"], link["back"]["rate"], link["delay"]) == ("2 Mbit/s", "8 Mbit/s", "20 ms")
    assert (made["name"], made["duration"], made["tcp"]["control"]["cc"]) == ("mixed", "20.2 s", "reno")
    times = {flow["name"]: (flow.get("start"), flow.get("stop")) for flow in made["flows"]}
    assert times["tcp-upload-a"] == ("2 s", "18 s")
    assert times["tcp-upload-b"] == ("2 s", None)


FLENT_LIES: dict[str, Any] = {
    "a list": [],
    "no results": {"metadata": {}, "x_values": [0, 1]},
    "times that fall": {"metadata": {}, "x_values": [1, 0], "results": {}},
    "a short series": {"metadata": {}, "x_values": [0, 1], "results": {"TCP upload": [1]}},
    "words": {"metadata": {}, "x_values": [0, 1], "results": {"TCP upload": ["a", "b"]}},
    "no transfers": {"metadata": {}, "x_values": [0, 1], "results": {"Ping (ms) ICMP": [1, 2]}},
    "an endless number": {"metadata": {}, "x_values": [0, 1], "results": {"TCP upload": [1e300, 2]}},
}


@pytest.mark.parametrize("name", [*FLENT_LIES, "not JSON", "cut"])
def test_a_result_of_flent_that_is_none_is_refused_in_one_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = gzip.compress(json.dumps(FLENT_LIES[name]).encode()) if name in FLENT_LIES else b"{"
    (tmp_path / "x.flent.gz").write_bytes(gzip.compress(b"[1,2]")[:-4] if name == "cut" else content)
    assert main(["import", str(tmp_path / "x.flent.gz"), "--out", str(tmp_path / "x.toml")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1, said
    assert "expected" in said, said
    assert "NoneType" not in said


def test_a_scenario_that_is_there_is_not_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("https.pcap").write_bytes(GOOD)
    assert main(["import", "https.pcap", "--rate", "1 Mbit/s"]) == 0
    assert "1 flow over 1 Mbit/s" in capsys.readouterr().out
    assert main(["import", "https.pcap"]) == 2
    assert "https.toml: expected a name that is free" in capsys.readouterr().err
    assert main(["import", "https.pcap", "--out", "https.toml", "--cc", "reno"]) == 0
    assert main(["check", "https.toml"]) == 0
    assert main(["import", "https.pcap", "--out", "x.toml", "--cc", "rno"]) == 2
    assert capsys.readouterr().err.startswith("error: --cc: expected one of ")
    assert main(["import", "https.pcap", "--out", "https.pcap"]) == 2
    assert "expected another file than the one that is read" in capsys.readouterr().err
    assert Path("https.pcap").read_bytes() == GOOD
    assert main(["import", "none.pcap"]) == 2
    assert "none.pcap: cannot be read: No such file" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["rate", "rtt"])
def test_a_wrong_rate_or_round_trip_time_names_the_option(option):
    with pytest.raises(sj.UserError, match=f'^{option}: expected .* with its unit such as .*, got "10"$'):
        sj.import_file("x.pcap", **{option: "10"})


@given(st.integers(0, 10**15))
def test_times_and_rates_are_written_for_a_reader_and_without_loss(count):
    written = quantities.time_text(count * 1e-9)
    assert _sojourn.quantity("time", written) * 1e9 == pytest.approx(count, abs=0.5, rel=1e-12)
    if count:
        assert _sojourn.quantity("rate", quantities.rate_text(float(count))) == count
