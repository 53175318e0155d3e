"""The extension module: the engine in Rust. It has no logic of its own."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
SeriesMap = dict[str, dict[str, Array]]

class Sample:
    """What a law knows about one interval: times in seconds, counts in packets and bytes."""

    now: float
    backlog_packets: float
    backlog_bytes: float
    least_backlog_packets: float
    arrived_packets: float
    arrived_bytes: float
    departed_packets: float
    departed_bytes: float
    sojourn: float

class AckSample:
    """What a congestion controller knows of an ACK: times in seconds, data in segments."""

    now: float
    window: float
    rtt: float | None
    srtt: float
    acked: float
    lost: float
    marked: float
    in_flight: float
    delivered: float
    delivery_rate: float
    app_limited: bool
    cwnd_limited: bool
    in_recovery: bool

class CongestionEvent:
    """What a congestion controller knows of a loss or a mark: when, the window in use, and whether a timeout told."""

    now: float
    window: float
    timeout: bool

OBSERVATION: tuple[str, ...]
"""The columns of the rows that `step_episodes` returns."""

class Episode:
    """A run some of whose senders are steered, each by the agent that is its controller in the scenario."""

    path_rates: list[float]
    def __init__(self, text: str, filename: str, seed: int, agents: list[str]) -> None: ...
    def finish(self) -> tuple[str, SeriesMap]:
        """Runs to the end: the record as JSON, and its series."""

def step_episodes(episodes: Sequence[Episode], windows: Array, paces: Array, until: Array) -> tuple[Array, list[bool]]:
    """Steps episodes on all cores, each until its time in seconds.

    `windows` in segments and `paces` in segments per second have a number for each agent of each episode, in order. A
    window of NaN keeps the last decision; an infinite pace leaves it to the acknowledgments. Returns a row of
    `OBSERVATION` for each agent, and whether each episode has ended.
    """

class ScenarioError(ValueError):
    """A scenario that can't be run: one line with file, place, field, what was expected and what was found."""

def check(text: str, filename: str, laws: list[str] | None = None) -> str:
    """The resolved scenario as JSON, with every default filled in.

    With `laws`, a queue may name these and no others.
    """

def lints(text: str, filename: str) -> list[tuple[str, str]]:
    """The warnings about a scenario: for each the name of its rule, and its text."""

def keys(text: str, filename: str, seeds: list[int], engine: str, laws: list[str]) -> tuple[list[str], dict[str, str]]:
    """The cache keys of a scenario's runs: equal if and only if scenario, seed and engine are equal.

    A queue may name the `laws` and no others. Also gives the SHA-256 of the trace of each link that has one: a run
    belongs to its key if its record has the same.
    """

def beginnings(text: str, filename: str, seeds: list[int]) -> list[str]:
    """The keys of what runs with these seeds may have in common with others at first; none where it is nothing."""

def check_toml(text: str, filename: str, whole: bool) -> None:
    """Refuses a text that is not TOML; without `whole`, only one with keys of very many parts or too many tables."""

def is_sweep(text: str) -> bool:
    """Whether a text is a sweep file by its keys, right or wrong."""

class Grid:
    """The grid of a sweep, every point checked; `read(name)` gives file name and text of the scenario that it names.

    Errors name a place in the text if a user has `written` it.
    """

    file: str
    axes: list[str]
    replications: int

    def __init__(self, text: str, filename: str, read: Callable[[str], tuple[str, str]], written: bool) -> None: ...
    def __len__(self) -> int: ...
    def labels(self, index: int) -> str:
        """The value of each axis at a point, as a JSON list."""

    def point(self, index: int) -> tuple[int, str]:
        """The first seed and the scenario, as TOML, of a point."""

def run(
    text: str,
    filename: str,
    seed: int | None = None,
    laws: Mapping[str, Callable[[], object]] | None = None,
    capture: tuple[str, list[str], list[str]] | None = None,
    threads: int = 1,
) -> tuple[str, SeriesMap]:
    """One run: the record as JSON, and its series; `capture` is a file for packets, their links, and their hosts."""

