"""The study of RFC 7928: every situation runs with every discipline, and what it says is computed from the runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sojourn import _sojourn, study_rfc7928
from sojourn.cli import main
from sojourn.congestion import LEVELS
from sojourn.errors import ScenarioError, UserError
from sojourn.plots.tradeoff import over_time, tradeoff
from sojourn.running import run
from sojourn.scenario import Scenario
from sojourn.study_rfc7928 import SITUATIONS, Measured, Study
from sojourn.study_rfc7928.outcome import columns, samples
from sojourn.study_rfc7928.situations import Situation, level

NO_DISCIPLINE_OF_OURS = ("external", "linux")


def disciplines() -> list[str]:
    return [
        each["name"] for each in json.loads(_sojourn.registry())["aqm"] if each["name"] not in NO_DISCIPLINE_OF_OURS
    ]


def situation(name: str) -> Situation:
    return next(each for each in SITUATIONS if each.id == name)


def shortened(name: str, queue: Mapping[str, Any], seconds: int = 12) -> Scenario:
    """A situation in little time."""
    scenario = situation(name).scenarios(queue)[0]
    return scenario.set("duration", f"{seconds} s").set("warmup", "4 s")


def test_every_section_of_the_rfc_that_describes_traffic_has_a_situation() -> None:
    assert {each.section.split(".")[0] for each in SITUATIONS} == {"4", "5", "6", "7", "8", "9", "10"}
    assert len({each.id for each in SITUATIONS}) == len(SITUATIONS)


@pytest.mark.parametrize("queue", disciplines())
def test_every_discipline_can_be_planned_in_every_situation_or_says_why_not(queue: str) -> None:
    refused = {each.id: refusal(each, queue) for each in SITUATIONS}
    assert {name for name, why in refused.items() if why} <= {"udp"}
    assert refused["udp"] is None or "expected TCP flows" in refused["udp"]


def refusal(each: Situation, queue: str) -> str | None:
    """Why a situation can't be run with a discipline; None where it can."""
    try:
        for scenario in each.scenarios({"aqm": queue}):
            scenario.canonical()
    except ScenarioError as error:
        return str(error)
    return None


def test_the_loads_are_those_of_the_rfc() -> None:
    held = 2 * 10e6 * 0.1 / (8 * 1500)  # packets in the path and in the buffer
    assert [level(name) for name in LEVELS] == [round(factor * held) for factor in (0.036, 0.081, 0.114)]


def test_columns_are_read_from_the_runs() -> None:
    record = run(shortened("tcp-and-udp", {"aqm": "fq-codel"}), seed=1)
    shown = {column.title: column.read([record]) for column in columns(situation("tcp-and-udp"))}
    assert shown["tcp: Mbit/s"] == pytest.approx(record.value("groups.tcp.goodput_bps") / 1e6)
    assert shown["lost, %"] == pytest.approx(100 * record.value("links.bottleneck.loss_ratio"))
    assert shown["mean wait, ms"] == pytest.approx(record.value("links.bottleneck.wait_ms.mean"))


def test_a_sample_is_the_mean_delay_and_the_rate_of_a_second() -> None:
    record = run(shortened("udp", {"aqm": "droptail"}), seed=1)
    rows = samples(record)
    assert rows.shape == (8, 2)
    full = 83 * 1500 * 8 / 10e6 * 1e3  # the buffer is full all the time, and the link never idle
    assert rows[:, 0] == pytest.approx(full, rel=0.02)
    assert rows[:, 1] == pytest.approx(10.0)


def test_a_discipline_is_counted_where_it_has_half_the_wait_and_keeps_the_goodput() -> None:
    titles = [column.title for column in columns(situation("one-reno"))]

    def cell(wait: float, goodput: float) -> Measured:
        row = {study_rfc7928.WAIT: wait, study_rfc7928.GOODPUT: goodput}
        return Measured(np.array([[row.get(title, 0.0)] for title in titles]), np.zeros((1, 2)))

    cells = {
        ("one-reno", "droptail"): cell(40, 10), ("one-reno", "a"): cell(20, 9.5), ("one-reno", "b"): cell(21, 10),
        ("one-reno", "c"): cell(1, 9.4),
    }  # fmt: skip
    counts = {each.queue: each for each in Study(["droptail", "a", "b", "c"], 1, False, cells, {}).counts()}
    assert {name: (each.shorter, each.kept, each.both) for name, each in counts.items()} == {
        "a": (1, 1, 1), "b": (0, 1, 0), "c": (1, 0, 0),
    }  # fmt: skip


