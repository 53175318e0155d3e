"""Environments of gymnasium and PettingZoo: agents set congestion windows step by step."""

from dataclasses import fields, replace

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test

from sojourn.core.errors import ScenarioError, UserError
from sojourn.core.scenario_files import loads
from sojourn.gym import FEATURES, CongestionEnv, MultiCongestionEnv, Step, VectorCongestionEnv, power

LINK_TEXT = """
duration = "3 s"
[[links]]
name = "bottleneck"
from = "a"
to = "b"
rate = "12 Mbit/s"
delay = "25 ms"
duplex = true
queue = { aqm = "droptail", limit = "60 packets" }
[[flows]]
name = "mine"
from = "a"
to = "b"
traffic = { kind = "bulk" }
"""
TWO_TEXT = LINK_TEXT + '[[flows]]\nname = "cross"\nfrom = "a"\nto = "b"\ntraffic = { kind = "bulk" }\n'
LINK, TWO = loads(LINK_TEXT), loads(TWO_TEXT)
LOSSY = LINK.copy().set("links.bottleneck.impairments", [{"kind": "loss", "probability": 0.02}])
BDP = 12e6 * 0.05 / (1500 * 8)


def episode(env, actions, seed):
    observation, _ = env.reset(seed=seed)
    steps = [(observation, 0.0, False)]
    for action in actions:
        observation, reward, terminated, truncated, _ = env.step(action)
        assert not terminated
        steps.append((observation, reward, truncated))
        if truncated:
            break
    return steps


def feature(observation, name):
    return observation[..., FEATURES.index(name)]


@pytest.mark.parametrize("pacing", [False, True])
def test_it_is_an_environment_as_gymnasium_defines_one(pacing):
    check_env(CongestionEnv(LINK, pacing=pacing), skip_render_check=True)


def test_a_window_that_stays_carries_itself_in_a_round_trip():
    env = CongestionEnv(LINK)
    steps = episode(env, [[0.0]] * 200, seed=1)
    assert steps[-1][2], "3 s are over"
    late = np.array([observation for observation, _, _ in steps[5:]])
    np.testing.assert_allclose(feature(late, "window"), np.log2(10))
    np.testing.assert_allclose(feature(late, "loss"), 0)
    assert feature(late, "delivered").mean() == pytest.approx(1, abs=0.05)
    flow = env.record().flows.loc["mine/0"]
    handshake = 0.05
    expected = 10 * 1500 * 8 / (flow["rtt_ms.mean"] / 1e3) * (1 - handshake / 3)
    assert flow["throughput_bps"] == pytest.approx(expected, rel=0.01)


def test_a_delay_is_never_below_0_though_a_mean_is_rounded():
    rtt = np.full(1, 0.052416)
    seen = Step(**dict.fromkeys([each.name for each in fields(Step)], rtt))
    assert replace(seen, rtt=rtt * (1 - 2**-52)).delay == [0.0]
    assert np.isnan(replace(seen, rtt=np.full(1, np.nan)).delay).all()


def test_a_window_of_more_than_the_path_fills_the_queue():
    double = episode(CongestionEnv(LINK), [[1.0], [1.0], [0.9], *[[0.0]] * 30], seed=1)
    window = 10 * 2**2.9
    assert 2 ** feature(double[-2][0], "window") == pytest.approx(window)
    # The round-trip time is what the window takes at the rate of the link.
    assert feature(double[-2][0], "delay") == pytest.approx(window / (BDP + 1) - 1, abs=0.05)
    assert double[-2][1] == pytest.approx(1 - 0.25 * feature(double[-2][0], "delay"), abs=0.03)


def test_the_same_seed_and_actions_give_the_same_packets():
    actions = np.random.default_rng(3).uniform(-0.5, 0.6, (60, 1))
    first, again, other = (episode(CongestionEnv(LOSSY), actions, seed) for seed in (1, 1, 2))
    assert str(first) == str(again)
    assert str(first) != str(other)
    assert any(feature(observation, "loss") > 0 for observation, _, _ in first)


