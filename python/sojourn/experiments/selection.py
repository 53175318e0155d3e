"""Selects what of an experiment is run and judged: all of it, or grids and claims by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sojourn.core.errors import UserError
from sojourn.experiments.claims import Claim
from sojourn.experiments.model import Case, Experiment, Grid
from sojourn.experiments.needs import cases_of, covering


@dataclass(frozen=True)
class Selection:
    """Grids to run, and claims to judge."""

    grids: list[Grid]
    claims: list[Claim]


def choose(experiment: Experiment, names: Sequence[str] = (), full: bool = False) -> Selection:
    """The grids and claims with these names; without names all, optional grids only with `full`.

    A grid is run as a whole and its claims are judged. A claim is judged from its own cases alone. Raises `UserError`
    for an unknown name.
    """
    if not names:
        every = [each for each in experiment.grids.values() if full or not each.optional]
        return Selection(every, experiment.claims)
    known = {claim.id: claim for claim in experiment.claims}
    for name in names:
        if name not in experiment.grids and name not in known:
            listed = ", ".join(experiment.grids)
            raise UserError(f'{experiment.id}: grid: expected one of {listed}, or a claim, got "{name}"')
    grids = [experiment.grids[name] for name in dict.fromkeys(names) if name in experiment.grids]
    claims = [known[name] for name in dict.fromkeys(names) if name in known and name not in experiment.grids]
    ran = {case for each in grids for case in each.cases()}
    needed = frozenset().union(*(cases_of(experiment, claim) for claim in claims)) - ran
    rest = [_only(each, needed) for each in covering(needed, list(experiment.grids.values()))]
    return Selection([*grids, *rest], experiment.claims if grids else claims)


def _only(grid: Grid, needed: frozenset[Case]) -> Grid:
    """A grid with the needed cases alone."""
    return replace(grid, refused={**{case: "" for case in grid.cases() if case not in needed}, **grid.refused})
