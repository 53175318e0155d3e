"""One color for each queue in all figures of a report."""

from __future__ import annotations

from dataclasses import replace

from sojourn.experiments.outcome import Outcome
from sojourn.plots.style import LINES, MARKERS, Look, style_of


def looks_of(outcome: Outcome) -> dict[str, Look]:
    """The look of every queue that a grid compares.

    A queue that is `like` another one has its color, with another line and marker. All others get the first color
    that no queue on a common figure has.
    """
    experiment = outcome.experiment
    groups = _compared(outcome)
    names = list(dict.fromkeys(name for group in groups for name in group))
    place: dict[str, int] = {}
    for name in names:
        if not experiment.queues[name].like:
            beside = {each for group in groups if name in group for each in group}
            taken = {place[each] for each in beside if each in place}
            place[name] = next(index for index in range(len(names) + 1) if index not in taken)
    looks = {name: style_of(index) for name, index in place.items()}
    followers: dict[str, int] = {}
    for name in names:
        scheme = experiment.queues[name].like
        if scheme:
            number = followers[scheme] = followers.get(scheme, 0) + 1
            base = looks.get(scheme) or style_of(len(place))
            marker = MARKERS[(MARKERS.index(base.marker) + number) % len(MARKERS)]
            looks[name] = replace(base, marker=marker, line=LINES[number % len(LINES)])
    return looks


def _compared(outcome: Outcome) -> list[list[str]]:
    """The queues of each grid, together with those of the grid that a figure draws with it."""
    grids = {grid.id: grid.queues for grid in outcome.experiment.grids.values()}
    grids |= {grid.id: grid.queues for grid in outcome.grids}
    also = [(figure.grid, getattr(figure, "also", "")) for figure in outcome.experiment.figures]
    together = [[*grids[one], *grids[other]] for one, other in also if one in grids and other in grids]
    return [*grids.values(), *together]
