"""The transports of others that scenarios can name in `host`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from sojourn.core import field_paths
from sojourn.core.errors import ScenarioError, UserError
from sojourn.core.extras import BUILT, MissingExtraError, require
from sojourn.core.scenario import Scenario


class Stack(NamedTuple):
    """Where a stack comes from."""

    package: str
    """What must be installed."""
    module: str
    maker: str
    """The function of the module that makes a host of `sojourn.harness`.

    Its argument is the name of a controller, or None."""


STACKS = {
    "aioquic": Stack("aioquic", "sojourn.harness.aioquic", "host"),
    "quinn": Stack("sojourn_stacks", "sojourn.harness.rust", "quinn"),
    "noq": Stack("sojourn_stacks", "sojourn.harness.rust", "noq"),
    "s2n-quic": Stack("sojourn_stacks", "sojourn.harness.rust", "s2n_quic"),
}


def supplied(hosts: Mapping[str, str], others: Iterable[str] = ()) -> dict[str, Callable[[str, int], Any]]:
    """The hosts that groups of flows name.

    They are a stack such as `quinn`, a stack with a controller of its own such as `quinn:reno`, or one with a
    controller of the registry such as `quinn:sojourn:ledbat++`.

    Raises `ScenarioError` for an unknown stack or controller; the message lists `others` too. Raises
    `MissingExtraError` if the stack is not installed.
    """
    made = {}
    for group, host in hosts.items():
        where = f"flows.{field_paths.element(group)}.host"
        try:
            made[host] = check_stack(where, host, others)
        except MissingExtraError:
            raise
        except UserError as error:
            raise ScenarioError(str(error)) from None
    return made


def check_stack(where: str, host: str, others: Iterable[str] = ()) -> Callable[[str, int], Any]:
    """The host of a stack, as `supplied` describes it.

    Raises `UserError` at `where` for an unknown stack or controller, and `MissingExtraError` as `supplied` does.
    """
    stack, _, controller = host.partition(":")
    if stack not in STACKS:
        wrong = UserError.unknown(where, stack, [*others, *STACKS])
        raise UserError(f"{wrong}; other stacks need a program with the crate sojourn-harness")
    package, module, maker = STACKS[stack]
    require(package)
    try:
        made: Callable[[str, int], Any] = getattr(import_module(module), maker)(controller or None)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    return made


def hosts_of(scenario: Scenario) -> dict[str, str]:
    """The host of each group of flows that has one."""
    if "host" not in scenario.for_engine():
        return {}
    return {group["name"]: group["host"] for group in scenario.resolved()["groups"] if group.get("host")}


def check_hosts(scenario: Scenario) -> str:
    """The packages of a scenario's stacks with their identities, as part of the key of a run.

    "" if it has none.

    Raises `ScenarioError` for a host that this program does not have.
    """
    found = hosts_of(scenario)
    with scenario.clean_errors():
        supplied(found)
    packages = sorted({STACKS[host.partition(":")[0]].package for host in found.values()})
    return " ".join(f"{package} {_identity(package)}" for package in packages)


@cache
def _identity(package: str) -> str:
    """The version of a package; of an extension module, whose version rarely changes, a digest."""
    if package not in BUILT:
        from importlib.metadata import version  # here, because few runs need it

        return version(package)
    return hashlib.sha256(Path(str(import_module(package).__file__)).read_bytes()).hexdigest()[:16]
