"""`sojourn judge` of senders in a Linux kernel.

These tests need the kernel of `sojourn linux build`.
"""

from pathlib import Path

import pytest

from sojourn.judge.judgement import judge
from tests.judge.test_judge import dumbbell
from tests.linux.test_linux_live import live


@live
@pytest.mark.parametrize(("controller", "claimed"), [("reno", "reno"), ("cubic", "cubic"), ("scalable", "reno")])
def test_a_minute_of_the_kernel_agrees_with_its_controller_only(tmp_path: Path, controller: str, claimed: str) -> None:
    scenario = dumbbell(controller, "linux", 60).set("tcp.control", {"linux": controller}).set("host", "linux")
    file = tmp_path / "linux.toml"
    file.write_text(scenario.to_toml(), encoding="utf-8")
    found = judge(file, claimed)
    assert found.reductions > 10
    assert [each.cause for each in found.divergences][:1] == ([] if controller == claimed else ["wrong beta"])


@live
def test_a_kernel_with_another_beta_is_named(tmp_path: Path) -> None:
    scenario = dumbbell("cubic", "linux", 20).set("tcp.control", {"cc": "cubic", "beta": 0.5}).set("host", "linux")
    file = tmp_path / "linux.toml"
    file.write_text(scenario.to_toml(), encoding="utf-8")
    first = judge(file, "cubic").first
    assert first is not None
    assert (first.cause, first.rule) == ("wrong beta", "rfc9438#4.6")
