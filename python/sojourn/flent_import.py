"""A scenario from a result of Flent: its transfers and probes over one link with the rates that it measured."""

from __future__ import annotations

import json
import math
import re
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any

from sojourn import _sojourn
from sojourn.errors import UserError
from sojourn.files import opened
from sojourn.scenario import Scenario

MOST_BYTES = 1 << 28  # of the text
DEEPEST = 2000  # ms: a longer round trip without load is no measurement of the path
DERIVED = re.compile(r"(^TCP totals$| (avg|sum|totals)$)")
TRANSFER = re.compile(r"^TCP (up|down)load\b(.*)$")
PROBE = re.compile(r"^Ping \(ms\)\s*(.*)$")


def flent_scenario(file: Path, rate: str | None, cc: str) -> Scenario:
    """The scenario of a result. Raises `UserError` for a file that is none, `OSError` for one that can't be read."""
    data = _data(file)
    x, results = data["x_values"], data["results"]
    ups, downs, probes = _named(results, "up"), _named(results, "down"), _probes(results)
    if not ups and not downs:
        raise UserError(f'{file}: results: expected series "TCP upload" or "TCP download", got {_few(results)}')
    base = min((v for name in probes for v in results[name] if v is not None and v > 0), default=50.0)
    if base > DEEPEST:
        raise UserError.expected(f"{file}: results", f"a round trip of at most {DEEPEST} ms without load", base)
    up, down = _capacity(results, ups), _capacity(results, downs)
    rates = [each or max(up, down) for each in (up, down)]
    queue = {"aqm": "droptail", "limit": f"{max(20, math.ceil(max(rates) * base * 1000 / 12_000))} packets"}
    link: dict[str, Any] = {
        "name": "uplink", "from": "home", "to": "provider", "rate": rate or _mbit(rates[0]),
        "delay": f"{base / 2:.6g} ms", "queue": queue, "duplex": True,
    }  # fmt: skip
    if rate is None:
        link["back"] = {"rate": _mbit(rates[1])}
    ends = [("home", "provider"), ("provider", "home")]
    flows = [
        _flow(name, results[name], x, *way) for names, way in zip((ups, downs), ends, strict=True) for name in names
    ]
    probing = {"kind": "ping", "every": "200 ms", "size": "60 B"}
    flows += [{"name": _slug(name), "from": "home", "to": "provider", "traffic": probing} for name in probes]
    tree = {
        "name": str(data["metadata"].get("NAME") or "flent"), "duration": f"{x[-1] + (x[-1] - x[-2]):.6g} s",
        "links": [link], "tcp": {"profile": "linux", "control": {"cc": _controller(data) or cc}}, "flows": flows,
        "trace": {"throughput": {"flows": ["*"], "every": "200 ms"}} | _traced(probes),
    }  # fmt: skip
    return Scenario(tree, str(file))


def _traced(probes: list[str]) -> dict[str, Any]:
    return {"rtt": {"flows": [f"{_slug(name)}/*" for name in probes]}} if probes else {}


def _data(file: Path) -> dict[str, Any]:
    """The data of a file, of which the parts that are used have their types."""
    with opened(file) as source:
        content = source.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise UserError(f"{file}: expected a result of Flent, got a file of more than {MOST_BYTES:,} bytes")
    try:
        if content[:2] == b"\x1f\x8b":
            content = _unpacked(content)
        data = json.loads(content)
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise UserError.expected(str(file), "a result of Flent (JSON, packed by gzip)", str(error)) from None
    wrong = _fault(data)
    if wrong:
        raise UserError(f"{file}: {wrong}")
    return dict(data)


def _unpacked(content: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    text = unpacker.decompress(content, MOST_BYTES)
    if unpacker.unconsumed_tail:
        raise ValueError(f"more than {MOST_BYTES:,} bytes")
    if not unpacker.eof:
        raise ValueError("a file that ends too early")
    return text


def _brief(value: Any) -> str:
    """The beginning of a value as JSON; "none" where there is none."""
    return "none" if value is None else json.dumps(value)[:40]


def _fault(data: Any) -> str:
    """What is wrong with the data; nothing where all is right."""
    if not isinstance(data, dict):
        return f"expected a table, got {_brief(data)}"
    for key, kind, what in (("metadata", dict, "a table"), ("x_values", list, "a list"), ("results", dict, "a table")):
        if not isinstance(data.get(key), kind):
            return f"{key}: expected {what}, got {_brief(data.get(key))}"
    x, results = data["x_values"], data["results"]
    if len(x) < 2 or not all(_is_number(value) for value in x) or any(b <= a for a, b in pairwise(x)) or x[0] < 0:
        return "x_values: expected two or more rising times from 0 s on, got others"
    for name, series in results.items():
        if not isinstance(series, list) or len(series) != len(x):
            return f"results.{name}: expected a list of {len(x)} values, got another"
        if not all(value is None or (_is_number(value) and value >= 0) for value in series):
            return f"results.{name}: expected numbers of 0 or more, or null, got others"
    return ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e12


def _named(results: dict[str, Any], way: str) -> list[str]:
    """The transfers in one direction: of sums, only where there is nothing else."""
    found = [name for name in results if (match := TRANSFER.match(name)) and match[1] == way]
    return [name for name in found if not DERIVED.search(name)] or found[:1]


def _probes(results: dict[str, Any]) -> list[str]:
    found = [name for name in results if PROBE.match(name)]
    return [name for name in found if not DERIVED.search(name)] or found[:1]


def _capacity(results: dict[str, Any], names: list[str]) -> float:
    """The rate of a direction in Mbit/s: the median of what its transfers had together."""
    rows = zip(*(results[name] for name in names), strict=True)
    sums = sorted(sum(v for v in row if v is not None) for row in rows)
    busy = [each for each in sums if each > 0]
    return busy[len(busy) // 2] if busy else 0.0


def _flow(name: str, series: list[float | None], x: list[float], source: str, destination: str) -> dict[str, Any]:
    """A transfer, from its first value to its last."""
    active = [at for at, value in zip(x, series, strict=True) if value]
    first, last = (active[0], active[-1]) if active else (x[0], x[-1])
    stop = {"stop": f"{last:.6g} s"} if last < x[-1] and last > first else {}
    return {"name": _slug(name), "from": source, "to": destination, "start": f"{first:.6g} s"} | stop


def _controller(data: dict[str, Any]) -> str | None:
    """The congestion control that the metadata name, if it is one of ours."""
    known = {each["name"] for each in json.loads(_sojourn.registry())["cc"]}
    said = data["metadata"].get("EGRESS_INFO")
    named = data["metadata"].get("TEST_PARAMETERS")
    for table in (named, said, data["metadata"]):
        value = table.get("tcp_cong_control") or table.get("cc") if isinstance(table, dict) else None
        if isinstance(value, str) and value in known:
            return value
    return None


def _slug(name: str) -> str:
    """A group's name from a series': "TCP upload BE" is "tcp-upload-be"."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _mbit(rate: float) -> str:
    return f"{max(rate, 0.001):.6g} Mbit/s"


def _few(names: dict[str, Any]) -> str:
    return ", ".join(f'"{name}"' for name in list(names)[:3]) or "none"
