"""Waits in a queue

Twenty transfers over 10 Mbit/s, on identical traffic. With DropTail, which fills its buffer of 200 packets, a packet
waits for a fifth of a second. With RED, CoDel and PD it waits for less than 65 ms, and the link is used to 99 % and
more.
"""

import sojourn as sj

scenario = sj.load("examples/dumbbell.toml").set("trace.wait", {"links": ["bottleneck"]})
found = sj.compare(scenario, ["droptail", "red", "pd", "codel"], seeds=1)
axes = found.plot.cdf("wait")
axes.figure.set_size_inches(7, 3.4)
