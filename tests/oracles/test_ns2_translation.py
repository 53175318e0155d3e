"""The translation of scenarios to ns-2, and ns-2's measures if it is installed."""

from __future__ import annotations

import json
import sys
import tomllib
from typing import Any

import pytest

import sojourn as sj
from tests.support.source_tree import ROOT

sys.path.insert(0, str(ROOT))

from conformance.oracles.ns2 import draw, lehto, measure, validate
from conformance.oracles.ns2.plan import freeze, lay_out
from conformance.oracles.ns2.quantities import FieldError
from conformance.oracles.ns2.translate import translate

needs_ns2 = pytest.mark.skipif(not measure.available(), reason="ns-2 is not installed (Debian package ns2)")

TINY = """
name = "tiny"
duration = "12 s"
warmup = "2 s"
packet = "1000 B"
[[links]]
name = "bottleneck"
from = "R0"
to = "R1"
rate = "2 Mbit/s"
delay = "10 ms"
duplex = true
queue = { aqm = "droptail", limit = "10 packets" }
[tcp]
profile = "ns2"
recovery = "reno"
window = "50 packets"
[[flows]]
name = "ftp"
count = 3
from = "R0"
to = "R1"
start = { uniform = ["0 s", "1 s"] }
access = { rate = "10 Mbit/s", delay = "5 ms" }
"""


def tiny(**queue: Any) -> dict[str, Any]:
    scenario = tomllib.loads(TINY)
    scenario["links"][0]["queue"].update(queue)
    return scenario


def bottleneck(text: str) -> dict[str, str]:
    line = next(x for x in text.splitlines() if x.endswith(";# bottleneck"))
    words = line.partition("{")[2].partition("}")[0].split()
    return {"kind": line.split()[6], **dict(zip(words[::2], words[1::2], strict=True))}


def test_droptail_gets_a_limit_one_higher_because_ns2_refuses_one_packet_earlier() -> None:
    assert bottleneck(translate(tiny(), 1))["limit_"] == "11"
    assert bottleneck(translate(tiny(aqm="rem"), 1))["limit_"] == "11"


def test_red_and_pi_keep_their_limit() -> None:
    assert bottleneck(translate(tiny(aqm="red", min=2, max=6), 1))["limit_"] == "10"
    assert bottleneck(translate(tiny(aqm="pi"), 1))["limit_"] == "10"


def test_a_limit_in_bytes_lets_the_queue_hold_exactly_that_many() -> None:
    queue = bottleneck(translate(tiny(limit="10400 B"), 1))
    assert (queue["queue_in_bytes_"], queue["mean_pktsize_"], queue["limit_"]) == ("true", "1", "10401")


def test_red_is_written_out_because_ns2_counts_bytes_by_default() -> None:
    queue = bottleneck(translate(tiny(aqm="red", min=2, max="6 packets", max_p=0.05, ecn=True, wait=False), 1))
    assert queue["kind"] == "RED"
    assert (queue["bytes_"], queue["queue_in_bytes_"], queue["mean_pktsize_"]) == ("false", "false", "1000")
    assert (queue["thresh_"], queue["maxthresh_"], queue["linterm_"]) == ("2.0", "6.0", "20.0")
    assert (queue["setbit_"], queue["wait_"], queue["gentle_"], queue["adaptive_"]) == ("true", "false", "true", "0")


def test_the_payload_is_packetsize_and_the_header_is_added_by_ns2() -> None:
    line = next(x for x in translate(tiny(), 1).splitlines() if x.startswith("tcp 0 "))
    assert "Agent/TCP/Reno Agent/TCPSink {packetSize_ 1000 tcpip_base_hdr_size_ 40 window_ 50" in line


