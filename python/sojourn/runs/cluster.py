"""Clusters for sweeps: executors of Dask, submitit, Ray or `concurrent.futures`."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from sojourn.core.errors import UserError, one_line
from sojourn.core.extras import require


class Executor(Protocol):
    """The `submit` method of a PEP 3148 executor."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any:
        """Schedules a call and returns its future immediately."""


@dataclass(frozen=True)
class Cluster:
    """An executor with settings for sweeps.

    Parameters
    ----------
    executor : Executor
        An object with `submit`, such as `client.get_executor()` of Dask or submitit's `AutoExecutor`.
    workers : int, default 0
        The number of parallel calls; 0 asks the executor.
    chunk_s : float, default 5.0
        The intended duration of a call in seconds.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> sj.Cluster(ThreadPoolExecutor(4), chunk_s=60).size()
    4
    """

    executor: Executor
    workers: int = 0
    chunk_s: float = 5.0

    def __post_init__(self) -> None:
        if not callable(getattr(self.executor, "submit", None)):
            raise UserError.expected("executor", "an object with `submit`", self.executor)
        if self.workers < 0:
            raise UserError.expected("executor: workers", "0 for what it says itself, or more", self.workers)
        if not 0 < self.chunk_s < math.inf:
            raise UserError.expected("executor: chunk_s", "a time in seconds above 0", self.chunk_s)

    def size(self) -> int:
        """The number of parallel calls, which may change while a cluster scales.

        Returns
        -------
        int
            At least 1.
        """
        said = self.connected()
        return max(self.workers or int(getattr(self.executor, "_max_workers", 1) if said is None else said), 1)

    def connected(self) -> int | None:
        """The number of parallel calls of the workers that Dask has now.

        Returns
        -------
        int or None
            The number; None for other executors.
        """
        client = getattr(self.executor, "_client", None)
        return None if client is None else int(sum(client.nthreads().values()))

    @property
    def submits_jobs(self) -> bool:
        """Whether each call is a job of a batch system, which waits longer than a run takes."""
        return hasattr(self.executor, "map_array")  # submitit


def cluster_of(executor: Executor | Cluster) -> Cluster:
    """Wraps an executor with the defaults of `Cluster`. A client of Dask becomes its executor."""
    if isinstance(executor, Cluster):
        return executor
    made = getattr(executor, "get_executor", None)
    return Cluster(made() if callable(made) else executor)


class RayExecutor:
    """A Ray cluster as an executor (`pip install 'sojourn[ray]'`).

    Parameters
    ----------
    address : str, optional
        The address of its head (default: the variable `RAY_ADDRESS`, else this machine).

    Raises
    ------
    MissingExtraError
        Ray is not installed.

    Examples
    --------
    >>> sj.sweep("sweep.toml", executor=sj.RayExecutor("auto"))  # doctest: +SKIP
    """

    def __init__(self, address: str | None = None) -> None:
        require("ray")
        self._ray: Any = importlib.import_module("ray")
        self._ray.init(address=address, ignore_reinit_error=True, log_to_driver=False)

    @property
    def _max_workers(self) -> int:
        return int(self._ray.cluster_resources().get("CPU", 1))

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any:
        """Schedules a call on the cluster.

        Parameters
        ----------
        fn : callable
            The function to call.
        *args : object
            Its arguments.

        Returns
        -------
        concurrent.futures.Future
            The future of the result, immediately.
        """
        task = self._ray.remote(lambda *given: fn(*given))  # Ray refuses functions that are written in C
        return task.remote(*args).future()


def named_executor(text: str) -> Executor:
    """Parses the option `--executor`: `dask`, `dask=ADDRESS`, `ray` or `ray=ADDRESS`."""
    kind, _, address = text.partition("=")
    if kind not in ("dask", "ray"):
        raise UserError.expected("--executor", "dask, dask=ADDRESS, ray or ray=ADDRESS", text)
    try:
        if kind == "ray":
            return RayExecutor(address or None)
        require("distributed")
        client: Any = importlib.import_module("distributed").Client(*filter(None, [address]))
    except (OSError, ValueError, RuntimeError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f'--executor: expected a cluster that answers, got "{text}": {one_line(str(error))}') from None
    found: Executor = client.get_executor()
    return found