def test_networks_together_do_what_each_does_alone():
    seeds, actions = (7, 8, 9), np.random.default_rng(4).uniform(-1, 1, (40, 3, 1))
    together = VectorCongestionEnv(LOSSY, count=3, step=0.05)
    observations, _ = together.reset(seed=7)
    all_steps = [observations, *(together.step(action)[0] for action in actions)]
    for position, seed in enumerate(seeds):
        alone = episode(CongestionEnv(LOSSY, step=0.05), actions[:, position], seed)
        np.testing.assert_array_equal([each[position] for each in all_steps], [each[0] for each in alone])


def test_a_network_whose_run_has_ended_begins_the_next_episode():
    env = VectorCongestionEnv(LINK, count=2, step=1.0)
    first, _ = env.reset(seed=1)
    hold = np.zeros((2, 1))
    ended = [env.step(hold)[3].tolist() for _ in range(3)]
    assert ended == [[False, False], [False, False], [True, True]]
    again, rewards, _, truncated, info = env.step(hold)
    assert rewards.tolist() == [0, 0]
    assert truncated.tolist() == [False, False]
    np.testing.assert_allclose(again, first)
    assert (info["now"] < 1).all()


def test_networks_of_a_function_are_drawn_from_the_seed():
    def network(random):
        return loads(LINK_TEXT.replace("12 Mbit/s", f"{random.integers(5, 50)} Mbit/s"))

    def rates(seed):
        env = CongestionEnv(network)
        env.reset(seed=seed)
        found = []
        for _ in range(3):
            found.append(env.record()["links"][0]["rate_bps"])
            env.reset()
        return found

    assert rates(5) == rates(5)
    assert len(set(rates(5))) > 1


def test_a_timeout_sets_the_window_to_one_segment():
    outage = {"kind": "outage", "at": "1 s", "length": "1 s"}
    cut = LINK.copy().set("links.bottleneck.impairments", [outage])
    seen = []
    steps = episode(CongestionEnv(cut, reward=lambda step: seen.append(step) or np.zeros(1)), [[0.0]] * 200, seed=1)
    assert sum(float(step.timeouts[0]) for step in seen) >= 1
    assert min(feature(observation, "window") for observation, _, _ in steps) == 0


def test_a_reward_gets_the_step():
    seen: list[Step] = []
    env = VectorCongestionEnv(LINK, count=2, reward=lambda step: seen.append(step) or 2 * power(step))
    env.reset(seed=1)
    rewards = env.step(np.zeros((2, 1)))[1]
    np.testing.assert_allclose(rewards, 2 * power(seen[0]))
    np.testing.assert_allclose(seen[0].path_rate, 12e6 / (1500 * 8))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"scenario": TWO}, "group: expected the group whose flow is the agent's, one of mine, cross"),
        ({"scenario": TWO, "group": "mien"}, '"mien"'),
        (
            {"scenario": LINK.copy().set("flows.mine.count", 3)},
            "flows.mine.count: expected 1",
        ),
        ({"scenario": loads(LINK_TEXT.replace("12 Mbit/s", "12 Mbits"))}, "12 Mbits"),
        ({"scenario": loads(LINK_TEXT.replace('"3 s"', '"10 ms"'))}, "that is acknowledged, got none by the end"),
        ({"scenario": LINK, "step": 0}, "step: expected a time in seconds"),
        ({"scenario": LINK, "step": True}, "step: expected a time in seconds"),
        ({"scenario": LINK, "pacing": "yes"}, 'pacing: expected True or False, got "yes"'),
        (
            {"scenario": loads(f'host = "linux"{LINK_TEXT}')},
            "since a Linux host takes no agent, got linux",
        ),
        (
            {"scenario": loads(LINK_TEXT.replace('"bulk"', '"cbr", rate = "1 Mbit/s"'))},
            "flows.mine.traffic: expected traffic over TCP, whose window is the agent's, got cbr over UDP",
        ),
        (
            {"scenario": loads(LINK_TEXT.replace('"droptail"', '"external", law = "mine"'))},
            "expected queues without a law in Python, got mine",
        ),
        (
            {"scenario": LINK, "reward": lambda step: np.full(1, np.nan)},
            "reward: expected finite numbers in an array of the shape (1,), got [nan]",
        ),
        ({"scenario": LINK, "reward": lambda step: None}, "in an array of the shape (1,), got None"),
        ({"scenario": LINK, "reward": lambda step: "much"}, 'in an array of the shape (1,), got "much"'),
        ({"scenario": LINK, "reward": lambda step: 1.0}, "in an array of the shape (1,), got 1.0"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments, said):
    with pytest.raises((UserError, ScenarioError)) as raised:
        episode(CongestionEnv(**arguments), [[0.0]], seed=1)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("action", [[0.0, 0.0], [float("nan")], [1.5], [-5.0], [True], "up", None, [10**400], 10**400])
