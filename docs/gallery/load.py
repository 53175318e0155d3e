"""The mean queue over the load

A sweep over the number of flows, with two queue disciplines and three seeds for each point.
"""

import sojourn as sj

axes_of_sweep = {"links.bottleneck.queue.aqm": ["red", "pd"], "flows.ftp.count": [5, 10, 20, 40]}
found = sj.sweep("examples/dumbbell.toml", axes_of_sweep, seeds=3)
axes = found.plot.means("links.bottleneck.queue.mean")
axes.figure.set_size_inches(7, 3.4)
