"""Scenarios from measurements: packet captures and Flent results.

The scenario sends the traffic that the file shows over one link, so that another queue can be tried on it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from sojourn import _sojourn
from sojourn.core.bounded_files import opened
from sojourn.core.errors import UserError
from sojourn.core.scenario import Scenario
from sojourn.imports.captures import capture_scenario
from sojourn.imports.flent_results import flent_scenario


@dataclass(frozen=True)
class Imported:
    """A scenario made from a file, with remarks for its reader."""

    scenario: Scenario
    remarks: list[str] = field(default_factory=list)


def import_file(path: str | Path, rate: str | None = None, rtt: str | None = None, cc: str = "cubic") -> Scenario:
    """Converts a capture or a Flent result into a scenario.

    Notes name guesses and omitted data.

    Parameters
    ----------
    path : str or path
        A capture (pcapng, pcap) or a Flent result (`.flent.gz`).
    rate : str, optional
        The link's rate, such as "10 Mbit/s", or with a comma that of its reverse link too. By default the speed of the
        capture's interface, else the largest rate over a second, per direction.
    rtt : str, optional
        RTT of flows whose RTT the file does not show, such as "20 ms".
    cc : str, default "cubic"
        The congestion control of the flows. Flows that send ECT(1) use Prague.

    Returns
    -------
    Scenario
        A scenario with the rates, RTTs and flows of the file.

    Raises
    ------
    UserError
        The file can't be read, is damaged, or has no flows.

    Examples
    --------
    >>> sj.run("examples/dumbbell.toml", pcap="dumbbell.pcapng", pcap_links=["bottleneck"])
    <Record dumbbell, seed 1...>
    >>> len(sj.import_file("dumbbell.pcapng")["flows"])
    1
    """
    return imported(path, rate, rtt, cc).scenario


def imported(path: str | Path, rate: str | None = None, rtt: str | None = None, cc: str = "cubic") -> Imported:
    """As `import_file`, with remarks for the file to write."""
    file = Path(path)
    base = None if rtt is None else _quantity("rtt", "time", rtt)
    rates = None if rate is None else _both(rate)
    known = [entry["name"] for entry in json.loads(_sojourn.registry())["cc"]]
    if cc not in known:
        raise UserError.unknown("--cc", cc, known)
    try:
        opened(file).close()  # rejects a pipe or a device
        if file.name.endswith((".flent.gz", ".flent")):
            made = Imported(flent_scenario(file, rates, base, cc))
        else:
            made = Imported(*capture_scenario(file, rates, base, cc))
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror or error}") from None
    made.scenario.canonical()
    return made


def _both(rate: str) -> list[str]:
    """The rates of the link and of its reverse link, which may be one."""
    rates = [each.strip() for each in rate.split(",")]
    for each in rates:
        _quantity("rate", "rate", each)
    if len(rates) > 2:
        raise UserError.expected("rate", "one rate, or two with a comma between them", rate)
    return [rates[0], rates[-1]]


def _quantity(name: str, kind: str, text: str) -> float:
    """A parameter's value in its base unit."""
    try:
        return _sojourn.quantity(kind, text)
    except ValueError as error:
        raise UserError(f"{name}: {error}") from None
