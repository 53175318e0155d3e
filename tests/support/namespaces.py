"""A real path between network namespaces: sender, router with a bottleneck, receiver.

A program that delays packets connects sender and router by TUN devices, because the kernel's netem is often absent.
"""

import ctypes
import fcntl
import heapq
import os
import select
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from sojourn.live.namespaces import CLONE_NEWNET, IFF_NO_PI, IFF_TUN, TUNSETIFF

TCP_INFO, TCP_CONGESTION = 11, 13
PORT = 5001
RECEIVER, SENDER = "10.77.2.1", "10.77.1.1"
PREFIX = f"sj{os.getpid()}"


@contextmanager
def in_turn() -> Iterator[None]:
    """Waits until no other process tests programs or namespaces in this kernel."""
    with (Path(tempfile.gettempdir()) / "sojourn-kernel-tests.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run(*words: str) -> str:
    """Runs a command and returns its output."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
    return done.stdout


def enter(namespace: str) -> None:
    """Moves the calling thread into a network namespace."""
    with Path(f"/run/netns/{namespace}").open() as file:
        assert ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET) == 0


def within(namespace: str, action: Callable[[], None]) -> threading.Thread:
    """Starts a thread in a network namespace."""

    def body() -> None:
        enter(namespace)
        action()

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    return thread


def tun(namespace: str, name: str) -> int:
    """A TUN device in a network namespace."""
    files: list[int] = []

    def opened() -> None:
        file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(file, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
        files.append(file)

    within(namespace, opened).join()
    return files[0]


class Path3:
    """Three namespaces: sender, router and receiver.

    The router sends to the receiver through the queue discipline of its device `out`.
    """

    def __init__(self, delay_s: float, discipline: str) -> None:
        self.delay_s = delay_s
        self.sender, self.router, self.receiver = (f"{PREFIX}{end}" for end in "srd")
        for name in (self.sender, self.router, self.receiver):
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        self.files = [tun(self.sender, "in"), tun(self.router, "in")]
        run(
            "ip",
            "link",
            "add",
            "out",
            "netns",
            self.router,
            "type",
            "veth",
            "peer",
            "name",
            "in",
            "netns",
            self.receiver,
        )
        for name, device, address in (
            (self.sender, "in", f"{SENDER}/24"),
            (self.router, "in", "10.77.1.2/24"),
            (self.router, "out", "10.77.2.2/24"),
            (self.receiver, "in", f"{RECEIVER}/24"),
        ):
            run("ip", "-n", name, "address", "add", address, "dev", device)
            run("ip", "-n", name, "link", "set", device, "up")
        run("ip", "-n", self.sender, "route", "add", "default", "via", "10.77.1.2")
        run("ip", "-n", self.receiver, "route", "add", "default", "via", "10.77.2.2")
        run("ip", "netns", "exec", self.router, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        run("tc", "-n", self.router, "qdisc", "add", "dev", "out", "root", *discipline.split())
        self.ended = threading.Event()
        self.relay = os.fork()
        if self.relay == 0:
            self._relay()
        within(self.receiver, self._serve)

    def _relay(self) -> NoReturn:
        """Delays packets in both directions by half the delay.

        It is a process, so that no thread delays them further.
        """
        waiting: list[tuple[float, int, int, bytes]] = []
        count = 0
        while True:
            patience = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
            for file in select.select(self.files, [], [], patience)[0]:
                to = self.files[1 - self.files.index(file)]
                while True:
                    try:
                        packet = os.read(file, 65536)
                    except BlockingIOError:
                        break
                    count += 1
                    heapq.heappush(waiting, (time.monotonic() + self.delay_s / 2, count, to, packet))
            while waiting and waiting[0][0] <= time.monotonic():
                _, _, to, packet = heapq.heappop(waiting)
                os.write(to, packet)

    def _serve(self) -> None:
        """Receives all connections."""
        listener = socket.create_server((RECEIVER, PORT))
        listener.settimeout(0.1)
        connections: list[socket.socket] = []
        while not self.ended.is_set():
            readable = select.select([listener, *connections], [], [], 0.1)[0]
            for each in readable:
                if each is listener:
                    connections.append(listener.accept()[0])
                    continue
                try:
                    data = each.recv(1 << 20)
                except OSError:
                    data = b""
                if not data:
                    connections.remove(each)
                    each.close()
        listener.close()

    def use_ecn(self, used: bool) -> None:
        """Switches ECN of new connections on or off."""
        for name in (self.sender, self.receiver):
            run("ip", "netns", "exec", name, "sysctl", "-qw", f"net.ipv4.tcp_ecn={int(used)}")

    def close(self) -> None:
        """Removes all that was made."""
        self.ended.set()
        os.kill(self.relay, signal.SIGKILL)
        os.waitpid(self.relay, 0)
        for file in self.files:
            os.close(file)
        for name in (self.sender, self.router, self.receiver):
            run("ip", "netns", "del", name)


@dataclass(frozen=True)
class Moment:
    """What a connection knows at a time."""

    time_s: float
    rtt_ms: float
    cwnd: int
    acked: int
    retransmissions: int


@dataclass
class Transfer:
    """A connection that sends for a while from the sender."""

    path: Path3
    controller: str
    duration_s: float
    start_s: float = 0.0
    moments: list[Moment] = field(default_factory=list)

    def start(self) -> threading.Thread:
        """Starts it after `start_s`."""
        return within(self.path.sender, self._send)

    def _send(self) -> None:
        time.sleep(self.start_s)
        with socket.socket() as connection:
            connection.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, self.controller.encode())
            connection.connect((RECEIVER, PORT))
            connection.setblocking(False)
            began, data = time.monotonic(), bytes(65536)
            while (now := time.monotonic() - began) < self.duration_s:
                if select.select([], [connection], [], 0.02)[1]:
                    connection.send(data)
                if not self.moments or now - self.moments[-1].time_s + self.start_s >= 0.05:
                    self._look(connection, now + self.start_s)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def _look(self, connection: socket.socket, now: float) -> None:
        info = connection.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 232)
        places = (("I", 68), ("I", 80), ("Q", 120), ("I", 100))
        rtt, cwnd, acked, retransmissions = (struct.unpack_from(form, info, at)[0] for form, at in places)
        self.moments.append(Moment(now, rtt / 1000, cwnd, acked, retransmissions))

    def within(self, start_s: float, end_s: float) -> list[Moment]:
        """The moments between two times."""
        return [each for each in self.moments if start_s <= each.time_s <= end_s]

    def rate_mbps(self, start_s: float, end_s: float) -> float:
        """The acknowledged bytes per time between two times, in Mbit/s."""
        seen = self.within(start_s, end_s)
        return (seen[-1].acked - seen[0].acked) * 8e-6 / (seen[-1].time_s - seen[0].time_s)

    def rtt_ms(self, start_s: float, end_s: float) -> float:
        """The mean RTT between two times."""
        seen = self.within(start_s, end_s)
        return sum(each.rtt_ms for each in seen) / len(seen)


def together(*transfers: Transfer) -> None:
    """Runs transfers at the same time."""
    for thread in [each.start() for each in transfers]:
        thread.join()