@pytest.mark.parametrize(
    ("recovery", "delayed", "agent", "sink"),
    [
        ("tahoe", False, "Agent/TCP", "Agent/TCPSink"),
        ("reno", False, "Agent/TCP/Reno", "Agent/TCPSink"),
        ("newreno", True, "Agent/TCP/Newreno", "Agent/TCPSink/DelAck"),
        ("sack", False, "Agent/TCP/Sack1", "Agent/TCPSink/Sack1"),
        ("sack", "40 ms", "Agent/TCP/Sack1", "Agent/TCPSink/Sack1/DelAck"),
    ],
)
def test_recovery_and_delayed_acks_choose_agent_and_sink(recovery: str, delayed: Any, agent: str, sink: str) -> None:
    scenario = tiny()
    scenario["tcp"].update(recovery=recovery, delayed_ack=delayed)
    line = next(x for x in translate(scenario, 1).splitlines() if x.startswith("tcp 0 "))
    assert line.split()[4:6] == [agent, sink]
    assert ("interval_ 0.040000000" in line) == (delayed == "40 ms")


def test_what_ns2_does_by_itself_may_be_said() -> None:
    scenario = tiny()
    plain = translate(scenario, 1)
    scenario["tcp"] |= {"handshake": "oneway", "initial_ssthresh": scenario["tcp"].get("window", "20 packets")}
    assert translate(scenario, 1) == plain
    scenario["tcp"]["initial_ssthresh"] = "7 packets"
    assert '$ns at 0.0 "$agent(0) set ssthresh_ 7"' in translate(scenario, 1)


def test_access_links_never_drop() -> None:
    text = translate(tiny(), 1)
    access = [x for x in text.splitlines() if x.startswith("link ") and "access" in x]
    assert len(access) == 6
    assert all("limit_ 1000001" in x for x in access)


def test_drawn_values_become_lists_that_both_simulators_read() -> None:
    frozen = freeze(tiny(), 7)
    starts = frozen["flows"][0]["start"]
    assert len(starts) == 3
    assert all(x.endswith(" ns") for x in starts)
    assert starts != freeze(tiny(), 8)["flows"][0]["start"]
    assert freeze(frozen, 9)["flows"][0]["start"] == starts
    assert [flow.start for flow in lay_out(frozen).flows] == [int(x.split()[0]) for x in starts]


def test_spread_and_step_need_no_drawing() -> None:
    scenario = tiny()
    scenario["flows"][0]["start"] = {"step": "10 s", "first": "1 s"}
    scenario["flows"][0]["access"]["delay"] = {"spread": ["1 ms", "5 ms"]}
    plan = lay_out(freeze(scenario, 1))
    assert [flow.start for flow in plan.flows] == [1_000_000_000, 11_000_000_000, 21_000_000_000]
    assert [link.delay for link in plan.links if link.src.endswith("access")] == [1_000_000, 3_000_000, 5_000_000]


def test_a_packet_size_of_its_own_reaches_a_red_queue() -> None:
    assert bottleneck(translate(tiny(aqm="red", min=2, max=6, avpkt="500 B"), 1))["mean_pktsize_"] == "500"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"links": {"queue": {"aqm": "codel"}}}, "links.bottleneck.queue.aqm"),
        ({"links": {"queue": {"limit": "10 flies"}}}, "links.bottleneck.queue.limit"),
        ({"links": {"queue": {"quantum": 3}}}, "links.bottleneck.queue.quantum"),
        ({"tcp": {"control": {"cc": "cubic"}}}, "flows.ftp.tcp.control"),
        ({"tcp": {"profile": "linux"}}, "flows.ftp.tcp.profile"),
        ({"flows": {"traffic": {"kind": "transfers"}}}, "flows.ftp.traffic.kind"),
        ({"flows": {"traffic": {"kind": "web"}}}, "flows.ftp.traffic.page_gap"),
        ({"flows": {"traffic": {"kind": "cbr", "rate": "1 Mbit/s", "jitter": 0.5}}}, "flows.ftp.traffic.jitter"),
        ({"tcp": {"timestamps": True}}, "flows.ftp.tcp.timestamps"),
        ({"tcp": {"handshake": "threeway"}}, "flows.ftp.tcp.handshake"),
        ({"flows": {"traffic": {"kind": "web", "request": "500 B"}}}, "flows.ftp.traffic.request"),
        ({"flows": {"via": ["R0", "R9", "R1"]}}, "flows.ftp.via"),
        ({"flows": {"colour": "red"}}, "flows.ftp.colour"),
    ],
)
def test_what_ns2_cannot_do_is_refused_by_the_name_of_its_field(change: dict[str, Any], field: str) -> None:
    scenario = tiny()
    for part, values in change.items():
        target = scenario[part][0] if isinstance(scenario[part], list) else scenario[part]
        for key, value in values.items():
            target[key] = {**target[key], **value} if key == "queue" else value
    with pytest.raises(FieldError) as error:
        translate(scenario, 1)
    assert error.value.field == field


