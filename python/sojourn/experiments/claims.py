"""Claims with expanded templates: their measures, and the allowed values."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from sojourn.core.errors import UserError
from sojourn.core.text_format import number
from sojourn.experiments.expression import fields, fill, is_constant
from sojourn.experiments.families import MOST_CASES
from sojourn.experiments.schema.claims import (
    ClaimsFile,
    ClaimTable,
    Origin,
    PartTable,
    PublishedTable,
    ReadingTable,
    ToleranceFields,
    ToleranceTable,
)
from sojourn.experiments.verdict import PartKind, Target, Tolerance, parse_target

PublishedValues = dict[tuple[str, str, str], float]
"""Published values by scenario, queue and measure."""


@dataclass(frozen=True)
class Part:
    """One statement of a claim: a measure and its allowed values."""

    measure: str
    target: Target
    published: float | None = None
    """The value printed in the paper."""
    expected: float | None = None
    """A value that the paper does not print."""
    tolerance: Tolerance | None = None
    label: str = ""
    cells: tuple[str, ...] = ()
    """The measures of a part about many cases.

    `target` is then the share of them that must meet `cell_target`.
    """
    cell_target: Target = field(default_factory=Target)
    kind: PartKind = "number"
    direction: Target | None = None
    """The direction that a number implies, if it states one."""
    share_of_seeds: float = 0.0
    """Above 0: the share of seeds in which the target must hold."""
    of_seeds: str = "mean"
    """The value of a cell from its seeds: `mean` or `median`."""
    fitted_by: tuple[str, ...] = ()
    """The deviations whose values were fitted to its number."""

    @property
    def judged(self) -> Target:
        """The range of the judged value.

        The judged value is the measure itself, or the share of seeds in which it meets the target.
        """
        return Target(self.share_of_seeds, low_open=False) if self.share_of_seeds else self.target

    @property
    def target_text(self) -> str:
        """The target in words, without a unit."""
        return self.target_in("")

    def target_in(self, unit: str) -> str:
        """The target in words, in this unit."""
        of = f" {unit}" if unit else ""
        if self.cells:
            least = [math.ceil(each.low * len(self.cells) - 1e-9) for each in (self.target, self.direction) if each]
            part = f", in part in {least[1]}" if len(least) > 1 else ""
            return f"{self.cell_target}{of} in {least[0]} of {len(self.cells)} cells or more{part}"
        value = self.expected if self.published is None else self.published
        if self.tolerance is not None and value is not None:
            text = f"{number(value)}{of} {self.tolerance}"
        else:
            text = f"{self.target}{of}"
        if self.direction is not None:
            text += f", else {self.direction}{of}"
        return f"{text} in {number(self.share_of_seeds)} of the seeds or more" if self.share_of_seeds else text


@dataclass(frozen=True)
class ClaimReading:
    """Another reading of an omission of the paper, with the parts as measured under it."""

    label: str
    fit: bool
    """Whether it was fitted to the published numbers."""
    parts: tuple[Part, ...]
    scenarios: str = "*"
    """The scenarios in which it is measured, as a pattern."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of a paper, its place there, and its separately checked parts."""

    id: str
    where: str
    text: str
    reason: str
    parts: tuple[Part, ...]
    table: str = ""
    """The table of the row; empty for other claims."""
    origin: Origin = "paper"
    """The origin of the claim."""
    omitted: str = ""
    """The omission of the paper on which the claim depends."""
    readings: tuple[ClaimReading, ...] = ()
    """Other readings of the omission."""


def expand_claims(
    label: str, file: ClaimsFile, published: PublishedValues, reference: PublishedValues, default_origin: Origin
) -> tuple[list[Claim], list[PublishedTable]]:
    """The claims of a file, those of its tables first. `label` begins the message of an error.

    `default_origin` is the origin of a claim that names none.
    """
    claims = [
        row for table in file.tables for row in _rows(label, table, published if table.origin == "paper" else reference)
    ]
    claims += [_claim(label, each, default_origin) for table in file.claims for each in _combined(table)]
    seen: set[str] = set()
    for kind, name in [*(("claims", each.id) for each in claims), *(("notes", each.id) for each in file.notes)]:
        if name in seen:
            raise UserError(f'{label}: {kind}[{name}].id: expected a name used once, got "{name}" again')
        seen.add(name)
    return claims, list(file.tables)


def _combined(table: ClaimTable) -> Iterator[ClaimTable]:
    """The claims of a table: one for every combination of its `for` lists."""
    for values in itertools.product(*table.for_.values()):
        named = dict(zip(table.for_, values, strict=True))
        texts = {key: fill(getattr(table, key), named) for key in ("id", "where", "text", "reason")}
        parts = [
            part.model_copy(update={"measure": fill(part.measure, named), "label": fill(part.label, named)})
            for part in table.parts
        ]
        yield table.model_copy(update={**texts, "parts": parts})


def _claim(label: str, table: ClaimTable, default_origin: Origin) -> Claim:
    """One claim."""
    parts = [
        part
        for number, each in enumerate(table.parts, start=1)
        for part in _parts(f"{label}: claims[{table.id}].parts[{number}]", each)
    ]
    if not table.where and (table.origin or default_origin) == "paper":
        raise UserError(f"{label}: claims[{table.id}].where: expected its place in the paper, got none")
    readings = tuple(_reading(f"{label}: claims[{table.id}].readings", each, parts) for each in table.readings)
    return Claim(
        id=table.id,
        where=table.where,
        text=table.text,
        reason=table.reason,
        parts=tuple(parts),
        origin=table.origin or default_origin,
        omitted=table.omitted,
        readings=readings,
    )


