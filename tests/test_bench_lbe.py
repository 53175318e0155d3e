"""The bench for background transport: how its lines are read, and what they say where the answer is known."""

import math

import numpy as np
import pytest

from sojourn._sojourn import ScenarioError
from sojourn.bench_lbe import ROWS, _jain, _reclaim_time, _yield_time, scenarios, score
from sojourn.record import Record
from sojourn.running import Job, run_jobs


def rates(**flows: list[float]) -> Record:
    """A record of rates in Mbit/s, one value a second."""
    series = {
        f"throughput/{name}/0": {"t": np.arange(1.0, len(values) + 1), "bps": np.array(values) * 1e6}
        for name, values in flows.items()
    }
    return Record({"warmup_s": 0.0}, series)


def test_a_flow_yields_when_it_is_under_a_tenth_of_the_link_for_good() -> None:
    alone, busy, low = [9.6] * 60, [3.0] * 10, [0.5] * 50
    # The mean over four samples looks two ahead and one back.
    assert abs(_yield_time(rates(lbe=[*alone, *busy, *low, *alone])) - 10) <= 2
    assert _yield_time(rates(lbe=[*alone, *([0.0] * 60), *alone])) <= 2
    assert math.isnan(_yield_time(rates(lbe=[*alone, *([3.0] * 60), *alone])))


def test_a_flow_is_back_at_nine_tenths_of_what_it_had() -> None:
    assert _reclaim_time(rates(lbe=[*[8.0] * 60, *[0.5] * 60, *[4.0] * 7, *[7.5] * 53])) == 8
    assert math.isnan(_reclaim_time(rates(lbe=[*[8.0] * 60, *[0.5] * 60, *[4.0] * 60])))


def test_jains_index_is_one_half_where_one_of_two_has_all() -> None:
    assert _jain(rates(one=[5.0] * 180, two=[5.0] * 180)) == 1
    assert _jain(rates(one=[9.0] * 180, two=[0.0] * 180)) == 0.5


def test_cubic_in_the_place_of_cubic_neither_gains_nor_loses_and_a_background_flow_yields() -> None:
    cubic, background = score([{"cc": "cubic"}, {"cc": "ledbat++"}], seeds=[1])
    card = {row.label: (a.mean, b.mean) for row, a, b in zip(ROWS, cubic, background, strict=True)}
    assert card["G: gains, against CUBIC"][0] == 0 > card["G: gains, against CUBIC"][1]
    assert card["L: CUBIC loses, against CUBIC"][0] == 0 > card["L: CUBIC loses, against CUBIC"][1]
    assert card["delivered, compared with CUBIC"][0] == 100
    assert math.isnan(card["yields within"][0])
    assert card["yields within"][1] < 5
    assert card["under DropTail"][1] < 10 < card["under DropTail"][0]


def test_the_route_takes_eighty_milliseconds_less_for_a_minute() -> None:
    run = next(iter(run_jobs([Job(scenarios({"cc": "tcp-lp"})["route"], 1)])))
    assert abs(float(run["flows"][0]["rtt_ms"]["min"]) - 41.4) < 0.2, "20 ms each way and 1.4 ms to send"
    assert float(run["flows"][0]["rtt_ms"]["max"]) > 121


def test_a_record_says_what_delays_were_read_from_and_a_receiver_that_measures_by_stamps_needs_them() -> None:
    def alone(control: str, stamps: bool) -> Job:
        scenario = scenarios({"cc": control})["losses"]
        return Job(scenario.set_all({"duration": "20 s", "tcp.timestamps": stamps}), 1)

    stamped, bare = run_jobs([alone("flower", True), alone("flower", False)])
    assert [run["flows"][0]["delay_source"] for run in (stamped, bare)] == ["one-way", "round-trip"]
    with pytest.raises(ScenarioError, match=r"tcp\.timestamps: expected true, .*rledbat.*, got false"):
        list(run_jobs([alone("rledbat", False)]))
