"""Live runs as other programs see them: tcpdump and tshark on both sides, ping, iperf3."""

import json
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.live.namespaces import missing
from sojourn.live.session import Session
from sojourn.runs.hosts import Host, on_host
from tests.live.test_live import CLIENT, LINE, SERVER, python, record_of

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"live runs: {missing()}")

MARKING = LINE.replace('limit = "50 packets"', 'aqm = "codel", ecn = true, limit = "500 packets"')
CONGESTION_EXPERIENCED = "ip and ip[1] & 3 == 3"


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"needs {program}")


@dataclass(frozen=True)
class Captured:
    """The packets at both ends of a download with ECN, and its record."""

    sent: Path
    received: Path
    record: sj.Record


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    folder = tmp_path_factory.mktemp("captures")
    files = {name: folder / f"{name}.pcap" for name in ("a", "b")}
    with Session(on_host(sj.loads(MARKING), Host.LIVE)) as session:
        session.begin()
        for name, file in files.items():
            session.host(name).set_ecn(True)
            session.start((name, ["tcpdump", "-Z", "root", "-U", "-i", "sojourn0", "-w", str(file)]), stderr=-3)
        session.start(("b", python(SERVER)))
        # A capture file has its header once the capture has begun.
        until = time.monotonic() + 20
        while not session.host("b").is_listening() or not all(
            file.exists() and file.stat().st_size for file in files.values()
        ):
            assert time.monotonic() < until
            time.sleep(0.02)
        session.start(("a", python(CLIENT, "{peer}", "3"))).wait()
        # The kernel sends what the client's socket holds: at most 4 MB.
        time.sleep(3)
        record = session.record()
    return Captured(files["a"], files["b"], record)


def lines(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@needs("tcpdump")
def test_tcpdump_finds_every_checksum_right_and_every_mark_at_the_receiver(captured: Captured) -> None:
    for file in (captured.sent, captured.received):
        found = lines("tcpdump", "-r", str(file), "-nvv", "tcp")
        assert sum("(correct)" in line for line in found) > 1000
        assert not [line for line in found if "incorrect" in line or "bad cksum" in line]
    marked = captured.record.value("links.line.marked")
    assert len(lines("tcpdump", "-r", str(captured.received), "-nq", CONGESTION_EXPERIENCED)) == marked > 0
    assert lines("tcpdump", "-r", str(captured.sent), "-nq", CONGESTION_EXPERIENCED) == []


@needs("tcpdump")
@needs("tshark")
def test_tshark_finds_no_bad_checksum_and_as_much_payload_as_the_record(captured: Captured) -> None:
    checked = ("-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE")
    # The kernel writes 0xffff for a sum of 0, which is the same number; tshark expects 0.
    bad = 'ip.checksum.status == "Bad" || (tcp.checksum.status == "Bad" && tcp.checksum != 0xffff)'
    for file in (captured.sent, captured.received):
        assert lines("tshark", "-r", str(file), *checked, "-Y", bad) == []
    acknowledged = lines(
        "tshark", "-r", str(captured.sent), "-Y", "tcp.srcport == 9000", "-T", "fields", "-e", "tcp.ack"
    )
    # The first byte of the data has the number 1, and the end of the connection counts as a byte.
    payload = max(map(int, acknowledged)) - 1
    counted = round(captured.record.value("groups.up.goodput_bps") * captured.record["duration_s"] / 8)
    assert 0 <= payload - counted <= 1


@needs("ping")
def test_ping_measures_the_delays_and_the_transmissions_of_the_path() -> None:
    _, printed = record_of(LINE, ("a", ["ping", "-c", "20", "-i", "0.05", "{peer}"]))
    assert "20 received" in printed
    # 84 B take 34 us at 20 Mbit/s.
    least = re.search(r"= ([\d.]+)/", printed)
    assert least is not None
    assert 20.03 <= float(least[1]) < 21


@needs("iperf3")
def test_iperf3_receives_what_the_record_counts() -> None:
    command = ["iperf3", "--client", "{peer}", "--time", "3", "--congestion", "cubic", "--json"]
    record, printed = record_of(LINE, ("a", command), ("b", ["iperf3", "--server", "--one-off"]))
    found = json.loads(printed)["end"]["sum_received"]
    # Some data is still on its way when iperf3 ends, and its control connection counts too.
    assert record.value("groups.up.goodput_bps") * record["duration_s"] == pytest.approx(8 * found["bytes"], rel=0.02)
    assert record.value("links.line.utilization") > 0
