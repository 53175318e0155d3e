"""Episodes: runs whose senders are agents, stepped together; observations and rewards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sojourn import _sojourn
from sojourn.core import field_paths
from sojourn.core.errors import UserError, quoted
from sojourn.core.record import Record
from sojourn.core.scenario import Scenario
from sojourn.core.scenario_files import Source, load
from sojourn.runs.laws import external_laws, misfit

Array: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Networks: TypeAlias = "Source | Callable[[np.random.Generator], Source]"

MEANINGS = {
    "window": "The logarithm of the window in segments, to base 2.",
    "in_flight": "Segments in flight over the window.",
    "delay": "Mean round-trip time over the least, less 1; without a sample that of the step before.",
    "delivered": "Segments acknowledged in a least round-trip time over the window.",
    "loss": "Lost over lost and acknowledged segments, 0 to 1.",
    "marks": "Marked over acknowledged segments, 0 to 1.",
}
"""The features of an observation in order, with their meanings."""

FEATURES = tuple(MEANINGS)
"""The names of the features of an observation."""

MOST_WINDOW = 10_000.0
"""The largest window of an agent, in segments."""

_SLICE_S = 0.01
_SHORTEST_S = 1e-3


@dataclass(frozen=True)
class Step:
    """The feedback to the senders during a step: arrays with one number per agent.

    Data is in segments, times are in seconds. `marked` counts marked segments if the feedback reports them, otherwise
    echoes. `rtt` is the mean of the step, or NaN without a sample. `path_rate` is the rate of the path in segments per
    second. `length` is the length of the step.
    """

    now: Array
    window: Array
    in_flight: Array
    acked: Array
    lost: Array
    marked: Array
    timeouts: Array
    rtt: Array
    least_rtt: Array
    srtt: Array
    length: Array
    path_rate: Array

    @property
    def used(self) -> Array:
        """The acknowledged fraction of the path's rate, 0..1 or slightly more after losses."""
        return self.acked / (self.length * self.path_rate)

    @property
    def delay(self) -> Array:
        """Mean RTT divided by the minimum RTT, minus 1: 0 if no packet waited; NaN without a sample."""
        return np.maximum(self.rtt / self.least_rtt - 1.0, 0.0)  # a rounded mean may be below the minimum

    @property
    def loss(self) -> Array:
        """Lost segments divided by lost and acknowledged ones, 0..1."""
        return _ratio(self.lost, self.lost + self.acked)


Reward: TypeAlias = Callable[[Step], Array]


def power(step: Step) -> Array:
    """The default reward of a `step`: used rate - delay in RTTs / 4 - loss.

    It is 1 for a full link without a queue, and 0.75 with a queue of one bandwidth-delay product.

    >>> power(Step(*np.ones((12, 1))))  # all used, no delay, half of what was sent is lost
    array([0.5])
    """
    return step.used - 0.25 * np.nan_to_num(step.delay) - step.loss


