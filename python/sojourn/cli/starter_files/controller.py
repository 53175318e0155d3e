"""A congestion controller: `sojourn compare SCENARIO --cc cubic --controller FILE:Mine`.

docs/own-algorithms.md lists the fields of samples and events.
"""


class Mine:
    """Additive increase, multiplicative decrease, after a slow start."""

    def __init__(self):
        self.slow_start = True
        self.window = 0.0

    def on_ack(self, sample):
        """Returns the window in segments, or (window, pacing rate); None keeps the window."""
        self.window = self.window or sample.window
        if sample.in_recovery:
            # One segment more than arrives, so that no burst follows a loss.
            return max(1.0, min(self.window, sample.in_flight + sample.acked + 1))
        if sample.cwnd_limited:
            self.window += sample.acked * (1.0 if self.slow_start else 1.0 / self.window)
        return self.window

    def on_loss(self, event):
        """Returns the window after a loss, once per round trip."""
        self.slow_start = False
        self.window = 1.0 if event.timeout else max(2.0, 0.7 * event.window)
        return self.window
