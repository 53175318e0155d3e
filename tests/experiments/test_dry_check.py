"""`sojourn check FOLDER` finds every mistake that could stop an experiment after its runs."""

import shutil
from pathlib import Path

import pytest

from sojourn.cli import main
from sojourn.core.errors import ScenarioError, UserError
from sojourn.core.measure_paths import check_number
from sojourn.experiments import find_experiment, reproduce
from sojourn.experiments.dry_check import check_folder
from sojourn.experiments.new import new_experiment
from sojourn.experiments.reproduce import RunOptions

LINES = """
[[figures]]
id       = "over-rtt"
kind     = "lines"
grid     = "main"
measure  = "wait"
x        = "rtt"
panels   = ["PANEL"]
"""
NAMES = {"links": ["a"], "groups": ["f"], "flows": ["f/0"]}


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("starter") / "mine"
    new_experiment(folder)
    return folder


@pytest.fixture
def mine(starter: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(starter, tmp_path / "mine"))


def change(folder: Path, file: str, old: str, new: str) -> None:
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new), encoding="utf-8")


def add_lines(folder: Path, panel: str, **fields: str) -> None:
    text = LINES.replace("PANEL", panel)
    for field, value in fields.items():
        text = "\n".join(f'{field} = "{value}"' if line.startswith(f"{field} ") else line for line in text.split("\n"))
    with (folder / "experiment.toml").open("a", encoding="utf-8") as file:
        file.write(text)


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        (
            "experiment.toml",
            "bottleneck.wait_ms.mean",
            "botleneck.wait_ms.mean",
            'experiment.toml: measures.wait.path: expected one of .*; did you mean "links.bottleneck.wait_ms.mean"',
        ),
        ("experiment.toml", "wait_ms.mean", "wait_ms.p96", "measures.wait.path: .*links.bottleneck.wait_ms.p95"),
        (
            "experiment.toml",
            "wait_ms.mean",
            "wait_ms",
            "measures.wait.path: expected one of .*links.bottleneck.wait_ms",
        ),
        (
            "experiment.toml",
            'path = "total.goodput_bps"',
            'share_of = ["groups.tcp.goodput_bps", "groups.udp.goodput_bps"]',
            "measures.goodput.share_of: expected one of .*groups.tcp.goodput_bps",
        ),
        (
            "experiment.toml",
            'path = "total.goodput_bps"',
            'series = "cwnd/tpc/0", column = "packets", take = "mean"',
            "measures.goodput.series: expected one of .*cwnd/tcp/0",
        ),
        (
            "experiment.toml",
            'path = "total.goodput_bps"',
            'series = "cwnd/tcp/0", column = "bytes", take = "mean"',
            'measures.goodput.column: expected one of packets, ssthresh, got "bytes"',
        ),
        ("experiment.toml", 'warmup = "3 s"', 'warmpu = "3 s"', 'grids.main.quick_set: .*did you mean "warmup"'),
        (
            "experiment.toml",
            "quick_set = ",
            'quick_scenarios = ["rtt9*"]\nquick_set = ',
            "grids.main.quick_scenarios: expected one of rtt20, rtt80",
        ),
        (
            "experiment.toml",
            '["wait", "utilization"]',
            '["wait", "usage"]',
            r"figures\[overview\].measures: expected one of wait, .*, got \"usage\"",
        ),
        (
            "experiment.toml",
            'grid     = "main"',
            'grid     = "mine"',
            r"figures\[overview\].grid: expected one of main, got",
        ),
        ("experiment.toml", "codel    = {", "co-del   = {", "queues.co-del: expected a name .* a hyphen means minus"),
        ("experiment.toml", '"rtt{rtt}"', '"rtt-{rtt}"', 'families.rtt.id: expected a name .*, got "rtt-20"'),
        (
            "claims.toml",
            "rtt20.codel.utilization",
            "rtt20.codel.usage",
            r"claims.toml: claims\[use\].measure: measure of rtt20.codel.usage: expected one of wait, ",
        ),
        (
            "claims.toml",
            "rtt20.codel.utilization",
            "rtt20.red.utilization",
            r"claims\[use\].measure: queue of rtt20.red.utilization: expected one of droptail, codel, got \"red\"",
        ),
        (
            "claims.toml",
            "rtt20.codel.utilization",
            "rtt30.codel.utilization",
            r"claims\[use\].measure: scenario of rtt30.codel.utilization: expected one of rtt20, rtt80",
        ),
        ("mutants.toml", '"wait"', '"waits"', r"mutants.toml: mutants\[target\].claims: expected one of wait, use"),
        ("mutants.toml", '["codel"]', '["codle"]', r"mutants\[target\].queues: expected one of droptail, codel, got"),
        ("mutants.toml", "queue.target", "queue.traget", r'mutants\[target\].set: .*did you mean "target"'),
    ],
)
def test_check_names_file_and_place_of_a_mistake(mine: Path, file: str, old: str, new: str, says: str) -> None:
    change(mine, file, old, new)
    with pytest.raises((UserError, ScenarioError), match=says):
        check_folder(mine)


