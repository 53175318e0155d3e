"""Controllers that a paper designs: their loops, margins and step responses.

Claims and figures use them. `sojourn design` (in `sojourn.cli`) designs controllers for a user; this module analyzes
those in `experiment.toml`, which methods of its `extra.py` build.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

import control
import numpy as np
import numpy.typing as npt

from sojourn.analysis.margins import margins
from sojourn.analysis.step_response import step
from sojourn.analysis.transfer import Response, poles_of_closed, response
from sojourn.analysis.transient import Transient, transient
from sojourn.core.errors import UserError
from sojourn.experiments.extra import Extra
from sojourn.experiments.schema.experiment import DesignTable, StepResponse

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Design:
    """The result of a design method."""

    loop: control.TransferFunction
    """The open loop without its dead time."""
    delayed: Response
    """The frequency response of the open loop with its dead time."""
    numbers: dict[str, float] = field(default_factory=dict)
    """Parameters of the controller by name."""


@dataclass(frozen=True)
class StepAnswer:
    """The response of a design's closed loop to a step of the set point."""

    times: Array
    """Seconds."""
    values: Array
    """Packets."""
    measures: Transient


class ControlDesigns:
    """The designs of a paper; each is built, and each response computed, once."""

    def __init__(self, tables: Mapping[str, DesignTable], step_response: StepResponse, extra: Extra) -> None:
        self._tables, self._step, self._methods = tables, step_response, extra.designs
        self.built = functools.cache(self._build)
        self.answer = functools.cache(self._answer)
        self._margins = functools.cache(self._find_margins)

    def label(self, name: str) -> str:
        """The label of a design."""
        return self._tables[name].label

    def _build(self, name: str) -> Design:
        """A design by name."""
        if name not in self._tables:
            raise UserError(f'design: expected one of {", ".join(self._tables) or "none"}, got "{name}"')
        table = self._tables[name]
        if table.method not in self._methods:
            known = ", ".join(self._methods) or "one of DESIGNS in extra.py"
            raise UserError(f'designs.{name}.method: expected {known}, got "{table.method}"')
        try:
            made = self._methods[table.method](**(table.model_extra or {}))
        except TypeError as error:
            raise UserError(f"designs.{name}: {error}") from error
        if not isinstance(made, Design):
            raise UserError(f"designs.{name}.method: expected a Design from {table.method}, got {type(made).__name__}")
        return made

    def _answer(self, name: str, delay: bool) -> StepAnswer:
        """The response to the paper's step, with the dead time or without it."""
        design = self.built(name)
        delayed = design.delayed if delay else None
        times, values = step(design.loop, self._step.duration, self._step.size, delayed=delayed)
        return StepAnswer(times, values, transient(times, values, self._step.size))

    def _find_margins(self, name: str, delay: bool) -> dict[str, float]:
        design = self.built(name)
        found = margins(design.delayed if delay else response(design.loop))
        return {"crossover": found.crossover, "phase_margin": found.phase, "gain_margin": found.gain}

    def quantity(self, name: str, what: str, delay: bool) -> float:
        """One number of a design: a parameter, a margin, a number of its step response, or a pole."""
        design = self.built(name)
        if what in design.numbers:
            return design.numbers[what]
        if what in ("rise", "overshoot", "settling"):
            return float(getattr(self.answer(name, delay).measures, what))
        if what == "end":
            return float(self.answer(name, delay).values[-1])
        if what == "rightmost_pole":
            return float(np.max(poles_of_closed(design.loop).real))
        found = self._margins(name, delay)
        if what not in found:
            known = [*design.numbers, "rise", "overshoot", "settling", "end", "rightmost_pole", *found]
            raise UserError(f'design("{name}", ...): expected one of {", ".join(known)}, got "{what}"')
        return found[what]
