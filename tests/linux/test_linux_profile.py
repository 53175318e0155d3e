"""Pacing and pausing flows with the profile `linux`, compared with a kernel."""

from typing import Any

import pytest

import sojourn as sj
from tests.linux.test_linux_live import live

LINK = {"name": "link", "from": "a", "to": "b", "duplex": True, "rate": "100 Mbit/s", "delay": "25 ms"}


def scenario(tcp: dict[str, Any] | None = None, queue: str = "400 packets", **flow: Any) -> sj.Scenario:
    """One flow over 100 Mbit/s and 50 ms for 6 s."""
    flow = {"name": "f", "from": "a", "to": "b", "tcp": {"profile": "linux"} | (tcp or {})} | flow
    return sj.Scenario({"duration": "6 s", "links": [LINK | {"queue": {"limit": queue}}], "flows": [flow]})


CUBIC = {"control": {"cc": "cubic"}}
PACED = scenario(CUBIC | {"pacing": True})
STEADY = scenario(traffic={"kind": "schedule", "rates": [{"at": "0 s", "rate": "20 Mbit/s"}]})
WAITING = scenario(traffic={"kind": "schedule", "rates": [{"at": "0 s", "rate": "200 Mbit/s"}]})


def pausing(tcp: dict[str, Any], silence: float) -> sj.Scenario:
    """A flow that sends at 80 Mbit/s for 2 s, pauses for some seconds, then sends again."""
    sends = {"rate": "80 Mbit/s"}
    rates = [{"at": "0 s"} | sends, {"at": "2 s", "silent": True}, {"at": f"{2 + silence} s"} | sends]
    return scenario(tcp, traffic={"kind": "schedule", "rates": rates})


def windows(of: sj.Scenario) -> list[tuple[float, float, float]]:
    """Every 10 ms the time, the congestion window and the slow-start threshold."""
    trace = {"cwnd": {"flows": ["f/0"], "every": "10 ms"}}
    series = sj.run(of.copy().set("trace", trace)).series["cwnd/f/0"]
    return list(zip(series["t"], series["packets"], series["ssthresh"], strict=True))


@pytest.mark.parametrize("tcp", [CUBIC, CUBIC | {"pacing": True}])
def test_slow_start_reaches_the_link_whether_the_sender_paces_or_not(tcp: dict[str, Any]) -> None:
    assert sj.run(scenario(tcp)).value("total.goodput_bps") > 91e6


def test_each_write_of_a_rate_that_the_path_has_is_acknowledged_at_once() -> None:
    record = sj.run(STEADY)
    assert record.value("links.link:back.arrived") == pytest.approx(record.value("links.link.arrived"), rel=0.02)
    # Data that waits for the window is written together, so only every second segment is acknowledged.
    record = sj.run(WAITING)
    assert record.value("links.link:back.arrived") < 0.6 * record.value("links.link.arrived")


def test_what_was_in_use_does_not_count_for_a_reduction_but_the_congestion_window() -> None:
    lossy = LINK | {"queue": {"limit": "400 packets"}, "impairments": [{"kind": "loss-list", "packets": [2000]}]}
    base = scenario({"control": {"cc": "reno"}, "window": "100 packets"}).set("links", [lossy])
    changes = windows(base)
    first = next(index for index, (_, _, ssthresh) in enumerate(changes) if ssthresh < 1e6)
    largest = max(cwnd for _, cwnd, _ in changes[:first])
    assert largest > 150
    assert changes[first][2] == largest // 2


@pytest.mark.parametrize(("silence", "halvings"), [(0.15, 0), (0.4, 1), (0.7, 2)])
def test_after_a_pause_the_window_is_halved_for_each_timeout_that_has_passed(silence: float, halvings: int) -> None:
    changes = windows(pausing({"control": {"cc": "reno"}}, silence))
    before = [change for change in changes if change[0] < 2.2][-1]
    after = next(change for change in changes if change[0] > 2.005 + silence)
    assert after[1] == pytest.approx(before[1] / 2**halvings, abs=before[1] * 0.05 + 1)


def marked(count: int) -> sj.Scenario:
    """DCTCP over CoDel as Linux's, where few of the segments of a window are marked."""
    tcp = {"control": {"cc": "dctcp"}, "ecn": "dctcp"}
    queue = {"aqm": "codel", "rule": "linux", "limit": "2000 packets", "ecn": True}
    return (
        scenario(tcp, count=count).set("links", [LINK | {"queue": queue, "delay": "24.37 ms"}]).set("duration", "10 s")
    )


def test_few_marks_in_a_large_window_leave_dctcp_no_estimate() -> None:
    trace = {"controller": {"flows": ["f/0"]}}
    alpha = sj.run(marked(1).set("trace", trace)).series["controller/f/0"]["alpha"]
    assert alpha[0] > 0.9
    assert alpha[-1] < 0.02
    assert all(float(each * 1024).is_integer() for each in alpha)


@live
@pytest.mark.parametrize(("cc", "case"), [("dctcp", marked(1)), ("dctcp", marked(4)), ("vegas", None)])
def test_a_controller_of_the_kernel_does_the_same(cc: str, case: sj.Scenario | None) -> None:
    case = case or pausing({"control": {"cc": "vegas"}}, 1)
    flow = dict(case["flows"][0])
    there = sj.run(
        case.copy().set("host", "linux").set("flows", [flow | {"tcp": flow["tcp"] | {"control": {"linux": cc}}}])
    )
    here = sj.run(case)
    assert here.value("total.goodput_bps") == pytest.approx(there.value("total.goodput_bps"), rel=0.005)
    assert here.value("links.link.arrived") == pytest.approx(there.value("links.link.arrived"), rel=0.005)
    assert here.value("links.link.marked") == pytest.approx(there.value("links.link.marked"), rel=0.05, abs=2)


@live
@pytest.mark.parametrize(
    "case",
    [PACED, STEADY, WAITING, pausing({"control": {"cc": "reno"}}, 0.4), pausing(CUBIC, 0.7), pausing(CUBIC, 3)],
    ids=["paced", "steady", "waiting", "pausing for 0.4 s", "cubic pausing for 0.7 s", "cubic pausing for 3 s"],
)
def test_the_kernel_does_the_same(case: sj.Scenario) -> None:
    here, there = (sj.run(case.copy().set("host", host)) for host in ("simulator", "linux"))
    assert here.value("total.goodput_bps") == pytest.approx(there.value("total.goodput_bps"), rel=0.002)
    assert here.value("links.link.arrived") == pytest.approx(there.value("links.link.arrived"), rel=0.002)
    assert here.value("links.link.dropped_total") == pytest.approx(there.value("links.link.dropped_total"), abs=2)
