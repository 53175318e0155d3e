"""Environments of gymnasium: one network, or many that are stepped together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from sojourn.errors import UserError
from sojourn.gym.episodes import FEATURES, Array, Episodes, Flags, Networks, Reward, power
from sojourn.record import Record


def action_space(pacing: bool) -> Any:
    """The space of the actions of an agent, a number for the window and with `pacing` one for the pace."""
    return Box(-1.0, 1.0, (2 if pacing else 1,), np.float64)


def observation_space() -> Any:
    """The space of the observations of an agent."""
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
        self.action_space, self.observation_space = action_space(pacing), observation_space()
        self._episodes = Episodes(scenario, [group], step, reward)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begins the next episode; with a `seed`, the first of that seed. Gives the first observation, and `info`.

        `options` are gymnasium's; they are not used.
        """
        super().reset(seed=seed, options=options)
        if seed is not None or not self._episodes.streams:
            self._episodes.seed([seed])
        return self._episodes.begin(0)[0], {"now": float(self._episodes.now[0])}

    def step(self, action: npt.ArrayLike) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Runs for a step with `action`: observation, reward, False, whether the run has ended, and `info`."""
        actions = checked_actions(action, self.action_space.shape)
        observation, reward, ended = self._episodes.advance([0], actions.reshape(1, -1))
        return observation[0], float(reward[0]), False, bool(ended[0]), {"now": float(self._episodes.now[0])}

    def record(self) -> Record:
        """The record of this episode, as `sojourn.run` gives it. The run goes to its end; `reset` begins another."""
        return self._episodes.record(0)


class VectorCongestionEnv(VectorEnv[Array, Array, Any]):
    """Many networks that are stepped together on all cores.

    Network i with the seed s is `CongestionEnv` with the seed s + i: it does the same, however many there are. After
    its run ends, a network starts its next episode with the next step, without an action (`AutoresetMode.NEXT_STEP`).

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
        self._episodes = alone._episodes
        self._ended = np.zeros(count, dtype=bool)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begins the next episode of every network; with a `seed`, the first of that seed. A list has one for each.

        `options` are gymnasium's; they are not used.
        """
        del options  # required by gymnasium's interface
        if seed is not None or not self._episodes.streams:
            self._episodes.seed(self._seeds(seed))
        self._ended[:] = False
        observations = np.array([self._episodes.begin(position)[0] for position in range(self.num_envs)])
        return observations, {"now": self._episodes.now.copy()}

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
        actions = checked_actions(actions, self.action_space.shape)
        observations, rewards = np.empty((self.num_envs, len(FEATURES))), np.zeros(self.num_envs)
        ended = np.zeros(self.num_envs, dtype=np.bool_)
        going = np.flatnonzero(~self._ended).tolist()
        if going:
            observations[going], rewards[going], ended[going] = self._episodes.advance(going, actions[going])
        for position in np.flatnonzero(self._ended).tolist():
            observations[position] = self._episodes.begin(position)[0]
        self._ended = ended
        return observations, rewards, np.zeros_like(ended), ended.copy(), {"now": self._episodes.now.copy()}

    def record(self, position: int) -> Record:
        """The record of the present episode of the network at `position`, 0 or more.

        The run goes to its end; then `reset` all.
        """
        return self._episodes.record(position)


def checked_actions(given: npt.ArrayLike, shape: tuple[int, ...] | None) -> Array:
    """Actions as numbers. Raises `UserError` for others than those of the action space."""
    try:
        actions = np.asarray(given, dtype=float)
        is_truth = np.asarray(given).dtype == bool
    except (TypeError, ValueError, OverflowError):
        raise UserError.expected("action", f"numbers from -1 to 1 in the shape {shape}", given) from None
    if is_truth or actions.shape != shape or not (np.abs(actions) <= 1.0).all():
        raise UserError.expected("action", f"numbers from -1 to 1 in the shape {shape}", given)
    return actions
