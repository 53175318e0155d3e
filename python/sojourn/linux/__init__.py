"""A Linux kernel as host: its TCP uses the simulator's links and queues in virtual time.

`build` builds the kernel from its source and `hosts/linux`. `guest` runs a scenario on it: it passes the plan to the
kernel, and replays the kernel's log into the record.
"""

from sojourn.linux.kernel import Kernel, find_kernel

__all__ = ["Kernel", "find_kernel"]
