"""Differences between simulator and Linux kernel in sample cells of RFC 9743.

With the kernel of `sojourn linux build`, `python -m conformance.oracles.linux.cells` runs every cell on both and
stores the results, with their provenance, in `stored.json.xz`. `--show` prints the stored table, which `page.py`
writes into `docs/linux-comparison.md`. The measures and bounds are those of `gaps`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from conformance.oracles.linux import RESULTS, gaps
from sojourn.core.scenario import Scenario
from sojourn.experiments.catalog import find_experiment
from sojourn.experiments.model import Case
from sojourn.runs.hosts import Host, on_host

NAME = "cells"
"""Its name in `RESULTS`."""
COMMAND = "python -m conformance.oracles.linux.cells"
CELLS = {
    "tail_100_10_100": ("reno", "cubic"),
    "tail_100_100_100": ("reno", "cubic"),
    "next_reno_20_100": ("cubic",),
    "next_reno_100_100": ("cubic",),
    "aqm_codel_off": ("cubic",),
}
"""The cells, and the controllers of their flows `new`."""


def cases() -> Iterator[tuple[str, list[Scenario]]]:
    """The cells by name: the scenario for each host.

    The evaluated flows get the name that `gaps` measures.
    """
    experiment = find_experiment("rfc9743")
    for cell, controllers in CELLS.items():
        for cc in controllers:
            scenario = experiment.scenario(Case(cell, cc))
            flow = next(each for each in scenario["flows"] if each["name"] == "new")
            flow["name"] = "f"
            yield f"{cell}, {cc}", [on_host(scenario, host) for host in (Host.SIMULATOR, Host.LINUX)]


def main(argv: list[str] | None = None) -> int:
    """Measures, stores and prints; with `--show` only prints the stored table.

    Returns the exit code.
    """
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--show", action="store_true", help="print what is stored")
    if not parser.parse_args(argv).show:
        RESULTS.put(NAME, gaps.measure(cases(), COMMAND))
    stored = RESULTS.get(NAME)
    print("\n".join(gaps.table(stored, list(stored["cases"]))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
