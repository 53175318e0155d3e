"""The running kernel of this machine."""

from __future__ import annotations

from pathlib import Path


def congestion_controls() -> list[str]:
    """The names of the congestion controls that the kernel has now."""
    return Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="ascii").split()
