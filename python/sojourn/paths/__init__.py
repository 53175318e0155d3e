"""The library of paths: access links with the statistics of their sources.

A link of a scenario uses one by its name: `path = "lte-verizon-2012"`. The engine has the files of the library and
draws the traces.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sojourn import _sojourn
from sojourn.core.errors import UserError

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Source:
    """The measurements or the document behind a path."""

    work: str  # a key of docs/references.md
    data: str  # which part of the data set or document
    license: str
    measured: str
    seconds: float | None = None  # none for documents


@dataclass(frozen=True)
class Memory:
    """A share of the variance whose autocorrelation decays with the time constant `seconds`."""

    share: float
    seconds: float


@dataclass(frozen=True)
class Quantity:
    """A random quantity: its distribution, and the memory of its normal scores.

    `percentiles` maps percentages to values. The rest of the variance, beyond `memory` and `slot_share`, is white.
    """

    percentiles: dict[float, float]
    memory: tuple[Memory, ...] = ()
    slot_share: float = 0.0  # of the variance, constant between two handovers

    def values(self, levels: Array) -> Array:
        """The quantiles at `levels`, 0 to 1.

        Interpolated linearly, in the logarithm if all values are positive.
        """
        at, known = np.array(list(self.percentiles)) / 100, np.array(list(self.percentiles.values()))
        if known[0] <= 0:
            return np.asarray(np.interp(levels, at, known))
        return np.asarray(np.exp(np.interp(levels, at, np.log(known))))

    def correlation(self, lag_s: float, period_s: float | None = None) -> float:
        """The autocorrelation of the normal scores; with random phase of the handovers."""
        if lag_s == 0:
            return 1.0
        kept = sum(each.share * np.exp(-lag_s / each.seconds) for each in self.memory)
        return float(kept + (self.slot_share * max(0.0, 1 - lag_s / period_s) if period_s else 0.0))


@dataclass(frozen=True)
class Outages:
    """Periods without service: their share of time, and their mean length."""

    share: float
    seconds: float


@dataclass(frozen=True)
class Handover:
    """A periodic change of the satellite: its period, and the outage at each change."""

    period_ms: int
    outage_ms: int
    loss: float = 0.0  # of the packets in the window of a change


@dataclass(frozen=True)
class Varying:
    """The random process of a path's rate and delay."""

    every_ms: int  # of the windows in which rates were counted
    cv: float  # coefficient of variation, outages and handovers included
    rate_mbps: Quantity  # without outages and handovers
    correlation_s: float | None = None  # lag at which the autocorrelation of the normal scores falls below 1/e
    delay_ms: Quantity | None = None  # on top of half of `rtt_ms`, one way
    outages: Outages | None = None
    handover: Handover | None = None


@dataclass(frozen=True)
class Path:
    """An access link: the statistics of its source, and a model with these statistics."""

    name: str
    summary: str
    source: Source
    mean_mbps: float  # outages and handovers included
    varying: Varying | None = None  # none: the rate is constant
    rtt_ms: float | None = None
    overhead: str | None = None
    impairments: tuple[dict[str, Any], ...] = ()


def names() -> list[str]:
    """The names of all paths, sorted."""
    return sorted(_library())


def find(name: str) -> Path:
    """The path `name`. Raises `UserError` for an unknown name.

    >>> find("lte-verizon-2012").source.work
    'winstein-2013'
    """
    if name not in _library():
        raise UserError.unknown("--path", name, names())
    return _library()[name]


@cache
def _library() -> dict[str, Path]:
    return {name: _path(name, table) for name, table in json.loads(_sojourn.path_library()).items()}


def _path(name: str, table: dict[str, Any]) -> Path:
    """A path from its file."""
    statistics, rate, delay = table.pop("statistics"), table.pop("rate", None), table.pop("delay", None)
    source, mean = Source(**table.pop("source")), statistics.pop("mean_mbps")
    varying = None if rate is None else _varying(statistics, rate, delay)
    return Path(name, source=source, mean_mbps=mean, varying=varying, **table)


def _varying(statistics: dict[str, Any], rate: dict[str, Any], delay: dict[str, Any] | None) -> Varying:
    parts: dict[str, Any] = {
        "rate_mbps": _quantity(statistics.pop("rate_mbps"), rate),
        "delay_ms": _quantity(statistics.pop("delay_ms"), delay) if delay else None,
        "outages": Outages(**statistics.pop("outages")) if "outages" in statistics else None,
        "handover": Handover(**statistics.pop("handover")) if "handover" in statistics else None,
    }
    return Varying(**parts, **statistics)


def _quantity(percentiles: dict[str, float], model: dict[str, Any]) -> Quantity:
    memory = tuple(Memory(**each) for each in model.get("memory", []))
    values = dict(sorted((float(key[1:]), value) for key, value in percentiles.items()))
    return Quantity(values, memory, model.get("slot_share", 0.0))


def entries() -> list[dict[str, Any]]:
    """The library for `sojourn list paths`: one entry per path, with its sources as notes."""
    return [_entry(_library()[name]) for name in names()]


def _entry(path: Path) -> dict[str, Any]:
    source = path.source
    rows = {
        "mean rate": f"{path.mean_mbps:g} Mbit/s",
        **(_figures(path.varying) if path.varying else {}),
        "round trip": f"{path.rtt_ms:g} ms without load" if path.rtt_ms else "not measured",
        **({"overhead": path.overhead} if path.overhead else {}),
        **{f"impairment {number}": _impairment(each) for number, each in enumerate(path.impairments, 1)},
    }
    windows = f" in windows of {path.varying.every_ms} ms" if path.varying else ""
    return {
        "name": path.name,
        "summary": path.summary,
        "heads": {"name": "statistic", "default": "value"},
        "parameters": [{"name": key, "default": value} for key, value in rows.items()],
        "notes": [
            f"source: {source.work} in docs/references.md: {source.data}",
            f"measured: {source.measured}, {source.seconds:g} s{windows}"
            if source.seconds
            else f"chosen: {source.measured}",
            f"license of the source: {source.license}; the library has figures of it alone",
        ],
    }


def _figures(varying: Varying) -> dict[str, str]:
    """The statistics of a rate that varies."""
    rate, outages, handover = varying.rate_mbps.percentiles, varying.outages, varying.handover
    delay = varying.delay_ms.percentiles if varying.delay_ms else {}
    found = {
        "coefficient of variation": f"{varying.cv:g}",
        **{f"{level:g} % of the rates below": f"{rate[level]:g} Mbit/s" for level in (5, 50, 95) if level in rate},
        "correlation time": f"{varying.correlation_s:g} s" if varying.correlation_s else "none",
        **{f"{level:g} % of the delays below": f"{delay[level]:g} ms" for level in (50, 90, 99) if level in delay},
        "outages": f"{outages.share:.2%} of the time, {outages.seconds:g} s each" if outages else "none",
    }
    if handover:
        losses = f", {handover.loss:.2%} lost in the window" if handover.loss else ""
        found["handovers"] = f"every {handover.period_ms / 1e3:g} s, {handover.outage_ms} ms without service{losses}"
    return found


def _impairment(impairment: dict[str, Any]) -> str:
    """An impairment in one line."""
    keys = ", ".join(f"{key} {value}" for key, value in impairment.items() if key not in ("kind", "place"))
    return f"{impairment['kind']}: {keys}"
