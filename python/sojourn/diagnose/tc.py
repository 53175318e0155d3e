"""The recommended setting as commands for `tc`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sojourn import _sojourn
from sojourn.diagnose.cases import Shaper

WAN = "eth0"
"""The router's interface to the line."""
IFB = "ifb0"
"""The intermediate device that shapes what arrives on the WAN interface."""

REDIRECT = (
    f"ip link add {IFB} type ifb",
    f"ip link set {IFB} up",
    f"tc qdisc replace dev {WAN} handle ffff: ingress",
    f"tc filter replace dev {WAN} parent ffff: protocol all prio 1 matchall action mirred egress redirect dev {IFB}",
)
"""The commands that redirect arriving packets to that device, once after each boot."""


def tc_lines(shaper: Shaper, wan: str = WAN, ifb: str = IFB) -> dict[str, str]:
    """The line for each direction. Uploads leave by the WAN interface, downloads arrive on it."""
    return {
        "up": f"tc qdisc replace dev {wan} root {cake_options(shaper.up)}",
        "down": f"tc qdisc replace dev {ifb} root {cake_options(shaper.down)}",
    }


def cake_options(queue: Mapping[str, Any]) -> str:
    """CAKE as `tc` writes it: the rate in whole kbit/s, and the overhead of the link layer."""
    rate = f"cake bandwidth {round(_sojourn.quantity('rate', queue['bandwidth']) / 1000)}kbit"
    overhead = queue.get("overhead")
    if not isinstance(overhead, Mapping):
        return f"{rate} {overhead}" if overhead else rate
    sizes = {"overhead": overhead.get("per_packet"), "mpu": overhead.get("mpu")}
    words = [f"{word} {round(_sojourn.quantity('size', size))}" for word, size in sizes.items() if size]
    return " ".join([rate, *words, *([overhead["cells"]] if overhead.get("cells") in ("atm", "ptm") else [])])
