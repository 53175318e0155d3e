"""The transports of others that scenarios can name in `host`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Any

from sojourn.core import field_paths
from sojourn.core.errors import ScenarioError, UserError
from sojourn.core.extras import require
from sojourn.core.scenario import Scenario

STACKS = {"aioquic": "sojourn.harness.aioquic"}
"""The module of each stack.

Its function `host(controller)` makes a host of `sojourn.harness`. The stack's package has the same name.
"""


def supplied(hosts: Mapping[str, str], others: Iterable[str] = ()) -> dict[str, Callable[[str, int], Any]]:
    """The hosts that groups of flows name.

    They are a stack such as `aioquic`, or with a controller such as `aioquic:cubic`.

    Raises `ScenarioError` for an unknown stack or controller; the message lists `others` too. Raises
    `MissingExtraError` if the stack is not installed.
    """
    made = {}
    for group, host in hosts.items():
        stack, _, controller = host.partition(":")
        where = f"flows.{field_paths.element(group)}.host"
        if stack not in STACKS:
            wrong = UserError.unknown(where, stack, [*others, *STACKS])
            raise ScenarioError(f"{wrong}; other stacks need a program with the crate sojourn-harness")
        require(stack)
        try:
            made[host] = import_module(STACKS[stack]).host(controller or None)
        except UserError as error:
            raise ScenarioError(f"{where}: {error}") from None
    return made


def hosts_of(scenario: Scenario) -> dict[str, str]:
    """The host of each group of flows that has one."""
    if "host" not in scenario.for_engine():
        return {}
    return {group["name"]: group["host"] for group in scenario.resolved()["groups"] if group.get("host")}


def check_hosts(scenario: Scenario) -> str:
    """The stacks of a scenario with their versions, as part of the key of a run.

    "" if it has none.

    Raises `ScenarioError` for a host that this program does not have.
    """
    found = hosts_of(scenario)
    with scenario.clean_errors():
        supplied(found)
    stacks = sorted({host.partition(":")[0] for host in found.values()})
    return " ".join(f"{stack} {version(stack)}" for stack in stacks)
