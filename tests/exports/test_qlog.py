"""A qlog file has the windows, round-trip times and losses of each flow.

Its form is that of the schema.
"""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.exports.qlog import write_qlog
from tests.support.source_tree import ROOT

DUMBBELL = ROOT / "examples" / "dumbbell.toml"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], sj.Record]:
    """The file of a short run, and its record with all samples."""
    short = sj.load(DUMBBELL).copy().set_all({"duration": "12 s", "flows.ftp.count": 5})
    file = write_qlog(short, tmp_path_factory.mktemp("qlog") / "x.qlog", seed=3)
    short.set("trace.rtt", {"flows": ["*"]}).set("warmup", "0 s")
    return json.loads(file.read_text()), sj.run(short, seed=3)


def values(trace: dict[str, Any], name: str) -> list[float]:
    return [event["data"][name] for event in trace["events"] if name in event["data"]]


def senders(log: dict[str, Any]) -> list[dict[str, Any]]:
    """The traces of flows, in their order."""
    return [trace for trace in log["traces"] if trace["vantage_point"]["type"] == "client"]


def named(trace: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The events of this name."""
    return [event for event in trace["events"] if event["name"] == name]


def test_the_file_has_the_form_of_the_schema(written: tuple[dict[str, Any], sj.Record]) -> None:
    log, _ = written
    assert (log["qlog_version"], log["qlog_format"]) == ("0.3", "JSON")
    assert [trace["vantage_point"]["name"] for trace in senders(log)] == [f"ftp/{i}" for i in range(5)]
    for trace in log["traces"]:
        assert trace["common_fields"]["protocol_type"] == ["TCP"]
        times = [event["time"] for event in trace["events"]]
        assert times == sorted(times)
    kinds = {event["name"] for trace in senders(log) for event in trace["events"]}
    recovery = {"metrics_updated", "congestion_state_updated", "packet_lost", "marked_for_retransmit"}
    assert kinds == {f"recovery:{kind}" for kind in recovery} | {"transport:packet_sent", "transport:packet_received"}


def test_its_values_are_those_of_the_run(written: tuple[dict[str, Any], sj.Record]) -> None:
    log, record = written
    for number, trace in enumerate(senders(log)):
        samples = record.series[f"rtt/ftp/{number}"]["seconds"] * 1e3
        assert values(trace, "latest_rtt") == pytest.approx(list(samples), abs=1e-5)
        assert values(trace, "min_rtt")[-1] == pytest.approx(samples.min(), abs=1e-5)
        assert len(named(trace, "recovery:marked_for_retransmit")) == record["flows"][number]["retransmitted"]
        windows = values(trace, "congestion_window")
        assert windows[0] in (1460, 14_600)
        assert all(0 < window < 10**6 for window in windows)
        in_flight = values(trace, "bytes_in_flight")
        assert max(windows) / 2 < max(in_flight) < 2 * max(windows)
        assert not values(trace, "pacing_rate")
    assert sum(record["links"][0]["dropped"].values()) > 0


def test_what_the_sender_takes_for_lost_is_what_it_sends_again(written: tuple[dict[str, Any], sj.Record]) -> None:
    log, record = written
    for number, trace in enumerate(senders(log)):
        lost = [event["data"] for event in named(trace, "recovery:packet_lost")]
        # This stack sends no probes: every retransmission is of a lost segment.
        assert [data["frames"] for data in lost] == [
            event["data"]["frames"] for event in named(trace, "recovery:marked_for_retransmit")
        ]
        assert all(data["frames"][0]["offset"] % 1460 == 0 < data["frames"][0]["length"] <= 1460 for data in lost)
        by_timeout = any(data["trigger"] == "pto_expired" for data in lost)
        assert by_timeout == (record["flows"][number]["timeouts"] > 0)
        assert {data["trigger"] for data in lost} <= {"reordering_threshold", "pto_expired"}


def test_every_segment_is_a_numbered_packet_that_is_acknowledged_lost_or_in_flight(
    written: tuple[dict[str, Any], sj.Record],
) -> None:
    log, record = written
    for number, trace in enumerate(senders(log)):
        sent = named(trace, "transport:packet_sent")
        assert len(sent) == record["flows"][number]["sent"]
        assert [event["data"]["header"]["packet_number"] for event in sent] == list(range(len(sent)))
        at = {event["data"]["header"]["packet_number"]: event["time"] for event in sent}
        acknowledged = set()
        for event in named(trace, "transport:packet_received"):
            packets = {first for first, _ in event["data"]["frames"][0]["acked_ranges"]}
            assert all(at[packet] < event["time"] for packet in packets)
            assert not acknowledged & packets
            acknowledged |= packets
        lost = [event["data"]["header"]["packet_number"] for event in named(trace, "recovery:packet_lost")]
        frames = {event["data"]["header"]["packet_number"]: event["data"]["frames"] for event in sent}
        # A lost packet carries the bytes that are sent again.
        assert all(
            frames[event["data"]["header"]["packet_number"]] == event["data"]["frames"]
            for event in named(trace, "recovery:packet_lost")
        )
        left = len(sent) - len(acknowledged | set(lost))
        assert 0 <= left <= max(values(trace, "bytes_in_flight")) / 1460


def test_what_a_link_dropped_is_in_a_trace_of_its_own(written: tuple[dict[str, Any], sj.Record]) -> None:
    log, record = written
    [link] = [trace for trace in log["traces"] if trace["vantage_point"]["type"] == "network"]
    assert link["vantage_point"]["name"] == "bottleneck"
    for flow in record["flows"]:
        assert flow["dropped"] == sum(event["group_id"] == flow["name"] for event in link["events"])
    assert {event["data"]["details"] for event in link["events"]} == {"the queue was full"}


@pytest.mark.parametrize(("probes", "lost"), [(True, []), (False, ["pto_expired"])])
def test_a_lost_tail_is_repaired_by_a_probe_or_found_lost_by_a_timeout(
    tmp_path: Path, probes: bool, lost: list[str]
) -> None:
    transfer = sj.load(DUMBBELL).copy().set_all({"duration": "20 s", "flows.ftp.count": 1})
    transfer.set("trace", {}).set("flows.ftp.tcp", {"profile": "linux", "tail_loss_probe": probes})
    # A SYN, an ACK, and ten segments, the last of which is lost.
    transfer.set("flows.ftp.traffic", {"kind": "bulk", "size": "14480 B"})
    transfer.set("links.bottleneck.impairments", [{"kind": "loss-list", "packets": [12]}])
    [trace] = senders(json.loads(write_qlog(transfer, tmp_path / "x.qlog").read_text()))
    assert len(named(trace, "recovery:marked_for_retransmit")) == 1
    assert [event["data"]["trigger"] for event in named(trace, "recovery:packet_lost")] == lost


def test_states_follow_each_other(written: tuple[dict[str, Any], sj.Record]) -> None:
    seen = set()
    for trace in senders(written[0]):
        states = [event["data"] for event in trace["events"] if event["name"].endswith("state_updated")]
        assert states[0] == {"new": "slow_start"}
        assert all(after["old"] == before["new"] != after["new"] for before, after in pairwise(states))
        seen |= {state["new"] for state in states}
    assert seen == {"slow_start", "congestion_avoidance", "recovery"}


def test_a_recovery_lasts_while_losses_are_repaired(written: tuple[dict[str, Any], sj.Record]) -> None:
    log, record = written
    for number, trace in enumerate(senders(log)):
        states = [event for event in trace["events"] if event["name"].endswith("state_updated")]
        lasted = [
            after["time"] - before["time"] for before, after in pairwise(states) if before["data"]["new"] == "recovery"
        ]
        flow = record["flows"][number]
        assert len(lasted) == flow["fast_retransmits"] + flow["timeouts"]
        # Outstanding data is acknowledged a round trip later at the earliest.
        least = record.series[f"rtt/ftp/{number}"]["seconds"].min() * 1e3
        assert sorted(lasted)[len(lasted) // 2] > least, (number, lasted)


def test_a_command_writes_it_and_refuses_in_one_line_what_has_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = ["run", str(DUMBBELL), "--set", "duration=11 s", "--set", "flows.ftp.count=2"]
    assert main([*short, "--qlog", str(tmp_path / "x.qlog")]) == 0
    assert len(senders(json.loads((tmp_path / "x.qlog").read_text()))) == 2
    capsys.readouterr()
    assert main([*short, "--qlog", str(tmp_path / "x.txt")]) == 2
    assert 'expected a file name that ends in ".qlog"' in capsys.readouterr().err
    udp = ["--set", "flows.ftp.traffic={ kind = 'ping', every = '1 s' }"]
    assert main([*short, *udp, "--qlog", str(tmp_path / "y.qlog")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main([*short, "--host", "linux", "--qlog", str(tmp_path / "y.qlog")]) == 2
    assert "qlog: expected a simulated host" in capsys.readouterr().err
    assert not (tmp_path / "y.qlog").exists()


def test_a_paced_sender_has_its_pace(tmp_path: Path) -> None:
    paced = sj.load(DUMBBELL).copy().set_all({"duration": "12 s", "flows.ftp.count": 1, "trace": {}})
    paced.set("flows.ftp.tcp.control", {"cc": "bbr3"})
    (trace,) = senders(json.loads(write_qlog(paced, tmp_path / "x.qlog").read_text()))
    # Alone it measures the bandwidth of 10 Mbit/s in payload: 1460 of 1500 bytes. It paces at 99 % of that times the
    # gain of ProbeBW, which is 0.9 (DOWN), 1 (CRUISE) or 1.25 (UP): draft-ietf-ccwg-bbr#4.6.1.
    found = [event for event in trace["events"] if event["time"] > 2000 and "pacing_rate" in event["data"]]
    gains = {round(event["data"]["pacing_rate"] / (0.99 * 10e6 * 1460 / 1500), 3) for event in found}
    assert gains == {0.9, 1.0, 1.25}


@pytest.mark.parametrize("cc", ["bbr", "bbr3"])
def test_a_controller_without_a_threshold_says_itself_that_it_starts(tmp_path: Path, cc: str) -> None:
    started = sj.load(DUMBBELL).copy().set_all({"duration": "12 s", "flows.ftp.count": 1, "trace": {}})
    started.set("flows.ftp.tcp.control", {"cc": cc})
    (trace,) = senders(json.loads(write_qlog(started, tmp_path / "x.qlog").read_text()))
    first, second, *_ = named(trace, "recovery:congestion_state_updated")
    assert first["data"] == {"new": "slow_start"}
    # Startup doubles the rate in a round trip until three have brought no quarter more (draft-ietf-ccwg-bbr#5.3.1.2).
    assert second["time"] > 3 * min(values(trace, "min_rtt"))
    assert all(event["data"]["new"] != "slow_start" for event in named(trace, first["name"])[1:])
