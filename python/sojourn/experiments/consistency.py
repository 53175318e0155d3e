"""Checks an experiment's files against each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sojourn.core.errors import UserError
from sojourn.experiments.braces import BRACES, filled, has_braces
from sojourn.experiments.expression import UnknownNameError, evaluate, fill
from sojourn.experiments.model import Experiment
from sojourn.experiments.readings import TAKES, WHOLE
from sojourn.experiments.schema.experiment import Measure
from sojourn.experiments.schema.figures import KINDS
from sojourn.experiments.verdict import parse_target

RUN_COLUMNS = ("scenario", "queue", "setting", "seed", "fingerprint")
"""Columns of the table of runs, beside which each measure is a column."""


def check_experiment(experiment: Experiment, label: str) -> None:
    """Rejects names that an experiment's files do not define, and invalid targets."""
    _check_kinds(experiment, label)
    _check_looks(experiment, label)
    _check_scores(experiment, label)
    _check_formulas(experiment, label)
    _check_variables(experiment, label)


def unknown_name(field: str, got: str, known: Iterable[str]) -> UserError:
    """The error for a name that a file does not define."""
    return UserError(f'{field}: expected one of {", ".join(known) or "none"}, got "{got}"')


def _check_variables(experiment: Experiment, label: str) -> None:
    """Rejects an open value that changes no run."""
    cases = [(each.id, case) for each in experiment.grids.values() for case in each.cases()]
    for kind, variables in (("draws", experiment.file.draws), ("omitted", experiment.file.omitted)):
        for variable in variables:
            asked = getattr(variable, "grids", [])
            for name in asked:
                if name not in experiment.grids:
                    raise unknown_name(f"{label}: {kind}[{variable.label}].grids", name, list(experiment.grids))
            if not any(experiment.concerns(variable, case) for name, case in cases if not asked or name in asked):
                raise UserError(f"{label}: {kind}[{variable.label}]: expected runs that it changes, got none")


def _check_looks(experiment: Experiment, label: str) -> None:
    """Rejects a `like` that is no queue, or one with a `like` of its own."""
    first = [name for name, queue in experiment.queues.items() if not queue.like]
    for name, queue in experiment.queues.items():
        if queue.like and queue.like not in first:
            raise unknown_name(f"{label}: queues.{name}.like", queue.like, first)


def _check_scores(experiment: Experiment, label: str) -> None:
    """Rejects a score without a reference, with an unknown measure, or with an invalid target."""
    reference = experiment.file.reference_queue
    if reference and reference not in experiment.queues:
        raise unknown_name(f"{label}: reference_queue", reference, experiment.queues)
    for name, score in experiment.file.scores.items():
        if not reference:
            raise UserError(f"{label}: scores.{name}: expected a reference_queue, got none")
        for measure, target in score.holds.items():
            if measure not in experiment.measures:
                raise unknown_name(f"{label}: scores.{name}.holds", measure, experiment.measures)
            try:
                parse_target(target)
            except UserError as error:
                raise UserError(f"{label}: scores.{name}.holds.{measure}: {error}") from None


def _check_formulas(experiment: Experiment, label: str) -> None:
    """Rejects formulas, braces and lists of measures with invalid names.

    A measure needs measures directly from a run or above itself, so nothing needs itself.
    """
    if taken := [name for name in experiment.measures if name in RUN_COLUMNS]:
        raise UserError.expected(f"{label}: measures", f"names other than {', '.join(RUN_COLUMNS)}", taken[0])
    direct = {each.id for each in experiment.measures.values() if not _needs_others(each)}
    order = list(experiment.measures)
    for values, measure in _measures(experiment):
        if measure.id not in order:
            raise unknown_name(f"{label}: measures", measure.id, order)
        above = order[: order.index(measure.id)]
        _check_names(experiment, label, measure, [each for each in order if each in direct or each in above], values)


def _measures(experiment: Experiment) -> Iterator[tuple[Mapping[str, str], Measure]]:
    """Every measure, once, with the values for its braces."""
    constant = next((each.values for each in experiment.queues.values()), {})
    some = dict(pair for each in experiment.scenarios.values() for pair in each.values.items())
    for measure in experiment.measures.values():
        yield some | constant, measure
    seen: set[int] = set()
    for scenario in experiment.scenarios.values():
        for measure in scenario.measures.values():
            if id(measure) not in seen:
                seen.add(id(measure))
                yield scenario.values | constant, measure


def _needs_others(measure: Measure) -> bool:
    """Whether a measure may name others."""
    return bool(measure.formula or measure.outside or has_braces([*_texts(measure)]))


def _texts(measure: Measure) -> tuple[object, ...]:
    """The fields of a measure in which braces may name measures."""
    return (measure.column, measure.than, measure.at, *(measure.between or ()))


def _check_names(
    experiment: Experiment, label: str, measure: Measure, known: list[str], values: Mapping[str, str]
) -> None:
    """Rejects an unknown name of a measure."""
    names = (*experiment.queues, *experiment.settings, *experiment.scenarios)
    where = f"{label}: measures.{measure.id}"

    def one(path: tuple[str, ...]) -> float:
        if path[-1] not in known or any(each not in names for each in path[:-1]):
            raise UnknownNameError(".".join(path))
        return 1.0

    try:
        evaluate(BRACES.sub("1", fill(measure.formula or "1", values)), one)
    except UnknownNameError as error:
        raise unknown_name(f"{where}.formula", str(error), known) from None
    except UserError as error:
        raise UserError(f"{where}.formula: {error}") from None
    for name in measure.outside:
        if name not in known or not experiment.measures[name].holds:
            raise unknown_name(f"{where}.outside", name, [each for each in known if experiment.measures[each].holds])
    try:
        if measure.holds:
            parse_target(str(filled(measure.holds, values)))
        filled([*_texts(measure)], {**dict.fromkeys(known, 1.0), **values})
    except UserError as error:
        raise UserError(f"{where}: {error}") from None


def _check_kinds(experiment: Experiment, label: str) -> None:
    """Rejects kinds that neither this package nor the experiment's `extra.py` defines.

    `extra.py` is loaded only if necessary.
    """
    for figure in experiment.figures:
        if figure.kind not in KINDS and figure.kind not in experiment.extra.figures:
            raise unknown_name(f"{label}: figures[{figure.id}].kind", figure.kind, [*KINDS, *experiment.extra.figures])
    own = [measure for each in experiment.scenarios.values() for measure in each.measures.values()]
    for measure in (*experiment.measures.values(), *own):
        if measure.series and measure.take not in (*TAKES, *WHOLE) and measure.take not in experiment.extra.readings:
            known = [*TAKES, *WHOLE, *experiment.extra.readings]
            raise unknown_name(f"{label}: measures.{measure.id}.take", measure.take, known)
        if measure.after:
            events = [each.id for each in experiment.measures.values() if each.series and not each.after]
            if measure.after not in events:
                raise unknown_name(f"{label}: measures.{measure.id}.after", measure.after, events)
