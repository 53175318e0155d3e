"""The buffer of an imported line: what its round trips show, and how sure that is."""

from pathlib import Path

import pytest

import sojourn as sj
from sojourn.imports.measurements import Imported, imported
from tests.support.access_line import access_line

UPLOAD = {"name": "up", "from": "home", "to": "isp"}
RATE, RTT, PACKET = 20e6, 0.020, 1500


def captured(folder: Path, at: str = "up/0:sender", **tcp: object) -> Imported:
    """What an import finds in a capture of one upload over the bloated line."""
    scenario = access_line().set("flows", [UPLOAD])
    for field, value in tcp.items():
        scenario.set(f"tcp.{field}", value)
    file = folder / "up.pcapng"
    sj.run(scenario, pcap=file, pcap_links=[], pcap_hosts=[at])
    return imported(file)


def buffer_of(found: Imported) -> int:
    """The larger limit of both directions, in packets."""
    link = found.scenario["links"][0]
    queues = [link["queue"], link.get("back", {}).get("queue", {"limit": "0 packets"})]
    return max(int(queue["limit"].split()[0]) for queue in queues)


def test_a_queue_that_a_window_keeps_below_its_limit_gives_a_buffer_of_at_least_its_wait(tmp_path):
    """A window of 300 packets in flight, less one bandwidth-delay product, waits in the queue."""
    found = captured(tmp_path, window="300 packets")
    queued = 300 - RATE * RTT / (8 * PACKET)
    assert buffer_of(found) == pytest.approx(queued, rel=0.1)
    said = next(remark for remark in found.remarks if remark.startswith("Buffer from left"))
    assert said.startswith(f"Buffer from left to right: {buffer_of(found)} packets, ")
    assert "It may be larger, since no packet was lost: 95 % of the round trips waited at most " in said


def test_a_queue_that_overflows_gives_the_range_of_its_waits(tmp_path):
    found = captured(tmp_path, control={"cc": "cubic"})
    assert buffer_of(found) == pytest.approx(500, rel=0.15), "300 ms at 20 Mbit/s"
    said = next(remark for remark in found.remarks if remark.startswith("Buffer from left"))
    assert ". 95 % of the round trips waited at most " in said
    assert "Packets were lost, so a queue was full at some time" in said


def test_a_capture_at_the_receiver_shows_no_queue_and_says_so(tmp_path):
    found = captured(tmp_path, "up/0:receiver")
    said = next(remark for remark in found.remarks if remark.startswith("Buffer from left"))
    assert said.endswith(
        "Unknown: no round trip of the capture includes the queue, so this is a guess: one bandwidth-delay product."
    )


def test_the_rate_of_a_direction_without_data_has_a_lower_bound_and_the_field_that_sets_it(tmp_path):
    (said,) = (remark for remark in captured(tmp_path).remarks if "its rate is a guess" in remark)
    assert "Only ACKs and requests went from right to left" in said
    assert "The capture shows at least " in said
    assert said.endswith("to set it: links.link.back.rate.")
