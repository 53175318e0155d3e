"""Laws in Python on the command line: `--law FILE.py:Class` of run, compare and sweep."""

import json
import re
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.cli import main

pytestmark = pytest.mark.no_libraries

LAWS = """
from dataclasses import dataclass
from helper import SHARE


@dataclass
class Tenth:
    share: float = SHARE

    def step(self, sample):
        return self.share


class Broken:
    def step(self, sample):
        if sample.now < 2:
            return 0.01
        return self.share
"""


@pytest.fixture
def laws(here, dumbbell):
    (here / "helper.py").write_text("SHARE = 0.1\n")
    (here / "laws.py").write_text(LAWS)
    return "laws.py"


def said(capsys, *arguments, code=0):
    assert main([str(each) for each in arguments]) == code
    printed = capsys.readouterr()
    return printed.out if code == 0 else printed.err.strip().removeprefix("error: ")


def test_a_law_of_a_file_runs_with_the_options_of_its_queue(laws, dumbbell, capsys):
    def probability(*more):
        record = json.loads(said(capsys, "run", dumbbell, "--law", f"{laws}:Tenth", "--json", *more))
        return record["links"][0]["probability_mean"]

    assert probability() == pytest.approx(0.1)
    assert probability("--set", 'links.bottleneck.queue.interval="4 s"') < 0.09  # none in the first 4 of 5 seconds


def test_a_law_is_compared_with_the_queue_of_the_scenario_or_with_those_that_are_named(laws, dumbbell, here, capsys):
    shown = said(capsys, "compare", dumbbell, "--law", f"{laws}:Tenth", "--seeds", 2)
    assert "droptail" in shown
    assert "Tenth" in shown
    queues = 'red,Tenth(interval="20 ms")'
    assert main(["compare", str(dumbbell), "--law", f"{laws}:Tenth", "--queues", queues, "--seeds", "1"]) == 0
    printed = capsys.readouterr()
    assert 'Tenth(interval="20 ms")' in printed.out
    assert "droptail" not in printed.out
    assert len(list((here / "results").rglob("*.run"))) > 0


def test_a_sweep_takes_a_law_by_its_name(laws, dumbbell, here, capsys):
    queues = '[{ aqm = "red" }, { aqm = "external", law = "Tenth" }]'
    (here / "sweep.toml").write_text(f'scenario = "{dumbbell}"\naxes."links.bottleneck.queue" = {queues}\n')
    assert "Tenth" in said(capsys, "sweep", "sweep.toml", "--law", f"{laws}:Tenth")
    line = said(capsys, "sweep", "sweep.toml", "--law", f"{laws}:Broken", code=2)
    wanted = 'a point with the queue { aqm = "external", law = "Broken" }'
    assert line == f"sweep.toml: --law: expected {wanted}, got none"


def test_a_law_that_raises_is_one_line_with_its_place_case_time_and_seed(laws, dumbbell, capsys):
    what = "laws.Broken: raised AttributeError: 'Broken' object has no attribute 'share' at 2 s"
    for command in (("run", dumbbell), ("run", dumbbell, "--seeds", 2)):
        line = said(capsys, *command, "--seed", 3, "--law", f"{laws}:Broken", code=2)
        assert line.startswith(f"laws.py:18: {dumbbell}: {what} (seed ")
    line = said(capsys, "compare", dumbbell, "--seeds", 1, "--no-cache", "--law", f"{laws}:Broken", code=2)
    assert line == f"laws.py:18: {dumbbell} with Broken: {what} (seed 1)"


ENDS = """
import asyncio
import sys

from sojourn.core.errors import UserError

class Law:
    def step(self, sample):
        sys.exit(0)


class Control:
    def on_ack(self, sample):
        sys.exit("enough")

    def on_loss(self, event):
        return None


class Never:
    def __init__(self):
        sys.exit()

    def step(self, sample):
        return 0.0


class Cancelled:
    def on_ack(self, sample):
        raise asyncio.CancelledError

    def on_loss(self, event):
        return None


class Wrong(Cancelled):
    def on_ack(self, sample):
        raise UserError("a window is missing")
"""


