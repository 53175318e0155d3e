"""Plots of a comparison: distributions, means with intervals, and a page with all measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn.core.errors import UserError
from sojourn.plots import distributions, maps, summaries
from sojourn.plots.distributions import Distribution, Run
from sojourn.plots.style import COLUMN, MARKERS, drawn_on, legend_beside, style_of

if TYPE_CHECKING:
    import pandas as pd


class Compared(Protocol):
    """The part of a comparison's interface that its plots use."""

    scenario: str
    link: str
    links: list[str]

    @property
    def records(self) -> Mapping[str, Sequence[Run]]:
        """The records by case."""

    @property
    def title(self) -> str:
        """The title of the comparison."""

    def table(self) -> pd.DataFrame:
        """A table with one row per measure and case."""


class Swept(Protocol):
    """The part of a sweep result's interface that its plots use."""

    @property
    def axes(self) -> list[str]:
        """The names of the columns with the axes."""

    @property
    def units(self) -> Mapping[str, str]:
        """The units of axes with quantities."""

    @property
    def measures(self) -> list[str]:
        """The names of the columns with measures."""

    def summary(self, measures: Sequence[str] | None = None) -> pd.DataFrame:
        """A table with one row per point and measure."""


class ComparisonPlots:
    """Plots of a comparison.

    Each method draws on the axes `ax`, or on a new figure, and returns the axes.
    """

    def __init__(self, comparison: Compared) -> None:
        self._comparison = comparison

    def __repr__(self) -> str:
        cdfs = [f'cdf("{of}")' for of in distributions.QUANTITIES if self.sources(of)]
        return f"<plots of {self._comparison.title}: {', '.join(['overview', 'means', *cdfs])}>"

    def cdf(
        self, of: str, ax: Axes | None = None, names: Sequence[str] | None = None, *, complement: bool = False
    ) -> Axes:
        """The distribution of `wait` (ms), `rtt` (ms) or `completion` (s) by case, over all seeds.

        It is exact if the scenario traced every sample, else a line through the mean quantiles. `names` are links or
        groups: by default the compared link, or the first group. A link with a dual queue or classes has a line for
        each of these too. `complement` shows the share above a value.
        """
        there = self.sources(of)
        if not there:
            raise distributions.nothing(self._comparison.scenario, of)
        chosen = list(names or there[:1])
        with drawn_on(ax, COLUMN, 2.5) as axes:
            found = {
                case if len(chosen) == 1 else f"{case}: {place}": _parts(records, of, place)
                for case, records in self._comparison.records.items()
                for place in chosen
            }
            drawn = [each for parts in found.values() for each in parts.values()]
            for index, (label, parts) in enumerate((label, parts) for label, parts in found.items() if parts):
                for at, (name, each) in enumerate(parts.items()):
                    look = replace(style_of(index), marker=MARKERS[(index + at) % len(MARKERS)])
                    distributions.draw(axes, each, look, f"{label}: {name}" if name else label, complement)
            if not drawn:
                raise UserError.unknown(f"distribution of {of}", chosen[0], self._all_sources(of))
            distributions.finish(axes, of, complement, drawn, chosen[0] if len(chosen) == 1 else "")
            legend_beside(axes)
            return axes

    def means(self, measure: str, ax: Axes | None = None) -> Axes:
        """One measure by its label: the mean and interval of each case; the best is filled."""
        table = self._comparison.table()
        names = list(dict.fromkeys(table["measure"]))
        if measure not in names:
            raise UserError.unknown("measure", measure, names)
        return summaries.cases(table[table["measure"] == measure], ax)

    def overview(self) -> list[Axes]:
        """One page with all measures, on a new figure; returns the axes of its panels."""
        return summaries.overview(self._comparison.table(), self._comparison.title)

    def _all_sources(self, of: str) -> list[str]:
        records = [record for each in self._comparison.records.values() for record in each]
        return list(dict.fromkeys(place for record in records for place in distributions.sources(record, of)))

    def sources(self, of: str) -> list[str]:
        """The links or groups that `cdf` can show.

        They are the compared links, or every group with such times.
        """
        there = self._all_sources(of)
        return [link for link in self._comparison.links if link in there] or there


def _parts(records: Sequence[Run], of: str, place: str) -> dict[str, Distribution]:
    """The distributions of a case at a link or in a group, over its seeds.

    The whole is under the key "", each queue of the link under its name.
    """
    whole = [distributions.distribution(record, of, place) for record in records]
    found = {"": [each for each in whole if each is not None]}
    for record in records:
        for name, each in distributions.within(record, of, place).items():
            found.setdefault(name, []).append(each)
    return {name: distributions.pooled(parts) for name, parts in found.items() if parts}


class SweepPlots:
    """Plots of a sweep."""

    def __init__(self, result: Swept) -> None:
        self._result = result

    def __repr__(self) -> str:
        return f"<plots of a sweep over {', '.join(self._result.axes)}: means of {len(self._result.measures)} measures>"

    def means(self, measure: str, ax: Axes | None = None) -> Axes:
        """One measure, such as `links.bottleneck.queue.mean`, over the axes of the sweep.

        Returns the Matplotlib axes.
        """
        return summaries.means(self._result.summary([measure]), self._by, measure, ax)

    def heat(self, measure: str, axes: Sequence[str] = ()) -> Figure:
        """One measure as colored cells over two axes of the sweep, on a new figure.

        `axes` are the horizontal and the vertical one (default: the last two).
        """
        return maps.draw_map(self._result.summary([measure]), self._by, measure, maps.HEAT, axes)

    def contour(self, measure: str, axes: Sequence[str] = ()) -> Figure:
        """One measure as contour lines over two axes of the sweep, on a new figure.

        `axes` are the horizontal and the vertical one (default: the last two). Both need three numbers or more.
        """
        return maps.draw_map(self._result.summary([measure]), self._by, measure, maps.CONTOUR, axes)

    @property
    def _by(self) -> dict[str, str | None]:
        return {axis: self._result.units.get(axis) for axis in self._result.axes}
