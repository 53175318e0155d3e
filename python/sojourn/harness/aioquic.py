"""Endpoints of aioquic.

A client opens one stream and writes the application's data to it. The server reads it, and ends its side of the stream
when it has read all.

```python
from sojourn import harness
from sojourn.harness.aioquic import host

network = harness.Dumbbell("10 Mbit/s", "40 ms").queue("codel").flow("quic", "aioquic").tcp("ours", "cubic")
done = harness.run(network, {"aioquic": host("cubic")})
```

Controllers of the registry have names such as `sojourn:ledbat++`. aioquic has no ECN. Its keys and connection IDs are
random in every run, but no size and no time depends on them.
"""

from __future__ import annotations

import ssl
from collections import deque
from datetime import datetime
from functools import cache
from typing import Any

from sojourn.core.errors import UserError
from sojourn.core.extras import require

require("aioquic")

from aioquic.buffer import Buffer  # type: ignore[attr-defined] # noqa: E402 - a missing extra comes first
from aioquic.quic import events  # noqa: E402
from aioquic.quic.configuration import QuicConfiguration  # noqa: E402
from aioquic.quic.congestion import base, cubic, reno  # noqa: E402, F401 - the last two register themselves
from aioquic.quic.connection import QuicConnection  # noqa: E402
from aioquic.quic.packet import pull_quic_header  # noqa: E402
from cryptography import x509  # noqa: E402
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: E402
from cryptography.x509.oid import NameOID  # noqa: E402

from sojourn.harness import aioquic_controllers  # noqa: E402
from sojourn.harness.endpoint import Endpoint, Host, State  # noqa: E402

aioquic_controllers.register()

START_S = 1.0
"""Time 0 of a run on aioquic's clock. Some of its fields use 0 for "never"."""
AHEAD = 256 * 1024
"""Bytes that the application has written beyond those that were sent."""
ADDRESS = ("10.0.0.1", 4433)
"""The address of both ends. The harness connects them without addresses."""


def host(controller: str | None = None, **options: Any) -> Host:
    """Makes the endpoints of flows.

    `controller` is a congestion controller that aioquic knows, or `sojourn:NAME` for one of the registry (default:
    aioquic's default). `options` are fields of both ends' `QuicConfiguration`. Raises `UserError` for an unknown
    controller or option.
    """
    if controller is not None:
        options["congestion_control_algorithm"] = controller
    try:
        algorithm = QuicConfiguration(**options).congestion_control_algorithm
    except TypeError as error:
        raise UserError(f"host: expected fields of aioquic's QuicConfiguration, got {error}") from None
    if algorithm not in base._factories:
        raise UserError.unknown("host: controller of aioquic", algorithm, sorted(base._factories))

    def pair(name: str, seed: int) -> tuple[Endpoint, Endpoint]:  # noqa: ARG001 - nothing depends on the name
        return Client(options, seed), Server(options, seed)

    return pair


@cache
def _certificate() -> tuple[x509.Certificate, Ed25519PrivateKey]:
    """A certificate whose size is equal in every run: a random serial number would change it."""
    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server.test")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, datetime(2020, 1, 1), datetime(2100, 1, 1))
    return builder.sign(key, None), key