class KernelRun:
    """A run on a Linux kernel; its scenario and the traces of its links are read once."""

    def __init__(self, text: str, filename: str, seed: int) -> None: ...
    def plan(self, capture: tuple[list[str], list[str]] | None = None) -> str:
        """What the kernel must know, as TOML; `capture` are the links and hosts whose packets are captured."""

    def reports(self, log: bytes, flow: str) -> list[tuple[float, str, float, float]]:
        """What the log reports of a flow's sender: time in seconds, kind and two values.

        The kinds are `window` (cwnd and ssthresh in segments), `recovery` (it begins), `timeout`, `rtt` (in seconds).
        """

    def record(
        self, logs: tuple[bytes, bytes], host: str, capture: tuple[str, list[str], list[str]] | None = None
    ) -> tuple[str, SeriesMap]:
        """The record as JSON, and its series.

        `logs` are the log and the headers of packets, `host` is the record's field `host`; for `capture` see `run`.
        """

LIVE_NETWORKS: tuple[str, str]
"""The networks of all hosts of a live run, in IPv4 and IPv6. Only on Linux, as `LiveNetwork`."""

class LiveSource:
    """The application of a flow: when it writes, and how much."""

    def due(self) -> float:
        """The time of its next action in seconds; infinite if none is known."""

    def act(self) -> tuple[int | None, bool]:
        """Performs the action that is due: the bytes to write (None: endless), and whether it is the last."""

    def is_session(self) -> bool:
        """Whether each action opens a connection of its own."""

    def on_complete(self, at: float) -> None:
        """Handles the completion of a session's connection, at a time in s."""

class LiveNetwork:
    """A live run. One thread calls `run`; others stop it and show its state."""

    def __init__(self, text: str, filename: str, seed: int | None = None) -> None: ...
    def hosts(self) -> list[tuple[str, str, str]]:
        """The hosts: name, IPv4 and IPv6 address."""

    def ends(self) -> list[tuple[str, int, int]]:
        """The groups: name, and the numbers of the hosts at which the data of the first flow starts and ends."""

    def mtu(self) -> int:
        """The largest packet of any flow, at least 1280 bytes."""

    def run(
        self,
        descriptors: list[int],
        version: str,
        capture: tuple[str, list[str], list[str]] | None = None,
        own_port: int | None = None,
        bridged: bool = False,
    ) -> tuple[str, SeriesMap]:
        """Passes packets between the descriptors of the hosts until the end or `stop`; returns as `run`.

        `own_port` is the port of the receiver of the first flow if the caller sends the flows; the others have those
        after it. With `bridged` the two descriptors are packet sockets of interfaces.
        """

    def flows(self) -> str:
        """The flows of the plan as JSON."""

    def source(self, flow: int) -> LiveSource:
        """The application of a flow."""

    def note_senders(self, states: list[tuple[int, int, int, int, int]]) -> None:
        """Records states: a flow, its window and threshold in segments, and its new recoveries and timeouts."""

    def note_completed(self, connections: list[tuple[int, float, float, int]]) -> None:
        """Records connections of sessions: flow, opening and end in s, and payload in bytes."""

    def stop(self) -> None:
        """Ends the run: the packets in the network leave it first."""

    def snapshot(self) -> str | None:
        """The state of links and groups as JSON; None before the first packet."""

def run_many(
    jobs: Sequence[tuple[str, str, int | None]],
    threads: int,
    on_done: Callable[[int, str, SeriesMap], None] | None = None,
    laws: dict[str, Callable[[], object]] | None = None,
) -> None:
    """Runs in parallel on `threads` cores (0: all); calls `on_done` after each run."""

