"""Reruns samples of three papers with the TCP of a Linux kernel.

    python -m conformance.oracles.linux.papers            # prints the tables of the stored results
    python -m conformance.oracles.linux.papers --store    # runs all on both hosts, and stores the results

The tables also have the simulated and the published values. The verdicts are those of the papers' claims
(`claims.toml`), on the parts of them that the sample has runs for. The exit code is 2 if the kernel can't be run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from sojourn.experiments.catalog import find_experiment
from sojourn.experiments.claims import Claim, Part
from sojourn.experiments.expression import UnknownNameError, evaluate
from sojourn.experiments.functions import all_functions
from sojourn.experiments.judging import judge_claim
from sojourn.experiments.model import Case, Grid
from sojourn.experiments.outcome import Outcome, PartResult
from sojourn.experiments.reproduce import RunOptions, run_cases
from sojourn.runs.hosts import Host

from . import RESULTS
from .validate import kernel_to_run, provenance

NAME = "papers"
"""Its name in `RESULTS`."""
COMMAND = "python -m conformance.oracles.linux.papers --store"
HOSTS = (Host.SIMULATOR, Host.LINUX)
"""The compared hosts."""


@dataclass(frozen=True)
class Sample:
    """The sample of a paper: some cells of an experiment."""

    experiment: str
    title: str
    grid: str
    scenarios: tuple[str, ...]
    seeds: int
    queues: tuple[str, ...] = ()
    """The queues; if empty, all of the experiment. The same holds for `settings`."""
    settings: tuple[str, ...] = ()
    is_shortened: bool = False
    """Whether it is shortened as by `--quick`."""

    def chosen(self) -> Grid:
        """The experiment with the cells of the sample alone."""
        whole = find_experiment(self.experiment).grids[self.grid]
        return replace(
            whole,
            scenarios=list(self.scenarios),
            queues=list(self.queues or whole.queues),
            settings=list(self.settings or whole.settings),
        )


SAMPLES = (
    Sample("cpc-2015", "CPC: Figs. 5 to 8, Reno and CUBIC", "stacks", ("reno", "cubic"), seeds=3),
    Sample(
        "flower-2016",
        "FLOWER: six cells of Fig. 8, 160 s each",
        "shares",
        ("d10n4", "d50n4", "d150n4"),
        seeds=3,
        settings=("reno5_ledbat", "reno5_flower", "cubic5_ledbat", "cubic5_flower"),
        is_shortened=True,
    ),
    Sample(
        "fuzzyrtt-2024",
        "FuzzyRTT: Figs. 6 to 8 at 10 Mbit/s, five round-trip times",
        "y1",
        ("y1_light_10", "y1_medium_10", "y1_heavy_10"),
        seeds=3,
        queues=("red", "flc", "pid", "codel", "choker", "fuzzy"),
    ),
)


def outcome_of(sample: Sample, host: Host) -> Outcome:
    """The runs of a sample on a host."""
    experiment, chosen = find_experiment(sample.experiment), sample.chosen()
    changes = chosen.quick_set if sample.is_shortened else {}
    seeds = list(range(1, sample.seeds + 1))
    records = run_cases(experiment, dict.fromkeys(chosen.cases(), changes), seeds, RunOptions(host=host))
    return Outcome(experiment, [chosen], seeds, records)


def parts_of(sample: Sample) -> Iterator[tuple[Claim, Part]]:
    """The parts of the paper's claims, each restricted to the cells that are run."""
    experiment, chosen = find_experiment(sample.experiment), sample.chosen()
    empty = Outcome(experiment, [chosen], [1], {})
    functions = all_functions(empty)

    def is_run(cell: str) -> bool:
        def lookup(name: tuple[str, ...]) -> float:
            if Case(*name[:-1]) not in chosen.cases():
                raise UnknownNameError(".".join(name))
            return 1.0

        try:
            evaluate(cell, lookup, functions)
        except UnknownNameError:
            return False
        return True

    for claim in experiment.claims:
        for part in claim.parts:
            cells = tuple(cell for cell in part.cells if is_run(cell))
            yield claim, replace(part, cells=cells) if cells else part


def judged(sample: Sample, host: Host) -> Iterator[tuple[str, PartResult]]:
    """The result of each part for which a sample has the runs, on a host."""
    outcome = outcome_of(sample, host)
    functions = all_functions(outcome)
    for claim, part in parts_of(sample):
        result = judge_claim(replace(claim, parts=(part,), readings=()), outcome, functions)
        if result and result.cases:
            yield name_of(claim, part), result.parts[0]


def name_of(claim: Claim, part: Part) -> str:
    """The name under which a part is stored."""
    return f"{claim.id}: {part.label or part.measure}"


def run(sample: Sample) -> dict[str, Any]:
    """The result of each part of a claim on either host."""
    found: dict[str, Any] = {}
    for host in HOSTS:
        for name, result in judged(sample, host):
            sides = found.setdefault(name, {"published": result.published})
            sides[str(host)] = {"measured": result.measured_text, "verdict": str(result.verdict)}
    return found


def tables(stored: dict[str, Any]) -> list[str]:
    """The tables as Markdown."""
    found = []
    for sample in SAMPLES:
        rows = stored["samples"][sample.experiment]
        wanted = {name_of(claim, part): part.target_text for claim, part in parts_of(sample)}
        both = sum(row["simulator"]["verdict"] == row["linux"]["verdict"] for row in rows.values())
        found += [f"{sample.title}, {sample.seeds} seeds: {both} of {len(rows)} verdicts are the same.", ""]
        found += ["| claim | wanted | published | simulated | Linux |", "|---|---|---|---|---|"]
        for name, row in rows.items():
            published = "" if row["published"] is None else f"{row['published']:.3g}"
            sides = [f"{row[host]['measured']}: {row[host]['verdict']}" for host in HOSTS]
            found.append(f"| {' | '.join([name, wanted[name], published, *sides])} |")
        found.append("")
    return found


def main(argv: list[str] | None = None) -> int:
    """Prints, or runs and stores; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m conformance.oracles.linux.papers", description=__doc__)
    parser.add_argument("--store", action="store_true", help="run all samples and store what was found")
    if parser.parse_args(argv).store:
        kernel, samples = kernel_to_run("live"), {}
        assert kernel
        for sample in SAMPLES:
            samples[sample.experiment] = run(sample)
            print(sample.experiment, file=sys.stderr, flush=True)
        RESULTS.put(NAME, {"command": COMMAND, "kernel": provenance(kernel), "samples": samples})
    print("\n".join(tables(RESULTS.get(NAME))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
