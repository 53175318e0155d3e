"""Responsiveness by draft-ietf-ippm-responsiveness: load, stability, trimmed means."""

from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.core.record import Record
from tests.support.source_tree import ROOT

EXAMPLE = ROOT / "examples" / "responsiveness.toml"


def made(rates: list[float], load_rtt: list[float], probe_rtt: list[float]) -> Record:
    """A record with a throughput and round-trip times for each interval of 5 s."""
    intervals = len(rates)
    ends, middles = np.arange(1, 5 * intervals + 1, dtype=float), np.arange(0.5, 5 * intervals)
    series = {
        "throughput/load/0": {"t": ends, "bps": np.repeat(rates, 5)},
        "rtt/load/0": {"t": middles, "seconds": np.repeat(load_rtt, 5)},
        "rtt/probes/0": {"t": middles, "seconds": np.repeat(probe_rtt, 5)},
    }
    return Record({"scenario": "x"}, series)


def test_the_result_is_the_mean_of_both_responsivenesses_not_of_the_round_trips() -> None:
    found = sj.responsiveness(made([10e6] * 12, [0.1] * 12, [0.05] * 12))
    assert (found.loaded_rpm, found.foreign_rpm) == pytest.approx((600, 1200))
    assert found.rpm == pytest.approx(900)
    assert found.goodput_bps == pytest.approx(10e6)


def test_the_test_ends_when_throughput_and_then_responsiveness_are_stable() -> None:
    # Four intervals show that throughput is stable, and four more, the last of them included, that responsiveness is.
    steady = sj.responsiveness(made([10e6] * 12, [0.1] * 12, [0.1] * 12))
    assert (steady.at_s, steady.confidence) == (35, "high")
    growing = [min(n + 1, 5) * 2e6 for n in range(14)]
    later = sj.responsiveness(made(growing, [0.1] * 14, [0.1] * 14))
    assert later.at_s > steady.at_s
    assert later.confidence == "high"


@pytest.mark.parametrize(("intervals", "confidence"), [(5, "low"), (20, "medium")])
def test_without_stability_the_confidence_says_how_long_it_was_sought(intervals: int, confidence: str) -> None:
    waves = [0.1 if n % 8 < 4 else 0.4 for n in range(intervals)]
    found = sj.responsiveness(made([10e6] * intervals, waves, waves))
    assert (found.confidence, found.at_s) == (confidence, 5 * intervals)


def test_the_largest_twentieth_of_the_samples_does_not_count() -> None:
    record = made([10e6] * 7, [0.1] * 7, [0.1] * 7)
    samples = record.series["rtt/load/0"]["seconds"]
    samples[-1] = 100.0  # one of the 20 samples of the last four intervals
    assert sj.responsiveness(record).loaded_rpm == pytest.approx(600)
    samples[-2] = 100.0
    assert sj.responsiveness(record).loaded_rpm < 60


def test_a_record_without_traces_is_an_error() -> None:
    with pytest.raises(sj.UserError, match=r'expected trace.throughput of "load/\*", got "none"'):
        sj.responsiveness(Record({"scenario": "x"}, {}))


def run(**queue: Any) -> sj.Record:
    scenario = sj.load(EXAMPLE)
    scenario.set("links.access.queue", {"limit": "1000 packets", **queue})
    return sj.run(scenario)


def test_a_full_queue_answers_after_its_delay_and_fair_queueing_answers_probes_at_once() -> None:
    full, fair = sj.responsiveness(run(aqm="droptail")), sj.responsiveness(run(aqm="fq-codel"))
    # 1000 packets of 1500 B at 50 Mbit/s wait 240 ms; with 20 ms of propagation at least 231 round trips a minute are
    # left. CUBIC empties a third of the queue.
    assert 60 / 0.26 <= full.rpm <= 60 / (0.7 * 0.26)
    assert full.foreign_rpm == pytest.approx(full.loaded_rpm, rel=0.1)
    # A new flow waits for a packet or two in fq_codel; a full round trip is 20 ms.
    assert 2000 < fair.foreign_rpm < 3000
    assert fair.loaded_rpm < fair.foreign_rpm


def test_the_example_adds_a_connection_each_interval_and_its_record_has_both_measures() -> None:
    record = run(aqm="codel")
    found = sj.responsiveness(record)
    assert found.connections == found.at_s / 5
    groups = {group["name"]: group["responsiveness_rpm"] for group in record["groups"]}
    assert set(groups) == {"load", "probes"}
    assert found.confidence == "high"
