"""Loads after RFC 7928, families of scenarios, numbers from series, and joint claims.

Joint claims are about many scenarios at once.
"""

import numpy as np
import pytest

from sojourn.core.congestion import congest, flows_for, packets_of
from sojourn.core.errors import UserError
from sojourn.core.record import Record
from sojourn.core.scenario import Scenario
from sojourn.experiments import find_experiment
from sojourn.experiments.readings import Reading

QUEUE = "queue/bottleneck"


def settling_time(values: np.ndarray) -> float:
    record = _record(np.arange(len(values)) * 1.0, values)
    return Reading(QUEUE, "x", "settle", (0.0, float(len(values))), than=3.0, bin=1.0, share=0.35, last=10).of(record)


def _record(t: np.ndarray, values: np.ndarray) -> Record:
    return Record({"warmup_s": 0.0}, {QUEUE: {"t": t, "x": values}})


def test_flows_for_a_level_are_those_of_the_worked_examples() -> None:
    for rtt, counts in [(0.160, (25, 56, 79)), (0.248, (39, 87, 123)), (0.103, (16, 36, 51))]:
        assert tuple(flows_for(level, 10e6, rtt, 576) for level in ("light", "medium", "heavy")) == counts
    assert packets_of(10e6, 0.160, 576) == 347
    assert [flows_for(level, 50e6, 0.160, 576) for level in ("light", "medium", "heavy")] == [125, 281, 396]
    with pytest.raises(UserError, match="light, medium, heavy"):
        flows_for("none", 10e6, 0.1, 576)


def test_a_scenario_is_loaded_by_a_level_of_congestion() -> None:
    text = """duration = "1 s"\npacket = "576 B"
    [[links]]\nname = "up"\nfrom = "a"\nto = "b"\nrate = "10 Mbit/s"\nduplex = true
    [[links]]\nname = "far"\nfrom = "b"\nto = "c"\ndelay = "1 ms"\nduplex = true
    [[flows]]\nname = "bulk"\nfrom = "a"\nto = "c"\ntraffic = { kind = "bulk" }"""
    scenario = Scenario.from_toml(text, "x.toml")
    for load, count in [("light", 25), ("medium", 56), ("heavy", 79)]:
        loaded = congest(scenario, load, "160 ms", link="up", group="bulk")
        assert (loaded.get_path("flows.bulk.count"), loaded.get_path("links.up.queue.limit")) == (count, "347 packets")
    for arguments, words in [
        (("none", "160 ms", "up"), "light, medium, heavy"),
        (("light", "160", "up"), "160"),
        (("light", "160 ms", "far"), "links.far.rate: expected a rate"),
    ]:
        with pytest.raises(UserError, match=words):
            congest(scenario, *arguments[:2], link=arguments[2], group="bulk")


def test_a_queue_settles_when_its_seconds_stay_near_where_they_end() -> None:
    assert settling_time(np.full(40, 10.0)) == 0
    assert settling_time(np.r_[np.full(7, 20.0), np.full(33, 10.0)]) == 7
    # 3 ms off is near, and so is 35 % of a long delay.
    assert settling_time(np.r_[np.full(20, 3.0), np.full(20, 0.0)]) == 0
    assert settling_time(np.r_[np.full(20, 13.4), np.full(20, 10.0)]) == 0
    assert settling_time(np.r_[np.full(20, 13.6), np.full(20, 10.0)]) == 20


def test_samples_are_averaged_second_by_second() -> None:
    t = np.arange(400) * 0.01
    record = _record(t, np.floor(t + 1e-9))
    found = {what: Reading(QUEUE, "x", what, (1.0, 4.0), bin=1.0).of(record) for what in ("mean", "min", "max")}
    assert found == {"mean": 2.0, "min": 1.0, "max": 3.0}


def test_a_quantile_and_the_share_from_a_level_on_are_over_all_samples() -> None:
    record = _record(np.arange(101) * 0.01, np.arange(101.0))
    assert Reading(QUEUE, "x", "quantile", share=0.95).of(record) == 95
    assert Reading(QUEUE, "x", "share-above", than=81).of(record) == pytest.approx(20 / 101)


def test_the_scenarios_of_a_family_have_the_rate_the_buffer_and_the_flows_of_their_load() -> None:
    experiment = find_experiment("fuzzyrtt")
    family = [name for name in experiment.scenarios if name.startswith("y1_")]
    assert len(family) == 30
    chosen = experiment.scenarios["y1_heavy_50"]
    assert chosen.queue["limit"] == "1736 packets"
    assert chosen.set == {"links.bottleneck.rate": "50 Mbit/s", "flows.ftp.count": 396}
    steps = experiment.scenarios["y3"].set
    assert [steps[f"flows.{name}.count"] for name in ("first", "second", "third")] == [125, 156, 115]
