"""Congestion controllers written in Python: behavior and error messages."""

from __future__ import annotations

import math
import re
import threading
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.runs import watchdog
from sojourn.runs.laws import CONTROLLER

pytestmark = pytest.mark.no_libraries

EXAMPLE = Path("examples/controller.py")


class Reno:
    """Grows by a segment per round trip and halves its window at a loss."""

    def __init__(self) -> None:
        self.slow_start = True

    def on_ack(self, sample: Any) -> float | None:
        if sample.in_recovery or not sample.cwnd_limited:
            return None
        return float(sample.window + sample.acked * (1.0 if self.slow_start else 1.0 / sample.window))

    def on_loss(self, event: Any) -> float:
        self.slow_start = False
        return 1.0 if event.timeout else max(2.0, event.window / 2)


class Fixed:
    """A window of ten segments, and a rate of 100 segments per second."""

    def on_ack(self, sample: Any) -> tuple[float, float]:
        return 10, 100


class Answers:
    """Returns a fixed answer after a second."""

    answer: Any = None

    def on_ack(self, sample: Any) -> Any:
        if sample.now < 1:
            return None
        return self.answer(sample) if callable(self.answer) else self.answer


class Counts(Reno):
    """Counts its calls in thread-local data."""

    seen: ClassVar[list[int]] = []
    here = threading.local()

    def on_ack(self, sample: Any) -> float | None:
        self.here.count = getattr(self.here, "count", 0) + 1
        self.seen.append(self.here.count)
        return super().on_ack(sample)


def path(controller: str = "mine", **more: Any) -> sj.Scenario:
    """One flow over 10 Mbit/s with round trips of 40 ms."""
    link = {"name": "path", "from": "a", "to": "b", "rate": "10 Mbit/s", "delay": "20 ms", "duplex": True}
    link["queue"] = {"aqm": "droptail", "limit": "50 packets"}
    tree = {
        "duration": "20 s",
        "warmup": "5 s",
        "links": [link],
        "flows": [{"name": "f", "from": "a", "to": "b"}],
        "tcp": {"profile": "linux", "control": {"cc": "external", "controller": controller}, **more},
    }
    return sj.Scenario(tree, "a path")


def test_a_controller_sets_the_window_as_reno_does() -> None:
    own = path().set("tcp.control", {"cc": "reno"})
    runs = [sj.run(path(), seed=1, laws={"mine": Reno}), sj.run(own, seed=1)]
    assert [record["links"][0]["utilization"] for record in runs] == pytest.approx([1.0, 1.0], abs=1e-3)
    # A cycle of Reno sends 3/8 W^2 packets. W fills the path (10 Mbit/s for 40 ms, 33 packets) and its queue (50).
    cycles = 15 * 10e6 / (8 * 1500) / (3 / 8 * (33 + 50) ** 2)
    losses = [record["flows"][0]["fast_retransmits"] for record in runs]
    assert losses[0] == losses[1]
    assert math.floor(cycles) <= losses[0] <= math.ceil(cycles)


class NeedsWindow:
    def __init__(self, window: float) -> None:
        self.window = window

    def on_ack(self, sample: Any) -> float:
        return self.window


def test_a_controller_that_can_not_be_made_is_refused_as_one() -> None:
    with pytest.raises(sj.UserError, match=r"^controllers\.mine: expected a class .*, got NeedsWindow\(window"):
        sj.run(path(), seed=1, laws={"mine": NeedsWindow})


def test_a_controller_without_on_loss_is_noted_once_before_the_run(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "grows.py").write_text("class Grows:\n    def on_ack(self, sample):\n        return sample.window + 1\n")
    (here / "path.toml").write_text(path().set("duration", "6 s").to_toml())
    compared = ["compare", "path.toml", "--cc", "reno", "--controller", "grows.py:Grows", "--seeds", "2"]
    for command in (
        compared,
        ["run", "path.toml", "--controller", "grows.py", "--set", "tcp.control.controller=Grows"],
    ):
        assert main(command) == 0
        said = capsys.readouterr().err
        assert said.count("note: controllers.Grows has no on_loss: it learns of losses only by sample.lost") == 1, said


