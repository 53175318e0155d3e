"""Writes a small complete experiment with comments, and checks a folder without a run."""

from __future__ import annotations

import json
from pathlib import Path

from sojourn.core.errors import UserError
from sojourn.core.files import write_atomic
from sojourn.experiments.folder import load_experiment
from sojourn.experiments.model import Experiment
from sojourn.experiments.needs import cases_of
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


def check_experiment(folder: Path) -> tuple[Experiment, int]:
    """Reads a folder and checks every case and claim; returns the number of cases.

    It checks the scenario of every case and the names in every claim. Raises `UserError` or `ScenarioError` for the
    first mistake.
    """
    experiment = load_experiment(folder)
    cases = {case for grid in experiment.grids.values() for case in grid.cases()}
    for case in sorted(cases):
        experiment.scenario(case).canonical()
    for claim in experiment.claims:
        cases_of(experiment, claim)
    return experiment, len(cases)
