"""Traces of packets and connections are exact, agree with measures, and change nothing."""

import numpy as np
import pytest

import sojourn as sj
from sojourn.core.errors import ScenarioError, UserError
from sojourn.core.record_schema import column, series_kinds
from tests.support.source_tree import ROOT

SCENARIO = """
duration = "20 s"
warmup = "2 s"

[[links]]
name = "line"
from = "a"
to = "b"
rate = "5 Mbit/s"
delay = "10 ms"
duplex = true
queue = {{ aqm = "{queue}", limit = "100 packets" }}

[[flows]]
name = "web"
count = 2
from = "b"
to = "a"
traffic = {{ kind = "transfers", every = "200 ms", size_mean = "20 kB" }}

[[flows]]
name = "ftp"
from = "a"
to = "b"

[[flows]]
name = "file"
from = "a"
to = "b"
start = "1 s"
traffic = {{ kind = "bulk", size = "1 MB" }}
"""
EVERYTHING = {
    "wait": {"links": ["*"]},
    "completions": {"flows": ["*"]},
    "rtt": {"flows": ["*"]},
    "throughput": {"flows": ["*"], "every": "1 s"},
    "cwnd": {"flows": ["*"], "every": "1 s"},
}


def traced(queue: str = "droptail", **trace: object) -> sj.Record:
    scenario = sj.Scenario.from_toml(SCENARIO.format(queue=queue))
    return sj.run(scenario.set("trace", trace or EVERYTHING))


@pytest.mark.parametrize("queue", ["droptail", "red", "codel", "fq-codel", "choke"])
def test_traces_hold_what_the_measures_count_and_change_nothing(queue: str) -> None:
    record = traced(queue)
    assert record.to_dict() == sj.run(sj.Scenario.from_toml(SCENARIO.format(queue=queue))).to_dict()
    for link in record["links"]:
        wait, waits = link["wait_ms"], record.samples(f"wait/{link['name']}") * 1e3
        assert (waits.mean(), waits.std(), waits.max()) == pytest.approx((wait["mean"], wait["sd"], wait["max"]))
        quantile = np.quantile(waits, [0.5, 0.9, 0.99], method="inverted_cdf")
        assert quantile == pytest.approx([wait["p50"], wait["p90"], wait["p99"]], rel=1 / 60, abs=1e-5)
    for group in ("web", "file"):
        completion, times = record.value(f"groups.{group}.completion_s"), record.samples(f"completions/{group}")
        assert (len(times), times.mean()) == pytest.approx((completion["count"], completion["mean"]))
        quantile = np.quantile(times, [0.5, 0.9, 0.99], method="inverted_cdf")
        assert list(quantile) == [completion["p50"], completion["p90"], completion["p99"]]


def test_the_waits_of_a_link_account_for_every_packet_that_it_sent() -> None:
    record = sj.run(sj.Scenario.from_toml(SCENARIO.format(queue="red")).set("trace", EVERYTHING).set("warmup", "0 s"))
    for link in record["links"]:
        waits = record.series[f"wait/{link['name']}"]
        sent = waits["bytes"] * 8 / link["rate_bps"]
        assert link["departed"] <= len(sent) <= link["departed"] + 1, "one packet may be on its way at the end"
        starts = np.sort(waits["t"] + waits["seconds"])
        assert (np.diff(starts) >= sent.min() - 1e-9).all(), "one transmission at a time"
        assert (np.diff(waits["t"]) >= 0).all(), "in the order of arrival"


def test_a_trace_of_a_session_is_that_of_all_its_connections() -> None:
    # After a warm-up, goodput excludes data that had arrived before; the trace has all readable data.
    record = sj.run(
        sj.Scenario.from_toml(SCENARIO.format(queue="droptail")).set("trace", EVERYTHING).set("warmup", "0 s")
    )
    for flow in record["flows"]:
        received = record.samples(f"throughput/{flow['name']}", "bps").sum()
        assert received / record["duration_s"] == pytest.approx(flow["goodput_bps"])
        rtts = record.samples(f"rtt/{flow['name']}") * 1e3
        rtt = flow["rtt_ms"]
        assert (rtts.mean(), rtts.min(), rtts.max()) == pytest.approx((rtt["mean"], rtt["min"], rtt["max"]))
    assert {name for name in record.series if name.startswith("cwnd/")} == {"cwnd/ftp/0", "cwnd/file/0"}


def test_a_connection_starts_and_carries_what_its_application_wanted() -> None:
    file = traced().trace("completions/file").iloc[0]
    assert (file["start"], file["bytes"], file["flow"], file["group"]) == (1.0, 1e6, "file/0", "file")
    assert file["t"] == pytest.approx(file["start"] + file["seconds"])


def test_the_completions_of_all_groups_are_one_table() -> None:
    record = traced()
    table = record.completions
    assert table["t"].is_monotonic_increasing
    assert dict(table["group"].value_counts()) == {"web": len(record.trace("completions/web")), "file": 1}
    assert set(table["flow"]) == {"web/0", "web/1", "file/0"}
    chosen = traced(completions={"flows": ["web/1"]}).completions
    assert chosen.equals(table[table["flow"] == "web/1"].reset_index(drop=True))


