"""One download on the simulator, on a Linux kernel in virtual time, and live."""
