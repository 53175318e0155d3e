"""Environments of gymnasium: a congestion controller that learns, with a decision in every round trip.

`CongestionEnv` has one network, `VectorCongestionEnv` steps many at once on all cores. One flow is the agent's. An
action changes its congestion window, the observation is what the sender saw since the action before, and the same seed
and the same actions give the same packets. Needs the extra `gym`.

>>> from sojourn.gym import CongestionEnv, FEATURES
>>> env = CongestionEnv("examples/learn.toml")
>>> observation, info = env.reset(seed=1)
>>> observation, reward, terminated, truncated, info = env.step([0.5])
>>> FEATURES[0], round(float(2 ** observation[0]), 1)  # half an octave more than the initial window of 10
('window', 14.1)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sojourn import _sojourn, paths
from sojourn.errors import UserError, quoted
from sojourn.extras import require
from sojourn.laws import external_laws, misfit
from sojourn.record import Record
from sojourn.scenario import Scenario, Source, load

require("gymnasium")

import gymnasium  # noqa: E402 - what is missing was said
from gymnasium.spaces import Box  # noqa: E402
from gymnasium.vector import AutoresetMode, VectorEnv  # noqa: E402
from gymnasium.vector.utils import batch_space  # noqa: E402

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
"""What an observation has, in this order, and what it is."""

FEATURES = tuple(MEANINGS)
"""The names of what an observation has."""

MOST_WINDOW = 10_000.0
"""The largest window that an agent gets, in segments."""

_AGENT = "agent"
_SLICE_S = 0.01
_SHORTEST_S = 1e-3


@dataclass(frozen=True)
class Step:
    """What the senders saw of a step: arrays of a number for each network. Data is in segments, times are in seconds.

    `marked` counts marked segments where the feedback does, otherwise echoes. `rtt` is the mean of the step, NaN
    without a sample. `path_rate` is what the path carries in segments a second, `length` how long the step was.
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
        """The part of the path's rate that was acknowledged, 0..1 and a little more after losses."""
        return self.acked / (self.length * self.path_rate)

    @property
    def delay(self) -> Array:
        """Mean round-trip time over the least, less 1: 0 where no packet waited; NaN without a sample."""
        return np.maximum(self.rtt / self.least_rtt - 1.0, 0.0)  # a mean is rounded, and so may be below the least

    @property
    def loss(self) -> Array:
        """Lost over lost and acknowledged segments, 0..1."""
        return _ratio(self.lost, self.lost + self.acked)


Reward: TypeAlias = Callable[[Step], Array]


def power(step: Step) -> Array:
    """The usual reward of a `step`: the used part of the rate, less a quarter of the delay in round trips, less loss.

    A full link without a queue gives 1, and with a queue of one bandwidth-delay product 0.75.

    >>> power(Step(*np.ones((12, 1))))  # all used, no delay, half of what was sent is lost
    array([0.5])
    """
    return step.used - 0.25 * np.nan_to_num(step.delay) - step.loss


