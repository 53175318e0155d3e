"""Plots of the results of `run`, `compare` and `sweep`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.errors import UserError
from sojourn.plots.style import PAGE, figure, save_figure, style_of
from sojourn.record import Record, file_name, file_names

if TYPE_CHECKING:
    import pandas as pd

# What a column of a series is called on an axis.
LABELS = {
    "packets": "packets",
    "bytes": "bytes",
    "probability": "drop probability",
    "ssthresh": "ssthresh (packets)",
    "bps": "throughput (Mbit/s)",
    "seconds": "round-trip time (ms)",
}
SCALES = {"bps": 1e-6, "seconds": 1e3}
TITLES = {"queue": "waiting packets", "cwnd": "congestion window (packets)"}
MANY = 8


def plot_record(record: Record, folder: Path) -> list[Path]:
    """Writes a figure for each kind of trace, with all of its series, and returns the files.

    Raises `UserError` for a record without series.
    """
    kinds: dict[str, list[str]] = {}
    for name in record.series:
        kinds.setdefault(name.partition("/")[0], []).append(name)
    if not kinds:
        raise UserError(f"{folder}: expected a record with series, got none: add a [trace] table to the scenario")
    written: list[Path] = []
    for kind, names in kinds.items():
        columns = [c for c in record.series[names[0]] if c != "t"]
        for column in columns:
            values = [record.series[name].get(column) for name in names]
            if any(v is not None and np.isfinite(v).any() for v in values):
                written += _plot_series(record, kind, names, column, folder)
    return written


def _plot_series(record: Record, kind: str, names: Sequence[str], column: str, folder: Path) -> list[Path]:
    """Writes a figure of one column of several series against time."""
    with figure(PAGE, 2.4) as made:
        axes = made.add_subplot()
        for i, name in enumerate(names[:MANY]):
            table = record.series[name]
            if column not in table:
                continue
            label = name.partition("/")[2]
            axes.plot(table["t"], table[column] * SCALES.get(column, 1.0), color=style_of(i).color, label=label)
        first = kind if column == "packets" else column
        axes.set(xlabel="time (s)", ylabel=TITLES.get(first, LABELS.get(column, column)))
        axes.set_xlim(0, record.get("duration_s"))
        axes.set_ylim(bottom=0)
        if warmup := record.get("warmup_s"):
            axes.axvspan(0, warmup, color="#f0f0f0", zorder=0, label="warm-up")
        only = f", {names[0].partition('/')[2]}" if len(names) == 1 else ""
        axes.set_title(f"{record.get('scenario', '')}{only}, seed {record.get('seed', '')}", loc="left")
        if len(names) > 1 or warmup:
            more = f"first {MANY} of {len(names)}" if len(names) > MANY else None
            axes.legend(ncols=5, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2, title=more)
        stem = kind if column in {"packets", "bps", "seconds"} else f"{kind}-{column}"
        return save_figure(made, folder, file_name(stem))


def plot_table(summary: pd.DataFrame, by: Sequence[str], measures: Sequence[str], folder: Path) -> list[Path]:
    """Writes a figure for each measure of a summary with columns `measure`, `mean`, `low`, `high`; returns the files.

    `by` are the columns of the axes. The last one with numbers is the horizontal axis.
    """
    numeric = [axis for axis in by if _is_numeric(summary[axis])]
    across = numeric[-1] if numeric else by[-1]
    others = [axis for axis in by if axis != across]
    written: list[Path] = []
    for measure, stem in file_names(measures).items():
        chosen = summary[summary["measure"] == measure]
        if chosen["mean"].notna().any():
            written += _plot_measure(chosen, across, others, folder / stem)
    return written


def _plot_measure(chosen: pd.DataFrame, across: str, others: Sequence[str], file: Path) -> list[Path]:
    """Means with confidence intervals of one measure, a series for each value of the other axes."""
    measure = str(chosen["measure"].iloc[0])
    unit = str(chosen["unit"].iloc[0]) if "unit" in chosen else ""
    with figure(PAGE / 2 + 0.6, 2.6) as made:
        axes = made.add_subplot()
        groups: Any = chosen.groupby(list(others), sort=False) if others else [((), chosen)]
        for i, (where, group) in enumerate(groups):
            label = ", ".join(map(str, where)) if isinstance(where, tuple) else str(where)
            _draw_means(axes, group, across, i, label)
        axes.set(xlabel=across, ylabel=f"{measure} ({unit})" if unit else measure)
        if others:
            axes.legend(fontsize=6.5)
        return save_figure(made, file.parent, file.name)


def _is_numeric(column: Any) -> bool:
    from pandas.api.types import is_numeric_dtype

    return bool(is_numeric_dtype(column))


def _draw_means(axes: Any, group: pd.DataFrame, across: str, index: int, label: str) -> None:
    """One series: joined by a line if the axis has numbers, separate points if it has names."""
    look = style_of(index)
    numeric = _is_numeric(group[across])
    x: Any = group[across].to_numpy(dtype=float) if numeric else np.arange(len(group)) + 0.08 * index
    means = group["mean"].to_numpy(dtype=float)
    errors = np.nan_to_num(np.vstack([means - group["low"], group["high"] - means]))
    line = "-" if numeric else "none"
    axes.errorbar(x, means, yerr=errors, color=look.color, marker=look.marker, linestyle=line, label=label)
    if not numeric:
        axes.set_xticks(np.arange(len(group)), [str(v) for v in group[across]], rotation=15, ha="right")
        axes.set_ylim(bottom=min(0.0, float(np.nanmin(means))))
