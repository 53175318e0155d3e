"""Hosts as anonymous network namespaces, each with a TUN device."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import struct
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from sojourn.core.errors import RunError, UserError

Result = TypeVar("Result")

TUN = Path("/dev/net/tun")
DEVICE = "sojourn0"

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000

WAITING = 10_000
"""Packets that wait in a device until the router reads them; more are lost."""

PROGRAMS = ("ip", "setpriv", "unshare", "sh")

GUARD = '[ "$PPID" = "$1" ] || exit 1; shift; exec unshare --pid --fork --kill-child -- "$@"'
"""Ends a program and its descendants when its parent is killed.

`setpriv` sets the signal for the death of the parent, so a parent that died before it is detected here. The program is
the first process of a PID namespace: if it dies, so do all of its descendants.
"""


def missing() -> str:
    """What this machine lacks for live runs; "" if nothing."""
    if not hasattr(os, "geteuid"):
        return "expected Linux"
    if absent := [program for program in PROGRAMS if shutil.which(program) is None]:
        return f"expected the programs {', '.join(PROGRAMS)}, got no {', '.join(absent)}"
    if not TUN.exists():
        return f"expected the device {TUN}, got none: load the kernel module tun"
    with ThreadPoolExecutor(1) as thread:
        try:
            thread.submit(_unshare).result()
        except OSError as error:
            return f"expected the right to make network namespaces, as root has, got: {error.strerror}"
    return ""


def check_machine(where: str) -> None:
    """Raises `UserError` if this machine can't run live."""
    if lacks := missing():
        raise UserError(f"{where}: {lacks}")


def _unshare() -> None:
    """Moves the calling thread into a new network namespace."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class HostNamespace:
    """A host: a network namespace with a device `sojourn0`.

    A thread holds the namespace. Its programs are children of this thread, so they end when the process ends.

    Parameters
    ----------
    name : str
        The host's name in the scenario.
    addresses : sequence of str
        Its IPv4 and its IPv6 address.
    networks : sequence of str
        The networks of all hosts, in IPv4 and IPv6.
    mtu : int
        The largest packet in bytes.
    """

    def __init__(self, name: str, addresses: Sequence[str], networks: Sequence[str], mtu: int) -> None:
        self.name, self.addresses = name, tuple(addresses)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"host {name}")
        self.descriptor = -1
        self._programs: list[subprocess.Popen[bytes]] = []
        try:
            self.call(_unshare)
            self.descriptor = self.call(_open_tun)
            self.call(lambda: _configure(self.addresses, networks, mtu))
        except OSError as error:
            self.close()
            raise RunError(f"host {name}: {error.strerror or error}") from None

    def call(self, work: Callable[[], Result]) -> Result:
        """Executes work in the namespace."""
        return self._thread.submit(work).result()

    def start(
        self, arguments: Sequence[str], environment: Mapping[str, str], **options: Any
    ) -> subprocess.Popen[bytes]:
        """Starts a program in the namespace. Raises `UserError` if it can't be found."""
        if shutil.which(arguments[0]) is None:
            raise UserError(f'host {self.name}: expected a program, got "{arguments[0]}", which is not installed')
        command = ["setpriv", "--pdeathsig", "KILL", "sh", "-c", GUARD, "sh", str(os.getpid()), *arguments]
        merged = {**os.environ, **environment}
        process = self.call(lambda: subprocess.Popen(command, env=merged, **options))
        self._programs.append(process)
        return process

    def set_ecn(self, on: bool) -> None:
        """Whether TCP asks for ECN; if not, it accepts what others ask for."""
        self.call(lambda: Path("/proc/sys/net/ipv4/tcp_ecn").write_text("1" if on else "2", encoding="ascii"))

    def unread(self) -> int:
        """Packets that the device has dropped because they were not read in time."""
        text = self.call(lambda: Path("/proc/thread-self/net/dev").read_text(encoding="ascii"))
        counters = next(line.split() for line in text.splitlines() if line.strip().startswith(f"{DEVICE}:"))
        return int(counters[12])

    def is_listening(self) -> bool:
        """Whether a program waits for connections or datagrams."""
        return self.listeners() > 0

    def listeners(self) -> int:
        """The number of sockets that wait for connections or datagrams."""
        return self.call(_listeners)

    def close(self) -> None:
        """Ends the programs, and removes device and namespace."""
        for process in self._programs:
            process.kill()
            process.wait()
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
        self._thread.shutdown()


def _open_tun() -> int:
    """A TUN device that does not block. Each read and write is one IP packet."""
    import fcntl  # here, because other systems lack it

    descriptor = os.open(TUN, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _configure(addresses: Sequence[str], networks: Sequence[str], mtu: int) -> None:
    """Gives the device its addresses and routes."""
    v4, v6 = addresses
    lines = [
        "link set lo up",
        f"link set {DEVICE} mtu {mtu} txqueuelen {WAITING} up",
        f"address add {v4}/32 dev {DEVICE}",
        f"route add {networks[0]} dev {DEVICE} src {v4}",
    ]
    if Path("/proc/sys/net/ipv6").exists():
        lines += [f"address add {v6}/128 dev {DEVICE} nodad", f"route add {networks[1]} dev {DEVICE} src {v6}"]
    done = subprocess.run(["ip", "-batch", "-"], input="\n".join(lines).encode(), capture_output=True, check=False)
    if done.returncode:
        raise OSError(errno.EINVAL, f"ip: {done.stderr.decode(errors='replace').strip()}")


def _listeners() -> int:
    """The number of sockets of the calling thread's namespace that wait for others."""
    count = 0
    for protocol, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        path = Path("/proc/thread-self/net") / protocol
        if path.exists():
            count += sum(line.split()[3] == state for line in path.read_text(encoding="ascii").splitlines()[1:])
    return count