class Dumbbell:
    """A dumbbell: one bottleneck on a path with a round-trip time, and a reverse path without a queue.

    The queue is `droptail`, and the run takes 10 s. Each method returns a changed copy.
    """

    def __init__(self, rate: str, rtt: str) -> None: ...
    def queue(self, aqm: str) -> Dumbbell:
        """Sets the queue discipline, such as "codel"."""

    def limit(self, limit: str) -> Dumbbell:
        """Sets the limit of the queue, such as "100 packets"."""

    def ecn(self) -> Dumbbell:
        """Lets the queue mark ECN-capable packets instead of dropping them."""

    def duration(self, duration: str) -> Dumbbell:
        """Sets the length of the run, such as "30 s"."""

    def flow(self, name: str, host: str) -> Dumbbell:
        """Adds a flow of bulk data over the endpoints that are called `host`."""

    def tcp(self, name: str, controller: str) -> Dumbbell:
        """Adds a flow of bulk data over the simulator's TCP, as Linux does it, with this controller."""

    def to_toml(self) -> str:
        """The scenario as TOML."""

def driver_names() -> list[str]:
    """The names of the controllers that a `Driver` runs."""

class Driver:
    """A controller of the registry for a transport that reports packets.

    Times are the transport's, in seconds; sizes are in bytes.
    """

    window: int
    ssthresh: int | None
    pace: tuple[int, int] | None
    def __init__(self, name: str, packet: int, window: int) -> None: ...
    def seed(self, seed: int) -> None:
        """Draws the random choices of the controller from a stream with this seed."""

    def on_sent(self, now: float, size: int) -> None: ...
    def on_ack(self, now: float, sent: float, size: int) -> None: ...
    def on_acks_end(self, now: float, rtt: float | None, smoothed: float, least: float, app_limited: bool) -> None: ...
    def on_empty(self) -> None: ...
    def on_lost(self, now: float, sent: float, size: int) -> None: ...
    def on_persistent_congestion(self, now: float) -> None: ...

def run_hosts(
    text: str,
    filename: str,
    seed: int | None,
    hosts: Mapping[str, Callable[[str, int], object]],
    script: Sequence[tuple[str, bool, int, int, str, float]],
) -> tuple[str, SeriesMap, dict[str, npt.ArrayLike], dict[str, dict[str, npt.NDArray[np.generic]]]]:
    """A run over endpoints in Python: the record as JSON, its series, the packets, and the windows by flow.

    A rule of the `script` is flow, whether for ACKs, first and last packet, fate, and the delay in seconds.
    """

def trace_summary(path: str, form: str | None, steps: int) -> tuple[str, Array]:
    """What a file with a link's trace has, as JSON, and its mean rate in bit/s in each of `steps` equal parts."""

def path_library() -> str:
    """The library of paths as JSON: for each name the tables of its file."""

def path_trace(name: str, link: str, duration_ms: int, seed: int) -> list[tuple[int, int, int, float]]:
    """The trace of a path in a run: for each row its span in ns, rate in bit/s, delay in ns, and share of losses."""

def capture_segments(path: str, source: str, destination: str) -> tuple[int, dict[str, Array]]:
    """The segments of a TCP connection in a capture, in the order of time.

    Returns the time of the first in ns since 1970, and columns: `t` in seconds since then, `forward` (from the source),
    `syn`, `number` (the sequence number of a forward segment, else the acknowledged one or -1), `bytes` of payload, and
    `window`, the receive window in bytes or -1.
    """

def capture_flows(path: str) -> str:
    """The TCP flows of a capture and its interfaces, as JSON; times are in seconds since its first packet."""

def judged_controllers() -> list[str]:
    """The names of the controllers through which a sender's log can be replayed."""

def judge_log(
    controller: str, tcp: bool, linux: bool, estimated: bool, mss: int, events: list[dict[str, object]]
) -> tuple[dict[str, Array], str]:
    """Replays a sender's events: columns of both windows in bytes, and the divergences as JSON.

    Times are in seconds, sizes in bytes. Raises `ScenarioError` for a controller whose input is not in logs.
    """

