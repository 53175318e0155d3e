"""A gate: conditions on the measures of a scenario, decided by intervals over seeds.

A condition compares a measure with a number, with a share of a reference, or with a baseline file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from sojourn import _sojourn
from sojourn.compare.baseline import Baseline, measures_in, read_baseline, widened
from sojourn.compare.cases import of_every, table_at
from sojourn.compare.comparison import estimated
from sojourn.compare.links import queued_link
from sojourn.core import field_paths, measure_paths, toml
from sojourn.core.errors import UserError, note
from sojourn.core.examples import located
from sojourn.core.measure_lookup import resolved
from sojourn.core.ranges import Range
from sojourn.core.record import Record
from sojourn.core.record_schema import Measure, chosen
from sojourn.core.scenario import Scenario
from sojourn.core.scenario_files import read_scenario, read_text
from sojourn.core.stats import Estimate, estimate, paired
from sojourn.core.text_format import listed
from sojourn.experiments.verdict import Verdict, judge, parse_target
from sojourn.runs.seeds import first_seed, seeds_of

CASE = "case"
"""The name of the tested case."""
KEYS = ("scenario", "seeds", "link", "undecided", "require", CASE, "references")
MOST_FIELDS = 3
"""The fields that a note on a baseline names."""
_LIMIT = re.compile(r"(?P<measure>.+?)\s*(?P<sign><=|>=|≤|≥|<|>)\s*(?P<value>[^<>=]+?)(?:\s+of\s+(?P<of>\S+))?")
_NOT_WORSE = re.compile(r"(?P<measure>.+?)\s+not worse than\s+(?P<of>\S+)(?:\s+by\s+(?P<margin>[\d.]+)\s*%)?")
_KINDS = {"s": ("time", 1.0), "ms": ("time", 1e3), "Mbit/s": ("rate", 1e-6), "bytes": ("size", 1.0)}
"""The kind of quantity of each unit, and its factor from seconds, bit/s or bytes."""


@dataclass(frozen=True)
class Condition:
    """A condition as the file has it."""

    text: str
    measure: Measure
    sign: str
    """`<`, `<=`, `>` or `>=`; empty for `not worse than`."""
    number: float
    """The limit in the measure's unit; with `of` the share of the reference."""
    of: str

    def signed(self) -> str:
        """The sign of the limit, also for `not worse than`."""
        return self.sign or (">=" if self.measure.better == "higher" else "<=")


@dataclass(frozen=True)
class Gate:
    """A gate file, checked."""

    file: Path
    cases: Mapping[str, Scenario]
    seeds: list[int]
    conditions: list[Condition]
    undecided_passes: bool
    """Whether undecided conditions pass."""
    baselines: Mapping[str, Baseline]

    @property
    def measures(self) -> list[Measure]:
        """The measures of all conditions, each once."""
        return list({each.measure.path: each.measure for each in self.conditions}.values())


@dataclass(frozen=True)
class Checked:
    """A condition with its verdict."""

    condition: Condition
    measured: Estimate
    reference: Estimate | None
    """The value of the reference; None for a limit in numbers."""
    apart: Estimate
    """The difference from the limit in the measure's unit."""
    verdict: str
    """`passed`, `failed` or `undecided`."""
    passed: bool
    worst: int
    """The position of the seed that is farthest on the wrong side."""

    @property
    def violation(self) -> float:
        """The mean distance from the limit, relative to the measured value.

        It is infinite without a value.
        """
        scale = max(abs(self.measured.mean), 1e-12)
        return abs(self.apart.mean) / scale if math.isfinite(self.apart.mean) else math.inf

    def line(self) -> str:
        """What was measured, and how far that is from the limit."""
        unit = f" {self.condition.measure.unit}".rstrip()
        if not math.isfinite(self.measured.mean):
            return f"{self.verdict}: {self.condition.text}: null in a run"
        of = "" if self.reference is None else f"{self.condition.of} {self.reference}{unit}, "
        said = f"{self.verdict}: {self.condition.text}: {self.measured}{unit}, {of}{self.apart}{unit} from the limit"
        return f"{said}; more seeds may decide it" if self.verdict == "undecided" else said

    def data(self) -> dict[str, Any]:
        """The verdict for JSON. A missing number is null."""
        ends = {
            f"{name}{end}": getattr(each, at)
            for name, each in (("", self.measured), ("reference_", self.reference), ("difference_", self.apart))
            if each is not None
            for end, at in (("mean", "mean"), ("low", "low"), ("high", "high"))
        }
        numbers = {key: value if math.isfinite(value) else None for key, value in ends.items()}
        about = {"condition": self.condition.text, "verdict": self.verdict, "passed": self.passed}
        return about | {"measure": self.condition.measure.path, "unit": self.condition.measure.unit} | numbers


