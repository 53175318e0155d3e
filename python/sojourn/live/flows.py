"""The scenario's own flows over sockets of this machine."""

from __future__ import annotations

import json
import math
import socket
import struct
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
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

BACKLOG = 128
"""Connections of a session that wait to be accepted."""

LONGEST_WAIT_S = 0.5
EVERY_S = 0.01
"""Time between two looks at the senders."""

IP_HEADERS = 28
ECT0, ECT1 = 2, 1
TCP_NOTSENT_LOWAT = 25
INFO_BYTES = 248
CA_STATE, SSTHRESH, CWND, TIMEOUTS = 1, 76, 80, 240
"""The places of fields in the kernel's `tcp_info`. Linux before 6.7 does not count timeouts."""

RECOVERY = 3
"""The state `TCP_CA_Recovery`."""


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


def flows_of(
    network: _sojourn.LiveNetwork, hosts: list[HostNamespace], label: str, groups: Collection[str]
) -> list[Flow]:
    """The flows of these groups. Raises `UserError` for those that this machine can't send."""
    found = [(n, about) for n, about in enumerate(json.loads(network.flows())) if group_of(about) in groups]
    if len(found) > MOST_FLOWS:
        raise UserError(f"{label}: flows: expected at most {MOST_FLOWS} live, got {len(found)}")
    known = congestion_controls()
    for _, about in found:
        where = f"{label}: flows.{group_of(about)}"
        if about["requests"]:
            raise UserError(f"{where}.traffic: expected traffic without requests live, got {about['kind']}")
        if about["tcp"]:
            about["tcp"]["controller"] = controller_of(about["tcp"], known, f"{where}.tcp.control")
    return [Flow(n, about, hosts[about["source"]], hosts[about["destination"]]) for n, about in found]


def group_of(about: Mapping[str, Any]) -> str:
    """The name of a flow's group."""
    return str(about["name"]).rpartition("/")[0]


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

    def __init__(self, network: _sojourn.LiveNetwork, flows: list[Flow], *, realtime: bool = False) -> None:
        self._network, self._flows, self._realtime = network, flows, realtime
        self._stopped = threading.Event()
        self._threads: list[threading.Thread] = []
        self._open: list[socket.socket] = []
        self._senders: dict[socket.socket, int] = {}
        """The numbers of the flows of open connections."""
        self._start = math.nan
        self._seen: dict[socket.socket, tuple[bool, int]] = {}
        self._looking = threading.Lock()
        for flow in flows:
            self._receivers(flow)

    def _thread(self, work: Callable[[], None]) -> threading.Thread:
        def quietly() -> None:
            if self._realtime:
                prefer(SENDERS)
            with suppress(OSError):  # the sockets are closed at the end
                work()

        thread = threading.Thread(target=quietly, daemon=True)
        self._threads.append(thread)
        return thread

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
            receiver.listen(BACKLOG)
            self._thread(lambda: self._accept(receiver))
        elif flow.about["echoes"]:
            self._thread(lambda: self._echo(receiver))
        else:
            self._thread(lambda: self._read(receiver))
        self._thread(lambda: self._send(flow))

    def _accept(self, receiver: socket.socket) -> None:
        while not self._stopped.is_set():
            accepted = receiver.accept()[0]
            self._open.append(accepted)
            self._thread(partial(self._read, accepted)).start()

    def _read(self, receiver: socket.socket) -> None:
        buffer = bytearray(1 << 18)
        while receiver.recv_into(buffer) or receiver.type == socket.SOCK_DGRAM:
            pass
        receiver.close()

    def _echo(self, receiver: socket.socket) -> None:
        while not self._stopped.is_set():
            data, sender = receiver.recvfrom(1 << 16)
            if sender:  # none after a shutdown
                receiver.sendto(data, sender)

    def begin(self) -> None:
        """Starts all threads, at time 0 of the run."""
        self._start = time.monotonic()
        if any(flow.about["tcp"] for flow in self._flows):
            self._thread(self._look)
        for thread in list(self._threads):
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
        if source.is_session():
            self._hold_session(flow, source)
            return
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
        self._close(sender)

    def _close(self, sender: socket.socket) -> None:
        number = self._senders.pop(sender, None)
        if number is not None:
            self._network.note_senders([self._state(number, sender)])
        self._seen.pop(sender, None)
        sender.close()

    def _hold_session(self, flow: Flow, source: _sojourn.LiveSource) -> None:
        """Opens the connections of a session, the next of which may depend on the end of others."""
        changed = threading.Event()
        while not self._stopped.is_set():
            left = self._start + source.due() - time.monotonic()
            if left > 0:
                changed.wait(min(left, LONGEST_WAIT_S))
                changed.clear()
                continue
            size, _ = source.act()
            if size:
                self._thread(partial(self._transfer, flow, source, size, changed)).start()

    def _transfer(self, flow: Flow, source: _sojourn.LiveSource, size: int, changed: threading.Event) -> None:
        """Sends the data of a session's connection, until the receiver has closed it."""
        opened = time.monotonic() - self._start
        sender = self._socket(flow.source, flow)
        self._connect(sender, flow)
        for start in range(0, size, len(CHUNK)):
            sender.sendall(CHUNK[: size - start])
        sender.shutdown(socket.SHUT_WR)
        sender.recv(1)
        closed = time.monotonic() - self._start
        self._close(sender)
        self._open.remove(sender)
        self._network.note_completed([(flow.number, opened, closed, size)])
        source.on_complete(closed)
        changed.set()

    def _connect(self, sender: socket.socket, flow: Flow) -> None:
        tcp = flow.about["tcp"]
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, tcp["controller"].encode())
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sender.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT)
        sender.connect(flow.target)
        self._senders[sender] = flow.number

    def _send_endlessly(self, sender: socket.socket, source: _sojourn.LiveSource) -> None:
        """Writes until the next action is due."""
        sender.settimeout(0.05)
        while not self._stopped.is_set() and self._start + source.due() > time.monotonic():
            with suppress(TimeoutError):
                sender.send(CHUNK)
        sender.settimeout(None)

    def _state(self, number: int, sender: socket.socket) -> tuple[int, int, int, int, int]:
        """A flow's windows, and the recoveries and timeouts since the last call."""
        info = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, INFO_BYTES).ljust(INFO_BYTES, b"\0")
        cwnd, ssthresh = (struct.unpack_from("I", info, place)[0] for place in (CWND, SSTHRESH))
        recovers, timeouts = info[CA_STATE] == RECOVERY, struct.unpack_from("H", info, TIMEOUTS)[0]
        with self._looking:
            recovered, before = self._seen.get(sender, (False, 0))
            self._seen[sender] = recovers, timeouts
        return number, cwnd, ssthresh, int(recovers and not recovered), timeouts - before

    def _look(self) -> None:
        """Reports the states of all senders at equal intervals."""
        while not self._stopped.wait(EVERY_S):
            found = []
            for sender, number in list(self._senders.items()):
                with suppress(OSError):
                    found.append(self._state(number, sender))
            self._network.note_senders(found)

    def stop(self) -> None:
        """Ends all threads."""
        self._stopped.set()
        for each in list(self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in list(self._threads):
            if thread.ident is not None:
                thread.join(1.0)
