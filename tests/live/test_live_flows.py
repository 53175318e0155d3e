"""The scenario's own flows over the TCP of this machine."""

import shlex
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.live.namespaces import missing
from tests.live.test_live import CLIENT, LINE, SERVER, python

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"live runs: {missing()}")

FOUR_SECONDS = LINE.replace('"20 s"', '"4 s"\nhost = "live"').replace(
    "[[flows]]", '[tcp]\nprofile = "linux"\n[[flows]]'
)


def test_a_flow_counts_the_timeouts_of_the_kernels_tcp() -> None:
    outage = 'impairments = [{ kind = "outage", at = "1 s", length = "1 s", every = "20 s" }]'
    record = sj.run(sj.loads(FOUR_SECONDS.replace('delay  = "10 ms"\nqueue', f'delay  = "10 ms"\n{outage}\nqueue')))
    # The first after at least 200 ms, each of the next after twice the time.
    assert 1 <= record.flows.iloc[0]["timeouts"] <= 4


TRANSFERS = """
traffic = { kind = "transfers", every = "100 ms", sizes = [["20 kB", 1]] }
"""


def test_a_session_opens_a_connection_for_each_transfer() -> None:
    live = sj.run(sj.loads(FOUR_SECONDS + TRANSFERS))
    simulated = sj.run(sj.loads((FOUR_SECONDS + TRANSFERS).replace('host = "live"\n', "")))
    count, expected = (record.value("groups.up.completion_s.count") for record in (live, simulated))
    # The draws are the same; a transfer may be unfinished at the end.
    assert abs(count - expected) <= 1 < expected
    assert live.value("groups.up.goodput_bps") == pytest.approx(simulated.value("groups.up.goodput_bps"), rel=0.1)
    # A transfer of 14 segments needs a handshake and one or two round trips of 20 ms.
    mean, simulated_mean = (record.value("groups.up.completion_s.mean") for record in (live, simulated))
    assert mean == pytest.approx(simulated_mean, rel=0.15)


WEB = """
traffic = { kind = "web", page_gap = "1 s", object_mean = "10 kB", object_shape = 1.5, request = "300 B" }
"""


def test_traffic_with_requests_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "web.toml").write_text(LINE + WEB, encoding="utf-8")
    assert main(["live", str(tmp_path / "web.toml")]) == 2
    assert "flows.up.traffic: expected traffic without requests live, got web" in capsys.readouterr().err


PROGRAM = """
[[flows]]
name = "program"
from = "a"
to = "b"
port = 9000
"""


def test_a_group_is_sent_beside_a_program(tmp_path: Path) -> None:
    file, out = tmp_path / "line.toml", tmp_path / "out"
    calls = 'traffic = { kind = "cbr", rate = "1 Mbit/s", size = "500 B" }\n'
    file.write_text(
        LINE.replace("[[flows]]", '[tcp]\nprofile = "linux"\n[[flows]]') + calls + PROGRAM, encoding="utf-8"
    )
    words = ["live", str(file), "--out", str(out), "--send", "up", "--at", f"b={shlex.join(python(SERVER))}"]
    assert main([*words, "--", *python(CLIENT, "{peer}", "3")]) == 0
    record = sj.Record.read(out)
    assert record.value("groups.up.throughput_bps") == pytest.approx(1e6, rel=0.1)
    assert record.value("groups.program.goodput_bps") * record["duration_s"] > 0.6 * 3 * 20e6


def test_an_unknown_group_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "line.toml").write_text(LINE, encoding="utf-8")
    assert main(["live", str(tmp_path / "line.toml"), "--send", "down", "--", "true"]) == 2
    error = capsys.readouterr().err
    assert '--send: expected one of up, got "down"' in error
    assert error.count("\n") == 1
