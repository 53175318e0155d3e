"""Maps of the delay margin over flows, capacity and round-trip time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from sojourn.analysis import checks
from sojourn.core.errors import UserError

Array = npt.NDArray[np.float64]
Complexes = npt.NDArray[np.complex128]
# Maps frequencies to the law's responses to the queue and to the load.
Law = Callable[[Array], tuple[Complexes, Complexes]]


def _broadcast(flows: object, rtt: object, capacity: object) -> list[Array]:
    """Flows, round trip and capacity as arrays of one shape.

    Raises `UserError` for values out of range, and for shapes that can't be broadcast.
    """
    found = (
        checks.numbers("stability_map: flows", flows, checks.LEAST, checks.MOST),
        checks.numbers("stability_map: rtt", rtt, checks.LEAST, checks.LONGEST),
        checks.numbers("stability_map: capacity", capacity, checks.LEAST, checks.MOST),
    )
    try:
        return list(np.broadcast_arrays(*found))
    except ValueError:
        got = ", ".join(str(each.shape) for each in found)
        raise UserError(f"stability_map: expected shapes that can be broadcast together, got {got}") from None


def _answers(law: Law, omega: Array) -> tuple[Complexes, Complexes]:
    """The responses that a law returns.

    Raises `UserError` unless they are two arrays of numbers, with one value per frequency.
    """
    expected = f"a function of {len(omega)} frequencies that gives two arrays of as many numbers"
    if not callable(law):
        raise UserError.expected("stability_map: law", expected, law)
    found = law(omega)
    try:
        queue, load = (np.asarray(each, dtype=np.complex128) for each in found)
    except (TypeError, ValueError, OverflowError):
        raise UserError.expected("stability_map: law", expected, found) from None
    if not queue.shape == load.shape == omega.shape:
        raise UserError(f"stability_map: law: expected {expected}, got shapes {queue.shape} and {load.shape}")
    return queue, load


def stability_map(
    law: Law, flows: Array, rtt: Array, capacity: float | Array, *, integrators: int = 0, points: int = 160
) -> Array:
    """The delay margin in seconds of a law with the textbook plant, one class of flows.

    `flows`, `rtt` (seconds, at the operating point) and `capacity` (packets per second) are broadcast together; the
    result has their shape. `integrators` is the number of integrators of the law, `points` the number of frequencies
    tried. The margin is infinite if the loop gain stays below 1, and negative if the loop is unstable. `law` maps
    frequencies in rad/s to its responses to the queue (per packet) and to the load, as `Loop.law` does. Raises
    `UserError` for values out of range, shapes that can't be broadcast, and invalid responses of the law.

    >>> law = laws.pi(*laws.design_pi(60, 3750, 0.246, 1 / 160), 1 / 160)
    >>> answers = lambda omega: (response(law)(omega), np.zeros(len(omega)))
    >>> stability_map(answers, np.array([30, 60]), 0.246, 3750, integrators=1) > 0  # it is for 60 flows or more
    array([False,  True])
    """
    n, r, c = (each[..., None] for each in _broadcast(flows, rtt, capacity))
    checks.whole("stability_map: integrators", integrators, 0, 10)
    omega = np.geomspace(1e-3, 60.0 / float(np.min(r)), checks.whole("stability_map: points", points, 2, 1_000_000))
    s = 1j * omega
    queue, load = _answers(law, omega)
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
