"""Controllers of the registry in aioquic, as `sojourn:cubic` and so on.

aioquic takes a window only, and paces by one window a round trip. It reports no marks.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from sojourn import _sojourn
from sojourn.core.extras import require

require("aioquic")

from aioquic.quic.congestion.base import (  # noqa: E402 - a missing extra comes first
    K_INITIAL_WINDOW,
    K_MINIMUM_WINDOW,
    QuicCongestionControl,
    register_congestion_control,
)
from aioquic.quic.packet_builder import QuicSentPacket  # noqa: E402

LARGEST_INITIAL_WINDOW = 14_720
"""Bytes (rfc9002#7.2)."""
GAIN = 1 / 8
"""The weight of a sample in the smoothed RTT (rfc9002#5.3)."""


class Controller(QuicCongestionControl):
    """A controller of the registry under aioquic.

    aioquic does not report whether the application limited the sender. It counts as limited if the packets in flight
    fill less than half of the window (rfc9002#7.8).
    """

    def __init__(self, name: str, *, max_datagram_size: int) -> None:
        largest = max(LARGEST_INITIAL_WINDOW, K_MINIMUM_WINDOW * max_datagram_size)
        initial = min(K_INITIAL_WINDOW * max_datagram_size, largest)
        self.driver = _sojourn.Driver(name, max_datagram_size, initial)
        self.now = self.smoothed = self.least = 0.0
        # Bytes in flight before the ACK whose end was not yet reported; None without one.
        self.before: int | None = None

    @property
    def congestion_window(self) -> int:  # type: ignore[override]
        """The window in bytes."""
        self.end_acks(None)
        return self.driver.window

    @property
    def ssthresh(self) -> int | None:  # type: ignore[override]
        """The slow start threshold in bytes; None before the first reduction."""
        return self.driver.ssthresh

    def end_acks(self, rtt: float | None) -> None:
        """Reports the end of an ACK. aioquic reports only those that measure the RTT."""
        if self.before is not None:
            limited = 2 * self.before < self.driver.window
            self.before = None
            if self.bytes_in_flight == 0:
                self.driver.on_empty()
            self.driver.on_acks_end(self.now, rtt, self.smoothed, self.least, limited)

    def on_packet_acked(self, *, now: float, packet: QuicSentPacket) -> None:
        """A packet is acknowledged."""
        self.now = now
        if self.before is None:
            self.before = self.bytes_in_flight
        self.bytes_in_flight -= packet.sent_bytes
        self.driver.on_ack(now, sent(packet), packet.sent_bytes)

    def on_packet_sent(self, *, packet: QuicSentPacket) -> None:
        """A packet is sent."""
        self.end_acks(None)
        self.bytes_in_flight += packet.sent_bytes
        self.driver.on_sent(sent(packet), packet.sent_bytes)

    def on_packets_expired(self, *, packets: Iterable[QuicSentPacket]) -> None:
        """Packets are no longer in flight; they are not lost."""
        self.bytes_in_flight -= sum(packet.sent_bytes for packet in packets)
        if self.bytes_in_flight == 0:
            self.driver.on_empty()

    def on_packets_lost(self, *, now: float, packets: Iterable[QuicSentPacket]) -> None:
        """Packets are lost."""
        self.end_acks(None)
        self.now, lost = now, list(packets)
        size = sum(packet.sent_bytes for packet in lost)
        self.bytes_in_flight -= size
        self.driver.on_lost(now, max(map(sent, lost)), size)

    def on_persistent_congestion(self) -> None:
        """All packets over a long time were lost."""
        self.driver.on_persistent_congestion(self.now)

    def on_rtt_measurement(self, *, now: float, rtt: float) -> None:
        """An ACK, all packets of which were reported, measures the RTT."""
        self.now = now
        self.least = min(self.least or rtt, rtt)
        self.smoothed += GAIN * (rtt - self.smoothed) if self.smoothed else rtt
        self.end_acks(rtt)


def sent(packet: QuicSentPacket) -> float:
    """When a packet was sent."""
    if packet.sent_time is None:
        raise ValueError("expected a packet that was sent")
    return packet.sent_time


def register() -> None:
    """Adds the controllers to those that aioquic knows by name."""
    for name in _sojourn.driver_names():
        register_congestion_control(f"sojourn:{name}", partial(Controller, name))


def seed(controller: Any, number: int) -> None:
    """Sets the seed of a controller's random choices, if it is of the registry."""
    if isinstance(controller, Controller):
        controller.driver.seed(number)
