"""Prints the warnings about scenarios."""

from collections.abc import Sequence

from sojourn.compare.cases import Case
from sojourn.core.errors import note
from sojourn.core.scenario import Scenario


def note_warnings(scenario: Scenario) -> None:
    """Prints the warnings about a scenario that can be run."""
    for each in scenario.warnings():
        note(each)


def note_warnings_in(cases: Sequence[Case]) -> None:
    """Prints the warnings about the cases of a comparison.

    A warning names its cases unless all have it. `ecn = true` of a droptail queue is no warning here, because it may be
    meant for the other queues.
    """
    found = {case.label: case.scenario.warnings(without=("marks-of-droptail",)) for case in cases}
    for each in dict.fromkeys(text for texts in found.values() for text in texts):
        having = [label for label, texts in found.items() if each in texts]
        note(each if len(having) == len(found) else f"{', '.join(having)}: {each}")
