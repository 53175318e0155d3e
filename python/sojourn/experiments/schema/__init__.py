"""The fields of an experiment's files, with type, default and a sentence each.

`sojourn schema experiment` prints one of them as JSON Schema; so do `claims`, `coverage`, `deviations` and
`mutants`.
"""

from __future__ import annotations

from typing import Any

from sojourn.core.errors import UserError
from sojourn.experiments.schema.claims import ClaimsFile
from sojourn.experiments.schema.clauses import ClauseFile
from sojourn.experiments.schema.coverage import CoverageFile
from sojourn.experiments.schema.deviations import DeviationsFile
from sojourn.experiments.schema.experiment import ExperimentFile
from sojourn.experiments.schema.figures import KINDS
from sojourn.experiments.schema.mutants import MutantsFile
from sojourn.experiments.schema.toml import FileModel

FILES: dict[str, type[FileModel]] = {
    "experiment": ExperimentFile,
    "claims": ClaimsFile,
    "clause": ClauseFile,
    "coverage": CoverageFile,
    "deviations": DeviationsFile,
    "mutants": MutantsFile,
}
"""The files by the name of their schema; each is `<name>.toml` in the folder."""


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema of a file, by its name in `FILES`."""
    if name not in FILES:
        raise UserError(f'schema: expected one of scenario, {", ".join(FILES)}, got "{name}"')
    found = FILES[name].model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}


def figure_entries() -> list[dict[str, Any]]:
    """Every kind of figure with its fields, for `sojourn list`."""
    return [
        {
            "name": kind,
            "summary": " ".join(str(model.__doc__).partition("\n\n")[0].split()),
            "heads": {"name": "field", "default": "default"},
            "parameters": [
                {
                    "name": field.alias or name,
                    "default": "required" if field.is_required() else field.get_default() or None,
                    "summary": " ".join(str(field.description).partition("\n\n")[0].split()),
                }
                for name, field in model.model_fields.items()
                if name != "kind"
            ],
        }
        for kind, model in KINDS.items()
    ]


__all__ = [
    "FILES",
    "ClaimsFile",
    "CoverageFile",
    "DeviationsFile",
    "ExperimentFile",
    "FileModel",
    "MutantsFile",
    "figure_entries",
    "schema_of",
]
