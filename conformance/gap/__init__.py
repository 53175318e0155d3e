"""One download on every host: the simulator, a Linux kernel in virtual time, and this machine's kernel live."""
