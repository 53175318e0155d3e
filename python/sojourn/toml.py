"""TOML texts that a user wrote, read with errors of one line."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from sojourn import _sojourn
from sojourn.errors import ScenarioError, UserError


def parse(text: str, label: str) -> dict[str, Any]:
    """The table that a TOML text describes. Raises `UserError`, `LABEL:LINE:COLUMN: ...`, for another text."""
    try:
        _sojourn.check_toml(text, label, whole=False)
        return tomllib.loads(text)
    except ScenarioError as error:
        raise UserError(str(error)) from None
    except RecursionError:
        raise UserError(f"{label}: expected tables and lists that are not nested so deeply") from None
    except ValueError as error:
        try:  # of an integer of very many digits Python does not say where it is
            _sojourn.check_toml(text, label, whole="digits" in str(error))
        except ScenarioError as engine:
            raise UserError(str(engine)) from None
        said = " ".join(str(error).split())
        last = text.split("\n")
        said = said.replace("(at end of document)", f"(at line {len(last)}, column {len(last[-1]) + 1})")
        found = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", said)
        place, problem = (f":{found[2]}:{found[3]}", found[1]) if found else ("", said)
        raise UserError(f"{label}{place}: not TOML: {problem}") from None
