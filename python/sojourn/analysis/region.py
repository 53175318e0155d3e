"""Maps of the delay margin over flows, capacity and round trip."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Complexes = npt.NDArray[np.complex128]
# Maps frequencies to the law's responses to the queue and to the load.
Law = Callable[[Array], tuple[Complexes, Complexes]]


def stability_map(
    law: Law, flows: Array, rtt: Array, capacity: float | Array, *, integrators: int = 0, points: int = 160
) -> Array:
    """The delay margin in seconds of a law with the textbook plant, one class of flows.

    `flows`, `rtt` (seconds, at the operating point) and `capacity` (packets per second) are broadcast together; the
    result has their shape. `integrators` is how many the law has, `points` how many frequencies are tried. The margin
    is infinite where the loop gain stays below 1, and negative where the loop is unstable.
    """
    n, r, c = (np.asarray(a, dtype=np.float64)[..., None] for a in np.broadcast_arrays(flows, rtt, capacity))
    omega = np.geomspace(1e-3, 60.0 / float(np.min(r)), points)
    s = 1j * omega
    queue, load = law(omega)
    plant = c**2 / (2 * n) / ((s + 2 * n / (r**2 * c)) * (s + 1 / r))
    still = plant * (queue + s / c * load)  # without the dead time: its phase is added exactly below
    size = np.log(np.abs(still))
    angle = np.unwrap(np.angle(still), axis=-1)
    falls = (size[..., :-1] > 0) != (size[..., 1:] > 0)
    part = size[..., :-1] / np.where(falls, size[..., :-1] - size[..., 1:], 1.0)
    crossing = np.exp(np.log(omega[:-1]) + part * np.diff(np.log(omega)))
    phase = angle[..., :-1] + part * np.diff(angle, axis=-1)
    # The loop is stable until the delay turns the phase at some crossover to -180 degrees. An integrator starts at -90.
    margin = np.where(falls, (np.pi + phase) / crossing - r, np.inf)
    first = -0.5 * np.pi * integrators
    margin = np.where(falls & (phase > first + np.pi), np.inf, margin)
    return np.asarray(np.min(margin, axis=-1))
