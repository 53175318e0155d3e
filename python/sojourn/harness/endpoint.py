"""The interface to a transport that is not ours."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple, TypeAlias


class Ecn(IntEnum):
    """The two ECN bits of an IP header (rfc3168#5).

    >>> Ecn(3)
    <Ecn.CE: 3>
    """

    NOT_ECT = 0
    ECT1 = 1
    ECT0 = 2
    CE = 3


class State(NamedTuple):
    """What an endpoint reports after each call.

    >>> State(delivered=1000).complete
    False
    """

    window: float | None = None
    """The congestion window in bytes; None if it has none."""
    rtt: float | None = None
    """The latest sample of the round-trip time in seconds."""
    delivered: int = 0
    """Bytes that its receiving application has read since the start."""
    complete: bool = False
    """Whether a finite transfer is complete: its peer has acknowledged all bytes."""


class Endpoint:
    """One end of a connection, without I/O and without a clock.

    Times are in seconds since the start of the run and never go back. After each call of `write`, `stop`, `receive` and
    `on_timeout`, the harness calls `transmit` until it returns None, then `timeout`, then `state`. An exception ends
    the run.

    >>> class Sink(Endpoint):
    ...     def receive(self, now, payload, ecn):
    ...         pass
    ...     def transmit(self, now):
    ...         return None
    >>> Sink().timeout() is None
    True
    """

    def write(self, now: float, size: int | None, last: bool) -> None:
        """The application writes `size` bytes; None is data without end.

        A later write with a number ends data without end: what was not yet sent is discarded. `last` is True if no
        write follows. Only the sending end is called.
        """

    def stop(self, now: float) -> None:
        """The application stops: data that was not yet sent is discarded."""

    def receive(self, now: float, payload: bytes, ecn: int) -> None:
        """A datagram arrives; `ecn` is its codepoint, an `Ecn`."""
        raise NotImplementedError

    def transmit(self, now: float) -> bytes | tuple[bytes, int] | None:
        """The next datagram to send now, or None.

        It has no IP and UDP headers. A tuple has the ECN codepoint too. Bytes alone are not ECN-capable.
        """
        raise NotImplementedError

    def timeout(self) -> float | None:
        """The time at which `on_timeout` must be called; None without a timer."""
        return None

    def on_timeout(self, now: float) -> None:
        """The time of `timeout` has come; `now` is not before it."""

    def state(self) -> State | None:
        """The state of this end; None is that of an end without a window, which read nothing."""
        return None


Host: TypeAlias = Callable[[str, int], tuple[Endpoint, Endpoint]]
"""Makes the sender and the receiver of a flow, from its name and a seed."""
