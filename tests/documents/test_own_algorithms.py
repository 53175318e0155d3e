"""docs/own-algorithms.md: its tables are generated, and its statements are true."""

import re
import runpy
import shlex
import sys
import types

import gymnasium
import numpy as np
import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.gym import FEATURES
from tests.support.source_tree import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import fields


def test_the_tables_of_the_page_are_those_that_the_definitions_give():
    page = fields.PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r"<!-- fields: (\w+) -->", page)) == {*fields.CLASSES, "FEATURES"}
    assert fields.with_tables(page) == page, "run: python scripts/fields.py"


@pytest.mark.parametrize("name", fields.CLASSES)
def test_what_a_class_has_is_what_its_stub_says(name):
    there = {key for key in vars(fields.CLASSES[name]) if not key.startswith("_")}
    assert set(fields.typed(name)) == there


def test_a_law_and_a_controller_are_given_values_of_the_types_that_the_tables_say():
    seen = {}

    class Watches:
        def on_ack(self, sample):
            seen["AckSample"] = sample

        def on_loss(self, event):
            seen["CongestionEvent"] = event
            return max(1.0, event.window / 2)

    class Law:
        def step(self, sample):
            seen["Sample"] = sample
            return 0.01

    queue = {"aqm": "external", "law": "law", "interval": "10 ms", "limit": "50 packets"}
    scenario = sj.load(ROOT / "examples" / "dumbbell.toml").set("links.bottleneck.queue", queue)
    scenario.set("duration", "15 s").set("tcp.control", {"cc": "external", "controller": "watches"})
    sj.run(scenario, seed=1, laws={"law": Law, "watches": Watches})
    assert set(seen) == set(fields.CLASSES)
    for name, given in seen.items():
        for field, of in fields.typed(name).items():
            assert type(getattr(given, field)).__name__ in of.replace("None", "NoneType").split(" | "), (name, field)


def test_the_command_of_the_page_gives_each_case_its_controller_and_its_ecn(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    page = fields.PAGE.read_text(encoding="utf-8").replace("\\\n", "")
    [command] = [line for line in page.splitlines() if line.startswith("sojourn ") and "--vary" in line]
    one = command.replace("--seeds 2", "--seeds 1")
    assert main([*shlex.split(one)[1:], "--set", "duration=20 s", "--no-cache"]) == 0
    table = capsys.readouterr().out.partition("difference")[0]
    [marked] = [line.replace(",", "").split() for line in table.splitlines() if line.startswith("│ marked")]
    assert float(marked[3]) > 0, "Prague is marked"
    assert float(marked[5]) == 0, "BBR is without ECN"


def test_an_environment_is_made_by_its_name():
    env = gymnasium.make("sojourn/Congestion-v0", scenario=ROOT / "examples" / "learn.toml")
    observation, _ = env.reset(seed=1)
    assert observation.shape == (len(FEATURES),)


class Untrained:
    """A replacement of stable-baselines3's PPO with random steps and a constant window."""

    def __init__(self, policy, envs, **options):
        self.envs = envs

    def learn(self, steps):
        for env in self.envs.envs:
            env.reset(seed=self.envs.seeded)
            for _ in range(steps // len(self.envs.envs)):
                *_, terminated, truncated, _ = env.step(env.action_space.sample())
                if terminated or truncated:
                    env.reset()

    def predict(self, observation, deterministic):
        return np.zeros(1, dtype=np.float32), None


class Together:
    """A replacement of its vectorized environments."""

    def __init__(self, factories):
        self.envs = [factory() for factory in factories]

    def seed(self, seed):
        self.seeded = seed


def test_an_example_trains_and_compares_with_any_library_of_that_form(monkeypatch, capsys):
    """The calls of the example to Sojourn, without the library, which takes gigabytes.

    The policy keeps its window.
    """
    library, together = types.ModuleType("stable_baselines3"), types.ModuleType("stable_baselines3.common.vec_env")
    library.PPO, together.DummyVecEnv = Untrained, Together
    monkeypatch.chdir(ROOT)
    monkeypatch.setitem(sys.modules, "stable_baselines3", library)
    monkeypatch.setitem(sys.modules, "stable_baselines3.common", types.ModuleType("stable_baselines3.common"))
    monkeypatch.setitem(sys.modules, "stable_baselines3.common.vec_env", together)
    monkeypatch.setattr(sys, "argv", ["learn.py", "--steps", "80"])
    runpy.run_path("examples/learn.py", run_name="__main__")
    *rows, mean = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert [int(row[0]) for row in rows] == list(range(1000, 1010))
    policy, cubic = map(float, mean[1:3])
    assert 0 < policy < cubic, "a window of ten segments uses less of the link than CUBIC"


def test_an_example_says_what_to_install(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(SystemExit, match=r"stable_baselines3.*pip install 'sojourn\[gym\]' stable-baselines3"):
        runpy.run_path("examples/learn.py", run_name="__main__")
