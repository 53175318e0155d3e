"""The page, tables and archive of an own experiment contain what their reader needs."""

import json
import re
import zipfile
from pathlib import Path

import pytest

from sojourn.cli import main
from sojourn.cli.output import out
from sojourn.experiments import find_experiment, reproduce
from sojourn.experiments.expression import terms
from sojourn.experiments.figures import draw_figures
from sojourn.experiments.latex import escaped
from sojourn.experiments.model import Case
from sojourn.experiments.new import new_experiment
from sojourn.experiments.outcome import Outcome
from sojourn.experiments.pairs import best_of
from sojourn.experiments.report import build_page
from sojourn.experiments.reproduce import RunOptions
from sojourn.experiments.schema.figures import KINDS
from sojourn.experiments.setup_tables import setup_tables
from sojourn.experiments.tables import quantile_error, table_legend, table_of


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    """A starter with a reference queue, measures to compare, and a quantile; and its outcome."""
    folder = tmp_path_factory.mktemp("own") / "mine"
    new_experiment(folder)
    file = folder / "experiment.toml"
    text = file.read_text()
    text = text.replace('unit = "ms" }', 'unit = "ms", better = "less", least = 1 }', 1)
    text = text.replace(
        "[families.rtt]",
        'late = { label = "p95 wait", path = "links.bottleneck.wait_ms.p95", unit = "ms" }\n\n[families.rtt]',
    )
    file.write_text(text.replace("queue_at ", 'reference_queue = "droptail"\nqueue_at ', 1))
    return folder, reproduce(find_experiment(str(folder)), options=RunOptions(quick=True))


def test_the_setup_has_network_flows_queues_times_and_seeds_as_simulated(ran: tuple[Path, Outcome]) -> None:
    outcome = ran[1]
    tables = {table.title: table.rows for table in setup_tables(outcome, outcome.grids[0])}
    # base.toml, with the delays of the family (half the round trip) and the times of quick_set
    assert tables["Links"] == [["bottleneck", "R0 → R1", "10 Mbit/s", "10 ms, 40 ms", "as compared"]]
    assert tables["Flows"][0][:7] == ["tcp", "10", "R0 → R1", "", "reno", "bulk", "uniform 0 s … 1 s"]
    assert dict(map(tuple, tables["Runs"])) == {
        "cases": "4: 2 scenarios × 2 queues",
        "scenarios": "20 ms, 80 ms",
        "seeds": "3 (1 to 3)",
        "duration": "8 s",
        "warm-up": "3 s",
        "packet size": "1500 B",
    }
    # rfc8289#4.3 and #4.4: the defaults of CoDel are 5 ms and 100 ms
    codel = tables["Queues"][1]
    assert codel[:2] == ["CoDel", "codel"]
    assert codel[2].startswith("target 5 ms, interval 100 ms")
    assert "limit 100 packets" in codel[2]


def test_a_parameter_that_differs_between_scenarios_has_all_its_values(tmp_path: Path) -> None:
    new_experiment(tmp_path / "mine")
    file = tmp_path / "mine" / "experiment.toml"
    file.write_text(file.read_text().replace("set   = {", 'queue = { limit = "{rtt} packets" }\nset   = {'))
    outcome = reproduce(find_experiment(str(tmp_path / "mine")), seeds=1, options=RunOptions(quick=True))
    queues = next(table.rows for table in setup_tables(outcome, outcome.grids[0]) if table.title == "Queues")
    assert queues[0] == ["DropTail", "droptail", "limit 20 packets | 80 packets, ecn false"]


def test_the_legend_stands_with_its_table_and_explains_what_it_shows_alone(ran: tuple[Path, Outcome]) -> None:
    outcome = ran[1]
    grid = outcome.grids[0]
    table = table_of(outcome, grid)
    assert table
    said = table_legend(outcome, grid, table)
    assert [line.partition(":")[0] for line in said] == [
        "Bold",
        "Gray",
        "Quantiles come from a histogram; their error is at most 1.6 %",
    ]
    page = build_page(outcome, [])
    assert page.index("What was run") < page.index("Gray: ") < page.index('id="deviations"')


def test_a_quantile_has_the_error_of_its_histogram_and_a_mean_has_none() -> None:
    assert quantile_error("links.a.wait_ms.p95") == 1 / 64  # the record's definition
    assert quantile_error("links.a.wait_ms.mean + links.b.wait_ms.mean") == 0


def test_targets_and_measured_values_have_the_unit_of_their_measure(ran: tuple[Path, Outcome]) -> None:
    folder, _ = ran
    claims = folder / "claims.toml"
    claims.write_text(
        claims.read_text() + '\n[[claims]]\nid = "ms"\ntext = "CoDel is faster"\nreason = "Its target."\n'
        'parts = [{ measure = "rtt20.droptail.wait - rtt20.codel.wait", holds = "> 1" }]\n'
    )
    judged = reproduce(find_experiment(str(folder)), options=RunOptions(quick=True)).results
    assert {each.claim.id: each.parts[0].target_text for each in judged} == {
        "wait": "< 0.5",
        "use": "< 0.1",
        "ms": "> 1 ms",
    }
    assert judged[-1].parts[0].measured_with_unit.endswith(" ms")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a.b.c", [("a", "b", "c")]),
        ("a.b - max(c.d, e.f)", [("a", "b"), ("c", "d"), ("e", "f")]),
        ("a.b / c.d", []),
        ("100 * a.b", []),
        ("a.b + 1", []),
    ],
)
def test_only_sums_and_differences_keep_the_unit_of_their_terms(text: str, names: list[tuple[str, ...]]) -> None:
    assert terms(text) == names


