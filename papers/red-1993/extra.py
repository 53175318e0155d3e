"""What only this paper needs: gaps between drops, and losses that hit many flows at once."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sojourn.experiments.readings import Reading

Array = npt.NDArray[np.float64]


def gap_mean(times: Array, _: Array, __: Reading) -> float:
    """The mean time between two signals, in seconds."""
    return float(np.mean(np.diff(times))) if len(times) > 2 else float("nan")


def gap_variation(times: Array, _: Array, __: Reading) -> float:
    """The coefficient of variation of the time between two signals."""
    gaps = np.diff(times)
    return float(np.std(gaps) / np.mean(gaps)) if len(gaps) > 2 else float("nan")


def hit_share(times: Array, flows: Array, reading: Reading) -> float:
    """The mean share of the flows that one loss episode hits.

    An episode ends when there is no loss for `span` seconds; `than` is the number of flows.
    """
    if not len(times):
        return float("nan")
    episodes = np.split(flows, np.flatnonzero(np.diff(times) > reading.span) + 1)
    return float(np.mean([len(np.unique(each)) for each in episodes]) / reading.than)


def burst_average(weight: float, packets: float) -> float:
    """The average after a burst whose packets find 1, 2, ... `packets` others waiting (floyd-1993#eq3)."""
    return packets + 1 + ((1 - weight) ** (packets + 1) - 1) / weight


def step_packets(weight: float) -> float:
    """Arrivals until the average has covered all but 1/e of a step of the queue (floyd-1993#6)."""
    return -1 / math.log1p(-weight)


READINGS = {"gap-mean": gap_mean, "gap-variation": gap_variation, "hit-share": hit_share}
FUNCTIONS = {"burst_average": burst_average, "step_packets": step_packets}
