"""The simulator's TCP compared with that of a Linux kernel, over the same links and queues."""
