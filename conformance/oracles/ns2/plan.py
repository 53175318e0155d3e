"""From a scenario table to flat lists of nodes, links and flows, with all draws made.

`freeze` draws the values that differ between flows of a group and writes them as explicit lists, so that both
simulators get the same numbers; `lay_out` reads that table. Times are whole nanoseconds, rates bit/s, sizes bytes.
"""

from __future__ import annotations

import copy
import math
import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from .quantities import FieldError, is_packets, rate_bps, size_bytes, time_ns

Table = dict[str, Any]

_TOP = {"name", "duration", "warmup", "seed", "packet", "links", "tcp", "flows", "trace"}
_LINK = {"name", "from", "to", "rate", "delay", "queue", "duplex", "back", "changes"}
_FLOW = {"name", "count", "from", "to", "access", "egress", "via", "start", "stop", "traffic", "tcp"}


@dataclass(frozen=True)
class Link:
    """One direction of a link.

    `rate` is None without serialization; `changes` are (ns, bit/s).
    """

    name: str
    src: str
    dst: str
    rate: float | None
    delay: int
    queue: Table
    changes: tuple[tuple[int, float], ...] = ()
    measured: bool = False


@dataclass(frozen=True)
class Flow:
    """One flow: its end nodes, its times (ns), its traffic and its TCP table."""

    name: str
    group: str
    src: str
    dst: str
    start: int
    stop: int | None
    traffic: Table
    tcp: Table


@dataclass
class Plan:
    """A scenario for a simulator that has only nodes, simplex links and flows."""

    name: str
    duration: int
    warmup: int
    packet: int
    nodes: list[str] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)

    def node(self, name: str) -> str:
        """Adds a node unless it exists, and returns its name."""
        if name not in self.nodes:
            self.nodes.append(name)
        return name


def _known(table: Table, keys: set[str], where: str) -> None:
    for key in table:
        if key not in keys:
            raise FieldError(f"{where}.{key}" if where else key, table[key], "one of " + ", ".join(sorted(keys)))


def _draw(value: Any, count: int, draw: random.Random, where: str) -> list[Any]:
    """The values of a field for `count` flows, as texts: times in whole ns, rates in bit/s."""
    if isinstance(value, list):
        if not value:
            raise FieldError(where, value, "at least one value")
        return [value[i % len(value)] for i in range(count)]
    if not isinstance(value, dict):
        return [value] * count
    rate = where.endswith("rate")

    def read(text: Any) -> float:
        return rate_bps(text, where) if rate else float(time_ns(text, where))

    def text(number: float) -> str:
        return f"{round(number)} bit/s" if rate else f"{round(number)} ns"

    kinds = set(value)
    if kinds == {"uniform"}:
        low, high = (read(x) for x in value["uniform"])
        return [text(draw.uniform(low, high)) for _ in range(count)]
    if kinds == {"spread"}:
        low, high = (read(x) for x in value["spread"])
        return [text(low + (high - low) * i / max(count - 1, 1)) for i in range(count)]
    if "step" in kinds and kinds <= {"step", "first"}:
        step, first = read(value["step"]), read(value.get("first", "0 s"))
        return [text(first + i * step) for i in range(count)]
    if kinds == {"lognormal"} and not rate:
        median, sigma = read(value["lognormal"]["median"]), float(value["lognormal"]["sigma"])
        return [text(draw.lognormvariate(math.log(median), sigma)) for _ in range(count)]
    raise FieldError(where, value, "a value, a list, or uniform, spread, step or (times only) lognormal")


def freeze(scenario: Table, seed: int) -> Table:
    """A copy with an explicit list for every value that differs between flows of a group.

    The lists are drawn with `seed`. Each field has its own random stream, so adding a group does not change the
    numbers of others.
    """
    frozen = copy.deepcopy(scenario)
    frozen["seed"] = seed
    for index, group in enumerate(frozen.get("flows", [])):
        name, count = group.get("name", f"flow{index}"), int(group.get("count", 1))
        slots = [(group, key, key) for key in ("start", "stop") if key in group]
        for side in ("access", "egress"):
            slots += [(group[side], key, f"{side}.{key}") for key in ("delay", "rate") if key in group.get(side, {})]
        for table, key, path in slots:
            if isinstance(table[key], (dict, list)):
                draw = random.Random(f"{seed}/{name}/{path}")
                table[key] = _draw(table[key], count, draw, f"flows.{name}.{path}")
    return frozen


def _queue(table: Table | None, where: str) -> Table:
    queue = {"aqm": "droptail", "limit": "1000 packets", **(table or {})}
    if not is_packets(queue["limit"]):
        size_bytes(queue["limit"], f"{where}.limit")
    return queue


