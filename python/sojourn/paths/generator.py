"""Traces with the statistics of a path, as the engine draws them."""

from __future__ import annotations

from collections.abc import Iterator

from sojourn import _sojourn
from sojourn.imports.link_traces import Step
from sojourn.paths import Path


def trace(path: Path, duration_ms: int, seed: int, link: str = "link") -> Iterator[Step]:
    """The trace that the link called `link` has in a run with this seed.

    A longer trace begins with the shorter one. The trace of a constant rate is a single step.
    """
    rows = _sojourn.path_trace(path.name, link, duration_ms, seed)
    for span_ns, rate_bps, delay_ns, loss in rows or [(duration_ms * 10**6, round(path.mean_mbps * 1e6), 0, 0.0)]:
        yield Step(span_ns // 10**6, rate_bps, delay_ns // 1000, loss)
