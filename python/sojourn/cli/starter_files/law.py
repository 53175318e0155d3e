"""A queue law: `sojourn compare SCENARIO --queues droptail --law FILE:Mine`.

`sojourn analyze` and docs/own-algorithms.md continue from here.
"""


class Mine:
    """Drops in proportion to the backlog above a target."""

    target = 30.0  # packets

    def step(self, sample):
        """Returns the drop probability until the next call, from 0 to 1.

        The link calls this every 10 ms. `sample` has backlog_packets, arrived_packets, departed_packets and sojourn.
        """
        return min(max(0.002 * (sample.backlog_packets - self.target), 0.0), 1.0)
