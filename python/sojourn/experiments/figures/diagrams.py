"""Diagrams: blocks and arrows, and the network of a scenario."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from sojourn.core.errors import UserError
from sojourn.experiments.outcome import Outcome
from sojourn.experiments.schema import figures as spec
from sojourn.plots.style import COLORS, PAGE, figure

Point = Sequence[float]
INCHES = 0.62
"""Height of one row of a diagram."""
BOX = (0.8, 0.34)
"""Half of a box: across and up."""
LEAST = 1.4
"""The least height of a diagram, in rows."""


def blocks(outcome: Outcome, chosen: spec.Blocks) -> Figure:
    """Boxes with texts, and arrows from one to another."""
    place = f"{outcome.experiment.main}: figures[{chosen.id}]"
    with figure(PAGE, INCHES * (_span(chosen, 1) + 1.2)) as made:
        axes = _canvas(made)
        for box in chosen.boxes.values():
            _box(axes, box.at, box.text, COLORS[1] if box.differs else "#333333")
        for arrow in chosen.arrows:
            for name in (arrow.start, arrow.end):
                if name not in chosen.boxes:
                    raise UserError(f'{place}.arrows: expected one of {", ".join(chosen.boxes)}, got "{name}"')
            _arrow(axes, [chosen.boxes[arrow.start].at, *arrow.via, chosen.boxes[arrow.end].at], arrow.label)
        _fit(axes)
        return made


def _span(chosen: spec.Blocks, axis: int) -> float:
    places = [box.at[axis] for box in chosen.boxes.values()] + [at[axis] for each in chosen.arrows for at in each.via]
    return max(places) - min(places)


def _canvas(made: Figure) -> Any:
    """Axes without any axis."""
    axes: Any = made.add_subplot()
    axes.set_axis_off()
    return axes


def _fit(axes: Any) -> None:
    """Shows everything that was drawn."""
    axes.autoscale_view()
    low, high = axes.get_ylim()
    spare = max(0.1, (LEAST - (high - low)) / 2)
    axes.set_ylim(low - spare, high + spare)


def _box(axes: Any, at: Point, text: str, color: str = "#333333") -> None:
    """A box with a text around a point."""
    (x, y), (wide, high) = at, BOX
    shape = FancyBboxPatch(
        (x - wide, y - high),
        2 * wide,
        2 * high,
        boxstyle="round,pad=0,rounding_size=0.08",
        facecolor="#f4f6f8",
        edgecolor=color,
        linewidth=1.0,
    )
    axes.add_patch(shape)
    axes.text(x, y, text, ha="center", va="center", fontsize=6.5, color=color)


def _arrow(axes: Any, way: list[Point], label: str) -> None:
    """An arrow along straight lines, between the edges of its first and its last box."""
    points = [np.asarray(point, dtype=np.float64) for point in way]
    points[0], points[-1] = _edge(points[0], points[1]), _edge(points[-1], points[-2])
    line = np.array(points)
    axes.plot(line[:, 0], line[:, 1], color="#333333", linewidth=0.9)
    head = {"arrowstyle": "-|>", "color": "#333333", "linewidth": 0.9, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=line[-1], xytext=line[-2], arrowprops=head)
    if label:
        lengths = np.linalg.norm(np.diff(line, axis=0), axis=1)
        longest = int(np.argmax(lengths))
        x, y = (line[longest] + line[longest + 1]) / 2
        upright = abs(line[longest + 1][0] - line[longest][0]) < 1e-9
        axes.text(
            x + (0.06 if upright else 0),
            y + (0 if upright else 0.07),
            label,
            fontsize=6.5,
            ha="left" if upright else "center",
            va="center" if upright else "bottom",
        )


def _edge(center: Any, toward: Any) -> Any:
    """Where the straight line from the middle of a box to a point leaves the box."""
    ahead = toward - center
    scales = [half / abs(part) for half, part in zip(BOX, ahead, strict=True) if part]
    return center + ahead * min([1.0, *scales])


def network(outcome: Outcome, chosen: spec.Network) -> Figure:
    """The network of a scenario.

    It has routers in a line, the links between them, and the flows at their ends.
    """
    experiment = outcome.experiment
    if chosen.scenario not in experiment.scenarios:
        field = f"{experiment.main}: figures[{chosen.id}].scenario"
        raise UserError(f'{field}: expected one of {", ".join(experiment.scenarios)}, got "{chosen.scenario}"')
    grids = [*outcome.grids, *experiment.grids.values()]  # it needs no run
    case = next(case for each in grids for case in each.cases() if case.scenario == chosen.scenario)
    table = experiment.scenario(case).to_dict()
    places = _routers(table["links"])
    with figure(PAGE, INCHES * 1.05 * (1.4 + len(table["flows"]))) as made:
        axes = _canvas(made)
        for link in table["links"]:
            ends = [places[link[end]] for end in ("from", "to")]
            axes.plot(*zip(*ends, strict=True), color="#333333", linewidth=2.2, zorder=0)
            middle = np.mean(ends, axis=0)
            axes.text(
                middle[0], middle[1] + 0.09, _said(link).replace(", ", "\n"), ha="center", va="bottom", fontsize=6.5
            )
        for name, at in places.items():
            axes.plot(*at, marker="o", markersize=19, color="#f4f6f8", markeredgecolor="#333333")
            axes.text(*at, name, ha="center", va="center", fontsize=6.5)
        for i, flows in enumerate(table["flows"]):
            _hosts(axes, flows, i, places)
        _fit(axes)
        return made


def _routers(links: Sequence[dict[str, Any]]) -> dict[str, tuple[float, float]]:
    """A place for each router: in a line, in the order of the links."""
    names = dict.fromkeys(name for link in links for name in (link["from"], link["to"]))
    return {name: (2.6 * i, 0.0) for i, name in enumerate(names)}


def _hosts(axes: Any, flows: dict[str, Any], row: int, places: dict[str, tuple[float, float]]) -> None:
    """The hosts of a group of flows.

    Senders stand where they enter the network, receivers where they leave it.
    """
    count, name = flows.get("count", 1), flows.get("name", "flows")
    down = -0.95 * row - (0 if len(places) < 3 else 0.95)
    for end, key, side, what in (("from", "access", -1, "senders"), ("to", "egress", 1, "receivers")):
        x, y = places[flows[end]]
        aside = 2.4 if len(places) < 3 else max(0.85, 1.9 - 0.5 * row)
        at = (x + side * aside, y + down)
        said = _said(flows.get(key) or {})
        _box(axes, at, "\n".join(filter(None, (name, f"{count} {what}", said))), COLORS[row % len(COLORS)])
        edge = _edge(np.array(at), np.array([x, y]))
        axes.plot([edge[0], x], [edge[1], y], color=COLORS[row % len(COLORS)], linewidth=0.9, zorder=0)


def _said(link: dict[str, Any]) -> str:
    """The rate, the delay and the limit of a link."""
    delay = link.get("delay", "")
    if isinstance(delay, list):
        delay = f"{delay[0]} … {delay[-1]}"
    if isinstance(delay, dict):
        delay = " … ".join(map(str, *delay.values()))
    limit = (link.get("queue") or {}).get("limit", "")
    return ", ".join(filter(None, (str(link.get("rate", "")), str(delay), str(limit))))
