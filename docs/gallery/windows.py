"""Congestion windows

The windows of two of the twenty flows, under RED: a loss now and then halves one of them.
"""

import sojourn as sj

scenario = sj.load("examples/dumbbell.toml").set("links.bottleneck.queue.aqm", "red")
axes = sj.run(scenario, seed=1).plot.cwnd()
axes.figure.set_size_inches(7, 3.4)
