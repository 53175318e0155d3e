"""Losses that TCP must repair without falling into a cycle or falling silent."""

import pytest

import sojourn as sj

SCENARIO = """
duration = "60 s"
warmup = "10 s"

[[links]]
name = "line"
from = "a"
to = "b"
rate = "{rate}"
delay = "{delay}"
duplex = true
queue = {queue}

[tcp]
{tcp}

[[flows]]
name = "f"
count = {count}
from = "a"
to = "b"
access = {{ delay = {{ uniform = ["2 ms", "22 ms"] }} }}
start = {{ uniform = ["0 s", "1 s"] }}
"""


@pytest.mark.parametrize("recovery", ["newreno", "sack"])
@pytest.mark.parametrize("decrease", [0.5, 0.875])
def test_a_long_recovery_does_not_lead_from_timeout_to_timeout(recovery: str, decrease: float) -> None:
    tcp = f'profile = "rfc"\nrecovery = "{recovery}"\ncontrol = {{ cc = "reno", decrease = {decrease} }}'
    queue = '{ limit = "100 packets" }'
    text = SCENARIO.format(rate="10 Mbit/s", delay="20 ms", queue=queue, tcp=tcp, count=2)
    record = sj.run(sj.Scenario.from_toml(text))
    assert record.value("links.line.utilization") > 0.99
    assert record.value("links.line.loss_ratio") < 0.005
    assert sum(flow["timeouts"] for flow in record["flows"]) <= 1


@pytest.mark.parametrize("seed", [7, 14, 19])
def test_no_flow_falls_silent_where_a_mark_leaves_less_than_a_segment(seed: int) -> None:
    tcp = 'profile = "ns2"\nrecovery = "newreno"\necn = true\nwindow = "1000 packets"'
    queue = '{ aqm = "red", min = 15, max = 45, limit = "150 packets", ecn = true }'
    text = SCENARIO.format(rate="20 Mbit/s", delay="15 ms", queue=queue, tcp=tcp, count=40)
    record = sj.run(sj.Scenario.from_toml(text), seed=seed)
    assert min(flow["goodput_bps"] for flow in record["flows"]) > 0


def test_copies_that_the_network_makes_take_back_no_reduction_as_in_linux():
    """Duplicates beyond the number of retransmissions are ignored (Linux `tcp_dsack_seen`)."""
    link = {"name": "up", "from": "a", "to": "b", "rate": "20 Mbit/s", "delay": "25 ms", "duplex": True}
    losses, copies = ({"kind": kind, "probability": part} for kind, part in (("loss", 0.001), ("duplication", 0.01)))
    mbit = []
    for impairments in ([losses], [copies, losses]):
        scenario = sj.Scenario(
            {
                "duration": "40 s",
                "warmup": "10 s",
                "tcp": {"profile": "linux", "control": {"cc": "cubic"}},
                "links": [link | {"queue": {"limit": "100 packets"}, "impairments": impairments}],
                "flows": [{"name": "f", "from": "a", "to": "b"}],
            }
        )
        seeds = sj.run_many([scenario], 4)[0]
        mbit.append(sum(record["flows"][0]["goodput_bps"] for record in seeds) / 4e6)
    assert mbit[1] == pytest.approx(mbit[0], rel=0.15)
