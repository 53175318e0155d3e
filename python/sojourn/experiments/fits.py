"""Marks the parts of claims to whose numbers a value that the paper omits was fitted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase

from sojourn.core.errors import UserError
from sojourn.experiments.claims import Claim, Part
from sojourn.experiments.schema.deviations import Deviation


def with_fits(label: str, claims: Iterable[Claim], deviations: Iterable[Deviation]) -> list[Claim]:
    """The claims with the deviations that were fitted to their parts.

    `label` begins the message of an error.
    """
    found = list(claims)
    for deviation in deviations:
        for name in deviation.chosen_for:
            marked = [_marked(claim, name, deviation.id) for claim in found]
            if marked == found:
                known = ", ".join(claim.id for claim in found)
                where = f"{label}: deviations[{deviation.id}].chosen_for"
                raise UserError(f'{where}: expected parts of one of {known}, got "{name}"')
            found = marked
    return found


def _marked(claim: Claim, name: str, deviation: str) -> Claim:
    """A claim with its fitted parts marked; the same if the name means another."""
    pattern, _, word = name.partition("/")
    if not fnmatchcase(claim.id, pattern):
        return claim
    parts = [replace(p, fitted_by=(*p.fitted_by, deviation)) if _has(p, word) else p for p in claim.parts]
    return replace(claim, parts=tuple(parts))


def _has(part: Part, word: str) -> bool:
    """Whether a part has this word in its measure; every part has the empty word."""
    return not word or re.search(rf"(?<!\w){re.escape(word)}(?!\w)", part.measure) is not None
