"""Distributions from all samples if they were traced, else from the quantiles of records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from sojourn.core import record_schema
from sojourn.core.errors import UserError
from sojourn.core.traces import TO_ADD
from sojourn.plots.style import FAR_APART, Look

Array = npt.NDArray[np.float64]


class Run(Protocol):
    """The part of a record's interface that distributions require."""

    @property
    def series(self) -> Mapping[str, Mapping[str, Array]]:
        """Traces by name."""

    def get(self, key: str, /) -> Any:
        """A field."""

    def samples(self, name: str, /) -> Array:
        """The values of a series after the warm-up, in seconds."""


@dataclass(frozen=True)
class Quantity:
    """A quantity with a distribution: axis label, unit, field of a record, and trace."""

    label: str
    unit: str
    scale: float  # factor from seconds
    part: str
    field: str
    trace: str
    source: str  # what the run must contain

    def trace_of(self, links: list[str]) -> tuple[str, dict[str, list[str]]]:
        """Path and value of the setting that traces every sample, at these links or for all flows."""
        return f"trace.{self.trace}", {"links": links} if self.part == "links" else {"flows": ["*"]}


QUANTITIES = {
    "wait": Quantity("wait in the queue", "ms", 1e3, "links", "wait_ms", "wait", "links with packets"),
    "rtt": Quantity("round-trip time", "ms", 1e3, "groups", "rtt_ms", "rtt", "flows over TCP, or ping"),
    "completion": Quantity(
        "completion time",
        "s",
        1.0,
        "groups",
        "completion_s",
        "completions",
        "flows whose connections end after the warm-up (a session, or bulk with a size)",
    ),
}
LEVELS = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "max": 1.0}


@dataclass(frozen=True)
class Distribution:
    """Sorted values with cumulative shares. `exact` is True if all samples are included."""

    values: Array
    levels: Array
    exact: bool


def quantity(of: str) -> Quantity:
    """The quantity `of`: `wait`, `rtt` or `completion`. Raises `UserError` for another name."""
    if of not in QUANTITIES:
        raise UserError.unknown("distribution", of, QUANTITIES)
    return QUANTITIES[of]


def nothing(where: str, of: str) -> UserError:
    """The error if no run has such a distribution. It names the requirement and the trace."""
    chosen = quantity(of)
    every = f"for every sample add {TO_ADD[chosen.trace]} to [trace]"
    return UserError(f"{where}: distribution of {of}: expected {chosen.source}, got none; {every} of the scenario")


def sources(record: Run, of: str) -> list[str]:
    """The links or groups of a record that have such a distribution."""
    chosen = quantity(of)
    return [str(item["name"]) for item in record.get(chosen.part) if item.get(chosen.field)]


def main_sources(record: Run, of: str) -> list[str]:
    """The links or groups shown by default: those with traced samples, else with nonzero values."""
    there = {place: found for place in sources(record, of) if (found := distribution(record, of, place)) is not None}
    traced = [place for place in there if any(name in record.series for name in _series(record, of, place))]
    return traced or [place for place, found in there.items() if found.values[-1] > 0] or list(there)


def distribution(record: Run, of: str, place: str) -> Distribution | None:
    """The distribution at a link or in a group after the warm-up; None without data."""
    chosen = quantity(of)
    found = next((item for item in record.get(chosen.part) if item["name"] == place), None)
    samples = _samples(record, of, place)
    if samples is not None and len(samples):
        return of_samples(samples * chosen.scale)
    return _quantiles(found, chosen.field) if found is not None else None


def within(record: Run, of: str, place: str) -> dict[str, Distribution]:
    """The distributions of waits in the classes or queues of a link, by name."""
    chosen = quantity(of)
    links = record.get("links") if chosen.part == "links" else []
    parts = [part for link in links if link["name"] == place for part in record_schema.inside(link)]
    found = {" ".join(steps[1::2]): _quantiles(part, chosen.field) for steps, part in parts}
    known = {name: each for name, each in found.items() if each is not None}
    return known if len(known) > 1 else {}


def _quantiles(item: Mapping[str, Any], field: str) -> Distribution | None:
    """The distribution from a record's quantiles; None without data."""
    if not item.get(field):
        return None
    known = {key: item[field][key] for key in LEVELS if item[field].get(key) is not None}
    return Distribution(np.array(list(known.values()), float), np.array([LEVELS[key] for key in known]), exact=False)


