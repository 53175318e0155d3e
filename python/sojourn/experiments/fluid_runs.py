"""Runs of the fluid model that a paper's claims and figures use."""

from __future__ import annotations

import functools
import json
from typing import Any

import numpy as np
import numpy.typing as npt

from sojourn import _sojourn
from sojourn.core.errors import UserError
from sojourn.experiments.schema.experiment import Fluid

Array = npt.NDArray[np.float64]


def trajectory(fluid: Fluid) -> dict[str, Array]:
    """A fluid run as arrays: `t` in seconds, `queue` in packets, `probability` and others."""
    try:
        return _sojourn.fluid(json.dumps(fluid.queue), json.dumps(fluid.plant), json.dumps(fluid.run))
    except ValueError as error:
        raise UserError(f"fluids.{fluid.id}: {error}") from None


def at_end(fluid: Fluid) -> dict[str, float]:
    """Numbers of a fluid run by name.

    `queue`, `queue_sd` and `ripple` (peak to peak) in packets and `probability`, all over the last quarter of the run;
    `peak` is the largest queue of the whole run.
    """
    return _at_end(json.dumps({"queue": fluid.queue, "plant": fluid.plant, "run": fluid.run}))


@functools.cache
def _at_end(text: str) -> dict[str, float]:
    made = trajectory(Fluid(**json.loads(text)))
    last = made["t"] >= 0.75 * float(made["t"][-1])
    return {
        "queue": float(made["queue"][last].mean()),
        "queue_sd": float(made["queue"][last].std()),
        "probability": float(made["probability"][last].mean()),
        "peak": float(made["queue"].max()),
        "ripple": float(np.ptp(made["queue"][last])),
    }


def delay_margin(fluid: Fluid) -> float:
    """The delay margin of a fluid's loop at its equilibrium, in seconds; below 0 it is unstable."""
    from sojourn.analysis.feedback_loop import Loop  # here: python-control takes a second to load
    from sojourn.analysis.plant import Flows, Plant

    classes = tuple(Flows(**each) for each in fluid.plant["classes"])
    plant: dict[str, Any] = fluid.plant | {"classes": classes}
    return Loop(fluid.queue, Plant(**plant)).margins().delay


def with_queue(fluid: Fluid, queue: dict[str, Any]) -> Fluid:
    """The same run under another queue."""
    return fluid.model_copy(update={"queue": queue})