def _reading(label: str, table: ReadingTable, parts: list[Part]) -> ClaimReading:
    """The parts under another reading."""
    for word in table.replace:
        if not any(re.search(_word(word), text) for part in parts for text in (part.measure, *part.cells)):
            raise UserError(f'{label}.replace: expected a word of the measures, got "{word}"')
    words = re.compile("|".join(_word(word) for word in table.replace))

    def other(text: str) -> str:
        return words.sub(lambda match: table.replace[match.group(0)], text)

    changed = [replace(p, measure=other(p.measure), cells=tuple(map(other, p.cells))) for p in parts]
    return ClaimReading(table.label, table.fit, tuple(changed), table.scenarios)


def _word(word: str) -> str:
    """A pattern for a whole word of a measure; `a.b` is a word too."""
    return rf"(?<!\w){re.escape(word)}(?!\w)"


def _parts(label: str, table: PartTable) -> Iterable[Part]:
    """The parts of one entry: one, or one for every combination of its `for` lists.

    With `share` the combinations are cells of one part: the target must hold in at least that share of them.
    """
    template, lists = table.measure, table.for_
    for name in fields(template + ("" if table.share else table.label)):
        if name not in lists:
            raise UserError(f'{label}.measure: expected "{name}" among the lists of "for", got "{template}"')
    if is_constant(template):
        raise UserError(
            f'{label}.measure: expected something that is measured or computed, got "{template}", a constant: what '
            "nothing can test is one of [[notes]]"
        )
    target, tolerance = _target(label, table)
    direction = None if table.direction is None else _parsed(label, "direction", table.direction)
    kind = table.kind or _default_kind(table, target)
    if (count := math.prod(map(len, lists.values()))) > MOST_CASES:
        raise UserError(f"{label}.for: expected at most {MOST_CASES} combinations, got {count}")
    combinations = [dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())]
    if table.share > 0.0:
        cells = tuple(fill(template, values) for values in combinations)
        share = Target(low=table.share, low_open=False)
        in_part = Target(low=table.in_part, low_open=False) if table.in_part else None
        yield Part(
            template,
            share,
            label=table.label,
            cells=cells,
            cell_target=target,
            direction=in_part,
            kind="number" if in_part else kind,
            of_seeds=table.of_seeds,
        )
        return
    for values in combinations:
        yield Part(
            fill(template, values),
            target,
            table.published,
            table.expected,
            tolerance,
            fill(table.label, values),
            kind=kind,
            direction=direction,
            share_of_seeds=table.share_of_seeds,
        )


def _default_kind(table: PartTable, target: Target) -> PartKind:
    """The kind of a part whose file names none: an inequality with one side is a direction."""
    one_side = math.isinf(target.low) or math.isinf(target.high)
    return "direction" if table.holds is not None and one_side else "number"


def _target(label: str, table: PartTable) -> tuple[Target, Tolerance | None]:
    """The target of a part; its tolerance if it has a value."""
    value = table.expected if table.published is None else table.published
    if value is not None:
        tolerance = _tolerance(table)
        return tolerance.around(value), tolerance
    return _parsed(label, "holds", table.holds or ""), None


def _parsed(label: str, field: str, text: str) -> Target:
    """An inequality of a part."""
    try:
        return parse_target(text)
    except UserError as error:
        raise UserError(f"{label}.{field}: {error}") from None


def _tolerance(table: ToleranceFields) -> Tolerance:
    return Tolerance(table.relative, table.absolute, table.reason)


def _rows(label: str, table: PublishedTable, published: Mapping[tuple[str, str, str], float]) -> list[Claim]:
    """A claim for each row of a published table."""
    rows: dict[tuple[str, str], list[Part]] = {}
    for (scenario, queue, measure), value in published.items():
        if measure not in table.measures or (table.scenarios and scenario not in table.scenarios):
            continue
        tolerance = _rule(f"{label}: tables[{table.id}]", table.tolerances, scenario, measure)
        printed, expected = (value, None) if table.origin == "paper" else (None, value)
        target = tolerance.around(value)
        part = Part(f"{scenario}.{queue}.{measure}", target, printed, expected, tolerance, measure)
        rows.setdefault((scenario, queue), []).append(part)
    return [
        Claim(
            id=f"{table.id}-{scenario}-{queue}",
            where=table.where,
            text=f"{table.title}: row {scenario}, {queue}",
            reason="; ".join(dict.fromkeys(p.tolerance.reason for p in parts if p.tolerance and p.tolerance.reason)),
            parts=tuple(parts),
            table=table.id,
            origin=table.origin,
        )
        for (scenario, queue), parts in rows.items()
    ]


def _rule(label: str, rules: list[ToleranceTable], scenario: str, measure: str) -> Tolerance:
    """The tolerance of a column in a scenario: the last match."""
    fitting = [rule for rule in rules if rule.measure == measure and (not rule.scenarios or scenario in rule.scenarios)]
    if not fitting:
        raise UserError(f"{label}.tolerances: expected one for {measure} in {scenario}, got none")
    return _tolerance(fitting[-1])
