"""Output on a terminal: tables that fit it, and suggestions for misspelled names."""

import io
import itertools

import pytest
from rich.console import Console

import sojourn as sj
from sojourn.cli import output, tables
from tests.cli.test_cli import refused


@pytest.mark.parametrize(
    ("command", "near"),
    [
        ("reproduce lehtto", "lehto"),
        ("compare dumbbell.toml --cc reno --out x --cdf wiat", "wait"),
        ("study lbe-gird", "lbe-grid"),
        ("analyze dumbbell.toml --link bottlenek", "bottleneck"),
        ("check dumbell.toml", "dumbbell.toml"),
        ("check nofile.toml", None),
    ],
)
def test_the_nearest_name_is_suggested_if_there_is_one(capsys, dumbbell, here, command, near):
    (here / "deny.toml").write_text("")
    said = refused(capsys, *command.split())
    assert said.endswith(f'; did you mean "{near}"?\n') if near else "did you mean" not in said


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_table_is_cut_in_a_narrow_terminal(dumbbell, monkeypatch, width):
    written = io.StringIO()
    for module in (output, tables):
        monkeypatch.setattr(module, "out", Console(file=written, width=width, soft_wrap=True))
    swept = sj.sweep(dumbbell, {"links.bottleneck.queue.limit": ["9 packets"], "flows.ftp.count": [1, 2]})
    compared = sj.compare(dumbbell, ["droptail", "red", "pd", "codel", "pie", "pi"], 2)
    tables.show_sweep(
        dict.fromkeys(swept.axes), swept.summary(), tables.main_measures(swept.rows.means()), swept.runs, 2
    )
    tables.show_record(compared.records["red"][0])
    tables.show_comparison(compared)
    lines = written.getvalue().splitlines()
    framed = [line for line in lines if line.startswith(tuple("┏┃┡│└"))]
    assert max(map(len, framed)) <= width
    assert all(line.rstrip().endswith(tuple("┓┃┩│┘")) for line in framed)  # no column is cut off
    shown = set(" ".join(lines).replace("┃", " ").split())
    assert "…" not in shown
    assert {"limit", "count", "utilization", "arrived", "p95", "codel", "pie", "Jain's"} <= shown


@pytest.mark.parametrize("width", [60, 80, 120])
def test_each_part_of_a_table_that_is_too_wide_has_its_labels_and_units(dumbbell, monkeypatch, width):
    written = io.StringIO()
    for module in (output, tables):
        monkeypatch.setattr(module, "out", Console(file=written, width=width, soft_wrap=True))
    found = sj.compare(dumbbell, ["droptail", "red", "pd", "codel", "pie", "pi"], 2)
    units = {measure.label: measure.unit for measure in found.measures}
    output.show(output.estimates_table(found.heading, found.estimates(), units))
    lines = written.getvalue().splitlines()
    parts = sum(line.startswith("┏") for line in lines)
    assert parts == sum(line.startswith("┃") and "unit" in line for line in lines)
    assert parts == sum(line.startswith("│ queue mean") and line.rstrip().endswith("packets │") for line in lines)


def test_many_cases_are_rows_so_that_each_measure_has_all_of_them_in_one_table(dumbbell, monkeypatch):
    written = io.StringIO()
    for module in (output, tables):
        monkeypatch.setattr(module, "out", Console(file=written, width=100, soft_wrap=True))
    queues, counts = ["droptail", "red", "pd", "codel"], [1, 2, 3]
    found = sj.compare(dumbbell, queues, 2, vary={"flows.ftp.count": counts})
    tables.show_comparison(found)
    means = written.getvalue().split("difference from droptail with count=1")[0]
    parts = sum(line.startswith("┏") for line in means.splitlines())
    for queue, count in itertools.product(queues, counts):
        rows = [line for line in means.splitlines() if line.startswith(f"│ {queue} ") and f"│ {count} " in line]
        assert len(rows) == parts
    heads = " ".join(line.replace("┃", " ") for line in means.splitlines() if line.startswith("┃")).split()
    assert {"ftp", "count", "queue", "(packets)", "(Mbit/s)", "goodput", "utilization", "(%)"} <= set(heads)
    assert "with" not in heads
    written.truncate(0)
    tables.show_comparison(sj.compare(dumbbell, queues[:2], 1))
    assert "unit" in written.getvalue()  # a few cases are columns
