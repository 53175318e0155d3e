"""A live run: its hosts, its router and its programs."""

from __future__ import annotations

import json
import platform
import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from sojourn import _sojourn
from sojourn.core.errors import RunError, UserError
from sojourn.core.record import Record
from sojourn.core.record_files import Series
from sojourn.core.scenario import Scenario
from sojourn.linux.kernel import Capture
from sojourn.live.flows import FIRST_PORT, Traffic, flows_of
from sojourn.live.namespaces import HostNamespace, check_machine
from sojourn.live.priority import prefer

READY_S = 2.0
"""The longest time for which a program waits until the servers listen."""

Program = tuple[str, Sequence[str]]
"""The name of a host, and a program with its arguments."""


def program_host(network: Any) -> tuple[str, str]:
    """The hosts between which a program runs by default: the ends of the first group of flows."""
    names = [name for name, *_ in network.hosts()]
    _, source, destination = network.ends()[0]
    return names[source], names[destination]


class Session:
    """Hosts of a scenario, and the router between them.

    Leaving the block of a `with` ends everything.

    Parameters
    ----------
    scenario : Scenario
        A scenario with `host = "live"`.
    seed : int, optional
        Seed of the network's random numbers (default: the scenario's).
    capture : tuple, optional
        An existing file for the packets, the captured links and the captured hosts.
    realtime : bool, default False
        Whether the router and the scenario's own flows have a real-time priority and locked memory.

    Raises
    ------
    UserError
        The machine lacks something, or the scenario has no flows.
    RunError
        A host can't be made.
    """

    def __init__(
        self, scenario: Scenario, seed: int | None = None, capture: Capture | None = None, *, realtime: bool = False
    ) -> None:
        check_machine("live")
        self._scenario, self._capture, self._realtime = scenario, capture, realtime
        self.network = _sojourn.LiveNetwork(scenario.for_engine(), scenario.file, seed)
        found = self.network.hosts()
        if not found:
            raise UserError(f"{scenario.label}: flows: expected groups between the hosts, got none")
        self.hosts: dict[str, HostNamespace] = {}
        self._stack = ExitStack()
        self._result: tuple[str, Series] | None = None
        self._error: BaseException | None = None
        self._router = threading.Thread(target=self._serve, name="router", daemon=True)
        self._ended = threading.Event()
        self._traffic: Traffic | None = None
        try:
            for name, *addresses in found:
                host = HostNamespace(name, addresses, _sojourn.LIVE_NETWORKS, self.network.mtu())
                self._stack.callback(host.close)
                self.hosts[name] = host
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.network.stop()
        if self._router.is_alive():
            self._router.join()
        if self._traffic is not None:
            self._traffic.stop()
        self._stack.close()

    def begin(self, sends: Collection[str] = ()) -> None:
        """Starts the router, at time 0 of the run, and the flows of the groups in `sends`.

        Raises `UserError` for an unknown group, and for a flow that sockets of this machine can't send.
        """
        groups = [name for name, *_ in self.network.ends()]
        for name in sends:
            if name not in groups:
                raise UserError.unknown("--send", name, groups)
        hosts = list(self.hosts.values())
        marked = any((flow["tcp"] or {}).get("ecn") for flow in json.loads(self.network.flows()))
        for host in hosts:
            host.set_ecn(marked)
        if sends:
            flows = flows_of(self.network, hosts, self._scenario.label, sends)
            self._traffic = Traffic(self.network, flows, realtime=self._realtime)
        self._router.start()
        if self._traffic is not None:
            self._traffic.begin()

    def _serve(self) -> None:
        try:
            if self._realtime:
                prefer()
            descriptors = [host.descriptor for host in self.hosts.values()]
            version = f"{platform.system()} {platform.release()}"
            own_port = None if self._traffic is None else FIRST_PORT
            self._result = self.network.run(descriptors, version, self._capture, own_port)
        except BaseException as error:  # raised again in `record`
            self._error = error
        finally:
            self._ended.set()

    def host(self, name: str) -> HostNamespace:
        """The host of this name. Raises `UserError` for an unknown name."""
        if name not in self.hosts:
            raise UserError.unknown("--at", name, self.hosts)
        return self.hosts[name]

    def start(self, program: Program, **options: Any) -> subprocess.Popen[bytes]:
        """Starts a program at a host.

        `{NAME}` in its arguments becomes the address of a host, and `{peer}` that of the other end of the first group.
        """
        name, arguments = program
        first, last = program_host(self.network)
        peer = self.hosts[first if name == last else last]
        known = {host.name: host.addresses[0] for host in self.hosts.values()} | {"peer": peer.addresses[0]}
        replaced = [_replaced(argument, known) for argument in arguments]
        environment = {
            "SOJOURN_HOST": name,
            "SOJOURN_PEER": peer.addresses[0],
            "SOJOURN_PEER_IPV6": peer.addresses[1],
            "SOJOURN_HOSTS": " ".join(f"{host}={address}" for host, address in known.items() if host != "peer"),
        }
        return self.host(name).start(replaced, environment, **options)

    def run(self, program: Program, servers: Sequence[Program] = (), visit: Callable[[], None] | None = None) -> int:
        """Starts servers, then a program, and waits until it or the run ends.

        Returns its exit code; 0 if it was stopped at the end of the duration. `visit` is called meanwhile.
        """
        # The scenario's own flows listen too.
        before = {name: self.host(name).listeners() for name, _ in servers}
        for server in servers:
            self.start(server, stdin=subprocess.DEVNULL)
        until = time.monotonic() + READY_S
        while time.monotonic() < until and any(self.host(name).listeners() <= count for name, count in before.items()):
            time.sleep(0.02)
        process = self.start(program)
        self.wait(lambda: process.poll() is not None, visit)
        return process.returncode or 0

    def wait(self, done: Callable[[], bool], visit: Callable[[], None] | None = None) -> None:
        """Waits until `done` or until the run ends."""
        # Ctrl-C in `Thread.join` would count the router as ended while it runs.
        while not self._ended.is_set() and not done():
            self._ended.wait(0.05)
            if visit is not None:
                visit()

    def drive(self, visit: Callable[[], None] | None = None) -> None:
        """Runs the scenario's own flows until its duration has passed. `visit` is called meanwhile."""
        self.begin([name for name, *_ in self.network.ends()])
        self.wait(lambda: False, visit)

    def state(self) -> dict[str, Any] | None:
        """The state of links and groups; None before the first packet."""
        text = self.network.snapshot()
        return json.loads(text) if text else None

    def record(self) -> Record:
        """Ends the run and returns its record. Raises the error of a run that failed."""
        self.network.stop()
        self._router.join()
        if self._error is not None:
            raise self._error
        if self._result is None:
            raise RunError("live: expected a run before its record, got none")
        text, series = self._result
        data = json.loads(text)
        pace = data["host"]["pace"]
        pace["unread"] = sum(host.unread() for host in self.hosts.values())
        pace["kept_up"] = pace["kept_up"] and pace["unread"] == 0
        return Record.from_json(json.dumps(data), series)


def _replaced(argument: str, addresses: Mapping[str, str]) -> str:
    """An argument with the addresses of the hosts that it names in braces."""
    for name, address in addresses.items():
        argument = argument.replace(f"{{{name}}}", address)
    return argument


def program_at(text: str) -> Program:
    """The program that a text such as `b=iperf3 -s` names. Raises `UserError` for others."""
    name, _, command = text.partition("=")
    try:
        arguments = shlex.split(command)
    except ValueError as error:
        raise UserError(f'--at: expected HOST=COMMAND, got "{text}": {error}') from None
    if not name or not arguments:
        raise UserError.expected("--at", "HOST=COMMAND, such as b='iperf3 -s'", text)
    return name, arguments


def run_live(scenario: Scenario, seed: int, capture: Capture | None = None) -> Record:
    """Runs the flows of a scenario over this machine's TCP. Raises as `Session` does."""
    with Session(scenario, seed, capture) as session:
        session.drive()
        return session.record()
