"""The measures of a record, as the engine defines them: path, unit, label and summary.

`scripts/measurements.py` generates the tables of docs/measurements.md from this module.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Protocol

from sojourn import _sojourn
from sojourn.core import field_paths
from sojourn.core.errors import UserError
from sojourn.core.field_labels import WITHIN_A_LINK, with_unit
from sojourn.core.ranges import Range

# The unit that tables and plots show instead, and the factor to it.
SHOWN = {"0..1": ("%", 100.0), "bit/s": ("Mbit/s", 1e-6)}

# The measures of a link and of a group that tables show by default.
OF_A_LINK = ("utilization", "queue.mean", "queue.sd", "wait_ms.mean", "wait_ms.p95", "dropped_total", "loss_ratio")
OF_A_GROUP = ("flows", "throughput_bps", "goodput_bps", "jain", "rtt_ms.mean")
# The latency of a group under the load of the scenario.
OF_LATENCY = ("rtt_ms.min", "rtt_ms.p50", "rtt_ms.p95", "rtt_ms.p99", "rtt_ms.jitter", "responsiveness_rpm")
# The compared measures of each class, tin or queue of a dual queue.
OF_A_QUEUE = ("wait_ms.mean", "wait_ms.p95", "wait_ms.p99")
MANY_GROUPS = 6  # with more groups, only the total is compared


class HasPaths(Protocol):
    """The part of a record's interface that measures require."""

    def value(self, path: str, /) -> Any:
        """The value at a dotted path."""

    def get(self, key: str, /) -> Any:
        """A field."""


@dataclass(frozen=True)
class Measure:
    """One number of a record: label, path, displayed unit, and the factor to that unit.

    Parameters
    ----------
    label : str
        The label in tables and plots.
    path : str
        The path into a record, such as "links.bottleneck.utilization".
    unit : str, default ""
        The displayed unit.
    scale : float, default 1.0
        The factor from the record's unit to the displayed one.
    better : str, default ""
        "higher", "lower" or "" (no preference).
    optional : bool, default False
        Whether a record may lack it, such as a measure of a queue that only some disciplines have. Its value is then
        NaN.

    Examples
    --------
    >>> record = sj.run("examples/dumbbell.toml")
    >>> round(sj.Measure("utilization", "links.bottleneck.utilization", "%", 100.0).of(record))
    100
    """

    label: str
    path: str
    unit: str = ""
    scale: float = 1.0
    better: str = ""
    optional: bool = False

    @property
    def title(self) -> str:
        """Label and unit, as on an axis."""
        return with_unit(self.label, self.unit)

    @property
    def range(self) -> Range:
        """The range of its values, in its unit, as the record defines it."""
        return range_of(self.path) * self.scale

    @property
    def error(self) -> float:
        """Its relative error: 0 except for quantiles of a histogram."""
        found = definition(self.path)
        return found.error if found else 0.0

    def of(self, record: HasPaths) -> float:
        """Its value in a record.

        Parameters
        ----------
        record : Record
            The record of a run.

        Returns
        -------
        float
            The value in its unit; NaN for null or a missing optional measure.
        """
        try:
            return self._shown(record.value(self.path))
        except UserError:
            if not self.optional:
                raise
            return math.nan

    def all_of(self, record: HasPaths) -> list[float]:
        """Its values in a record. Its path contains a `*`.

        Parameters
        ----------
        record : Record
            The record of a run.

        Returns
        -------
        list of float
            The values in its unit.
        """
        return [self._shown(value) for value in record.value(self.path)]

    def _shown(self, value: float | None) -> float:
        return float("nan") if value is None else float(value) * self.scale


@dataclass(frozen=True)
class Definition:
    """A field of a record: path within its part, unit, label, better direction, summary.

    `better` is "higher", "lower" or "". `number` is True for a number, `minimum` and `maximum` are its range, and
    `error` is its relative error.
    """

    path: str
    unit: str
    label: str
    summary: str
    better: str
    number: bool
    minimum: float | None
    maximum: float | None
    error: float

    @property
    def range(self) -> Range:
        """The range of its values, in its unit."""
        return _range(self.minimum, self.maximum)

    @property
    def shown_unit(self) -> str:
        """Its unit in lists. A share without a unit shows its range instead."""
        return self.unit or ("" if self.maximum is None else f"{self.minimum:g}..{self.maximum:g}")


