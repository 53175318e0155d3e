"""`sojourn import` of a Flent result at its limits: the scenario, and the notes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from sojourn.core.errors import Note
from sojourn.imports import flent_results
from tests.imports.test_flent_import import PING, STEPS, Values, controllers, flat, imported, named, rates, result

pytestmark = pytest.mark.no_libraries

BOTH = {PING: flat(20), "TCP upload": flat(5)}
"""A result with a probe and a transfer."""


def during(value: float, first: int, last: int) -> Values:
    """A series with a value at the steps from `first` to `last`."""
    return [value if first <= step <= last else None for step in range(STEPS)]


def damaged(**changes: Any) -> dict[str, Any]:
    """A valid result with other fields; None removes one."""
    return {key: value for key, value in (result(BOTH) | changes).items() if value is not None}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([1], "expected a table, got [1]"),
        (["x" * 50], f'expected a table, got ["{"x" * 38}'),
        (damaged(metadata=None), "metadata: expected a table, got none"),
        (damaged(metadata=[]), "metadata: expected a table, got []"),
        (damaged(x_values={}), "x_values: expected a list, got {}"),
        (damaged(results=3), "results: expected a table, got 3"),
        *(
            (damaged(x_values=x), "x_values: expected two or more rising times from 0 s on, got others")
            for x in ([0], [0, None], [1, 1], [0, 2, 1], [-1, 0], [0, 1e12], [0, True])
        ),
        (
            damaged(x_values=[0, 0.25], metadata={"STEP_SIZE": 0.2}),
            "x_values: expected times in steps of STEP_SIZE, 0.2 s, got 0.25 s",
        ),
        (
            result({"TCP upload": [1.0]}),
            f"results.TCP upload: expected a list of {STEPS} values, got another",
        ),
        (
            result({"TCP upload": flat(1e12)}),
            "results.TCP upload: expected numbers of 0 or more, or null, got others",
        ),
        (result({}), 'results: expected series "TCP upload" or "TCP download" with values, got none'),
        (
            result({f"Ping (ms)::{n}": flat(9) for n in range(4)}),
            'results: expected series "TCP upload" or "TCP download" with values, '
            'got "Ping (ms)::0", "Ping (ms)::1", "Ping (ms)::2"',
        ),
        (result({"TCP upload": flat(1)}), 'results: expected a probe ("Ping (ms) ...") that shows a round-trip time'),
        (
            result({PING: flat(2000.5), "TCP upload": flat(1)}),
            'results: expected a round trip of at most 2000 ms without load, got "2000.5 ms"',
        ),
    ],
)
def test_what_is_wrong_with_a_result_is_said_in_one_line(tmp_path: Path, data: Any, said: str) -> None:
    with pytest.raises(sj.UserError) as error:
        imported(tmp_path, data)
    assert str(error.value).startswith(f"{tmp_path / 'x.flent'}: {said}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (gzip.compress(bytes(64_000_001)), "more than 64,000,000 bytes"),
        (gzip.compress(b"[1, 2]", mtime=0)[:-4], "a file that ends too early"),
        (b"[" + 2_000_000 * b"1," + b"1]", "expected at most 2000000 values, lists and tables"),
    ],
)
def test_a_file_that_unpacks_to_too_much_or_too_little_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "x.flent.gz").write_bytes(content)
    with pytest.raises(sj.UserError, match=r"expected a result of Flent \(JSON, packed by gzip\), got .*" + said):
        sj.import_file(tmp_path / "x.flent.gz")


def test_a_packed_file_of_as_many_bytes_as_allowed_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps(result(BOTH)).encode()
    monkeypatch.setattr(flent_results, "MOST_BYTES", len(text) + 1)
    (tmp_path / "x.flent.gz").write_bytes(gzip.compress(text))
    assert rates(sj.import_file(tmp_path / "x.flent.gz")) == (5, 5)
    monkeypatch.setattr(flent_results, "MOST_BYTES", len(text))
    with pytest.raises(sj.UserError, match=f"more than {len(text):,} bytes"):
        sj.import_file(tmp_path / "x.flent.gz")


def test_two_times_from_zero_on_and_values_of_zero_are_enough(tmp_path: Path) -> None:
    data = result({PING: [0.0, 2000.0], "TCP upload": [0, 999_999.0]}) | {"x_values": [0.5, 1.5]}
    made, _ = imported(tmp_path, data)
    assert (made["duration"], made["links"][0]["delay"]) == ("2.5 s", "1000 ms")
    assert (named(made)["tcp-upload"]["start"], rates(made)[0]) == ("1.5 s", 999_999)


@pytest.mark.parametrize(
    ("rate", "trip", "packets"),
    # One bandwidth-delay product of packets of 1,500 B, or 20 packets if that is more
    [(1200, 400, 40_000), (1, 12, 20), (2.5, 100, 21)],
)
def test_the_queue_holds_a_bandwidth_delay_product(tmp_path: Path, rate: float, trip: float, packets: int) -> None:
    made, _ = imported(tmp_path, result({PING: flat(trip), "TCP upload": flat(rate)}))
    assert made["links"][0]["queue"] == {"aqm": "droptail", "limit": f"{packets} packets"}


def test_the_rate_that_is_given_is_that_of_both_directions(tmp_path: Path) -> None:
    made, _ = imported(tmp_path, result(BOTH | {"TCP download": flat(9)}), rate="7 Mbit/s")
    assert made["links"][0]["rate"] == "7 Mbit/s"
    assert "back" not in made["links"][0]


def test_a_scenario_traces_its_flows_and_the_round_trips_of_its_probes(tmp_path: Path) -> None:
    made, _ = imported(tmp_path, result(BOTH, NAME=""))
    assert made["trace"] == {
        "throughput": {"flows": ["*"], "every": "200 ms"},
        "rtt": {"flows": ["ping-ms-icmp/*"]},
    }
    assert made["name"] == "flent"
    without, _ = imported(tmp_path, result({"TCP upload": flat(5)}), rtt="20 ms")
    assert set(without["trace"]) == {"throughput"}


def test_a_flow_that_runs_for_a_part_of_the_time_has_its_rate_in_that_part(tmp_path: Path) -> None:
    made, _ = imported(tmp_path, result({PING: flat(20), "TCP upload": during(8, 10, 29)}))
    assert rates(made)[0] == 8


@pytest.mark.parametrize(
    ("last", "rate", "noted"),
    # Two flows of 4 Mbit/s. The second runs with the first for a quarter of the time, and for less.
    [(24, 8, False), (23, 4.96, True)],
)
def test_flows_add_up_if_they_run_together_for_a_quarter_of_the_time(
    tmp_path: Path, last: int, rate: float, noted: bool
) -> None:
    series = {PING: flat(20), "TCP download": flat(4), "TCP download 2": during(4, 0, last)}
    made, notes = imported(tmp_path, result(series))
    assert rates(made)[1] == pytest.approx(rate)
    said = "the downloads did not all overlap: together they reached 4.96 Mbit/s, but their means add up to 8 Mbit/s"
    assert notes == [said] * noted


@pytest.mark.parametrize(("part", "noted"), [(1.0, False), (1.1, True)])
def test_means_that_add_up_to_more_by_a_tenth_are_no_note(tmp_path: Path, part: float, noted: bool) -> None:
    # One flow of 8 Mbit/s, and two that take turns beside it: 9 Mbit/s of 10 together, or 9.1 of 10.2.
    series = {"TCP upload": flat(8), "TCP upload 2": during(part, 0, 49), "TCP upload 3": during(part, 50, 99)}
    made, notes = imported(tmp_path, result({PING: flat(20)} | series))
    assert rates(made)[0] == pytest.approx(8 + part)
    assert len(notes) == noted


def test_probes_have_the_sizes_of_flents_tools_and_its_steps(tmp_path: Path) -> None:
    # ping sends 56 B with 28 B of headers; netperf's UDP_RR as irtt's replacement has 60 B in all.
    made, _ = imported(tmp_path, result(BOTH | {"Ping (ms) UDP BE": flat(20)}))
    assert named(made)["ping-ms-icmp"]["traffic"] == {"kind": "ping", "every": "200 ms", "size": "84 B"}
    assert named(made)["ping-ms-udp-be"]["traffic"]["size"] == "60 B"


def test_the_nearest_host_has_no_delay_of_its_own(tmp_path: Path) -> None:
    made, _ = imported(tmp_path, result(BOTH))
    assert all("access" not in flow and "egress" not in flow for flow in made["flows"])


def test_flows_of_sctp_run_as_tcp_with_a_note(tmp_path: Path) -> None:
    made, notes = imported(tmp_path, result({PING: flat(20), "SCTP upload": flat(5)}))
    assert "traffic" not in named(made)["sctp-upload"]
    assert notes == ['these run as TCP flows: "SCTP upload"']


def test_a_flow_stops_if_it_ends_before_the_last_step(tmp_path: Path) -> None:
    flows = {f"TCP upload {last}": during(5, 3, last) for last in (97, 98, 99)}
    made, _ = imported(tmp_path, result({PING: flat(20)} | flows))
    assert [flow.get("stop") for flow in made["flows"][:3]] == ["19.4 s", "19.6 s", None]
    assert {flow["start"] for flow in made["flows"][:3]} == {"0.6 s"}


@pytest.mark.parametrize(
    ("given", "size"),
    # iperf 2 sends 1,470 B over UDP by default; IPv4 and UDP take 28 B.
    [("abc", 1498), ("0", 1498), ("65001", 1498), ("65000", 65_028), ("1", 29), (200, 228)],
)
def test_the_size_of_datagrams_is_that_of_the_test_or_iperfs(tmp_path: Path, given: str | int, size: int) -> None:
    series = {PING: flat(20), "UDP upload": flat(1)}
    made, _ = imported(tmp_path, result(series, TEST_PARAMETERS={"udp_pktsize": given}))
    assert named(made)["udp-upload"]["traffic"]["size"] == f"{size} B"


def test_as_many_names_as_a_note_has_are_all(tmp_path: Path) -> None:
    _, notes = imported(tmp_path, result(BOTH | {name: flat(1) for name in "ABC"}))
    assert notes == ['a scenario has no such traffic, so these series are left out: "A", "B", "C"']


def test_hosts_are_those_that_the_metadata_name(tmp_path: Path) -> None:
    series = {PING: flat(20), f"{PING} b": flat(40), "TCP upload a": flat(1), "TCP upload b": flat(1)}
    made, notes = imported(tmp_path, result(series, HOSTS=["", 5, "a", "b"], HOST=None))
    delays = {name: flow.get("egress") for name, flow in named(made).items()}
    assert (delays["tcp-upload-a"], delays["tcp-upload-b"]) == (None, {"delay": "10 ms"})
    assert notes == []


def test_a_controller_that_is_none_of_ours_leaves_the_flows_others(tmp_path: Path) -> None:
    made, notes = imported(tmp_path, result(BOTH | {"TCP download": flat(1)}, TEST_PARAMETERS={"cc": "bic"}))
    assert (set(controllers(made).values()), made["tcp"]["control"]["cc"]) == ({None}, "cubic")
    assert notes == ["unknown congestion control bic: its flows use cubic"]
    with pytest.warns(Note, match=r"unknown congestion control bic, hybla, veno: its flows"):
        sj.import_file(_with(tmp_path, BIC=1, HYBLA=1, VENO=1, YEAH=1))


def _with(folder: Path, **words: float) -> Path:
    series = BOTH | {f"TCP download {word}": flat(rate) for word, rate in words.items()}
    (folder / "y.flent").write_text(json.dumps(result(series)))
    return folder / "y.flent"


def test_a_mean_may_be_in_kilobits(tmp_path: Path) -> None:
    about = {"TCP upload": {"MEAN_VALUE": 2500, "UNITS": "Kbits/s"}}
    made, _ = imported(tmp_path, result(BOTH, SERIES_META=about))
    assert rates(made)[0] == 2.5


@pytest.mark.parametrize(
    ("dscp", "name"),
    # RFC 2474 (CS), RFC 2597 (AF), RFC 3246 (EF), RFC 5865 (VA), RFC 8622 (LE)
    [
        (1, "le"),
        (8, "cs1"),
        (16, "cs2"),
        (24, "cs3"),
        (32, "cs4"),
        (40, "cs5"),
        (48, "cs6"),
        (56, "cs7"),
        (10, "af11"),
        (12, "af12"),
        (14, "af13"),
        (18, "af21"),
        (28, "af32"),
        (34, "af41"),
        (38, "af43"),
        (44, "va"),
        (46, "ef"),
        (3, 3),
        (63, 63),
        (0, None),
    ],
)
def test_a_dscp_has_the_name_of_its_rfc_or_its_number(tmp_path: Path, dscp: int, name: str | int | None) -> None:
    # The byte of the socket has the DSCP in its upper six bits.
    about = {"TCP upload": {"DATA_TOS": 4 * dscp + 2}}
    made, _ = imported(tmp_path, result(BOTH, SERIES_META=about))
    assert named(made)["tcp-upload"].get("dscp") == name


@pytest.mark.parametrize(
    ("label", "name"),
    # The classes of 802.11e: background, video and voice have these precedences; best effort has none.
    [("BE", None), ("BK", "cs1"), ("VI", "cs5"), ("VO", "cs7"), ("CS0", None), ("6VO2", "cs7"), ("VOX", None)],
)
def test_a_label_stands_for_a_dscp(tmp_path: Path, label: str, name: str | None) -> None:
    made, _ = imported(tmp_path, result({PING: flat(20), f"TCP upload {label}": flat(1)}))
    assert made["flows"][0].get("dscp") == name


@pytest.mark.parametrize(
    ("tos", "dscp"),
    [("0xb8", "ef"), (255, 63), ("255", 63), (256, "cs1"), (-1, "cs1"), ("cs5", "cs1"), (None, "cs1"), ("", "cs1")],
)
def test_a_byte_that_is_none_leaves_the_label(tmp_path: Path, tos: Any, dscp: str | int) -> None:
    series = {PING: flat(20), "TCP upload BK": flat(1)}
    made, _ = imported(tmp_path, result(series, SERIES_META={"TCP upload BK": {"DATA_TOS": tos}}))
    assert made["flows"][0]["dscp"] == dscp
