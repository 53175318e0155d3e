"""Runs, the cache keys of their results, and shared beginnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from sojourn import _sojourn
from sojourn.core.errors import RunError
from sojourn.core.record import Record
from sojourn.core.scenario import Scenario
from sojourn.linux.kernel import find_kernel
from sojourn.runs.hosts import Host, host_of
from sojourn.runs.laws import named_by
from sojourn.runs.stacks import check_hosts
from sojourn.runs.store import Store, engine_identity

LIVE = "live"
"""The identity of this machine's kernel. Its runs are not cached, because they differ."""


@dataclass(frozen=True)
class Job:
    """One run: a scenario and the seed of its random numbers."""

    scenario: Scenario
    seed: int


class Key(NamedTuple):
    """The cache key of a run.

    It also holds the identity of the run's Linux kernel, the digests of its traces by link, and the names of its laws
    and controllers in Python.
    """

    text: str
    kernel: str
    """The identity of the Linux kernel, or `LIVE`; empty for a run in the simulator."""
    traces: dict[str, str]
    laws: set[str]


def keys_of(jobs: Sequence[Job], laws: Mapping[str, str | None]) -> Iterator[Key]:
    """The key of each job. `laws` are the digests of laws in Python by name.

    Raises `ScenarioError` for a job that can't be run with these laws in Python.
    """
    engine, names = engine_identity(), list(laws)
    for _, same in groupby(jobs, key=lambda job: id(job.scenario)):
        group = list(same)
        scenario = group[0].scenario
        with scenario.clean_errors():
            host = host_of(scenario)
            kernel = find_kernel().identity if host is Host.LINUX else LIVE if host is Host.LIVE else ""
            named = named_by(scenario) if laws else set()
            code = [f"{name} {laws.get(name)}" for name in sorted(named)]
            made_by = " ".join(filter(None, [engine, kernel, check_hosts(scenario), *code]))
            seeds = [job.seed for job in group]
            texts, traces = _sojourn.keys(scenario.for_engine(), scenario.file, seeds, made_by, names)
            for text in texts:
                yield Key(text, kernel, traces, named)


CHANGED = "expected the content that it had when the runs were planned, got another: run the same command again"
"""The failure message for a run that used another trace than planned."""


def changed_traces(record: Record, expected: dict[str, str]) -> list[str]:
    """The links on which a run used a trace with another digest than expected."""
    if not expected:
        return []
    used = {link["name"]: link.get("trace_sha256") for link in record["links"]}
    return [link for link, digest in expected.items() if used.get(link) != digest]


def beginnings(jobs: Sequence[Job]) -> list[str]:
    """For each job a key of the beginning that its run may share with others; "" if none.

    It is a hint for grouping runs: the engine determines what they share.
    """
    scenario = jobs[0].scenario
    if "start" not in scenario.for_engine():
        return [""] * len(jobs)
    with scenario.clean_errors():
        found = _sojourn.beginnings(scenario.for_engine(), scenario.file, [job.seed for job in jobs])
    return found or [""] * len(jobs)


def raise_failed(failed: list[str], total: int, cache: Store | None = None) -> None:
    """Raises `RunError` if runs failed. It contains the first failure and their number.

    It also says where the finished runs are.
    """
    if not failed:
        return
    count = f"; {len(failed)} of {total} runs failed" if total > 1 else ""
    others = " and the others are in the cache" if cache is not None and len(failed) < total else ""
    raise RunError(f"{failed[0]}{count}{others}")
