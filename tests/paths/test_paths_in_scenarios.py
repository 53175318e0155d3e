"""A link with a path of the library has the figures that the library states."""

import math
import sys
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.paths import find, names
from sojourn.paths.generator import trace
from tests.support.source_tree import ROOT, text

sys.path.insert(0, str(ROOT / "scripts"))
import paths_table

SIGMAS = 4


def over(path: str, flows: list[dict[str, Any]], duration: str = "60 s", **link: Any) -> dict[str, Any]:
    """A scenario with a path in one direction, and a link without delay in the other."""
    forward = {"name": "access", "from": "a", "to": "b", "path": path, **link}
    return {
        "name": "over",
        "duration": duration,
        "links": [forward, {"name": "back", "from": "b", "to": "a"}],
        "flows": [{"name": "f", "from": "a", "to": "b", **flow} for flow in flows],
    }


def ping(every: str) -> list[dict[str, Any]]:
    return [{"traffic": {"kind": "ping", "every": every, "size": "60 B"}}]


def test_every_path_runs_from_the_command_line_with_a_tcp_flow(capsys) -> None:
    example = str(ROOT / "examples" / "paths.toml")
    for name in names():
        settings = [f"links.access.path={name}", "links.access.back.path=geo-2020-up", "duration=6 s"]
        arguments = [part for setting in settings for part in ("--set", setting)]
        assert main(["run", example, *arguments, "--json"]) == 0
        assert '"goodput_bps"' in capsys.readouterr().out


def test_compare_and_sweep_take_paths_as_values(tmp_path, capsys) -> None:
    example = str(ROOT / "examples" / "paths.toml")
    short = sj.load(example)
    short.set("duration", "6 s")
    found = sj.sweep(short, {"links.access.path": ["lte-att-2016", "geo-2020"]}, seeds=2)
    assert [run["links.access.path"] for run in found.runs.to_dict("records")][::2] == ["lte-att-2016", "geo-2020"]
    queues = ["--queues", "droptail,codel", "--set", "duration=6 s", "--seeds", "2"]
    assert main(["compare", example, *queues, "--out", str(tmp_path / "compare")]) == 0
    assert "codel" in capsys.readouterr().out


