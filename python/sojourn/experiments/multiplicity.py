"""Holm's correction over the parts of a claim.

A claim is reproduced only if all its parts are, which needs no correction. It fails if one part fails, so with many
parts one of them fails by chance: a part has failed only if Holm's procedure over all parts rejects its target, at the
error rate of their intervals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist

from sojourn.core.stats import Estimate, Share
from sojourn.experiments.outcome import PartResult
from sojourn.experiments.verdict import Judged, Target, Verdict


def holm(parts: Sequence[PartResult]) -> list[PartResult]:
    """The parts; failures that Holm's procedure does not confirm become undecided."""
    failed = [i for i, part in enumerate(parts) if part.verdict is Verdict.NOT_REPRODUCED]
    p = {i: p_value(parts[i].measured, parts[i].part.direction or parts[i].part.judged) for i in failed}
    found = list(parts)
    for rank, i in enumerate(sorted(failed, key=p.__getitem__)):
        if p[i] > (1 - parts[i].measured.confidence) / (len(parts) - rank):
            for open_part in sorted(failed, key=p.__getitem__)[rank:]:
                direction = Verdict.UNDECIDED if parts[open_part].judged.direction else None
                found[open_part] = replace(parts[open_part], judged=Judged(Verdict.UNDECIDED, direction))
            break
    return found


def p_value(measured: Estimate, target: Target) -> float:
    """The two-sided p-value of the nearer edge of a target; the mean lies outside the target.

    Student's test, or the score test of a share. 0 for a value without an interval: it decides.
    """
    if measured.n < 2 or math.isnan(measured.mean):
        return 0.0
    edge = target.low if measured.mean <= target.low else target.high
    if isinstance(measured, Share):
        error = math.sqrt(edge * (1 - edge) / measured.n)
        return 2 * NormalDist().cdf(-abs(measured.mean - edge) / error) if error else 0.0
    from scipy.stats import t  # here: SciPy takes time to load

    error = measured.sd / math.sqrt(measured.n)
    return float(2 * t.sf(abs(measured.mean - edge) / error, measured.n - 1)) if error else 0.0
