"""The scenario's own flows over sockets of this machine."""

from __future__ import annotations

import json
import math
import socket
import struct
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sojourn import _sojourn
from sojourn.bpf.fields import CONTROLLERS
from sojourn.core.errors import UserError
from sojourn.linux.running import congestion_controls
from sojourn.live.namespaces import HostNamespace
from sojourn.live.priority import SENDERS, prefer

FIRST_PORT = 20_000
"""The port of the receiver of the first flow. The others have those after it."""

MOST_FLOWS = 400
"""The most flows of a run: each needs two threads."""

CHUNK = bytes(1 << 17)
UNSENT = 1 << 18
"""Bytes that a socket takes before it has sent them (`TCP_NOTSENT_LOWAT`)."""

BUFFER = 1 << 24
EVERY_S = 0.01
"""Time between two samples of the congestion windows."""

IP_HEADERS = 28
ECT0, ECT1 = 2, 1
TCP_NOTSENT_LOWAT = 25
INFO = struct.Struct("8B24I")
SSTHRESH, CWND = 8 + 17, 8 + 18
"""The places of both fields in the kernel's `tcp_info`."""

TAKEN = ("bulk", "cbr", "poisson", "onoff", "ping", "schedule")


@dataclass
class Flow:
    """A flow of the plan."""

    number: int
    about: dict[str, Any]
    source: HostNamespace
    destination: HostNamespace

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.about["name"])

    @property
    def target(self) -> tuple[str, int]:
        """Address and port of its receiver."""
        return self.destination.addresses[0], FIRST_PORT + self.number


def flows_of(network: _sojourn.LiveNetwork, hosts: list[HostNamespace], label: str) -> list[Flow]:
    """The flows of the plan. Raises `UserError` for those that this machine can't send."""
    found = json.loads(network.flows())
    if len(found) > MOST_FLOWS:
        raise UserError(f"{label}: flows: expected at most {MOST_FLOWS} live, got {len(found)}")
    known = congestion_controls()
    for about in found:
        where = f"{label}: flows.{about['name'].rpartition('/')[0]}"
        if about["kind"] not in TAKEN:
            raise UserError(f"{where}.traffic.kind: expected one of {', '.join(TAKEN)} live, got {about['kind']}")
        if about["tcp"]:
            about["tcp"]["controller"] = controller_of(about["tcp"], known, f"{where}.tcp.control")
    return [Flow(n, about, hosts[about["source"]], hosts[about["destination"]]) for n, about in enumerate(found)]


def controller_of(tcp: dict[str, Any], known: Collection[str], where: str) -> str:
    """The kernel's name of a flow's congestion control, which `sojourn attach` may have added."""
    own = CONTROLLERS.get(tcp["own"] or "")
    name = str(own.kernel_name if own else tcp["controller"])
    if name in known:
        return name
    has = f"a congestion control of this kernel ({', '.join(known)})"
    if own:
        raise UserError(f"{where}: expected {has}, got {tcp['own']}: `sojourn attach --cc {tcp['own']}` adds it")
    raise UserError(f"{where}: expected {has}, got {tcp['own'] or name}")


class Traffic:
    """Senders and receivers of all flows, in threads that end at `stop`."""

    def __init__(
        self, network: _sojourn.LiveNetwork, flows: list[Flow], *, trace_windows: bool, realtime: bool = False
    ) -> None:
        self._network, self._flows, self._realtime = network, flows, realtime
        self._stopped = threading.Event()
        self._threads: list[threading.Thread] = []
        self._open: list[socket.socket] = []
        self._senders: dict[int, socket.socket] = {}
        self._start = math.nan
        self._trace_windows = trace_windows
        for flow in flows:
            self._receivers(flow)

    def _thread(self, work: Callable[[], None]) -> None:
        def quietly() -> None:
            if self._realtime:
                prefer(SENDERS)
            with suppress(OSError):  # the sockets are closed at the end
                work()

        thread = threading.Thread(target=quietly, daemon=True)
        self._threads.append(thread)

    def _socket(self, host: HostNamespace, flow: Flow) -> socket.socket:
        kind = socket.SOCK_STREAM if flow.about["tcp"] else socket.SOCK_DGRAM
        made = host.call(lambda: socket.socket(socket.AF_INET, kind))
        self._open.append(made)
        made.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, flow.about["dscp"] << 2)
        return made

    def _receivers(self, flow: Flow) -> None:
        receiver = self._socket(flow.destination, flow)
        receiver.bind(flow.target)
        if flow.about["tcp"]:
            receiver.listen()
            self._thread(lambda: self._read(receiver.accept()[0]))
        elif flow.about["echoes"]:
            self._thread(lambda: self._echo(receiver))
        else:
            self._thread(lambda: self._read(receiver))
        self._thread(lambda: self._send(flow))

    def _read(self, receiver: socket.socket) -> None:
        self._open.append(receiver)
        buffer = bytearray(1 << 20)
        while receiver.recv_into(buffer) or receiver.type == socket.SOCK_DGRAM:
            pass

    def _echo(self, receiver: socket.socket) -> None:
        while not self._stopped.is_set():
            data, sender = receiver.recvfrom(1 << 16)
            if sender:  # none after a shutdown
                receiver.sendto(data, sender)

    def begin(self) -> None:
        """Starts all threads, at time 0 of the run."""
        self._start = time.monotonic()
        if self._trace_windows:
            self._thread(self._sample)
        for thread in self._threads:
            thread.start()

    def _sleep_until(self, at_s: float) -> bool:
        """Sleeps until a time of the run. Returns False if the run has ended."""
        left = self._start + at_s - time.monotonic()
        if math.isinf(left) or left > 0.005:
            return not self._stopped.wait(None if math.isinf(left) else left)
        if left > 0:
            time.sleep(left)
        return not self._stopped.is_set()

    def _send(self, flow: Flow) -> None:
        source = self._network.source(flow.number)
        if not self._sleep_until(source.due()):
            return
        sender = self._socket(flow.source, flow)
        if flow.about["tcp"]:
            self._connect(sender, flow)
        else:
            sender.connect(flow.target)
        number, last = 0, False
        while not last and self._sleep_until(source.due()):
            size, last = source.act()
            if size is None:
                self._send_endlessly(sender, source)
            elif flow.about["tcp"]:
                sender.sendall(bytes(size))
            elif size:
                sender.send(struct.pack("!H", number & 0xFFFF).ljust(max(size - IP_HEADERS, 2), b"\0"))
                number += 1
        self._senders.pop(flow.number, None)
        sender.close()

    def _connect(self, sender: socket.socket, flow: Flow) -> None:
        tcp = flow.about["tcp"]
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, tcp["controller"].encode())
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sender.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT)
        sender.connect(flow.target)
        self._senders[flow.number] = sender

    def _send_endlessly(self, sender: socket.socket, source: _sojourn.LiveSource) -> None:
        """Writes until the next action is due."""
        sender.settimeout(0.05)
        while not self._stopped.is_set() and self._start + source.due() > time.monotonic():
            with suppress(TimeoutError):
                sender.send(CHUNK)
        sender.settimeout(None)

    def _sample(self) -> None:
        """Reads the windows of all senders at equal intervals."""
        while not self._stopped.wait(EVERY_S):
            found = []
            for number, sender in list(self._senders.items()):
                with suppress(OSError):
                    info = INFO.unpack(sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, INFO.size))
                    found.append((number, info[CWND], info[SSTHRESH]))
            self._network.note_windows(found)

    def stop(self) -> None:
        """Ends all threads."""
        self._stopped.set()
        for each in list(self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(1.0)
