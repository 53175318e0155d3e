"""Comparisons with other simulators: verdicts, explanations, and ns-3's stored numbers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.source_tree import ROOT

sys.path.insert(0, str(ROOT))

from conformance.oracles import compare
from conformance.oracles.ns2 import validate as ns2
from conformance.oracles.ns3 import validate as ns3
from conformance.oracles.results import Results

QUEUE = compare.Metric("queue_mean", 0.05)
WHY = compare.Explanation(4.5, "why", "evidence")
needs_ns3 = pytest.mark.skipif(ns3.unavailable() is not None, reason=str(ns3.unavailable()))


def judged(theirs: float, ours: float, most: float | None, why: str | None = "why") -> str:
    """The verdict on two seeds without noise, with an entry up to `most` or without one."""
    explained = {} if most is None else {("case", "queue_mean"): compare.Explanation(most, why, "evidence")}
    runs = [[{"queue_mean": value}] * 2 for value in (theirs, ours)]
    return compare.rows("case", *runs, explained, [QUEUE])[0].verdict


def test_a_miss_within_the_noise_is_undecided() -> None:
    assert compare.verdict(QUEUE, compare.Estimate(40, 1), compare.Estimate(41, 1))[2] == "inside"
    assert compare.verdict(QUEUE, compare.Estimate(40, 3), compare.Estimate(44, 3))[2] == "undecided"
    assert compare.verdict(QUEUE, compare.Estimate(40, 1), compare.Estimate(44, 1))[2] == "MISS"


def test_one_seed_has_no_noise_to_hide_in() -> None:
    assert compare.verdict(QUEUE, compare.estimate([40]), compare.estimate([44]))[2] == "MISS"


def test_confidence_follows_student() -> None:
    estimate = compare.estimate([1.0, 2.0, 3.0])
    assert estimate.mean == 2.0
    assert estimate.half == pytest.approx(4.303 / 3**0.5, rel=1e-4)


@pytest.mark.parametrize(
    ("ours", "most", "verdict"),
    [(44, None, "MISS"), (44, 4.5, "explained"), (46, 4.5, "MISS"), (34, 4.5, "MISS"), (41, None, "inside")],
)
def test_a_miss_is_explained_up_to_the_difference_that_was_explained(
    ours: float, most: float | None, verdict: str
) -> None:
    assert judged(40, ours, most) == verdict


def test_a_miss_that_is_known_without_a_reason_is_counted_apart() -> None:
    assert [judged(40, ours, 4.5, why=None) for ours in (44, 46, 41)] == ["unexplained", "MISS", "stale"]
    known = {("a", "queue_mean"): compare.Explanation(4.5, None, "seen"), ("b", "queue_mean"): WHY}
    rows = [compare.rows(case, [{"queue_mean": 40}], [{"queue_mean": 44}], known, [QUEUE])[0] for case in "ab"]
    assert compare.summary(rows) == "1 unexplained, 1 explained"
    assert not compare.failed(rows)


def test_an_explanation_of_what_no_longer_misses_is_stale_and_fails() -> None:
    assert judged(40, 41, 4.5) == "stale"
    row = compare.rows("case", [{"queue_mean": 40}], [{"queue_mean": 41}], {}, [QUEUE])[0]
    assert not compare.failed([row])
    row = compare.rows("case", [{"queue_mean": 40}], [{"queue_mean": 41}], {("case", "queue_mean"): WHY}, [QUEUE])[0]
    assert compare.failed([row])


ENTRY = {"case": "one", "metric": "jain", "most": 0.1, "why": "because", "evidence": "seen"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("case", "none"),
        ("metric", "beauty"),
        ("most", 0),
        ("most", "much"),
        ("most", None),
        ("why", ""),
        ("evidence", ""),
    ],
)
def test_an_explanation_says_what_it_excuses_and_how_much_of_it(key: str, value: Any, tmp_path: Path) -> None:
    path = tmp_path / "explained.toml"
    path.write_text(entry("explained", **{key: value}))
    with pytest.raises(ValueError, match=key):
        compare.explanations(path, ["one"])


def entry(kind: str, **changed: Any) -> str:
    """An entry of this kind, with other values; None leaves one out."""
    words = {name: word for name, word in {**ENTRY, **changed}.items() if word is not None}
    return f"[[{kind}]]\n" + "\n".join(f"{name} = {json.dumps(word)}" for name, word in words.items()) + "\n"


def test_a_reason_that_is_not_known_is_not_given(tmp_path: Path) -> None:
    path = tmp_path / "explained.toml"
    path.write_text(entry("explained") + entry("unexplained", metric="drop_rate", why=None))
    found = compare.explanations(path, ["one"])
    assert [found["one", metric].why for metric in ("jain", "drop_rate")] == ["because", None]
    for changed, wrong in (({}, "why"), ({"why": None, "evidence": None}, "evidence")):
        path.write_text(entry("unexplained", **changed))
        with pytest.raises(ValueError, match=f"unexplained.one.jain: {wrong}: expected"):
            compare.explanations(path, ["one"])


def test_an_explanation_is_given_once(tmp_path: Path) -> None:
    path = tmp_path / "explained.toml"
    path.write_text(entry("explained") + entry("unexplained", why=None))
    with pytest.raises(ValueError, match="expected one entry"):
        compare.explanations(path, ["one"])


def test_what_both_judges_explain_can_be_read() -> None:
    assert all(entry.most > 0 for judge in (ns2, ns3) for entry in judge.explanations().values())


@pytest.mark.parametrize("name", ns3.cases())
def test_every_case_of_ns3_has_stored_numbers_of_this_program_and_these_arguments(name: str) -> None:
    runs = ns3.ns3_runs(name, ns3.cases()[name], 5, None)
    assert [run["seed"] for run in runs] == [1, 2, 3, 4, 5]
    assert set(runs[0]["metrics"]) >= {metric.name for metric in ns3.judged(ns3.cases()[name])}


def test_the_same_numbers_are_stored_in_the_same_bytes_and_each_name_by_itself(tmp_path: Path) -> None:
    one, other = Results(tmp_path / "one.xz"), Results(tmp_path / "other.xz")
    assert one.get("a") is None
    one.put("b", {"x": [0.1, 2]})
    one.put("a", {"y": 1, "x": 3})
    other.write({"a": {"y": 1, "x": 3}, "b": {"x": [0.1, 2]}})
    assert one.file.read_bytes() == other.file.read_bytes()
    assert (one.get("b"), list(one.get("a"))) == ({"x": [0.1, 2]}, ["y", "x"])


def test_numbers_of_another_case_are_not_taken() -> None:
    with pytest.raises(ns3.OracleError, match="another program or case"):
        ns3.ns3_runs("codel-2", ns3.cases()["codel-5"], 1, None)


def test_both_sides_of_a_dumbbell_are_drawn_alike() -> None:
    case = ns3.cases()["ledbat-many"]
    given = dict(word.split("=") for word in ns3.arguments(case, 3))
    groups = ns3.scenario(case, 3)["flows"]
    assert [group["name"] for group in groups] == ["ledbat", "reno"]
    for key, ours in (("delays", [g["access"]["delay"] for g in groups]), ("starts", [g["start"] for g in groups])):
        assert [f"{x} s" for x in given[key].split(",")] == [x for group in ours for x in group]
    assert given["controls"].split(",") == ["Ledbat"] * 5 + ["Reno"] * 5


def test_the_packet_in_ns3s_device_is_counted_here() -> None:
    red = ns3.scenario(ns3.cases()["red-20"], 1)["links"][0]["queue"]
    assert (red["limit"], red["min"], red["max"]) == ("201 packets", 16, 46)
    step = ns3.scenario(ns3.cases()["dctcp-2"], 1)["links"][0]["queue"]
    assert (step["aqm"], step["limit"], step["packets"]) == ("step", "251 packets", 21)
    codel = ns3.scenario(ns3.cases()["codel-2"], 1)["links"][0]["queue"]
    assert codel["target"] == "11008000 ns"  # 5 ms and the 1502 bytes in front at 2 Mbit/s


def test_what_is_mended_of_bbr_in_ns3_may_be_left_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    for asked, left in (([], ""), (["--unmended", "pace"], "pace"), (["--unmended", "acks"], "samples,acks")):
        assert ns3.main(["bbr-5", "--print", "1", *asked]) == 0
        assert f"unmended={left}" in capsys.readouterr().out.split()
    for wrong in (["cubic-1"], ["bbr-5", "--store"], ["bbr-5", "--ns3", "stored"]):
        with pytest.raises(SystemExit):
            ns3.main([*wrong, "--unmended", "acks"])
        assert "--unmended: expected" in capsys.readouterr().err
    parts = set(ns3.MENDED) - {"law"}
    assert all(f'Mends("{what}")' in (ns3.HERE / "transports.cc").read_text() for what in parts)


def test_laws_that_are_mended_in_ns3_may_be_left_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    for case, own in (("codel-10", "ns3::TcpNewReno"), ("ledbat-alone", "ns3::TcpLedbat")):
        for asked, law in (([], own.removeprefix("ns3::Tcp").removeprefix("New")), (["--unmended", "law"], own)):
            assert ns3.main([case, "--print", "1", *asked]) == 0
            given = dict(word.split("=") for word in capsys.readouterr().out.split())
            assert set(given["controls"].split(",")) == {law}
    with pytest.raises(SystemExit):
        ns3.main(["bbr-5", "--unmended", "law"])
    assert "--unmended: expected cases that have ledbat or reno" in capsys.readouterr().err


def test_marks_are_compared_where_packets_are_marked() -> None:
    judged = {name: {metric.name for metric in ns3.judged(ns3.cases()[name])} for name in ("dctcp-2", "bbr-2")}
    assert judged["dctcp-2"] - judged["bbr-2"] == {"mark_rate"}
    assert "min=20 max=20 weight=1" in " ".join(ns3.arguments(ns3.cases()["dctcp-2"], 1))
    assert [ns3.sources(ns3.cases()[name])[0] for name in ("bbr-cubic", "cubic-1")] == ["transports.cc", "dumbbell.cc"]


class FakeSojourn:
    """Replaces the simulator: returns ns-3's results, with the queue times `factor`."""

    def __init__(self, name: str, factor: float) -> None:
        self.case, self.factor = ns3.cases()[name], factor
        self.runs = ns3.ns3_runs(name, self.case, 5, None)

    def run(self, scenario: dict[str, Any]) -> dict[str, Any]:
        said = self.runs[scenario["seed"] - 1]["metrics"]
        queue = {"mean": said["queue_mean"] * self.factor, "sd": said["queue_sd"]}
        link = {"utilization": said["utilization"], "queue": queue, "arrived": 10**9, "marked": 0}
        link["dropped_total"] = said["drop_rate"] * 10**9
        return {"links": [link], "flows": [{"goodput_bps": said["goodput_bps"]}]}


@pytest.mark.parametrize(("factor", "code"), [(1.0, 0), (1.2, 1)])
def test_validate_fails_on_a_miss(
    factor: float, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "sojourn", FakeSojourn("cubic-1", factor))
    assert ns3.main(["cubic-1", "--ns3", "stored"]) == code
    assert ("MISS" in capsys.readouterr().out) == (code == 1)


@needs_ns3
@pytest.mark.slow
def test_ns3_sends_whole_packets_and_fills_a_queue_to_its_limit(tmp_path: Path) -> None:
    case = {"flows": {"reno": 1}, "mbit": 2, "rtt_ms": [20, 20], "limit": 10, "seconds": [20, 60]}
    program = ns3.build(tmp_path, case)
    run = ns3.run_ns3(program, case, 1)
    assert run == ns3.run_ns3(program, case, 1)
    said = run["metrics"]
    assert said["utilization"] == pytest.approx(1.0, abs=0.02)
    # Had the packets been cut in two, they would carry 34 bytes more, and the queue would hold half as many.
    assert said["goodput_bps"] / (2e6 * said["utilization"]) == pytest.approx(ns3.PAYLOAD / ns3.WIRE, rel=0.01)
    assert 5 < said["queue_mean"] < 11
