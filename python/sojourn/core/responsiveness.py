"""Responsiveness under working conditions, as draft-ietf-ippm-responsiveness measures it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from sojourn.core.errors import UserError
from sojourn.core.record import Record

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Responsiveness:
    """The result of the test, at the time at which it ends.

    Parameters
    ----------
    rpm : float
        Round trips a minute: the mean of the two below (section 4.3.1).
    foreign_rpm : float
        Of separate connections: their handshakes and answers.
    loaded_rpm : float
        Of the connections that create the load.
    goodput_bps : float
        Throughput of the load over the last `MAD` intervals.
    connections : int
        Connections of the load that had started.
    at_s : float
        The end of the test, since the start of the run.
    confidence : {"high", "medium", "low"}
        High if stable; medium if not stable in `MAD` intervals or more; low in fewer (section 4.4.1).

    Examples
    --------
    >>> import sojourn as sj
    >>> sj.Responsiveness(900, 1200, 600, 10e6, 7, 35, "high").rpm
    900
    """

    rpm: float
    foreign_rpm: float
    loaded_rpm: float
    goodput_bps: float
    connections: int
    at_s: float
    confidence: Literal["high", "medium", "low"]


@dataclass(frozen=True)
class TestParameters:
    """The parameters of the test, under the names of the draft (section 4.2)."""

    __test__ = False  # not a test of pytest

    MAD: int = 4
    """Intervals of the moving averages."""
    ID: float = 5.0
    """Length of an interval in s."""
    TMP: float = 0.95
    """The share of the smallest samples that a trimmed mean includes."""
    SDT: float = 0.05
    """The standard deviation that counts as stable, of the moving average."""


def responsiveness(
    record: Record, load: str = "load", probes: str = "probes", parameters: TestParameters | None = None
) -> Responsiveness:
    """The responsiveness of a run with the load of draft-ietf-ippm-responsiveness.

    The load is a group of flows of which one starts in each interval; `examples/responsiveness.toml` has one. The test
    ends at the first interval in which throughput and then responsiveness are stable, or at the end of the run. Later
    connections of the load change nothing before it.

    Handshakes and answers of probes are pooled; both are one round trip each, because nothing uses TLS. Round-trip
    times of the load replace its own probes, as the draft permits without multiplexing (section 4.3). Throughput
    replaces goodput.

    Parameters
    ----------
    record : Record
        A run with the traces `throughput` and `rtt` of both groups' flows; the throughput is sampled at a fraction of
        an interval.
    load : str, default "load"
        The group of load-generating flows.
    probes : str, default "probes"
        The group of short connections.
    parameters : TestParameters, optional
        By default those of the draft.

    Returns
    -------
    Responsiveness
        The result, with the confidence of section 4.4.1.

    Raises
    ------
    UserError
        The record lacks a trace, or is shorter than an interval.

    Examples
    --------
    >>> import sojourn as sj
    >>> sj.responsiveness(sj.run("examples/responsiveness.toml")).confidence
    'high'
    """
    asked = parameters or TestParameters()
    times, rates = _throughput(record, load)
    count = int(round(times[-1] / asked.ID, 9))
    if count < 1:
        raise UserError.expected("responsiveness", f"a run of {asked.ID:g} s or more", f"{times[-1]:g} s")
    bounds = [asked.ID * np.array((max(0, i - asked.MAD + 1), i + 1)) for i in range(count)]
    goodput = [float(rates[(times > start + 1e-9) & (times <= end + 1e-9)].mean()) for start, end in bounds]
    saturated = _stable(goodput, asked)
    foreign, loaded = _samples(record, probes), _samples(record, load)
    values = [(_rpm(foreign, bound, asked), _rpm(loaded, bound, asked)) for bound in bounds]
    first = count if saturated is None else saturated
    both = [sum(each) / 2 for each in values[first:]]
    stable = _stable(both, asked)
    last = count - 1 if stable is None else first + stable
    confidence: Literal["high", "medium", "low"] = "low" if count - first < asked.MAD else "medium"
    end = asked.ID * (last + 1)
    return Responsiveness(
        rpm=sum(values[last]) / 2,
        foreign_rpm=values[last][0],
        loaded_rpm=values[last][1],
        goodput_bps=goodput[last],
        connections=sum(start < end for start in _starts(record, load)),
        at_s=end,
        confidence=confidence if stable is None else "high",
    )


def _throughput(record: Record, group: str) -> tuple[Array, Array]:
    """The ends of the samples in s, and the sum of the flows' throughput in bit/s."""
    found = [record.series[name] for name in record.series if name.startswith(f"throughput/{group}/")]
    if not found:
        raise UserError.expected("responsiveness", f'trace.throughput of "{group}/*"', "none")
    return found[0]["t"], np.sum([each["bps"] for each in found], axis=0)


def _samples(record: Record, group: str) -> tuple[Array, Array]:
    """The times of a group's RTT samples in s, and the samples in s."""
    found = [record.series[name] for name in record.series if name.startswith(f"rtt/{group}/")]
    if not found:
        raise UserError.expected("responsiveness", f'trace.rtt of "{group}/*"', "none")
    return np.concatenate([each["t"] for each in found]), np.concatenate([each["seconds"] for each in found])


def _starts(record: Record, group: str) -> list[float]:
    """The time of the first RTT sample of each flow of a group."""
    names = [name for name in record.series if name.startswith(f"rtt/{group}/")]
    return [float(record.series[name]["t"][0]) for name in names if len(record.series[name]["t"])]


def _rpm(samples: tuple[Array, Array], bound: Array, asked: TestParameters) -> float:
    """60 s divided by the trimmed mean of the samples in an interval; NaN without samples."""
    times, values = samples
    within = np.sort(values[(times >= bound[0]) & (times < bound[1])])
    kept = within[: max(1, round(asked.TMP * len(within)))]
    return 60.0 / float(kept.mean()) if len(kept) else float("nan")


def _stable(values: list[float], asked: TestParameters) -> int | None:
    """The first position with stable values.

    The last `MAD` values then deviate by less than `SDT` of the last one.
    """
    for at in range(asked.MAD - 1, len(values)):
        if np.std(values[at - asked.MAD + 1 : at + 1]) < asked.SDT * values[at]:
            return at
    return None
