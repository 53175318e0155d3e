"""`trace.controller`, the state of congestion controllers; and `schedule` applications.

The rate of a `schedule` application changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.core import record_schema

PACKETS = 10e6 / (8 * 1500)
"""The link's rate, in segments a second."""


def scenario(cc: str, **changes: Any) -> sj.Scenario:
    """A flow over 10 Mbit/s and 40 ms."""
    link = {
        "name": "bottleneck",
        "from": "a",
        "to": "b",
        "rate": "10 Mbit/s",
        "delay": "20 ms",
        "duplex": True,
        "queue": {"limit": "100 packets"},
    }
    flow = {"name": "f", "from": "a", "to": "b", **changes}
    ecn = cc in ("dctcp", "prague")
    tcp = {"profile": "linux", "control": {"cc": cc}, "ecn": ecn}
    tree = {"duration": "8 s", "links": [link], "flows": [flow], "tcp": tcp}
    return sj.Scenario(tree, cc)


def traced(cc: str, **changes: Any) -> dict[str, Any]:
    """The trace of its controller."""
    asked = scenario(cc, **changes).set("trace.controller", {"flows": ["*"]})
    return dict(sj.run(asked).series["controller/f/0"])


def test_a_trace_does_not_change_the_run() -> None:
    plain = sj.run(scenario("cubic"))
    watched = sj.run(scenario("cubic").set("trace.controller", {"flows": ["*"]}))
    assert plain["fingerprint"] == watched["fingerprint"]


def test_the_states_and_the_bandwidth_of_bbr3_are_seen() -> None:
    rows = traced("bbr3")
    changed = np.flatnonzero(np.diff(rows["state"], prepend=-1.0))
    # Startup, Drain, Cruise, Refill, Up, Down, Cruise: the first Down ends with the ACK that begins it.
    assert rows["state"][changed][:7].tolist() == [0, 1, 3, 4, 5, 2, 3]
    assert rows["max_bw"][-1] == pytest.approx(PACKETS, rel=0.02)
    assert rows["min_rtt"][-1] == pytest.approx(0.04, abs=0.0002)


@pytest.mark.parametrize("cc", ["bbr", "bbr3"])
def test_the_first_round_trip_time_of_bbr_is_that_of_the_handshake(cc: str) -> None:
    """The queue grows after the flow's SYN and before its first data (Linux `bbr_init`)."""
    asked = scenario(cc).set("trace.controller", {"flows": ["late/0"]})
    asked["flows"] = [
        {"name": "early", "from": "a", "to": "b", "start": "0 s", "tcp": {"control": {"cc": "cubic"}}},
        {"name": "late", "from": "a", "to": "b", "start": "0.45 s"},
    ]
    rows = sj.run(asked).series["controller/late/0"]
    known = np.flatnonzero(np.isfinite(rows["min_rtt"]))[0]
    assert 0.04 < rows["min_rtt"][known] < 0.1
    assert rows["min_rtt"][known] == pytest.approx(rows["t"][known] - 0.45, rel=0.01)


def test_windows_are_those_of_the_trace_at_steps() -> None:
    asked = (
        scenario("cubic")
        .set("trace.controller", {"flows": ["*"]})
        .set("trace.cwnd", {"flows": ["*"], "every": "50 ms"})
    )
    series = sj.run(asked).series
    exact, steps = series["controller/f/0"], series["cwnd/f/0"]
    last = np.searchsorted(exact["t"], steps["t"], side="right") - 1
    assert (exact["cwnd"][last[1:]] == steps["packets"][1:]).all()
    assert np.isnan(exact["pacing_rate"]).all()


@pytest.mark.parametrize("cc", ["reno", "cubic", "dctcp", "prague", "copa", "ledbat", "flower", "bbr", "westwood"])
def test_every_column_has_a_unit_and_only_a_term_may_be_negative(cc: str) -> None:
    rows = traced(cc)
    known = record_schema.series_columns("controller")
    assert set(rows) - {"t"} <= set(known)
    assert len(rows["t"]) > 500
    assert all((np.isnan(column) | (column >= 0)).all() for name, column in rows.items() if not name.endswith("_term"))


def test_sessions_and_a_linux_host_have_none() -> None:
    session = scenario("reno", traffic={"kind": "transfers", "every": "100 ms", "size_mean": "10 kB"})
    session = session.set("trace.controller", {"flows": ["f/0"]})
    with pytest.raises(sj.ScenarioError, match=r"trace.controller.flows\[0\]: expected flows of one TCP connection"):
        session.resolved()
    linux = scenario("reno").set("trace.controller", {"flows": ["*"]}).set("host", "linux")
    with pytest.raises(sj.ScenarioError, match=r"trace\.controller: expected none"):
        linux.resolved()


def test_an_application_keeps_to_its_schedule() -> None:
    rates = [
        {"at": "0 s"},
        {"at": "2 s", "rate": "2 Mbit/s"},
        {"at": "4 s", "silent": True},
        {"at": "6 s", "rate": "5 Mbit/s"},
    ]
    asked = scenario("cubic", traffic={"kind": "schedule", "rates": rates})
    record = sj.run(asked.set("trace.throughput", {"flows": ["*"], "every": "1 s"}))
    mbps = record.series["throughput/f/0"]["bps"] / 1e6
    # Data in flight at 2 s arrives by 3 s.
    assert mbps[1] == pytest.approx(9.6, rel=0.02)
    assert mbps[[3, 5]] == pytest.approx([2.0, 0.0], abs=0.02)
    assert mbps[7] == pytest.approx(5.0, rel=0.01)


def test_a_schedule_over_udp_needs_rates() -> None:
    traffic = {"kind": "schedule", "transport": "udp", "rates": [{"at": "0 s"}]}
    asked = scenario("cubic", traffic=traffic)
    with pytest.raises(sj.ScenarioError, match="over UDP a rate or silent = true in each part"):
        asked.resolved()