def test_an_action_that_is_none_is_refused(action):
    env = CongestionEnv(LINK)
    env.reset(seed=1)
    with pytest.raises(UserError, match="action: expected numbers from -1 to 1"):
        env.step(action)


def test_a_number_that_is_too_large_is_refused_in_one_line():
    env = VectorCongestionEnv(LINK, count=2, reward=lambda step: [10**400, 1])
    env.reset(seed=10**400)
    with pytest.raises(UserError, match="reward: expected finite numbers"):
        env.step([[0.0], [0.0]])
    for position in (10**400, -1, 2, 0.5, True, "x"):
        with pytest.raises(UserError, match="position: expected that of a network, 0 to 1, got"):
            env.record(position)


@pytest.mark.parametrize("group", ["theirs", None])
def test_a_scenario_without_the_agents_flow_is_refused_before_an_episode(group):
    with pytest.raises(UserError, match="group: expected"):
        CongestionEnv(TWO, group)
    with pytest.raises(UserError, match=r"none\.toml: cannot read"):
        CongestionEnv("none.toml")


@pytest.mark.parametrize("env", [CongestionEnv(LINK), VectorCongestionEnv(LINK, count=2)])
def test_what_comes_before_the_first_reset_is_refused(env):
    with pytest.raises(UserError, match=r"step: expected an episode that reset\(\) has begun, got none"):
        env.step(env.action_space.sample())
    with pytest.raises(UserError, match=r"record: expected an episode"):
        env.record(0) if isinstance(env, VectorCongestionEnv) else env.record()


async def later(step): ...


@pytest.mark.parametrize(
    ("reward", "got"),
    [
        (3, "3"),
        (lambda: 1.0, "<lambda>(), which takes 0 arguments"),
        (later, "later that is a coroutine function (async def)"),
    ],
)
def test_what_is_no_reward_is_refused_when_the_environment_is_made(reward, got):
    wanted = f"reward: expected a function of a Step that gives an array of numbers, got {got}"
    for make in (CongestionEnv, lambda *of, **with_: VectorCongestionEnv(*of, count=2, **with_)):
        with pytest.raises(UserError) as raised:
            make(LINK, reward=reward)
        assert str(raised.value) == wanted


def test_networks_together_take_a_seed_for_each():
    together, alone = VectorCongestionEnv(LOSSY, count=3, step=0.05), CongestionEnv(LOSSY, step=0.05)
    up = np.full((3, 1), 0.5)
    together.reset(seed=[7, 3, 7])
    steps = [together.step(up)[0] for _ in range(20)]
    for position, seed in enumerate([7, 3, 7]):
        found = episode(alone, [[0.5]] * 20, seed)
        np.testing.assert_array_equal([each[position] for each in steps], [each[0] for each in found[1:]])
    together.reset(seed=np.array([1, 2, 3]))


@pytest.mark.parametrize("seed", [[1, 2], [], "12", 1.5, [1, "2"], [1, -2], -1])
def test_seeds_that_are_none_are_refused_in_one_line(seed):
    env = VectorCongestionEnv(LINK, count=2)
    with pytest.raises(UserError, match=r"^seed: expected a whole number, (or a list of 2|0 or more), got ") as raised:
        env.reset(seed=seed if seed != [1, 2] else [1, 2, 3])
    assert "\n" not in str(raised.value)


