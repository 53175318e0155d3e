"""A congestion controller in Python: Reno with a pace, and one that holds the queue at a few segments.

sojourn run examples/dumbbell.toml --controller examples/controller.py:Additive
sojourn compare examples/dumbbell.toml --cc cubic --controller examples/controller.py:ShortQueue
"""


class Additive:
    """A segment more in a round trip, half for a loss or a mark."""

    def __init__(self):
        self.slow_start = True
        self.window = 0.0

    def on_ack(self, sample):
        """A segment more in a round trip, in slow start one for each acknowledged."""
        self.window = self.window or sample.window
        if sample.in_recovery:
            # One segment more than arrives, so that no burst follows a loss.
            return max(1.0, min(self.window, sample.in_flight + sample.acked + 1))
        if sample.cwnd_limited:
            self.window += sample.acked * (1.0 if self.slow_start else 1.0 / self.window)
        return self.window

    def on_loss(self, event):
        """Half of the window, or one segment after a timeout."""
        self.slow_start = False
        self.window = 1.0 if event.timeout else max(2.0, event.window / 2)
        return self.window

    on_mark = on_loss


class ShortQueue:
    """Keeps four segments in the queue, by the smallest round-trip time seen, and paces what it sends."""

    def __init__(self):
        self.least = float("inf")

    def on_ack(self, sample):
        """A segment more or less in a round trip, and a pace a fifth above the window in it."""
        if sample.rtt is None:
            return None
        self.least = min(self.least, sample.rtt)
        waiting = sample.window * (1 - self.least / sample.rtt)
        window = sample.window + sample.acked * (1 if waiting < 4 else -1) / sample.window
        return max(2.0, window), 1.2 * window / sample.rtt

    def on_loss(self, event):
        """Half of the window, or one segment after a timeout."""
        return 1.0 if event.timeout else max(2.0, event.window / 2)