class _End(Endpoint):
    """What both ends have in common."""

    connection: QuicConnection | None = None
    read = 0
    complete = False

    def __init__(self, options: dict[str, Any], seed: int) -> None:
        self.options, self.seed = options, seed
        self.clock = START_S
        self.sent_bytes = 0
        self.sending: deque[bytes] = deque()

    def connected(self) -> QuicConnection:
        """The connection of this end."""
        raise NotImplementedError

    def at(self, now: float) -> float:
        """The time of aioquic's clock, which never goes back."""
        self.clock = max(self.clock, START_S + now)
        return self.clock

    def on_data(self, connection: QuicConnection, event: events.StreamDataReceived) -> None:
        """Handles data of the stream."""
        raise NotImplementedError

    def drive(self) -> None:
        """Handles all events of the connection."""
        while self.connection is not None and (event := self.connection.next_event()) is not None:
            if isinstance(event, events.StreamDataReceived):
                self.on_data(self.connection, event)
            elif isinstance(event, events.ConnectionTerminated):
                raise ConnectionError(f"the connection is lost: {event.reason_phrase or hex(event.error_code)}")

    def receive(self, now: float, payload: bytes, ecn: int) -> None:  # noqa: ARG002 - aioquic has no ECN
        """See `Endpoint`."""
        if self.connection is None:
            self.accept(payload)
        self.connected().receive_datagram(payload, ADDRESS, self.at(now))
        self.drive()

    def accept(self, payload: bytes) -> None:
        """Makes the connection that the first datagram opens."""

    def transmit(self, now: float) -> bytes | None:
        """See `Endpoint`."""
        if not self.sending and self.connection is not None:
            self.sending.extend(data for data, _ in self.connection.datagrams_to_send(self.at(now)))
        if not self.sending:
            return None
        self.sent_bytes += len(self.sending[0])
        return self.sending.popleft()

    def timeout(self) -> float | None:
        """See `Endpoint`."""
        timer = None if self.connection is None else self.connection.get_timer()
        return None if timer is None else timer - START_S

    def on_timeout(self, now: float) -> None:
        """See `Endpoint`."""
        connection = self.connected()
        # The subtraction in `timeout` may have rounded the time down.
        self.clock = max(self.at(now), connection.get_timer() or 0.0)
        connection.handle_timer(self.clock)
        self.drive()

    def state(self) -> State:
        """See `Endpoint`. aioquic has window and RTT only in private fields."""
        if self.connection is None:
            return State()
        recovery = self.connection._loss
        rtt = recovery._rtt_latest if recovery._rtt_initialized else None
        return State(recovery.congestion_window, rtt, self.read, self.complete)


class Client(_End):
    """The sending end."""

    stream = 0
    written = left = 0
    endless = last = False

    def connected(self) -> QuicConnection:
        """The connection, which the first write opens."""
        if self.connection is None:
            configuration = QuicConfiguration(is_client=True, verify_mode=ssl.CERT_NONE, **self.options)
            self.connection = QuicConnection(configuration=configuration)
            aioquic_controllers.seed(self.connection._loss._cc, self.seed)
            self.connection.connect(ADDRESS, now=self.clock)
            self.stream = self.connection.get_next_available_stream_id()
        return self.connection

    def write(self, now: float, size: int | None, last: bool) -> None:
        """See `Endpoint`."""
        self.at(now)
        connection = self.connected()
        if self.endless and size is not None:
            connection.reset_stream(self.stream, 0)
            self.stream, self.endless, self.written = connection.get_next_available_stream_id(), False, self.sent_bytes
        self.endless |= size is None
        self.left += size or 0
        self.last |= last and size is not None

    def stop(self, now: float) -> None:  # noqa: ARG002 - aioquic needs no time
        """See `Endpoint`."""
        if self.connection is not None and not self.complete:
            self.connection.reset_stream(self.stream, 0)
        self.endless, self.left = False, 0

    def transmit(self, now: float) -> bytes | None:
        """See `Endpoint`. Writes as much as the stream may need next."""
        room = AHEAD + self.sent_bytes - self.written
        size = room if self.endless else min(room, self.left)
        if size > 0 or (self.last and self.left == 0):
            ends = self.last and not self.endless and size == self.left
            self.connected().send_stream_data(self.stream, bytes(max(size, 0)), end_stream=ends)
            self.last &= not ends
            self.written += max(size, 0)
            self.left -= 0 if self.endless else max(size, 0)
        return super().transmit(now)

    def on_data(self, connection: QuicConnection, event: events.StreamDataReceived) -> None:  # noqa: ARG002
        """The server ends the stream when it has read all data."""
        self.complete |= event.end_stream


class Server(_End):
    """The receiving end."""

    def connected(self) -> QuicConnection:
        """The connection, which the first datagram opens."""
        if self.connection is None:
            raise ConnectionError("expected a datagram that opens the connection first")
        return self.connection

    def accept(self, payload: bytes) -> None:
        """Makes the connection that the first datagram opens."""
        certificate, key = _certificate()
        configuration = QuicConfiguration(is_client=False, certificate=certificate, private_key=key, **self.options)
        first = pull_quic_header(Buffer(data=payload), configuration.connection_id_length).destination_cid
        self.connection = QuicConnection(configuration=configuration, original_destination_connection_id=first)
        aioquic_controllers.seed(self.connection._loss._cc, self.seed)

    def on_data(self, connection: QuicConnection, event: events.StreamDataReceived) -> None:
        """Counts data, and answers its end."""
        self.read += len(event.data)
        if event.end_stream:
            connection.send_stream_data(event.stream_id, b"", end_stream=True)