@pytest.mark.parametrize("case", validate.case_names())
def test_every_case_is_translated_and_its_stored_numbers_belong_to_that_script(case: str) -> None:
    stored = validate.RESULTS.get(case)
    seeds = [run["seed"] for run in stored["runs"]]
    assert seeds == list(range(1, len(seeds) + 1))
    assert len(seeds) >= 5
    for run in stored["runs"]:
        assert measure.digest(translate(validate.load(case), run["seed"])) == run["tcl_sha256"]


@pytest.mark.parametrize("seed", range(4))
def test_every_drawn_scenario_can_run_in_both(capsys: pytest.CaptureFixture[str], seed: int) -> None:
    assert draw.main(["24", "--draw", str(seed), "--print"]) == 0
    drawn = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {each["links"][0]["queue"]["aqm"] for each in drawn} == {"droptail", "red", "pi", "rem", "led"}
    for each in drawn:
        translate(each, 1)
        sj.load(freeze(each, 1)).resolved()


def test_a_module_that_talks_on_the_standard_output_leaves_it_to_itself() -> None:
    quiet, talking = (translate(validate.load(case), 1) for case in ("linux-reno-2", "linux-lp-8"))
    assert "select_ca lp" in talking
    assert "$mon(0) trace stdout" in quiet
    assert "$mon(0) trace stderr" in talking
    assert "stdout" not in talking
    assert talking.count('puts stderr "') == quiet.count('puts "')


def test_udp_sources_become_applications_over_an_agent_that_does_not_cut_them() -> None:
    scenario = tiny()
    scenario["flows"][0]["traffic"] = {"kind": "onoff", "rate": "1 Mbit/s", "on": "1 s", "off": "2 s", "shape": 1.5}
    line = next(x for x in translate(scenario, 1).splitlines() if x.startswith("udp 0 "))
    assert "Application/Traffic/Pareto {rate_ 1000000 packetSize_ 1000 burst_time_ 1.000000000" in line
    assert "idle_time_ 2.000000000 shape_ 1.5" in line


def test_a_law_that_ns2_lacks_writes_the_probability_of_an_idle_pi_queue() -> None:
    text = translate(lehto.scenario(1, "pd"), 1)
    queue = bottleneck(text)
    assert (queue["kind"], queue["a_"], queue["b_"]) == ("PI", "0.0", "0.0")
    assert "periodic $queue(0) {[$mon(0) set pkts_] * 1.0} {1.0 * ($q - 30.0) + 1.0 * $dq + 0.0} 0.010000000" in text


LED = {"aqm": "led", "count_own": True, "max_packet": "40 B", "max": 1.5}


def test_led_overwrites_the_average_of_a_red_queue_that_forgets_nothing_by_itself() -> None:
    text = translate(tiny(**LED), 1)
    queue = bottleneck(text)
    assert (queue["kind"], queue["thresh_"], queue["maxthresh_"], queue["q_weight_"]) == ("RED", "0.8", "1.5", "1e-12")
    assert (queue["gentle_"], queue["wait_"], queue["use_mark_p_"]) == ("false", "false", "false")
    assert "$ns at 0.0 [list load 0 2000000 0.05 0.050000000 0.8]" in text
    assert bottleneck(translate(tiny(**LED, forced=False), 1))["use_mark_p_"] == "true"