@pytest.mark.parametrize(
    ("option", "raised"),
    [
        ("--law=ends.py:Law", r"ends\.py:9: .*: laws\.Law: raised SystemExit: 0 at [0-9.]+ s \(seed \d\)"),
        (
            "--controller=ends.py:Control",
            r"ends\.py:14: .*: controllers\.Control: raised SystemExit: enough at .* s .*",
        ),
        ("--law=ends.py:Never", r"ends\.py:22: .*: laws\.Never: raised SystemExit when it was made \(seed \d\)"),
        (
            "--controller=ends.py:Cancelled",
            r"ends\.py:30: .*: controllers\.Cancelled: raised asyncio\.exceptions\.CancelledError at .* s .*",
        ),
        (
            "--controller=ends.py:Wrong",
            r"ends\.py:38: .*: controllers\.Wrong: raised sojourn\.core\.errors\.UserError: a window is missing at .*",
        ),
    ],
)
def test_a_law_that_ends_the_program_is_one_that_raises(here, dumbbell, capsys, option, raised):
    Path("ends.py").write_text(ENDS)
    for command in (("run",), ("run", "--seeds", 2), ("compare", "--seeds", 1, "--no-cache")):
        line = said(capsys, command[0], dumbbell, *command[1:], option, code=2)
        assert re.fullmatch(raised, line), line


FORM = "expected FILE.py:Class such as law.py:Proportional"
STEP = "laws.A: expected a law with a method step(sample)"
WRONG = [
    ("class A:\n    pass\n", "", f"--law bad.py: {FORM}, with one of the classes with `step`: (none is there)"),
    (LAWS, "", f"--law bad.py: {FORM}, with one of the classes with `step`: Tenth, Broken"),
    (LAWS, ":Tent", '--law bad.py: expected one of the classes with `step`: Tenth, Broken, got "Tent"'),
    ("class A:\n  def step(self)\n", ":A", "bad.py:2:17: expected Python, got a syntax error: expected ':'"),
    ("import missing_it\n", ":A", "bad.py:1: raised ModuleNotFoundError: No module named 'missing_it'"),
    ("class A:\n  def step(self): 0\n", ":A", f"{STEP}, got step(), which takes 0 arguments"),
    ("class A:\n  async def step(self, a): 0\n", ":A", f"{STEP}, got step that is a coroutine function (async def)"),
    ("import sys\nsys.exit(0)\n", ":A", "bad.py:2: raised SystemExit: 0"),
]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_file_without_a_law_is_refused_in_a_line(laws, dumbbell, capsys, wrong):
    text, option, message = wrong
    Path("bad.py").write_text(text)
    assert said(capsys, "run", dumbbell, "--law", f"bad.py{option}", code=2) == message


def test_what_is_no_python_file_is_no_law(laws, dumbbell, capsys):
    assert said(capsys, "run", dumbbell, "--law", "laws", code=2) == f'--law: {FORM}, got "laws"'
    line = said(capsys, "run", dumbbell, "--law", "lws.py:Tenth", code=2)
    assert line == 'lws.py: cannot read this law: No such file or directory; did you mean "laws.py"?'
    line = said(capsys, "run", dumbbell, "--law", "laws.py:Tenth", "--law", "laws.py:Broken", code=2)
    assert line == '--law: expected one, or queues with law = "NAME" for the others, got "Tenth, Broken"'


def test_a_check_asks_for_the_law_that_a_run_would_ask_for(laws, dumbbell, here, capsys):
    text = dumbbell.read_text().replace('aqm = "droptail"', 'aqm = "external", law = "Tenth"')
    Path("own.toml").write_text(text)
    line = 'links.bottleneck.queue.law: expected a law that `--law FILE.py`, or `laws` in Python, supplies, got "Tenth"'
    for command in ("check", "run"):
        assert said(capsys, command, "own.toml", code=2).endswith(f": {line}")
    assert said(capsys, "check", "own.toml", "--law", f"{laws}:Tenth") == "own.toml: can be run\n"
    queues = '[{ aqm = "red" }, { aqm = "external", law = "Tenth" }]'
    Path("sweep.toml").write_text(f'scenario = "{dumbbell}"\naxes."links.bottleneck.queue" = {queues}\n')
    for command in ("check", "sweep"):
        assert said(capsys, command, "sweep.toml", code=2).endswith(f"queue = Tenth: {line}")
    assert "all can be run" in said(capsys, "check", "sweep.toml", "--law", f"{laws}:Tenth")


def test_runs_with_a_law_in_a_class_are_cached(dumbbell, here):
    class Half:
        def step(self, sample):
            return 0.5

    own = {"aqm": "external", "law": "mine"}
    queue = {"scheduler": "drr", "classes": [{"match": {"port": [1]}}, own]}
    cache = sj.Store("cache")
    sj.run_many(sj.load(dumbbell).set("links.bottleneck.queue", queue), 2, cache=cache, laws={"mine": Half})
    assert len(cache) == 2


