"""Checks that `coverage.toml` accounts for the whole paper and for every claim."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from sojourn.core.errors import UserError
from sojourn.experiments.consistency import unknown_name
from sojourn.experiments.model import Experiment
from sojourn.experiments.schema.coverage import ITEMS, CoverageFile, Entry


def check_coverage(experiment: Experiment) -> None:
    """Rejects unknown names, missing numbers, and claims or notes without an entry.

    It accepts an experiment without the file.
    """
    if experiment.coverage is None:
        return
    label = str(experiment.root / "coverage.toml")
    claims = claim_names(experiment)
    known: dict[str, Iterable[str]] = {
        "claims": claims,
        "notes": [each.id for each in experiment.notes],
        "deviations": [each.id for each in experiment.deviations],
        "figures": [each.id for each in experiment.figures],
    }
    for number, entry in enumerate(experiment.coverage.entries, start=1):
        for kind, names in known.items():
            for name in getattr(entry, kind):
                if name not in names and not (kind == "claims" and _fitting(name, claims)):
                    raise unknown_name(f"{label}: entries[{entry.item or number}].{kind}", name, names)
    _check_numbers(label, experiment.coverage)
    theirs = {each.table or each.id for each in experiment.claims if each.origin == experiment.origin}
    covered = {name for entry in experiment.coverage.entries for name in covering_claims(entry, claims)}
    missing = [name for name in claims if name in theirs and name not in covered]
    noted = {name for entry in experiment.coverage.entries for name in entry.notes}
    missing += [each.id for each in experiment.notes if each.id not in noted]
    if missing:
        raise UserError(f"{label}: entries: expected every claim and note of the paper, got none for {missing[0]}")


def claim_names(experiment: Experiment) -> list[str]:
    """The names of all claims; a published table is one name."""
    return list(dict.fromkeys(each.table or each.id for each in experiment.claims))


def covering_claims(entry: Entry, claims: Iterable[str]) -> list[str]:
    """The claims that an entry names, with patterns expanded."""
    known = list(claims)
    return list(dict.fromkeys(each for name in entry.claims for each in _fitting(name, known)))


def _fitting(pattern: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if fnmatchcase(name, pattern)]


def _check_numbers(label: str, coverage: CoverageFile) -> None:
    """Rejects a number beyond the paper's count, and a number without an entry."""
    for kind in ITEMS:
        count = getattr(coverage, f"{kind}s")
        found = {number for entry in coverage.entries if (number := getattr(entry, kind))}
        wrong = sorted(found ^ set(range(1, count + 1)))
        if wrong:
            got = f"an entry for {kind} {wrong[0]}" if wrong[0] in found else f"none for {kind} {wrong[0]}"
            raise UserError(f"{label}: {kind}s: expected entries for {kind}s 1 to {count}, got {got}")


@dataclass(frozen=True)
class CoverageRow:
    """An entry with the names of its claims."""

    entry: Entry
    claims: list[str]


def coverage_rows(experiment: Experiment) -> list[CoverageRow]:
    """The entries of `coverage.toml`; none without the file."""
    claims = claim_names(experiment)
    entries = experiment.coverage.entries if experiment.coverage else []
    return [CoverageRow(entry, covering_claims(entry, claims)) for entry in entries]
