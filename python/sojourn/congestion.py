"""How many flows make a path lightly or heavily loaded (RFC 7928 section 8.2)."""

from __future__ import annotations

from sojourn.errors import UserError

# Flows a packet of path and buffer for a projected loss of 0.1, 0.5 and 1 % at a drop-tail queue: the loss of N Reno
# flows is 0.76 N^2/S^2 there. The factors are those printed in the RFC.
LEVELS = {"light": 0.036, "medium": 0.081, "heavy": 0.114}


def packets_of(rate: float, rtt: float, packet: float) -> int:
    """Packets of `packet` bytes that a path of `rate` bit/s and `rtt` seconds holds."""
    return max(1, round(rate * rtt / (8 * packet)))


def flows_for(level: str, rate: float, rtt: float, packet: float, buffers: float = 1.0) -> int:
    """Flows for a level of congestion; the buffer holds `buffers` times what the path does."""
    if level not in LEVELS:
        raise UserError(f'congestion "{level}": taken are {", ".join(LEVELS)}')
    return max(1, round(LEVELS[level] * (1 + buffers) * rate * rtt / (8 * packet)))
