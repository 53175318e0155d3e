"""The setup of a grid from its resolved scenarios: runs, links, flows and queues."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.core import field_paths
from sojourn.core.errors import UserError
from sojourn.core.text_format import counted
from sojourn.experiments.model import Case, Experiment, Grid
from sojourn.experiments.outcome import Outcome

MOST_VALUES = 4
"""The most values of a field that a table lists; of more it shows the first and the last."""
NOT_SHOWN = ("aqm", "cc", "hints", "ack_filter")
"""Fields of a queue or a controller that its name or another table shows."""
COMPARED = "as compared"
"""The text for a queue or controller that the grid varies."""
GROUP_HEADS = ["group", "flows", "path", "access delay", "controller", "traffic", "start", "TCP"]
QUEUE_HEADS = ["", "algorithm", "parameters"]


@dataclass(frozen=True)
class SetupTable:
    """A table of the setup."""

    title: str
    heads: list[str]
    rows: list[list[str]]


def setup_tables(outcome: Outcome, grid: Grid) -> list[SetupTable]:
    """The tables of a grid; empty if it has no runs."""
    cases = grid.cases()
    if not cases:
        return []
    changes = grid.quick_set if outcome.quick else {}
    first: dict[str, Case] = {}
    for case in cases:
        first.setdefault(case.scenario, case)
    experiment = outcome.experiment
    scenarios = [experiment.scenario(case, changes).resolved() for case in first.values()]
    places = {place for name in first for place in experiment.scenarios[name].queue_at or experiment.file.queue_at}
    tables = [
        SetupTable("Runs", ["", ""], _runs(outcome, grid, scenarios)),
        SetupTable(
            "Links", ["link", "path", "rate", "delay", "queue"], _rows(_links(each, places) for each in scenarios)
        ),
        SetupTable("Flows", GROUP_HEADS, _rows(_groups(each, places) for each in scenarios)),
        SetupTable(f"{experiment.file.compares.capitalize()}s", QUEUE_HEADS, _queues(outcome, grid, changes)),
    ]
    return [each for each in tables if each.rows]


def _runs(outcome: Outcome, grid: Grid, scenarios: list[dict[str, Any]]) -> list[list[str]]:
    """The size of the grid and the times of its runs."""
    experiment = outcome.experiment
    seeds = outcome.seeds[: outcome.replications(grid)]
    sizes = [counted(len(grid.scenarios), "scenario"), counted(len(grid.queues), experiment.file.compares)]
    if any(grid.settings):
        sizes.append(counted(len(grid.settings), "setting"))
    rows = [
        ["cases", f"{len(grid.cases())}: {' × '.join(sizes)}"],
        ["scenarios", _listed(experiment.scenarios[name].label for name in grid.scenarios)],
        ["seeds", f"{len(seeds)} ({seeds[0]} to {seeds[-1]})" if len(seeds) > 1 else f"1 ({seeds[0]})"],
        ["duration", _listed(each["duration"] for each in scenarios)],
        ["warm-up", _listed(each["warmup"] for each in scenarios)],
        ["packet size", _listed(f"{each['packet']} B" for each in scenarios)],
    ]
    chosen = [experiment.settings[name] for name in grid.settings if name]
    return [*rows, *([f"setting {each.label}", _assigned(each.table)] for each in chosen)]


def _assigned(table: Mapping[str, Any]) -> str:
    """Fields with their values."""
    return ", ".join(f"{path} = {_text(value)}" for path, value in table.items())


def _links(resolved: Mapping[str, Any], places: Collection[str]) -> dict[str, list[str]]:
    """The links of a scenario by name.

    The back of a duplex link is left out if it differs in its queue alone.
    """
    links = {each["name"]: each for each in resolved["links"]}
    found = {}
    for name, each in links.items():
        front = links.get(name.removesuffix(":back").removesuffix(".back"), each)
        if front is not each and (front.get("rate"), front["delay"]) == (each.get("rate"), each["delay"]):
            continue
        queue = each.get("queue") or {}
        held = ", ".join(str(queue[field]) for field in ("aqm", "limit") if field in queue)
        held = COMPARED if f"links.{name.replace(':', '.')}.queue" in places else held
        found[name] = [_path(resolved, each), str(each.get("rate") or "none"), str(each["delay"]), held]
    return found


def _groups(resolved: Mapping[str, Any], places: Collection[str]) -> dict[str, list[str]]:
    """The groups of flows of a scenario by name."""
    return {
        each["name"]: [
            str(each.get("count", 1)),
            _path(resolved, each),
            " and ".join(_text(end["delay"]) for end in (each.get("access"), each.get("egress")) if end),
            COMPARED if {f"flows.{each['name']}.tcp.control", "tcp.control"} & set(places) else _controller(each),
            _kind(each.get("traffic")),
            _text(each.get("start")),
            _tcp(each.get("tcp") or {}),
        ]
        for each in resolved["groups"]
    }


def _controller(group: Mapping[str, Any]) -> str:
    control = (group.get("tcp") or {}).get("control") or {}
    return str(control.get("cc", "none"))


def _path(resolved: Mapping[str, Any], each: Mapping[str, Any]) -> str:
    nodes = resolved["nodes"]
    return f"{nodes[each['from']]} → {nodes[each['to']]}"


def _kind(traffic: Mapping[str, Any] | None) -> str:
    """The kind of traffic with its parameters."""
    if not traffic:
        return ""
    fields = ", ".join(f"{key} {_text(value)}" for key, value in traffic.items() if key != "kind" and value is not None)
    return f"{traffic['kind']} ({fields})" if fields else str(traffic["kind"])


def _tcp(tcp: Mapping[str, Any]) -> str:
    """The main options of a TCP stack."""
    if not tcp:
        return ""
    ecn = {False: "no ECN", True: "ECN"}.get(tcp["ecn"], f"ECN {tcp['ecn']}")
    return f"MSS {tcp['mss']}, recovery {tcp['recovery']}, {ecn}"


def _queues(outcome: Outcome, grid: Grid, changes: Mapping[str, Any]) -> list[list[str]]:
    """The queues or controllers of a grid, with all parameters as simulated in its scenarios."""
    experiment = outcome.experiment
    found: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    for case in grid.cases():
        table = experiment.queue_table(case.queue, case.scenario)
        seen = found.setdefault(case.queue, {})
        if (key := json.dumps(table, sort_keys=True, default=str)) not in seen:
            seen[key] = _resolved_queues(experiment, case, changes) or [table]
    return [
        [experiment.queues[queue].label, *_algorithm([table for tables in seen.values() for table in tables])]
        for queue, seen in found.items()
    ]


def _algorithm(tables: list[Mapping[str, Any]]) -> list[str]:
    """The name of an algorithm, and its parameters with the different values of each."""
    names = dict.fromkeys(name for table in tables for name in table if name not in NOT_SHOWN)
    fields = [f"{name} {_listed((each[name] for each in tables if name in each), ' | ')}" for name in names]
    return [_listed(str(each.get("aqm") or each.get("cc") or "") for each in tables), ", ".join(fields)]


def _resolved_queues(experiment: Experiment, case: Case, changes: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The queue or controller of a case with all defaults, at each of its places."""
    resolved = experiment.scenario(case, changes).resolved()
    places = experiment.scenarios[case.scenario].queue_at or experiment.file.queue_at
    try:
        found = [field_paths.get(resolved | {"flows": resolved["groups"]}, place) for place in places]
    except UserError:
        return []
    return [each for each in found if isinstance(each, Mapping)]


def _rows(scenarios: Iterable[Mapping[str, list[str]]]) -> list[list[str]]:
    """One row for each name, with the values that it has in the scenarios."""
    found: dict[str, list[list[str]]] = {}
    for scenario in scenarios:
        for name, cells in scenario.items():
            found.setdefault(name, []).append(cells)
    return [[name, *_merged(rows)] for name, rows in found.items()]


def _merged(rows: list[list[str]]) -> list[str]:
    """Rows as one, with the different values of each column."""
    return [_listed(column) for column in zip(*rows, strict=True)]


def _listed(values: Iterable[Any], sign: str = "") -> str:
    """Different values in the order in which they occur; of many the first and the last."""
    found = list(dict.fromkeys(map(_text, values)))
    if len(found) > MOST_VALUES:
        return f"{found[0]} … {found[-1]} ({len(found)} values)"
    return (sign or ("; " if any("," in each for each in found) else ", ")).join(found)


def _text(value: Any) -> str:
    """A value of a scenario in a few characters."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_text(each)}" for key, each in value.items())
    if isinstance(value, list):
        return " … ".join(map(_text, value)) if len(value) == 2 else ", ".join(map(_text, value))
    return value if isinstance(value, str) else json.dumps(value)
