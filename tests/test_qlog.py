"""A qlog file has the windows, round-trip times and losses of each flow, in the form of the schema."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.qlog import write_qlog

DUMBBELL = Path(__file__).parent.parent / "examples" / "dumbbell.toml"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], sj.Record]:
    """The file of a short run, and its record with all samples."""
    short = sj.load(DUMBBELL).copy().set_all({"duration": "12 s", "flows.ftp.count": 5})
    file = write_qlog(short, tmp_path_factory.mktemp("qlog") / "x.qlog", seed=3)
    short.set("trace.rtt", {"flows": ["*"]}).set("warmup", "0 s")
    return json.loads(file.read_text()), sj.run(short, seed=3)


def values(trace: dict[str, Any], name: str) -> list[float]:
    return [event["data"][name] for event in trace["events"] if name in event["data"]]


def test_the_file_has_the_form_of_the_schema(written: tuple[dict[str, Any], sj.Record]) -> None:
    log, _ = written
    assert (log["qlog_version"], log["qlog_format"]) == ("0.3", "JSON")
    assert [trace["vantage_point"]["name"] for trace in log["traces"]] == [f"ftp/{i}" for i in range(5)]
    for trace in log["traces"]:
        assert trace["common_fields"]["protocol_type"] == ["TCP"]
        times = [event["time"] for event in trace["events"]]
        assert times == sorted(times)
        names = {event["name"].removeprefix("recovery:") for event in trace["events"]}
        assert names <= {"metrics_updated", "congestion_state_updated", "packet_lost"}


def test_its_values_are_those_of_the_run(written: tuple[dict[str, Any], sj.Record]) -> None:
    log, record = written
    for number, trace in enumerate(log["traces"]):
        samples = record.series[f"rtt/ftp/{number}"]["seconds"] * 1e3
        assert values(trace, "latest_rtt") == pytest.approx(list(samples), abs=1e-5)
        assert values(trace, "min_rtt")[-1] == pytest.approx(samples.min(), abs=1e-5)
        lost = sum(event["name"] == "recovery:packet_lost" for event in trace["events"])
        assert lost == record["flows"][number]["dropped"]
        windows = values(trace, "congestion_window")
        assert windows[0] in (1460, 14_600)
        assert all(0 < window < 10**6 for window in windows)
        in_flight = values(trace, "bytes_in_flight")
        assert max(windows) / 2 < max(in_flight) < 2 * max(windows)
        assert not values(trace, "pacing_rate")
    assert sum(record["links"][0]["dropped"].values()) > 0


def test_states_follow_each_other(written: tuple[dict[str, Any], sj.Record]) -> None:
    seen = set()
    for trace in written[0]["traces"]:
        states = [event["data"] for event in trace["events"] if event["name"].endswith("state_updated")]
        assert states[0] == {"new": "slow_start"}
        assert all(after["old"] == before["new"] != after["new"] for before, after in pairwise(states))
        seen |= {state["new"] for state in states}
    assert seen == {"slow_start", "congestion_avoidance", "recovery"}


def test_a_recovery_lasts_while_losses_are_repaired(written: tuple[dict[str, Any], sj.Record]) -> None:
    log, record = written
    for number, trace in enumerate(log["traces"]):
        states = [event for event in trace["events"] if event["name"].endswith("state_updated")]
        lasted = [
            after["time"] - before["time"] for before, after in pairwise(states) if before["data"]["new"] == "recovery"
        ]
        flow = record["flows"][number]
        assert len(lasted) == flow["fast_retransmits"] + flow["timeouts"]
        # What was outstanding is acknowledged a round trip later at the soonest.
        least = record.series[f"rtt/ftp/{number}"]["seconds"].min() * 1e3
        assert sorted(lasted)[len(lasted) // 2] > least, (number, lasted)


def test_a_command_writes_it_and_refuses_in_one_line_what_has_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = ["run", str(DUMBBELL), "--set", "duration=11 s", "--set", "flows.ftp.count=2"]
    assert main([*short, "--qlog", str(tmp_path / "x.qlog")]) == 0
    assert len(json.loads((tmp_path / "x.qlog").read_text())["traces"]) == 2
    capsys.readouterr()
    assert main([*short, "--qlog", str(tmp_path / "x.txt")]) == 2
    assert 'expected a file name that ends in ".qlog"' in capsys.readouterr().err
    udp = ["--set", "flows.ftp.traffic={ kind = 'ping', every = '1 s' }"]
    assert main([*short, *udp, "--qlog", str(tmp_path / "y.qlog")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "y.qlog").exists()


def test_a_paced_sender_has_its_pace(tmp_path: Path) -> None:
    paced = sj.load(DUMBBELL).copy().set_all({"duration": "12 s", "flows.ftp.count": 2})
    paced.set("flows.ftp.tcp.control", {"cc": "bbr3"})
    log = json.loads(write_qlog(paced, tmp_path / "x.qlog").read_text())
    # Two flows of BBR share 10 Mbit/s.
    assert sum(values(trace, "pacing_rate")[-1] for trace in log["traces"]) == pytest.approx(10e6, rel=0.4)
