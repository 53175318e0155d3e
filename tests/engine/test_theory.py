"""The engine against theory, with more packets than unoptimized tests in Rust can simulate."""

import math

import numpy as np

import sojourn as sj


def lossy(p: float, seconds: int) -> sj.Scenario:
    """Four flows over a link that is never full and loses packets at random."""
    return sj.loads(
        f"""
duration = "{seconds} s"
warmup = "20 s"
[[links]]
name = "link"
from = "A"
to = "B"
rate = "1 Gbit/s"
delay = "50 ms"
duplex = true
queue = {{ limit = "100000 packets" }}
impairments = [{{ kind = "loss", probability = {p} }}]
[tcp]
recovery = "sack"
mss = "1000 B"
window = "10000 packets"
delayed_ack = false
handshake = "none"
[[flows]]
name = "ftp"
count = 4
from = "A"
to = "B"
"""
    )


def per_rtt(record: sj.Record) -> float:
    """Segments that a flow carries in a round trip."""
    return record.value("total.goodput_bps") / 4 / 8_000 * record.value("groups.ftp.rtt_ms.mean") * 1e-3


def test_throughput_under_rare_loss_follows_the_inverse_root_of_its_probability() -> None:
    """Mathis, Semke, Mahdavi and Ott 1997.

    A window that is halved at a loss and grows by a segment a round trip carries C/sqrt(p) segments a round trip, where
    C is sqrt(3/2) = 1.22 for losses at equal gaps and 1.31 for losses at random.
    """
    constants = []
    for p, seconds in ((0.004, 200), (0.001, 400), (0.0004, 800)):
        [records] = sj.run_many(lossy(p, seconds), seeds=8, threads=1)
        constant = np.array([per_rtt(record) for record in records]) * math.sqrt(p)
        mean = constant.mean()
        half = 5.408 * constant.std(ddof=1) / math.sqrt(8)  # Student, 99.9 %, 7 degrees of freedom
        assert half < 0.1, f"p = {p}: the constant is {mean} ± {half}"
        assert 1.22 - 0.1 - half < mean < 1.31 + 0.1 + half, f"p = {p}: the constant is {mean} ± {half}"
        constants.append(mean)
    assert max(constants) / min(constants) < 1.12, f"the constant should not depend on p: {constants}"
