"""Environments whose agents are congestion controllers and act once per round trip.

Needs the extra `gym`. `CongestionEnv` (gymnasium) has one network and one agent. `VectorCongestionEnv` (gymnasium)
steps many such networks on all cores. `MultiCongestionEnv` (PettingZoo) has several agents in one network.

An action changes the congestion window of the agent's flow. The observation summarizes the feedback to its sender since
the last action. The same seed and the same actions produce the same packets.

>>> from sojourn.gym import CongestionEnv, FEATURES
>>> env = CongestionEnv("examples/learn.toml")
>>> observation, info = env.reset(seed=1)
>>> observation, reward, terminated, truncated, info = env.step([0.5])
>>> FEATURES[0], round(float(2 ** observation[0]), 1)  # half an octave more than the initial window of 10
('window', 14.1)
"""

from sojourn.core.extras import require

require("gymnasium", "pettingzoo")

import gymnasium  # noqa: E402 - the error for a missing extra comes first

from sojourn.gym.environments import CongestionEnv, VectorCongestionEnv  # noqa: E402
from sojourn.gym.episodes import FEATURES, MEANINGS, MOST_WINDOW, Reward, Step, power  # noqa: E402
from sojourn.gym.multi import MultiCongestionEnv  # noqa: E402

__all__ = [
    "FEATURES",
    "MEANINGS",
    "MOST_WINDOW",
    "CongestionEnv",
    "MultiCongestionEnv",
    "Reward",
    "Step",
    "VectorCongestionEnv",
    "power",
]

gymnasium.register("sojourn/Congestion-v0", entry_point="sojourn.gym:CongestionEnv")
