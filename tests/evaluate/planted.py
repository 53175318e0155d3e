"""Controllers with a planted fault each, beside the Reno from which they differ."""

from __future__ import annotations

import sojourn as sj


class Plain:
    """Reno without a fault."""

    def __init__(self) -> None:
        self.ssthresh = 1e9
        self.timed_out = False

    def on_ack(self, sample: sj.AckSample) -> float | None:
        """Slow start, then one segment a round trip; slow start also while a timeout is repaired."""
        self.timed_out &= sample.in_recovery
        if (sample.in_recovery and not self.timed_out) or not sample.cwnd_limited:
            return None
        if sample.window < self.ssthresh:
            return sample.window + sample.acked
        return sample.window + sample.acked / sample.window

    def on_loss(self, event: sj.CongestionEvent) -> float:
        """Half the window, and one segment after a timeout."""
        self.ssthresh = max(2.0, event.window / 2)
        self.timed_out |= event.timeout
        return 1.0 if event.timeout else self.ssthresh

    def on_mark(self, event: sj.CongestionEvent) -> float:
        """Half the window, as after a loss."""
        return self.on_loss(event)


class Fixed:
    """A window of 1,000 segments, whatever happens."""

    def on_ack(self, sample: sj.AckSample) -> float:
        """Keeps the window."""
        return 1000.0

    def on_loss(self, event: sj.CongestionEvent) -> float:
        """Keeps the window."""
        return 1000.0


class EverySecond(Plain):
    """Reno that reduces its window at every second loss only."""

    def __init__(self) -> None:
        super().__init__()
        self.losses = 0

    def on_loss(self, event: sj.CongestionEvent) -> float:
        """Halves the window at every second loss."""
        self.losses += 1
        if self.losses % 2 and not event.timeout:
            self.ssthresh = event.window
            return event.window
        return super().on_loss(event)


class NoTimeouts(Plain):
    """Reno that keeps its window after a timeout."""

    def on_loss(self, event: sj.CongestionEvent) -> float:
        """Halves the window after a loss; keeps it after a timeout."""
        return event.window if event.timeout else super().on_loss(event)


class BreaksOnTimeout(Plain):
    """Reno whose program fails at a timeout."""

    def on_loss(self, event: sj.CongestionEvent) -> float:
        """Fails at a timeout, else halves the window."""
        if event.timeout:
            raise RuntimeError("no answer to a timeout")
        return super().on_loss(event)


class Breaks(Plain):
    """A program that fails at the first acknowledgment."""

    def on_ack(self, sample: sj.AckSample) -> float | None:
        """Fails."""
        raise RuntimeError("nothing works")
