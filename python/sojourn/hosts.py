"""Scenarios with the TCP of a Linux kernel, and a paper's with that instead of their own."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from sojourn.scenario import Scenario
from sojourn.toml import plain

OWN_OF_KERNEL = ("reno", "cubic")
"""Controllers that the kernel has itself; all others are ours under its TCP."""

KEPT = ("mss", "header", "ecn")
"""Options that say what is sent and not how a stack behaves."""


class Host(StrEnum):
    """Whose TCP the flows have."""

    SIMULATOR = "simulator"
    LINUX = "linux"


def on_linux(scenario: Scenario) -> bool:
    """Whether the flows of a scenario have the TCP of a Linux kernel."""
    # A scenario that the engine made is read only if it may be so.
    return "host" in scenario.to_toml() and scenario.get("host") == "linux"


def on_host(scenario: Scenario, host: Host) -> Scenario:
    """A scenario on this host.

    On a Linux host the stack is the kernel's: of the options of TCP the controller and the sizes are kept, and the
    parameters of Reno and CUBIC, which the kernel does not have, are left out.
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
    """What a Linux host takes of a table of TCP options."""
    kept = {key: tcp[key] for key in KEPT if key in tcp}
    control = tcp.get("control")
    if control:
        bare = control.get("cc") in OWN_OF_KERNEL
        kept["control"] = {"cc": control["cc"]} if bare else dict(control)
    return kept | {"profile": "linux"}