def _links(plan: Plan, tables: list[Table]) -> None:
    for table in tables:
        name = table.get("name", f"{table.get('from')}->{table.get('to')}")
        where = f"links.{name}"
        _known(table, _LINK, where)
        for key in ("from", "to", "delay"):
            if key not in table:
                raise FieldError(f"{where}.{key}", None, "a value: it has no default")
        src, dst = plan.node(table["from"]), plan.node(table["to"])
        rate = rate_bps(table["rate"], f"{where}.rate") if "rate" in table else None
        changes = []
        for change in table.get("changes", []):
            _known(change, {"at", "rate"}, f"{where}.changes")
            at, new = time_ns(change["at"], f"{where}.changes.at"), rate_bps(change["rate"], f"{where}.changes.rate")
            changes.append((at, new))
        delay, queue = time_ns(table["delay"], f"{where}.delay"), _queue(table.get("queue"), f"{where}.queue")
        plan.links.append(Link(name, src, dst, rate, delay, queue, tuple(changes), rate is not None))
        if table.get("duplex", False):
            back = table.get("back", {})
            _known(back, {"rate", "delay", "queue"}, f"{where}.back")
            back_rate = rate_bps(back["rate"], f"{where}.back.rate") if "rate" in back else rate
            back_delay = time_ns(back["delay"], f"{where}.back.delay") if "delay" in back else delay
            back_name = f"{name}:back" if "name" in table else f"{table['to']}->{table['from']}"
            back_queue = _queue(back.get("queue"), f"{where}.back.queue")
            plan.links.append(Link(back_name, dst, src, back_rate, back_delay, back_queue))


def shortest(links: list[Link], src: str, dst: str) -> list[str]:
    """The path with the fewest links from `src` to `dst`; empty without one.

    Among equal paths it is the first in the order of the links.
    """
    before: dict[str, str] = {src: src}
    queue = deque([src])
    while queue:
        node = queue.popleft()
        for link in links:
            if link.src == node and link.dst not in before:
                before[link.dst] = node
                queue.append(link.dst)
    if dst not in before:
        return []
    path = [dst]
    while path[-1] != src:
        path.append(before[path[-1]])
    return path[::-1]


def _edge(plan: Plan, core: str, host: str, table: Table | None, index: int) -> str:
    """The node of a flow's endpoint: `core`, or `host` behind its own duplex link."""
    if table is None:
        return core
    _known(table, {"rate", "delay"}, f"flows.{host}")

    def one(value: Any) -> Any:
        return value[index % len(value)] if isinstance(value, list) else value

    rate = rate_bps(one(table["rate"]), f"flows.{host}.rate") if "rate" in table else None
    delay = time_ns(one(table.get("delay", "0 s")), f"flows.{host}.delay")
    plan.node(host)
    endless: Table = {"aqm": "droptail", "limit": "1000000 packets"}
    for src, dst in ((host, core), (core, host)):
        plan.links.append(Link(f"{src}->{dst}", src, dst, rate, delay, endless))
    return host


def _flows(plan: Plan, groups: list[Table], tcp: Table) -> None:
    core = list(plan.links)
    for order, group in enumerate(groups):
        name = group.get("name", f"flow{order}")
        _known(group, _FLOW, f"flows.{name}")
        if "via" in group and shortest(core, group["from"], group["to"]) != list(group["via"]):
            raise FieldError(f"flows.{name}.via", group["via"], "the shortest path: ns-2 routes statically")
        if not shortest(core, group["from"], group["to"]):
            raise FieldError(f"flows.{name}.to", group["to"], "a node that links lead to")
        merged = {**tcp, **group.get("tcp", {})}
        for i in range(int(group.get("count", 1))):
            src = _edge(plan, group["from"], f"{name}/{i}.access", group.get("access"), i)
            dst = _edge(plan, group["to"], f"{name}/{i}.egress", group.get("egress"), i)
            starts, stops = group.get("start", "0 s"), group.get("stop")
            start = starts[i % len(starts)] if isinstance(starts, list) else starts
            stop = stops[i % len(stops)] if isinstance(stops, list) else stops
            stop_at = None if stop is None else time_ns(stop, f"flows.{name}.stop")
            traffic = dict(group.get("traffic", {"kind": "bulk"}))
            begin = time_ns(start, f"flows.{name}.start")
            plan.flows.append(Flow(f"{name}/{i}", name, src, dst, begin, stop_at, traffic, merged))


def lay_out(frozen: Table) -> Plan:
    """The plan of a frozen scenario. Raises `FieldError` for an unknown or unreadable field."""
    _known(frozen, _TOP, "")
    if "duration" not in frozen:
        raise FieldError("duration", None, "a time: it has no default")
    plan = Plan(
        name=str(frozen.get("name", "scenario")),
        duration=time_ns(frozen["duration"], "duration"),
        warmup=time_ns(frozen.get("warmup", "0 s"), "warmup"),
        packet=size_bytes(frozen.get("packet", "1500 B"), "packet"),
    )
    if plan.warmup >= plan.duration:
        raise FieldError("warmup", frozen["warmup"], "less than duration")
    _links(plan, frozen.get("links", []))
    _flows(plan, frozen.get("flows", []), frozen.get("tcp", {}))
    return plan
