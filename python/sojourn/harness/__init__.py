"""A network under transports that are not ours, in virtual time.

A stack without I/O implements `Endpoint`. `run` puts the network of a scenario between its endpoints: every queue
discipline, impairment and trace, and the simulator's own TCP as a competitor. `sojourn.harness.aioquic` connects
aioquic.

>>> from sojourn import harness
>>> class Camera(harness.Endpoint):
...     due, received, ready = None, 0, False
...     def write(self, now, size, last):
...         self.due = now
...     def receive(self, now, payload, ecn):
...         self.received += len(payload)
...     def transmit(self, now):
...         ready, self.ready = self.ready, False
...         return bytes(1000) if ready else None
...     def timeout(self):
...         return self.due
...     def on_timeout(self, now):
...         self.ready, self.due = True, now + 0.01
...     def state(self):
...         return harness.State(delivered=self.received)
>>> network = harness.Dumbbell("10 Mbit/s", "40 ms").queue("fq-codel").flow("video", "camera").tcp("download", "cubic")
>>> done = harness.run(network, {"camera": lambda name, seed: (Camera(), Camera())})
>>> round(done.record.value("flows.video/0.goodput_bps") / 1e5), len(done.packets["at_s"])
(8, 2000)
"""

from sojourn._sojourn import Dumbbell
from sojourn.harness.endpoint import Ecn, Endpoint, Host, State
from sojourn.harness.runs import Rule, Run, delay, drop, mark, run

__all__ = ["Dumbbell", "Ecn", "Endpoint", "Host", "Rule", "Run", "State", "delay", "drop", "mark", "run"]
