"""The test cases of the BBR draft in a network: BBR versions 1 and 3, and CUBIC beside them.

The draft's appendix (draft-ietf-ccwg-bbr) describes 22 situations and what an implementation should do in each. Each is
a scenario here, run over several paths, with conditions that are computed from the run: what the draft says of the
controller's states and variables, and what the flow gets of the path. A condition about a state is not judged for a
controller that has no such state.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from sojourn.running import Progress
from sojourn.study_bbr import changes, probing, startup
from sojourn.study_bbr.case import Case, Condition, Seen
from sojourn.study_bbr.run import Path

CASES: list[Case] = [*startup.CASES, *probing.CASES, *changes.CASES]
"""The 22 cases."""
PATHS = [Path(10, 40), Path(100, 20), Path(5, 200), Path(50, 5)]
"""The paths over which each case runs, but for those that have one of their own."""
CONTROLLERS = {"bbr3": "BBRv3", "bbr": "BBRv1", "cubic": "CUBIC"}
"""The controllers, and how they are called on the page."""


@dataclass(frozen=True)
class Judged:
    """The conditions of a case on one path with one controller."""

    case: Case
    path: Path
    cc: str
    seen: Sequence[tuple[Condition, Seen]]

    @property
    def holds(self) -> bool:
        """Whether all conditions hold that can be judged."""
        return all(seen is None or seen[0] for _, seen in self.seen)


@dataclass(frozen=True)
class Study:
    """All that was judged."""

    judged: Sequence[Judged]
    quick: bool

    @property
    def cases(self) -> list[Case]:
        """The cases, in the order of the list."""
        return CASES

    def of(self, case: Case, cc: str) -> list[Judged]:
        """A case with a controller, path by path."""
        return [each for each in self.judged if each.case.id == case.id and each.cc == cc]

    def verdict(self, case: Case, cc: str) -> str:
        """`holds`, `holds in part` or `fails`, over the paths."""
        results = [each.holds for each in self.of(case, cc)]
        return "holds" if all(results) else "holds in part" if any(results) else "fails"

    def by_use_alone(self, case: Case, cc: str) -> bool:
        """Whether nothing but the use of the path could be judged."""
        return all(sum(seen is not None for _, seen in each.seen) == 1 for each in self.of(case, cc))

    def score(self, case: Case, cc: str) -> str:
        """On how many paths a case holds, of how many."""
        results = [each.holds for each in self.of(case, cc)]
        return f"{sum(results)} of {len(results)}"

    def rows(self, case: Case) -> Iterator[tuple[str, Path, list[Seen]]]:
        """Each condition of a case on each path, with what was seen for each controller."""
        columns = [self.of(case, cc) for cc in CONTROLLERS]
        for number, condition in enumerate(case.conditions):
            for each in zip(*columns, strict=True):
                yield condition.says, each[0].path, [judged.seen[number][1] for judged in each]

    def data(self) -> dict[str, Any]:
        """All of it for a JSON file."""
        judged = [
            {
                "case": each.case.id, "path": str(each.path), "cc": each.cc, "holds": bool(each.holds),
                "conditions": [
                    {"says": condition.says, "holds": seen and bool(seen[0]), "shows": seen and seen[1]}
                    for condition, seen in each.seen
                ],
            }
            for each in self.judged
        ]  # fmt: skip
        return {"quick": self.quick, "judged": judged}


def measure(*, quick: bool = False, threads: int = 0, progress: Progress | None = None) -> Study:
    """Runs every case over every path (`quick`: the first) with every controller.

    Nothing is random in these runs: one seed says all. `threads` is how many run at one time (0: all cores), `progress`
    as in `run_jobs`.
    """
    todo = [
        (case, path, cc)
        for case in CASES
        for path in ([case.path] if case.path else PATHS[:1] if quick else PATHS)
        for cc in CONTROLLERS
    ]
    found: list[Judged] = []
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        for each in pool.map(lambda one: judge(*one), todo):
            found.append(each)
            if progress:
                progress(len(found), len(todo))
    return Study(found, quick)


def judge(case: Case, path: Path, cc: str) -> Judged:
    """Runs a case over a path with a controller and judges it."""
    run = case.run(cc, path)
    return Judged(case, path, cc, [(condition, condition.judge(run)) for condition in case.conditions])