def test_a_mistake_is_one_line(capsys) -> None:
    example = str(ROOT / "examples" / "paths.toml")
    assert main(["run", example, "--set", "links.access.path=starlink"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "links.access.path: expected one of" in error
    assert main(["run", example, "--set", "links.access.rate=1 Mbit/s"]) == 2
    assert "links.access.path: expected a path, a rate or a trace, got two" in capsys.readouterr().err


def test_a_run_has_the_trace_that_the_library_draws_for_its_seed_and_link() -> None:
    scenario = over("lte-verizon-2012", [{"traffic": {"kind": "cbr", "rate": "100 Mbit/s"}}], "20 s")
    scenario["trace"] = {"throughput": {"links": ["access"], "every": "100 ms"}}
    record = sj.run(scenario, seed=5)
    carried = record.series["throughput/access"]["bps"]
    steps = list(trace(find("lte-verizon-2012"), 20_000, 5, "access"))
    drawn = np.repeat([step.rate_bps for step in steps], [step.span_ms for step in steps]).reshape(-1, 100).mean(axis=1)
    # A saturated link carries its capacity; a packet of 1500 B may end in the next sample.
    assert np.abs(np.cumsum(carried[: len(drawn)] - drawn) * 0.1).max() <= 2 * 12_000
    assert sj.run(scenario, seed=5)["links"][0]["trace_sha256"] == record["links"][0]["trace_sha256"]
    assert sj.run(scenario, seed=6)["links"][0]["trace_sha256"] != record["links"][0]["trace_sha256"]


@pytest.mark.parametrize("name", [name for name in names() if find(name).rtt_ms])
def test_a_ping_takes_the_stated_round_trip(name: str) -> None:
    path = find(name)
    scenario = over(name, ping("100 ms"), "20 s")
    scenario["links"][0] |= {"duplex": True, "back": {"rate": "1000 Mbit/s"}}
    del scenario["links"][1]
    found = sj.run(scenario)["groups"][0]["rtt_ms"]["min"]
    least = path.varying.delay_ms.percentiles[0.0] if path.varying and path.varying.delay_ms else 0.0
    most = path.varying.delay_ms.percentiles[100.0] if path.varying and path.varying.delay_ms else 0.0
    assert path.rtt_ms is not None
    sent_ms = 2 * 60 * 8 / 1e6 / min(path.mean_mbps, 1) * 1e3
    assert path.rtt_ms + least <= found <= path.rtt_ms + most + sent_ms


def test_a_packet_of_the_cable_uplink_waits_for_its_request_and_its_grant_as_stated() -> None:
    scenario = over("docsis-31-up", ping("103.7 ms"), "600 s")
    scenario["trace"] = {"rtt": {"flows": ["f/0"]}}
    waits = np.sort(sj.run(scenario).series["rtt/f/0"]["seconds"]) * 1e3
    sent_ms = (60 + 18) * 8 / 50e3
    for level, stated in {0.125: 2.5, 0.5: 3.5, 0.875: 4.5}.items():
        error = SIGMAS * math.sqrt(level * (1 - level) / len(waits))
        assert np.mean(waits <= stated + sent_ms) == pytest.approx(level, abs=error)
    assert waits[0] >= 1.5
    assert waits[-1] <= 5.5 + sent_ms


def test_delays_of_wifi_have_the_stated_median_and_tail() -> None:
    found = find("wifi-latency-2016").varying
    assert found is not None
    assert found.delay_ms is not None
    delays = [[step.delay_us / 1e3 for step in trace(find("wifi-latency-2016"), 60_000, seed)] for seed in range(100)]
    for level, stated in found.delay_ms.percentiles.items():
        if 0 < level < 100:
            shares = np.mean(np.array(delays) < stated, axis=1)
            assert shares.mean() == pytest.approx(level / 100, abs=SIGMAS * shares.std(ddof=1) / 10)


def test_the_policer_passes_its_bucket_and_then_its_rate() -> None:
    scenario = over("policed-2015", [{"traffic": {"kind": "cbr", "rate": "25 Mbit/s"}}], "20 s")
    found = sj.run(scenario)["links"][0]
    # 20 s at 5 Mbit/s and a full bucket of 1 MB.
    assert found["throughput_bps"] * 20 == pytest.approx(5e6 * 20 + 8e6, rel=0.01)
    assert found["dropped"]["impaired"] > 0


def test_a_handover_loses_the_stated_share_of_the_packets_in_its_window() -> None:
    path = find("starlink-2025").varying
    assert path is not None
    assert path.handover is not None
    traffic = {"kind": "cbr", "rate": "5 Mbit/s", "size": "200 B"}
    found = sj.run(over("starlink-2025", [{"traffic": traffic}], "600 s"))["links"][0]
    lost = next(each for each in found["impairments"] if each["kind"] == "trace")["dropped"]
    rows = list(trace(find("starlink-2025"), 600_000, 1, "access"))
    assert {step.loss for step in rows} == {0.0, path.handover.loss}
    # All packets that are sent before the end of the window after the outage, those that waited in the outage included.
    lossy_ms = sum(step.span_ms for step in rows if step.loss)
    packets = lossy_ms / 1e3 * 5e6 / (8 * 200)
    assert lost == pytest.approx(path.handover.loss * packets, abs=SIGMAS * math.sqrt(packets) / 2 + 0.02 * packets)


def test_the_example_of_the_page_is_a_valid_link() -> None:
    page = text(ROOT / "docs" / "paths.md")
    link = page.partition("```toml\n")[2].partition("```")[0]
    planned = sj.loads(f'duration = "1 s"\n{link}').resolved()["links"]
    assert [each["name"] for each in planned] == ["access", "access:back"]


def test_the_page_has_the_table_of_all_paths() -> None:
    page = text(ROOT / "docs" / "paths.md")
    assert paths_table.with_table(page) == page, "run python scripts/paths_table.py"
    assert all(f"| `{name}` |" in page for name in names())
