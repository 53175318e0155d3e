"""A bridge between two interfaces, whose frames travel through a scenario's network."""

from __future__ import annotations

import ctypes
import platform
import socket
import struct
import threading
from contextlib import ExitStack

from sojourn import _sojourn
from sojourn.core.errors import UserError
from sojourn.core.record import Record
from sojourn.core.scenario import Scenario
from sojourn.linux.kernel import Capture
from sojourn.live.priority import prefer

ETH_P_ALL = 0x0003
SOL_PACKET, PACKET_ADD_MEMBERSHIP, PACKET_IGNORE_OUTGOING = 263, 1, 23
PACKET_MR_PROMISC = 1
SO_RCVBUFFORCE = 33
BUFFER = 1 << 24
"""Bytes that wait in a socket until the router reads them."""

SIOCETHTOOL = 0x8946
OFFLOADS = {"GRO": (0x2B, 0x2C), "GSO": (0x23, 0x24), "TSO": (0x1E, 0x1F)}
"""For each offload the commands that read and set it.

They make frames that are larger than those on the wire.
"""


def _ethtool(name: str, command: int, value: int) -> int:
    """Reads or sets a value of an interface. Raises `OSError` if the interface does not have it."""
    import fcntl  # here, because other systems lack it

    argument = ctypes.create_string_buffer(struct.pack("II", command, value))
    request = struct.pack("16sP", name.encode(), ctypes.addressof(argument)).ljust(40, b"\0")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCETHTOOL, request)
    return int(struct.unpack("II", argument.raw[:8])[1])


def _without_offloads(name: str, stack: ExitStack) -> None:
    """Switches off what merges frames, until the stack is closed."""
    for read, write in OFFLOADS.values():
        try:
            before = _ethtool(name, read, 0)
            if before:
                _ethtool(name, write, 0)
                stack.callback(_ethtool, name, write, before)
        except OSError:
            continue  # an interface without this offload


def _open(name: str) -> socket.socket:
    """A socket for all frames of an interface. Raises `UserError` for an unknown one."""
    try:
        number = socket.if_nametoindex(name)
    except OSError:
        raise UserError.unknown("--bridge", name, [each for _, each in socket.if_nameindex()]) from None
    try:
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
    except OSError as error:
        raise UserError(f"--bridge: expected the right to open packet sockets, got: {error.strerror}") from None
    made.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    made.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, struct.pack("iHH8s", number, PACKET_MR_PROMISC, 0, b""))
    made.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
    made.bind((name, ETH_P_ALL))
    return made


class Bridge:
    """Two interfaces, and the network between them.

    The first interface is that of the scenario's first host, where the data of its first group begins.

    Parameters
    ----------
    scenario : Scenario
        A scenario with `host = "live"` and two hosts.
    interfaces : tuple of str
        The names of the interfaces. They need no addresses, and must be up.
    seed : int, optional
        Seed of the network's random numbers (default: the scenario's).
    realtime : bool, default False
        Whether the router has a real-time priority and locked memory.

    Raises
    ------
    UserError
        An interface is unknown, or the scenario does not have two hosts.
    """

    def __init__(
        self, scenario: Scenario, interfaces: tuple[str, str], seed: int | None = None, *, realtime: bool = False
    ) -> None:
        if platform.system() != "Linux":
            raise UserError.expected("--bridge", "Linux", platform.system())
        self.network = _sojourn.LiveNetwork(scenario.for_engine(), scenario.file, seed)
        if (count := len(self.network.hosts())) != 2:
            raise UserError.expected(f"{scenario.label}: flows", "groups between two hosts for --bridge", count)
        self._realtime, self._stack = realtime, ExitStack()
        try:
            self._sockets = [self._stack.enter_context(_open(name)) for name in interfaces]
            for name in interfaces:
                _without_offloads(name, self._stack)
        except BaseException:
            self._stack.close()
            raise

    def run(self, capture: Capture | None = None) -> Record:
        """Passes frames until the scenario's duration has passed, and returns the record.

        Ctrl-C ends it earlier.
        """
        found: list[Record] = []
        failed: list[BaseException] = []
        ended = threading.Event()

        def serve() -> None:
            try:
                if self._realtime:
                    prefer()
                version = f"{platform.system()} {platform.release()}"
                descriptors = [each.fileno() for each in self._sockets]
                found.append(Record.from_json(*self.network.run(descriptors, version, capture, None, True)))
            except BaseException as error:  # raised again by the caller's thread
                failed.append(error)
            finally:
                ended.set()

        threading.Thread(target=serve, name="router", daemon=True).start()
        try:
            # Ctrl-C in `Thread.join` would count the thread as ended while it runs.
            while not ended.wait(0.1):
                pass
        except KeyboardInterrupt:
            self.network.stop()
            ended.wait()
        finally:
            self._stack.close()
        if failed:
            raise failed[0]
        return found[0]
