"""The extension module: the laboratory's engine, thin and without logic of its own."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
SeriesMap = dict[str, dict[str, Array]]

class Sample:
    """What a law sees of one interval."""

    now: float
    backlog_packets: float
    backlog_bytes: float
    least_backlog_packets: float
    arrived_packets: float
    arrived_bytes: float
    departed_packets: float
    departed_bytes: float
    sojourn: float

class ScenarioError(ValueError):
    """A scenario that cannot be run: one line with file, field, what was given, what is taken."""

def check(text: str, filename: str) -> str:
    """The canonical resolved scenario as JSON."""

def key(text: str, filename: str, seed: int, engine: str) -> str:
    """The key of a run in a cache: the same exactly where scenario, seed and engine are."""

def expand(text: str, filename: str, read: Callable[[str], tuple[str, str]]) -> str:
    """A sweep's grid as JSON: `file`, `axes`, `replications`, `points` (each `labels`, `seed`, `scenario` as TOML)."""

def run(
    text: str, filename: str, seed: int | None = None, laws: Mapping[str, Callable[[], object]] | None = None
) -> tuple[str, SeriesMap]:
    """One run: the record as JSON, and its series."""

def run_many(
    jobs: Sequence[tuple[str, str, int | None]],
    threads: int,
    on_done: Callable[[int, str, SeriesMap], None] | None = None,
) -> None:
    """Runs side by side on `threads` cores (0: all), told of as each finishes."""

def schema() -> str:
    """The JSON Schema of a scenario file."""

def registry() -> str:
    """What there is to choose from, as JSON: `aqm`, `cc`, `traffic` and `profile`, lists of entries."""

def surface(queue: str, backlog: Array, change: Array) -> Array:
    """Drop probability of a sampled queue law, given as a JSON queue table: one row a backlog, one column a change."""

def quantity(kind: str, text: str) -> float:
    """A quantity as scenarios write it, in seconds, bits a second or bytes: kind `time`, `rate` or `size`."""

Factories = Mapping[str, Callable[[], object]]

def fluid(queue: str, plant: str, run: str, laws: Factories | None = None) -> dict[str, Array]:
    """A trajectory of the fluid model: `t`, `queue`, `probability`, `load`, `window0`, ..."""

def point_with(plant: str, packets: float) -> str:
    """Where a plant would rest with so many packets waiting, as JSON like `Resting.point`."""

class Resting:
    """A loop where it rests; a `ScenarioError` where it has no such place."""

    def __init__(self, queue: str, plant: str, laws: Factories | None = None) -> None: ...
    def point(self) -> str:
        """The operating point, as JSON: queue, utilization, load, probability, window, rtts, interval."""

    def response(self, omega: Array) -> Array:
        """The law's frequency response: a row a frequency, real and imaginary to the queue and to the load."""

    def describe(self, swings: list[tuple[float, float, float]]) -> Array:
        """Its describing function: a row a swing (mean, amplitude, rad/s): real, imaginary part, mean probability."""

def infer(design: str, a: Array, b: Array) -> Array:
    """What a fuzzy controller (JSON) infers at points `(a, b)`, in its output's units; NaN where no rule fires.

    Keys: `row` and `column` (`[[term, center], ...]`), `output` (`range`, `terms`: `[[term, left, peak, right], ...]`),
    `rules`, `and`, `implication`, `aggregation`, `defuzzifier`, and `points` of a sampled centroid. Refused with a
    `ScenarioError` where it is no such design, or where `a` and `b` differ in length.
    """
