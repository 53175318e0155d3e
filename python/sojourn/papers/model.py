"""A paper's folder, read and checked: `paper.toml`, scenario files, `expected/`, `claims.toml`, `deviations.toml`."""

from __future__ import annotations

import csv
import itertools
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn.congestion import flows_for, packets_of
from sojourn.errors import UserError
from sojourn.papers.claims import Claim, ClaimTable, read_claims
from sojourn.papers.designs import Design, Fluid, read_designs, read_fluids
from sojourn.papers.expression import evaluate, fill
from sojourn.papers.fields import Fields
from sojourn.papers.reading import TAKES, Reading
from sojourn.record import Record
from sojourn.scenario import Scenario, load, read_text


@dataclass(frozen=True)
class PaperMeasure:
    """A number of a record under the paper's name for it."""

    id: str
    label: str
    path: str
    unit: str = ""
    scale: float = 1.0
    decimals: int = 1
    reading: Reading | None = None
    share_of: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What it is called on an axis or above a column: its label with its unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    def of(self, record: Record) -> float:
        """The number in a record, NaN where it has none."""
        if self.reading is not None:
            return self.reading.of(record, self.scale)
        if self.share_of:
            parts = [float(record.value(path) or 0.0) for path in self.share_of]
            return parts[0] / sum(parts) * self.scale if sum(parts) else float("nan")
        values = [record.value(each.strip()) for each in self.path.split(" + ")]
        return float("nan") if None in values else sum(float(value) for value in values) * self.scale


@dataclass(frozen=True)
class PaperScenario:
    """One of the paper's scenarios: a file, what differs from it, what it lays over every queue, its own measures."""

    id: str
    label: str
    title: str
    file: Path
    queue: dict[str, Any]
    measures: dict[str, PaperMeasure]
    set: dict[str, Any] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    queue_at: tuple[str, ...] = ()


@dataclass(frozen=True)
class Curve:
    """Queues that differ in one setting of their strength: the points of a trade-off."""

    id: str
    label: str
    queues: list[str]


@dataclass(frozen=True)
class Choice:
    """A queue or a setting of the paper under a short name."""

    id: str
    label: str
    title: str
    table: dict[str, Any]


@dataclass(frozen=True)
class Experiment:
    """A grid of runs: scenarios by queues by settings."""

    id: str
    title: str
    scenarios: list[str]
    queues: list[str]
    settings: list[str]
    measures: list[str]
    quick_set: dict[str, Any]

    def cases(self) -> list[Case]:
        """The cases of the grid; `""` is the scenario as it is."""
        return [Case(s, q, t) for s in self.scenarios for q in self.queues for t in self.settings]


@dataclass(frozen=True, order=True)
class Case:
    """One scenario under one queue, with a setting changed or not."""

    scenario: str
    queue: str
    setting: str = ""

    def __str__(self) -> str:
        return ".".join(filter(None, (self.scenario, self.queue, self.setting)))


@dataclass(frozen=True)
class Deviation:
    """Something read differently from the paper, or that the paper leaves open, and why."""

    id: str
    what: str
    paper: str
    here: str
    why: str
    tried: list[dict[str, str]] = field(default_factory=list)


Published = dict[tuple[str, str, str], float]


