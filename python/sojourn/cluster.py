"""Runs on the machines of a Ray cluster (`pip install 'sojourn[ray]'`)."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from sojourn.extras import require
from sojourn.record import Series

Work: TypeAlias = tuple[str, str, int | None]


def _one(text: str, filename: str, seed: int | None) -> tuple[str, Series]:
    """One run, on the machine where this is called."""
    from sojourn import _sojourn

    return _sojourn.run(text, filename, seed)


def cluster_run(work: Sequence[Work], on_done: Callable[[int, str, Series], None]) -> None:
    """Runs everything on the cluster that RAY_ADDRESS names, and calls `on_done` after each run.

    Raises `MissingExtraError` where Ray is not installed.
    """
    require("ray")
    ray: Any = importlib.import_module("ray")
    ray.init(ignore_reinit_error=True)
    remote = ray.remote(_one)
    waiting = {remote.remote(*each): index for index, each in enumerate(work)}
    try:
        while waiting:
            (ready, *_), _ = ray.wait(list(waiting), num_returns=1)
            text, series = ray.get(ready)
            on_done(waiting.pop(ready), text, series)
    except BaseException:
        for each in waiting:
            ray.cancel(each)
        raise
