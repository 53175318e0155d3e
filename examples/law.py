"""A queue law of one's own, written in Python and used in a run."""

import sojourn as sj


class Proportional:
    """Drops in proportion to how far the queue is above its target."""

    target = 30.0  # packets

    def step(self, sample: sj.Sample) -> float:
        """The drop probability until the next step, from 0 to 1."""
        return min(max(0.002 * (sample.backlog_packets - self.target), 0.0), 1.0)


if __name__ == "__main__":
    scenario = sj.load("examples/dumbbell.toml")
    queue = {"aqm": "external", "law": "mine", "interval": "10 ms", "limit": "200 packets"}
    scenario.set("links.bottleneck.queue", queue)
    record = sj.run(scenario, laws={"mine": Proportional})
    print(record.links[["utilization", "queue.mean", "queue.sd", "loss_ratio"]])
