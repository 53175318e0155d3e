"""A test case of the draft: a path, what happens on it and when, and what must be seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sojourn.running import run
from sojourn.scenario import Scenario
from sojourn.study_bbr.run import PAYLOAD, Path, Run, one_flow

BULK: dict[str, Any] = {"kind": "bulk"}
LOSS_THRESHOLD = 0.02
"""The share of packets that BBR version 3 lets a probe lose (`BBR.LossThresh`)."""
FIXED = 3.0
"""When something happens to a controller that has no state to wait for, in seconds."""

PUT_OFF = {"bbr3": "probe_rtt_interval", "bbr": "min_rtt_window"}
"""The parameter that says when ProbeRTT comes."""

Tree = dict[str, Any]
Seen = tuple[bool, str] | None
"""Whether a condition holds and what was seen; None where the controller has no such state or variable."""


@dataclass(frozen=True)
class Condition:
    """What must be seen in a run."""

    says: str
    judge: Callable[[Run], Seen]


@dataclass(frozen=True)
class Case:
    """A test case.

    `steps` happen one after the other: each sees a run of what was there before it and changes the scenario. So
    something can happen when a controller enters a state: the run up to that time stays as it was.
    """

    id: str
    title: str
    says: str
    conditions: Sequence[Condition]
    seconds: float = 12.0
    buffer: float = 2.0
    traffic: Callable[[Path], Mapping[str, Any]] = lambda _: BULK
    change: Callable[[Tree, Path], None] = lambda _tree, _path: None
    steps: Sequence[Callable[[Tree, Run], None]] = field(default=())
    path: Path | None = None
    """The only path of the case, if it has one of its own."""
    without_probe_rtt: bool = False
    """Whether ProbeRTT is put off, so that it does not get in the way on long paths."""

    def run(self, cc: str, path: Path) -> Run:
        """Runs it with a controller over a path."""
        path = self.path or Path(path.rate, path.rtt, self.buffer)
        tree = one_flow(path, cc, self.seconds, self.traffic(path))
        if self.without_probe_rtt and cc in PUT_OFF:
            tree["tcp"]["control"][PUT_OFF[cc]] = "1000 s"
        self.change(tree, path)
        found = self._once(tree, cc, path)
        for step in self.steps:
            step(tree, found)
            found = self._once(tree, cc, path)
        return found

    def _once(self, tree: Tree, cc: str, path: Path) -> Run:
        return Run(run(Scenario(tree, f"study bbr, {self.id}")), cc, path)


def moment(run: Run, state: str, after: float = 0.0) -> float:
    """When a state begins for the first time; a fixed time for a controller without states."""
    stay = run.first(state, after)
    return stay.begin if stay else max(FIXED, after)


def outage(tree: Tree, at: float, length: float, *, hold: bool = False) -> None:
    """The link loses everything for a time, or holds it back."""
    impairments = tree["links"][0]["impairments"]
    impairments.append({"kind": "outage", "at": f"{at:.6f} s", "length": f"{length:.6f} s", "hold": hold})


def schedule(*parts: Mapping[str, Any]) -> dict[str, Any]:
    """The traffic of an application whose rate changes, in writes of a segment."""
    return {"kind": "schedule", "size": f"{PAYLOAD} B", "rates": list(parts)}


def limit_application(tree: Tree, *parts: Mapping[str, Any]) -> None:
    """The application sends as much as it can, and then as these parts say."""
    tree["flows"][0]["traffic"] = schedule(part(0.0), *parts)


def part(at: float, rate: float | None = None, *, silent: bool = False) -> dict[str, Any]:
    """A part of a schedule: a rate in Mbit/s, silence, or else as much as TCP can send."""
    made: dict[str, Any] = {"at": f"{at:.6f} s"}
    if silent:
        made["silent"] = True
    elif rate is not None:
        made["rate"] = f"{rate:g} Mbit/s"
    return made


def uses(share: float, begin: float, end: float | None = None) -> Condition:
    """The flow uses at least this share of the path from a time on."""

    def judge(run: Run) -> Seen:
        got = run.share(begin, end)
        # More than all of it can be read where a repair releases what had arrived before.
        waited = ", with data that waited for a repair" if got > 1 else ""
        return got >= share, f"{got:.3f} of the path{waited}"

    until = "to the end" if end is None else f"to {end:g} s"
    return Condition(f"at least {share:g} of the path is used from {begin:g} s {until}", judge)
