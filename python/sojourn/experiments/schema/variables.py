"""Values that a paper leaves open: their ranges, the fields they set, and their runs."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from sojourn.experiments.braces import filled, has_braces
from sojourn.experiments.schema.toml import FileModel, Span, expected

Parameters = dict[str, Any]
"""Fields of a scenario file, or parameters of an algorithm: checked where they are used."""


class Choosing(FileModel):
    """Selects runs by scenario, queue and setting; `*` matches any letters."""

    scenarios: list[str] = []
    """The scenarios and families (default: all)."""
    queues: list[str] = []
    """The queues and curves (default: all)."""
    settings: list[str] = []
    """The settings (default: all, and none)."""


class Variable(Choosing):
    """A value that the paper does not give."""

    label: str
    """Its meaning, in words."""
    between: Span | None = None
    """The least and the greatest value."""
    among: list[Any] = []
    """The values, if they are few: numbers, texts, tables."""
    log: bool = False
    """`between`: whether equal ratios are equally likely, instead of equal differences."""
    whole: bool = False
    """`between`: whether it is a whole number."""
    set: Parameters = Field(min_length=1)
    """Fields of the scenario file.

    `{x}` in a text is the value, and `{2 * x}` twice the value.
    """

    @model_validator(mode="after")
    def _one_range(self) -> Self:
        if (self.between is None) == (not self.among):
            raise expected("one of between and among", "none" if self.between is None else "both", field="between")
        if self.log and (self.between is None or self.between[0] <= 0):
            raise expected("false without a range above 0", "true", field="log")
        if not has_braces(self.set):
            raise expected("{x} in one of its texts", "none", field="set")
        return self

    def value(self, u: float) -> Any:
        """The value at the position `u` in 0 .. 1 of the range."""
        if self.between is None:
            return self.among[min(int(u * len(self.among)), len(self.among) - 1)]
        low, high = self.between
        if self.whole:
            low, high = low - 0.5, high + 0.5
            if self.log:
                low = max(low, 0.5)
        found = low * (high / low) ** u if self.log else low + u * (high - low)
        return round(min(max(found, self.between[0]), self.between[1])) if self.whole else float(f"{found:.9g}")

    def changes(self, value: Any) -> Parameters:
        """The fields that it sets, with their values."""
        return {path: filled(text, {"x": value}) for path, text in self.set.items()}
