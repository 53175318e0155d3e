"""Environments of gymnasium: one network, or many networks stepped together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from sojourn.core.errors import UserError
from sojourn.core.record import Record
from sojourn.gym.episodes import FEATURES, Array, Episodes, Flags, Networks, Reward, power


def action_space(pacing: bool) -> Any:
    """The action space of an agent: a number for the window; with `pacing` one for the rate."""
    return Box(-1.0, 1.0, (2 if pacing else 1,), np.float64)


def observation_space() -> Any:
    """The observation space of an agent."""
    return Box(0.0, np.inf, (len(FEATURES),), np.float64)


class CongestionEnv(gymnasium.Env[Array, Array]):
    """One network in which the agent is the congestion controller of a flow.

    - `scenario`: a file, a text, a dictionary or a `Scenario`. A function of a random generator that returns one of
      these makes another network for each episode. An episode is one run of the scenario's duration. It ends as
      truncated.
    - `group`: the group whose only flow the agent controls. Optional if the scenario has one group.
    - `step`: seconds from one action to the next. Default None: the smoothed round-trip time.
    - `pacing`: whether the agent also sets a pacing rate. Default False: ACKs clock the packets out.
    - `reward`: a function of a `Step` that returns an array. Default: `power`.

    An action is a number from -1 to 1. The window is multiplied by 2 to that power and is kept within 1 to 10,000
    segments. With `pacing`, a second number changes the pacing rate in the same way; it starts at one window per
    smoothed round-trip time. The observation has the features `FEATURES`. A timeout sets the window to one segment.
    `info` has `now`, the time in seconds.

    Raises `UserError` for an invalid argument or action, and `ScenarioError` for a scenario that can't be run.
    `gymnasium.make("sojourn/Congestion-v0", scenario=...)` works after this module is imported.

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
        """Starts the next episode, or with a `seed` the first episode of that seed.

        Returns the first observation and `info`. `options` is part of gymnasium's interface and is ignored.
        """
        super().reset(seed=seed, options=options)
        if seed is not None or not self._episodes.streams:
            self._episodes.seed([seed])
        return self._episodes.begin(0)[0], {"now": float(self._episodes.now[0])}

    def step(self, action: npt.ArrayLike) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Runs one step with `action`.

        Returns observation, reward, terminated (always False), truncated (the run has ended), and `info`.
        """
        actions = checked_actions(action, self.action_space.shape)
        observation, reward, ended = self._episodes.advance([0], actions.reshape(1, -1))
        return observation[0], float(reward[0]), False, bool(ended[0]), {"now": float(self._episodes.now[0])}

    def record(self) -> Record:
        """The record of this episode, as `sojourn.run` returns it.

        This runs the episode to its end; `reset` starts the next one.
        """
        return self._episodes.record(0)


class VectorCongestionEnv(VectorEnv[Array, Array, Any]):
    """Many networks that are stepped together on all cores.

    With the seed s, network i equals a `CongestionEnv` with the seed s + i, whatever `count` is. After its run ends,
    the next step starts the network's next episode and ignores its action (`AutoresetMode.NEXT_STEP`).

    - `count`: the number of networks, 1 to 100,000.
    - `scenario`, `group` and the other arguments: see `CongestionEnv`.

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
        """Starts the next episode of every network, or with a `seed` the first of that seed.

        A list contains one seed per network. `options` is part of gymnasium's interface and is ignored.
        """
        del options  # required by gymnasium's interface
        if seed is not None or not self._episodes.streams:
            self._episodes.seed(self._seeds(seed))
        self._ended[:] = False
        observations = np.array([self._episodes.begin(position)[0] for position in range(self.num_envs)])
        return observations, {"now": self._episodes.now.copy()}

    def _seeds(self, seed: Any) -> list[Any]:
        """One seed per network."""
        if seed is None or isinstance(seed, (int, np.integer)):
            return [None if seed is None else seed + position for position in range(self.num_envs)]
        if not isinstance(seed, (Sequence, np.ndarray)) or isinstance(seed, str) or len(seed) != self.num_envs:
            raise UserError.expected("seed", f"a whole number, or a list of {self.num_envs}", seed)
        return list(seed)

    def step(self, actions: npt.ArrayLike) -> tuple[Array, Array, Flags, Flags, dict[str, Any]]:
        """Runs all networks for one step; `actions` has one row per network.

        Returns observations, rewards, terminated (all False), truncated (the run has ended), and `info`.
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
        """The record of the current episode of the network at `position`, 0 or more.

        This runs the episode to its end. Call `reset` before the next step.
        """
        return self._episodes.record(position)


def checked_actions(given: npt.ArrayLike, shape: tuple[int, ...] | None) -> Array:
    """Actions as numbers. Raises `UserError` for actions outside the action space."""
    try:
        actions = np.asarray(given, dtype=float)
        is_truth = np.asarray(given).dtype == bool
    except (TypeError, ValueError, OverflowError):
        raise UserError.expected("action", f"numbers from -1 to 1 in the shape {shape}", given) from None
    if is_truth or actions.shape != shape or not (np.abs(actions) <= 1.0).all():
        raise UserError.expected("action", f"numbers from -1 to 1 in the shape {shape}", given)
    return actions
