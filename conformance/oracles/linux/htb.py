"""The shares of nested `htb` classes in Linux: what classes of a link are judged by.

`sudo python -m conformance.oracles.linux.htb` runs every case of `TABLE` on the running kernel and writes the rates of
the classes into its last column. `cargo test -p sojourn-aqm` compares them with those of `crates/aqm`. A case is an
`htb` of its own in a network namespace, over a `veth` pair without a rate. Each class gets datagrams as fast as it
takes them. The kernel's link has 1 Mbit/s instead of 10 Mbit/s, so the late timers of a busy machine do not matter.
Bursts are in bytes, so the order of the packets is the same.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

TABLE = Path(__file__).parents[3] / "crates/aqm/src/qdisc/classes/tests/linux_htb.txt"
LINK, SLOWER = 10, 10
"""The rate of the table's link in Mbit/s, and by how much the kernel's is slower."""
BURST, PACKET = 1600, 1000
"""The burst of every class, and the length of a packet with its Ethernet header, in bytes."""
HEADERS = 14 + 20 + 8
NEVER, IDLE = "-", "idle"


@dataclass(frozen=True)
class Row:
    """A class of a case, as the table has it."""

    case: str
    name: str
    parent: str
    rate: str
    ceil: str
    priority: str
    quantum: str
    found: str

    @property
    def is_busy(self) -> bool:
        """Whether it is a leaf that always has packets."""
        return self.priority != NEVER and self.found != IDLE


def rows() -> list[Row]:
    """Every class of the table."""
    return [Row(*line.split()) for line in TABLE.read_text().splitlines() if not line.startswith("#")]


def run(command: str) -> str:
    """Runs a command and returns what it prints."""
    return subprocess.run(command.split(), check=True, capture_output=True, text=True).stdout


@contextmanager
def namespace(name: str) -> Iterator[str]:
    """Makes a network namespace with the device `near` and yields the prefix of commands in it."""
    run(f"ip netns add {name}")
    try:
        inside = f"ip netns exec {name} "
        run(inside + "ip link add name near type veth peer name far")
        run(inside + "ip addr add 10.9.0.1/24 dev near")
        run(inside + "ip link set near up")
        run(inside + "ip link set far up")
        run(inside + "ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev near")
        yield inside
    finally:
        run(f"ip netns del {name}")


def send(name: str, classid: int) -> None:
    """Sends datagrams of a class for ever, in this namespace."""
    handle = os.open(f"/run/netns/{name}", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(handle, 0):
        raise OSError(ctypes.get_errno(), "setns")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 200_000)
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, classid)
        while True:
            sender.sendto(bytes(PACKET - HEADERS), ("10.9.0.2", 9))


def rate(mbit: str) -> str:
    """A rate of the table, for `tc`."""
    return f"{round(float(mbit) * 1e6 / SLOWER)}bit"


def sent(inside: str) -> dict[int, int]:
    """Bytes that each class has sent."""
    found = re.findall(
        r"class htb 1:([0-9a-f]+) .*?Sent (\d+) bytes", run(inside + "tc -s class show dev near"), re.DOTALL
    )
    return {int(classid, 16): int(count) for classid, count in found}


def measure(case: list[Row], seconds: float) -> list[Row]:
    """The rows of a case with the rates that the kernel gives, in Mbit/s of the table's link."""
    name = f"htb-{case[0].case}"
    numbers = {row.name: number for number, row in enumerate(case, start=2)} | {NEVER: 1}
    bursts = f"burst {BURST} cburst {BURST}"
    with namespace(name) as inside:
        run(inside + "tc qdisc add dev near root handle 1: htb")
        root = rate(str(LINK))
        run(inside + f"tc class add dev near parent 1: classid 1:1 htb rate {root} ceil {root} {bursts}")
        for row in case:
            place = f"parent 1:{numbers[row.parent]:x} classid 1:{numbers[row.name]:x}"
            turns = "" if row.priority == NEVER else f"prio {row.priority} quantum {row.quantum}"
            rates = f"rate {rate(row.rate)} ceil {rate(row.ceil)}"
            run(inside + f"tc class add dev near {place} htb {rates} {bursts} {turns}")
        process = get_context("spawn").Process
        senders = [process(target=send, args=(name, 0x1_0000 + numbers[row.name])) for row in case if row.is_busy]
        for sender in senders:
            sender.start()
        time.sleep(5)
        start, before = time.monotonic(), sent(inside)
        time.sleep(seconds)
        passed, after = time.monotonic() - start, sent(inside)
        for sender in senders:
            sender.kill()
            sender.join()
    bits = {name: (after[number] - before[number]) * 8 * SLOWER for name, number in numbers.items()}
    mbit = {row.name: f"{bits[row.name] / passed / 1e6:.2f}" for row in case}
    return [row if row.found == IDLE else replace(row, found=mbit[row.name]) for row in case]


def main() -> None:
    """Measures the table's cases, at the same time, and stores what was found."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=float, default=200.0, help="how long each case is measured; default 200")
    seconds = options.parse_args().seconds
    stored = rows()
    cases = [[row for row in stored if row.case == case] for case in dict.fromkeys(row.case for row in stored)]
    with ThreadPoolExecutor(len(cases)) as pool:
        found = [row for case in pool.map(lambda case: measure(case, seconds), cases) for row in case]
    release = os.uname().release.split("-")[0]
    head = f"# Mbit/s of classes by `htb` of Linux {release}, by `python -m conformance.oracles.linux.htb`.\n"
    columns = Row("# case", "class", "parent", "rate", "ceil", "priority", "quantum", "Linux")
    widths = (28, 6, 7, 5, 5, 9, 8, 0)
    lines = [
        "".join(f"{text:<{width}}" for text, width in zip(vars(row).values(), widths, strict=True))
        for row in (columns, *found)
    ]
    TABLE.write_text(head + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
