"""Algorithms in the running Linux kernel, as BPF programs.

`kernel/` has their source in C. `build` compiles a program for its parameters, `libbpf` loads it, and `owner` is the
process whose end detaches it.
"""
