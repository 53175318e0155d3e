"""Controllers of `sojourn attach` beside those of the simulator, over the same path.

It has 10 Mbit/s, an RTT of 20 ms, and a buffer of 150 ms. CUBIC joins after 20 s.
"""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import pytest

import sojourn as sj
from sojourn.bpf import build, fields
from sojourn.live import namespaces
from sojourn.live.session import Session
from sojourn.runs.hosts import Host, on_host

lacking = build.missing() or namespaces.missing()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(lacking), reason=f"BPF programs: {lacking}")]

RATE_MBPS = 10.0
BASE_MS = 20.0
JOINS_S, END_S = 20, 30
PATH = f"""
duration = "{END_S} s"

[[links]]
name   = "line"
from   = "a"
to     = "b"
rate   = "{RATE_MBPS} Mbit/s"
delay  = "{BASE_MS / 2} ms"
queue  = {{ limit = "150 ms" }}
duplex = true
back   = {{ queue = {{ limit = "1000 packets" }} }}

[tcp]
profile = "linux"

[[flows]]
name = "background"
from = "a"
to   = "b"
tcp  = {{ control = {{ cc = "CONTROLLER" }} }}

[[flows]]
name  = "cubic"
from  = "a"
to    = "b"
start = "{JOINS_S} s"
tcp   = {{ control = {{ cc = "cubic" }} }}

[trace]
throughput = {{ flows = ["background/0"], every = "1 s" }}
queue      = {{ links = ["line"], every = "10 ms" }}
"""


@pytest.fixture(scope="module", autouse=True)
def attached() -> Iterator[None]:
    for name in fields.CONTROLLERS:
        subprocess.run([sys.executable, "-m", "sojourn", "attach", "--cc", name], check=True)
    yield
    subprocess.run([sys.executable, "-m", "sojourn", "detach"], check=True)


@dataclass(frozen=True)
class Shares:
    """Shares of the link, and the queuing delay alone.

    CUBIC counts from its third second on.
    """

    alone: float
    beside: float
    delay_ms: float


def shares(record: sj.Record) -> Shares:
    throughput = record.series["throughput/background/0"]
    share = [float(bps) / RATE_MBPS / 1e6 for bps in throughput["bps"]]
    queue = record.series["queue/line"]["packets"]
    waiting = queue[len(queue) * 10 // END_S : len(queue) * JOINS_S // END_S]
    alone, beside = share[10:JOINS_S], share[JOINS_S + 3 :]
    delay = 1500 * 8 / RATE_MBPS / 1e3 * float(sum(waiting)) / len(waiting)
    return Shares(sum(alone) / len(alone), sum(beside) / len(beside), delay)


@cache
def in_kernel(name: str) -> Shares:
    scenario = on_host(sj.loads(PATH.replace("CONTROLLER", name)), Host.LIVE)
    # Without a priority, a busy machine delays the sender by some milliseconds, at which FLOWER resets its window.
    with Session(scenario, realtime=True) as session:
        session.drive()
        return shares(session.record())


@cache
def simulated(name: str) -> list[Shares]:
    """With six seeds: BBRv3 draws the times of its probes."""
    return [shares(sj.run(sj.loads(PATH.replace("CONTROLLER", name)), seed=seed)) for seed in range(1, 7)]


@pytest.mark.parametrize("name", fields.CONTROLLERS)
def test_it_fills_an_idle_link_as_in_the_simulator(name: str) -> None:
    found, expected = in_kernel(name), simulated(name)[0]
    print(found, expected)
    assert found.alone > 0.9
    assert found.alone == pytest.approx(expected.alone, rel=0.05)
    assert found.delay_ms == pytest.approx(expected.delay_ms, abs=10)


@pytest.mark.parametrize("name", fields.CONTROLLERS)
def test_beside_cubic_it_has_no_larger_share_than_in_the_simulator(name: str) -> None:
    found, expected = in_kernel(name).beside, [each.beside for each in simulated(name)]
    print(found, expected)
    assert found <= max(expected) + 0.1


def test_bbr3_loses_as_much_in_a_shallow_buffer_as_in_the_simulator() -> None:
    alone = (
        PATH.replace("CONTROLLER", "bbr3").replace("150 ms", "20 ms").replace(f'start = "{JOINS_S} s"', 'start = "1 h"')
    )
    scenario = sj.loads(alone.replace("duration", 'warmup = "5 s"\nduration', 1))
    with Session(on_host(scenario, Host.LIVE), realtime=True) as session:
        session.drive()
        found = session.record()
    expected = [sj.run(scenario, seed=seed) for seed in range(1, 4)]
    for path, tolerance in (
        ("links.line.utilization", 0.05),
        ("links.line.loss_ratio", 0.25),
        ("links.line.queue.mean", 0.25),
    ):
        mean = sum(each.value(path) for each in expected) / len(expected)
        print(path, found.value(path), mean)
        assert found.value(path) == pytest.approx(mean, rel=tolerance)