def test_a_file_without_a_controller_says_controller(capsys, dumbbell, here):
    refused = said(capsys, "run", dumbbell, "--controller", "none.py", code=2)
    assert refused.startswith("none.py: cannot read this controller: ")
    (here / "two.py").write_text("class A:\n    def on_ack(self, sample):\n        pass\n\n\nclass B:\n    pass\n")
    refused = said(capsys, "run", dumbbell, "--controller", "two.py:B", code=2)
    assert refused == '--controller two.py: expected one of the classes with `on_ack`: A, got "B"'


CONTROLLERS = """
class Keeps:
    def on_ack(self, sample):
        return None

    def on_loss(self, event):
        return None


class Half:
    def step(self, sample):
        return 0.5
"""


@pytest.fixture
def mine(here, dumbbell):
    (here / "mine.py").write_text(CONTROLLERS)
    second = dumbbell.read_text().partition("[[flows]]")[2].replace('name = "ftp"', 'name = "q"')
    (here / "two.toml").write_text(f"{dumbbell.read_text()}\n[[flows]]{second}\n[tcp]\ncontrol = {{ cc = 'cubic' }}\n")
    return "two.toml"


def controllers(capsys, *arguments):
    """The controllers of each group in a resolved scenario."""
    resolved = json.loads(said(capsys, "check", "--resolved", *arguments))
    return [group["tcp"]["control"]["cc"] for group in resolved["groups"]]


EXTERNAL = '{cc="external",controller="Keeps"}'


def test_a_controller_that_a_change_names_goes_to_these_flows_alone(mine, capsys):
    option = ("--controller", "mine.py:Keeps")
    assert controllers(capsys, mine, *option) == ["external", "external"]
    change = ("--set", f"flows.ftp.tcp.control={EXTERNAL}")
    assert controllers(capsys, mine, *option, *change) == ["external", "cubic"]
    record = json.loads(said(capsys, "run", mine, *option, *change, "--json"))
    alone = json.loads(said(capsys, "run", mine, *option, "--json"))
    assert record["fingerprint"] != alone["fingerprint"]


def test_where_every_group_has_its_own_controller_the_change_that_helps_is_said(mine, capsys):
    own = ("--set", 'flows.ftp.tcp.control={cc="reno"}', "--set", 'flows.q.tcp.control={cc="reno"}')
    for command in ("run", "check"):
        line = said(capsys, command, mine, *own, "--controller", "mine.py:Keeps", code=2)
        assert line.startswith("--controller: expected flows without a controller, got ftp, q with their own; ")
        assert line.endswith(f"--set 'flows.ftp.tcp.control={EXTERNAL}'")
    change = ("--set", f"flows.ftp.tcp.control={EXTERNAL}")
    assert controllers(capsys, mine, *own, *change, "--controller", "mine.py:Keeps") == ["external", "reno"]


@pytest.mark.parametrize(
    ("change", "option", "line"),
    [
        ('tcp.control={cc="reno"}', "--controller", "flows that Keeps controls, got none, since --set gives"),
        ('links.bottleneck.queue={aqm="red"}', "--law", "a queue with the law Half, got none, since --set replaces it"),
        ("flows=3", "--controller", "flows: expected a list, got 3"),
        ("tcp=3", "--controller", "tcp: expected a table, got 3"),
        ("links.bottleneck.queue=3", "--law", "links.bottleneck.queue: expected a table, got 3"),
        ("links=3", "--law", "links: expected a list, got 3"),
    ],
)
def test_a_law_that_a_change_leaves_without_use_is_refused(mine, capsys, change, option, line):
    name = "Keeps" if option == "--controller" else "Half"
    assert line in said(capsys, "run", mine, option, f"mine.py:{name}", "--set", change, code=2)


def test_a_law_without_a_main_link_or_one_queue_is_answered_with_a_change(mine, capsys):
    classes = 'queue = { scheduler = "drr", classes = [{ match = { port = [1] }, aqm = "red" }, { aqm = "red" }] }'
    queue = 'queue = { aqm = "droptail", limit = "100 packets" }'
    Path("classes.toml").write_text(Path(mine).read_text().replace(queue, classes))
    line = said(capsys, "run", "classes.toml", "--law", "mine.py:Half", code=2)
    assert line.endswith(
        "--set 'links.bottleneck.queue.classes[0].aqm=external' --set 'links.bottleneck.queue.classes[0].law=Half'"
    )
    text = Path(mine).read_text().replace('name = "bottleneck"', 'name = "x"')
    other = text.partition("[[links]]")[2].partition("[[flows]]")[0].replace('"x"', '"y"')
    Path("links.toml").write_text(f"{text}\n[[links]]{other}")
    line = said(capsys, "run", "links.toml", "--law", "mine.py:Half", code=2)
    expected = "--law: expected the link that gets it, one of x, y: --set 'links.x.queue="
    assert line == f'{expected}{{aqm="external",law="Half"}}\''
