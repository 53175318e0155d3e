"""The environment of PettingZoo: several agents in one network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from pettingzoo import ParallelEnv

from sojourn.core.errors import UserError
from sojourn.core.record import Record
from sojourn.core.scenario_files import load
from sojourn.gym.environments import action_space, checked_actions, observation_space
from sojourn.gym.episodes import Array, Episodes, Networks, Reward, power


class MultiCongestionEnv(ParallelEnv[str, Array, Array]):  # type: ignore[misc]  # the library has no types
    """One network in which each agent controls the congestion of one flow.

    This is a `pettingzoo.ParallelEnv`.

    - `scenario`, `step`, `pacing` and `reward`: see `CongestionEnv`. The arrays of a `Step` have one number per agent,
      in the order of `possible_agents`, so a reward may depend on all agents.
    - `groups`: the groups whose only flow an agent controls. Default: all groups of the scenario. Required if
      `scenario` is a function.

    An agent has the name of its group. `agents` lists the agents whose flow has measured a round trip; a flow that
    starts late joins then. By default a step lasts the longest smoothed round-trip time of all agents. The same seed
    and the same actions produce the same packets.

    Raises `UserError` for an invalid argument or action, and `ScenarioError` for a scenario that can't be run.

    >>> flows = [{"name": name, "from": "a", "to": "b"} for name in ("left", "right")]
    >>> link = {"name": "l", "from": "a", "to": "b", "rate": "10 Mbit/s", "delay": "20 ms", "duplex": True}
    >>> env = MultiCongestionEnv({"duration": "5 s", "links": [link], "flows": flows})
    >>> observations, infos = env.reset(seed=1)
    >>> observations, rewards, terminations, truncations, infos = env.step({"left": [0.5], "right": [-0.5]})
    >>> env.agents
    ['left', 'right']
    """

    metadata: dict[str, Any] = {"render_modes": [], "name": "sojourn_congestion"}  # noqa: RUF012 - PettingZoo's

    def __init__(
        self,
        scenario: Networks,
        groups: Sequence[str] | None = None,
        *,
        step: float | None = None,
        pacing: bool = False,
        reward: Reward = power,
    ) -> None:
        if not isinstance(pacing, bool):
            raise UserError.expected("pacing", "True or False", pacing)
        if groups is None:
            if callable(scenario):
                raise UserError("groups: expected the groups of the agents, since the scenario is a function, got none")
            groups = [str(group.get("name", "")) for group in load(scenario).to_dict().get("flows", [])]
        if isinstance(groups, str) or not groups or len(set(groups)) != len(groups):
            raise UserError.expected("groups", "a list of different groups, one for each agent", groups)
        self.possible_agents = list(groups)
        self.agents: list[str] = []
        self._spaces = action_space(pacing), observation_space()
        self._episodes = Episodes(scenario, list(groups), step, reward)

    def action_space(self, agent: str) -> Any:
        """The action space, the same for each `agent`: a number from -1 to 1; with `pacing` two."""
        del agent
        return self._spaces[0]

    def observation_space(self, agent: str) -> Any:
        """The observation space, the same for each `agent`: a number from 0 per feature."""
        del agent
        return self._spaces[1]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Array], dict[str, dict[str, Any]]]:
        """Starts the next episode, or with a `seed` the first episode of that seed.

        Returns observations and infos by agent. `options` is part of PettingZoo's interface and is ignored.
        """
        del options  # required by PettingZoo's interface
        if seed is not None or not self._episodes.streams:
            self._episodes.seed([seed])
        observations = self._episodes.begin(0)
        self.agents = self._joined()
        return self._named(observations), self._infos()

    def step(
        self, actions: Mapping[str, npt.ArrayLike]
    ) -> tuple[dict[str, Array], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Runs one step with `actions` by agent.

        Returns observations, rewards, terminations, truncations and infos by agent. An agent that joins in this step
        has an observation, and a reward for its first round trip.
        """
        if not isinstance(actions, Mapping) or set(actions) != set(self.agents):
            given = sorted(map(str, actions)) if isinstance(actions, Mapping) else actions
            raise UserError.expected("actions", f"an action for each of {', '.join(self.agents) or 'no agents'}", given)
        shape = self._spaces[0].shape
        rows = np.zeros((len(self.possible_agents), *shape))
        for place, agent in enumerate(self.possible_agents):
            if agent in actions:
                rows[place] = checked_actions(actions[agent], shape)
        observations, rewards, ended = self._episodes.advance([0], rows)
        self.agents = self._joined()
        seen, paid, infos = self._named(observations), self._named(rewards), self._infos()
        over = dict.fromkeys(self.agents, bool(ended[0]))
        terminated = dict.fromkeys(self.agents, False)
        if ended[0]:
            self.agents = []
        return seen, {agent: float(reward) for agent, reward in paid.items()}, terminated, over, infos

    def record(self) -> Record:
        """The record of this episode, as `sojourn.run` returns it.

        This runs the episode to its end; `reset` starts the next one.
        """
        self.agents = []
        return self._episodes.record(0)

    def _joined(self) -> list[str]:
        """The agents whose flow has measured a round trip."""
        srtt = self._episodes.srtt
        return [agent for agent, measured in zip(self.possible_agents, srtt > 0, strict=True) if measured]

    def _named(self, rows: Array) -> dict[str, Any]:
        """The rows of the present agents, by agent name."""
        return {agent: rows[self.possible_agents.index(agent)] for agent in self.agents}

    def _infos(self) -> dict[str, dict[str, Any]]:
        return {agent: {"now": float(self._episodes.now[0])} for agent in self.agents}
