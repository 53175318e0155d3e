"""The RRUL scenario, its probes, and Flent's reading of the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sojourn
from sojourn.cli import main
from sojourn.core.errors import UserError
from sojourn.core.record import Record
from sojourn.core.scenario_files import load
from sojourn.exports.flent import RRUL, flent_data, write_flent
from tests.support.source_tree import ROOT

EXAMPLE = ROOT / "examples" / "rrul.toml"


@pytest.fixture(scope="module")
def record() -> Record:
    return sojourn.run(EXAMPLE)


def test_flents_own_reader_opens_the_file(record: Record, tmp_path: Path) -> None:
    resultset = pytest.importorskip("flent.resultset")
    file = write_flent(record, tmp_path / "fifo.flent.gz")
    found = resultset.load(str(file))
    assert found.meta("NAME") == "rrul"
    assert set(RRUL.values()) <= set(found.series_names)
    assert len(list(found)) == 351
    pings = [v for v in found.series("Ping (ms) ICMP") if v is not None]
    assert min(pings) == pytest.approx(40, abs=2)
    assert max(pings) > 500, "an unmanaged queue of 300 packets at 2 Mbit/s is bufferbloat"
    middle = [v for v in found.series("TCP upload sum")[100:300] if v is not None]
    assert 1.5 < np.mean(middle) < 1.95, "of 2 Mbit/s the ACKs of the downloads, long ones after losses, take the rest"
    assert found.raw_series("Ping (ms) UDP EF")


def test_a_probe_measures_the_way_and_the_queues_on_it(record: Record) -> None:
    series = record.series["rtt/ping-icmp/0"]
    first = series["seconds"][series["t"] < 5.0]
    # 2 x 20 ms, 84 bytes at 2 Mbit/s there and at 10 Mbit/s back, beside three probes of 60 bytes that may be ahead.
    alone = 0.04 + 84 * 8 / 2e6 + 84 * 8 / 10e6
    assert len(first) >= 24
    assert first.min() >= alone - 1e-9
    assert first.max() <= alone + 3 * 60 * 8 * (1 / 2e6 + 1 / 10e6)
    ping = record.groups.loc["ping-icmp"]
    assert ping["rtt_ms.mean"] > 100


def test_a_file_says_the_same_twice(record: Record, tmp_path: Path) -> None:
    once, again = (write_flent(record, tmp_path / name / "a.flent.gz").read_bytes() for name in "ab")
    assert once == again


def test_what_cannot_be_written_is_refused(record: Record, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="ends in"):
        write_flent(record, tmp_path / "a.json")
    with pytest.raises(UserError, match="got none"):
        flent_data(Record({"duration_s": 1.0}))


def test_the_command_writes_the_file(tmp_path: Path) -> None:
    file = tmp_path / "cpc.flent.gz"
    queue = 'links.uplink.queue={ aqm = "cpc", flows = 4, limit = "300 packets" }'
    assert main(["run", str(EXAMPLE), "--set", queue, "--flent", str(file)]) == 0
    assert file.exists()


def test_a_managed_queue_answers_sooner_under_load(record: Record) -> None:
    managed = load(EXAMPLE).copy()
    managed.set("links.uplink.queue", {"aqm": "cpc", "flows": 4, "limit": "300 packets"})
    managed.set("links.uplink.back.queue", {"aqm": "cpc", "flows": 4, "limit": "500 packets"})
    calm = sojourn.run(managed).groups.loc["ping-icmp", "rtt_ms.mean"]
    assert calm < 0.5 * record.groups.loc["ping-icmp", "rtt_ms.mean"]


def test_a_scenario_without_its_series_is_refused_before_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "none.flent.gz")
    for change in ([], ["--set", 'trace.throughput={flows=["*"],every="1 s"}']):
        assert main(["run", str(EXAMPLE.parent / "dumbbell.toml"), *change, "--flent", file]) == 2
        said = capsys.readouterr()
        assert said.err.startswith(
            "error: --flent: expected trace.throughput or trace.rtt, and groups with names of Flent's"
        )
        assert said.err.rstrip().endswith("got the groups ftp" if change else "got neither")
        assert said.out == ""