def schema() -> str:
    """The JSON Schema of a scenario file."""

def measures() -> str:
    """Every measure of a record and every kind of series, as JSON: `parts` and `series`."""

def record_schema() -> str:
    """The JSON Schema of a record."""

def registry() -> str:
    """All registries as JSON: a list of entries for each kind."""

def surface(queue: str, backlog: Array, change: Array) -> Array:
    """Drop probability of a sampled law (a queue table as JSON): a row for each backlog, a column for each change."""

def fixed_point(queue: str, rate: int, mean_packet: int) -> list[int]:
    """The constants of a queue law's program without floats, from a queue table as JSON."""

def quantity(kind: str, text: str) -> float:
    """A quantity as scenarios write it, of kind `time` (s), `rate` (bit/s) or `size` (bytes)."""

def path_split(path: str) -> list[str]:
    """The steps of a path, positions as digits. Raises `ScenarioError` for a text that is no path."""

def one_line(text: str) -> str:
    """A text in one line: control characters, line separators and marks of direction are written as escapes."""

def path_element(name: str) -> str:
    """A name as a step of a path, in quotation marks where it needs them."""

Factories = Mapping[str, Callable[[], object]]

def fluid(queue: str, plant: str, run: str, laws: Factories | None = None) -> dict[str, Array]:
    """A trajectory of the fluid model: `t`, `queue`, `probability`, `load`, `window0`, ..."""

def point_with(plant: str, packets: float) -> str:
    """The operating point of a plant with `packets` waiting packets, as JSON like `Resting.point`."""

class Resting:
    """A loop at its operating point. Raises `ScenarioError` where it has none."""

    def __init__(self, queue: str, plant: str, laws: Factories | None = None) -> None: ...
    def point(self) -> str:
        """The operating point, as JSON: queue, utilization, load, probability, window, rtts, interval."""

    def response(self, omega: Array) -> Array:
        """The law's frequency response, a row for each frequency: real and imaginary part, for queue and load."""

    def describe(self, inputs: list[tuple[float, float, float]]) -> Array:
        """Its describing function, a row for each input (mean, amplitude, rad/s): real and imaginary part, mean."""

def infer(design: str, a: Array, b: Array) -> Array:
    """The output of a fuzzy controller (JSON) at points `(a, b)`; NaN where no rule fires.

    Keys: `row` and `column` (`[[term, center], ...]`), `output` (`range`, `terms`: `[[term, left, peak, right], ...]`),
    `rules`, `and`, `implication`, `aggregation`, `defuzzifier`, and `points` of a sampled centroid. Raises
    `ScenarioError` for a wrong design, and where `a` and `b` differ in length.
    """

class FuzzyLaw:
    """The fuzzy controller of a queue discipline or of a congestion controller, to be shown."""

    @staticmethod
    def of_queue(queue: str) -> FuzzyLaw:
        """That of a queue table (JSON). Raises `ScenarioError` for a discipline without fuzzy rules."""

    @staticmethod
    def of_controller(name: str) -> FuzzyLaw:
        """That of a congestion controller, of a new connection. Raises `ScenarioError` for one without fuzzy rules."""

    def variables(self) -> list[tuple[str, list[str]]]:
        """The first input, the second input and the output: name and terms of each."""

    def grades(self, variable: str, x: Array) -> Array:
        """The grades of numbers in the terms of a variable: a row for each term that has a set."""

    def rules(self) -> list[list[str | None]]:
        """The term of the output for each term of the first input (rows) and of the second."""

    def surface(self, rows: Array, columns: Array) -> Array:
        """The results over a grid: a row for each number of the first input. NaN where there is no number."""

    def fired(self, row: float, column: float) -> list[tuple[str, str, str, float]]:
        """The rules that fire at a point: the terms of the inputs and of the output, and the strength."""
