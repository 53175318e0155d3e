"""Runs over endpoints in Python, with scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sojourn import _sojourn
from sojourn.core.errors import RunError, UserError
from sojourn.core.record import Record
from sojourn.core.scenario_files import Source, load, loads
from sojourn.harness.endpoint import Host
from sojourn.runs.stacks import hosts_of, supplied


@dataclass(frozen=True)
class Rule:
    """What happens to packets of a flow before they enter the network.

    `drop`, `mark` and `delay` make rules.

    >>> drop("web/0", range(3, 6)).last
    5
    """

    flow: str
    acks: bool
    first: int
    last: int
    fate: str
    seconds: float = 0.0


def _rule(flow: str, packets: int | range, acks: bool, fate: str, seconds: float = 0.0) -> Rule:
    numbers = packets if isinstance(packets, range) else range(packets, packets + 1)
    if len(numbers) == 0 or numbers.step != 1 or numbers[0] < 1:
        raise UserError.expected("packets", "a number from 1, or a range of such numbers with step 1", packets)
    return Rule(flow, acks, numbers[0], numbers[-1], fate, seconds)


def drop(flow: str, packets: int | range, *, acks: bool = False) -> Rule:
    """Drops packets of a flow.

    Parameters
    ----------
    flow : str
        The flow, such as `"web/0"`.
    packets : int or range
        The number of a packet, or a range. The first packet has the number 1.
    acks : bool, default False
        Whether packets of the receiving end are counted and dropped, not those of the sending end.

    Returns
    -------
    Rule
        The rule, for `run`.

    Examples
    --------
    >>> drop("web/0", 3)
    Rule(flow='web/0', acks=False, first=3, last=3, fate='drop', seconds=0.0)
    """
    return _rule(flow, packets, acks, "drop")


def mark(flow: str, packets: int | range, *, acks: bool = False) -> Rule:
    """Sets the congestion mark of ECN-capable packets of a flow.

    Parameters
    ----------
    flow, packets, acks
        As for `drop`.

    Returns
    -------
    Rule
        The rule, for `run`.

    Examples
    --------
    >>> mark("web/0", range(10, 20)).first
    10
    """
    return _rule(flow, packets, acks, "mark")


def delay(flow: str, packets: int | range, seconds: float, *, acks: bool = False) -> Rule:
    """Holds packets of a flow back; later ones overtake them.

    Parameters
    ----------
    flow, packets, acks
        As for `drop`.
    seconds : float
        The time, 0 or more.

    Returns
    -------
    Rule
        The rule, for `run`.

    Examples
    --------
    >>> delay("web/0", 4, 0.05, acks=True).seconds
    0.05
    """
    if not seconds >= 0:
        raise UserError.expected("seconds", "0 or more", seconds)
    return _rule(flow, packets, acks, "delay", float(seconds))


@dataclass(frozen=True)
class Run:
    """The result of a run over endpoints.

    >>> network = _sojourn.Dumbbell("10 Mbit/s", "40 ms").duration("1 s").tcp("ours", "cubic")
    >>> len(run(network).packets["at_s"])  # the log has the packets of endpoints in Python
    0
    """

    record: Record
    """The record, as of any run."""
    packets: dict[str, npt.NDArray[Any]]
    """An entry for each event of a packet, as columns.

    `at_s`, `flow`, `back` (whether the receiving end sent it), `number` (in the run, from 1), `size_bytes` (with IP and
    UDP headers), `marked`, and `event` (sent, arrived or dropped).
    """
    windows: dict[str, dict[str, npt.NDArray[Any]]]
    """The congestion window of each flow at each change: `at_s` and `window_bytes`."""


def run(
    network: Source | _sojourn.Dumbbell,
    hosts: Mapping[str, Host] | None = None,
    *,
    seed: int | None = None,
    script: Sequence[Rule] = (),
) -> Run:
    """Runs a scenario whose flows with a `host` have endpoints in Python.

    Parameters
    ----------
    network : Dumbbell or scenario
        The network, as a `Dumbbell` or in any form that `load` accepts.
    hosts : mapping of str to callable, optional
        For each `host` of the scenario a function of a flow's name and seed that returns the sender and the receiver.
        Hosts that it lacks are those of `sojourn run`, such as `aioquic`.
    seed : int, optional
        Seed of the network's random numbers and of the endpoints (default: the scenario's).
    script : sequence of Rule, optional
        What happens to single packets: see `drop`, `mark` and `delay`. The first rule for a packet counts.

    Returns
    -------
    Run
        The record, the packets and the windows.

    Raises
    ------
    ScenarioError
        The scenario is invalid, or a host is unknown.
    MissingExtraError
        The stack of a host is not installed.
    RunError
        An endpoint broke a rule. The line has its flow and side, the simulated time and the rule; the cause is the
        endpoint's exception.

    Examples
    --------
    >>> network = _sojourn.Dumbbell("10 Mbit/s", "40 ms").duration("1 s").tcp("ours", "cubic")
    >>> run(network).record["flows"][0]["name"]
    'ours/0'
    """
    scenario = loads(network.to_toml(), "network") if isinstance(network, _sojourn.Dumbbell) else load(network)
    makers = dict(hosts or {})
    missing = {group: host for group, host in hosts_of(scenario).items() if host not in makers}
    rules = [(each.flow, each.acks, each.first, each.last, each.fate, each.seconds) for each in script]
    with scenario.clean_errors():
        makers |= supplied(missing, makers)
        try:
            text, series, packets, windows = _sojourn.run_hosts(
                scenario.for_engine(), scenario.file, seed, makers, rules
            )
        except RuntimeError as error:
            raise RunError(str(error)) from error.__cause__
    columns = {name: np.asarray(column) for name, column in packets.items()}
    return Run(Record.from_json(text, series), columns, windows)
