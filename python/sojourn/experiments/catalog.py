"""The papers and studies of the project or near the working folder, by name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, get_args

from sojourn.core.errors import UserError, meant, note
from sojourn.experiments.folder import load_experiment
from sojourn.experiments.model import Experiment

Kind = Literal["papers", "studies"]
"""The folders of experiments in the project."""
KINDS_OF: tuple[Kind, ...] = get_args(Kind)


def folders(kinds: Sequence[Kind] = KINDS_OF) -> list[Path]:
    """The searched folders, each once.

    They are $SOJOURN_PAPERS, `papers/` and `studies/` here and above, and those of the package.
    """
    named, here, package = os.environ.get("SOJOURN_PAPERS"), Path.cwd(), Path(__file__).resolve().parent
    above = [base / kind for kind in kinds for base in (here, *here.parents, package, *package.parents)]
    every = [*([Path(named)] if named and "papers" in kinds else []), *above]
    return list(dict.fromkeys(folder.resolve() for folder in every))


def find_experiments(kind: Kind = "papers") -> list[Experiment]:
    """All papers, or all studies, each once.

    One with a mistake in its files is named in a `Note`.
    """
    found: dict[str, Experiment] = {}
    mistakes: dict[str, UserError] = {}
    for experiment in _readable(_files([kind]), mistakes):
        found.setdefault(experiment.id, experiment)
    for mistake in mistakes.values():
        note(str(mistake))
    return list(found.values())


def _files(kinds: Sequence[Kind] = KINDS_OF) -> list[Path]:
    """The `experiment.toml` of every paper and study, in order of precedence.

    The first one of a name counts.
    """
    return [file for folder in folders(kinds) for file in sorted(folder.glob("*/experiment.toml"))]


def _readable(files: Iterable[Path], mistakes: dict[str, UserError]) -> Iterator[Experiment]:
    """The readable papers; adds the mistakes of the others, by the name of their folder."""
    for file in files:
        try:
            yield load_experiment(file.parent)
        except UserError as error:
            mistakes.setdefault(file.parent.name, error)


def find_experiment(name: str, *, with_clauses: bool = False) -> Experiment:
    """A paper by its name, an alias, or its folder.

    An error lists the known papers, or of these `with_clauses` only the evaluations.
    """
    if (Path(name) / "experiment.toml").exists():
        return load_experiment(Path(name))
    mistakes: dict[str, UserError] = {}
    experiments: list[Experiment] = []
    # Most papers lie in a folder of their name, and to read all takes a third of a second.
    for experiment in _readable(sorted(_files(), key=lambda file: not file.parent.name.startswith(name)), mistakes):
        if name in (experiment.id, *experiment.file.aliases):
            return experiment
        experiments.append(experiment)
    if name in mistakes:
        raise mistakes[name]
    for mistake in mistakes.values():
        note(str(mistake))
    experiments = [each for each in experiments if each.clauses or not with_clauses]
    ids = list(dict.fromkeys(experiment.id for experiment in experiments))
    known = ", ".join(ids)
    near = meant(name, [each for experiment in experiments for each in (experiment.id, *experiment.file.aliases)])
    raise UserError(
        f"{'evaluation' if with_clauses else 'paper'}: expected {f'{known} or ' if known else ''}"
        f'a folder with an experiment.toml, got "{name}"{near}'
    )
