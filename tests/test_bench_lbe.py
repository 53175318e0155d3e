"""The bench for background transport: how its lines are read, and what they say where the answer is known."""

import math

import numpy as np
import pytest

from sojourn import bench_gains, bench_grid, bench_l4s
from sojourn._sojourn import ScenarioError
from sojourn.bench_grid import ROWS as GRID
from sojourn.bench_grid import Grid, cells, levels, measure_grid, with_target
from sojourn.bench_lbe import LINK, ROWS, ScoreCards, _jain, _reclaim, scenarios, score, yield_time
from sojourn.record import Record
from sojourn.running import Job, run_jobs


def rates(**flows: list[float]) -> Record:
    """A record of rates in Mbit/s, one value a second."""
    series = {
        f"throughput/{name}/0": {"t": np.arange(1.0, len(values) + 1), "bps": np.array(values) * 1e6}
        for name, values in flows.items()
    }
    return Record({"warmup_s": 0.0}, series)


def yields(run: Record) -> float:
    """When the background has yielded on the score card."""
    return yield_time(run, 0.1 * LINK, 60, 120)


def test_a_flow_yields_when_it_is_under_a_tenth_of_the_link_for_good() -> None:
    alone, busy, low = [9.6] * 60, [3.0] * 10, [0.5] * 50
    # The mean over four samples looks two ahead and one back.
    assert abs(yields(rates(lbe=[*alone, *busy, *low, *alone])) - 10) <= 2
    assert yields(rates(lbe=[*alone, *([0.0] * 60), *alone])) <= 2
    assert math.isnan(yields(rates(lbe=[*alone, *([3.0] * 60), *alone])))


def test_a_flow_is_back_at_nine_tenths_of_what_it_had() -> None:
    assert _reclaim(rates(lbe=[*[8.0] * 60, *[0.5] * 60, *[4.0] * 7, *[7.5] * 53])) == 8
    assert math.isnan(_reclaim(rates(lbe=[*[8.0] * 60, *[0.5] * 60, *[4.0] * 60])))


def test_jains_index_is_one_half_where_one_of_two_has_all() -> None:
    assert _jain(rates(one=[5.0] * 180, two=[5.0] * 180)) == 1
    assert _jain(rates(one=[9.0] * 180, two=[0.0] * 180)) == 0.5


def test_cubic_in_the_place_of_cubic_neither_gains_nor_loses_and_a_background_flow_yields() -> None:
    cards = score([{"cc": "cubic"}, {"cc": "ledbat++"}], seeds=[1])
    card = {row.label: (cards.estimate(0, i).mean, cards.estimate(1, i).mean) for i, row in enumerate(ROWS)}
    assert card["G: gains, against CUBIC"][0] == 0 > card["G: gains, against CUBIC"][1]
    assert card["L: CUBIC loses, against CUBIC"][0] == 0 > card["L: CUBIC loses, against CUBIC"][1]
    assert card["delivered, compared with CUBIC"][0] == 100
    assert math.isnan(card["yields within"][0])
    assert card["yields within"][1] < 5
    assert card["under DropTail"][1] < 10 < card["under DropTail"][0]


def card_of(row: str, **values: list[float]) -> ScoreCards:
    """Score cards of controllers that differ in one row only."""
    made = np.ones((len(values), len(ROWS), len(next(iter(values.values())))))
    made[:, [each.label for each in ROWS].index(row)] = list(values.values())
    return ScoreCards(made)


def row_of(label: str) -> int:
    return [row.label for row in ROWS].index(label)


def test_only_a_significant_difference_from_every_other_is_the_best() -> None:
    at = row_of("utilization")
    clear = card_of("utilization", a=[90, 91, 92], b=[80, 81, 82.5], c=[80, 85, 81])
    assert clear.best(at) == {0}
    assert clear.counts(0, 1) == (1, 0)
    assert clear.counts(1, 0) == (0, 1)
    assert card_of("utilization", a=[90, 91, 92], b=[80, 81, 82.5], c=[70, 95, 81]).best(at) == set(), "c is undecided"
    assert card_of("utilization", a=[90, 91, 92], b=[89.5, 90.5, 91.5]).best(at) == set(), (
        "half a percent does not count"
    )
    assert card_of("utilization", a=[90, 91, 92], b=[90, 91, 92], c=[80, 81, 82.5]).best(at) == {0, 1}, (
        "equals share it"
    )
    assert card_of("utilization", a=[90], b=[10]).best(at) == set(), "one seed has no interval"


def test_differences_are_paired_by_seed() -> None:
    spread = card_of("utilization", a=[10, 50, 90], b=[8, 48, 88.1])
    assert spread.best(row_of("utilization")) == {0}


