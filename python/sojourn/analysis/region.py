"""Where a law is stable: maps of the delay margin over flows, capacity and round trip."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Complexes = npt.NDArray[np.complex128]
# From frequencies to the law's answers to the queue and to the load.
Law = Callable[[Array], tuple[Complexes, Complexes]]


def stability_map(
    law: Law, flows: Array, rtt: Array, capacity: float | Array, *, integrators: int = 0, points: int = 160
) -> Array:
    """Delay margin in seconds over the arrays (broadcast together), for the textbook plant with one class.

    Infinite where the gain never comes to 1, negative where the loop is unstable (by how much delay it would have to
    be faster). `rtt` is the round trip at rest.
    """
    n, r, c = (np.asarray(a, dtype=np.float64)[..., None] for a in np.broadcast_arrays(flows, rtt, capacity))
    omega = np.geomspace(1e-3, 60.0 / float(np.min(r)), points)
    s = 1j * omega
    queue, load = law(omega)
    plant = c**2 / (2 * n) / ((s + 2 * n / (r**2 * c)) * (s + 1 / r))
    still = plant * (queue + s / c * load)  # the dead time is kept apart: its phase is exact however fine the grid
    size = np.log(np.abs(still))
    angle = np.unwrap(np.angle(still), axis=-1)
    falls = (size[..., :-1] > 0) != (size[..., 1:] > 0)
    part = size[..., :-1] / np.where(falls, size[..., :-1] - size[..., 1:], 1.0)
    crossing = np.exp(np.log(omega[:-1]) + part * np.diff(np.log(omega)))
    phase = angle[..., :-1] + part * np.diff(angle, axis=-1)
    # A delay is borne until it turns some crossing to -180 degrees. An integrator starts at -90 degrees.
    margin = np.where(falls, (np.pi + phase) / crossing - r, np.inf)
    first = -0.5 * np.pi * integrators
    margin = np.where(falls & (phase > first + np.pi), np.inf, margin)
    return np.asarray(np.min(margin, axis=-1))
