"""The cases of ns-2 that are called after RFC 9743 are cells of its evaluation.

They differ in the stack alone: ns-2 has the controllers of Linux 2.6, over the receiver of its own.
"""

from __future__ import annotations

import json
import re

import pytest

from conformance.oracles.ns2.validate import case_names, load
from sojourn.experiments import find_experiment
from sojourn.experiments.model import Case

CELLS = [name for name in case_names() if name.startswith("rfc9743-")]
OF_CASE = re.compile(r"# RFC 9743, cell (\w+) with (\w+):")


def packets(limit: str, rate: str, rtt_s: float) -> str:
    """A limit in packets of 1500 B."""
    number, unit = limit.split()
    if unit == "packets":
        return limit
    return f"{round(float(number) * float(rate.split()[0]) * 1e6 * rtt_s / 12_000)} packets"


@pytest.mark.parametrize("name", CELLS)
def test_a_case_has_the_links_flows_and_times_of_its_cell(name: str) -> None:
    from conformance.oracles.ns2.validate import CASES

    found = OF_CASE.match((CASES / f"{name}.toml").read_text())
    assert found
    cell = json.loads(find_experiment("rfc9743").scenario(Case(found[1], found[2], "")).for_engine())
    case = load(name)
    assert [case[key] for key in ("duration", "warmup")] == [cell[key] for key in ("duration", "warmup")]
    (ours,), (theirs,) = cell["links"], case["links"]
    assert {key: theirs[key] for key in ("from", "to", "rate", "delay", "duplex")} == {
        key: ours[key] for key in ("from", "to", "rate", "delay", "duplex")
    }
    delays = [float(flow["access"]["delay"].split()[0]) for flow in cell["flows"]]
    rtt_s = 2e-3 * (max(delays) + float(ours["delay"].split()[0]))
    assert theirs["queue"] == {"aqm": "droptail", "limit": packets(ours["queue"]["limit"], ours["rate"], rtt_s)}
    assert [case["tcp"][key] for key in ("mss", "window")] == [cell["tcp"][key] for key in ("mss", "window")]
    for there, here in zip(case["flows"], cell["flows"], strict=True):
        assert there.pop("count") == here.pop("count", 1)
        assert there["tcp"]["control"].pop("version", "2.1") == "2.1"
        assert there == here


def test_cells_of_reno_and_cubic_are_compared() -> None:
    assert len(CELLS) >= 4
    assert {load(name)["flows"][0]["tcp"]["control"]["cc"] for name in CELLS} == {"reno", "cubic"}