class _Networks:
    """Runs that are stepped together. Each draws its episodes from its own stream: it does what it would do alone."""

    def __init__(self, scenario: Networks, group: str | None, step: float | None, reward: Reward) -> None:
        is_time = isinstance(step, (int, float)) and not isinstance(step, bool)
        if step is not None and not (is_time and _SHORTEST_S <= step <= 1e6):
            raise UserError.expected("step", "a time in seconds, 0.001 or more, or None for a round trip", step)
        if wrong := misfit(reward, None):
            got = f"{getattr(reward, '__name__', type(reward).__name__)}{wrong}" if callable(reward) else quoted(reward)
            raise UserError(f"reward: expected a function of a Step that gives an array of numbers, got {got}")
        self.source = scenario if callable(scenario) else _with_agent(load(scenario), group)
        self.group, self.length, self.reward = group, step, reward
        self.streams: list[np.random.Generator] = []
        self.runs: list[_sojourn.Agent] = []
        self.rates = self.window = self.now = self.srtt = self.delay = np.zeros(0)
        self.over = np.zeros(0, dtype=bool)  # whose episode has ended

    def seed(self, seeds: Sequence[Any]) -> None:
        """Begins the streams of all networks anew. Raises `UserError` for what is no seed."""
        for seed in seeds:
            if seed is not None and not (isinstance(seed, (int, np.integer)) and seed >= 0):
                raise UserError.expected("seed", "a whole number, 0 or more", seed)
        self.streams = [np.random.default_rng(seed) for seed in seeds]
        self.runs = [None] * len(seeds)  # type: ignore[list-item]
        self.rates, self.window, self.now, self.srtt, self.delay = (np.zeros(len(seeds)) for _ in range(5))
        self.over = np.ones(len(seeds), dtype=bool)

    def begin(self, position: int) -> Array:
        """The next episode of a network, up to its first round-trip time; gives the observation."""
        stream = self.streams[position]
        scenario = _with_agent(load(self.source(stream)), self.group) if callable(self.source) else self.source
        seed = int(stream.integers(2**63))
        with scenario.clean_errors():
            run = _sojourn.Agent(scenario.to_toml(), scenario.file, seed, _AGENT)
        self.runs[position], self.rates[position] = run, run.path_rate
        if self.reward is power and not np.isfinite(run.path_rate):
            raise UserError(f"{scenario.label}: expected a path with a rate, or a reward of your own, got one without")
        self.now[position] = self.srtt[position] = self.delay[position] = 0.0
        rows: list[Step] = []
        while not rows or self.srtt[position] == 0.0:
            step, ended = self._run([position], np.full(1, np.nan), np.full(1, np.inf), np.full(1, _SLICE_S))
            rows.append(step)
            if ended[0]:
                raise UserError(f"{scenario.label}: expected an agent's flow that is acknowledged, got none by the end")
        self.over[position] = False
        observation: Array = self._features([position], _joined(rows))[0]
        return observation

    def advance(self, positions: list[int], actions: Array) -> tuple[Array, Array, Flags]:
        """A step of these networks: observations, rewards, and whether each has come to its end."""
        self._begun("step")
        if self.over[positions].any():
            raise UserError("step: expected an episode that goes on, got one that has ended: call reset() first")
        window = np.clip(self.window[positions] * 2.0 ** actions[:, 0], 1.0, MOST_WINDOW)
        srtt = np.maximum(self.srtt[positions], _SHORTEST_S)
        pace = 2.0 ** actions[:, 1] * window / srtt if actions.shape[1] > 1 else np.full(len(positions), np.inf)
        length = srtt if self.length is None else np.full(len(positions), float(self.length))
        step, ended = self._run(positions, window, pace, length)
        self.over[positions] = ended
        return self._features(positions, step), self._rewards(step, len(positions)), ended

    def _rewards(self, step: Step, count: int) -> Array:
        """The rewards of a step. Raises `UserError` where these are not as many numbers as networks."""
        given = self.reward(step)
        try:
            rewards = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            rewards = np.full(0, np.nan)
        if given is None or rewards.shape != (count,) or not np.isfinite(rewards).all():
            shown = given.tolist() if isinstance(given, np.ndarray) else given
            raise UserError.expected("reward", f"finite numbers in an array of the shape ({count},)", shown)
        return rewards

    def _run(self, at: list[int], window: Array, pace: Array, length: Array) -> tuple[Step, Flags]:
        runs = [self.runs[position] for position in at]
        values, ended = _sojourn.step_agents(runs, window, pace, self.now[at] + length)
        named = dict(zip(_sojourn.OBSERVATION, values.T, strict=True))
        length = np.maximum(named["now"] - self.now[at], 1e-9)
        step = Step(**named, length=length, path_rate=self.rates[at])
        self.now[at], self.window[at], self.srtt[at] = step.now, np.maximum(step.window, 1.0), step.srtt
        return step, np.asarray(ended)

    def _features(self, at: list[int], step: Step) -> Array:
        """What an agent sees, a row for each network; without a sample the delay is that of before."""
        self.delay[at] = np.where(np.isnan(step.delay), self.delay[at], step.delay)
        window = self.window[at]
        delivered = step.acked * np.nan_to_num(step.least_rtt) / step.length / window
        marks = np.minimum(_ratio(step.marked, step.acked), 1.0)
        return np.column_stack([np.log2(window), step.in_flight / window, self.delay[at], delivered, step.loss, marks])

    def record(self, position: int) -> Record:
        """The record of a run, which goes to its end with the last window."""
        self._begun("record")
        self.over[position] = True
        return Record.from_json(*self.runs[position].finish())

    def _begun(self, call: str) -> None:
        """Raises `UserError` where no episode has begun."""
        if not self.runs:
            raise UserError(f"{call}: expected an episode that reset() has begun, got none")


