"""Clauses of a specification: files that add runs and claims to an experiment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sojourn.core.errors import UserError
from sojourn.experiments.schema import ClaimsFile, ExperimentFile
from sojourn.experiments.schema.claims import ClaimTable
from sojourn.experiments.schema.clauses import ClauseFile
from sojourn.experiments.schema.experiment import GridTable
from sojourn.experiments.schema.toml import is_word, read_toml

FOLDER = "clauses"
"""The folder of an experiment with a file for each clause."""
MERGED = ("columns", "measures", "scenarios", "families")
"""The tables of a clause that become tables of the experiment."""


def read_clauses(root: Path) -> dict[str, ClauseFile]:
    """The clauses of a folder by name, in the order of the specification."""
    found = {}
    for path in sorted((root / FOLDER).glob("*.toml")):
        if not is_word(path.stem):
            raise UserError.expected(str(path), "a file name of letters, digits and _", path.stem)
        found[path.stem] = read_toml(path, ClauseFile)
    return dict(sorted(found.items(), key=lambda item: [int(each) for each in re.findall(r"\d+", item[1].where)]))


def with_clauses(root: Path, file: ExperimentFile, clauses: Mapping[str, ClauseFile]) -> ExperimentFile:
    """The file of an experiment with the tables of its clauses; each clause is a grid.

    Raises `UserError` for a name that two files define.
    """
    tables: dict[str, dict[str, Any]] = {name: dict(getattr(file, name)) for name in (*MERGED, "grids")}
    for name, clause in clauses.items():
        own = {each: getattr(clause, each) for each in MERGED} | {"grids": _grid(name, clause)}
        for kind, entries in own.items():
            for taken in [each for each in entries if each in tables[kind]]:
                where = f"{root / FOLDER / name}.toml: {kind}"
                raise UserError.expected(where, "names that no other file defines", taken)
            tables[kind] |= entries
    figures = [*file.figures, *(figure for clause in clauses.values() for figure in clause.figures)]
    return file.model_copy(update={**tables, "figures": figures})


def _grid(name: str, clause: ClauseFile) -> dict[str, GridTable]:
    """The grid of a clause; none if it has no runs."""
    if clause.undecidable:
        return {}
    grid = GridTable(
        title=f"§{clause.where} {clause.title}",
        scenarios=[*clause.scenarios, *clause.families],
        queues=clause.queues,
        measures=clause.shown or list(clause.measures),
        replications=clause.replications,
        quick_scenarios=clause.quick_scenarios,
        quick_set=clause.quick_set,
    )
    grid.named(name)
    return {name: grid}


def with_requirements(own: ClaimsFile, clauses: Mapping[str, ClauseFile]) -> ClaimsFile:
    """The claims of an experiment and the requirements of its clauses."""
    found = [
        ClaimTable.model_validate(
            {
                "id": claim_id(name, each.id),
                "where": f"§{clause.where}",
                "text": each.text,
                "reason": each.reason,
                "parts": each.parts,
                "for": each.for_,
            }
        )
        for name, clause in clauses.items()
        for each in clause.requires
    ]
    return own.model_copy(update={"claims": [*own.claims, *found]})


def claim_id(clause: str, requirement: str) -> str:
    """The name of the claim of a requirement."""
    return f"{clause}.{requirement}"
