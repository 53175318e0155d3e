"""Shell completion of option values: names, lists of names, paths of scenario fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import typer

from sojourn import _sojourn
from sojourn.cli.listing import names
from sojourn.compare.baseline import measures_in
from sojourn.core import field_paths, measure_paths
from sojourn.core.errors import ScenarioError, UserError
from sojourn.core.measure_lookup import resolved
from sojourn.core.scenario import Scenario
from sojourn.core.scenario_files import load
from sojourn.core.scenario_schema import Field, scenario_fields

DISTRIBUTIONS = ("wait", "rtt", "completion")


def names_of(text: str | None) -> list[str]:
    """Splits names that are separated by commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def quantity(option: str, kind: str, text: str) -> float:
    """The number in the text of an option, in the unit of its `kind`.

    `kind` is `time` (s), `size` (bytes) or `rate` (bit/s). Raises `UserError` for other texts.
    """
    try:
        return _sojourn.quantity(kind, text)
    except ValueError as error:
        raise UserError(f"{option}: {error}") from None


def lists_of(known: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """A completer for the last name of a comma-separated list."""

    def complete(incomplete: str) -> list[str]:
        before = incomplete.rpartition(",")[0]
        return [f"{before},{name}" if before else name for name in known()]

    return complete


queues = lists_of(lambda: names("aqm"))
controllers = lists_of(lambda: names("cc"))
start_ups = lists_of(lambda: names("start-up"))
distributions = lists_of(lambda: DISTRIBUTIONS)


def fields(context: typer.Context, incomplete: str) -> list[str]:
    """Completes the next step of a field's path.

    The names come from the scenario on the command line.
    """
    *steps, _ = incomplete.split(".")
    here: Field | None = scenario_fields()
    for step in steps:
        here = here.below(step) if here else None
    if here is None:
        return []
    found = list(here.keys) or (_named(context, steps[0]) if len(steps) == 1 else [])
    below = {name: here.below(name) for name in found}
    ends = {name: "." if each and (each.keys or each.entry) else "=" for name, each in below.items()}
    return [".".join([*steps, f"{name}{ends[name]}"]) for name in found]


def links(context: typer.Context, incomplete: str) -> list[str]:
    """Completes the last link of a list, from the scenario on the command line."""
    try:
        known = [str(link["name"]) for link in load(context.params.get("file") or context.args[0]).resolved()["links"]]
    except (IndexError, UserError, ScenarioError):
        return []
    return lists_of(lambda: known)(incomplete)


def check_measures(scenario: Scenario, wanted: Sequence[str], option: str) -> None:
    """Raises `UserError` for a measure that the scenario does not have.

    Called before the first run.
    """
    if wanted:
        measure_paths.check(wanted, measures_in(scenario), option)


def rows(scenario: Scenario, wanted: Sequence[str], link: str, as_json: bool = False) -> list[str]:
    """The paths that `--measure` names. Raises `UserError` for a measure that no run has."""
    if wanted and as_json:
        raise UserError("--measure: expected tables, got --json, which prints whole records")
    found = resolved(wanted, measures_in(scenario), link, "--measure") if wanted else []
    check_measures(scenario, found, "--measure")
    return found


def a_measure(context: typer.Context, incomplete: str) -> list[str]:
    """Completes a measure of the scenario on the command line."""
    try:
        known = measures_in(load(context.params.get("file") or context.args[0]))
    except (IndexError, UserError, ScenarioError):
        return []
    return [each for each in known if each.startswith(incomplete)]


def _named(context: typer.Context, part: str) -> list[str]:
    """The names of the links or flows of the scenario on the command line."""
    try:
        scenario = load(context.params.get("file") or context.args[0])  # the shell's last word ends its parsing
        return [field_paths.element(str(field_paths.name_of(each))) for each in scenario.get_path(part)]
    except (IndexError, UserError, ScenarioError):
        return []