def _ratio(part: Array, whole: Array) -> Array:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def _joined(steps: list[Step]) -> Step:
    """Steps one after the other as one step: counts and lengths add up, the rest is that of the last."""
    counts = ("acked", "lost", "marked", "timeouts", "length")
    added = {name: sum(getattr(step, name) for step in steps) for name in counts}
    return Step(**{each.name: added.get(each.name, getattr(steps[-1], each.name)) for each in fields(Step)})


def _with_agent(scenario: Scenario, group: str | None) -> Scenario:
    """A copy of a scenario in which the one flow of a group has the agent for its controller."""
    groups = {str(each.get("name", "")): each for each in scenario.to_dict().get("flows", [])}
    names = list(groups)
    if group is None:
        if len(names) != 1:
            raise UserError(f"group: expected the group whose flow is the agent's, one of {', '.join(names) or 'none'}")
        group = names[0]
    if group not in groups:
        raise UserError.unknown("group", group, names)
    if (count := groups[group].get("count", 1)) != 1:
        raise UserError.expected(f"{scenario.label}: flows.{group}.count", "1, the flow of the agent", count)
    _check_host_and_traffic(scenario, group)
    agent = {"cc": "external", "controller": _AGENT}
    return scenario.copy().set(f"flows.{paths.element(group)}.tcp.control", agent)


def _check_host_and_traffic(scenario: Scenario, group: str) -> None:
    """Raises `UserError` for a group whose sender no agent can steer, and for a law that nobody supplies."""
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


def _action_space(pacing: bool) -> Any:
    return Box(-1.0, 1.0, (2 if pacing else 1,), np.float64)


def _observation_space() -> Any:
    return Box(0.0, np.inf, (len(FEATURES),), np.float64)