@pytest.mark.parametrize(
    ("ecn", "said"), [(False, None), (True, "of marks"), ("l4s", "of marks, but by sample.marked")]
)
def test_a_controller_without_on_mark_is_noted_where_packets_can_be_marked(ecn: bool | str, said: str | None) -> None:
    class ToldOfLosses:
        def on_ack(self, sample: Any) -> float:
            return float(sample.window)

        def on_loss(self, event: Any) -> float:
            return float(event.window / 2)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sj.run(path().set("duration", "6 s").set("tcp.ecn", ecn), seed=1, laws={"mine": ToldOfLosses})
    told = [str(each.message) for each in caught if "on_mark" in str(each.message)]
    assert told == ([] if said is None else [f"controllers.mine has no on_mark: it is not told {said}"])


def test_the_command_line_notes_once_for_all_seeds_that_a_controller_is_not_told_of_marks(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "grows.py").write_text("class Grows:\n    def on_ack(self, sample):\n        return sample.window + 1\n")
    scenario = path().set("duration", "6 s").set("tcp.ecn", True).set("tcp.control.controller", "Grows")
    (here / "path.toml").write_text(scenario.to_toml())
    assert main(["run", "path.toml", "--controller", "grows.py", "--seeds", "2"]) == 0
    assert capsys.readouterr().err.count("note: controllers.Grows has no on_mark: it is not told of marks") == 1


