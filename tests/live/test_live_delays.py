"""Delays of links from traces."""

import re
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.live.delays import follow_delays
from sojourn.live.namespaces import missing
from sojourn.runs.hosts import Host, on_host
from tests.live.test_live import LINE, PING

PINGED = LINE.replace('"20 s"', '"4 s"') + PING


def test_a_trace_repeats_and_its_last_line_lasts_as_long_as_the_one_before(tmp_path: Path) -> None:
    (tmp_path / "delays").write_text("# s ms\n10.0, 30\n10.5, 90\n", encoding="utf-8")
    scenario = sj.loads(PINGED)
    follow_delays(scenario, f"line={tmp_path / 'delays'}")
    record = sj.run(scenario)
    # 10 ms back; 62 B take 25 us at 20 Mbit/s.
    assert record.value("groups.ping.rtt_ms.min") == pytest.approx(40, abs=0.1)
    assert record.value("groups.ping.rtt_ms.p99") == pytest.approx(100, abs=1)
    assert record.value("groups.ping.rtt_ms.mean") == pytest.approx(70, abs=2)


@pytest.mark.skipif(bool(missing()), reason=f"live runs: {missing()}")
def test_a_live_link_follows_a_trace(tmp_path: Path) -> None:
    (tmp_path / "delays").write_text("0 30\n0.5 90\n", encoding="utf-8")
    scenario = on_host(sj.loads(PINGED), Host.LIVE)
    follow_delays(scenario, f"line={tmp_path / 'delays'}")
    record = sj.run(scenario)
    assert record.value("groups.ping.rtt_ms.min") == pytest.approx(40, abs=1)
    assert record.value("groups.ping.rtt_ms.p99") > 100
    # On a busy machine the pings are answered late.
    assert record.value("groups.ping.rtt_ms.mean") == pytest.approx(75, abs=10)


@pytest.mark.parametrize(
    ("text", "content", "said"),
    [
        ("line", "", '--delay-from-trace: expected LINK=FILE, got "line"'),
        ("line=none", "", "--delay-from-trace: none: No such file or directory"),
        ("line=trace", "", "trace: expected lines with a time in s and a delay in ms"),
        ("line=trace", "0 1\n0 2\n", 'trace:2: expected a later time in s and a delay in ms, got "0 2"'),
        ("line=trace", "0 -1\n", "trace:1: expected a later time in s and a delay in ms"),
        ("other=trace", "0 1\n", '--delay-from-trace: expected one of line, back, got "other"'),
    ],
)
def test_wrong_traces_are_one_line(
    text: str, content: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trace").write_text(content, encoding="utf-8")
    with pytest.raises(sj.UserError, match=re.escape(said)) as raised:
        follow_delays(sj.loads(LINE), text)
    assert "\n" not in str(raised.value)