@dataclass(frozen=True)
class Paper:
    """Everything in a paper's folder."""

    root: Path
    id: str
    aliases: list[str]
    title: str
    authors: list[str]
    venue: str
    year: int
    summary: str
    replications: int
    quick: int
    queue_at: str
    measures: dict[str, PaperMeasure]
    scenarios: dict[str, PaperScenario]
    queues: dict[str, Choice]
    settings: dict[str, Choice]
    curves: dict[str, Curve]
    experiments: dict[str, Experiment]
    figures: list[dict[str, Any]]
    published: Published
    units: dict[tuple[str, str, str], str]
    claims: list[Claim]
    tables: list[ClaimTable]
    deviations: list[Deviation]
    designs: dict[str, Design] = field(default_factory=dict)
    fluids: dict[str, Fluid] = field(default_factory=dict)

    @property
    def citation(self) -> str:
        """Authors, title, venue and year in one line."""
        return f"{', '.join(self.authors)}: {self.title}. {self.venue}, {self.year}"

    def measure(self, scenario: str, name: str) -> PaperMeasure:
        """A measure as this scenario takes it."""
        found = self.scenarios[scenario].measures.get(name) or self.measures.get(name)
        if found is None:
            raise UserError(f'{self.root}: no measure "{name}"; there are {", ".join(self.measures)}')
        return found

    def queue_table(self, queue: str, scenario: str | None = None) -> dict[str, Any]:
        """A queue's parameters, with what a scenario lays over them."""
        return self.queues[queue].table | (self.scenarios[scenario].queue if scenario else {})

    def scenario(self, case: Case, over: Mapping[str, Any] | None = None) -> Scenario:
        """The scenario of a case, with these fields changed at last."""
        chosen = self.scenarios[case.scenario]
        scenario = load(chosen.file).copy()
        scenario.set_all(chosen.set)
        for path in chosen.queue_at or (self.queue_at,):
            scenario.set(path, self.queue_table(case.queue, case.scenario))
        if case.setting:
            scenario.set_all(self.settings[case.setting].table)
        scenario.set_all(dict(over or {}))
        scenario.set("name", f"{self.id}/{case}")
        scenario.label = f"{self.scenarios[case.scenario].file.name} as {case}"
        return scenario


def _toml(path: Path) -> Fields:
    """A TOML file of the folder."""
    try:
        return Fields(tomllib.loads(read_text(path)), str(path))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: not TOML: {error}") from None


def _measure(name: str, f: Fields) -> PaperMeasure:
    ways = [key for key in ("path", "series", "share_of") if f.has(key)]
    if len(ways) != 1:
        raise f.error("path", ways, "one of path, series and share_of")
    reading = read_reading(f) if f.has("series") else None
    measure = PaperMeasure(
        name, f.text("label", name), f.text("path", ""), f.text("unit", ""), scale=f.number("scale", 1.0),
        decimals=f.integer("decimals", 1), reading=reading, share_of=tuple(f.texts("share_of", [])),
    )  # fmt: skip
    f.done()
    return measure


def read_reading(f: Fields) -> Reading:
    """The reading that a measure asks for."""
    take, between = f.text("take"), f.numbers("between", [])
    if take not in TAKES:
        raise f.error("take", take, f"one of {', '.join(TAKES)}")
    if between and (len(between) != 2 or between[0] >= between[1]):
        raise f.error("between", between, "two times, the earlier first")
    when = (between[0], between[1]) if between else None
    than, nth, span = f.number("than", 0.0), f.integer("nth", 1), f.number("span", 1.0)
    return Reading(f.text("series"), f.text("column"), take, when, than, nth, span, f.number("bin", 0.0))


def _measures(tables: Mapping[str, Fields]) -> dict[str, PaperMeasure]:
    return {name: _measure(name, f) for name, f in tables.items()}


def _scenario(root: Path, name: str, f: Fields) -> PaperScenario:
    label, title, file = f.text("label", name), f.text("title"), f.text("file")
    measures, queue, changes = _measures(f.tables("measures")), f.table("queue"), f.table("set")
    queue_at = tuple(f.texts("queue_at", []))
    scenario = PaperScenario(name, label, title, root / file, queue, measures, changes, queue_at=queue_at)
    f.done()
    return scenario


def _scenarios(root: Path, tables: Mapping[str, Fields]) -> dict[str, PaperScenario]:
    return {name: _scenario(root, name, f) for name, f in tables.items()}