def test_after_the_end_of_an_episode_a_step_is_refused_until_the_next_reset():
    env = CongestionEnv(LINK, step=1.0)
    env.reset(seed=1)
    while not env.step([0.0])[3]:
        pass
    said = r"^step: expected an episode that goes on, got one that has ended: call reset\(\) first$"
    with pytest.raises(UserError, match=said):
        env.step([0.0])
    assert env.record()["seed"] is not None
    env.reset()
    env.step([0.0])
    env.record()  # takes the run to its end
    with pytest.raises(UserError, match=said):
        env.step([0.0])


LATE = loads(TWO_TEXT + 'start = "1 s"\n')


def steps_of(env, action, seed):
    """The steps of an episode in which every agent repeats an action."""
    env.reset(seed=seed)
    steps = []
    while env.agents:
        steps.append(env.step(dict.fromkeys(env.agents, action)))
    return steps


@pytest.mark.parametrize("scenario", [TWO, LATE])
def test_several_agents_are_an_environment_as_pettingzoo_defines_one(scenario):
    parallel_api_test(MultiCongestionEnv(scenario, step=0.2), num_cycles=40)


def test_one_agent_of_several_does_what_it_does_alone():
    alone, multi = CongestionEnv(LOSSY), MultiCongestionEnv(LOSSY)
    actions = np.random.default_rng(3).uniform(-0.5, 0.6, (40, 1))
    expected = episode(alone, actions, seed=1)
    observations, _ = multi.reset(seed=1)
    np.testing.assert_array_equal(observations["mine"], expected[0][0])
    for action, (observation, reward, _) in zip(actions, expected[1:], strict=True):
        observations, rewards, *_ = multi.step({"mine": action})
        np.testing.assert_array_equal(observations["mine"], observation)
        assert rewards == {"mine": reward}


def test_the_windows_of_two_agents_share_the_link_in_their_proportion():
    env = MultiCongestionEnv(TWO)
    env.reset(seed=1)
    env.step({"mine": [1.0], "cross": [0.0]})
    while env.agents:
        _, _, terminated, _, _ = env.step(dict.fromkeys(env.agents, (0.0,)))
        assert not any(terminated.values())
    goodput = env.record().flows["goodput_bps"]
    # Windows of 20 and 10 segments stay below the path and the queue: each flow gets its window in a round trip.
    assert goodput["mine/0"] / goodput["cross/0"] == pytest.approx(2, rel=0.05)


def test_an_agent_joins_when_its_flow_has_measured_a_round_trip():
    env = MultiCongestionEnv(LATE, step=0.1)
    observations, _ = env.reset(seed=1)
    assert list(observations) == env.agents == ["mine"]
    joined = {infos["mine"]["now"]: "cross" in seen for seen, *_, infos in steps_of(env, (0.0,), seed=1)}
    handshake_done = 1.0 + 0.05
    assert all(present == (now > handshake_done) for now, present in joined.items())
    assert set(joined.values()) == {False, True}


def test_a_reward_sees_all_agents():
    seen: list[Step] = []
    shared = MultiCongestionEnv(TWO, reward=lambda step: seen.append(step) or np.full(2, power(step).mean()))
    _, rewards, *_ = steps_of(shared, (0.1,), seed=2)[-1]
    assert rewards["mine"] == rewards["cross"] == pytest.approx(power(seen[-1]).mean())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"groups": ["mine", "mien"]}, '"mien"'),
        ({"groups": ["mine", "mine"]}, "groups: expected a list of different groups, one for each agent"),
        ({"groups": "mine"}, "groups: expected a list of different groups"),
        ({"groups": []}, "groups: expected a list of different groups"),
        ({"scenario": lambda random: TWO}, "groups: expected the groups of the agents, since the scenario is a"),
        ({"pacing": 1}, "pacing: expected True or False, got 1"),
    ],
)
def test_wrong_groups_are_refused_in_one_line(arguments, said):
    with pytest.raises(UserError) as raised:
        MultiCongestionEnv(**{"scenario": TWO, **arguments})
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("actions", [{}, {"mine": [0]}, {"mine": [0], "cross": [0], "else": [0]}, [[0], [0]]])
def test_a_step_takes_an_action_of_each_agent_and_no_other(actions):
    env = MultiCongestionEnv(TWO)
    env.reset(seed=1)
    with pytest.raises(UserError, match="actions: expected an action for each of mine, cross, got"):
        env.step(actions)
