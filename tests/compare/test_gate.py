"""A gate passes, fails or is undecided as the intervals of its conditions say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from sojourn.cli import main
from sojourn.compare.baseline import read_baseline
from sojourn.core.errors import UserError
from tests.support.source_tree import ROOT

pytest.importorskip("pydantic")
GATE = """
scenario = "dumbbell.toml"
seeds = 3
require = {require}
{more}
[case]
"links.bottleneck.queue.aqm" = "codel"

[references.full]
"links.bottleneck.queue.aqm" = "droptail"
"""


def gate(here: Path, *require: str, more: str = "") -> str:
    """A gate file with these conditions on CoDel, and a drop-tail queue as reference."""
    file = here / "gate.toml"
    file.write_text(GATE.format(require=json.dumps(require), more=more))
    return str(file)


def test_an_error_leaves_no_verdict_of_an_earlier_gate(here, dumbbell, capsys):
    command = ["gate", gate(here, "goodput > 4 Mbit/s"), "--out", "out", "--no-cache"]
    assert main(command) == 0
    assert Path("out/junit.xml").exists()
    gate(here, "goodput not worse than absent.json")
    assert main(command) == 2
    assert not {"junit.xml", "gate.json"} & {path.name for path in Path("out").iterdir()}
    gate(here, "goodput > 4 Mbit/s")
    assert main(command) == 0
    assert 'failures="0"' in Path("out/junit.xml").read_text()


@pytest.mark.parametrize(
    ("condition", "verdict"),
    [
        ("goodput > 4 Mbit/s", "passed"),  # three flows on a link of 10 Mbit/s
        ("goodput <= 20000 kbit/s", "passed"),
        ("goodput > 20 Mbit/s", "failed"),  # twice what the link carries
        ("wait p99 < 500 ms", "passed"),  # a full queue of 100 packets waits 120 ms
        ("utilization ≥ 50 %", "passed"),
        ("utilization <= 100 %", "passed"),  # the interval ends where the range does
        ("links.bottleneck.queue.max < 101 packets", "passed"),
        ("wait mean < 0.5 of full", "passed"),  # CoDel against a full queue
        ("wait mean > 1 of full", "failed"),
        ("wait mean not worse than full", "passed"),
        ("queue.mean > 1 of case", "failed"),  # 0 exactly, which is not above 0
        ("queue.mean >= 1 of case", "passed"),
    ],
)
def test_a_condition_is_decided_by_its_interval(condition, verdict, here, dumbbell, capsys):
    code = main(["gate", gate(here, condition), "--no-cache"])
    assert capsys.readouterr().out.startswith(f"{verdict}: {condition}: ")
    assert code == (0 if verdict == "passed" else 1)


def test_a_limit_inside_the_interval_is_undecided_and_passes_only_if_the_file_says_so(here, dumbbell, capsys):
    main(["gate", gate(here, "goodput > 1 Mbit/s"), "--json"])
    mean = next(iter(json.loads(capsys.readouterr().out)["cases"]["case"].values()))["mean"]
    for more, code in (("", 1), ('undecided = "pass"', 0)):
        assert main(["gate", gate(here, f"goodput > {mean} Mbit/s", more=more)]) == code
        assert capsys.readouterr().out.startswith("undecided: ")


def test_a_failed_gate_leaves_its_verdicts_and_the_worst_run(here, dumbbell, capsys):
    file = gate(here, "goodput > 5 Mbit/s", "goodput > 20 Mbit/s")
    assert main(["gate", file, "--out", "out"]) == 1
    assert "1 of 2 conditions failed" in capsys.readouterr().err
    suite = ElementTree.parse("out/junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [case.get("name") for case in suite if case.find("failure") is not None] == ["goodput > 20 Mbit/s"]
    read = json.loads(Path("out/gate.json").read_text())
    assert [each["verdict"] for each in read["conditions"]] == ["passed", "failed"]
    values = read["cases"]["case"]["total.goodput_bps"]["values"]
    seed = read["seeds"][values.index(min(values))]
    assert Path(f"out/worst-seed-{seed}.pcapng").read_bytes()[:4] == b"\n\r\r\n"  # pcapng's section header
    assert json.loads(Path(f"out/worst-seed-{seed}.qlog").read_text())["title"] == f"dumbbell, seed {seed}"
    assert main(["gate", gate(here, "goodput > 5 Mbit/s"), "--out", "out"]) == 0
    assert {each.name for each in Path("out").iterdir()} == {"SHA256SUMS", "gate.json", "junit.xml"}


MINE = """
class Tiny:
    def on_ack(self, sample):
        return 2.0