def _family(root: Path, f: Fields) -> list[PaperScenario]:
    """The scenarios that one file gives over every combination of values; the last of them varies fastest.

    `{value}` in texts stands for a value. With `congestion` the queue holds what the path does, and groups of flows get
    their counts from levels of congestion (RFC 7928 section 8.2), each an expression over light, medium and heavy.
    """
    ident, label, title, file = f.text("id"), f.text("label"), f.text("title"), f.text("file")
    lists = {key: Fields({key: item}, f.label).texts(key) for key, item in f.table("over").items()}
    changes, load = f.table("set"), f.table("congestion")
    queue, measures = f.table("queue"), _measures(f.tables("measures"))
    f.done()
    found = []
    for combination in itertools.product(*lists.values()):
        values = dict(zip(lists, combination, strict=True))
        table = {path: fill(item, values) if isinstance(item, str) else item for path, item in changes.items()}
        held = _congest(Fields(load, f"{f.label}: congestion"), values, table) if load else 0
        limit = {"limit": f"{held} packets"} if load else {}
        texts = (fill(ident, values), fill(label, values), fill(title, values))
        found.append(PaperScenario(*texts, root / file, limit | queue, measures, table, values))
    return found


def _congest(f: Fields, values: Mapping[str, str], table: dict[str, Any]) -> int:
    """Sets the counts of groups for a load; gives the packets that the path holds."""
    rate, rtt, packet = (float(fill(f.text(key), values)) for key in ("rate", "rtt", "packet"))

    def level(name: tuple[str, ...]) -> float:
        return float(flows_for(".".join(name), rate, rtt, packet))

    for group, count in f.table("counts").items():
        if not isinstance(count, str):
            raise f.error(f"counts.{group}", count, "an expression over light, medium and heavy")
        table[f"flows.{group}.count"] = max(1, round(float(evaluate(fill(count, values), level))))
    f.done()
    return packets_of(rate, rtt, packet)


def _choice(name: str, f: Fields, key: str) -> Choice:
    choice = Choice(name, f.text("label", name), f.text("title", ""), f.table(key))
    f.done()
    return choice


def _choices(tables: Mapping[str, Fields], key: str) -> dict[str, Choice]:
    return {name: _choice(name, f, key) for name, f in tables.items()}


def _curves(tables: Mapping[str, Fields], queues: dict[str, Choice]) -> dict[str, Curve]:
    """The curves, a queue for every point: `vary` lists what a parameter takes, several of them side by side."""
    curves = {}
    for name, f in tables.items():
        label, title, table, vary = f.text("label", name), f.text("title", ""), f.table("queue"), f.table("vary")
        if not all(isinstance(values, list) for values in vary.values()) or len(set(map(len, vary.values()))) != 1:
            raise f.error("vary", vary, "lists of equal length, one a parameter")
        f.done()
        points = []
        for values in zip(*vary.values(), strict=True):
            point = f"{name}_{values[0]:g}".replace(".", "p")
            shown = "/".join(f"{value:g}" for value in values)
            queues[point] = Choice(point, f"{label} {shown}", title, table | dict(zip(vary, values, strict=True)))
            points.append(point)
        curves[name] = Curve(name, label, points)
    return curves


def _experiments(
    paper: Fields,
    known: Mapping[str, Mapping[str, Any]],
    families: Mapping[str, list[str]],
    curves: Mapping[str, Curve],
) -> dict[str, Experiment]:
    """The experiments, every name in them checked."""
    found = {}
    for name, f in paper.tables("experiments").items():
        lists = {kind: f.texts(kind, []) for kind in known}
        lists["scenarios"] = [s for name in lists["scenarios"] for s in families.get(name, [name])]
        for kind, names in lists.items():
            for each in names:
                if each not in known[kind] and not (kind == "settings" and each == ""):
                    raise f.error(kind, each, f"one of {', '.join(known[kind])}")
        for curve in f.texts("curves", []):
            if curve not in curves:
                raise f.error("curves", curve, f"one of {', '.join(curves)}")
            lists["queues"] += curves[curve].queues
        found[name] = Experiment(
            name, f.text("title"), lists["scenarios"], lists["queues"], lists["settings"] or [""], lists["measures"],
            f.table("quick_set"),
        )  # fmt: skip
        f.done()
    return found


