"""`sojourn judge` of captures at senders, without and with the senders' reports."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn import _sojourn
from sojourn.judge.captured import _connection
from sojourn.judge.judgement import judge, replayed
from sojourn.judge.segments import Report, log_of, positions
from tests.judge.test_judge import dumbbell
from tests.support.source_tree import ROOT


def captured(path: Path, control: dict[str, Any], profile: str, seconds: float, end: str = "sender") -> Path:
    """The capture of a sender over a bottleneck of 20 Mbit/s."""
    scenario = dumbbell("reno", profile, seconds).set("tcp.control", control)
    sj.run(scenario, pcap=str(path), pcap_hosts=[f"f/0:{end}"])
    return path


@pytest.mark.parametrize("profile", ["linux", "rfc"])
@pytest.mark.parametrize("controller", ["reno", "cubic"])
def test_the_flight_in_a_capture_follows_the_controller(tmp_path, controller, profile):
    found = judge(captured(tmp_path / "c.pcapng", {"cc": controller}, profile, 20), controller)
    assert found.divergences == []
    assert found.reductions > 2
    assert found.log.estimated


@pytest.mark.parametrize("beta", [0.5, 0.8])
@pytest.mark.parametrize("profile", ["linux", "rfc"])
def test_a_capture_shows_another_beta(tmp_path, profile, beta):
    found = judge(captured(tmp_path / "c.pcapng", {"cc": "cubic", "beta": beta}, profile, 20), "cubic")
    (wrong,) = (each for each in found.divergences if each.cause == "wrong beta")
    assert float(wrong.figures().split()[2]) == pytest.approx(beta, abs=0.03)
    assert wrong.count > 1


@pytest.mark.parametrize("profile", ["linux", "rfc"])
def test_a_capture_shows_another_growth(tmp_path, profile):
    found = judge(captured(tmp_path / "c.pcapng", {"cc": "cubic", "c": 0.1}, profile, 20), "cubic")
    assert found.divergences[0].cause == "growth too slow"


def test_a_capture_at_the_receiver_and_one_without_such_a_sender_are_errors(tmp_path):
    file = captured(tmp_path / "c.pcapng", {"cc": "reno"}, "rfc", 2, "receiver")
    with pytest.raises(sj.UserError, match="expected a capture at the sender, got one nearer to the receiver"):
        judge(file, "reno")
    with pytest.raises(sj.UserError, match=r"expected a TCP sender 192\.0\.2\.1:1, got 10\."):
        judge(file, "reno", "192.0.2.1:1")
    (tmp_path / "x.pcap").write_bytes(b"no capture")
    with pytest.raises(sj.ScenarioError, match=r"x\.pcap"):
        judge(tmp_path / "x.pcap", "reno")


def test_sequence_numbers_wrap_and_a_segment_without_an_ack_has_the_last_position():
    assert positions(np.array([2**32 - 10, 90, -1, 2**32 - 10])).tolist() == [0, 100, 100, 0]


def reports(path: Path, controller: str) -> tuple[dict[str, Any], list[Report]]:
    """The segments and the reports of a simulated Linux sender, in the form of a kernel's log."""
    scenario = dumbbell(controller, "linux", 15).set("trace.controller", {"flows": ["f/0"]})
    record = sj.run(scenario.set("trace.rtt", {"flows": ["f/0"]}), pcap=str(path), pcap_hosts=["f/0:sender"])
    start, columns = _sojourn.capture_segments(str(path), *_connection(path, None))
    columns["t"] += (start - 946_684_800 * 10**9) / 1e9
    sender, rtt = record.series["controller/f/0"], record.series["rtt/f/0"]
    found: list[Report] = [
        (float(at), "rtt", float(each), 0.0) for at, each in zip(rtt["t"], rtt["seconds"], strict=True)
    ]
    kinds, before = {1.0: "recovery", 2.0: "timeout"}, 0.0
    for at, cwnd, ssthresh, repair in zip(*(sender[name] for name in ("t", "cwnd", "ssthresh", "repair")), strict=True):
        if repair != before and repair in kinds:
            found.append((float(at), kinds[repair], 0.0, 0.0))
        before = repair
        if cwnd > 0:
            found.append((float(at), "window", float(cwnd), float(ssthresh) if ssthresh < 2**20 else 2.0**31))
    order = ("rtt", "recovery", "timeout", "window")
    return columns, sorted(found, key=lambda report: (report[0], order.index(report[1])))


@pytest.mark.parametrize("controller", ["reno", "cubic"])
def test_the_reports_of_a_sender_agree_and_a_changed_one_does_not(tmp_path, controller):
    columns, log = reports(tmp_path / "c.pcapng", controller)
    found = replayed(log_of("f/0", columns, log), controller)
    assert found.divergences == []
    assert found.reductions > 2
    assert not found.log.estimated
    # By hand: after 5 s each reduction keeps two packets more than it may.
    changed = [(at, kind, one, two + 2 if kind == "window" and at > 5 else two) for at, kind, one, two in log]
    first = replayed(log_of("f/0", columns, changed), controller).first
    assert first is not None
    assert (first.at_s > 5, first.cause) == (True, "wrong beta")


def test_a_scenario_on_the_simulator_is_an_error(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text((ROOT / "examples" / "dumbbell.toml").read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(sj.UserError, match=r'host: expected "linux", or a log of `sojourn run --qlog`, got simulator'):
        judge(file, "reno")
