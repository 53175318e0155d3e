"""The fields of an experiment's files, with type, default and a sentence each.

`sojourn schema experiment` prints one of them as JSON Schema; so do `claims`, `deviations` and `mutants`.
"""

from __future__ import annotations

from typing import Any

from sojourn.core.errors import UserError
from sojourn.experiments.schema.claims import ClaimsFile
from sojourn.experiments.schema.deviations import DeviationsFile
from sojourn.experiments.schema.experiment import ExperimentFile
from sojourn.experiments.schema.mutants import MutantsFile
from sojourn.experiments.schema.toml import FileModel

FILES: dict[str, type[FileModel]] = {
    "experiment": ExperimentFile,
    "claims": ClaimsFile,
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


__all__ = ["FILES", "ClaimsFile", "DeviationsFile", "ExperimentFile", "FileModel", "MutantsFile", "schema_of"]
