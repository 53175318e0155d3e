"""Real packets through the links and queues of a scenario, in the time of the machine.

Each host of the scenario is a network namespace with a TUN device. A router in the engine passes packets between the
devices. Namespaces and devices have no name outside this process, so the kernel removes them when the process ends, in
whatever way.
"""

from sojourn.live.session import Session, program_host, run_live

__all__ = ["Session", "program_host", "run_live"]
