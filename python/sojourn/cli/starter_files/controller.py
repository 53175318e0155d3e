"""A congestion controller: `sojourn compare SCENARIO --cc cubic --controller FILE:Mine`.

docs/own-algorithms.md lists the fields of samples and events.
"""


class Mine:
    """Additive increase, multiplicative decrease, after a slow start."""

    def __init__(self):
        self.slow_start = True

    def on_ack(self, sample):
        """Returns the window in segments, or (window, pacing rate); None keeps the window."""
        if sample.in_recovery or not sample.cwnd_limited:
            return None
        return sample.window + sample.acked * (1.0 if self.slow_start else 1.0 / sample.window)

    def on_loss(self, event):
        """Returns the window after a loss, once per round trip."""
        self.slow_start = False
        return 1.0 if event.timeout else max(2.0, 0.7 * event.window)
