"""`sojourn judge`: what it reads, finds and writes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.exports.qlog import write_qlog
from sojourn.judge.judgement import judge
from sojourn.judge.page import page_of
from sojourn.judge.qlog import read_qlog

pytestmark = pytest.mark.no_libraries

MSS = 1200
NEW = Path(sj.__file__).parent / "cli" / "starter_files" / "scenario.toml"


def dumbbell(controller: str, profile: str, seconds: float) -> sj.Scenario:
    """One flow over a bottleneck of 20 Mbit/s whose queue overflows now and then."""
    link = {"name": "l", "from": "a", "to": "b", "rate": "20 Mbit/s", "delay": "20 ms", "duplex": True}
    link["queue"] = {"aqm": "droptail", "limit": "80 packets"}
    tcp = {"profile": profile, "control": {"cc": controller}}
    flows = [{"name": "f", "from": "a", "to": "b"}]
    return sj.Scenario({"duration": f"{seconds} s", "seed": 1, "links": [link], "tcp": tcp, "flows": flows})


def quinn(path: Path, kept: float = 0.7, prefix: str = "recovery:", time: str = "relative") -> Path:
    """A log in the form of quinn's: no ACK frames, and RTTs in seconds.

    The window is 100 packets at ssthresh. After 1 s a loss keeps this part of it.
    """
    records: list[dict[str, Any]] = []
    now, window, number = 0.0, 100 * MSS, 0

    def add(at_ms: float, name: str, data: dict[str, Any]) -> None:
        nonlocal now
        records.append({"time": at_ms - now if time == "delta" else at_ms, "name": name, "data": data})
        now = at_ms

    def metrics(at_ms: float, **values: float) -> None:
        add(at_ms, f"{prefix}metrics_updated", values)

    def sent(at_ms: float) -> None:
        nonlocal number
        add(at_ms, "transport:packet_sent", {"header": {"packet_type": "1RTT", "packet_number": number, "length": MSS}})
        number += 1

    flight = 0
    for step in range(100):
        sent(step * 0.4)
        flight += MSS
        metrics(step * 0.4, bytes_in_flight=flight, congestion_window=window, ssthresh=100 * MSS)
    metrics(40, smoothed_rtt=0.04, min_rtt=0.04, latest_rtt=0.04, rtt_variance=0.001)
    for step in range(100, 400):
        at = 40 + (step - 100) * 0.4
        add(at, "transport:packet_received", {"header": {"packet_type": "1RTT", "packet_number": step}})
        if step == 200:
            add(at, f"{prefix}packet_lost", {"header": {"packet_type": "1RTT", "packet_number": 105, "length": MSS}})
            window = round(window * kept)
            metrics(at, bytes_in_flight=flight - 2 * MSS, congestion_window=window, ssthresh=window)
            flight -= 2 * MSS
            continue
        metrics(at, bytes_in_flight=flight - MSS)
        sent(at)
        metrics(at, bytes_in_flight=flight)
    trace = {"vantage_point": {"type": "client"}, "common_fields": {"time_format": time}, "title": "quinn"}
    head = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": trace}
    path.write_text("".join(f"\x1e{json.dumps(each)}\n" for each in (head, *records)), encoding="utf-8")
    return path


@pytest.mark.parametrize("profile", ["linux", "rfc"])
@pytest.mark.parametrize("controller", ["reno", "cubic"])
def test_our_own_senders_do_not_part_from_their_controllers(tmp_path, controller, profile):
    file = write_qlog(dumbbell(controller, profile, 15), tmp_path / "own.qlog")
    found = judge(file, controller)
    assert found.divergences == []
    assert found.reductions > 2
    assert found.log.linux == (profile == "linux")


@pytest.mark.parametrize(("profile", "seed"), [("rfc", 1), ("rfc", 2), ("linux", 2)])
def test_no_flow_of_a_new_scenario_parts_from_its_controller(tmp_path, profile, seed):
    """Among them are a loss at the start of congestion avoidance and two recoveries in a row."""
    scenario = sj.load(NEW).set("tcp.profile", profile).set("duration", "7 s")
    file = write_qlog(scenario, tmp_path / "own.qlog", seed)
    found = [judge(file, "cubic", f"download/{flow}") for flow in range(5)]
    assert [each.divergences for each in found] == [[]] * 5
    assert sum(each.reductions for each in found) > 10


def test_a_recovery_that_ends_without_a_change_of_the_window_is_reported_with_its_ack(tmp_path):
    """PRR has lowered the window to ssthresh before.

    CUBIC's epoch begins at the next ACK, from that window.
    """
    flow = {"from": "a", "to": "b", "start": {"uniform": ["0 s", "1 s"]}}
    link = {"from": "a", "to": "b", "rate": "50 Mbit/s", "delay": "15 ms", "queue": {"limit": "1 BDP"}, "duplex": True}
    scenario = sj.Scenario(
        {
            "duration": "20 s",
            "tcp": {"profile": "linux"},
            "links": [{"name": "bottleneck", **link}],
            "flows": [
                {"name": "cubic", "access": {"delay": "0 ms"}, "tcp": {"control": {"cc": "cubic"}}, **flow},
                {"name": "bbr3", "tcp": {"control": {"cc": "bbr3"}}, **flow},
            ],
        }
    )
    assert judge(write_qlog(scenario, tmp_path / "own.qlog", 1), "cubic", "cubic/0").divergences == []


@pytest.mark.parametrize("profile", ["rfc", "linux"])
def test_htcp_measures_from_the_end_of_the_repair_after_a_timeout(tmp_path, profile):
    """With `linux`, the first recovery ends at a window that PRR has not yet raised to ssthresh."""
    scenario = (
        sj.load(NEW).set("tcp.profile", profile).set("duration", "7 s").set("flows.download.tcp.control.cc", "htcp")
    )
    file = write_qlog(scenario, tmp_path / "own.qlog", 1)
    assert [judge(file, "htcp", f"download/{flow}").divergences for flow in (0, 4)] == [[], []]


def test_rtts_longer_than_the_log_so_far_are_milliseconds(tmp_path):
    """The first answer arrives after a timeout, so the least RTT is far below it."""
    events: list[dict[str, Any]] = []
    for number, (sent, answered) in enumerate([(0, 1010), (1012, 1022), (1023, 1033)]):
        header = {"header": {"packet_type": "1RTT", "packet_number": number}, "raw": {"length": MSS}}
        events.append({"time": sent, "name": "transport:packet_sent", "data": header})
        frames = {"frames": [{"frame_type": "ack", "acked_ranges": [[number, number]]}]}
        events.append({"time": answered, "name": "transport:packet_received", "data": header | frames})
        rtts = {"latest_rtt": 10.0, "min_rtt": 10.0, "smoothed_rtt": 10.0}
        window = {"congestion_window": 10 * MSS, "bytes_in_flight": 0}
        events.append({"time": answered, "name": "recovery:metrics_updated", "data": rtts | window})
    file = tmp_path / "late.qlog"
    file.write_text(
        json.dumps({"traces": [{"common_fields": {"time_format": "relative"}, "events": events}]}), encoding="utf-8"
    )
    assert [event.get("srtt") for event in read_qlog(file).events if event["kind"] == "acked"] == [None, 0.01, 0.01]


@pytest.mark.slow
@pytest.mark.parametrize("controller", ["reno", "cubic"])
def test_a_minute_of_the_profile_linux_has_no_divergence(tmp_path, controller):
    found = judge(write_qlog(dumbbell(controller, "linux", 60), tmp_path / "own.qlog"), controller)
    assert found.divergences == []
    assert found.reductions > 10


def test_another_controller_than_the_claimed_one_is_found(tmp_path):
    file = write_qlog(dumbbell("reno", "rfc", 5), tmp_path / "own.qlog")
    first = judge(file, "cubic").first
    assert first is not None
    assert (first.cause, first.rule, first.event) == ("wrong beta", "rfc9438#4.6", "a loss")


@pytest.mark.parametrize("time", ["relative", "delta"])
@pytest.mark.parametrize("prefix", ["recovery:", "quic:recovery_", "quic:"])
def test_a_decrease_is_read_from_every_form_of_qlog(tmp_path, prefix, time):
    found = judge(quinn(tmp_path / "q.sqlog", 0.5, prefix, time), "cubic")
    assert found.reductions == 1
    assert [each.cause for each in found.divergences][:1] == ["wrong beta"]
    assert "becomes 0.500 of 120,0" in found.divergences[0].figures()
    assert judge(quinn(tmp_path / "q.sqlog", 0.7, prefix, time), "cubic").divergences == []


def test_acks_are_read_from_the_data_in_flight_if_the_log_has_no_frames(tmp_path):
    log = read_qlog(quinn(tmp_path / "q.sqlog"))
    acked = [event for event in log.events if event["kind"] == "acked"]
    assert (len(acked), {event["bytes"] for event in acked}) == (300, {MSS})
    # The window is full, and a packet's ACK arrives a round trip after it.
    assert {event["limit"] for event in acked[:90]} == {"window"}
    assert acked[50]["at"] - acked[50]["sent"] == pytest.approx(0.04)
    assert acked[50]["srtt"] == pytest.approx(0.04)
    lost = [event for event in log.events if event["kind"] == "lost"]
    assert [event["persistent"] for event in lost] == [False]


def test_names_of_aioquic_are_read_and_the_last_report_of_a_time_counts(tmp_path):
    """aioquic has absolute times, `cwnd`, losses without a header, and several reports a time."""
    events: list[dict[str, Any]] = []

    def add(name: str, data: dict[str, Any], at: float = 1e9) -> None:
        events.append({"name": name, "data": data, "time": at})

    for number in range(10):
        header = {"header": {"packet_type": "1RTT", "packet_number": number}, "raw": {"length": MSS}}
        add("transport:packet_sent", header)
    add("recovery:metrics_updated", {"cwnd": 10 * MSS, "ssthresh": 10 * MSS, "bytes_in_flight": 10 * MSS})
    frame = {"frame_type": "ack", "acked_ranges": [[1, 4]]}
    add(
        "transport:packet_received",
        {"header": {"packet_type": "1RTT", "packet_number": 0}, "frames": [frame]},
        1e9 + 40,
    )
    add("recovery:metrics_updated", {"cwnd": 10 * MSS}, 1e9 + 40)
    add("recovery:packet_lost", {"type": "1RTT", "packet_number": 0}, 1e9 + 40)
    add("recovery:metrics_updated", {"cwnd": 5 * MSS, "ssthresh": 5 * MSS}, 1e9 + 40)
    file = tmp_path / "aioquic.qlog"
    file.write_text(
        json.dumps({"traces": [{"vantage_point": {"name": "aioquic"}, "events": events}]}), encoding="utf-8"
    )
    log = read_qlog(file)
    assert [(round(event["at"], 6), event["kind"]) for event in log.events] == [
        (0.0, "window"),
        (0.04, "acked"),
        (0.04, "lost"),
        (0.04, "window"),
    ]
    assert (log.events[1]["bytes"], log.events[2]["in_flight"], log.events[2]["sent"]) == (4 * MSS, 5 * MSS, 0.0)
    assert judge(file, "reno").divergences == []


def test_the_page_has_both_windows_and_each_cause_and_needs_no_other_file(tmp_path):
    found = judge(quinn(tmp_path / "q.sqlog", 0.595), "cubic")
    text = page_of(found)
    assert text.count("<svg") == 1 + len(found.divergences)
    for each in found.divergences:
        assert each.cause in text
        assert each.rule in text
    assert re.findall(r'(?:src|href)="(?!#)[^"]*"', text) == []


def test_the_command_prints_each_cause_and_writes_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    quinn(Path("q.sqlog"), 0.5)
    assert main(["judge", "q.sqlog", "--controller", "cubic"]) == 0
    said = capsys.readouterr().out
    assert "quinn parts from cubic at" in said
    assert "wrong beta" in said
    assert Path("q-judgement.html").read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no json", "expected a qlog of version 0.3 or newer"),
        ("{}", "expected a qlog of version 0.3 or newer"),
        ('{"traces": []}', "expected a trace that sends packets, got none"),
        (
            '{"traces": [{"events": [{"time": 0, "name": "transport:packet_sent", "data": {"raw": {"length": 9}}}]}]}',
            "expected congestion windows in metrics_updated, got none",
        ),
    ],
)
def test_a_file_without_windows_is_an_error(tmp_path, text, said):
    file = tmp_path / "x.qlog"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(sj.UserError, match=said):
        judge(file, "reno")


def test_an_unknown_flow_and_a_controller_without_input_are_errors(tmp_path):
    file = quinn(tmp_path / "q.sqlog")
    with pytest.raises(sj.UserError, match=r"missing\.qlog"):
        judge(Path("missing.qlog"), "reno")
    with pytest.raises(sj.UserError, match="called other, got quinn"):
        judge(file, "reno", "other")
    with pytest.raises(sj.ScenarioError, match=r"controller: expected one of reno, cubic, .* got \"bbr\""):
        judge(file, "bbr")


def test_an_early_end_of_slow_start_is_no_recovery_in_qlog(tmp_path):
    """CUBIC's HyStart lowers the threshold to the window, which does not fall."""
    file = write_qlog(dumbbell("cubic", "linux", 0.3).set("links.l.queue.limit", "1000 packets"), tmp_path / "own.qlog")
    (trace,) = json.loads(file.read_text(encoding="utf-8"))["traces"]
    states = [e["data"]["new"] for e in trace["events"] if e["name"] == "recovery:congestion_state_updated"]
    assert states == ["slow_start", "congestion_avoidance"]
    assert judge(file, "cubic").divergences == []