def read_gate(file: Path, saves: bool = False, laws: Collection[str] = ()) -> Gate:
    """Reads a gate file. Paths in it are relative to its folder.

    With `saves` the baselines need not exist, because the command writes one. `laws` are the names of laws and
    controllers in Python. Raises `UserError` for a mistake, before any run.
    """
    tree = toml.parse(read_text(file, "gate"), str(file))
    for key in tree:
        if key not in KEYS:
            raise UserError.unknown(f"{file}: key", key, KEYS)
    _check_types(file, tree)
    beside = file.parent / str(tree["scenario"])
    base = read_scenario(beside if beside.exists() else located(Path(str(tree["scenario"]))))
    case = base.copy().set_all(tree.get(CASE, {}))
    cases = {CASE: case} | {name: _reference(case, each) for name, each in tree.get("references", {}).items()}
    for each in cases.values():
        each.canonical(laws)
    link = queued_link(base, tree.get("link"))
    conditions = [_condition(f"{file}: require", text, cases, link) for text in tree["require"]]
    seeds = seeds_of(tree.get("seeds", 5), first_seed(base))
    baselines = {} if saves else _baselines(file, conditions, cases)
    for condition in conditions:
        if condition.of in baselines:
            baselines[condition.of].of(CASE, condition.measure.path, seeds)
    for baseline in baselines.values():
        _note_another_case(file, baseline, case)
    return Gate(file, cases, seeds, conditions, tree.get("undecided") == "pass", baselines)


def _reference(case: Scenario, changes: Mapping[str, Any]) -> Scenario:
    """The case with the changes of a reference.

    As in `compare`, another `aqm` or `cc` drops the parameters of the replaced one.
    """
    made = case.copy()
    for path, value in changes.items():
        at, _, tag = path.rpartition(".")
        before = table_at(made, at) if at and tag in ("aqm", "cc") else None
        if before and before.get(tag, value) != value:
            kept = of_every("Queue", tag) if tag == "aqm" else ()
            made.set(at, {key: each for key, each in before.items() if key in kept})
    return made.set_all(changes)


def _note_another_case(file: Path, baseline: Baseline, case: Scenario) -> None:
    """Notes fields in which the tested case differs from the one that a baseline measured."""
    different = [] if baseline.setup is None else list(field_paths.differing(baseline.setup, case.to_dict()))
    if different:
        again = f"`sojourn gate {file} --save {baseline.file}` measures it again"
        note(f"{baseline.file}: measured with other values of {listed(different, MOST_FIELDS)}; {again}")


def _baselines(file: Path, conditions: Sequence[Condition], cases: Mapping[str, Scenario]) -> dict[str, Baseline]:
    """The baseline files that conditions name. Raises `UserError` for an unknown reference."""
    found = {}
    for each in conditions:
        if not each.of or each.of in cases:
            continue
        if not each.of.endswith(".json"):
            raise UserError.unknown(f'{file}: "{each.text}"', each.of, [*cases, "a file.json"])
        path = file.parent / each.of
        if not path.exists():
            raise UserError(f"{path}: expected a baseline, got no file: `sojourn gate {file} --save {path}` writes it")
        found[each.of] = read_baseline(path)
    return found


def _check_types(file: Path, tree: Mapping[str, Any]) -> None:
    """Raises `UserError` for a missing key, and for a value of another type."""
    wanted = {
        "scenario": (str, "a file or the name of an example"),
        "require": (list, "a list of conditions"),
        CASE: (dict, "a table of fields"),
        "references": (dict, "a table of tables"),
    }
    for key, (kind, what) in wanted.items():
        value = tree.get(key, {} if kind is dict else None)
        if not isinstance(value, kind) or (kind is list and not value):
            raise UserError.expected(f"{file}: {key}", what, "none" if value is None else value)
    for name, each in tree.get("references", {}).items():
        if name == CASE or not isinstance(each, dict):
            raise UserError.expected(f"{file}: references.{name}", f"a table of fields, not named {CASE}", each)
    if tree.get("undecided", "fail") not in ("fail", "pass"):
        raise UserError.unknown(f"{file}: undecided", tree["undecided"], ("fail", "pass"))


