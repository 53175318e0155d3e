"""A paper's folder, read and checked: `paper.toml`, scenario files, `expected/`, `claims.toml`, `deviations.toml`."""

from __future__ import annotations

import csv
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn.errors import UserError
from sojourn.papers.claims import Claim, ClaimTable, read_claims
from sojourn.papers.fields import Fields
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


@dataclass(frozen=True)
class PaperScenario:
    """One of the paper's scenarios: a file, what it lays over every queue, measures that differ in it."""

    id: str
    label: str
    title: str
    file: Path
    queue: dict[str, Any]
    measures: dict[str, PaperMeasure]
    changes: dict[str, Any] = field(default_factory=dict)
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

    def scenario(self, case: Case) -> Scenario:
        """The scenario of a case."""
        chosen = self.scenarios[case.scenario]
        scenario = load(chosen.file).copy()
        scenario.set_all(chosen.changes)
        for path in chosen.queue_at or (self.queue_at,):
            scenario.set(path, self.queue_table(case.queue, case.scenario))
        if case.setting:
            scenario.set_all(self.settings[case.setting].table)
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
    texts = (f.text("label", name), f.text("path"), f.text("unit", ""))
    measure = PaperMeasure(name, *texts, scale=f.number("scale", 1.0), decimals=f.integer("decimals", 1))
    f.done()
    return measure


def _measures(tables: Mapping[str, Fields]) -> dict[str, PaperMeasure]:
    return {name: _measure(name, f) for name, f in tables.items()}


def _scenario(root: Path, name: str, f: Fields) -> PaperScenario:
    label, title, file = f.text("label", name), f.text("title"), f.text("file")
    measures, queue, changes = _measures(f.tables("measures")), f.table("queue"), f.table("set")
    queue_at = tuple(f.texts("queue_at", []))
    scenario = PaperScenario(name, label, title, root / file, queue, measures, changes, queue_at)
    f.done()
    return scenario


def _scenarios(root: Path, tables: Mapping[str, Fields]) -> dict[str, PaperScenario]:
    return {name: _scenario(root, name, f) for name, f in tables.items()}


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
    paper: Fields, known: Mapping[str, Mapping[str, Any]], curves: Mapping[str, Curve]
) -> dict[str, Experiment]:
    """The experiments, every name in them checked."""
    found = {}
    for name, f in paper.tables("experiments").items():
        lists = {kind: f.texts(kind, []) for kind in known}
        for kind, names in lists.items():
            for each in names:
                if each not in known[kind] and not (kind == "settings" and each == ""):
                    raise f.error(kind, each, f"one of {', '.join(known[kind])}")
        for curve in f.texts("curves", []):
            if curve not in curves:
                raise f.error("curves", curve, f"one of {', '.join(curves)}")
            lists["queues"] += curves[curve].queues
        found[name] = Experiment(
            name, f.text("title"), lists["scenarios"], lists["queues"], lists["settings"] or [""], lists["measures"]
        )
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
    queues, settings = _choices(f.tables("queues"), "queue"), _choices(f.tables("settings"), "set")
    known: dict[str, Mapping[str, Any]] = {
        "scenarios": scenarios, "queues": queues, "settings": settings, "measures": measures,
    }  # fmt: skip
    curves = _curves(f.tables("curves"), queues)
    experiments = _experiments(f, known, curves)
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
        _deviations(root / "deviations.toml"),
    )  # fmt: skip
    f.done()
    return paper


def folders() -> Iterator[Path]:
    """Where papers are looked for: $SOJOURN_PAPERS, `papers/` here and above, `papers/` above the package."""
    named = os.environ.get("SOJOURN_PAPERS")
    if named:
        yield Path(named)
    here = Path.cwd()
    for base in (here, *here.parents, *Path(__file__).resolve().parents):
        yield base / "papers"


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
