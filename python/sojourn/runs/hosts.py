"""Scenarios on a Linux host, including those of papers."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from sojourn.core.scenario import Scenario
from sojourn.core.toml import plain

OWN_OF_KERNEL = ("reno", "cubic")
"""Controllers that the kernel itself implements. All others run in the simulator."""

KEPT = ("mss", "header", "ecn")
"""TCP options about the data to send, not about the behavior of the stack."""


class Host(StrEnum):
    """The TCP stack of the flows."""

    SIMULATOR = "simulator"
    LINUX = "linux"
    LIVE = "live"


def host_of(scenario: Scenario) -> Host:
    """The host of a scenario; the simulator if the scenario names none that exists."""
    # Avoids parsing a scenario of the engine unless its text mentions a host.
    named = scenario.get("host") if "host" in scenario.for_engine() else None
    return next((host for host in Host if host == named), Host.SIMULATOR)


def on_host(scenario: Scenario, host: Host) -> Scenario:
    """A scenario on this host.

    On a Linux host, live or not, the stack is the kernel's. TCP options are reduced to controller and sizes; parameters
    of Reno and CUBIC are dropped, because the kernel lacks them.
    """
    if host is Host.SIMULATOR:
        return scenario
    moved = scenario.copy()
    moved["host"] = str(host)
    if "tcp" in moved:
        moved["tcp"] = _kept(plain(moved["tcp"]))
    flows = [dict(flow) for flow in plain(moved["flows"])]
    for flow in flows:
        if "tcp" in flow:
            flow["tcp"] = _kept(flow["tcp"])
    moved["flows"] = flows
    return moved


def _kept(tcp: Mapping[str, Any]) -> dict[str, Any]:
    """The TCP options that have an effect on a Linux host."""
    kept = {key: tcp[key] for key in KEPT if key in tcp}
    control = tcp.get("control")
    if control:
        bare = control.get("cc") in OWN_OF_KERNEL
        kept["control"] = {"cc": control["cc"]} if bare else dict(control)
    return kept | {"profile": "linux"}
