"""Writes records as Flent data files (`.flent.gz`, file format 4) for Flent's plots.

A run of `examples/rrul.toml` becomes a result of Flent's `rrul` test. `RRUL` maps the names of its groups to Flent's.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sojourn.core.errors import UserError
from sojourn.core.files import write_atomic
from sojourn.core.record import EPOCH, Record
from sojourn.core.scenario import Scenario

Array = npt.NDArray[np.float64]
FORMAT = 4
STEP = 0.2  # seconds, Flent's default
CLASSES = ("BE", "BK", "CS5", "EF")
PROBES = {"ping-udp-ef": "UDP EF", "ping-udp-bk": "UDP BK", "ping-udp-be": "UDP BE", "ping-icmp": "ICMP"}
RRUL: dict[str, str] = {
    **{f"{side}-{each.lower()}": f"TCP {side}load {each}" for side in ("up", "down") for each in CLASSES},
    **{group: f"Ping (ms) {name}" for group, name in PROBES.items()},
}
SUMS = ("TCP upload", "TCP download")


def check_flent(scenario: Scenario) -> None:
    """Raises `UserError` for a scenario whose runs lack the series for a Flent file."""
    tree = scenario.resolved()
    groups = [group["name"] for group in tree["groups"]]
    traced = tree["trace"]["throughput"] is not None or bool(tree["trace"]["rtt"])
    if not traced or not set(groups) & set(RRUL):
        got = f"the groups {', '.join(groups)}" if traced else "neither"
        raise UserError(
            "--flent: expected trace.throughput or trace.rtt, and groups with names of Flent's RRUL test "
            f"({', '.join(RRUL)}), as in examples/rrul.toml, got {got}"
        )


def flent_data(record: Record, names: Mapping[str, str] = RRUL, test: str = "rrul", title: str = "") -> dict[str, Any]:
    """The series of a record in Flent's data structure.

    `names` maps groups to Flent's names; groups that the record lacks are omitted. Throughput is in Mbit/s, probes are
    in ms; both are interpolated to steps of 0.2 s. Raises `UserError` if no group has a series.
    """
    duration = float(record["duration_s"])
    x = np.arange(0.0, duration + 1e-9, STEP)
    results: dict[str, list[float | None]] = {}
    raw: dict[str, list[dict[str, float]]] = {}
    for group, name in names.items():
        flows = [each for each in record.series if each.partition("/")[2].rpartition("/")[0] == group]
        chosen = _samples(record, flows, probe=name.startswith("Ping"))
        if chosen is None:
            continue
        t, values = chosen
        results[name] = _on_grid(x, t, values)
        start = EPOCH.timestamp()
        raw[name] = [{"t": start + float(a), "val": float(b)} for a, b in zip(t, values, strict=True)]
    if not results:
        raise UserError("flent: expected a run with series such as that of examples/rrul.toml, got none")
    _sums(results)
    metadata = {
        "NAME": test,
        "TITLE": title or str(record.get("scenario", "")),
        "HOST": "simulated",
        "HOSTS": ["simulated"],
        "LOCAL_HOST": "sojourn",
        "TIME": _stamp(0.0),
        "T0": _stamp(0.0),
        "LENGTH": round(duration),
        "TOTAL_LENGTH": round(duration),
        "STEP_SIZE": STEP,
        "IP_VERSION": 4,
        "NOTE": f"seed {record.get('seed')}",
        "TEST_PARAMETERS": {},
        "FLENT_VERSION": "2.3.0",
        "DATA_FILENAME": f"{test}.flent.gz",
        "SERIES_META": {name: {"UNITS": "ms" if name.startswith("Ping") else "Mbits/s"} for name in results},
    }
    return {"version": FORMAT, "metadata": metadata, "x_values": x.tolist(), "results": results, "raw_values": raw}


def _samples(record: Record, flows: Sequence[str], probe: bool) -> tuple[Array, Array] | None:
    """Times and values of a group.

    They are samples of the round-trip time, or the sum of its flows' throughput.
    """
    wanted = [record.series[name] for name in flows if name.startswith("rtt/" if probe else "throughput/")]
    if not wanted:
        return None
    if probe:
        t = np.concatenate([each["t"] for each in wanted])
        values = 1e3 * np.concatenate([each["seconds"] for each in wanted])
        order = np.argsort(t, kind="stable")
        return t[order], values[order]
    return wanted[0]["t"], 1e-6 * np.sum([each["bps"] for each in wanted], axis=0)


def _on_grid(x: Array, t: Array, values: Array) -> list[float | None]:
    """Values at the times `x`; None before the first and after the last sample."""
    if not len(t):
        return [None] * len(x)
    at = np.interp(x, t, values, left=math.nan, right=math.nan)
    return [None if math.isnan(v) else float(v) for v in at]


def _sums(results: dict[str, list[float | None]]) -> None:
    """Adds the sums and averages that Flent's own test contains."""

    def combined(prefix: str, mean: bool) -> list[float | None]:
        columns = [series for name, series in results.items() if name.startswith(prefix)]
        rows = [[v for v in row if v is not None] for row in zip(*columns, strict=True)]
        return [(sum(row) / len(row) if mean else sum(row)) if row else None for row in rows]

    own = list(results)
    added: dict[str, list[float | None]] = {}
    for prefix in SUMS:
        if any(name.startswith(prefix) for name in own):
            added[f"{prefix} avg"], added[f"{prefix} sum"] = combined(prefix, True), combined(prefix, False)
    if any(name.startswith("TCP") for name in own):
        added["TCP totals"] = combined("TCP", False)
    if any(name.startswith("Ping") for name in own):
        added["Ping (ms) avg"] = combined("Ping", True)
    results.update(added)


def _stamp(seconds: float) -> str:
    return (EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def write_flent(record: Record, path: str | Path, names: Mapping[str, str] = RRUL, test: str = "rrul") -> Path:
    """Writes a record as a Flent data file and returns its path.

    The bytes are reproducible. Raises `UserError` for a file name that does not end in `.flent.gz`, and for a record
    without series.
    """
    file = Path(path)
    if not file.name.endswith(".flent.gz"):
        raise UserError(f'{file}: expected a file name that ends in ".flent.gz"')
    text = json.dumps(flent_data(record, names, test, file.name.removesuffix(".flent.gz")), indent=1)
    return write_atomic(file, gzip.compress(text.encode(), mtime=0))
