"""A queue law of one's own, written in Python and used in a run."""

import sojourn as sj


class Proportional:
    """Drops in proportion to how far the queue is above its target."""

    target = 30.0  # packets

    def step(self, sample: sj.Sample) -> float:
        """The drop probability until the next step; the engine keeps it between 0 and 1."""
        return 0.002 * (sample.backlog_packets - self.target)


scenario = sj.load("examples/dumbbell.toml")
scenario.set("links.bottleneck.queue", {"aqm": "external", "law": "mine", "interval": "10 ms", "limit": "200 packets"})
record = sj.run(scenario, laws={"mine": Proportional})
print(record.links[["utilization", "queue.mean", "queue.sd", "loss_ratio"]])