def test_queues_that_do_not_differ_are_the_best_together(ran: tuple[Path, Outcome]) -> None:
    outcome = ran[1]
    wait = outcome.experiment.measures["wait"]
    droptail, codel, far = (Case(*place) for place in (("rtt20", "droptail"), ("rtt20", "codel"), ("rtt80", "codel")))
    assert best_of(outcome, wait, [droptail, codel]) == {codel}
    some = wait.model_copy(update={"least": 20.0})  # CoDel waits some 10 ms at either round trip, DropTail some 100 ms
    assert best_of(outcome, some, [droptail, codel, far]) == {codel, far}
    assert best_of(outcome, some, [codel, far]) == set()


def test_the_axis_names_the_value_in_which_scenarios_differ_and_shows_whole_marks(ran: tuple[Path, Outcome]) -> None:
    [drawn] = draw_figures(ran[1])
    waits, utilization = drawn.figure.axes
    assert waits.get_xlabel() == "round-trip time"  # `axis` of the family
    assert utilization.get_ylim()[1] >= 1.04 * utilization.dataLim.ymax


def test_without_a_label_of_its_family_an_axis_names_the_value_that_varies(tmp_path: Path) -> None:
    new_experiment(tmp_path / "mine")
    file = tmp_path / "mine" / "experiment.toml"
    file.write_text(file.read_text().replace('axis  = "round-trip time"\n', ""))
    [drawn] = draw_figures(reproduce(find_experiment(str(tmp_path / "mine")), seeds=1, options=RunOptions(quick=True)))
    assert [axes.get_xlabel() for axes in drawn.figure.axes] == ["rtt", "rtt"]


def test_latex_has_the_labels_and_numbers_of_the_page(ran: tuple[Path, Outcome], tmp_path: Path) -> None:
    assert main(["reproduce", str(ran[0]), "--quick", "--out", str(tmp_path), "--zip", str(tmp_path / "a.zip")]) == 0
    tex = (tmp_path / "tables" / "main.tex").read_text(encoding="utf-8")
    plain = (tmp_path / "tables" / "main.md").read_text(encoding="utf-8")
    assert tex.startswith("% \\usepackage{booktabs} \\usepackage{xcolor}\n\\begin{tabular}{llrrrrr}\n\\toprule\n")
    body = tex.partition("\\midrule\n")[2].partition("\\bottomrule")[0]
    assert [line.count("&") for line in body.splitlines()] == [6] * 4
    in_words = re.sub(r"\\textcolor\{gray\}\{([^{}]*)\}", r"\1", re.sub(r"\\textbf\{([^{}]*)\}", r"**\1**", body))
    numbers = re.findall(r"\d[\d.]* \$\\pm\$ [\d.]+", in_words)
    assert [number.replace("$\\pm$", "±") for number in numbers] == re.findall(r"\d[\d.]* ± [\d.]+", plain)
    assert "DropTail" in body
    assert body.count(r"\textbf{") == plain.count("**") // 2 > 0
    assert r"\textcolor{gray}{" in body
    claims = (tmp_path / "tables" / "claims.tex").read_text(encoding="utf-8")
    assert r"use & It costs at most a tenth of the link & $<$ 0.1 &" in claims


def test_signs_of_latex_are_escaped() -> None:
    assert escaped("50 % of a_b < 1 µs ± 2 & {x}\\") == (r"50 \% of a\_b $<$ 1 $\mu$s $\pm$ 2 \& \{x\}\textbackslash{}")


def test_the_archive_has_a_text_that_says_how_to_run_it_again(ran: tuple[Path, Outcome], tmp_path: Path) -> None:
    assert main(["reproduce", str(ran[0]), "--quick", "--out", str(tmp_path), "--zip", str(tmp_path / "a.zip")]) == 0
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        readme = archive.read("mine/README.txt").decode()
    assert readme.startswith("Does CoDel keep the wait short at full use of the link?\n")
    assert "    sojourn reproduce experiment --seeds 3 --quick\n" in readme
    assert re.search(r"Versions: Python 3\.\d+\.\d+, numpy \d", readme)
    about = json.loads((tmp_path / "about.json").read_text(encoding="utf-8"))
    assert f"install Sojourn {about['sojourn']}" in readme


def test_an_audit_without_blind_claims_has_no_empty_lines(ran: tuple[Path, Outcome]) -> None:
    from sojourn.experiments.audit import Audit, Row

    rows = [Row("target", "CoDel's target is 200 ms", ["wait", "use"])]
    page = build_page(ran[1], [], Audit("mine", 2, {"wait": "", "use": ""}, [], rows))
    assert "Wrong versions, run with 2 seeds." in page
    assert "Claims that notice none" not in page
    one = build_page(ran[1], [], Audit("mine", 2, {"wait": "", "use": "", "ms": ""}, [], rows))
    assert "Claims that notice none: ms." in one


def test_every_kind_of_figure_is_listed_with_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(out, "width", 200)
    assert main(["list", "figures"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    listed = dict(line.split(maxsplit=1) for line in lines)
    assert list(listed) == list(KINDS)
    assert all(text.strip() for text in listed.values())
    assert main(["list", "figures", "lines"]) == 0
    assert "panels" in capsys.readouterr().out
