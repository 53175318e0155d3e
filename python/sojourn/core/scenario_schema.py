"""The fields of a scenario according to its JSON Schema; used to reject wrong paths early."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sojourn import _sojourn

Form = Mapping[str, Any]


class Field:
    """A field of a scenario, with all forms that the schema allows for it."""

    def __init__(self, forms: Sequence[Form], definitions: Mapping[str, Form]) -> None:
        self._forms = list(_spelled_out(forms, definitions))
        self._definitions = definitions

    def _of(self, forms: Sequence[Form]) -> Field:
        return Field(forms, self._definitions)

    @functools.cached_property
    def keys(self) -> dict[str, Field]:
        """The fields below it, by name. A queue has the fields of all disciplines."""
        found: dict[str, list[Form]] = {}
        for form in self._forms:
            for name, each in form.get("properties", {}).items():
                found.setdefault(name, []).append(each)
        return {name: self._of(forms) for name, forms in found.items()}

    @functools.cached_property
    def entry(self) -> Field | None:
        """The field of a list entry; None if it can't be a list."""
        lists = [form for form in self._forms if form.get("type") == "array"]
        kinds = [form["items"] if isinstance(form.get("items"), Mapping) else {} for form in lists]
        return self._of(kinds) if lists else None

    @property
    def is_open(self) -> bool:
        """Whether the schema allows any field below it."""
        return any("type" not in form and "const" not in form and "enum" not in form for form in self._forms)

    def below(self, step: str) -> Field | None:
        """The field below it at one step of a path; None if unknown."""
        if step in self.keys:
            return self.keys[step]
        if self.is_open:
            return self
        if step == "*" and self.keys:
            return self._of([form for each in self.keys.values() for form in each._forms])
        entry = self.entry
        named = entry is not None and ("name" in entry.keys or entry.is_open)
        return entry if named or step.isdigit() or step == "*" else None


def _spelled_out(forms: Sequence[Form], definitions: Mapping[str, Form]) -> Iterator[Form]:
    """The forms, with references and alternatives resolved."""
    for form in forms:
        name = form.get("$ref", "").removeprefix("#/$defs/")
        inner = (
            [definitions[name]] if name else [*form.get("oneOf", ()), *form.get("anyOf", ()), *form.get("allOf", ())]
        )
        if inner:
            yield from _spelled_out(inner, definitions)
        if not inner or "properties" in form:
            yield form


@functools.cache
def schema() -> Mapping[str, Any]:
    """The JSON Schema of a scenario. It takes 10 ms to build, so that it is built once."""
    found: dict[str, Any] = json.loads(_sojourn.schema())
    return found


@functools.cache
def scenario_fields() -> Field:
    """The root of a scenario's fields."""
    return Field([schema()], schema()["$defs"])


def first_unknown(steps: Sequence[str]) -> tuple[int, list[str]] | None:
    """The position of the first unknown step and the valid names there; None if all are known.

    ```python
    first_unknown(["links", "up", "rte"])  # (2, ["back", "changes", ...])
    ```
    """
    here = scenario_fields()
    for position, step in enumerate(steps):
        there = here.below(step)
        if there is None:
            return position, list(here.keys)
        here = there
    return None