class Open:
    def step(self, sample):
        return 0.0
"""


def test_a_case_names_a_controller_and_a_law_in_python_and_a_reference_replaces_them(here, dumbbell, capsys):
    (here / "mine.py").write_text(MINE)
    control = '"tcp.control" = { cc = "external", controller = "Tiny" }'
    queue = '"links.bottleneck.queue" = { aqm = "external", law = "Open", limit = "100 packets" }'
    text = 'scenario = "dumbbell.toml"\nseeds = 2\nrequire = ["goodput > 0.9 of cubic"]\n'
    reference = '[references.cubic]\n"tcp.control.cc" = "cubic"\n"links.bottleneck.queue.aqm" = "droptail"\n'
    (here / "gate.toml").write_text(f"{text}[case]\n{control}\n{queue}\n{reference}")
    laws = ["--controller", "mine.py:Tiny", "--law", "mine.py:Open"]
    # Two segments a round trip leave most of the 10 Mbit/s unused; CUBIC fills the link.
    assert main(["gate", "gate.toml", *laws, "--out", "out"]) == 1
    (qlog,) = Path("out").glob("worst-seed-*.qlog")
    assert qlog.with_suffix(".pcapng").exists()
    windows = [
        event["data"]["congestion_window"]
        for trace in json.loads(qlog.read_text())["traces"]
        for event in trace["events"]
        if "congestion_window" in event["data"]
    ]
    assert windows[-1] == 2 * 1460  # two segments: 1,500 bytes without the IP and TCP headers
    capsys.readouterr()
    assert main(["gate", "gate.toml", *laws[:2]]) == 2
    assert "Open" in capsys.readouterr().err


@pytest.mark.parametrize("case", ["", '"tcp.control" = { cc = "external", controller = "Tiny" }'])
def test_a_controller_that_no_case_uses_is_refused(case, here, dumbbell, capsys):
    (here / "mine.py").write_text(MINE)
    own = '[flows.tcp.control]\ncc = "cubic"\n' if case else ""  # the flows then ignore the common control
    dumbbell.write_text(dumbbell.read_text() + own)
    Path("gate.toml").write_text(f'scenario = "dumbbell.toml"\nrequire = ["goodput > 1 Mbit/s"]\n[case]\n{case}\n')
    assert main(["gate", "gate.toml", "--controller", "mine.py"]) == 2
    wanted = 'a case with the control { cc = "external", controller = "Tiny" }'
    assert f"gate.toml: --controller: expected {wanted}, got none" in capsys.readouterr().err


def test_a_reference_starts_from_the_case_and_its_value_is_shown(here, dumbbell, capsys):
    file = here / "gate.toml"
    file.write_text(
        'scenario = "dumbbell.toml"\nseeds = 3\nrequire = ["queue.mean >= 1 of same", "wait mean < 0.5 of full"]\n'
        '[case]\n"links.bottleneck.queue" = { aqm = "codel", target = "2 ms", limit = "100 packets" }\n'
        '[references]\nsame = {}\nfull = { "links.bottleneck.queue.aqm" = "droptail" }\n'
    )
    assert main(["gate", str(file), "--out", "out"]) == 0
    same, full = json.loads(Path("out/gate.json").read_text())["conditions"]
    assert same["reference_mean"] == same["mean"]  # CoDel in both
    assert full["reference_mean"] > 2 * full["mean"]
    assert re.search(r"wait mean < 0.5 of full: \S+ ± \S+ ms, full \S+ ± \S+ ms, ", capsys.readouterr().out)


def test_a_baseline_of_another_case_is_noted(here, dumbbell, capsys):
    file = gate(here, "goodput not worse than old.json by 90 %")
    assert main(["gate", file, "--save", "old.json"]) == main(["gate", file]) == 0
    assert "measured with" not in capsys.readouterr().err
    Path(file).write_text(Path(file).read_text().replace('"codel"', '"pie"'))
    dumbbell.write_text(dumbbell.read_text().replace('rate = "10 Mbit/s"', 'rate = "20 Mbit/s"'))
    assert main(["gate", file]) == 0
    fields = "links.bottleneck.rate, links.bottleneck.queue.aqm"
    assert f"old.json: measured with other values of {fields}; " in capsys.readouterr().err


def test_worse_than_a_baseline_fails_and_the_same_or_better_passes(here, dumbbell, capsys):
    file = gate(here, "goodput not worse than old.json")
    assert main(["gate", file]) == 2
    assert "--save" in capsys.readouterr().err
    assert main(["gate", file, "--save", "old.json"]) == 0
    assert main(["gate", file]) == 0
    text = dumbbell.read_text()
    dumbbell.write_text(text.replace('rate = "10 Mbit/s"', 'rate = "5 Mbit/s"'))  # at most half the goodput
    assert main(["gate", file]) == 1
    assert main(["gate", gate(here, "goodput not worse than old.json by 60 %")]) == 0
    dumbbell.write_text(text.replace('rate = "10 Mbit/s"', 'rate = "20 Mbit/s"'))
    assert main(["gate", file]) == 0


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("wait p99 about 3 ms", 'expected "wait p99 < 20 ms"'),
        ("wait p99 < 20", "expected a number in ms"),
        ("wait p99 < 20 Mbit/s", "expected a number in ms"),
        ("goodputs > 3 Mbit/s", "goodputs"),
        ("goodput > 0.9 of fuller", 'expected one of case, full, a file.json, got "fuller"'),
        ("arrived not worse than full", "expected a measure with a better direction"),
    ],
)
@pytest.mark.usefixtures("observed")
def test_a_mistake_is_one_line_before_the_first_run(condition, said, dumbbell, capsys, monkeypatch):
    monkeypatch.setenv("RUN_LOG", str(dumbbell.parent / "log"))
    assert main(["gate", gate(dumbbell.parent, condition)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (dumbbell.parent / "log").exists()


def test_an_unknown_key_is_refused(here, dumbbell, capsys):
    assert main(["gate", gate(here, "goodput > 1 Mbit/s", more="seedz = 3")]) == 2
    assert 'did you mean "seeds"?' in capsys.readouterr().err


def test_compare_reports_what_became_better_or_worse(here, dumbbell, capsys):
    command = ["compare", str(dumbbell), "--queues", "droptail,codel", "--seeds", "3"]
    assert main([*command, "--json"]) == 0
    Path("old.json").write_text(capsys.readouterr().out)
    assert main([*command, "--baseline", "old.json"]) == 0
    assert "22 of 22 measures do not differ significantly from old.json" in capsys.readouterr().out
    faster = ["--set", "links.bottleneck.rate=20 Mbit/s", "--baseline", "old.json", "--json"]
    assert main([*command, *faster]) == 0
    found = {(each["case"], each["measure"]): each for each in json.loads(capsys.readouterr().out)["changes"]}
    goodput = found["droptail", "total.goodput_bps"]
    assert goodput["is"] == "better"
    assert 0 < goodput["low"] < goodput["difference"] < goodput["high"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cases": {"a": {"b": {"values": [1]}}}, "seeds": [1, 2]}'])
def test_other_files_are_no_baseline(text, here):
    Path("x.json").write_text(text)
    with pytest.raises(UserError, match=r"x\.json: expected what `sojourn compare --json`"):
        read_baseline(Path("x.json"))


def test_the_gate_of_the_page_passes(here, capsys):
    page = (ROOT / "docs" / "gate.md").read_text()
    Path("gate.toml").write_text(page.split("```toml\n", 1)[1].split("```", 1)[0])
    assert main(["gate", "gate.toml", "--save", "baseline.json"]) == 0
    assert main(["gate", "gate.toml"]) == 0
    assert capsys.readouterr().out.count("passed: ") == 3