def test_a_number_differs_from_that_of_droptail_where_all_seeds_say_so() -> None:
    titles = [column.title for column in columns(situation("one-reno"))]

    def cell(first: list[float]) -> Measured:
        rows = np.ones((len(titles), 3))
        rows[0] = first
        return Measured(rows, np.zeros((3, 2)))

    cells = {("one-reno", name): cell(values) for name, values in {
        "droptail": [9.0, 5.0, 7.0], "less": [8.0, 4.1, 5.9], "mixed": [8.0, 6.0, 6.0],
    }.items()}  # fmt: skip
    found = Study(["droptail", "less", "mixed"], 3, False, cells, {})
    assert found.differs(situation("one-reno"), "less") == [True] + [False] * (len(titles) - 1)
    assert not any(found.differs(situation("one-reno"), "mixed"))


def test_delays_over_time_are_means_over_the_seeds() -> None:
    of_two_seeds = np.array([[10.0, 1.0], [20.0, 1.0], [30.0, 1.0], [60.0, 1.0]])
    assert Measured(np.zeros((1, 2)), of_two_seeds).delays().tolist() == [20.0, 40.0]
    axes = over_time({"one": np.array([20.0, 40.0])}, [10.0, 11.0], [10.5]).axes[0]
    assert axes.lines[0].get_ydata().tolist() == [20.0, 40.0]
    assert axes.lines[1].get_xdata() == [10.5, 10.5]


def test_an_ellipse_spans_a_deviation_each_way() -> None:
    rows = np.array([[10.0, 8.0], [30.0, 8.0], [20.0, 7.0], [20.0, 9.0]])
    (ellipse,) = tradeoff({"one": rows}).axes[0].patches
    assert sorted((ellipse.width, ellipse.height)) == pytest.approx([2 * np.sqrt(2 / 3), 2 * np.sqrt(200 / 3)])


def test_a_quick_look_writes_a_page_that_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = [situation("udp"), situation("growing-load")]
    monkeypatch.setattr(study_rfc7928, "SITUATIONS", chosen)
    arguments = [
        "study",
        "rfc7928",
        "--quick",
        "--no-cache",
        "--out",
        str(tmp_path),
        "--queues",
        "fuzzy-rtt,red(min=5,max=15)",
    ]
    assert main(arguments) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "not counted, without one mean wait and one goodput: Load that grows: light, medium, heavy" in said
    assert "2 situations, 1 seed" in said
    page = (tmp_path / "rfc7928" / "rfc7928-quick.html").read_text()
    assert "A quick look" in page
    assert "One seed has no intervals." in page
    assert "means over seeds" not in page
    assert "not “Load that grows: light, medium, heavy” (§8.2.5).\n" in page
    assert "The figures of “Load that grows: light, medium, heavy” (§8.2.5) show the mean delay" in page
    assert "not run: expected TCP flows" in page
    assert page.count("data:image/svg+xml;base64,") == 2
    assert 'alt="Queuing delay over time: Load that grows' in page
    data = json.loads((tmp_path / "rfc7928" / "rfc7928-quick.json").read_text())
    assert [each["queue"] for each in data["refused"]] == ["fuzzy-rtt"]
    assert {each["queue"] for each in data["measured"]} == {"droptail", "fuzzy-rtt", "red(min=5,max=15)"}


def test_a_place_that_cannot_be_written_to_is_refused_before_the_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_rfc7928, "measure", lambda *_, **__: pytest.fail("it was measured"))
    (tmp_path / "rfc7928").touch()
    (tmp_path / "folder" / "rfc7928" / "rfc7928.html").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    for out, expected in (("", "a folder"), ("folder", "a file"), ("link", "a folder")):
        assert main(["study", "rfc7928", "--no-cache", "--out", str(tmp_path / out)]) == 2
        assert f": expected {expected}, got " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rfc7928", "--queues", "redd"], 'expected one of'),
        (["rfc7928", "--queues", "red(mim=5)"], 'queues "red(mim=5)": '),
        (["rfc7928", "--queues", "codel(target=10)"], 'queues "codel(target=10)": target: expected'),
        (["rfc7928", "--queues", "linux"], 'queues "linux": expected a discipline of the simulator'),
        (["rfc7928", "--queues", "droptail"], "--queues: expected one or more to compare with droptail"),
        (["rfc7928", "--queues", ""], "--queues: expected one or more"),
        (["l4s", "--queues", "red"], "study l4s: --queues: expected none"),
        (["rfc7928", "--seeds", "0"], "--seeds"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["study", *arguments, "--out", str(tmp_path)]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert len(shown.strip().splitlines()) <= 2, shown


def test_a_discipline_that_runs_nowhere_is_refused() -> None:
    with pytest.raises((UserError, ScenarioError), match="aqm"):
        study_rfc7928.measure("nothing", [1])