class CongestionEnv(gymnasium.Env[Array, Array]):
    """One network in which the agent is the congestion controller of a flow.

    - `scenario`: a file, a text, a dictionary or a `Scenario`; or a function of a random generator that gives one, for
      another network in each episode. An episode is a run, as long as the scenario says, and ends truncated.
    - `group`: the group whose flow is the agent's; it has one. Not needed where there is one group.
    - `step`: seconds from an action to the next; None (the default): the smoothed round-trip time.
    - `pacing`: whether the agent sets a pace, too; default False: ACKs clock the packets out.
    - `reward`: a function of a `Step` that gives an array; default `power`.

    An action is a number from -1 to 1: the window is multiplied by 2 to that power, and is 1 to 10,000 segments. With
    `pacing` a second one does the same for the pace, from the window in a smoothed round-trip time. The observation has
    `FEATURES`. A timeout sets the window to one segment. `info` has `now`, the time in seconds.

    Raises `UserError` for an argument or an action that is not as above, and `ScenarioError` for a scenario that can't
    be run. `gymnasium.make("sojourn/Congestion-v0", scenario=...)` makes one, once this module is imported.

    >>> observation, info = CongestionEnv("examples/learn.toml").reset(seed=1)
    >>> len(observation) == len(FEATURES)
    True
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as in the class above

    def __init__(
        self,
        scenario: Networks,
        group: str | None = None,
        *,
        step: float | None = None,
        pacing: bool = False,
        reward: Reward = power,
    ) -> None:
        if not isinstance(pacing, bool):
            raise UserError.expected("pacing", "True or False", pacing)
        self.action_space, self.observation_space = _action_space(pacing), _observation_space()
        self._networks = _Networks(scenario, group, step, reward)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begins the next episode; with a `seed`, the first of that seed. Gives the first observation, and `info`.

        `options` are gymnasium's; they are not used.
        """
        super().reset(seed=seed, options=options)
        if seed is not None or not self._networks.streams:
            self._networks.seed([seed])
        return self._networks.begin(0), {"now": float(self._networks.now[0])}

    def step(self, action: npt.ArrayLike) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Runs for a step with `action`: observation, reward, False, whether the run has ended, and `info`."""
        actions = _actions(action, self.action_space.shape)
        observation, reward, ended = self._networks.advance([0], actions.reshape(1, -1))
        return observation[0], float(reward[0]), False, bool(ended[0]), {"now": float(self._networks.now[0])}

    def record(self) -> Record:
        """The record of this episode, as `sojourn.run` gives it. The run goes to its end; `reset` begins another."""
        return self._networks.record(0)


class VectorCongestionEnv(VectorEnv[Array, Array, Any]):
    """Many networks that are stepped together on all cores.

    Network i with the seed s is `CongestionEnv` with the seed s + i: it does the same, however many there are. One
    whose run has ended begins its next episode with the next step, without an action (`AutoresetMode.NEXT_STEP`).

    - `count`: how many, 1 to 100,000.
    - `scenario` and `group`: as of `CongestionEnv`, and so are the other arguments.

    >>> observations, info = VectorCongestionEnv("examples/learn.toml", count=3).reset(seed=1)
    >>> observations.shape
    (3, 6)
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 - as above

    def __init__(self, scenario: Networks, group: str | None = None, *, count: int, **arguments: Any) -> None:
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= 100_000:
            raise UserError.expected("count", "a number of networks, 1 to 100000", count)
        alone = CongestionEnv(scenario, group, **arguments)
        self.num_envs = count
        self.single_action_space, self.single_observation_space = alone.action_space, alone.observation_space
        self.action_space = batch_space(alone.action_space, count)
        self.observation_space = batch_space(alone.observation_space, count)
        self._networks = alone._networks
        self._ended = np.zeros(count, dtype=bool)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begins the next episode of every network; with a `seed`, the first of that seed. A list has one for each.

        `options` are gymnasium's; they are not used.
        """
        del options  # there are none
        if seed is not None or not self._networks.streams:
            self._networks.seed(self._seeds(seed))
        self._ended[:] = False
        observations = np.array([self._networks.begin(position) for position in range(self.num_envs)])
        return observations, {"now": self._networks.now.copy()}

    def _seeds(self, seed: Any) -> list[Any]:
        """A seed for each network."""
        if seed is None or isinstance(seed, (int, np.integer)):
            return [None if seed is None else seed + position for position in range(self.num_envs)]
        if not isinstance(seed, (Sequence, np.ndarray)) or isinstance(seed, str) or len(seed) != self.num_envs:
            raise UserError.expected("seed", f"a whole number, or a list of {self.num_envs}", seed)
        return list(seed)

    def step(self, actions: npt.ArrayLike) -> tuple[Array, Array, Flags, Flags, dict[str, Any]]:
        """Runs all for a step: observations, rewards, all False, which have ended, and `info`.

        `actions` has a row for each network.
        """
        actions = _actions(actions, self.action_space.shape)
        observations, rewards = np.empty((self.num_envs, len(FEATURES))), np.zeros(self.num_envs)
        ended = np.zeros(self.num_envs, dtype=np.bool_)
        going = np.flatnonzero(~self._ended).tolist()
        if going:
            observations[going], rewards[going], ended[going] = self._networks.advance(going, actions[going])
        for position in np.flatnonzero(self._ended).tolist():
            observations[position] = self._networks.begin(position)
        self._ended = ended
        return observations, rewards, np.zeros_like(ended), ended.copy(), {"now": self._networks.now.copy()}

    def record(self, position: int) -> Record:
        """The record of the present episode of the network at `position`, 0 or more.

        The run goes to its end; then `reset` all.
        """
        return self._networks.record(position)


def _actions(given: npt.ArrayLike, shape: tuple[int, ...] | None) -> Array:
    """Actions as numbers. Raises `UserError` for others than those of the action space."""
    try:
        actions = np.asarray(given, dtype=float)
        is_truth = np.asarray(given).dtype == bool
    except (TypeError, ValueError):
        raise UserError.expected("action", f"numbers from -1 to 1 in the shape {shape}", given) from None
    if is_truth or actions.shape != shape or not (np.abs(actions) <= 1.0).all():
        raise UserError.expected("action", f"numbers from -1 to 1 in the shape {shape}", given)
    return actions


gymnasium.register("sojourn/Congestion-v0", entry_point="sojourn.gym:CongestionEnv")
