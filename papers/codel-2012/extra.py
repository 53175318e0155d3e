"""What only this paper needs: quartiles of a delay, the spread of drops over flows, and the times of drops."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sojourn.experiments.readings import Reading

Array = npt.NDArray[np.float64]


def third_quartile(_: Array, values: Array, __: Reading) -> float:
    """The value that three quarters of the samples do not exceed."""
    return float(np.quantile(values, 0.75))


def late_quantile(_: Array, values: Array, __: Reading) -> float:
    """The value that 95 % of the samples do not exceed."""
    return float(np.quantile(values, 0.95))


def drop_fairness(_: Array, flows: Array, reading: Reading) -> float:
    """Jain's index of the drops of the first `than` flows, which send equally much; NaN without a drop."""
    counts = np.bincount(flows.astype(int), minlength=int(reading.than))[: int(reading.than)]
    return float(counts.sum() ** 2 / (len(counts) * (counts**2).sum())) if counts.any() else float("nan")


def drops_until(times: Array, _: Array, reading: Reading) -> float:
    """The time from the first drop to drop number `than`, in milliseconds."""
    last = int(reading.than)
    return float(1000 * (times[last - 1] - times[0])) if len(times) >= last else float("nan")


def control_law(interval: float, drops: float) -> float:
    """The time from the first drop to drop number `drops` if each gap is the interval over the root of the count."""
    return sum(interval / math.sqrt(count) for count in range(1, int(drops)))


READINGS = {
    "third-quartile": third_quartile,
    "late-quantile": late_quantile,
    "drop-fairness": drop_fairness,
    "drops-until": drops_until,
}
FUNCTIONS = {"control_law": control_law}
