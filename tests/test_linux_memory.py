"""On a Linux host the network limits flows, and not the memory of the guest."""

import sojourn as sj
from test_linux_live import live

SCENARIO = """
host = "linux"
duration = "8 s"
[[links]]
name = "bottleneck"
from = "a"
to = "b"
rate = "100 Mbit/s"
delay = "50 ms"
duplex = true
queue = { limit = "840 packets" }
[[flows]]
name = "f"
count = 10
from = "a"
to = "b"
start = { uniform = ["0 s", "1 s"] }
traffic = { kind = "bulk" }
tcp = { profile = "linux", control = { cc = "bbr" } }
"""


@live
def test_receivers_keep_what_they_have_acknowledged_by_sack() -> None:
    """One that is short of memory drops segments above a gap (Linux `tcp_prune_ofo_queue`), which are sent again."""
    record = sj.run(SCENARIO)
    resent, dropped = (sum(flow[count] for flow in record["flows"]) for count in ("retransmitted", "dropped"))
    assert dropped > 1000
    assert resent <= 1.02 * dropped