@pytest.mark.parametrize("makes", [Reno, lambda: Reno()])
def test_a_controller_with_on_loss_is_not_noted(makes: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sj.run(path().set("duration", "6 s"), seed=1, laws={"mine": makes})


def test_a_controller_sets_the_pace() -> None:
    link = sj.run(path(), seed=1, laws={"mine": Fixed})["links"][0]
    assert link["departed"] == pytest.approx(100 * 15, rel=0.02)
    assert link["queue"]["max"] <= 2


def test_a_function_is_called_once_for_each_connection_and_once_to_see_what_it_makes() -> None:
    made: list[Reno] = []

    def mine() -> Reno:
        made.append(Reno())
        return made[-1]

    sj.run(path().set("duration", "6 s"), seed=1, laws={"mine": mine})
    assert len(made) == 2


def test_a_pace_of_none_ends_the_pace_which_a_window_alone_keeps() -> None:
    class Paced(Fixed):
        answers = 0

        def on_ack(self, sample: Any) -> Any:
            self.answers += 1
            return super().on_ack(sample) if self.answers == 1 else self.then(sample.window)

    kept = type("Alone", (Paced,), {"then": lambda self, window: window})
    ended = type("Ended", (Paced,), {"then": lambda self, window: (window, None)})
    most = [sj.run(path(), seed=1, laws={"mine": each})["links"][0]["departed"] for each in (kept, ended)]
    assert most[0] == pytest.approx(100 * 15, rel=0.02)
    assert most[1] > 2 * most[0]


def test_runs_with_a_controller_are_the_same_again_and_in_parallel() -> None:
    first = sj.run(path(), seed=1, laws={"mine": Reno})["fingerprint"]
    many = sj.run_many([path(), path()], seeds=1, laws={"mine": Reno}, threads=2)
    assert {records[0]["fingerprint"] for records in many} == {first}


@pytest.mark.parametrize(
    "answer",
    [
        float("nan"),
        -3.0,
        0.5,
        1e18,
        "ten",
        True,
        (10, 0.0),
        (None, 100.0),
        (10, float("inf")),
        (10, 1, 1),
        [float("inf"), 1.0],
    ],
)
def test_an_answer_that_is_no_window_is_refused_with_controller_case_seed_and_time(answer: Any) -> None:
    class Wrong(Answers):
        pass

    Wrong.answer = answer
    with pytest.raises(sj.ScenarioError) as caught:
        sj.run_many([path()], seeds=[7], laws={"mine": Wrong})
    said = str(caught.value)
    assert "a path: controllers.mine: on_ack at 1." in said
    assert (
        " s: expected a window of 1 to 1e9 segments, (window, pace) with a pace above 0 in segments a second "
        "or None for no pace, or None to keep both, got" in said
    )
    assert said.endswith("(seed 7)")


def test_what_a_controller_raises_names_controller_case_seed_and_time() -> None:
    class Raises(Answers):
        def answer(self, sample: Any) -> Any:
            raise KeyError("gone")

    with pytest.raises(KeyError) as caught:
        sj.run_many([path()], seeds=[7], laws={"mine": Raises})
    assert "a path: controllers.mine: raised at 1." in caught.value.__notes__[-1]
    assert "(seed 7)" in caught.value.__notes__[-1]


class Loops(Answers):
    def answer(self, sample: Any) -> Any:
        while True:
            with suppress(Exception):
                while True:
                    pass


class Waits(Answers):
    """Blocks without a chance to interrupt Python, as `time.sleep` does in this thread.

    It ends with the test.
    """

    over = threading.Event()

    def answer(self, sample: Any) -> Any:
        self.over.wait()


@pytest.mark.parametrize("hangs", [Loops, Waits])
@pytest.mark.parametrize("way", [sj.run, sj.run_many])
def test_a_controller_that_hangs_is_stopped(way: Any, hangs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "LIMIT", 0.3)
    Waits.over.clear()
    try:
        with pytest.raises(sj.ScenarioError) as caught:
            way(path(), laws={"mine": hangs})
    finally:
        Waits.over.set()
    assert "controllers.mine: on_ack at 1." in str(caught.value)
    assert " s: expected an answer within 0.3 s, got none" in str(caught.value)


class LoopsAtOnce(Answers):
    """Never returns from its constructor."""

    def __init__(self) -> None:
        while True:
            pass


@pytest.mark.parametrize("factory", [LoopsAtOnce, lambda: LoopsAtOnce()])
def test_a_controller_that_hangs_while_it_is_made_is_stopped(factory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "LIMIT", 0.3)
    with pytest.raises(sj.UserError, match=r"mine: when it was made: expected an answer within 0\.3 s, got none"):
        sj.run(path(), laws={"mine": factory})


def test_methods_that_a_controller_gets_when_it_is_made_count() -> None:
    class WithLosses:
        def __init__(self) -> None:
            self.on_loss = lambda event: None

        def on_ack(self, sample: Any) -> None: ...

    class WithoutLosses(WithLosses):
        def __init__(self) -> None:
            self.on_ack = None  # type: ignore[assignment]

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no note that it sees no losses
        sj.run(path(), laws={"mine": WithLosses})
    with pytest.raises(
        sj.UserError, match=r"controllers\.mine: expected .*, got WithoutLosses\.on_ack that is an object"
    ):
        sj.run(path(), laws={"mine": WithoutLosses})


def test_a_law_of_a_queue_that_hangs_is_stopped_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hangs:
        def step(self, sample: Any) -> float:
            while sample.now > 0.5:
                pass
            return 0.0

    monkeypatch.setattr(watchdog, "LIMIT", 0.3)
    queue = {"aqm": "external", "law": "mine", "interval": "100 ms", "limit": "50 packets"}
    scenario = path().set("tcp.control", {"cc": "reno"}).set("links.path.queue", queue)
    with pytest.raises(sj.ScenarioError, match=r"laws\.mine: step at 0\.6 s: expected an answer within 0\.3 s, got"):
        sj.run(scenario, laws={"mine": Hangs})


def test_a_missing_controller_and_what_is_none_are_refused_before_the_run() -> None:
    with pytest.raises(sj.ScenarioError, match=r"flows\.f\.tcp\.control\.controller: expected a controller that"):
        sj.run(path())
    with pytest.raises(sj.ScenarioError, match=r"expected one of other that .*, got \"mine\""):
        sj.run(path(), laws={"other": Reno})

    class TwoArguments:
        def on_ack(self, sample: Any, more: Any) -> None: ...

    with pytest.raises(sj.UserError, match=r"controllers\.mine: expected a controller with on_ack"):
        sj.run(path(), laws={"mine": TwoArguments})
    with pytest.raises(sj.UserError, match=r"laws\.mine: expected a law .*, or a controller .*, got int"):
        sj.run(path(), laws={"mine": lambda: 3})


def nothing() -> None: ...


async def later(self: Any, sample: Any) -> None: ...


@pytest.mark.parametrize(
    ("name", "method", "got"),
    [
        ("on_ack", lambda self: None, "(), which takes 0 arguments"),
        ("on_loss", lambda self: None, "(), which takes 0 arguments"),
        ("on_mark", lambda self, event, more: None, "(event, more), which takes 2 arguments"),
        ("on_mark", staticmethod(nothing), "(), which takes 0 arguments"),
        ("on_ack", lambda self, sample, *, more: None, "(sample, *, more)"),
        ("on_ack", later, " that is a coroutine function (async def)"),
        ("on_loss", later, " that is a coroutine function (async def)"),
        ("on_ack", 3, " that is an object of int"),
    ],
)
def test_a_method_that_can_not_be_asked_is_said_with_its_arguments(name: str, method: Any, got: str) -> None:
    mine = type("Mine", (Reno,), {name: method})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(sj.UserError) as caught:
            sj.run(path(), laws={"mine": mine})
    assert str(caught.value) == f"controllers.mine: expected {CONTROLLER}, got Mine.{name}{got}"


def test_a_method_without_an_object_is_one_too() -> None:
    mine = type("Mine", (Reno,), {"on_ack": staticmethod(lambda sample: None)})
    sj.run(path().set("duration", "6 s"), seed=1, laws={"mine": mine})


@pytest.mark.parametrize(("raised", "said"), [(SystemExit(0), "SystemExit(0)"), (GeneratorExit(), "GeneratorExit()")])
def test_a_controller_that_calls_sys_exit_ends_its_run_and_not_the_program(raised: BaseException, said: str) -> None:
    class Ends(Answers):
        def answer(self, sample: Any) -> Any:
            raise raised

    for way in (sj.run, sj.run_many):
        with pytest.raises(RuntimeError, match=re.escape(said)) as caught:
            way(path(), laws={"mine": Ends})
        assert "controllers.mine: raised at 1." in caught.value.__notes__[-1]


def test_controllers_that_replace_one_in_python_have_to_name_it_too() -> None:
    said = '^cc: expected mine among the controllers, since they replace it, got "cubic"$'
    with pytest.raises(sj.UserError, match=said):
        sj.compare(path(), cc=["cubic"], seeds=1, laws={"mine": Reno})


def test_a_controller_is_compared_with_others() -> None:
    found = sj.compare(path(), cc=["cubic", "mine"], seeds=1, laws={"mine": Reno})
    assert list(found.records) == ["cubic", "mine"]


def test_the_commands_take_a_controller_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "path.toml"
    file.write_text(path().set("tcp.control", {"cc": "cubic"}).to_toml())
    assert main(["run", str(file), "--controller", f"{EXAMPLE}:ShortQueue", "--seed", "1"]) == 0
    assert main(["compare", str(file), "--controller", f"{EXAMPLE}:Additive", "--seeds", "1", "--no-cache"]) == 0
    printed = capsys.readouterr().out
    assert "cubic" in printed
    assert "Additive" in printed
    assert main(["run", str(file), "--controller", str(EXAMPLE)]) == 2
    assert "expected FILE.py:Class" in capsys.readouterr().err
    broken = tmp_path / "broken.py"
    broken.write_text("class Broken:\n    def on_ack(self, sample):\n        return 1 / 0\n")
    assert main(["run", str(file), "--controller", str(broken), "--seed", "3"]) == 2
    said = capsys.readouterr().err
    assert f"{broken}:3: " in said
    assert "controllers.Broken: raised ZeroDivisionError" in said
    assert "(seed 3)" in said


@pytest.mark.parametrize("runs", [1, 2])
def test_the_interpreter_knows_the_thread_of_a_run_from_call_to_call(runs):
    # A thread state that is created and freed in each call costs as much as the call.
    Counts.seen.clear()
    sj.run_many([path().set("duration", "6 s")] * runs, threads=1, laws={"mine": Counts})
    assert max(Counts.seen) == len(Counts.seen) > 1000