def read_published(path: Path) -> tuple[Published, dict[tuple[str, str, str], str]]:
    """Published values and their units, by scenario, queue and measure."""
    values: Published = {}
    units: dict[tuple[str, str, str], str] = {}
    for number, row in enumerate(csv.DictReader(read_text(path).splitlines()), start=2):
        try:
            key = (row["scenario"], row["queue"], row["measure"])
            values[key], units[key] = float(row["value"]), row["unit"]
        except (KeyError, ValueError, TypeError):
            raise UserError(f"{path}:{number}: taken is scenario,queue,measure,value,unit") from None
    return values, units


def _deviations(path: Path) -> list[Deviation]:
    if not path.exists():
        return []
    found = []
    for f in _toml(path).list("deviations"):
        tried = [{"reading": t.text("reading"), "effect": t.text("effect")} for t in f.list("tried")]
        texts = {key: f.text(key) for key in ("id", "what", "paper", "here", "why")}
        f.done()
        found.append(Deviation(**texts, tried=tried))
    return found


def load_paper(root: Path) -> Paper:
    """The paper in a folder."""
    f = _toml(root / "paper.toml")
    measures, scenarios = _measures(f.tables("measures")), _scenarios(root, f.tables("scenarios"))
    families = {name: _family(root, each) for name, each in f.tables("families").items()}
    scenarios |= {scenario.id: scenario for family in families.values() for scenario in family}
    queues, settings = _choices(f.tables("queues"), "queue"), _choices(f.tables("settings"), "set")
    known: dict[str, Mapping[str, Any]] = {
        "scenarios": scenarios, "queues": queues, "settings": settings, "measures": measures,
    }  # fmt: skip
    curves = _curves(f.tables("curves"), queues)
    experiments = _experiments(f, known, {name: [s.id for s in family] for name, family in families.items()}, curves)
    published: Published = {}
    units: dict[tuple[str, str, str], str] = {}
    for name in f.texts("published", []):
        values, their_units = read_published(root / name)
        published |= values
        units |= their_units
    claims, tables = read_claims(_toml(root / "claims.toml"), published)
    paper = Paper(
        root, f.text("id"), f.texts("aliases", []), f.text("title"), f.texts("authors"), f.text("venue"),
        f.integer("year"), f.text("summary", ""), f.integer("replications", 5), f.integer("quick", 2),
        f.text("queue_at", "links.bottleneck.queue"), measures, scenarios, queues, settings, curves, experiments,
        [dict(each) for each in f.raw_list("figures")], published, units, claims, tables,
        _deviations(root / "deviations.toml"), read_designs(f.tables("designs")), read_fluids(f.tables("fluids")),
    )  # fmt: skip
    f.done()
    return paper


def folders() -> list[Path]:
    """Where papers are looked for, each once: $SOJOURN_PAPERS, `papers/` here and above, and above the package."""
    named, here = os.environ.get("SOJOURN_PAPERS"), Path.cwd()
    above = [base / "papers" for base in (here, *here.parents, *Path(__file__).resolve().parents)]
    every = [Path(named), *above] if named else above
    return list(dict.fromkeys(folder.resolve() for folder in every))


def find_papers() -> list[Paper]:
    """Every paper that can be reproduced, each once."""
    found: dict[str, Paper] = {}
    for folder in folders():
        for file in sorted(folder.glob("*/paper.toml")):
            paper = load_paper(file.parent)
            found.setdefault(paper.id, paper)
    return list(found.values())


def find_paper(name: str) -> Paper:
    """A paper by its name, an alias, or its folder."""
    if (Path(name) / "paper.toml").exists():
        return load_paper(Path(name))
    papers = find_papers()
    for paper in papers:
        if name in (paper.id, *paper.aliases):
            return paper
    there = ", ".join(paper.id for paper in papers) or "none here"
    raise UserError(f'paper "{name}": taken are {there}, or a folder with a paper.toml')
