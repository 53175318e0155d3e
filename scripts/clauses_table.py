#!/usr/bin/env python3
"""Writes the tables of docs/evaluate.md: the clauses of each evaluation, their runs, measures and readings."""

import re
from pathlib import Path

from sojourn.experiments.evaluation import evaluations
from sojourn.experiments.model import Experiment

PAGE = Path(__file__).parent.parent / "docs" / "evaluate.md"


def table(experiment: Experiment) -> str:
    """One row for each clause."""
    lines = [["section", "clause", "level", "file, cases", "passes if"], ["---"] * 5]
    for name, clause in experiment.clauses.items():
        cases = len(experiment.grids[name].cases()) if name in experiment.grids else 0
        file = f"[{name}](../studies/{experiment.root.name}/clauses/{name}.toml)" + (f", {cases}" if cases else "")
        passes = "; ".join(each.text for each in clause.requires) or f"not decidable here: {clause.undecidable}"
        lines.append([clause.where, clause.title, clause.level, file, passes.replace("|", "\\|")])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def with_tables(page: str) -> str:
    """A page with a table between each `<!-- clauses: NAME -->` and `<!-- end -->`."""
    tables = {each.id: table(each) for each in evaluations()}
    pattern = re.compile(r"(<!-- clauses: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
    return pattern.sub(lambda found: f"{found[1]}\n{tables[found[2]]}\n\n{found[3]}", page)


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
