"""The scenario of a Flent result has its flows, rates, round trips and controllers.

The series and their metadata are those of Flent's tests (`rrul`, `tcp_nup`, `cubic_bbr`, `tcp_2up_square`,
`rtt_fair`, `udp_flood`, `voip`) in file formats 3 and 4.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sojourn as sj
from sojourn import _sojourn
from sojourn.core.errors import Note
from sojourn.imports.flent_series import codepoint_name, host_of

pytestmark = pytest.mark.no_libraries

STEPS = 100
PING = "Ping (ms) ICMP"
Values = list[float | None]


def flat(value: float) -> Values:
    return [value] * STEPS


def result(results: dict[str, Values], **metadata: Any) -> dict[str, Any]:
    """A result of 20 s in steps of 0.2 s."""
    x = [round(0.2 * step, 1) for step in range(STEPS)]
    return {"version": 4, "x_values": x, "results": results, "metadata": {"NAME": "test"} | metadata, "raw_values": {}}


def imported(folder: Path, data: dict[str, Any], **options: str) -> tuple[sj.Scenario, list[str]]:
    """The scenario of a result, and the notes."""
    file = folder / "x.flent"
    file.write_text(json.dumps(data))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", Note)
        made = sj.import_file(file, **options)
    return made, [str(each.message) for each in caught]


def named(made: sj.Scenario) -> dict[str, Any]:
    return {str(flow["name"]): flow for flow in made["flows"]}


def rates(made: sj.Scenario) -> tuple[float, float]:
    """The rates of uploads and downloads in Mbit/s."""
    link = made["links"][0]
    up, down = (_sojourn.quantity("rate", side["rate"]) / 1e6 for side in (link, link["back"]))
    return up, down


def controllers(made: sj.Scenario) -> dict[str, str | None]:
    return {
        name: flow.get("tcp", {}).get("control", {}).get("cc")
        for name, flow in named(made).items()
        if "traffic" not in flow
    }


def test_statistics_and_computed_series_are_no_flows(tmp_path: Path) -> None:
    statistics = {f"TCP upload::1::tcp_{key}": flat(80) for key in ("cwnd", "rtt", "rtt_var", "delivery_rate")}
    computed = {"TCP upload avg": flat(4), "TCP upload sum": flat(8), "TCP upload fairness": flat(1)}
    statistics["TCP upload::3::tcp_rtt"] = flat(80)  # of a transfer that failed
    transfers = {"TCP upload::1": flat(4), "TCP upload::2": flat(4)}
    total = {"Totals of all": flat(8), "TCP totals": flat(8), "cpu_stats_here::load": flat(0.5)}
    about = {"Totals of all": {"COMMAND": "Sum (computed)"}}
    series = {PING: flat(20)} | transfers | statistics | computed | total
    made, notes = imported(tmp_path, result(series, SERIES_META=about))
    assert list(named(made)) == ["tcp-upload-1", "tcp-upload-2", "ping-ms-icmp"]
    assert (rates(made), notes) == ((8, 8), [])


def test_a_statistic_of_a_series_is_known_by_the_series(tmp_path: Path) -> None:
    made, _ = imported(tmp_path, result({PING: flat(9), "TCP upload": flat(5), "TCP upload::other": flat(70)}))
    assert list(named(made)) == ["tcp-upload", "ping-ms-icmp"]
    assert rates(made)[0] == 5


def test_gaps_between_samples_are_no_silence(tmp_path: Path) -> None:
    # netperf reports once it has sent enough: on a slow link once in 1.6 s here, each flow at another time.
    slow = {
        f"TCP upload::{flow}": [0.2 if step % 8 == 2 * flow else None for step in range(STEPS)] for flow in range(4)
    }
    made, _ = imported(tmp_path, result({PING: flat(40)} | slow))
    assert rates(made)[0] == pytest.approx(0.8, rel=0.01)


def test_the_mean_that_netperf_states_is_that_of_the_flow(tmp_path: Path) -> None:
    # Samples of 4 and 1 Mbit/s, the second nine times as long: 1.3 Mbit/s (1/10 of 4, 9/10 of 1).
    data = result({PING: flat(40), "TCP upload": [4.0 if step % 2 else 1.0 for step in range(STEPS)]})
    samples = [{"t": 2.0 * n, "val": 4.0 if n % 2 else 1.0, "dur": 0.1 if n % 2 else 0.9} for n in range(20)]
    weighted, _ = imported(tmp_path, data | {"raw_values": {"TCP upload": samples}})
    assert rates(weighted)[0] == pytest.approx(1.3, rel=1e-6)
    data["metadata"]["SERIES_META"] = {"TCP upload": {"MEAN_VALUE": 1.4, "UNITS": "Mbits/s"}}
    assert rates(imported(tmp_path, data)[0])[0] == pytest.approx(1.4, rel=1e-6)


def test_odd_values_matter_in_series_that_are_used_alone(tmp_path: Path) -> None:
    odd: dict[str, Any] = {"qdisc_stats_router::drop_next": flat(-5), "cpu_stats_a::load": ["x"], "HTTP latency": [1]}
    made, _ = imported(tmp_path, result({PING: flat(20), "TCP upload": flat(5)} | odd))
    assert rates(made)[0] == 5
    for series in ({"TCP upload": flat(-1), PING: flat(20)}, {"TCP upload": flat(1), PING: flat(-20)}):
        with pytest.raises(sj.UserError, match=r"expected numbers of 0 or more, or null, got others$"):
            imported(tmp_path, result(series))


def test_each_flow_has_the_controller_that_the_result_names(tmp_path: Path) -> None:
    names = ["TCP download BBR BE", "TCP download Cubic CS1", "TCP upload LP", "TCP upload::1", "TCP upload::2"]
    about = {
        "TCP upload::1": {"CONG_CONTROL": "reno"},  # of the socket, format 4
        "TCP upload::2": {"COMMAND": "netperf -H a -t TCP_STREAM -l 60 -- -K dctcp,cubic"},
    }
    made, notes = imported(tmp_path, result({PING: flat(20)} | {n: flat(1) for n in names}, SERIES_META=about))
    assert list(controllers(made).values()) == ["bbr", "cubic", "tcp-lp", "reno", "dctcp"]
    assert named(made)["tcp-upload-2"]["tcp"]["ecn"] is True
    assert notes == []


def test_a_controller_that_is_none_of_ours_is_noted(tmp_path: Path) -> None:
    series = {PING: flat(20), "TCP upload": flat(1), "TCP download YEAH": flat(1)}
    about = {"TCP upload": {"CONG_CONTROL": "cubic-sce"}}
    made, notes = imported(tmp_path, result(series, SERIES_META=about), cc="reno")
    assert (set(controllers(made).values()), made["tcp"]["control"]["cc"]) == ({None}, "reno")
    assert notes == ["unknown congestion control cubic-sce, yeah: its flows use reno"]


def test_the_default_controller_of_the_testing_host_is_that_of_uploads(tmp_path: Path) -> None:
    kernel = {"net.ipv4.tcp_congestion_control": "bbr"}
    series = {PING: flat(20), "TCP upload": flat(1), "TCP download": flat(1)}
    made, _ = imported(tmp_path, result(series, SYSCTLS=kernel))
    assert controllers(made) == {"tcp-upload": "bbr", "tcp-download": None}
    made, _ = imported(tmp_path, result(series, SYSCTLS=kernel, TEST_PARAMETERS={"tcp_cong_control": "cdg"}))
    assert (controllers(made), made["tcp"]["control"]["cc"]) == ({"tcp-upload": None, "tcp-download": None}, "cdg")


def test_flows_that_take_turns_do_not_add_up(tmp_path: Path) -> None:
    # A square wave over 12 Mbit/s: what runs at a time shares the link. The means add up to 12 + 3 * 6 Mbit/s and less.
    parts = {"TCP cubic": (0, 100), "TCP cubic 2": (10, 30), "TCP reno": (40, 60), "TCP westwood": (70, 90)}
    running = [sum(first <= step < last for first, last in parts.values()) for step in range(STEPS)]
    series: dict[str, Values] = {
        name: [12 / running[step] if first <= step < last else None for step in range(STEPS)]
        for name, (first, last) in parts.items()
    }
    made, notes = imported(tmp_path, result(series), rtt="48 ms")
    assert rates(made)[0] == pytest.approx(12, rel=0.01)
    assert controllers(made) == {name.lower().replace(" ", "-"): name.split()[1] for name in parts}
    times = {name: (flow["start"], flow.get("stop")) for name, flow in named(made).items()}
    assert times["tcp-reno"] == ("8 s", "11.8 s")
    assert times["tcp-cubic"] == ("0 s", None)
    assert {flow["from"] for flow in made["flows"]} == {"home"}
    assert notes == [
        "the uploads did not all overlap: together they reached 12 Mbit/s, but their means add up to 26.4 Mbit/s"
    ]


def test_a_flow_with_one_sample_runs_for_a_step(tmp_path: Path) -> None:
    once: Values = [3.0 if step == 50 else None for step in range(STEPS)]
    made, _ = imported(tmp_path, result({PING: flat(20), "TCP upload": flat(3), "TCP upload 2": once}))
    flow = named(made)["tcp-upload-2"]
    assert (flow["start"], flow["stop"]) == ("10 s", "10.2 s")


def test_a_result_without_a_probe_needs_a_round_trip(tmp_path: Path) -> None:
    data = result({"TCP upload": flat(5)})
    with pytest.raises(sj.UserError, match=r"x\.flent: results: expected a probe .* or --rtt, got none$"):
        imported(tmp_path, data)
    made, _ = imported(tmp_path, data, rtt="5 ms")
    assert made["links"][0]["delay"] == "2.5 ms"


def test_each_host_has_its_own_round_trip(tmp_path: Path) -> None:
    trips = {"near": 10.0, "far": 50.0, "unknown": 10.0}
    series = {f"Ping (ms) ICMP{n} {host}": [trips[host], *flat(90)[1:]] for n, host in enumerate(["near", "far"])}
    series |= {f"TCP upload BE{n} {host}": flat(4) for n, host in enumerate(trips)} | {"TCP download BE far": flat(4)}
    # A probed router on the path is independent of the hosts behind it.
    series["Ping (ms) ICMP router (extra)"] = flat(4)
    made, notes = imported(tmp_path, result(series, HOSTS=list(trips)))
    assert notes == ["no probe of unknown: flows there get the median RTT of the other hosts, 10 ms"]
    assert made["links"][0]["delay"] == "2 ms"
    assert made["links"][0]["queue"]["limit"] == "50 packets", "12 Mbit/s for the longest round trip, 50 ms"
    idle = made.copy().set("duration", "3 s").set("flows", [flow for flow in made["flows"] if "traffic" in flow])
    probed = {str(group["name"]): group["rtt_ms"]["mean"] for group in sj.run(idle, seed=1)["groups"]}
    # An echo of 84 B takes 0.06 ms each way at 12 Mbit/s and 0.17 ms at 4 Mbit/s.
    assert probed["ping-ms-icmp0-near"] == pytest.approx(10, abs=0.3)
    assert probed["ping-ms-icmp1-far"] == pytest.approx(50, abs=0.3)
    assert named(made)["tcp-download-be-far"]["access"]["delay"] == "23 ms"
    given, notes = imported(tmp_path, result(series, HOSTS=list(trips)), rtt="30 ms")
    assert (named(given)["tcp-upload-be2-unknown"]["egress"]["delay"], notes) == ("13 ms", [])


def test_datagrams_of_iperf_are_a_constant_rate_and_fill_the_link(tmp_path: Path) -> None:
    about = {"UDP upload": {"UNITS": "bits/s", "MEAN_VALUE": 6e6}}  # what arrived, by the server
    series = {PING: flat(20), "UDP upload": flat(12), "TCP upload": flat(2)}
    made, _ = imported(tmp_path, result(series, SERIES_META=about, TEST_PARAMETERS={"udp_pktsize": "1172"}))
    flood = named(made)["udp-upload"]["traffic"]
    assert (flood["kind"], flood["size"]) == ("cbr", "1200 B")
    assert _sojourn.quantity("rate", flood["rate"]) == pytest.approx(12e6 * 1200 / 1172, rel=1e-5)
    assert rates(made)[0] == 8


def test_calls_are_datagrams(tmp_path: Path) -> None:
    # G.711: 172 B every 20 ms, 68.8 kbit/s, and 80 kbit/s with the headers of UDP and IP.
    series = {PING: flat(20), "TCP upload": flat(2), "VoIP::delay": flat(10), "VoIP::loss": flat(0)}
    both, _ = imported(tmp_path, result(series))
    assert named(both)["voip"]["traffic"] == {"kind": "ping", "every": "20 ms", "size": "200 B"}
    about = {"VoIP::bitrate": {"UNITS": "Kbits/s", "MEAN_VALUE": 68.8}}
    one_way, _ = imported(tmp_path, result(series | {"VoIP::bitrate": flat(68.8)}, SERIES_META=about))
    assert named(one_way)["voip"]["traffic"] == {"kind": "cbr", "rate": "0.08 Mbit/s", "size": "200 B"}
    assert rates(one_way)[0] == 2


def test_classes_keep_their_dscp(tmp_path: Path) -> None:
    names = ["TCP upload BE", "TCP upload BK", "TCP upload CS5", "TCP upload EF", "TCP upload 1", "TCP download 2"]
    about = {
        "TCP upload 1": {"DATA_TOS": 40},  # CS1 is 8, twice shifted 32; 40 is AF11
        "TCP download 2": {"COMMAND": "netperf -Y CS0,CS6 -H a -t TCP_MAERTS"},
        "TCP upload BE": {"UPSTREAM_TOS": 4294967295},  # netperf does not know it
    }
    probes = {"Ping (ms) UDP EF": flat(20), "Ping (ms) UDP BE3": flat(20)}
    made, _ = imported(tmp_path, result(probes | {name: flat(1) for name in names}, SERIES_META=about))
    assert {name: flow.get("dscp") for name, flow in named(made).items()} == {
        "tcp-upload-be": None,
        "tcp-upload-bk": "cs1",
        "tcp-upload-cs5": "cs5",
        "tcp-upload-ef": "ef",
        "tcp-upload-1": "af11",
        "tcp-download-2": "cs6",
        "ping-ms-udp-ef": "ef",
        "ping-ms-udp-be3": None,
    }


def test_the_direction_is_that_of_netperfs_test(tmp_path: Path) -> None:
    about = {"TCP upload BE2 a": {"command": "/usr/bin/netperf -Y CS0,CS0 -H a -t TCP_MAERTS -l 30"}}
    series = {PING: flat(20), "TCP upload BE1 a": flat(3), "TCP upload BE2 a": flat(7)}
    made, notes = imported(tmp_path, result(series, SERIES_META=about))
    assert rates(made) == (3, 7)
    assert notes == ['netperf ran these the other way than their names say: "TCP upload BE2 a"']


def test_what_is_left_out_is_named_in_one_note_each(tmp_path: Path) -> None:
    series = {PING: flat(20), "TCP upload": flat(3), "HTTP latency": flat(7), "Dash": flat(1)}
    empty: dict[str, Values] = {f"TCP download::{n}": [None] * STEPS for n in range(5)}
    made, notes = imported(tmp_path, result(series | empty))
    assert list(named(made)) == ["tcp-upload", "ping-ms-icmp"]
    assert notes == [
        'a scenario has no such traffic, so these series are left out: "HTTP latency", "Dash"',
        'these series have no values, so they are left out: "TCP download::0", "TCP download::1", "TCP download::2" '
        "and 2 more",
    ]


def test_a_sum_alone_counts_as_one_transfer(tmp_path: Path) -> None:
    made, notes = imported(tmp_path, result({PING: flat(20), "TCP upload sum": flat(9), "TCP upload avg": flat(3)}))
    assert (list(named(made)), rates(made)[0]) == (["tcp-upload-sum", "ping-ms-icmp"], 9)
    assert notes == ['each of these counts as one transfer: "TCP upload sum"']


def test_series_that_would_have_one_name_get_two(tmp_path: Path) -> None:
    made, _ = imported(tmp_path, result({PING: flat(20), "TCP upload a": flat(3), "TCP upload A": flat(3)}))
    assert list(named(made)) == ["tcp-upload-a", "tcp-upload-a-2", "ping-ms-icmp"]


def test_numbers_of_runs_are_no_times(tmp_path: Path) -> None:
    data = result({PING: [20], "TCP upload": [3]}, STEP_SIZE=0.2) | {"x_values": [0, 1, 2]}
    with pytest.raises(sj.UserError, match=r"x_values: expected times in steps of STEP_SIZE, 0\.2 s, got 1 s$"):
        imported(tmp_path, data)


LABELS = ("BE", "BK", "CS5", "EF", "Torrent", "BBR CS1", "Cubic BE", "BE far", "6BK")


@st.composite
def drawn(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, dict[str, float]], float]:
    """A result, the rates of its transfers by direction and name, and the least round trip."""
    series: dict[str, Values] = {}
    truth: dict[str, dict[str, float]] = {"upload": {}, "download": {}}
    for way, flows in truth.items():
        numbered = draw(st.booleans())
        for n in range(draw(st.integers(0 if way == "upload" else 1, 5))):
            name = f"TCP {way}::{n + 1}" if numbered else f"TCP {way} {LABELS[draw(st.integers(0, 8))]}"
            rate, every = draw(st.floats(0.05, 900)), draw(st.integers(1, 9))
            noise = draw(st.floats(0, 0.5))
            values = [rate * (1 + noise * (-1) ** (step // every)) for step in range(STEPS)]
            gaps: Values = [value if step % every == 0 else None for step, value in enumerate(values)]
            series[name], flows[name] = gaps, rate
            if draw(st.booleans()):
                series[f"{name}::tcp_cwnd"] = flat(draw(st.floats(-5, 500)))
        if flows:
            series |= {f"TCP {way} {what}": flat(draw(st.floats(0, 5000))) for what in ("avg", "sum", "fairness")}
    trip = draw(st.floats(0.5, 400))
    series[draw(st.sampled_from([PING, "Ping (ms)::ICMP", "Ping (ms) UDP EF"]))] = [trip, *flat(trip * 3)[1:]]
    series["qdisc_stats_router::dropped"] = flat(-1)
    names = draw(st.permutations(list(series)))
    return result({name: series[name] for name in names}), truth, trip


@given(drawn())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_flows_rates_and_round_trips_are_those_of_the_result(tmp_path: Path, what: Any) -> None:
    data, truth, trip = what
    made, _ = imported(tmp_path, data)
    transfers = [flow for flow in made["flows"] if "traffic" not in flow]
    counted = {
        way: sum(flow["from"] == node for flow in transfers)
        for way, node in zip(truth, ("home", "provider"), strict=True)
    }
    assert counted == {way: len(flows) for way, flows in truth.items()}
    for found, flows in zip(rates(made), truth.values(), strict=True):
        if flows:
            assert found == pytest.approx(sum(flows.values()), rel=0.1)
    assert 2000 * _sojourn.quantity("time", made["links"][0]["delay"]) == pytest.approx(trip, rel=0.001)


def test_codepoints_have_the_values_of_their_rfcs() -> None:
    """RFC 2474 (CS), 2597 (AF), 3246 (EF), 5865 (VOICE-ADMIT) and 8622 (LE)."""
    selectors = {8 * n: f"cs{n}" for n in range(8)}
    assured = {10: "af11", 12: "af12", 14: "af13", 18: "af21", 20: "af22", 22: "af23"}
    assured |= {26: "af31", 28: "af32", 30: "af33", 34: "af41", 36: "af42", 38: "af43"}
    names = selectors | assured | {46: "ef", 44: "va", 1: "le"}
    assert {dscp: codepoint_name(dscp) for dscp in range(64)} == {dscp: names.get(dscp, dscp) for dscp in range(64)}


@pytest.mark.parametrize(
    ("name", "command", "host"),
    [
        ("TCP upload", "/usr/bin/netperf -P 0 -H far.example -p 12865", "far.example"),
        ("TCP upload", "/usr/bin/iperf -H far.example", "first.example"),
        ("TCP upload", "/usr/bin/netperf -p 12865 -H", "first.example"),
        ("Ping (ms) ICMP", "/usr/bin/fping -D -p 200 far.example", "far.example"),
        ("Ping (ms) other.example", "/usr/bin/ping far.example", "other.example"),
    ],
)
def test_the_far_end_is_in_the_name_or_the_command_of_a_series(name: str, command: str, host: str) -> None:
    assert host_of(name, command, {"first.example": None, "other.example": None}) == host
