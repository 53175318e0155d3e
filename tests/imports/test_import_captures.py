"""Captures of other programs become scenarios with their rates, round trips and flows.

Directions are kept, too.
"""

import json
import struct
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sojourn as sj
from sojourn import _sojourn
from sojourn.imports import captures
from sojourn.imports.measurements import imported
from tests.imports.test_import_file import LINK

pytestmark = pytest.mark.no_libraries

LOCAL, REMOTE = (192, 0, 2, 1), (198, 51, 100, 1)
NEAR, FAR = bytes([2, 0, 0, 0, 0, 1]), bytes([2, 0, 0, 0, 0, 2])
SYN, ACK, SYN_ACK, FIN = 2, 16, 18, 17
Packet = tuple[float, bytes, int]


def ipv4(source: tuple[int, ...], destination: tuple[int, ...], length: int, protocol: int = 6, ecn: int = 0) -> bytes:
    return struct.pack(">BBHIBBH4s4s", 0x45, ecn, length, 0, 64, protocol, 0, bytes(source), bytes(destination))


def ethernet(packet: bytes, up: bool) -> bytes:
    return (FAR + NEAR if up else NEAR + FAR) + b"\x08\0" + packet


def segment(at: float, up: bool, numbers: tuple[int, int], flags: int, payload: int = 0, **ends: Any) -> Packet:
    """The headers of a TCP segment between `local` and `remote`.

    `up` is its direction on the link.
    """
    local, remote, ports = ends.get("local", LOCAL), ends.get("remote", REMOTE), ends.get("ports", (40_000, 80))
    source, destination = (local, remote) if up else (remote, local)
    options = b"\2\4\5\xb4" if flags & SYN else b""
    tcp = struct.pack(
        ">HHIIBBHHH", *(ports if up else ports[::-1]), *numbers, (5 + len(options) // 4) << 4, flags, 999, 0, 0
    )
    length = 20 + len(tcp + options) + payload
    ip = ipv4(source, destination, ends.get("total", length), ecn=ends.get("ecn", 0))
    return at, ethernet(ip + tcp + options, ends.get("mac", up)), 14 + length


def datagram(at: float, up: bool, size: int, ports: tuple[int, int] = (5000, 5001), begin: bytes = b"") -> Packet:
    """A datagram of `size` bytes from the IP header on."""
    source, destination = (LOCAL, REMOTE) if up else (REMOTE, LOCAL)
    udp = struct.pack(">HHHH", *(ports if up else ports[::-1]), size - 20, 0)
    return at, ethernet(ipv4(source, destination, size, 17) + udp + begin, up), 14 + size


def transfer(start: float, rtt: float, gap: float, count: int, up: bool = True, **ends: Any) -> list[Packet]:
    """A handshake of the local host, then `count` segments of 1,514 B and their ACKs.

    The segments come one each `gap` seconds.
    """
    packets = [
        segment(start, True, (1000, 0), SYN, **ends),
        segment(start + rtt, False, (5000, 1001), SYN_ACK, **ends),
        segment(start + rtt + 1e-5, True, (1001, 5001), ACK, **ends),
    ]
    begin, other = (1001, 5001) if up else (5001, 1001)
    for number in range(count):
        at, seq = start + rtt + 0.001 + number * gap, begin + number * 1460
        packets.append(segment(at, up, (seq, other), ACK, 1460, **ends))
        packets.append(segment(at + rtt, not up, (other, seq + 1460), ACK, **ends))
    return packets


def write(file: Path, packets: list[Packet], link: int = 1, order: str = "<") -> Path:
    """A classic file, in order of time, with times in ns."""
    parts = [struct.pack(order + "IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, link)]
    for at, data, length in sorted(packets, key=lambda packet: packet[0]):
        second, part = divmod(round(at * 1e9), 10**9)
        parts.append(struct.pack(order + "IIII", 10**9 + second, part, len(data), length) + data)
    file.write_bytes(b"".join(parts))
    return file


def rates(made: sj.Scenario) -> list[float]:
    (link,) = made["links"]
    return [_sojourn.quantity("rate", rate) for rate in (link["rate"], link.get("back", {}).get("rate", link["rate"]))]


def notes(file: Path, **options: Any) -> tuple[sj.Scenario, list[str]]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        made = sj.import_file(file, **options)
    assert all("\n" not in str(each.message) for each in said)
    return made, [str(each.message) for each in said]


def between_hosts(packets: list[Packet]) -> list[Packet]:
    """Frames of the stations of the two hosts."""
    return [(at, ethernet(data[14:], data[26:30] == bytes(LOCAL)), n) for at, data, n in packets]


def mirrored(packets: list[Packet]) -> list[Packet]:
    """The frames at a port to which a switch copies both directions.

    All frames go from one station to another.
    """
    return [(at, ethernet(data[14:], True), n) for at, data, n in packets]


def cooked(packets: list[Packet]) -> list[Packet]:
    """The packets as in `tcpdump -i any -Q in` (LINKTYPE_LINUX_SLL): all came to the host."""
    return [(at, bytes([0, 0, 0, 1, 0, 6, *NEAR, 0, 0]) + data[12:], n + 2) for at, data, n in packets]


@pytest.mark.parametrize("layer", [between_hosts, mirrored, cooked])
@pytest.mark.parametrize("opener", ["the sender", "one host"])
@pytest.mark.parametrize(("up", "down"), [(10e6, 10e6), (0.8e6, 10.8e6)])
def test_each_direction_of_one_interface_has_its_own_rate(
    tmp_path: Path, up: float, down: float, opener: str, layer: Callable[[list[Packet]], list[Packet]]
) -> None:
    link = 113 if layer is cooked else 1
    ends = {"up": False} if opener == "one host" else {"local": REMOTE, "remote": LOCAL}
    both = transfer(0, 0.02, 1514 * 8 / up, int(3 * up / 12112), ports=(40_000, 80))
    both += transfer(0, 0.02, 1514 * 8 / down, int(3 * down / 12112), ports=(40_001, 80), **ends)
    made = sj.import_file(write(tmp_path / "x.pcap", layer(both), link=link))
    # Each direction also has an ACK for each segment of the other. A cooked header takes no time on the link.
    header = 14 if link == 1 else 0
    whole, ack = (1500 + header) / 1514, (40 + header) / 1514
    truth = [up * whole + down * ack, down * whole + up * ack]
    assert rates(made) == pytest.approx(truth, rel=0.03)
    assert {flow["from"] for flow in made["flows"]} == {"left", "right"}


def test_a_direction_without_data_is_as_wide_as_the_other(tmp_path: Path) -> None:
    found = imported(write(tmp_path / "x.pcap", transfer(0, 0.02, 0.0012112, 2000)))
    assert rates(found.scenario) == pytest.approx([10e6, 10e6], rel=0.02)
    assert any("its rate is a guess" in remark for remark in found.remarks)
    assert any("It may be larger, since no packet was lost" in remark for remark in found.remarks)


def as_one_interface(file: Path) -> Path:
    """The packets of one of our files in a classic file, which has no speeds and one interface."""
    data, at, packets = file.read_bytes(), 0, []
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if kind == 6:
            _, high, low, kept, length = struct.unpack_from("<5I", data, at + 8)
            packets.append(((high << 32 | low) / 1e9 - 946_684_800, data[at + 28 : at + 28 + kept], length))
        at += size
    return write(file.with_suffix(".pcap"), packets, link=101)


def test_rate_delay_and_buffer_are_those_of_the_link_although_slow_start_brought_it_more(tmp_path: Path) -> None:
    run = sj.Scenario.from_toml(f"""
        name = "x"
        duration = "15 s"
        {LINK}
        [[flows]]
        name = "f"
        count = 2
        from = "a"
        to = "b"
        start = {{ uniform = ["0 s", "1 s"] }}
    """)
    sj.run(run, seed=1, pcap=tmp_path / "x.pcapng")
    found = imported(as_one_interface(tmp_path / "x.pcapng"))
    (link,) = found.scenario["links"]
    assert rates(found.scenario) == pytest.approx([10e6, 10e6], rel=0.1)
    assert _sojourn.quantity("time", link["delay"]) == pytest.approx(0.010, rel=0.1)
    assert int(link["queue"]["limit"].split()[0]) == pytest.approx(60, rel=0.1)
    assert not any("buffer" in remark for remark in found.remarks)


def test_stations_of_the_link_tell_directions_of_hosts_that_have_nothing_in_common(tmp_path: Path) -> None:
    """Behind a router: one pair of hosts sends up, the other down."""
    others = {"local": (192, 0, 2, 9), "remote": (198, 51, 100, 9)}
    packets = transfer(0, 0.02, 0.0012112, 1000) + transfer(0.1, 0.02, 0.0012112, 1000, **others | {"mac": None})
    swapped = [
        (
            at,
            data[6:12] + data[:6] + data[12:]
            if data[26:30] in (bytes([192, 0, 2, 9]), bytes([198, 51, 100, 9]))
            else data,
            n,
        )
        for at, data, n in (
            (at, ethernet(data[14:], data[26:30] in (bytes(LOCAL), bytes([192, 0, 2, 9]))), n)
            for at, data, n in packets
        )
    ]
    made, said = notes(write(tmp_path / "x.pcap", swapped))
    assert [flow["from"] for flow in made["flows"]] == ["left", "right"]
    assert rates(made) == pytest.approx([10e6, 10e6], rel=0.1)
    assert not said
    raw = [(at, data[14:], n - 14) for at, data, n in packets]
    _, said = notes(write(tmp_path / "x.pcap", raw, link=101))
    assert [note for note in said if "directions are a guess" in note]


def test_frames_of_a_host_with_segmentation_offload_have_the_length_of_the_frame(tmp_path: Path) -> None:
    made = []
    for total in ({}, {"total": 0}):
        packets = transfer(0, 0.02, 0.0012112, 50)
        packets = [
            segment(0.5 + i / 100, True, (74_001 + i * 7300, 5001), ACK, 7300, **total) for i in range(50)
        ] + packets
        file = write(tmp_path / "x.pcap", packets)
        made.append(json_flows(file)[0]["ways"][0]["bytes"])
    assert made == [50 * 1460 + 50 * 7300] * 2


def json_flows(file: Path) -> list[dict[str, Any]]:
    return list(json.loads(_sojourn.capture_flows(str(file)))["flows"])


def test_each_host_has_its_own_round_trip(tmp_path: Path) -> None:
    packets = []
    for number, rtt in enumerate((0.010, 0.050, 0.120)):
        packets += transfer(0.1 * number, rtt, 0.005, 200, remote=(198, 51, 100, number))
    # A flow without a handshake has the round trip of its hosts; one between others has the median.
    packets += transfer(1, 0.05, 0.005, 200, ports=(41_000, 80), remote=(198, 51, 100, 1))[3:]
    packets += transfer(1, 0.09, 0.005, 200, remote=(198, 51, 100, 7))[3:]
    made, said = notes(write(tmp_path / "x.pcap", packets))
    base = 2 * _sojourn.quantity("time", made["links"][0]["delay"])
    own = sorted(2 * _sojourn.quantity("time", delay) for flow in made["flows"] for delay in flow["access"]["delay"])
    assert [base + delay for delay in own] == pytest.approx([0.010, 0.050, 0.050, 0.050, 0.120], rel=0.01)
    assert said == [
        "1 flow of 5 show no round-trip time: they get the median of the others, 50 ms (--rtt gives another)"
    ]


def test_datagrams_at_a_constant_rate_stay_so_and_others_follow_a_schedule(tmp_path: Path) -> None:
    packets = transfer(0, 0.02, 0.0012112, 100)
    packets += [datagram(0.01 + 0.02 * i, True, 200) for i in range(500)]
    # 1 Mbit/s for 5 s, silence for 3 s, 4 Mbit/s for 2 s; in packets of 1,000 B.
    times = [i * 0.008 for i in range(625)] + [8 + i * 0.002 for i in range(1000)]
    packets += [datagram(0.0123 + at, False, 1000, ports=(6000, 6001)) for at in times]
    packets += [datagram(i, True, 90, ports=(7000, 53)) for i in range(9)]
    made, said = notes(write(tmp_path / "x.pcap", packets))
    steady, varying = (flow for flow in made["flows"] if flow["name"].startswith("datagrams"))
    assert (steady["from"], steady["traffic"]["kind"], steady["traffic"]["size"]) == ("left", "cbr", "200 B")
    assert _sojourn.quantity("rate", steady["traffic"]["rate"]) == pytest.approx(80e3, rel=0.01)
    parts = varying["traffic"]["rates"]
    assert (varying["from"], varying["traffic"]["size"]) == ("right", "1000 B")
    begins = [_sojourn.quantity("time", part["at"]) for part in parts]
    parts = [parts[max(i for i, begin in enumerate(begins) if begin <= at)] for at in (2.5, 6.5, 9)]
    seen = [_sojourn.quantity("rate", part["rate"]) if "rate" in part else 0.0 for part in parts]
    assert seen == pytest.approx([1e6, 0, 4e6], rel=0.1)
    assert not said, "nine small datagrams are no load"
    record = sj.run(made, seed=1)
    counts = [flow["sent"] for flow in record["flows"] if flow["name"].startswith("datagrams")]
    assert counts == pytest.approx([500, 1625], rel=0.05)


def test_a_connection_of_quic_has_its_round_trip_and_a_note(tmp_path: Path) -> None:
    opening = b"\xc3\0\0\0\1\x08" + bytes(20)
    packets = [datagram(0, True, 1200, (50_000, 443), opening), datagram(0.040, False, 1200, (50_000, 443), opening)]
    packets += [datagram(0.041, True, 1200, (50_000, 443), opening)]
    packets += [datagram(0.08 + i / 1000, False, 1250, (50_000, 443), b"\x40") for i in range(3000)]
    made, said = notes(write(tmp_path / "x.pcap", packets))
    assert said == ["1 QUIC connection became datagrams at their measured rates: they don't react to congestion"]
    assert _sojourn.quantity("time", made["links"][0]["delay"]) == pytest.approx(0.0205, rel=0.01)
    assert rates(made)[0] == pytest.approx(1264 * 8000, rel=0.1)
    with pytest.raises(sj.UserError, match=r"or --rtt, got none$"):
        sj.import_file(write(tmp_path / "y.pcap", packets[3:]))
    assert sj.import_file(tmp_path / "y.pcap", rtt="30 ms")["links"][0]["delay"] == "15 ms"


def test_a_cut_last_packet_and_times_that_fall_a_little_are_noted(tmp_path: Path) -> None:
    file = write(tmp_path / "x.pcap", transfer(0, 0.02, 0.0012112, 100))
    whole = sj.import_file(file)
    content = file.read_bytes()
    file.write_bytes(content[:-11])
    made, said = notes(file)
    assert made["flows"][0]["traffic"] == whole["flows"][0]["traffic"]
    assert said == [
        f"the last packet is truncated (byte {len(content) - 70}: expected 54 bytes more, got the end of the file "
        "after 43): only packets before it are used"
    ]
    # The second packet of two comes 3 us too early, by the clock of another queue of the network card.
    first, second = (content.index(struct.pack(">HH", 40_000, 80)) for _ in range(2))
    assert first == second
    record = 24 + 16 + 58
    changed = bytearray(content)
    sec, part = struct.unpack_from("<II", content, 24)
    struct.pack_into("<II", changed, record, sec - 1 + (part >= 3000), (part - 3000) % 10**9)
    file.write_bytes(changed)
    _, said = notes(file)
    assert said == ["1 packet had timestamps out of order, by 3 us at most: they were sorted"]
    struct.pack_into("<I", changed, record, sec - 2)
    file.write_bytes(changed)
    with pytest.raises(sj.ScenarioError, match=f"byte {record}: expected times that rise"):
        sj.import_file(file)


def test_what_is_neither_tcp_nor_udp_is_named(tmp_path: Path) -> None:
    lldp = [(i / 10, FAR + NEAR + b"\x88\xcc" + bytes(50), 64) for i in range(20)]
    icmp = [(i / 10, ethernet(ipv4(LOCAL, REMOTE, 84, 1), True), 98) for i in range(9)]
    with pytest.raises(
        sj.UserError, match=r"got none in 29 packets \(20 EtherType 0x88cc \(LLDP\), 9 IP protocol 1 \(ICMP\)\)$"
    ):
        sj.import_file(write(tmp_path / "x.pcap", lldp + icmp))
    _, said = notes(write(tmp_path / "x.pcap", transfer(0, 0.02, 0.0012112, 20) + lldp + icmp))
    (note,) = said
    assert note.endswith(
        "of the bytes are neither TCP nor UDP and are left out: 20 EtherType 0x88cc (LLDP), 9 IP protocol 1 (ICMP)"
    )
    with pytest.raises(sj.UserError, match=r"127 \(802\.11 with a radiotap header\)"):
        sj.import_file(write(tmp_path / "x.pcap", lldp, link=127))


def test_data_that_was_not_captured_counts_and_is_noted(tmp_path: Path) -> None:
    packets = transfer(0, 0.02, 0.0012112, 100)
    made, said = notes(write(tmp_path / "x.pcap", packets[:103] + packets[163:]))
    assert json_flows(tmp_path / "x.pcap")[0]["ways"][0]["bytes"] == 146_000
    assert said == ["30% of the data of TCP flows was not captured; sizes are computed from sequence numbers"]
    assert made["flows"][0]["traffic"]["kind"] == "bulk"


@pytest.mark.parametrize("ecn", [0, 2])
def test_data_with_ect_shows_ecn_where_the_handshake_is_missing(tmp_path: Path, ecn: int) -> None:
    made = sj.import_file(write(tmp_path / "x.pcap", transfer(0, 0.02, 0.0012112, 50, ecn=ecn)[3:]), rtt="20 ms")
    assert made["flows"][0].get("tcp", {}).get("ecn", False) == (ecn == 2)


def block(kind: int, body: bytes, order: str) -> bytes:
    body += bytes(-len(body) % 4)
    return struct.pack(order + "II", kind, len(body) + 12) + body + struct.pack(order + "I", len(body) + 12)


def section(order: str, options: bytes = b"", link: int = 1) -> bytes:
    """A section and its interface."""
    head = block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)
    return head + block(1, struct.pack(order + "HHI", link, 0, 0) + options, order)


def packed(packets: list[Packet], order: str, unit: float, offset: int = 0, old: bool = False) -> bytes:
    """Packet blocks with times in `unit`s."""
    blocks = []
    for at, data, length in packets:
        count = round((1_000_000_000 + at - offset) / unit)
        head = struct.pack(order + ("HH" if old else "I"), *((0, 0) if old else (0,)))
        times = struct.pack(order + "IIII", count >> 32, count & 0xFFFFFFFF, len(data), length)
        blocks.append(block(2 if old else 6, head + times + data, order))
    return b"".join(blocks)


def test_pcapng_of_every_make_is_read(tmp_path: Path) -> None:
    """Two sections of both byte orders, with unusual blocks.

    They have binary times with an offset, the first packet block, and one without a time.
    """
    packets = sorted(transfer(0, 0.02, 0.0012112, 200), key=lambda packet: packet[0])
    binary = struct.pack("<HHB3xHHq", 9, 1, 0x94, 14, 8, 5000)
    speed = struct.pack(">HHQ", 8, 8, 2**64 - 1)
    one = section("<", binary) + packed(packets[:200], "<", 2**-20, 5000)
    simple = block(3, struct.pack(">I", packets[0][2]) + packets[0][1], ">")
    file = tmp_path / "x.pcapng"
    file.write_bytes(one + section(">", speed) + packed(packets[200:], ">", 1e-6, old=True) + simple)
    (flow,) = json_flows(file)
    assert (flow["ways"][0]["bytes"], flow["rtt_s"]) == (292_000, pytest.approx(0.02, rel=0.01))
    made, said = notes(file)
    assert rates(made)[0] == pytest.approx(200 * 1514 * 8 / 0.263, rel=0.1), "a speed of 2^64 - 1 is unknown"
    assert said == []


flows = st.lists(
    st.tuples(st.floats(0, 2), st.floats(0.002, 0.2), st.integers(60, 300), st.booleans()), min_size=1, max_size=5
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(flows, st.sampled_from("<>"))
def test_flows_sizes_starts_and_round_trips_of_any_capture_are_in_the_scenario(
    tmp_path: Path, cases: list[tuple[float, float, int, bool]], order: str
) -> None:
    packets, expected = [], []
    for number, (start, rtt, count, up) in enumerate(cases):
        remote = (198, 51, 100, number)
        own = transfer(start, rtt, 0.005, count, up, remote=remote)
        at, seq = start + rtt + 0.001 + count * 0.005, (1001 if up else 5001) + count * 1460
        packets += [*own, segment(at, up, (seq, 5001 if up else 1001), FIN, remote=remote)]
        expected.append((count * 1460, up))
    made, said = notes(write(tmp_path / "x.pcap", packets, order=order))
    made.canonical()
    assert not said
    sizes = [(flow["traffic"]["size"], flow["from"]) for flow in made["flows"] for _ in range(flow["count"])]
    # The first sender of data is on the left.
    first = min(cases, key=lambda case: case[0])[3]
    assert sorted(sizes) == sorted((f"{size} B", "left" if up == first else "right") for size, up in expected)
    base = 2 * _sojourn.quantity("time", made["links"][0]["delay"])
    delays = [2 * _sojourn.quantity("time", each) for flow in made["flows"] for each in flow["access"]["delay"]]
    assert sorted(base + delay for delay in delays) == pytest.approx(
        sorted(case[1] for case in cases), rel=0.02, abs=2e-5
    )


def test_the_speed_of_the_interface_counts_unless_far_more_was_carried():
    """ACKs after a retransmission report several segments at once."""
    rates = [captures._rate({"speed_bps": 20e6, "busiest_bps": busiest}) for busiest in (1e6, 23.7e6, 41e6)]
    assert rates == [20e6, 20e6, 41e6]
