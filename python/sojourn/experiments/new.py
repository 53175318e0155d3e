"""Writes a small complete experiment with comments, for a user to change."""

from __future__ import annotations

import json
from pathlib import Path

from sojourn.core.errors import UserError
from sojourn.core.files import write_atomic
from sojourn.experiments.schema import FILES, schema_of

STARTER = Path(__file__).parent / "starter"


def new_experiment(folder: Path) -> list[Path]:
    """Writes the starter's files and the schemas of their `#:schema` lines; returns their paths.

    Raises `UserError` for a folder that is not empty, and for an invalid name of an experiment.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError.expected("new experiment", "a new or an empty folder", folder)
    name = folder.resolve().name
    contents = {
        file.relative_to(STARTER): file.read_text(encoding="utf-8").replace('"NAME"', json.dumps(name))
        for file in sorted(STARTER.rglob("*.toml"))
    }
    contents |= {Path(f"{each}.schema.json"): json.dumps(schema_of(each), indent=1) + "\n" for each in FILES}
    return [write_atomic(folder / path, text) for path, text in contents.items()]
