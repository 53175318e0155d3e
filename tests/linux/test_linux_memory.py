"""On a Linux host the network limits flows, not the memory of the guest."""

import sojourn as sj
from tests.linux.test_linux import SCENARIO
from tests.linux.test_linux_live import live


@live
def test_receivers_keep_what_they_have_acknowledged_by_sack() -> None:
    """A receiver without memory drops segments above a gap (Linux `tcp_prune_ofo_queue`).

    These are then retransmitted.
    """
    scenario = sj.Scenario.from_toml(SCENARIO).set("flows.ftp.count", 10).set("flows.ftp.tcp.control.cc", "bbr")
    for field, value in {"rate": "100 Mbit/s", "delay": "50 ms", "queue.limit": "840 packets"}.items():
        scenario.set(f"links.bottleneck.{field}", value)
    record = sj.run(scenario.set("warmup", "0 s"))
    resent, dropped = (sum(flow[count] for flow in record["flows"]) for count in ("retransmitted", "dropped"))
    assert dropped > 1000
    assert resent <= 1.02 * dropped