def _samples(record: Run, of: str, place: str) -> Array | None:
    """All samples after the warm-up in seconds; None if not all were traced."""
    names = _series(record, of, place)
    if not names or not all(name in record.series for name in names):
        return None
    return np.concatenate([record.samples(name) for name in names])


def _series(record: Run, of: str, place: str) -> list[str]:
    """The series that together contain every sample: of the link, or of each flow with samples."""
    if of != "rtt":
        return [f"{quantity(of).trace}/{place}"]
    flows = [flow for flow in record.get("flows") if flow["group"] == place and flow.get("rtt_ms")]
    return [f"rtt/{flow['name']}" for flow in flows]


def of_samples(samples: Array) -> Distribution:
    """The distribution of samples."""
    values = np.sort(samples)
    return Distribution(values, np.arange(1, len(values) + 1) / len(values), exact=True)


def pooled(parts: Sequence[Distribution]) -> Distribution:
    """Joins the distributions of several runs: all samples, or the mean of each quantile."""
    if all(part.exact for part in parts):
        return of_samples(np.concatenate([part.values for part in parts]))
    levels = [level for level in LEVELS.values() if all(level in part.levels for part in parts)]
    means = [np.mean([part.values[part.levels == level][0] for part in parts]) for level in levels]
    return Distribution(np.array(means), np.array(levels), exact=False)


def draw(ax: Axes, found: Distribution, look: Look, label: str, complement: bool) -> None:
    """Draws one curve: steps through every sample, or a dashed line through known quantiles."""
    values, levels = found.values, found.levels
    if found.exact and len(values) > 4000:  # more than visible; the tail is kept
        last = len(values) - 1
        tail = last - np.geomspace(1, last, 2000) + 1
        kept = np.unique(np.concatenate([np.linspace(0, last, 2000), tail]).astype(int))
        values, levels = values[kept], levels[kept]
    if found.exact:
        values, levels = np.concatenate([values[:1], values]), np.concatenate([[0.0], levels])
        shown = 1 - levels if complement else levels
        if complement:  # a logarithmic axis has no 0, so the last step ends at the largest sample
            shown[-1] = shown[-2]
        ax.step(values, shown, where="post", color=look.color, linestyle=look.line, label=label)
    else:
        known = levels < 1 if complement else levels <= 1
        shown = 1 - levels if complement else levels
        ax.plot(
            values[known],
            shown[known],
            color=look.color,
            marker=look.marker,
            linestyle="--",
            label=label,
            clip_on=False,
            zorder=3,
        )


def finish(ax: Axes, of: str, complement: bool, drawn: Sequence[Distribution], place: str = "") -> None:
    """Labels the axes, and says if only quantiles are known.

    `place` is the only link or group shown.
    """
    chosen = quantity(of)
    share = "share above" if complement else "share at or below"
    where = f" at {place}" if place and chosen.part == "links" else f" of {place}" if place else ""
    ax.set(xlabel=f"{chosen.label}{where} ({chosen.unit})", ylabel=share)
    if complement:
        ax.set_yscale("log")
        ax.set_ylim(top=1.0)
    else:
        ax.set_ylim(0, 1.02)
    largest, middles = max(d.values[-1] for d in drawn), [float(np.median(d.values)) for d in drawn]
    least = min((middle for middle in middles if middle > 0), default=largest)
    if largest > 10 * max(middles) > 0 and min(d.values[0] for d in drawn) > 0:
        ax.set_xscale("log")
    elif largest > FAR_APART * least:
        ax.set_xscale("log")
        ax.set_xlim(left=least / 10)
    else:
        ax.set_xlim(left=0)
    if not all(d.exact for d in drawn):
        way = f";\ntrace.{chosen.trace} gives every sample"
        note = "dashed: quantiles only" if any(d.exact for d in drawn) else f"quantiles only{way}"
        ax.annotate(
            note,
            (0.03 if complement else 0.98, 0.06),
            xycoords="axes fraction",
            va="bottom",
            ha="left" if complement else "right",
            fontsize=6,
            color="#555555",
        )
