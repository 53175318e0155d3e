"""A page for each claim, at a stable address: `claims/ID.html` in the folder of a report."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from sojourn.core.files import write_atomic
from sojourn.core.text_format import number
from sojourn.experiments.audit import Audit
from sojourn.experiments.model import Case
from sojourn.experiments.outcome import CHOSEN, ClaimResult, Outcome, PartResult, ReadingResult
from sojourn.experiments.pages import address, page
from sojourn.experiments.schema.deviations import Deviation

WIDTH, HEIGHT, MARGIN = 420, 34, 12
"""The size of a strip in pixels, and its margin left and right."""


@dataclass(frozen=True)
class ShownPart:
    """A part of a claim with what its page adds."""

    result: PartResult
    flips: str
    """Where the verdict flips."""
    strip: Markup
    """The values of the seeds as SVG; empty without any."""


@dataclass(frozen=True)
class ShownReading:
    """A reading: its label and its parts."""

    label: str
    fit: bool
    verdict: str
    parts: list[ShownPart]


@dataclass(frozen=True)
class ShownMutant:
    """A wrong version and what the claim does under it."""

    id: str
    text: str
    effect: str


def write_claim_pages(outcome: Outcome, folder: Path, report: str, audit: Audit | None) -> list[Path]:
    """Writes the page of every judged claim; `report` is the name of the report's page."""
    return [
        write_atomic(folder / address(result.claim.id), claim_page(outcome, result, report, audit))
        for result in outcome.results
    ]


def claim_page(outcome: Outcome, result: ClaimResult, report: str, audit: Audit | None) -> str:
    """The page of one claim."""
    experiment, claim = outcome.experiment, result.claim
    seeds = min((len(outcome.records[case]) for case in result.cases if case in outcome.records), default=0)
    quick = " --quick" if outcome.quick else ""
    readings = [
        ShownReading(each.label, each.fit, str(each.verdict), [shown_part(part) for part in each.parts])
        for each in result.readings or [_only_reading(result)]
    ]
    return page(
        "claim.html",
        words=experiment.words,
        experiment=experiment,
        outcome=outcome,
        result=result,
        report=f"../{report}",
        readings=readings,
        cases=[_case_row(outcome, str(case)) for case in sorted(result.cases)],
        fits=_fits(experiment.deviations, result),
        mutants=_mutants(audit, claim.id) if audit else [],
        seeds=seeds,
        command=f"sojourn reproduce {experiment.id} {claim.id}{f' --seeds {seeds}' if seeds else ''}{quick}",
    )


def _only_reading(result: ClaimResult) -> ReadingResult:
    return ReadingResult(CHOSEN, False, result.parts)


def _case_row(outcome: Outcome, name: str) -> tuple[str, str, str, str]:
    """A case with the titles of its scenario and queue, and the fingerprints of its runs."""
    case, experiment = Case.named(name), outcome.experiment
    scenario, queue = experiment.scenarios[case.scenario], experiment.queues[case.queue]
    setting = experiment.settings[case.setting].label if case.setting else ""
    texts = [scenario.title or scenario.label, setting]
    prints = " ".join(str(record.get("fingerprint")) for record in outcome.records.get(case, []))
    return name, ", ".join(filter(None, texts)), ": ".join(filter(None, (queue.label, queue.title))), prints


def _fits(deviations: list[Deviation], result: ClaimResult) -> list[Deviation]:
    """The deviations whose values were fitted to the claim."""
    names = {name for part in result.claim.parts for name in part.fitted_by}
    return [each for each in deviations if each.id in names]


def _mutants(audit: Audit, claim: str) -> list[ShownMutant]:
    """The wrong versions in the audit, with their effect on a claim."""
    if claim not in audit.claims:
        return []
    found = []
    for row in audit.rows:
        effect = "moved, still held" if claim in audit.moved(row) else "no part of it held before"
        effect = "noticed" if claim in row.noticed else "unmoved" if claim in row.unmoved else effect
        found.append(ShownMutant(row.id, row.text, f"did not run: {row.stopped}" if row.stopped else effect))
    return found


def shown_part(part: PartResult) -> ShownPart:
    """A part with its strip and where it flips."""
    return ShownPart(part, flips(part), strip(part))


def flips(part: PartResult) -> str:
    """The tolerance, or the bound, from which on the part holds, and below which it is missed."""
    measured, target = part.measured, part.part.target
    value = part.part.expected if part.part.published is None else part.part.published
    if part.part.cells or part.part.share_of_seeds or not math.isfinite(measured.mean):
        return ""
    unit = f" {part.unit}" if part.unit else ""
    if value is not None:
        far = max(abs(measured.low - value), abs(measured.high - value))
        near = (
            0.0
            if measured.low <= value <= measured.high
            else min(abs(measured.low - value), abs(measured.high - value))
        )
        percent = f" ({number(100 * far / abs(value))} %)" if value else ""
        missed = f"; missed below ±{number(near)}{unit}" if near else ""
        return f"holds from a tolerance of ±{number(far)}{unit}{percent} on{missed}"
    if math.isfinite(target.low) and math.isfinite(target.high):
        return f"holds for a range from {number(measured.low)} to {number(measured.high)}{unit} or wider"
    sign, first, last = (
        ("below", measured.low, measured.high) if math.isfinite(target.low) else ("above", measured.high, measured.low)
    )
    return f"holds for bounds {sign} {number(first)}{unit}, missed beyond {number(last)}{unit}"


def strip(part: PartResult) -> Markup:
    """The values of the seeds as dots over the target (shaded) and the published value (line)."""
    values = [value for value in part.values if math.isfinite(value)]
    if part.part.cells or part.part.share_of_seeds or not values:
        return Markup("")
    target, published = part.part.target, part.published
    ends = [end for end in (target.low, target.high, published) if end is not None and math.isfinite(end)]
    low, high = min([*values, *ends]), max([*values, *ends])
    span = (high - low) or abs(high) or 1.0
    low, high = low - 0.05 * span, high + 0.05 * span

    def x(value: float) -> float:
        return MARGIN + (WIDTH - 2 * MARGIN) * (min(max(value, low), high) - low) / (high - low)

    middle = HEIGHT / 2 - 4
    shapes = [
        f'<rect class="target" x="{x(target.low):.1f}" y="2" width="{x(target.high) - x(target.low):.1f}" '
        f'height="{2 * middle - 4:.1f}"/>'
    ]
    if published is not None:
        shapes.append(f'<line x1="{x(published):.1f}" x2="{x(published):.1f}" y1="2" y2="{2 * middle - 2:.1f}"/>')
    shapes += [f'<circle cx="{x(value):.1f}" cy="{middle:.1f}" r="3.5"/>' for value in values]
    for anchor, at, value in (("start", MARGIN, low + 0.05 * span), ("end", WIDTH - MARGIN, high - 0.05 * span)):
        shapes.append(f'<text x="{at}" y="{HEIGHT - 2}" text-anchor="{anchor}">{number(value)}</text>')
    label = f"{len(values)} seeds from {number(min(values))} to {number(max(values))}"
    head = f'<svg class="strip" role="img" aria-label="{label}" width="{WIDTH}" height="{HEIGHT}">'
    return Markup(head + "".join(shapes) + "</svg>")  # numbers alone: nothing to escape
