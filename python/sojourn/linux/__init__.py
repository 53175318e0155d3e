"""A Linux kernel as host: its TCP over the simulator's own links and queues, in virtual time.

`build` builds the kernel from its source and `hosts/linux`. `guest` runs a scenario on it: the kernel gets the plan,
and its log is replayed into the record.
"""

from sojourn.linux.kernel import Kernel, find_kernel

__all__ = ["Kernel", "find_kernel"]
