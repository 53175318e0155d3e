"""Runs a sample of mutants, and writes the survivors to `results.json` and the documents.

`python -m conformance.mutants PART ... --count N --seed S` draws N mutants of each part and runs its tests with each.
`--shard K/N` takes the Kth of N shards of all mutants instead. Parts, their tests, and equivalent mutants, which no
test can detect (with the reason), are in `mutants.toml`. Without parts only the table in docs/reliability.md is
written. The exit code is 1 if more than `--limit` of a part's mutants survive, or if `mutants.toml` names a mutant
that a part no longer has.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import tomllib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from conformance.mutants.mutant import Mutant
from sojourn.core.errors import UserError
from sojourn.core.stats import share_of

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
PAGE = ROOT / "docs/reliability.md"
BEGIN, END = "<!-- mutants: begin -->\n", "<!-- mutants: end -->\n"
BUILT = ROOT / "target/mutants"
LIMIT = 0.03


@dataclass(frozen=True)
class Result:
    """The result of a sample of a part's mutants."""

    listed: int
    drawn: int
    viable: int
    equivalent: int
    survivors: list[str]

    @property
    def judged(self) -> int:
        """The mutants that a test can detect."""
        return self.viable - self.equivalent

    def row(self, part: str) -> str:
        """A line of the table."""
        caught = self.judged - len(self.survivors)
        share = share_of([True] * len(self.survivors) + [False] * caught)
        interval = f"{100 * share.mean:.1f} % ({100 * share.low:.1f} to {100 * share.high:.1f})"
        cells = (part, self.listed, self.drawn, self.viable, caught, self.equivalent, len(self.survivors), interval)
        return f"| {' | '.join(str(cell) for cell in cells)} |\n"


@dataclass(frozen=True)
class Equivalent:
    """The equivalent mutants of a part, by patterns of their names."""

    patterns: list[str]

    def covers(self, name: str) -> bool:
        """Whether a mutant is one of them."""
        return any(re.fullmatch(pattern, name) for pattern in self.patterns)

    def check(self, names: Iterable[str]) -> None:
        """Rejects a pattern that no longer matches a mutant of the part."""
        names = list(names)
        for pattern in self.patterns:
            if not any(re.fullmatch(pattern, name) for name in names):
                raise UserError(f"mutants.toml: expected a pattern that fits a mutant, got {pattern!r}")


def drawn(count: int, arguments: argparse.Namespace) -> list[int]:
    """The indices of the chosen mutants in the list of all."""
    order = random.Random(arguments.seed).sample(range(count), count)
    if arguments.shard:
        number, shards = (int(text) for text in arguments.shard.split("/"))
        return order[number % shards :: shards]
    return order[: arguments.count]


def judged(mutants: dict[int, Mutant], catches: Callable[[int], bool], threads: int) -> list[str]:
    """The names of the surviving mutants; each is printed when found."""
    survivors = []
    with ThreadPoolExecutor(threads) as pool:
        for done, (mutant, caught) in enumerate(
            zip(mutants.values(), pool.map(catches, mutants), strict=True), start=1
        ):
            if not caught:
                survivors.append(mutant.name)
                print(f"{mutant.file}:{mutant.line}: survives: {mutant.name}", flush=True)
            if done % 50 == 0:
                print(f"{done} of {len(mutants)} mutants, {len(survivors)} survive", flush=True)
    return survivors


def rust(part: dict[str, Any], equivalent: Equivalent, arguments: argparse.Namespace) -> Result:
    """Runs a sample of the mutants of a crate, or of some of its files."""
    from conformance.mutants.programs import Programs, compiled, copied
    from conformance.mutants.rust_sources import Places, listed, place

    crate, tree = part["crate"], BUILT / "rust"
    copied(ROOT, tree)
    described = [each for each in listed(tree, crate) if not part.get("files") or each["file"] in part["files"]]
    copied(ROOT, tree)
    places = {file: Places((tree / file).read_bytes()) for file in sorted({each["file"] for each in described})}
    everything = [placed for each in described if (placed := place(each, places[each["file"]])) is not None]
    equivalent.check(each.mutant.name for each in everything)
    chosen = {n + 1: everything[n] for n in drawn(len(everything), arguments)}
    alive = compiled(tree, crate, chosen)
    left = {number: each.mutant for number, each in alive.items() if not equivalent.covers(each.mutant.name)}
    programs = Programs(tree, part["tests"])
    programs.build()
    reached = {number: each for number, each in left.items() if programs.reaching[number]}
    unreached = [each for number, each in left.items() if number not in reached]
    for mutant in unreached:
        print(f"{mutant.file}:{mutant.line}: no test reaches: {mutant.name}", flush=True)
    survivors = [each.name for each in unreached] + judged(reached, programs.catches, os.cpu_count() or 1)
    return Result(len(described), len(chosen), len(alive), len(alive) - len(left), survivors)


def python(part: dict[str, Any], equivalent: Equivalent, arguments: argparse.Namespace) -> Result:
    """Runs a sample of the mutants of Python modules."""
    from conformance.mutants.python_sources import Copy, mutants_of

    modules = part["modules"]
    everything = [each for file in modules for each in mutants_of(file, (ROOT / file).read_text(encoding="utf-8"))]
    equivalent.check(each.name for each in everything)
    chosen = {n: everything[n] for n in drawn(len(everything), arguments)}
    copy = Copy(ROOT, BUILT / "python", modules, part["tests"])
    left = {number: each for number, each in chosen.items() if not equivalent.covers(each.name)}
    survivors = judged(left, lambda number: copy.catches(left[number]), 1)
    copy.close()
    return Result(len(everything), len(chosen), len(chosen), len(chosen) - len(left), survivors)


def write_table(results: dict[str, Any]) -> None:
    """Writes the table into the page."""
    names = ("part", "mutants", "drawn", "compile", "caught", "equivalent", "survive", "share (95 % interval)")
    head = f"| {' | '.join(names)} |\n|{'---|' * len(names)}\n"
    rows = "".join(Result(**each).row(part) for part, each in results.items())
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{head}{rows}{END}{rest.split(END)[1]}", encoding="utf-8")


def main() -> int:
    """Runs the command and returns its exit code."""
    config = tomllib.loads((HERE / "mutants.toml").read_text(encoding="utf-8"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*config["parts"], []], help="the parts to run (default: none)")
    parser.add_argument("--count", type=int, default=200, help="mutants of each part (default 200)")
    parser.add_argument("--seed", type=int, default=40, help="the seed of the sample (default 40)")
    parser.add_argument("--shard", default="", help="K/N: the Kth of N shards instead of a sample")
    parser.add_argument("--limit", type=float, default=LIMIT, help="the largest share that may survive (default 0.03)")
    arguments = parser.parse_args()
    stored = HERE / "results.json"
    results: dict[str, Any] = json.loads(stored.read_text(encoding="utf-8")) if stored.exists() else {}
    too_many = []
    for part in arguments.parts:
        kind = rust if "crate" in config["parts"][part] else python
        patterns = [each["mutant"] for each in config["equivalent"] if each["part"] == part]
        result = kind(config["parts"][part], Equivalent(patterns), arguments)
        results[part] = asdict(result)
        results = {name: results[name] for name in config["parts"] if name in results}
        stored.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        if len(result.survivors) > arguments.limit * result.judged:
            too_many.append(f"{part}: {len(result.survivors)} of {result.judged} mutants survive")
    write_table(results)
    print("\n".join(too_many))
    return 1 if too_many else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