@pytest.mark.parametrize("queue", ["red", "codel"])
def test_one_wait_in_so_many_is_every_nth_packet_in_the_order_of_transmission(queue: str) -> None:
    every = traced(queue, wait={"links": ["line"]}).series["wait/line"]
    thinned = traced(queue, wait={"links": ["line"], "one_in": 7}).series["wait/line"]
    assert all(np.array_equal(every[name][::7], thinned[name]) for name in every)


def test_what_cannot_be_traced_is_refused() -> None:
    for trace, message in [
        ({"wait": {"links": ["line"], "one_in": 0}}, "trace.wait.one_in: expected a whole number, 1 or more, got 0"),
        ({"completions": {"flows": ["ftp/0"]}}, "trace.completions.flows.0.: expected flows whose connections end"),
        ({"cwnd": {"flows": ["web/0"], "every": "1 s"}}, "trace.cwnd.flows.0.: expected flows of one TCP connection"),
    ]:
        with pytest.raises(ScenarioError, match=message):
            traced(**trace)
    fast = sj.Scenario.from_toml(SCENARIO.format(queue="red")).set("links.line.rate", "100 Gbit/s")
    with pytest.raises(
        ScenarioError, match=r"trace.wait.one_in: expected 17 or more, so that .* 10000000 samples, got 1"
    ):
        sj.run(fast.set("trace.wait", {"links": ["line"]}))


def test_a_series_that_is_not_there_is_named_with_those_that_are() -> None:
    record = traced(wait={"links": ["line"]})
    with pytest.raises(UserError, match='expected one of wait/line, got "wait/up"'):
        record.samples("wait/up")
    with pytest.raises(UserError, match=r'expected one of .*seconds.*, got "wait"'):
        record.samples("wait/line", "wait")
    with pytest.raises(UserError, match=r"completions: expected a trace: add completions = "):
        _ = record.completions


def test_traces_come_back_from_files_as_they_were(tmp_path: object) -> None:
    record = traced()
    record.save(str(tmp_path))
    again = sj.Record.read(str(tmp_path))
    assert again.completions.equals(record.completions)
    assert np.array_equal(again.samples("wait/line"), record.samples("wait/line"))


def test_every_column_has_its_unit() -> None:
    assert column("wait/line", "seconds").unit == "s"
    assert column("throughput/ftp/0", "bps").unit == "bit/s"
    assert {kind.kind for kind in series_kinds()} == {
        "queue",
        "subqueue",
        "cwnd",
        "throughput",
        "rtt",
        "controller",
        "wait",
        "signals",
        "completions",
        "retransmissions",
        "segments",
        "acks",
    }
    with pytest.raises(KeyError):
        column("wait/line", "packets")


def test_a_series_that_is_not_there_is_refused_with_those_that_are() -> None:
    series = traced(wait={"links": ["line"]}).series
    assert series.get("wait/lime") is None
    with pytest.raises(UserError, match='series: expected one of wait/line, got "wait/lime"'):
        series["wait/lime"]
    with pytest.raises(UserError, match="queue: expected a trace: add queue = "):
        series["queue/line"]


def test_the_only_series_needs_no_name_and_several_are_named_in_the_error(dumbbell):
    traced = sj.load(dumbbell).set("trace.queue", {"links": ["bottleneck"], "every": "1 s"})
    assert list(sj.run(traced).to_pandas().columns) == list(sj.run(traced).to_pandas("queue/bottleneck").columns)
    with pytest.raises(UserError, match="expected the name of one, but nothing is traced, got none"):
        sj.run(dumbbell).to_pandas()
    traced.set("trace.cwnd", {"flows": ["ftp/0"], "every": "1 s"})
    with pytest.raises(UserError, match="expected the name of one, cwnd/ftp/0, queue/bottleneck, got none"):
        sj.run(traced).to_pandas()


@pytest.mark.parametrize("example", ["classes", "cake"])
def test_the_queues_that_make_up_a_queue_are_traced_with_it(example):
    scenario = sj.load(ROOT / "examples" / f"{example}.toml").set("duration", "10 s")
    record = sj.run(scenario.set("trace", {"queue": {"links": ["*"], "every": "10 ms"}}), seed=1)
    waited = 0.0
    for link in record["links"]:
        parts = link.get("classes", []) + link.get("queues", [])
        tables = [record.series[f"subqueue/{link['name']}/{part['name']}"] for part in parts]
        for part, table in zip(parts, tables, strict=True):
            inside = table["t"] >= record["warmup_s"]
            assert table["packets"][inside].max() <= part["queue"]["max"]
            assert table["packets"][inside].mean() == pytest.approx(part["queue"]["mean"], rel=0.1, abs=0.2)
            waited += table["packets"].sum()
        for name in ("packets", "bytes") if tables else ():
            whole = record.series[f"queue/{link['name']}"][name]
            np.testing.assert_array_equal(sum(table[name] for table in tables), whole)
    assert waited > 0
    assert sum(name.startswith("subqueue/") for name in record.series) == sum(
        len(link.get("classes", [])) + len(link.get("queues", [])) for link in record["links"]
    )
