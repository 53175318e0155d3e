"""How many flows make a path lightly or heavily loaded (RFC 7928 section 8.2)."""

from __future__ import annotations

from sojourn import _sojourn, paths
from sojourn.errors import ScenarioError, UserError
from sojourn.scenario import Scenario

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


def congest(scenario: Scenario, load: str, rtt: str, *, link: str = "bottleneck", group: str = "ftp") -> Scenario:
    """Loads a link with as many flows as make a level of congestion, behind a queue as long as the path.

    `load` is "light", "medium" or "heavy" (RFC 7928 section 8.2), `rtt` a time such as "160 ms": that of the path for
    which queue and flows are reckoned. Rate and packet size are the scenario's. Sets the limit of `link` and the count
    of `group`, and returns the scenario. Raises `UserError` for a level or a time that is none, and for a link without
    rate.
    """
    tree = scenario.resolved()
    rate = paths.get(tree, f'links."{link}".rate', scenario.label)
    if rate is None:
        raise UserError(f"{scenario.label}: links.{link}.rate: none given; taken is a link that sends at a rate")
    try:
        path = (_sojourn.quantity("rate", rate), _sojourn.quantity("time", rtt), float(tree["packet"]))
    except ScenarioError as error:
        raise UserError(f"rtt: {error}") from None
    scenario.set(f'flows."{group}".count', flows_for(load, *path))
    return scenario.set(f'links."{link}".queue.limit', f"{packets_of(*path)} packets")
