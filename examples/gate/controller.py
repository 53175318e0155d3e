"""A controller under test: Reno, whose window after a loss is `BETA` of the one before."""

BETA = 0.5


class Mine:
    """A segment more in a round trip, `BETA` of the window after a loss."""

    def __init__(self):
        self.slow_start = True

    def on_ack(self, sample):
        """A segment more in a round trip, in slow start one for each acknowledged."""
        if sample.in_recovery or not sample.cwnd_limited:
            return None
        return sample.window + sample.acked * (1.0 if self.slow_start else 1.0 / sample.window)

    def on_loss(self, event):
        """A part of the window, or one segment after a timeout."""
        self.slow_start = False
        return 1.0 if event.timeout else max(2.0, event.window * BETA)