class Episodes:
    """Runs that are stepped together.

    Each run has a random stream of its own, so it behaves as if it were alone. Every run has one agent for each of
    `groups`; None selects the only group of the scenario. Arrays over agents have one row for each agent of each run,
    in order.
    """

    def __init__(self, scenario: Networks, groups: Sequence[str | None], step: float | None, reward: Reward) -> None:
        is_time = isinstance(step, (int, float)) and not isinstance(step, bool)
        if step is not None and not (is_time and _SHORTEST_S <= step <= 1e6):
            raise UserError.expected("step", "a time in seconds, 0.001 or more, or None for a round trip", step)
        if wrong := misfit(reward, None):
            got = f"{getattr(reward, '__name__', type(reward).__name__)}{wrong}" if callable(reward) else quoted(reward)
            raise UserError(f"reward: expected a function of a Step that gives an array of numbers, got {got}")
        self.source = scenario if callable(scenario) else _with_agents(load(scenario), groups)
        self.groups, self.length, self.reward = groups, step, reward
        self.streams: list[np.random.Generator] = []
        self.runs: list[_sojourn.Episode] = []
        self.now = np.zeros(0)  # one per run
        self.rates = self.window = self.srtt = self.delay = np.zeros(0)  # whether the episode has ended
        self.over = np.zeros(0, dtype=bool)  # one per agent

    def seed(self, seeds: Sequence[Any]) -> None:
        """Restarts the streams of all runs. Raises `UserError` for an invalid seed."""
        for seed in seeds:
            if seed is not None and not (isinstance(seed, (int, np.integer)) and seed >= 0):
                raise UserError.expected("seed", "a whole number, 0 or more", seed)
        self.streams = [np.random.default_rng(seed) for seed in seeds]
        self.runs = [None] * len(seeds)  # type: ignore[list-item]
        agents = len(seeds) * len(self.groups)
        self.now = np.zeros(len(seeds))
        self.rates, self.window, self.srtt, self.delay = (np.zeros(agents) for _ in range(4))
        self.over = np.ones(len(seeds), dtype=bool)

    def rows(self, positions: Sequence[int]) -> npt.NDArray[np.int_]:
        """The rows that belong to the agents of these runs."""
        agents = len(self.groups)
        return np.array([position * agents + place for position in positions for place in range(agents)])

    def begin(self, position: int) -> Array:
        """Starts the next episode of a run and simulates up to an agent's first round trip.

        Returns the observations.
        """
        stream = self.streams[position]
        scenario = _with_agents(load(self.source(stream)), self.groups) if callable(self.source) else self.source
        seed = int(stream.integers(2**63))
        names = [_agent(place) for place in range(len(self.groups))]
        with scenario.clean_errors():
            run = _sojourn.Episode(scenario.for_engine(), scenario.file, seed, names)
        rows = self.rows([position])
        self.runs[position], self.rates[rows] = run, run.path_rates
        if self.reward is power and not np.isfinite(run.path_rates).all():
            raise UserError(f"{scenario.label}: expected a path with a rate, or a reward of your own, got one without")
        self.now[position] = 0.0
        self.srtt[rows] = self.delay[rows] = 0.0
        hold, unpaced = np.full(len(rows), np.nan), np.full(len(rows), np.inf)
        steps: list[Step] = []
        while not steps or not self.srtt[rows].any():
            step, ended = self._run([position], hold, unpaced, np.full(1, _SLICE_S))
            steps.append(step)
            if ended[0]:
                raise UserError(f"{scenario.label}: expected an agent's flow that is acknowledged, got none by the end")
        self.over[position] = False
        return self._features(rows, _joined(steps))

    def advance(self, positions: Sequence[int], actions: Array) -> tuple[Array, Array, Flags]:
        """Steps these runs.

        Returns observations and rewards of their agents, and which runs have ended. `actions` has one row per agent.
        The action of an agent without a round trip so far is ignored.
        """
        self._begun("step")
        if self.over[positions].any():
            raise UserError("step: expected an episode that goes on, got one that has ended: call reset() first")
        rows = self.rows(positions)
        window = np.clip(self.window[rows] * 2.0 ** actions[:, 0], 1.0, MOST_WINDOW)
        srtt = np.maximum(self.srtt[rows], _SHORTEST_S)
        pace = 2.0 ** actions[:, 1] * window / srtt if actions.shape[1] > 1 else np.full(len(rows), np.inf)
        slowest = srtt.reshape(len(positions), -1).max(axis=1)
        length = slowest if self.length is None else np.full(len(positions), float(self.length))
        step, ended = self._run(positions, np.where(self.srtt[rows] > 0, window, np.nan), pace, length)
        self.over[positions] = ended
        return self._features(rows, step), self._rewards(step, len(rows)), ended

    def _rewards(self, step: Step, count: int) -> Array:
        """The rewards of a step. Raises `UserError` unless there is one number per agent."""
        given = self.reward(step)
        try:
            rewards = np.asarray(given, dtype=float)
        except (TypeError, ValueError, OverflowError):
            rewards = np.full(0, np.nan)
        if given is None or rewards.shape != (count,) or not np.isfinite(rewards).all():
            shown = given.tolist() if isinstance(given, np.ndarray) else given
            raise UserError.expected("reward", f"finite numbers in an array of the shape ({count},)", shown)
        return rewards

    def _run(self, at: Sequence[int], window: Array, pace: Array, length: Array) -> tuple[Step, Flags]:
        runs, rows, agents = [self.runs[position] for position in at], self.rows(at), len(self.groups)
        values, ended = _sojourn.step_episodes(runs, window, pace, self.now[at] + length)
        named = dict(zip(_sojourn.OBSERVATION, values.T, strict=True))
        length = np.maximum(named["now"] - np.repeat(self.now[at], agents), 1e-9)
        step = Step(**named, length=length, path_rate=self.rates[rows])
        self.now[at], self.window[rows], self.srtt[rows] = step.now[::agents], np.maximum(step.window, 1.0), step.srtt
        return step, np.asarray(ended)

    def _features(self, rows: npt.NDArray[np.int_], step: Step) -> Array:
        """The observations, one row per agent.

        Without an RTT sample, the delay is that of the previous step.
        """
        self.delay[rows] = np.where(np.isnan(step.delay), self.delay[rows], step.delay)
        window = self.window[rows]
        delivered = step.acked * np.nan_to_num(step.least_rtt) / step.length / window
        marks = np.minimum(_ratio(step.marked, step.acked), 1.0)
        in_flight = step.in_flight / window
        return np.column_stack([np.log2(window), in_flight, self.delay[rows], delivered, step.loss, marks])

    def record(self, position: int) -> Record:
        """The record of a run, simulated to its end with the last windows."""
        self._begun("record")
        if (
            isinstance(position, bool)
            or not isinstance(position, (int, np.integer))
            or not 0 <= position < len(self.runs)
        ):
            raise UserError.expected("position", f"that of a network, 0 to {len(self.runs) - 1}", position)
        self.over[position] = True
        return Record.from_json(*self.runs[position].finish())

    def _begun(self, call: str) -> None:
        """Raises `UserError` if no episode has started."""
        if not self.runs:
            raise UserError(f"{call}: expected an episode that reset() has begun, got none")


