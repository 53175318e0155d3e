"""Writes what the playground begins with into a folder: `python scripts/playground.py OUT`.

`presets.json`: each experiment of `playground/presets.toml` becomes two scenarios, with the values that its paper
prints, or with what its story asks and tells. `schema.json` is the part of `sojourn schema` that the controls need: the
engine of the page would be a fifth larger if it described itself.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sojourn as sj
from sojourn import _sojourn
from sojourn.experiments import find_experiment
from sojourn.experiments.model import Case, Experiment

ROOT = Path(__file__).parent.parent
PRESETS = ROOT / "playground" / "presets.toml"


def printed(experiment: Experiment, case: Case, name: str) -> Iterator[tuple[float, str]]:
    """The values that the paper prints for a measure of a case, each with where it stands."""
    if (value := experiment.published.get((case.scenario, case.queue, name))) is not None and not case.setting:
        yield value, "table"
    for claim in experiment.claims:
        for part in claim.parts:
            if part.measure == f"{case}.{name}" and part.published is not None:
                yield part.published, claim.where
    for figure in experiment.figures:
        for panel, values in (getattr(figure, "published", None) or {}).items():
            if getattr(figure, "measure", "") == name and case.scenario.startswith(panel) and case.queue in values:
                yield values[case.queue], figure.caption.split(":")[0]


def measures(experiment: Experiment, cases: list[Case], grid: str) -> Iterator[dict[str, Any]]:
    """The experiment's measures, with how the page takes each from a record, and the values that the paper prints."""
    for name in experiment.grids[grid].measures:
        measure = experiment.measure(cases[0].scenario, name)
        found = [next(printed(experiment, case, name), None) for case in cases]
        if not measure.path and found == [None, None]:
            continue
        yield {
            "label": measure.label,
            "unit": measure.unit,
            "path": measure.path,
            "scale": measure.scale,
            "printed": [value and value[0] for value in found],
            "where": next((value[1] for value in found if value), ""),
        }


def table(scenario: sj.Scenario) -> dict[str, Any]:
    """A scenario without traces: the page has its own, and those of a file name flows that a reader may remove."""
    return {key: value for key, value in scenario.to_dict().items() if key != "trace"}


def side(experiment: Experiment, case: Case) -> dict[str, Any]:
    """One of the two scenarios."""
    names = [experiment.queues[case.queue].label, *([experiment.settings[case.setting].label] if case.setting else [])]
    return {"label": names[-1], "table": table(experiment.scenario(case))}


def of_paper(preset: dict[str, Any]) -> dict[str, Any]:
    """A preset from a paper's folder."""
    experiment = find_experiment(preset["paper"])
    cases = [Case(*preset[each].split(".")) for each in "ab"]
    claims = [claim for claim in experiment.claims if claim.id in preset.get("claims", [])]
    return {
        "id": preset["id"],
        "title": preset["title"],
        "source": experiment.citation,
        "seed": 1,
        "sides": [side(experiment, case) for case in cases],
        "measures": list(measures(experiment, cases, preset["experiment"])),
        "says": [f"{claim.text} ({claim.where})" for claim in claims],
    }


def of_file(preset: dict[str, Any]) -> dict[str, Any]:
    """A preset from a scenario file, with two queues on its first link."""
    sides = []
    for each in (preset["a"], preset["b"]):
        scenario = sj.load(ROOT / preset["file"]).copy()
        scenario["links"][0]["queue"] = each["queue"]
        sides.append({"label": each["label"], "table": table(scenario)})
    return {
        "id": preset["id"],
        "title": preset["title"],
        "source": preset["file"],
        "seed": 1,
        "sides": sides,
        "measures": [],
        "says": [],
    }


def of_story(name: str) -> dict[str, Any]:
    """A preset from a story's file."""
    story = read_story(name)
    told = {key: story[key] for key in ("short", "question", "pace", "answer", "try", "knobs", "choices")}
    return {
        "id": name,
        "title": story["title"],
        "source": story["source"],
        "seed": 1,
        "sides": [{"label": story[each]["label"], "table": table(story_side(story, each))} for each in "ab"],
        "measures": [],
        "says": [],
        "story": {
            **told,
            "begin": story.get("begin", 0),
            "figures": [{"scale": 1, **figure} for figure in story["figures"]],
        },
    }


def read_story(name: str) -> dict[str, Any]:
    """The table of a story."""
    return tomllib.loads((ROOT / "playground" / "stories" / f"{name}.toml").read_text(encoding="utf-8"))


def story_side(story: dict[str, Any], side: str) -> sj.Scenario:
    """The scenario of a story's side: the common one with the settings of the side."""
    scenario = sj.Scenario(story["scenario"], f"story, {side}").copy().set_all(story[side].get("set", {}))
    scenario.canonical()
    return scenario


def stories() -> list[str]:
    """The names of the stories, in their order."""
    listed: list[str] = tomllib.loads(PRESETS.read_text(encoding="utf-8"))["stories"]
    return listed


def used(schema: dict[str, Any], roots: list[str]) -> dict[str, Any]:
    """The definitions of a schema that these need."""
    found: dict[str, Any] = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = schema["$defs"][name]
            waiting += re.findall(r'"#/\$defs/([^"]+)"', json.dumps(found[name]))
    return {"$defs": found}


def main(out: Path) -> None:
    """Writes the presets and the schema."""
    listed = tomllib.loads(PRESETS.read_text(encoding="utf-8"))["presets"]
    made = [of_story(name) for name in stories()]
    made += [of_paper(each) if "paper" in each else of_file(each) for each in listed]
    out.mkdir(parents=True, exist_ok=True)
    (out / "presets.json").write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    schema = used(json.loads(_sojourn.schema()), ["Queue", "Control", "StartUpConfig"])
    (out / "schema.json").write_text(json.dumps(schema), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
