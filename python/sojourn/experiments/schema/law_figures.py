"""The figures of fuzzy laws: sets, rules, surfaces and one inference."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Strict, model_validator

from sojourn.experiments.schema.figure import Figure
from sojourn.experiments.schema.toml import FileModel, Span, expected


class LawFigure(Figure):
    """The common fields of figures of a fuzzy law."""

    queue: str = ""
    """The queue whose law is shown."""
    cc: str = ""
    """The congestion controller whose law is shown, instead of a queue."""

    @model_validator(mode="after")
    def _one_law(self) -> Self:
        if bool(self.queue) == bool(self.cc):
            raise expected("one of queue and cc", "both" if self.cc else "none")
        return self


class SetPanel(FileModel):
    """A panel of membership functions: of a variable of the law, or of terms by their centers."""

    variable: str = ""
    """The variable of the law."""
    parameter: str = ""
    """A parameter of the queue: a list of times, which are the centers, in ms."""
    terms: dict[str, float] = {}
    """Centers by term, of triangles that reach to their neighbors' centers."""
    range: Span
    """The range of the x axis."""
    xlabel: str
    """Label of the x axis."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if sum(map(bool, (self.variable, self.parameter, self.terms))) != 1:
            raise expected("one of variable, parameter and terms", "another number of them")
        return self


class Sets(LawFigure):
    """Membership functions of a fuzzy law, a panel for each variable."""

    kind: Literal["sets"]
    panels: list[SetPanel]
    """The panels."""


class Rules(LawFigure):
    """The rule table of a fuzzy law."""

    kind: Literal["rules"]
    xlabel: str
    """Label of the columns."""
    ylabel: str
    """Label of the rows."""


class ControlSurface(LawFigure):
    """The result of a fuzzy law over its two inputs."""

    kind: Literal["control-surface"]
    rows: Span
    """Range of the first input."""
    columns: Span
    """Range of the second input."""
    xlabel: str
    """Label of the first input."""
    ylabel: str
    """Label of the second input."""
    zlabel: str
    """Label of the result."""
    as_pixels: ClassVar[bool] = True


class Inference(LawFigure):
    """One inference of a fuzzy law.

    It shows its sets, the grades of the inputs, and the clipped sets of the output.
    """

    kind: Literal["inference"]
    at: Annotated[tuple[float, float], Strict(False)]
    """The two inputs."""
    ranges: Annotated[tuple[Span, Span, Span], Strict(False)]
    """The ranges of the inputs and of the output."""
    xlabels: Annotated[tuple[str, str, str], Strict(False)]
    """Their labels."""
