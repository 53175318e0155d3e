"""The library of paths: statistics of measured access links, and traces made from them.

Each path is a file of `library/`. It names the measurements, their license, their statistics and the fitted memory.
The files contain figures computed from the measurements, no part of the measurements.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from sojourn.core.errors import UserError

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Source:
    """The measurements behind a path."""

    work: str  # a key of docs/references.md
    data: str  # which part of the data set
    license: str
    measured: str
    seconds: float


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


@dataclass(frozen=True)
class Path:
    """An access link: the statistics of its measurements, and a model with these statistics."""

    name: str
    summary: str
    source: Source
    every_ms: int  # of the windows in which rates were counted
    mean_mbps: float  # outages and handovers included
    cv: float  # coefficient of variation, outages and handovers included
    correlation_s: float  # lag at which the autocorrelation of the normal scores falls below 1/e
    rate_mbps: Quantity  # without outages and handovers
    delay_ms: Quantity | None = None  # on top of half of `rtt_ms`, one way
    outages: Outages | None = None
    handover: Handover | None = None
    rtt_ms: float | None = None


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
    found = (each for each in (files(__name__) / "library").iterdir() if each.name.endswith(".toml"))
    return {
        name: _path(name, tomllib.loads(each.read_text(encoding="utf-8")))
        for each in found
        for name in [each.name.removesuffix(".toml")]
    }


def _path(name: str, table: dict[str, Any]) -> Path:
    """A path from its file. An unknown or missing key is a `TypeError`."""
    statistics = dict(table.pop("statistics"))
    return Path(
        name=name,
        source=Source(**table.pop("source")),
        rate_mbps=_quantity(statistics.pop("rate_mbps"), table.pop("rate")),
        delay_ms=_quantity(statistics.pop("delay_ms"), table.pop("delay")) if "delay" in table else None,
        outages=Outages(**statistics.pop("outages")) if "outages" in statistics else None,
        handover=Handover(**statistics.pop("handover")) if "handover" in statistics else None,
        **statistics,
        **table,
    )


def _quantity(percentiles: dict[str, float], model: dict[str, Any]) -> Quantity:
    memory = tuple(Memory(**each) for each in model.get("memory", []))
    return Quantity({float(key[1:]): value for key, value in percentiles.items()}, memory, model.get("slot_share", 0.0))


def entries() -> list[dict[str, Any]]:
    """The library for `sojourn list paths`: one entry per path, with its sources as notes."""
    return [_entry(_library()[name]) for name in names()]


def _entry(path: Path) -> dict[str, Any]:
    source, rate = path.source, path.rate_mbps.percentiles
    rows = {
        "mean rate": f"{path.mean_mbps:g} Mbit/s",
        "coefficient of variation": f"{path.cv:g}",
        **{f"{level:g} % of the rates below": f"{rate[level]:g} Mbit/s" for level in (5, 50, 95)},
        "correlation time": f"{path.correlation_s:g} s",
        "outages": f"{path.outages.share:.2%} of the time, {path.outages.seconds:g} s each" if path.outages else "none",
    }
    if path.handover:
        rows["handovers"] = f"every {path.handover.period_ms / 1e3:g} s, {path.handover.outage_ms} ms without service"
    rows["round trip"] = f"{path.rtt_ms:g} ms without load" if path.rtt_ms else "not measured"
    return {
        "name": path.name,
        "summary": path.summary,
        "heads": {"name": "statistic", "default": "value"},
        "parameters": [{"name": key, "default": value} for key, value in rows.items()],
        "notes": [
            f"source: {source.work} in docs/references.md: {source.data}",
            f"measured: {source.measured}, {source.seconds:g} s in windows of {path.every_ms} ms",
            f"license of the measurements: {source.license}; the library has statistics of them alone",
        ],
    }
