"""A queue over time

The queue of one run, every 20 ms. With DropTail it stands near its limit.
"""

import sojourn as sj

record = sj.run("examples/dumbbell.toml", seed=1)
axes = record.plot.queue()
axes.figure.set_size_inches(7, 3.4)
