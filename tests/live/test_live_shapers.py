"""A live link against the kernel's own shapers, `tbf` and `htb` over `pfifo`."""

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import sojourn as sj
from sojourn.live.namespaces import missing
from sojourn.live.session import Session
from sojourn.runs.hosts import Host, on_host
from tests.live.test_live import CLIENT, SERVER, python
from tests.live.test_live_bridge import Box, wait_for

pytestmark = [
    pytest.mark.skipif(bool(missing()), reason=f"live runs: {missing()}"),
    pytest.mark.skipif(shutil.which("tc") is None, reason="needs tc"),
]

RATE, PACKETS, SECONDS = 20e6, 50, 4
DRAINED_S = 2
"""Time in which what the client's socket holds is sent."""
LINK = f"""
name     = "tbf"
duration = "60 s"

[[links]]
name  = "line"
from  = "a"
to    = "b"
rate  = "{RATE} bit/s"
queue = {{ limit = "{PACKETS} packets" }}

[[links]]
name = "back"
from = "b"
to   = "a"

[[flows]]
name = "up"
from = "a"
to   = "b"
"""
FLOOD = """
import socket, sys, time
flood = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
flood.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
flood.connect((sys.argv[1], 9000))
size, rate, seconds = 1472, float(sys.argv[2]), float(sys.argv[3])
start = time.monotonic()
number = 0
while time.monotonic() < start + seconds:
    while number * 1500 * 8 < (time.monotonic() - start) * rate:
        flood.send(number.to_bytes(8, "big") + bytes(size - 8))
        number += 1
    time.sleep(0.0005)
print(number)
"""
SINK = """
import socket, sys, time
sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
sink.bind(("", 9000))
times = []
sink.settimeout(20)
while True:
    try:
        sink.recv(2000)
    except TimeoutError:
        break
    sink.settimeout(2)
    times.append(time.monotonic())
print(len(times), times[-1] - times[0])
"""


# A packet has 14 B of Ethernet here. With a bucket for fewer packets, late timers would cost some of the rate.
ON_WIRE = f"rate {round(RATE * 1514 / 1500)}bit burst 16kb"
SHAPERS = {
    "tbf": [f"tc qdisc add dev eth0 root handle 1: tbf {ON_WIRE} limit {PACKETS * 2000}"],
    "htb": [
        "tc qdisc add dev eth0 root handle 1: htb default 1",
        f"tc class add dev eth0 parent 1: classid 1:1 htb {ON_WIRE}",
    ],
}


@contextmanager
def shaped(shaper: str) -> Iterator[tuple[Box, Box]]:
    """Two hosts with a veth pair, of which one end has a shaper over `pfifo`."""
    a, b = Box(), Box()
    try:
        a.run(f"ip link add eth0 type veth peer name eth0 netns {b.id}")
        for box, address in ((a, "10.77.0.1"), (b, "10.77.0.2")):
            box.run(f"ip address add {address}/24 dev eth0", "ip link set eth0 up")
        a.run("ip link set eth0 gso_max_segs 1")
        a.run(*SHAPERS[shaper], f"tc qdisc add dev eth0 parent 1:1 handle 10: pfifo limit {PACKETS}")
        yield a, b
    finally:
        for box in (a, b):
            box.thread.shutdown()


def flooded_by_kernel(shaper: str) -> tuple[float, float]:
    with shaped(shaper) as (a, b):
        sink = b.start(*python(SINK))
        time.sleep(1)
        flood = a.start(*python(FLOOD, "10.77.0.2", str(1.5 * RATE), str(SECONDS)))
        sent, _ = flood.communicate(timeout=60)
        printed, _ = sink.communicate(timeout=60)
    return rate_and_loss(sent, printed)


def flooded_live() -> tuple[float, float]:
    with Session(on_host(sj.loads(LINK), Host.LIVE)) as session:
        session.begin()
        options = {"stdout": -1, "text": True}
        sink = session.start(("b", python(SINK)), **options)
        wait_for(lambda: session.host("b").is_listening())
        flood = session.start(("a", python(FLOOD, "{peer}", str(1.5 * RATE), str(SECONDS))), **options)
        sent, _ = flood.communicate(timeout=60)
        printed, _ = sink.communicate(timeout=60)
    return rate_and_loss(str(sent), str(printed))


def rate_and_loss(sent: str, printed: str) -> tuple[float, float]:
    received, span = printed.split()
    return (int(received) - 1) * 1500 * 8 / float(span), 1 - int(received) / int(sent)


@pytest.mark.slow
@pytest.mark.parametrize("shaper", SHAPERS)
def test_a_flood_of_datagrams_has_the_rate_and_the_losses_of_the_kernels_shaper(shaper: str) -> None:
    (kernel_rate, kernel_loss), (rate, loss) = flooded_by_kernel(shaper), flooded_live()
    print(kernel_rate, rate, kernel_loss, loss)
    assert rate == pytest.approx(kernel_rate, rel=0.02)
    assert loss == pytest.approx(kernel_loss, rel=0.15)


def tcp_by_kernel(shaper: str) -> float:
    with shaped(shaper) as (a, b):
        server = b.start(*python(SERVER))
        time.sleep(1)
        a.start(*python(CLIENT, "10.77.0.2", str(SECONDS))).wait(60)
        time.sleep(DRAINED_S)
        counters = b.thread.submit(read_bytes).result()
        server.kill()
    return counters / SECONDS


def tcp_live() -> float:
    with Session(on_host(sj.loads(LINK), Host.LIVE)) as session:
        session.begin()
        session.start(("b", python(SERVER)))
        wait_for(lambda: session.host("b").is_listening())
        session.start(("a", python(CLIENT, "{peer}", str(SECONDS)))).wait(60)
        time.sleep(DRAINED_S)
        record = session.record()
    return float(record.value("groups.up.throughput_bps") * record["duration_s"] / 8 / SECONDS)


def read_bytes() -> int:
    """Bytes that `eth0` of this namespace has received, without Ethernet headers."""
    with open("/proc/thread-self/net/dev", encoding="ascii") as file:
        fields = next(line.split() for line in file if line.strip().startswith("eth0:"))
    return int(fields[1]) - 14 * int(fields[2])


@pytest.mark.slow
@pytest.mark.parametrize("shaper", SHAPERS)
def test_a_download_is_as_fast_as_behind_the_kernels_shaper(shaper: str) -> None:
    kernel, live = tcp_by_kernel(shaper), tcp_live()
    print(kernel * 8, live * 8, file=sys.stderr)
    assert live == pytest.approx(kernel, rel=0.05)