def test_what_never_happens_counts_as_later_than_all_that_was_waited_for() -> None:
    nan = math.nan
    cards = card_of("yields within", a=[1, 1.5, 1], b=[nan, nan, nan], c=[4, nan, 4.5])
    at = row_of("yields within")
    assert [cards.text(i, at) for i in range(3)] == ["1.17 ± 0.72", "never", "4.2 ± 3.2 (never in 1 of 3)"]
    assert ROWS[at].better(cards.values[0, at], cards.values[1, at])
    assert not ROWS[at].better(cards.values[0, at], cards.values[2, at]), "one of three seeds decides nothing"


def test_a_grid_says_better_only_where_more_cells_say_so_than_chance_explains() -> None:
    count = len(cells())
    assert count == 81
    values = np.zeros((count, 2, len(GRID), 3)) + np.array([0.0, 0.1, 0.2])
    grid = Grid(["a", "b"], values)
    utilization = [row.label for row in GRID].index("utilization")
    assert grid.verdict(0, 1, utilization) == "no difference"
    values[: count // 2, 0, utilization] += 5
    assert (grid.verdict(0, 1, utilization), grid.verdict(1, 0, utilization)) == ("better", "worse")
    values[-10:, 1, utilization] += 5
    assert grid.verdict(0, 1, utilization) == "depends"
    assert sum(np.sum(of) for name, of in levels() if name.startswith("RTT")) == count


def test_a_cell_of_the_grid_gives_a_number_for_every_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    for axis, value in (("TARGETS", 25.0), ("BUFFERS", 100.0), ("RATES", 2.0), ("RTTS", 10.0)):
        monkeypatch.setattr(bench_grid, axis, (value,))
    grid = measure_grid(["ledbat", "ledbat++"], [1, 2])
    assert grid.values.shape == (1, 2, len(GRID), 2)
    assert np.all(np.isfinite(grid.values))
    assert set(with_target()) >= {"ledbat", "ledbat++", "flower", "flower+"}
    assert "reno" not in with_target()


def test_the_route_takes_eighty_milliseconds_less_for_a_minute() -> None:
    run = next(iter(run_jobs([Job(scenarios({"cc": "tcp-lp"})["route"], 1)])))
    assert abs(float(run["flows"][0]["rtt_ms"]["min"]) - 42.4) < 1.2, "20 to 21 ms each way and 1.4 ms to send"
    assert float(run["flows"][0]["rtt_ms"]["max"]) > 121


def test_a_record_says_what_delays_were_read_from_and_a_receiver_that_measures_by_stamps_needs_them() -> None:
    def alone(control: str, stamps: bool) -> Job:
        scenario = scenarios({"cc": control})["losses"]
        return Job(scenario.set_all({"duration": "20 s", "tcp.timestamps": stamps}), 1)

    stamped, bare = run_jobs([alone("flower", True), alone("flower", False)])
    assert [run["flows"][0]["delay_source"] for run in (stamped, bare)] == ["one-way", "round-trip"]
    with pytest.raises(ScenarioError, match=r"tcp\.timestamps: expected true, .*rledbat.*, got false"):
        list(run_jobs([alone("rledbat", False)]))


def test_in_a_queue_that_marks_a_background_flow_that_counts_marks_uses_the_link_alone_and_yields_to_prague(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bench_l4s, "RATES", (40.0,))
    monkeypatch.setattr(bench_l4s, "RTTS", (20.0,))
    names = ["ledbat++", "flower+"]
    assert set(names) <= set(bench_l4s.with_mark_gain())
    classic, losses, counted = np.moveaxis(bench_l4s.measure_l4s(names, [1]).values[:, :, 0, 0], 1, 0)
    # As losses, marks leave most of the link idle; the classic queue keeps its part of the link from Prague.
    assert np.all(counted[:, 0] > 2 * losses[:, 0])
    assert np.all(counted[:, 1] < 0.5 * classic[:, 1])
    assert np.all(counted[:, 1] < 10)
    assert np.all(counted[:, 2] < classic[:, 2])
    assert np.all(counted[:, 3] < 5)


def test_a_larger_gain_for_marks_uses_less_of_the_link_alone_and_takes_no_more_from_prague(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bench_gains, "GAINS", (1.0, 16.0))
    monkeypatch.setattr(bench_gains, "RTTS", (20.0,))
    found = bench_gains.measure_gains(["ledbat++"], [1, 2])
    assert [(queue.other, rtt) for rtt, queue in bench_gains.places()] == [("prague", 20.0), ("dctcp", 20.0)]
    assert found.values.shape == (1, 2, 2, 2, 2)
    small, large = found.values[0]
    assert np.all(large[:, 0] < small[:, 0] - 10)
    assert np.all(large[:, 1] <= small[:, 1])
    assert found.estimate(0, 0, 0, 0).n == 2