@dataclass(frozen=True)
class Part:
    """A part of a record: its summary and fields.

    Its name is `links`, `total` and so on, or `run` for the run's own fields. `is_list` is True for a list of named
    entries.
    """

    name: str
    summary: str
    fields: dict[str, Definition]
    is_list: bool


@dataclass(frozen=True)
class Column:
    """A column of a series: name, unit, summary, minimum and maximum."""

    name: str
    unit: str
    summary: str
    minimum: float | None = None
    maximum: float | None = None

    @property
    def range(self) -> Range:
        """The range of its values."""
        return _range(self.minimum, self.maximum)

    def __str__(self) -> str:
        return f"{self.name} ({self.unit})" if self.unit else self.name


@dataclass(frozen=True)
class SeriesKind:
    """A kind of series: `wait` in `wait/bottleneck`.

    `of` is the kind of the second part (a link, a flow or a group). `row` says what a row is and which time `t` is.
    `columns` are the columns after `t`, the time in seconds, by name.
    """

    kind: str
    of: str
    row: str
    columns: dict[str, Column]


@cache
def _engine() -> dict[str, Any]:
    """The engine's definitions."""
    found: dict[str, Any] = json.loads(_sojourn.measures())
    return found


@cache
def parts() -> dict[str, Part]:
    """The parts of a record by name, in the record's order."""
    made = {}
    for each in _engine()["parts"]:
        name = each["part"].removesuffix("[]") or "run"
        fields = {f["path"]: Definition(**f) for f in each["fields"]}
        made[name] = Part(name, each["summary"], fields, each["part"].endswith("[]"))
    return made


@cache
def series_kinds() -> tuple[SeriesKind, ...]:
    """Every kind of series."""
    return tuple(
        SeriesKind(each["kind"], each["of"], each["row"], {c["name"]: Column(**c) for c in each["columns"]})
        for each in _engine()["series"]
    )


def column(series: str, name: str) -> Column:
    """A column of a series, such as `column("wait/bottleneck", "seconds")`, whose unit is s.

    Raises `KeyError` if no such series has this column.
    """
    kind = series.partition("/")[0]
    found = [each.columns[name] for each in series_kinds() if each.kind == kind and name in each.columns]
    if not found:
        raise KeyError(f"{series}: {name}")
    return found[0]


def measure(part: str, path: str, of: str = "") -> Measure:
    """The measure at `path` of a part, such as `measure("links", "queue.mean", "bottleneck")`.

    `of` names the link, flow or group. Raises `KeyError` if the record has no such field.
    """
    found = parts()[part].fields[path]
    unit, scale = SHOWN.get(found.unit, (found.unit, 1.0))
    at = f"{part}.{field_paths.element(of)}" if of else part
    return Measure(found.label, f"{at}.{path}", unit, scale, found.better)