def test_a_panel_without_a_scenario_is_an_error_that_lists_the_scenarios(mine: Path) -> None:
    add_lines(mine, "rtt2")
    with pytest.raises(UserError, match=r"figures\[over-rtt\].panels: .*\(rtt20, rtt80\), got \"rtt2\""):
        check_folder(mine)


def test_an_axis_that_is_no_value_of_the_family_is_an_error(mine: Path) -> None:
    add_lines(mine, "rtt", x="delay")
    with pytest.raises(UserError, match=r"figures\[over-rtt\].x: expected one of rtt, got \"delay\""):
        check_folder(mine)


def test_lines_draw_the_starters_family_by_its_name(mine: Path) -> None:
    from sojourn.experiments.figures import draw_figures

    add_lines(mine, "rtt")
    check_folder(mine)
    experiment = find_experiment(str(mine))
    outcome = reproduce(experiment, seeds=1, options=RunOptions(quick=True))
    axes = next(each.figure for each in draw_figures(outcome) if each.id == "over-rtt").axes[0]
    assert [list(drawn[0].get_xdata()) for drawn in axes.containers] == [[20, 80]] * 2  # DropTail and CoDel


def test_queues_go_to_several_places_that_the_top_of_the_file_names(mine: Path) -> None:
    places = '["links.bottleneck.queue", "links.bottleneck.back.queue"]'
    change(mine, "experiment.toml", '= "links.bottleneck.queue" #', f"= {places} #")
    experiment, _ = check_folder(mine)
    case = next(iter(experiment.grids["main"].cases()))
    links = experiment.scenario(case).resolved()["links"]
    assert [link["queue"]["limit"] for link in links] == ["100 packets"] * 2


def test_numbers_are_values_of_a_family_and_of_a_claim(mine: Path) -> None:
    experiment, cases = check_folder(mine)
    assert "over  = { rtt = [20, 80] }" in (mine / "experiment.toml").read_text(encoding="utf-8")
    assert (list(experiment.scenarios), cases) == (["rtt20", "rtt80"], 4)
    change(mine, "experiment.toml", "[20, 80]", '["20", "80"]')
    assert list(check_folder(mine)[0].scenarios) == ["rtt20", "rtt80"]


def test_a_mistake_that_only_the_runs_show_does_not_lose_the_report(
    mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (mine / "extra.py").write_text("def broken(x):\n    raise ValueError('no')\nFUNCTIONS = {'broken': broken}\n")
    change(mine, "claims.toml", "rtt20.droptail.utilization - rtt20.codel.utilization", "broken(rtt20.codel.wait)")
    assert main(["reproduce", str(mine), "--quick", "--out", str(tmp_path / "out")]) == 2
    assert "claims.toml: claims[use].measure: expected arguments" in capsys.readouterr().err
    page = (tmp_path / "out" / "report-quick.html").read_text(encoding="utf-8")
    assert "Not computed: " in page
    assert "claim-wait" in page


@pytest.mark.parametrize(
    "path",
    ["links.a.utilization", "links.0.wait_ms.p99", "links.a.queues.L.arrived", "flows.f/0.timeouts", "duration_s"],
)
def test_a_path_to_a_number_of_the_record_is_accepted(path: str) -> None:
    check_number(path, NAMES, "here")


@pytest.mark.parametrize("path", ["links.b.utilization", "links", "links.a", "scenario", "flows.g/0.timeouts", "a..b"])
def test_a_path_to_no_number_of_the_record_is_rejected(path: str) -> None:
    with pytest.raises(UserError, match="here: expected one of"):
        check_number(path, NAMES, "here")
