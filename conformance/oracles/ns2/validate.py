"""Runs every case in ns-2 and in Sojourn over seeds and compares them.

From the root of the repository:

    python -m conformance.oracles.ns2.validate                  # every case, as many seeds as are stored
    python -m conformance.oracles.ns2.validate red-reno-30 --seeds 10
    python -m conformance.oracles.ns2.validate --store          # ns-2 only, and store its numbers
    python -m conformance.oracles.ns2.validate --ns2 stored     # without running ns-2

Exit code 1 for a miss that `explained.toml` does not cover, or an entry there without a miss; 2 if a simulator could
not be run.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from .. import compare
from ..results import Results
from . import measure
from .plan import Table, freeze
from .translate import translate

HERE = Path(__file__).parent
CASES, EXPLAINED = HERE / "cases", HERE / "explained.toml"
RESULTS = Results(HERE / "stored.json.xz")
COMMAND = "python -m conformance.oracles.ns2.translate {file} --seed SEED > script.tcl && ns script.tcl"
Metrics = dict[str, float]


def case_names() -> list[str]:
    """Every case, by file name."""
    return sorted(path.stem for path in CASES.glob("*.toml"))


def load(case: str) -> Table:
    """A case's scenario table."""
    return tomllib.loads((CASES / f"{case}.toml").read_text())


def explanations() -> dict[tuple[str, str], compare.Explanation]:
    """The explained misses, by case and metric."""
    return compare.explanations(EXPLAINED, case_names())


def _rounded(value: Any) -> Any:
    """Rounded to seven digits, which are enough and keep the files small."""
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return value


def ns2_runs(case: str, seeds: int, source: str) -> list[Table]:
    """ns-2's numbers for seeds 1 to `seeds`, computed or stored (`source` is "run" or "stored").

    Raises `OracleError` if the stored numbers are missing or belong to another script.
    """
    scenario = load(case)
    if source == "run":
        fresh = []
        for seed in range(1, seeds + 1):
            record = measure.run(scenario, seed)
            numbers = compare.metrics(record, scenario)
            link = {key: value for key, value in record["links"][0].items() if key != "name"}
            fresh.append({"seed": seed, "tcl_sha256": record["tcl_sha256"], "metrics": numbers, "link": link})
        return fresh
    stored = RESULTS.get(case)
    if stored is None:
        raise measure.OracleError(f"{case}: expected stored numbers in {RESULTS.file.name}, got none")
    runs: list[Table] = stored["runs"][:seeds]
    if len(runs) < seeds:
        raise measure.OracleError(f"{case}: expected {seeds} stored seeds, got {len(runs)}")
    for run in runs:
        if measure.digest(translate(scenario, run["seed"])) != run["tcl_sha256"]:
            raise measure.OracleError(f"{case}: the stored numbers of seed {run['seed']} belong to another script")
    return runs


def store(case: str, runs: list[Table]) -> None:
    """Writes ns-2's numbers, with the command and the hash of their script."""
    made = {"case": case, "ns": measure.version(), "command": COMMAND.format(file=f"cases/{case}.toml")}
    RESULTS.put(case, made | {"runs": [_rounded(run) for run in runs]})


def sojourn_runs(case: str, seeds: int) -> list[Metrics]:
    """Sojourn's numbers for the same seeds, from the same start times and delays.

    Raises `ImportError` if Sojourn is not installed.
    """
    sojourn = importlib.import_module("sojourn")
    scenario = load(case)
    result = []
    for seed in range(1, seeds + 1):
        record = sojourn.run(sojourn.load(freeze(scenario, seed)), seed=seed)
        result.append(compare.metrics(record, scenario))
    return result


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m conformance.oracles.ns2.validate", description="Compares Sojourn with ns-2.35."
    )
    parser.add_argument("--ns2", choices=["auto", "run", "stored"], default="auto", help="auto: run it if installed")
    parser.add_argument("--only-ns2", action="store_true", help="do not run Sojourn")
    parser.add_argument("--store", action="store_true", help="store ns-2's numbers (implies --only-ns2)")
    parser.add_argument("--json", type=Path, help="write the rows to this file as well")
    return compare.read_options(parser, argv, case_names())


def compare_all(arguments: argparse.Namespace, source: str) -> list[compare.Row]:
    """The rows of every chosen case; `source` as in `ns2_runs`."""
    explained, rows = explanations(), []
    for case in arguments.cases or case_names():
        print(f"{case} ...", file=sys.stderr, flush=True)
        seeds = arguments.seeds or compare.stored_seeds(RESULTS.get(case))
        runs = ns2_runs(case, seeds, source)
        if arguments.store:
            store(case, runs)
        ours = [] if arguments.store or arguments.only_ns2 else sojourn_runs(case, seeds)
        rows += compare.rows(case, [run["metrics"] for run in runs], ours, explained)
    return rows


def main(argv: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    arguments = _arguments(argv)
    if arguments.list:
        print("\n".join(case_names()))
        return 0
    source = arguments.ns2
    if source == "auto":
        source = "run" if arguments.store or measure.available() else "stored"
    try:
        rows = compare_all(arguments, source)
    except (measure.OracleError, ValueError, ImportError, FileNotFoundError) as error:
        print(error, file=sys.stderr)
        return 2
    print(compare.table(rows, "ns-2"))
    if arguments.json:
        arguments.json.write_text(json.dumps([compare.as_data(row, "ns2") for row in rows], indent=1) + "\n")
    print("\n" + compare.summary(rows))
    return 1 if compare.failed(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
