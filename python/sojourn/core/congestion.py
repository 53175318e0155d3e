"""Numbers of flows for light, medium and heavy congestion (rfc7928#8.2)."""

from __future__ import annotations

from sojourn import _sojourn
from sojourn.core import field_paths
from sojourn.core.errors import ScenarioError, UserError
from sojourn.core.scenario import Scenario
from sojourn.core.toml import plain

# Flows per packet of capacity S, for an expected loss of 0.1, 0.5 and 1 % at a drop-tail queue. S is the number of
# packets that path and buffer hold: N Reno flows lose 0.76 N^2/S^2. The factors are those printed in rfc7928#8.2.
LEVELS = {"light": 0.036, "medium": 0.081, "heavy": 0.114}


def packets_of(rate: float, rtt: float, packet: float) -> int:
    """The bandwidth-delay product in packets, at least 1.

    `rate` is in bit/s, `rtt` in seconds, `packet` in bytes.
    """
    return max(1, round(rate * rtt / (8 * packet)))


def flows_for(level: str, rate: float, rtt: float, packet: float, buffers: float = 1.0) -> int:
    """The number of flows for a level of congestion ("light", "medium" or "heavy"), at least 1.

    `rate` is in bit/s, `rtt` in seconds, `packet` in bytes; the buffer holds `buffers` BDPs.
    """
    if not isinstance(level, str) or level not in LEVELS:
        raise UserError.expected("congestion", f"one of {', '.join(LEVELS)}", level)
    return max(1, round(LEVELS[level] * (1 + buffers) * rate * rtt / (8 * packet)))


def congest(scenario: Scenario, load: str, rtt: str, *, link: str = "bottleneck", group: str = "ftp") -> Scenario:
    """Sets a level of congestion and a queue limit of one BDP in a scenario.

    Rate and packet size are the scenario's.

    Parameters
    ----------
    scenario : Scenario
        The scenario. It is changed in place.
    load : str
        "light", "medium" or "heavy". It determines the number of flows.
    rtt : str
        Round-trip time of the path, such as "160 ms".
    link : str, default "bottleneck"
        The link whose queue limit is set.
    group : str, default "ftp"
        The group of flows whose count is set.

    Returns
    -------
    Scenario
        The same scenario.

    Raises
    ------
    UserError
        The level is unknown, `rtt` is not a time, or the link has no rate.

    References
    ----------
    The numbers of flows are those of rfc7928#8.2.

    Examples
    --------
    >>> scenario = sj.congest(sj.load("examples/dumbbell.toml"), "medium", "160 ms")
    >>> scenario.get_path("links.bottleneck.queue.limit")
    '133 packets'
    """
    if not isinstance(rtt, str):
        raise UserError.expected("rtt", 'a time with its unit such as "160 ms"', rtt)
    plain(rtt, "rtt")
    tree = scenario.resolved()
    rate = field_paths.get(tree, f'links."{link}".rate', scenario.label)
    if rate is None:
        raise UserError(f"{scenario.label}: links.{link}.rate: expected a rate, got none")
    try:
        path = (_sojourn.quantity("rate", rate), _sojourn.quantity("time", rtt), float(tree["packet"]))
    except ScenarioError as error:
        raise UserError(f"rtt: {error}") from None
    scenario.set(f'flows."{group}".count', flows_for(load, *path))
    return scenario.set(f'links."{link}".queue.limit', f"{packets_of(*path)} packets")
