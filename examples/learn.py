"""Trains a small policy to control congestion, and compares it with CUBIC on links that it has not seen.

    pip install 'sojourn[gym]' stable-baselines3
    python examples/learn.py                    # 100,000 steps: a minute or two
    python examples/learn.py --steps 20000      # a look

Each episode is 20 s of one flow over another link: 5 to 50 Mbit/s, 10 to 100 ms, and a DropTail queue of a half to four
bandwidth-delay products. The reward is `sojourn.gym.power`: the used part of the rate, less a quarter of the delay in
round-trip times, less the loss ratio.
"""

import argparse

import numpy as np

import sojourn as sj

try:
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import DummyVecEnv

    from sojourn.gym import CongestionEnv
except ImportError as error:
    raise SystemExit(f"{error}: pip install 'sojourn[gym]' stable-baselines3") from None

BASE = sj.load("examples/learn.toml")
SEGMENT_BITS = 1500 * 8
NETWORKS = 8
UNSEEN = range(1000, 1010)


def network(random):
    """A link at random, on a logarithmic scale."""
    rate = 10 ** random.uniform(np.log10(5e6), np.log10(50e6))
    round_trip = 10 ** random.uniform(-2, -1)
    product = rate * round_trip / SEGMENT_BITS
    limit = max(4, round(product * 2 ** random.uniform(-1, 2)))
    scenario = BASE.copy().set("links.bottleneck.rate", f"{rate / 1e6:.3f} Mbit/s")
    scenario.set("links.bottleneck.delay", f"{round_trip / 2 * 1e3:.3f} ms")
    return scenario.set("links.bottleneck.queue.limit", f"{limit} packets")


def measured(record):
    """Utilization, mean delay in the queue in ms, and loss ratio of the bottleneck."""
    link = record.links.loc["bottleneck"]
    return link["utilization"], link["wait_ms.mean"], link["loss_ratio"]


def learned(model, seed):
    """What the policy does on the network of a seed."""
    env = CongestionEnv(network)
    observation, _ = env.reset(seed=seed)
    ended = False
    while not ended:
        action, _ = model.predict(observation, deterministic=True)
        observation, _, _, ended, _ = env.step(action)
    return measured(env.record())


def cubic(seed):
    """What CUBIC does on the same network."""
    scenario = network(np.random.default_rng(seed)).copy()
    return measured(sj.run(scenario.set("flows.agent.tcp.control", {"cc": "cubic"}), seed=1))


def main():
    """Trains, and prints a line for each unseen network."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    envs = DummyVecEnv([lambda: CongestionEnv(network)] * NETWORKS)
    envs.seed(arguments.seed)
    # Actions are tried near those of the policy: from windows that double at random it learns nothing.
    small = {"net_arch": [32, 32], "log_std_init": -1.5}
    rates = {"learning_rate": 1e-3, "gamma": 0.95, "n_steps": 256, "batch_size": 256}
    model = PPO("MlpPolicy", envs, policy_kwargs=small, **rates, seed=arguments.seed, device="cpu")
    model.learn(arguments.steps)
    print("network    utilization      delay in ms     loss ratio")
    print("         policy   CUBIC   policy   CUBIC   policy   CUBIC")
    rows = []
    for seed in UNSEEN:
        rows.append([*learned(model, seed), *cubic(seed)])
        used, delay, loss, used_cubic, delay_cubic, loss_cubic = rows[-1]
        print(f"{seed:7} {used:7.3f} {used_cubic:7.3f} {delay:8.1f} {delay_cubic:7.1f} {loss:8.4f} {loss_cubic:7.4f}")
    used, delay, loss, used_cubic, delay_cubic, loss_cubic = np.mean(rows, axis=0)
    print(f"{'mean':>7} {used:7.3f} {used_cubic:7.3f} {delay:8.1f} {delay_cubic:7.1f} {loss:8.4f} {loss_cubic:7.4f}")


if __name__ == "__main__":
    main()
