"""Claims as data: what a paper says, as measures with targets."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sojourn.errors import UserError
from sojourn.papers.expression import fields, fill
from sojourn.papers.fields import Fields
from sojourn.papers.verdict import Target, Tolerance, parse_target


@dataclass(frozen=True)
class Part:
    """One thing that a claim says: a measure and the values it may take."""

    measure: str
    target: Target
    published: float | None = None
    tolerance: Tolerance | None = None
    label: str = ""
    cells: tuple[str, ...] = ()
    cell_target: Target = field(default_factory=Target)

    @property
    def taken(self) -> str:
        """The target in words."""
        if self.cells:
            return f"{self.cell_target} in {self.target} of {len(self.cells)} cells"
        if self.tolerance is not None and self.published is not None:
            return f"{self.published:g} {self.tolerance}"
        return str(self.target)


@dataclass(frozen=True)
class Claim:
    """What a paper says: where, in what words, and the parts that it can be taken apart into."""

    id: str
    where: str
    text: str
    reason: str
    parts: tuple[Part, ...]
    table: str = ""


@dataclass(frozen=True)
class ClaimTable:
    """A published table: every row of it is a claim with a part a column."""

    id: str
    title: str
    where: str
    experiment: str
    measures: tuple[str, ...] = ()
    note: str = ""


Published = Mapping[tuple[str, str, str], float]


def read_claims(f: Fields, published: Published) -> tuple[list[Claim], list[ClaimTable]]:
    """The claims of a file: those of its tables first."""
    claims: list[Claim] = []
    tables: list[ClaimTable] = []
    for each in f.list("tables"):
        table, rows = _table(each, published)
        tables.append(table)
        claims.extend(rows)
    claims.extend(_claim(each) for each in f.list("claims"))
    f.done()
    seen: set[str] = set()
    for claim in claims:
        if claim.id in seen:
            raise UserError(f'{f.label}: claim "{claim.id}" is there twice')
        seen.add(claim.id)
    return claims, tables


def _claim(f: Fields) -> Claim:
    """One claim, its templates spelled out."""
    texts = {key: f.text(key) for key in ("id", "where", "text", "reason")}
    parts = [part for each in f.list("parts") for part in _parts(each)]
    f.done()
    if not parts:
        raise UserError(f"{f.label}: parts: none given; taken is one or more")
    return Claim(**texts, parts=tuple(parts))


def _parts(f: Fields) -> Iterable[Part]:
    """The parts that one entry stands for: one, or one for every combination of its `for` lists.

    With `share`, the combinations are cells of one part: in at least that share of them must the target hold.
    """
    template, label = f.text("measure"), f.text("label", "")
    lists = f.table("for")
    missing = [name for name in fields(template + ("" if f.has("share") else label)) if name not in lists]
    if missing:
        raise f.error("measure", template, f'"{missing[0]}" among the lists of "for"')
    target, published, tolerance = _target(f)
    share = f.number("share", 0.0)
    f.done()
    combinations = itertools.product(*[_texts(f, name, items) for name, items in lists.items()])
    chosen = [dict(zip(lists, values, strict=True)) for values in combinations]
    if share > 0.0:
        cells = tuple(fill(template, names) for names in chosen)
        yield Part(template, Target(low=share, low_open=False), None, None, label, cells, target)
        return
    for names in chosen:
        yield Part(fill(template, names), target, published, tolerance, fill(label, names))


def _texts(f: Fields, name: str, items: Any) -> list[str]:
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise f.error(f"for.{name}", items, "a list of texts")
    return list(items)


def _target(f: Fields) -> tuple[Target, float | None, Tolerance | None]:
    """A target: `holds`, or `published` with `relative` or `absolute`."""
    if f.has("holds") == f.has("published"):
        raise UserError(f"{f.label}: taken is holds, or published with relative or absolute")
    if f.has("holds"):
        return parse_target(f.text("holds")), None, None
    published = f.number("published")
    tolerance = _tolerance(f)
    return tolerance.around(published), published, tolerance


def _tolerance(f: Fields) -> Tolerance:
    tolerance = Tolerance(f.number("relative", 0.0), f.number("absolute", 0.0), f.text("reason", ""))
    if tolerance.relative < 0 or tolerance.absolute < 0:
        raise UserError(f"{f.label}: tolerance below zero")
    return tolerance


def _table(f: Fields, published: Published) -> tuple[ClaimTable, list[Claim]]:
    """A published table and a claim for each of its rows."""
    texts = {key: f.text(key) for key in ("id", "title", "where", "experiment")}
    table = ClaimTable(**texts, measures=tuple(f.texts("measures")), note=f.text("note", ""))
    rules = [_rule(each) for each in f.list("tolerances")]
    only = f.texts("scenarios", [])
    f.done()
    rows: dict[tuple[str, str], list[Part]] = {}
    reasons: dict[tuple[str, str], list[str]] = {}
    for (scenario, queue, measure), value in published.items():
        if measure not in table.measures or (only and scenario not in only):
            continue
        fitting = [t for name, where, t in rules if name == measure and (not where or scenario in where)]
        if not fitting:
            raise UserError(f"{f.label}: tolerances: none for {measure} in {scenario}")
        tolerance = fitting[-1]
        part = Part(f"{scenario}.{queue}.{measure}", tolerance.around(value), value, tolerance, measure)
        rows.setdefault((scenario, queue), []).append(part)
        reasons.setdefault((scenario, queue), []).append(tolerance.reason)
    claims = [
        Claim(
            f"{table.id}-{scenario}-{queue}", table.where, f"{table.title}: row {scenario}, {queue}",
            "; ".join(filter(None, dict.fromkeys(reasons[scenario, queue]))), tuple(parts), table.id,
        )
        for (scenario, queue), parts in rows.items()
    ]  # fmt: skip
    return table, claims


def _rule(f: Fields) -> tuple[str, list[str], Tolerance]:
    """Which tolerance a column has, and in which scenarios; of several that fit, the last counts."""
    rule = (f.text("measure"), f.texts("scenarios", []), _tolerance(f))
    f.done()
    return rule