@pytest.mark.parametrize(
    ("queue", "field"),
    [
        (LED | {"max_packet": "1000 B"}, "max_packet"),
        (LED | {"min_queue": 1}, "min_queue"),
        (LED | {"count_own": False}, "count_own"),
        ({"aqm": "led"}, "count_own"),
        (LED | {"ecn": True, "forced": False}, "forced"),
        ({"aqm": "rem", "ecn": True}, "at_departure"),
        ({"aqm": "rem", "ecn": True, "at_departure": True}, "spare_unmarkable"),
    ],
)
def test_what_ns2s_queues_cannot_be_told_is_refused(queue: dict[str, Any], field: str) -> None:
    with pytest.raises(FieldError, match=rf"queue\.{field}"):
        translate(tiny(**queue), 1)


def test_windows_of_which_whole_segments_are_kept_are_those_before_2006() -> None:
    scenario = tiny()
    assert "precisionReduce_" not in translate(scenario, 1)
    scenario["tcp"]["control"] = {"cc": "reno", "whole": True}
    assert "precisionReduce_ false" in translate(scenario, 1)


@pytest.mark.parametrize("law", ["red", "pd", "fuzzy"])
@pytest.mark.parametrize("number", range(1, 8))
def test_every_lehto_scenario_is_translated(number: int, law: str) -> None:
    assert translate(lehto.scenario(number, law), 1).endswith("$ns run\n")


class FakeSojourn:
    """Replaces the simulator: returns ns-2's results, with the queue times `factor`."""

    def __init__(self, case: str, factor: float) -> None:
        self.runs, self.factor = validate.RESULTS.get(case)["runs"], factor

    def load(self, scenario: dict[str, Any]) -> dict[str, Any]:
        return scenario

    def run(self, scenario: dict[str, Any], seed: int) -> dict[str, Any]:
        assert isinstance(scenario["flows"][0]["start"], list)
        stored = self.runs[seed - 1]
        link = {"name": "bottleneck", **stored["link"]}
        link["queue"] = {"mean": link["queue"]["mean"] * self.factor, "sd": link["queue"]["sd"]}
        share = stored["metrics"]["goodput_bps"] / scenario["flows"][0]["count"]
        flows = [{"group": "ftp", "goodput_bps": share} for _ in range(scenario["flows"][0]["count"])]
        return {"links": [link], "flows": flows}


@pytest.mark.parametrize(("factor", "code"), [(1.0, 0), (1.2, 1)])
def test_validate_fails_on_a_miss(
    factor: float, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "sojourn", FakeSojourn("red-reno-30", factor))
    assert validate.main(["red-reno-30", "--ns2", "stored"]) == code
    assert ("MISS" in capsys.readouterr().out) == (code == 1)


@needs_ns2
def test_ns2_fills_a_droptail_queue_to_its_limit_and_no_further() -> None:
    record = measure.run(tiny(), 1)
    link = record["links"][0]
    assert link["queue"]["max"] == 10
    assert link["utilization"] == pytest.approx(1.0, abs=0.02)
    assert link["dropped_total"] > 0
    goodput = sum(flow["goodput_bps"] for flow in record["flows"])
    assert goodput == pytest.approx(link["throughput_bps"] * 1000 / 1040, rel=0.02)


@needs_ns2
def test_ns2_repeats_itself_and_another_seed_differs() -> None:
    first, again, other = (measure.run(tiny(), seed)["links"][0] for seed in (1, 1, 2))
    assert first == again
    assert first != other


@needs_ns2
def test_ns2_reports_ecn_marks() -> None:
    scenario = tiny(aqm="red", limit="40 packets", min=2, max=10, weight=0.01, ecn=True)
    scenario["tcp"]["ecn"] = True
    assert measure.run(scenario, 1)["links"][0]["marked"] > 0
