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


class IgnoresMarks(Plain):
    """Reno that does not react to marks."""

    def on_mark(self, event: sj.CongestionEvent) -> float:
        """Keeps the window."""
        return event.window


class YieldsATenth(Plain):
    """Reno that gives up a tenth of its window at a loss or mark."""

    def on_loss(self, event: sj.CongestionEvent) -> float:
        """Nine tenths of the window, and one segment after a timeout."""
        window = super().on_loss(event)
        if not event.timeout:
            self.ssthresh = window = max(2.0, 0.9 * event.window)
        return window


class NeverLeavesSlowStart(Plain):
    """Reno that doubles its window in every round trip without a loss."""

    def on_loss(self, event: sj.CongestionEvent) -> float:
        """Half the window, from which slow start goes on."""
        window = super().on_loss(event)
        self.ssthresh = 1e9
        return window


class GrowsUnused(Plain):
    """Reno whose window grows although the application does not use it."""

    def on_ack(self, sample: sj.AckSample) -> float | None:
        """Slow start, then one segment a round trip, without regard to the application."""
        if sample.in_recovery and not self.timed_out:
            return None
        self.timed_out &= sample.in_recovery
        return sample.window + sample.acked / (1.0 if sample.window < self.ssthresh else sample.window)


class Scaled(Plain):
    """Reno whose increase has another size."""

    def size(self, sample: sj.AckSample) -> float:
        """The increase in segments a round trip."""
        raise NotImplementedError

    def on_ack(self, sample: sj.AckSample) -> float | None:
        """Slow start as Reno's, and the increase in congestion avoidance."""
        window = super().on_ack(sample)
        if window is None or sample.window < self.ssthresh:
            return window
        return sample.window + self.size(sample) * sample.acked / sample.window


class RichGetRicher(Scaled):
    """Reno that grows faster, the larger its window is: a latecomer stays small."""

    def size(self, sample: sj.AckSample) -> float:
        """One segment at a window of 30, and the square of the window elsewhere."""
        return min(max((sample.window / 30) ** 2, 0.05), 4.0)


class FavorsShortTrips(Scaled):
    """Reno that grows less over longer round trips, beside what the round trip does."""

    def __init__(self) -> None:
        super().__init__()
        self.base = 1e9

    def size(self, sample: sj.AckSample) -> float:
        """One segment at 40 ms, and the inverse fourth power of the round trip elsewhere."""
        self.base = min(self.base, sample.rtt or self.base)
        return min(max((0.04 / self.base) ** 4, 0.02), 8.0)


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