def marks(links: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The field of marks for tables; empty if none of these links of a record marked packets."""
    return ("marked",) if any(link.get("marked") for link in links) else ()


def link_fields(link: str, records: Iterable[HasPaths]) -> tuple[str, ...]:
    """The fields of a link that are compared by default."""
    return (*OF_A_LINK, *marks(_in_each(records, link)))


def _in_each(records: Iterable[HasPaths], link: str) -> Iterator[Mapping[str, Any]]:
    """A link as it is in each of these records."""
    return (each for record in records for each in record.get("links") or [] if each["name"] == link)


def link_measures(link: str, records: Iterable[HasPaths]) -> list[Measure]:
    """The measures of a link that are compared by default in these records."""
    return [measure("links", path, link) for path in link_fields(link, records)]


def inside(link: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """The classes of a link, each followed by its queues; or the queues of the link.

    Each has its path from the link, such as `("classes", "web", "queues", "classic")`.
    """
    for field in WITHIN_A_LINK:
        for each in link.get(field, ()):
            yield (field, each["name"]), each
            yield from (((field, each["name"], *steps), inner) for steps, inner in inside(each))


def within_a_link(link: str, shown: Iterable[str], steps: Sequence[str]) -> list[Measure]:
    """The fields `shown` of a link, or of one of its classes or queues, if it has them.

    For `steps` see `inside`.
    """
    known = [path for path in shown if f"{steps[0]}[].{path}" in parts()["links"].fields]
    at = ".".join(field_paths.element(step) for step in ("links", link, *steps))
    return [replace(measure("links", path, link), path=f"{at}.{path}", optional=True) for path in known]


def inner_measures(link: str, records: Iterable[HasPaths]) -> list[Measure]:
    """The default measures of the classes, tins or queues of a link, with their names as labels.

    Empty if only one of them had packets, because it equals the link.
    """
    within = (part for each in _in_each(records, link) for part in inside(each))
    busy = list(dict.fromkeys(steps for steps, part in within if part.get("arrived")))
    return [
        replace(each, label=f"{' '.join(steps[1::2])} {each.label}")
        for steps in (busy if len(busy) > 1 else [])
        for each in within_a_link(link, OF_A_QUEUE, steps)
    ]


def flow_measures(records: Sequence[HasPaths]) -> list[Measure]:
    """The measures of flows that are compared by default.

    They are goodput and fairness of all flows; goodput of groups if there are several; and mean round-trip time,
    responsiveness and completion times of each group, if one of the records has them. With many groups they are the
    first two only. Goodput of one of several groups has no better direction, because others lose what it gains.
    """
    total = [measure("total", path) for path in ("goodput_bps", "jain")]
    every = [group for record in records for group in record.get("groups") or []]
    groups = list(dict.fromkeys(group["name"] for group in every))
    timed = {group["name"] for group in every if group.get("rtt_ms")}
    complete = {group["name"] for group in every if group.get("completion_s")}
    found = [(name, replace(measure("groups", "goodput_bps", name), better="")) for name in groups if len(groups) > 1]
    fields = [(name, path) for path in ("rtt_ms.mean", "responsiveness_rpm") for name in groups if name in timed]
    fields += [(name, f"completion_s.{what}") for name in groups if name in complete for what in ("mean", "p99")]
    found += [(name, measure("groups", path, name)) for name, path in fields]
    own = [replace(each, label=f"{name} {each.label}") for name, each in found]
    return [*total, *(own if len(groups) <= MANY_GROUPS else [])]


def named(columns: Iterable[str]) -> dict[str, Measure]:
    """The measures by column. Equal labels name their place; unknown names are their own labels."""
    found = {column: _at(column) for column in columns}
    titles = Counter(each.title for each in found.values())
    return {
        column: replace(each, label=f"{place(column)} {each.label}") if titles[each.title] > 1 else each
        for column, each in found.items()
    }


def chosen(columns: Iterable[str], link: str = "") -> list[Measure]:
    """Measures by their paths in a record.

    A label names its link or group, unless that is `link` or all flows. Equal labels are made unique by that name or by
    the unit.

    ```python
    chosen(["links.bottleneck.wait_ms.p99", "groups.ftp.rtt_ms.p99"], "bottleneck")  # wait p99, ftp RTT p99
    ```
    """
    found = [(place(column), _at(column)) for column in dict.fromkeys(columns)]
    named = [(of, each if of in (link, "total") else replace(each, label=f"{of} {each.label}")) for of, each in found]
    return [_apart(each, of, [at for at, other in named if other.label == each.label]) for of, each in named]


def _apart(found: Measure, of: str, places: Sequence[str]) -> Measure:
    """A measure of the link or group `of`, with a label that is unique among these."""
    if len(places) == 1:
        return found
    apart = len(set(places)) == len(places)
    return replace(found, label=f"{of} {found.label}" if apart else f"{found.label} in {found.unit}")


def range_of(path: str) -> Range:
    """The range of a record's number at `path`; unbounded if unknown.

    >>> from sojourn.core.record_schema import range_of
    >>> range_of("total.jain")
    Range(low=0, high=1)
    """
    found = definition(path)
    return found.range if found else Range()


@cache
def definition(path: str) -> Definition | None:
    """The field of a record at a path; None for an invalid path."""
    try:
        first, *steps = field_paths.split(path)
    except UserError:
        return None
    part = parts().get(first)
    if part is None:
        part, steps = parts()["run"], [first, *steps]
    elif part.is_list:
        steps = steps[1:]
    return part.fields.get(_field(part, steps))


def _field(part: Part, steps: list[str]) -> str:
    """The name of the field of a part to which steps lead, such as `impairments[].met`."""
    field, left = "", iter(steps)
    for step in left:
        field = f"{field}.{step}" if field else step
        if field.endswith(f"[].{step}") and step in WITHIN_A_LINK:
            field = step  # queues of a class have the fields of queues of a link
        if any(name.startswith(f"{field}[].") for name in part.fields):
            field += "[]" if next(left, "") else ""
    return field


def _range(minimum: float | None, maximum: float | None) -> Range:
    return Range(-math.inf if minimum is None else minimum, math.inf if maximum is None else maximum)


def _at(column: str) -> Measure:
    """The measure at a path of a record. A name that is no path is its own label."""
    inside = []
    try:
        part, *steps = field_paths.split(column)
        of = "" if part == "total" else steps.pop(0)
        while part == "links" and steps[0] in WITHIN_A_LINK:
            inside.append(steps[1])
            del steps[:2]
        found = measure(part, ".".join(steps), of)
    except (UserError, KeyError, IndexError):
        return Measure(column, column)
    return replace(found, label=" ".join([*inside, found.label]), path=column, optional=bool(inside))


def place(column: str) -> str:
    """The link or group in a measure's path; `total` for all flows, "" for an invalid path."""
    part, *steps = field_paths.split(column)
    return part if part == "total" or not steps else steps[0]


def series_columns(kind: str) -> dict[str, Column]:
    """The columns of a kind of series, such as `queue`, by name; empty for an unknown kind."""
    return {name: each for found in series_kinds() if found.kind == kind for name, each in found.columns.items()}


def entries() -> list[dict[str, Any]]:
    """Every part with its fields, every kind of series with its columns, for `sojourn list`."""
    made = [
        {
            "name": part.name,
            "summary": part.summary,
            "heads": {"default": "unit"},
            "parameters": [
                {"name": f.path, "default": f.shown_unit, "summary": f.summary} for f in part.fields.values()
            ],
        }
        for part in parts().values()
    ]
    return made + [
        {
            "name": f"{kind.kind}/<{kind.of}>",
            "summary": f"Series; a row is {kind.row}",
            "columns": ("column", "unit", "what it is"),
            "parameters": [{"name": c.name, "default": c.unit, "summary": c.summary} for c in kind.columns.values()],
        }
        for kind in series_kinds()
    ]


def _row(*cells: str) -> str:
    """A row of a table in Markdown."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def tables() -> dict[str, str]:
    """The tables of docs/measurements.md in Markdown, by part of a record, and `series`."""
    made = {}
    for part in parts().values():
        rows = [_row(f"`{f.path}`", f.shown_unit, f.summary) for f in part.fields.values()]
        made[part.name] = "\n".join([_row("field", "unit", "what it is"), "|---|---|---|", *rows])
    rows = []
    for kind in series_kinds():
        name = f"`{kind.kind}/<{kind.of}>`"
        rows += [_row(name, kind.row, f"`{c.name}`", c.unit, c.summary) for c in kind.columns.values()]
    head = _row("series", "a row is", "column", "unit", "what it is")
    made["series"] = "\n".join([head, "|---|---|---|---|---|", *rows])
    return made


def with_tables(page: str) -> str:
    """The page with tables between `<!-- measures: PART -->` and `<!-- end -->` replaced."""
    made = tables()
    pattern = re.compile(r"(<!-- measures: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
    return pattern.sub(lambda found: f"{found[1]}\n{made[found[2]]}\n\n{found[3]}", page)