def _condition(where: str, text: object, cases: Mapping[str, Scenario], link: str) -> Condition:
    """Parses one condition."""
    said = str(text).strip()
    limit, worse = _LIMIT.fullmatch(said), _NOT_WORSE.fullmatch(said)
    found = worse or limit
    if found is None:
        forms = '"wait p99 < 20 ms", "goodput >= 0.95 of REFERENCE" or "goodput not worse than baseline.json"'
        raise UserError.expected(where, forms, said)
    known = measures_in(cases[CASE])
    [path] = resolved([found["measure"]], known, link, where)
    measure_paths.check([path], known, where)
    [measure] = chosen([path], link)
    of = found["of"] or ""
    if worse is not None:
        if not measure.better:
            raise UserError(f'{where}: expected a measure with a better direction, got "{path}": use < or >')
        margin = float(worse["margin"] or 0) / 100
        return Condition(said, measure, "", 1 + margin * (-1 if measure.better == "higher" else 1), of)
    assert limit is not None
    sign = limit["sign"].replace("≤", "<=").replace("≥", ">=")
    return Condition(said, measure, sign, _number(where, limit["value"], "" if of else measure.unit, said), of)


def _number(where: str, text: str, unit: str, said: str) -> float:
    """The number of a limit in the unit of its measure."""
    kind, factor = _KINDS.get(unit, ("", 1.0))
    try:
        if kind:
            return float(_sojourn.quantity(kind, text)) * factor
        return float(text.removesuffix(unit).strip())
    except ValueError:
        with_unit = f" in {unit}" if unit else ""
        raise UserError(f'{where}: expected a number{with_unit}, got "{text}" in "{said}"') from None


def check(gate: Gate, records: Mapping[str, Sequence[Record]]) -> list[Checked]:
    """Judges every condition.

    One passes if the whole interval is on the right side of the limit. `not worse than` passes unless the whole
    interval is on the wrong side.
    """
    return [_checked(gate, each, records) for each in gate.conditions]


def _checked(gate: Gate, condition: Condition, records: Mapping[str, Sequence[Record]]) -> Checked:
    """Judges one condition."""
    measure = condition.measure
    values = [measure.of(record) for record in records[CASE]]
    references = _references(gate, condition, records)
    limits = [condition.number * each for each in references]
    if condition.of:
        apart = widened(paired(values, limits), measure, _mean(values), _mean(limits))
    else:
        within = measure.range - Range(condition.number, condition.number)
        apart = widened(estimate([each - condition.number for each in values], within=within), measure, _mean(values))
    verdict = judge(apart, parse_target(f"{condition.signed()} 0"))
    if not condition.sign and verdict is Verdict.UNDECIDED:
        verdict = Verdict.REPRODUCED
    named = {Verdict.REPRODUCED: "passed", Verdict.UNDECIDED: "undecided"}.get(verdict, "failed")
    wrong = [
        (v - limit) * (1 if condition.signed().startswith("<") else -1) for v, limit in zip(values, limits, strict=True)
    ]
    worst = max(range(len(wrong)), key=lambda at: math.inf if math.isnan(wrong[at]) else wrong[at])
    passed = named == "passed" or (named == "undecided" and gate.undecided_passes)
    reference = None
    if condition.of in records:
        reference = estimated(records[condition.of], measure)
    elif condition.of:
        reference = estimate(references, within=measure.range)
    return Checked(condition, estimated(records[CASE], measure), reference, apart, named, passed, worst)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _references(gate: Gate, condition: Condition, records: Mapping[str, Sequence[Record]]) -> list[float]:
    """The value of each seed that the number of a condition multiplies."""
    if not condition.of:
        return [1.0] * len(gate.seeds)
    if condition.of in records:
        return [condition.measure.of(record) for record in records[condition.of]]
    return gate.baselines[condition.of].of(CASE, condition.measure.path, gate.seeds)


def junit(gate: Gate, found: Sequence[Checked]) -> str:
    """The verdicts as JUnit XML, which CI systems show."""
    failures = sum(not each.passed for each in found)
    suite = ElementTree.Element("testsuite", name=str(gate.file), tests=str(len(found)), failures=str(failures))
    for each in found:
        case = ElementTree.SubElement(suite, "testcase", classname=str(gate.file), name=each.condition.text)
        if not each.passed:
            ElementTree.SubElement(case, "failure", message=each.line())
        else:
            ElementTree.SubElement(case, "system-out").text = each.line()
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"
