#!/usr/bin/env python3
"""Writes the tables of docs/own-algorithms.md: what laws, controllers and agents are given."""

import ast
import re
from pathlib import Path

import sojourn as sj
from sojourn.gym import MEANINGS

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "own-algorithms.md"
TYPES = ROOT / "python" / "sojourn" / "_sojourn.pyi"
# The engine has the sentences, its stub the types and the order.
CLASSES = {each.__name__: each for each in (sj.Sample, sj.AckSample, sj.CongestionEvent)}


def typed(name: str) -> dict[str, str]:
    """The fields of a class of the engine with their types, in order."""
    classes = {each.name: each for each in ast.parse(TYPES.read_text(encoding="utf-8")).body if hasattr(each, "name")}
    fields = [each for each in classes[name].body if isinstance(each, ast.AnnAssign)]
    return {ast.unparse(each.target): ast.unparse(each.annotation) for each in fields}


def table(name: str) -> str:
    """The fields of a class, or the features of an observation, as a table."""
    if name == "FEATURES":
        heads, rows = ["feature", "what it is"], [[f"`{key}`", said] for key, said in MEANINGS.items()]
    else:
        heads = ["field", "type", "what it is"]
        said = {key: getattr(CLASSES[name], key).__doc__ for key in typed(name)}
        rows = [[f"`{key}`", f"`{of}`".replace("|", "\\|"), said[key]] for key, of in typed(name).items()]
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def with_tables(page: str) -> str:
    """A page with a table between each `<!-- fields: NAME -->` and `<!-- end -->`."""
    pattern = re.compile(r"(<!-- fields: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
    return pattern.sub(lambda found: f"{found[1]}\n{table(found[2])}\n\n{found[3]}", page)


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