def _ratio(part: Array, whole: Array) -> Array:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def _joined(steps: list[Step]) -> Step:
    """Merges consecutive steps: counts and lengths add up, the last step supplies the rest."""
    counts = ("acked", "lost", "marked", "timeouts", "length")
    added = {name: sum(getattr(step, name) for step in steps) for name in counts}
    return Step(**{each.name: added.get(each.name, getattr(steps[-1], each.name)) for each in fields(Step)})


def _agent(place: int) -> str:
    """The controller name of the agent at this position among the groups."""
    return f"agent {place}"


def _with_agents(scenario: Scenario, groups: Sequence[str | None]) -> Scenario:
    """A copy of a scenario in which an agent controls the one flow of each of these groups."""
    known = {str(group.get("name", "")): group for group in scenario.to_dict().get("flows", [])}
    made = scenario.copy()
    for place, name in enumerate(groups):
        if name is None:
            if len(known) != 1:
                of = ", ".join(known) or "none"
                raise UserError(f"group: expected the group whose flow is the agent's, one of {of}")
            (name,) = known
        if name not in known:
            raise UserError.unknown("group", name, list(known))
        if (count := known[name].get("count", 1)) != 1:
            raise UserError.expected(f"{scenario.label}: flows.{name}.count", "1, the flow of the agent", count)
        _check_host_and_traffic(scenario, name)
        made.set(f"flows.{field_paths.element(name)}.tcp.control", {"cc": "external", "controller": _agent(place)})
    return made


def _check_host_and_traffic(scenario: Scenario, group: str) -> None:
    """Raises `UserError` if no agent can control the group's sender, or if a law is missing."""
    if scenario.to_dict().get("host") == "linux":
        raise UserError(f"{scenario.label}: host: expected simulator, since a Linux host takes no agent, got linux")
    if laws := external_laws(scenario):
        raise UserError(f"{scenario.label}: expected queues without a law in Python, got {', '.join(laws)}")
    tree = scenario.resolved()["groups"]
    traffic, tcp = next((each["traffic"], each["tcp"]) for each in tree if each["name"] == group)
    if not tcp:
        where = f"{scenario.label}: flows.{group}.traffic"
        raise UserError(
            f"{where}: expected traffic over TCP, whose window is the agent's, got {traffic['kind']} over UDP"
        )
