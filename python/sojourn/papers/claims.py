"""Claims with their templates spelled out: what is measured, and the values that it may take."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sojourn.display import number
from sojourn.errors import UserError
from sojourn.papers.expression import fields, fill
from sojourn.papers.families import MOST_CASES
from sojourn.papers.schema.claims import (
    ClaimsFile,
    ClaimTable,
    Origin,
    PartTable,
    PublishedTable,
    ToleranceFields,
    ToleranceTable,
)  # fmt: skip
from sojourn.papers.verdict import Target, Tolerance, parse_target

PublishedValues = dict[tuple[str, str, str], float]
"""Published values by scenario, queue and measure."""


@dataclass(frozen=True)
class Part:
    """One thing that a claim says: a measure and the values that it may take."""

    measure: str
    target: Target
    published: float | None = None
    """The value printed in the paper."""
    expected: float | None = None
    """A value that the paper does not print."""
    tolerance: Tolerance | None = None
    label: str = ""
    cells: tuple[str, ...] = ()
    """The measures of a part about many cases; then `target` is the share of them that must meet `cell_target`."""
    cell_target: Target = field(default_factory=Target)

    @property
    def target_text(self) -> str:
        """The target in words."""
        if self.cells:
            return f"{self.cell_target} in {self.target} of {len(self.cells)} cells"
        value = self.expected if self.published is None else self.published
        if self.tolerance is not None and value is not None:
            return f"{number(value)} {self.tolerance}"
        return str(self.target)


@dataclass(frozen=True)
class Claim:
    """What a paper says, where it says so, and the parts that can be checked one by one."""

    id: str
    where: str
    text: str
    reason: str
    parts: tuple[Part, ...]
    table: str = ""
    """The table whose row it is, if any."""
    origin: Origin = "paper"
    """Who says it."""


def expand_claims(
    label: str, file: ClaimsFile, published: PublishedValues, reference: PublishedValues
) -> tuple[list[Claim], list[PublishedTable]]:
    """The claims of a file, those of its tables first. `label` begins the message of an error."""
    claims = [
        row for table in file.tables for row in _rows(label, table, published if table.origin == "paper" else reference)
    ]
    claims += [_claim(label, table) for table in file.claims]
    seen: set[str] = set()
    for claim in claims:
        if claim.id in seen:
            raise UserError(f'{label}: claims[{claim.id}].id: expected a name used once, got "{claim.id}" again')
        seen.add(claim.id)
    return claims, list(file.tables)


def _claim(label: str, table: ClaimTable) -> Claim:
    """One claim."""
    parts = [
        part
        for number, each in enumerate(table.parts, start=1)
        for part in _parts(f"{label}: claims[{table.id}].parts[{number}]", each)
    ]
    return Claim(table.id, table.where, table.text, table.reason, tuple(parts), origin=table.origin)


def _parts(label: str, table: PartTable) -> Iterable[Part]:
    """The parts that one entry stands for: one, or one for every combination of its `for` lists.

    With `share` the combinations are cells of one part: the target must hold in at least that share of them.
    """
    template, lists = table.measure, table.for_
    for name in fields(template + ("" if table.share else table.label)):
        if name not in lists:
            raise UserError(f'{label}.measure: expected "{name}" among the lists of "for", got "{template}"')
    target, tolerance = _target(label, table)
    if (count := math.prod(map(len, lists.values()))) > MOST_CASES:
        raise UserError(f"{label}.for: expected at most {MOST_CASES} combinations, got {count}")
    combinations = [dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())]
    if table.share > 0.0:
        cells = tuple(fill(template, values) for values in combinations)
        share = Target(low=table.share, low_open=False)
        yield Part(template, share, label=table.label, cells=cells, cell_target=target)
        return
    for values in combinations:
        label_here = fill(table.label, values)
        yield Part(fill(template, values), target, table.published, table.expected, tolerance, label_here)


def _target(label: str, table: PartTable) -> tuple[Target, Tolerance | None]:
    """The target of a part; its tolerance where it has a value."""
    value = table.expected if table.published is None else table.published
    if value is not None:
        tolerance = _tolerance(table)
        return tolerance.around(value), tolerance
    try:
        return parse_target(table.holds or ""), None
    except UserError as error:
        raise UserError(f"{label}.{error}") from None


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
            f"{table.id}-{scenario}-{queue}", table.where, f"{table.title}: row {scenario}, {queue}",
            "; ".join(dict.fromkeys(p.tolerance.reason for p in parts if p.tolerance and p.tolerance.reason)),
            tuple(parts), table.id, table.origin,
        )
        for (scenario, queue), parts in rows.items()
    ]  # fmt: skip


def _rule(label: str, rules: list[ToleranceTable], scenario: str, measure: str) -> Tolerance:
    """The tolerance of a column in a scenario: of several that fit, the last."""
    fitting = [rule for rule in rules if rule.measure == measure and (not rule.scenarios or scenario in rule.scenarios)]
    if not fitting:
        raise UserError(f"{label}.tolerances: expected one for {measure} in {scenario}, got none")
    return _tolerance(fitting[-1])
