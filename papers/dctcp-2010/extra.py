"""What only this paper needs: its model of the sawtooth, and completion times of queries on open connections."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from sojourn.experiments.readings import Reading, falls

Array = npt.NDArray[np.float64]


def sawtooth(quantity: str, flows: float, product: float, threshold: float, held: float = 0.0) -> float:
    """A number of the model of synchronized flows (section 3.3); `product` is C × RTT in packets.

    `alpha` solves Eq. 5, `amplitude`, `top` and `bottom` are in packets (Eqs. 8, 10 and 11), `period` in round trips
    (Eq. 9). `held` is the number of round trips without growth after a reduction, 0 in the paper.
    """
    from scipy.optimize import brentq  # here: SciPy takes time to load

    critical = (product + threshold) / flows
    highest = critical + 1

    def excess(alpha: float) -> float:
        lowest = highest * (1 - alpha / 2)
        return alpha * ((highest**2 - lowest**2) / 2 + held * lowest) - (critical + 0.5)

    alpha = brentq(excess, 0.0, 1.0) if excess(1.0) > 0 else 1.0
    fall = highest * alpha / 2
    top = threshold + flows
    found = {"alpha": alpha, "period": fall + held, "amplitude": flows * fall, "top": top, "bottom": top - flows * fall}
    return found[quantity]


def lowest_queue(product: float, threshold: float) -> float:
    """The minimum over the number of flows of the model's lowest queue, in packets; below zero the link idles."""
    return min(sawtooth("bottom", flows, product, threshold) for flows in range(1, 1000))


def queries(times: Array, _: Array, reading: Reading) -> Array:
    """Milliseconds from each query to the last ACK of its responses, if one begins every `span` seconds."""
    number = np.floor(times / reading.span + 1e-9)
    return np.array([1e3 * (times[number == each].max() - each * reading.span) for each in np.unique(number)])


def over_queries(reduce: Callable[[Array, Reading], float]) -> Callable[[Array, Array, Reading], float]:
    """A value of `take` that reduces the completion times of queries to a number."""
    return lambda times, values, reading: float(reduce(queries(times, values, reading), reading))


def gap_between_falls(times: Array, values: Array, reading: Reading) -> float:
    """The mean time in seconds between falls of a window below the share `than` of its last maximum."""
    found = falls(times, values, reading.than)
    return float(np.mean(np.diff(found))) if len(found) > 1 else math.nan


FUNCTIONS = {"sawtooth": sawtooth, "lowest_queue": lowest_queue}
READINGS = {
    "query-min": over_queries(lambda found, _: float(np.min(found))),
    "query-mean": over_queries(lambda found, _: float(np.mean(found))),
    "query-quantile": over_queries(lambda found, reading: float(np.quantile(found, reading.share))),
    "query-late": over_queries(lambda found, reading: 100 * float(np.mean(found >= reading.than))),
    "fall-gap": gap_between_falls,
}
